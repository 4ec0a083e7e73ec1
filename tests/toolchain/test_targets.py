"""The table of targets."""

import pytest

from parity.errors import UsageError
from parity.toolchain.targets import TARGETS, target


def test_the_targets_and_their_wavefronts():
    assert {t.name: t.wavefront for t in TARGETS.values()} == {
        "gfx1030": 32, "gfx1100": 32, "gfx90a": 64, "gfx942": 64, "gfx1201": 32
    }  # fmt: skip
    assert target("gfx90a").isa == 9010
    assert str(target("gfx1100")) == "gfx1100"


def test_an_unknown_target_names_the_nearest():
    with pytest.raises(UsageError, match=r"unknown target 'gfx1101'.*did you mean .*gfx1100"):
        target("gfx1101")
