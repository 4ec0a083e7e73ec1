"""Checks of the fields of a declaration."""

from __future__ import annotations

from dataclasses import replace

import pytest

from parity.errors import UsageError
from parity.op import NamedCase, Op


@pytest.fixture
def op(suite):
    return suite.op("unary.exp")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"types": "f32"}, "types is 'f32', not a list"),
        ({"types": ["f32", 3]}, r"types\[1\] is 3, not a text"),
        ({"inputs": ["x"]}, r"inputs is \['x'\], not a dict"),
        ({"inputs": {"x": None}}, "inputs: x is None, not a text"),
        ({"threads": [True]}, r"threads\[0\] is True, not a whole number"),
        ({"points": ["1"]}, r"points\[0\] is '1', not a number"),
        ({"in_place": 3}, "in_place is 3, not a text or None"),
        ({"reference": 3}, "reference is 3, not a function or None"),
        ({"data": {"x": "normal"}}, "data: x is 'normal', not a list"),
        ({"choices": {"n": 1}}, "choices: n is 1, not a list"),
        ({"grid_stride": "no"}, "grid_stride is 'no', not True or False"),
        ({"strides": 3}, "strides is 3, not a text or a Strides or a dict"),
        ({"scalars": {"n": "u32"}}, "scalars: n is 'u32', not a function"),
        ({"then": ("last",)}, r"then\[0\] is 'last', not a Step"),
        ({"outputs": {}}, "outputs= and updates= have no tensor, so nothing could be compared"),
        ({"block": 0}, "block is 0; a block has 1 to 1024 threads"),
        ({"types": ("f33",)}, "types: unknown dtype 'f33'.*did you mean f32"),
        ({"inputs": {"x": "float"}}, "inputs: unknown dtype 'float'"),
        ({"shapes": "x: n; out: m"}, "shapes: 'out: m': m is unknown: no input has it, and it is not a parameter"),
        (
            {"reference": lambda x, alpha, to: x},
            r"the reference is called with \(x, to=\) and does not accept that: missing a required argument: 'alpha'",
        ),
        ({"named": (NamedCase("\x1b[2J", "x=3~mixed@0"),)}, r"named has the title '\\x1b\[2J'; reports show only"),
        ({"pointers": {"rows": "y"}}, "unknown tensor in pointers 'y'"),
        ({"pointers": {"rows": "x 1 2"}}, "pointers: 'x 1 2' is not a tensor and a number of levels"),
        ({"pointers": {"rows": ""}}, "unknown tensor in pointers ''"),
        ({"pointers": {"rows": "x two"}}, "pointers: the levels of rows is 'two'; it must be a number in digits"),
        ({"textures": {"tex": "y 2d"}}, "unknown tensor in textures 'y'"),
        ({"textures": {"tex": "x 2d lineal"}}, "textures: unknown word 'lineal'"),
        ({"textures": {"tex": "out 2d"}}, "textures: a kernel writes out through a surface; add the word surface"),
        ({"textures": {"alpha": "x 2d"}, "params": {"alpha": "f32"}}, "alpha is in params= and in textures="),
        ({"choices": [{"n": (1,)}, 3]}, r"choices\[1\] is 3, not a dict"),
    ],
)
def test_invalid_field_names_place_and_value(op, change, says):
    with pytest.raises(UsageError, match=f"op unary.exp: {says}"):
        replace(op, **change)


def test_output_missing_in_args_raises(op):
    with pytest.raises(UsageError, match=r"args lacks all of its outputs \(out\), so nothing could be compared"):
        replace(op, args="numel num_dims info x")


def test_output_without_shape_raises():
    says = 'without inputs, the shape of out is unknown; set writes=True, and shapes="out: n" for one dim'
    with pytest.raises(UsageError, match=says):
        Op("fills.fill", kernel="fill", types=("f32",), args="out", shapes="out: n")
    assert Op("fills.fill", kernel="fill", types=("f32",), args="out", writes=True).tensors == {"out": "T"}
