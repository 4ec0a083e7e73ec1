"""Specifications from the launches of a program."""

import numpy as np
import pytest

from parity.inference.observed_launches import ObservedLaunch, agrees, observed_spec, single_spec
from parity.inference.spec import InferredSpec, KernelArgument
from parity.model.dtypes import dtype


def arguments(*names):
    """Return pointers to f32 (``x``), to i32 (``i_x``), and i32 numbers (upper case)."""
    return [
        KernelArgument(name, dtype("i32" if name.isupper() or name.startswith("i_") else "f32"), not name.isupper())
        for name in names
    ]


def launch(grid, block, sizes, contents=None, shared=0, **numbers):
    return ObservedLaunch(grid, block, shared, numbers, sizes, contents or {})


def unknown():
    return "nothing is known"


@pytest.mark.parametrize(
    ("launches", "shapes", "grid"),
    [
        ([launch((4, 1, 1), (256, 1, 1), {"x": 1000}, N=1000)], {"x": "N"}, ("ceil(N/256)",)),
        ([launch((2, 3, 1), (8, 4, 1), {"x": 192}, N=16, M=12)], {"x": "N M"}, ("ceil(N/8)", "ceil(M/4)")),
        (
            [launch((5, 1, 1), (64, 1, 1), {"x": 50}, N=10), launch((7, 1, 1), (64, 1, 1), {"x": 84}, N=12)],
            {"x": "N rows"},
            ("rows",),
        ),
        (
            [launch((n, 1, 1), (32, 1, 1), {"x": n + 4}, shared=4 * n, N=n) for n in (3, 6)],
            {"x": "N+4"},
            ("N",),
        ),
    ],
    ids=["one extent", "two extents", "extent of the grid", "halo"],
)
def test_observed_spec_launches_determine_formulas(launches, shapes, grid):
    names = [*launches[0].sizes, *launches[0].numbers]
    spec = observed_spec(arguments(*names), launches, unknown)
    assert isinstance(spec, InferredSpec)
    assert (spec.shapes, spec.grid) == (shapes, grid)
    assert agrees(spec, launches)


def test_observed_spec_unexplained_size_is_none_without_probe():
    launches = [launch((1, 1, 1), (32, 1, 1), {"x": size}, N=n) for size, n in ((1237, 5), (311, 9), (97, 4))]
    spec = observed_spec(arguments("x", "N"), launches, unknown)
    assert spec == single_spec(arguments("x", "N"), launches)
    assert spec.shapes == {"x": "97"}
    assert spec.made == {"N": "4"}


@pytest.mark.parametrize(
    ("spec", "agreed"),
    [
        (InferredSpec({"x": "N"}, ("ceil(N/32)",), (32,)), True),
        (InferredSpec({"x": "2*N"}, ("ceil(N/32)",), (32,)), False),
        (InferredSpec({"x": "N"}, ("ceil(N/64)",), (32,)), False),
        (InferredSpec({"x": "N"}, ("1",), (32,), strided=True), True),
        (InferredSpec({"x": "N"}, ("ceil(N/32)",), (64,)), False),
        (InferredSpec({"x": "N"}, ("ceil(N/32)",), (32,), where=("N % 32 == 0",)), False),
        (InferredSpec({"x": "N"}, ("ceil(N/32)",), (32,), made={"N": "64"}), False),
    ],
    ids=["right", "more memory", "other grid", "any grid", "other block", "condition", "constant"],
)
def test_agrees_specification_is_compared_with_the_launch(spec, agreed):
    assert agrees(spec, [launch((4, 1, 1), (32, 1, 1), {"x": 100}, N=100)]) is agreed


@pytest.mark.parametrize(
    ("elements", "kind"),
    [
        ([5, 0, 9, 9, 3], "positions"),
        ([0, 2, 2, 7, 10], "offsets"),
        ([-3, 90, 4, 0, 1], "range"),
    ],
    ids=["positions", "row starts", "range"],
)
def test_observed_spec_integer_tensor_gets_the_captured_kind(elements, kind):
    content = {"i_x": np.array(elements, np.int32)}
    one = launch((1, 1, 1), (32, 1, 1), {"y": 10, "i_x": 5}, content, N=10, M=5)
    spec = observed_spec(arguments("y", "i_x", "N", "M"), [one], unknown)
    assert isinstance(spec, InferredSpec)
    assert spec.indices.get("i_x") == ("N" if kind == "positions" else None)
    assert ("i_x" in spec.roles) is (kind == "offsets")
    assert spec.ranges.get("i_x") == ("-3..90" if kind == "range" else None)


def test_observed_spec_numbers_are_drawn_around_the_launch():
    small = launch((1, 1, 1), (32, 1, 1), {"x": 20}, N=20, MODE=3)
    spec = observed_spec(arguments("x", "N", "MODE"), [small], unknown)
    assert isinstance(spec, InferredSpec)
    assert {19, 20, 21} <= {*spec.choices["N"]}
    assert spec.choices["MODE"] == (3,)
