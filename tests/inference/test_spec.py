"""What the message of a data race shows of a kernel."""

import pytest

from parity.inference.spec import in_one_line, is_scatter

RACE = """data race in a warp in kernel 'k' at byte 4 of LDS: two threads of one warp, one of them writes, no __syncwarp
  first:  {}.shared.u32 [%r1], %r2 at k.cu:3, listing line 7
  second: {}.shared.u32 [%r3], %r4 at k.cu:5, listing line 9, workgroup (0, 0, 0), lane 1"""


@pytest.mark.parametrize(("first", "second", "expected"), [("st", "st", True), ("ld", "st", False), ("st", "ld", 0)])
def test_is_scatter_only_for_two_stores(first, second, expected):
    assert is_scatter(in_one_line(RACE.format(first, second))) == expected
