"""Neighbours of a case are valid, reproducible and use the kernel's constants."""

from __future__ import annotations

from random import Random

import pytest

from parity.cases.neighbours import LARGEST, Constants, draw_neighbour
from parity.engine.case_records import Column, Task
from parity.engine.plan import Plan

OPS = ("affine.affine", "reduce.softmax", "ternary.where", "indexing.index_select", "conv.conv2d", "cast.convert")
CONSTANTS = Constants((4099, 6, -7, 1 << 40), (12345.5, 1e300))


def cases(suite, name):
    entry = next(each for each in suite.entries if each.op.name == name)
    plan = Plan.of(suite, [], {}, examples=5)
    drawn = plan.draw(suite, Task(name, entry.dtypes, (Column("emulated", "gfx1100"),)))
    return entry.op, [entry.op.parse(text) for _, text in drawn]


def variants(op, given, seed, count=150):
    random = Random(seed)
    found = (draw_neighbour(op, random.choice(given), CONSTANTS, random) for _ in range(count))
    return [each for each in found if each]


@pytest.mark.parametrize("name", OPS)
def test_neighbour_is_valid_case_within_limits(suite, name):
    op, given = cases(suite, name)
    found = variants(op, given, 1)
    assert len({*found} - {*given}) > 20
    for case in found:
        assert op.parse(str(case)) == case
        assert all(max(layout.span, layout.numel) <= LARGEST for layout in case.layouts.values())


def test_neighbours_use_kernel_constants(suite):
    op, given = cases(suite, "affine.affine")
    found = variants(op, given, 2, 600)
    shapes = [case.tensor("x").layout.shape for case in found]
    assert any(4099 in shape for shape in shapes) and any(4100 in shape for shape in shapes)
    assert any(len(shape) == 6 for shape in shapes)
    assert any(case.launch and case.launch[0] in (4098, 4099, 4100) for case in found)
    assert any(".." in case.tensor("x").data for case in found)


def test_neighbours_are_reproducible(suite):
    op, given = cases(suite, "reduce.softmax")
    assert variants(op, given, 3) == variants(op, given, 3) != variants(op, given, 4)
