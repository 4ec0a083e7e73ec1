"""Compare a few kernels with AMD's pseudo-code; ``nox -s second-opinion`` compares all kernels."""

from __future__ import annotations

import isa_kernels
import pytest
from isa_harness import MACHINES
from second_opinion import opinion

from parity.build.modules import build_suite
from parity.op import Entry
from parity.runners import runner

# Addition, division by v_div_scale and v_rcp, wavefronts that exchange values through LDS, and a type of 16 bits.
KERNELS = ("badd_f32", "bdiv_f64", "fast_sum_f32", "cast_f32_f16")


def kernel_named(suite, name):
    return next(entry for entry in suite.kernel_entries if entry.kernel == name)


@pytest.fixture
def ask(suite):
    session = runner("emulated").open("gfx1100")

    def about(kernel: str):
        entry: Entry = kernel_named(suite, kernel)
        (built,) = build_suite(suite, [entry.op.module], ["gfx1100"])
        return opinion(suite, entry, "gfx1100", built.code_object, session)

    return about


@pytest.mark.parametrize("kernel", KERNELS)
def test_pseudo_code_result_equals_emulator_bit_for_bit(ask, kernel):
    found = ask(kernel)
    assert (found.problem, found.cannot) == ("", "")


def test_pseudo_code_detects_wrong_instruction(ask, monkeypatch):
    right = isa_kernels.Maker.want

    def wrong(self, *arguments):
        value, mask = right(self, *arguments)
        return (value ^ 1 if self.entry == "v_add_f32" else value), mask

    monkeypatch.setattr(isa_kernels.Maker, "want", wrong)
    assert "in out, first" in ask("badd_f32").problem


def test_pseudo_code_names_unsupported_instructions(ask, monkeypatch):
    monkeypatch.setattr(type(MACHINES["gfx1100"]), "text", lambda self, entry: None)
    assert "of which the manual has no pseudo-code" in ask("badd_f32").cannot
