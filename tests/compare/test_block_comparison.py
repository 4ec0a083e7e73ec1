"""Verdicts on quantized blocks, and formatting of blocks."""

import math

import numpy as np
import pytest

from parity.compare.arbitration import SideResult, arbitrate
from parity.compare.comparison import check_unmodified, compare
from parity.compare.ulps import format_pair, format_value, ulp_distance
from parity.compare.verdict import Status
from parity.data.streams import elements
from parity.model.dtypes import DTYPES, dtype
from parity.model.launch import poisoned
from parity.reference import Expected

Q8_1 = dtype("q8_1")
BLOCKS = [name for name, kind in DTYPES.items() if kind.is_block]


def some(count=6, start=0, kind=Q8_1):
    return elements("normal", kind, start, count, "x")


def close(value):
    """Accept quants that differ by one, like the reference of a quantizer."""
    return lambda got: np.abs(value["qs"].astype(int) - got["qs"]).max(axis=-1) <= 1


@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("stream", ["bits", "special"])  # includes NaN, which equals itself here
def test_compare_blocks_differing_byte_fails(name, stream):
    value = elements(stream, dtype(name), 0, 40, "x").reshape(4, 10)
    assert compare(Expected(value), value.copy(), vendor="amd").passed
    for place in range(dtype(name).itemsize):
        got = value.copy()
        got.view(np.uint8)[2, 3 * dtype(name).itemsize + place] ^= 0x80
        verdict = compare(Expected(value), got, vendor="cuda")
        assert (verdict.status, verdict.kind, verdict.wrong, verdict.total) == (Status.FAIL, "value", 1, 40)
        assert (verdict.first.coordinates, verdict.first.ulps, verdict.ulps) == ((2, 3), 1.0, 1.0)
        assert verdict.first.expected != verdict.first.got
        assert verdict.first.unit == "byte" and math.isinf(verdict.first.budgets)


def test_compare_blocks_distance_is_differing_bytes():
    value = some().reshape(2, 3)
    got = value.copy()
    got["qs"][0, 1, :2] += 1
    got["qs"][1, 2, 5:12] += 1
    verdict = compare(Expected(value), got, vendor="amd")
    assert (verdict.wrong, verdict.first.coordinates, verdict.first.ulps, verdict.ulps) == (2, (0, 1), 2.0, 7.0)
    assert verdict.first.unit == "bytes"
    assert ulp_distance(value[1, 2], got[1, 2]) == 7.0


def test_compare_blocks_uses_accepts():
    value = some()
    near, far = value.copy(), value.copy()
    value["qs"], near["qs"], far["qs"] = 5, 6, 5
    far["qs"][4, 31] = 7
    expected = Expected(value, accepts=close(value))
    assert compare(expected, near, vendor="amd").passed
    verdict = compare(expected, far, vendor="amd")
    assert (verdict.wrong, verdict.first.coordinates) == (1, (4,))
    assert (verdict.first.expected, verdict.first.got) == ("qs[31:]=5", "qs[31:]=7")


def test_compare_blocks_accepts_unspecified_and_alternatives():
    value, other = some(), some(start=100)
    unspecified = np.array([True] * 5 + [False])
    assert not compare(Expected(value), other, vendor="amd").passed
    assert compare(Expected(value, alternatives=(other,)), other, vendor="amd").passed
    assert compare(Expected(value, unspecified=unspecified), np.append(other[:5], value[5:]), vendor="amd").passed


def test_compare_blocks_poison_is_unwritten():
    value = some()
    got = np.append(value[:2], poisoned(Q8_1, 4))
    assert compare(Expected(value), got, vendor="amd").kind == "unwritten"
    got["qs"][2:, 0] = 1  # one byte of each was written
    assert compare(Expected(value), got, vendor="amd").kind == "value"


def test_check_unmodified_blocks_change_fails():
    before = elements("bits", dtype("q3_K"), 0, 8, "w")
    after = before.copy()
    assert check_unmodified("w", before, after) is None
    after["scales"][5, 11] ^= 1
    verdict = check_unmodified("w", before, after)
    assert (verdict.kind, verdict.wrong, verdict.first.coordinates) == ("input modified", 1, (5,))
    assert verdict.first.expected.startswith("scales[11:]=")


def test_arbitrate_blocks_compares_bytes():
    value = some()
    other = value.copy()
    other["qs"][1, 0] += 1
    expected = Expected(value, accepts=close(value))
    verdicts = [compare(expected, got, vendor=vendor) for vendor, got in (("cuda", value), ("amd", other))]
    same = arbitrate(SideResult(verdicts[0], value), SideResult(verdicts[0], value.copy()), expected)
    apart = arbitrate(SideResult(verdicts[0], value), SideResult(verdicts[1], other), expected)
    assert (str(same.conclusion), same.elements) == ("identical", 0)
    assert (str(apart.conclusion), apart.elements, apart.total, apart.ulps) == ("within bounds", 1, 6, 0.0)
    wrong = value.copy()
    wrong["d"][3] = 9
    failed = compare(expected, wrong, vendor="amd"), compare(Expected(value), wrong, vendor="cuda")
    assert str(arbitrate(SideResult(verdicts[0], value), SideResult(failed[1], wrong)).conclusion) == "AMD is wrong"
    both = SideResult(failed[1], wrong)
    assert str(arbitrate(both, both, Expected(value)).conclusion) == "reference is suspect"


def test_format_value_block_shows_fields():
    block = np.zeros(1, dtype("q5_0").numpy)
    block["d"], block["qh"], block["qs"][0, 1] = 0.25, 0xABCD, 0x4F
    assert format_value(block[0]) == "d=0.25 qh=0000abcd qs=00 4f 00 00 00 00 00 00 ..."
    block = np.zeros(1, dtype("q8_K").numpy)
    block["qs"], block["bsums"] = -7, 300
    assert format_value(block[0]).startswith("d=0.0 qs=-7 -7 ") and "bsums=300 300 " in format_value(block[0])


def test_format_pair_blocks_shows_differences():
    one = np.zeros(1, dtype("q4_K").numpy)
    other = one.copy()
    other["d"], other["qs"][0, 100], other["qs"][0, 127] = -0.0, 0x1F, 2
    assert format_pair(one[0], other[0]) == (
        "d=0.0 qs[100:]=00 00 00 00 00 00 00 00 ...",
        "d=-0.0 qs[100:]=1f 00 00 00 00 00 00 00 ...",
    )


def test_format_pair_nan_scales_shows_bits():
    one, other = np.zeros(1, dtype("q4_1").numpy), np.zeros(1, dtype("q4_1").numpy)
    one["m"].view(np.uint16)[0], other["m"].view(np.uint16)[0] = 0x7E00, 0x7E01
    assert format_pair(one[0], other[0]) == ("m=nan (0x7e00)", "m=nan (0x7e01)")
