"""Advice in errors of sources that do not compile."""

import pytest

from parity.compilers import toolchain
from parity.compilers.diagnostics import diagnostics
from parity.porting.errors import PortError, Remedies
from parity.porting.stubs import needed_for

LOG = "k.cu:3:5: error: no member named '__hip_fp8_e4m3' in the global namespace\n"


@pytest.mark.parametrize(
    ("target", "version", "advice"),
    [
        ("gfx90a", (7, 2, 53211), "the headers of HIP 7.2.53211 do not have it"),
        ("gfx90a", (), "parity's headers do not have it"),
        ("sm_90", (7, 2, 53211), "parity's headers do not have it"),
    ],
)
def test_advice_for_name_of_hip_states_headers_of_target(monkeypatch, target, version, advice):
    monkeypatch.setattr("parity.porting.errors.chosen", lambda target: toolchain.Wheels(None))
    monkeypatch.setattr(toolchain.Wheels, "version", version)
    (error,) = diagnostics(LOG)
    assert PortError("k", target, LOG).advice(error).startswith(advice)


def test_removed_api_comes_before_absent_header():
    log = "k.cu:1:1: error: 'absent.h' file not found\nk.cu(9): error: identifier \"cells\" is undefined\n"
    error = PortError("k", "sm_90", log, remedies=Remedies({"cells": needed_for("texture")}))
    assert [each.line for each in error.findings] == [9, 1]
    assert "CUDA 12 removed texture and surface references" in error.first
    assert [each.line for each in PortError("k", "sm_90", log).findings] == [1, 9]


def test_absent_header_of_cuda_is_named():
    log = "k.cu:1:1: error: 'absent.h' file not found\nk.cu:2:1: error: 'nvfunctional' file not found\n"
    assert "CUDA 13 does not have <nvfunctional>" in PortError("k", "sm_90", log).first


@pytest.mark.parametrize(
    "said",
    ['k.cu(2): error: identifier "SIZE" is undefined\n', "k.cu:2:1: error: use of undeclared identifier 'SIZE'\n"],
)
def test_undefined_macro_may_come_from_the_build(said):
    assert (
        'if the project is built with -DSIZE=..., say so: flags = ["-DSIZE=..."]' in PortError("k", "sm_90", said).first
    )
