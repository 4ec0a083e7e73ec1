"""Descriptions of which elements are wrong."""

import numpy as np
import pytest

from parity.compare.patterns import describe_pattern, picture


def mask(shape, *wrong):
    m = np.zeros(shape, bool)
    for index in wrong:
        m[index] = True
    return m


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (mask(5, slice(None)), "all"),
        (mask((), ()), "the only element"),
        (mask(5, 4), "only the last element"),
        (mask(5, 0), "only the first element"),
        (mask((3, 4), (1, 2)), "only element 1, 2"),
        (mask(2000, slice(1024, None)), "the tail from index 1024"),
        (mask(50, slice(0, 3)), "the head up to index 2"),
        (mask(50, slice(10, 14)), "index 10 to 13"),
        (mask(320, slice(5, None, 32)), "every 32nd element (lane 5 of 32)"),
        (mask(300, slice(63, None, 64)), "every 64th element (lane 63 of 64)"),
        (mask(50, slice(1, None, 2)), "every 2nd element (from 1)"),
        (mask(51, slice(0, None, 3)), "every 3rd element (from 0)"),
        (mask(256, *(slice(lane, None, 32) for lane in range(16, 32))), "lanes 16 to 31 of 32"),
        (mask(640, 5, 69, 133), "3 of 640, all in lane 5 of 32"),
        (mask((4, 8), 2), "row 2"),
        (mask((4, 8), 3), "row 3 (the last)"),
        (mask((4, 8), np.s_[:, 7]), "column 7 (the last)"),
        (mask((4, 8), np.s_[:, 2:5]), "column 2 to 4"),
        (mask((2, 3, 4), np.s_[:, 1]), "dim 1 at 1"),
        (mask((4, 8), (1, 0), (1, 3), (1, 4)), "3 of 8 in row 1"),
        (mask(50, 3, 17, 40), "scattered 3 of 50"),
        (mask((1, 50), np.s_[:, 20:]), "the tail from index 20"),
    ],
)
def test_describe_pattern_names_pattern_of_mask(wrong, text):
    assert describe_pattern(wrong) == text


def test_describe_pattern_of_any_mask_is_text():
    rng = np.random.default_rng(2)
    for _ in range(300):
        shape = tuple(rng.integers(1, 6, rng.integers(0, 4)))
        wrong = rng.random(shape) < rng.random()
        if np.any(wrong):
            assert describe_pattern(np.asarray(wrong))


@pytest.mark.parametrize(
    ("shape", "every", "lines"),
    [
        ((5,), 3, ["90090"]),
        ((3, 4), 3, ["9009", "0090", "0900"]),
        ((2, 2, 3), 4, ["900", "090", "009", "000"]),
        ((7, 1), 2, ["9090909"]),
        ((70,), 69, ["9" + 63 * "0", "000009"]),
        ((), 1, ["9"]),
        ((0, 3), 1, []),
    ],
)
def test_picture_shows_positions(shape, every, lines):
    mask = np.zeros(shape, bool)
    mask.ravel()[::every] = True
    assert list(picture(mask)) == lines


def test_picture_of_large_output_is_small_and_shows_single_elements():
    mask = np.zeros((1000, 1000), bool)
    mask[500, 500] = mask[:32, :32] = True
    lines = picture(mask)
    assert len(lines) <= 32 and {len(line) for line in lines} == {63}
    assert lines[0].startswith("990") and sum(line.count("1") for line in lines) == 1
