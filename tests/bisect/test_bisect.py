"""The table of knobs, and the lines whose instructions change."""

from __future__ import annotations

import pytest

from parity.bisect import COMPILER_OPTIONS, changed_lines
from parity.bisect.compiler_options import available_options
from parity.build.modules import build
from parity.build.settings import BuildSettings
from parity.compilers.compile_options import CompileOptions, Sides
from parity.compilers.targets import target
from parity.runners import probe_runner, runner


def described(name: str, *flags: str) -> list[str]:
    """What is done to these flags of a project by the knobs that are left to be turned."""
    return [knob.described(flags) for knob in available_options(target(name), flags) if not knob.variant]


def test_a_knob_that_undoes_a_flag_is_there_where_a_project_has_the_flag():
    assert "without -O1" not in described("gfx1100") and "without -O1" in described("gfx1100", "-DX", "-O1")
    assert "without -ffast-math -fno-signed-zeros" in described("gfx90a", "-ffast-math", "-fno-signed-zeros")
    assert not any("fast-math" in each for each in described("gfx90a", "-DX=-ffast-math", "-DY"))


def test_what_the_project_does_already_is_not_turned():
    assert "-ffp-contract=off" in described("gfx1100")
    assert "-ffp-contract=off" not in described("gfx1100", "-ffp-contract=off")


def test_a_flag_and_its_value_may_be_two_words():
    assert "without --fmad false" in described("sm_90", "--fmad", "false")
    (knob,) = (each for each in COMPILER_OPTIONS if each.vendor == "cuda" and each.where.startswith("--?fmad"))
    assert knob.turned(("-DX", "--fmad", "false", "-DY")) == ("-DX", "-DY")
    (kept,) = (each for each in COMPILER_OPTIONS if each.flags == ("--ftz=false",))
    assert kept.turned(("--use_fast_math",)) == ("--use_fast_math", "--ftz=false")


@pytest.mark.parametrize(("name", "has"), [("gfx1100", True), ("gfx90a", False), ("sm_90", False)])
def test_only_targets_with_wavefronts_of_32_can_have_wider_ones(name, has):
    assert any("-mwavefrontsize64" in each for each in described(name)) is has


def test_every_knob_says_what_it_means():
    assert all(knob.says and knob.vendor in ("amd", "cuda") for knob in COMPILER_OPTIONS)
    assert all(knob.flags or knob.where or knob.variant for knob in COMPILER_OPTIONS)


SOURCE = """\
extern "C" __global__ void first(float* x, int n) {
    float y = x[threadIdx.x];
    x[threadIdx.x] = y * y
        + 3.0f;
    x[n] = y * 2.0f;
}
"""


NVCC = pytest.mark.skipif(
    not probe_runner(runner("ptx")).available, reason="no nvcc: pip install 'parity-harness[nvcc]'"
)


@pytest.mark.parametrize(
    ("name", "flag", "lost", "got", "more"),
    [
        ("gfx90a", "-ffp-contract=off", "v_fma_f32", "v_add_f32", "v_mul_f32"),
        pytest.param("sm_90", "--fmad=false", "fma.rn.f32", "add.rn.f32", "mul.rn.f32", marks=NVCC),
    ],
)
def test_the_lines_that_change_are_named_with_their_instructions(tmp_path, cache, name, flag, lost, got, more):
    (tmp_path / "m.cu").write_text(SOURCE)
    sides = (Sides(), Sides.both(CompileOptions(flags=(flag,))))
    before, after = (
        build(tmp_path, ["m"], [name], cache=cache, settings=BuildSettings(each))[0].code_object for each in sides
    )
    found = {each.place: str(each) for each in changed_lines(before, after, ["first"])}
    assert (
        next(iter(found)) == "m.cu:4" and found["m.cu:4"] == f"{lost} now {got}" and found["m.cu:3"] == f"{more} more"
    )
    assert changed_lines(before, after, ["first"], about="a race at m.cu:3, listing line 7")[0].place == "m.cu:3"
    assert not changed_lines(before, before, ["first"])
