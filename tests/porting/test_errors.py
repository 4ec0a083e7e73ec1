"""Advice in errors of sources that do not compile."""

import pytest

from parity.compilers import toolchain
from parity.compilers.diagnostics import diagnostics
from parity.porting.errors import PortError

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
