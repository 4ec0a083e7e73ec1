"""Ops declared with shapes, arguments and launch rules, and errors in declarations."""

from __future__ import annotations

import re

import numpy as np
import pytest

from parity.data.layouts import LINES
from parity.data.sampling import sample
from parity.dsl.shapes import ShapeMismatch
from parity.errors import UsageError
from parity.model.dtypes import DTYPES
from parity.model.launch import Grid, Pointer, Scalar, Struct, argument_bytes
from parity.op import Op, Step
from parity.reference import Expected


def reference(*arguments, **named):
    return Expected(np.zeros(1))


def declared(**more):
    """Return an op on rows, with some fields replaced."""
    fields = {
        "name": "toy.glu",
        "kernel": "glu_{T}",
        "types": ("f32", "f16"),
        "args": "x out n:i32=r*c rows:i32=r c stride=x.strides[0] bytes:u32=x.numel*x.itemsize",
        "inputs": {"x": "T"},
        "shapes": "x: r 2*c; out: r c",
        "grid": "ceil(r*c/256)",
        "block": 256,
        "grid_stride": False,
        "reference": reference,
    }
    return Op(**{**fields, **more})


def launch_of(op, items, dtypes="f32"):
    return str(op.call(op.parse(f"{op.name}[{dtypes}]({items})")).launch)


def test_shapes_determine_shape_arguments_and_grid():
    op = declared()
    assert launch_of(op, "x=3x200~normal@0", "f16") == (
        "glu_f16<<<2x1x1, 256x1x1>>>(&x, &out, i32(300), i32(3), u64(100), u64(200), u32(1200))"
    )
    assert op.view(op.parse("toy.glu[f32](x=3x200~normal@0)")).shape == (3, 100)


def test_shapes_determine_drawn_cases():
    op = declared(where="c % 4 == 0 and r > 0")
    cases = sample(op.cases(("f32",)), 0, 150)
    assert all(op.parse(str(case)) == case for case in cases)
    shapes = [case.layouts["x"].shape for case in cases]
    assert all(columns % 8 == 0 for _, columns in shapes)
    assert {rows for rows, _ in shapes} & set(LINES[5:]) and {columns for _, columns in shapes if columns > 256}
    assert any(case.layouts["x"].offset for case in cases)


def test_cases_exclude_empty_launches():
    cases = sample(declared().cases(("f32",)), 0, 100)
    assert len(cases) == 100 and all(case.layouts["x"].numel for case in cases)
    assert any(
        not case.layouts["x"].numel for case in sample(declared(grid="max(1, ceil(r*c/256))").cases(("f32",)), 0, 100)
    )


def test_parameters_have_choices_alternatives_and_expressions():
    op = declared(
        args="x out",
        shapes="x: *left:dim n; out: *left",
        params={"dim": "u32"},
        choices=(
            {"left": ((2,), ("n", 3)), "n": (4, 5), "dim": ("len(left)",)},
            {"left": ((),), "n": (7,), "dim": (0,)},
        ),
        grid=1,
    )
    shapes = {case.layouts["x"].shape for case in sample(op.cases(("f32",)), 0, 60)}
    assert shapes == {(2, 4), (2, 5), (4, 3, 4), (5, 3, 5), (7,)}


def test_launch_rule_three_dims_shared_memory_and_threads():
    op = declared(
        grid="r, ceil(c/threads), 2", block="min(c, 64)", shared="4*threads", threads=(32,), args="x out threads blocks"
    )
    assert launch_of(op, "x=3x200~normal@0").endswith("<<<3x2x2, 64x1x1, 256 B shared>>>(&x, &out, u64(64), u64(12))")
    assert "<<<3x4x2, 32x1x1, 128 B shared>>>" in launch_of(op, "x=3x200~normal@0 threads=32")


def test_functions_receive_case_view():
    op = declared(
        args="x out twice", shape=None, operations=lambda given: given["c"] * 7,
        scalars={"twice": lambda given: ("i32", 2 * given.grid.grid[0] + given["r"])},
    )  # fmt: skip
    assert launch_of(op, "x=3x200~normal@0").endswith("(&x, &out, i32(7))")
    assert op.work(op.parse("toy.glu[f32](x=3x200~normal@0)")).operations == 700


def test_cases_use_host_launches_only():
    op = declared(grid_stride=True, threads=(32, 64))
    assert any(case.launch or case.threads for case in sample(op.cases(("f32",)), 0, 60))
    assert not any(case.launch or case.threads for case in sample(op.cases(("f32",), launches="host"), 0, 60))
    plain = declared(shapes="x: n; out: n", args="x out", grid="ceil(n/threads)", grid_stride=True)
    named = plain.named_cases(("f32",))
    assert [title for title, case in named if not case.launch] == ["more than 65,536 elements", "whole blocks"]
    assert plain.named_cases(("f32",), launches="host") == [each for each in named if not each[1].launch]
    assert plain.parse("toy.glu[f32](x=9~normal@0 launch=2x33)").launch == (2, 33)


adam = declared(
    args="p m v g step",
    inputs={"g": "T"},
    updates={"p": "T", "m": "f32", "v": "f32"},
    shapes="",
    grid="",
    params={"lr": "f32", "t": "u8", "decay": "f64"},
    structs={"step": "lr t decay n:i32=numel dims:i64[3]=p.shape v"},
    reference=lambda g, p, m, v, lr, t, decay: {name: Expected(x) for name, x in (("p", p), ("m", m), ("v", v))},
)


def test_updates_are_compared():
    case = adam.parse("toy.glu[f16](g=4~normal@0 p=4~normal@0 m=4~normal@0 v=4~probability@0 lr=0.5 t=3 decay=0.25)")
    call = adam.call(case)
    assert list(call.outputs) == ["p", "m", "v"] and list(call.inputs) == ["g", "p", "m", "v"]
    assert all(call.buffers[name].writable for name in "pmv") and not call.buffers["g"].writable
    assert np.array_equal(call.references()["m"].value, call.inputs["m"])
    assert adam.work(case).bytes == 4 * (2 + 2 * (2 + 4 + 4))


def test_reference_wrong_result_raises():
    op = declared(inputs={}, updates={"a": "T", "b": "T"}, shapes="", grid="", args="a b")
    call = op.call(op.parse("toy.glu[f32](a=4~normal@0 b=4~normal@0)"))
    with pytest.raises(
        UsageError, match=r"test_declaration.py:.*returns one Expected; .* a mapping with an Expected for each of a b"
    ):
        call.references()


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (np.zeros(3, np.float32), r"gives float32 of shape \(3,\) for out, which is float32 of shape \(4,\)"),
        (np.zeros(4), r"gives float64 of shape \(4,\) for out, which is float32 of shape \(4,\)"),
    ],
)
def test_reference_wrong_dtype_or_shape_raises(value, says):
    op = declared(shapes="", grid="", args="x out", inputs={"x": "T"}, reference=lambda x: Expected(value))
    with pytest.raises(UsageError, match=rf"test_declaration.py:\d+: op toy.glu: the reference {says}"):
        op.call(op.parse("toy.glu[f32](x=4~normal@0)")).expected()


def test_struct_has_c_layout():
    case = adam.parse("toy.glu[f32](g=2x3~normal@0 p=2x3~normal@0 m=2x3~unit@0 v=2x3~unit@0 lr=0.5 t=3 decay=0.25)")
    step = adam.call(case).launch.args[-1]
    assert isinstance(step, Struct)
    layout = np.dtype(
        [("lr", "<f4"), ("t", "u1"), ("decay", "<f8"), ("n", "<i4"), ("dims", "<i8", 3), ("v", "<u8")], align=True
    )
    values = np.frombuffer(argument_bytes(step, lambda pointer: 4096), layout)[0]
    assert [values[name].tolist() for name in layout.names] == [0.5, 3, 0.25, 6, [2, 3, 0], 4096]
    assert str(step).startswith("{lr=f32(0.5), t=u8(3)")
    assert argument_bytes(Pointer(None)) == bytes(8) and argument_bytes(Scalar(DTYPES["u8"], 7)) == b"\x07"


def test_then_launches_on_same_buffers():
    op = declared(
        args="x partial",
        shapes="x: n; out: 1; partial: m; m = ceil(n/256)",
        grid="m",
        workspace={"partial": "T"},
        then=(Step("last_{T}", "partial out m:i32 threads", grid=1, block=64),),
        grid_stride=True,
    )
    text = launch_of(op, "x=700~normal@0")
    assert (
        text
        == "glu_f32<<<3x1x1, 256x1x1>>>(&x, &partial); last_f32<<<1x1x1, 64x1x1>>>(&partial, &out, i32(3), u64(64))"
    )
    call = op.call(op.parse("toy.glu[f32](x=700~normal@0)"))
    assert call.buffers["partial"].data.size == 3
    assert op.entries()[1].kernels == ("glu_f16", "last_f16")
    assert not any(case.launch for case in sample(op.cases(("f32",)), 0, 40))
    with pytest.raises(UsageError, match="must have the launch of its rule"):
        op.parse("toy.glu[f32](x=700~normal@0 launch=1x32)")


def test_symbols_hold_inputs_or_computed_values():
    op = declared(
        args="x out",
        inputs={"x": "T", "table": "f32"},
        shapes="x: n; out: n; table: 16",
        grid=1,
        symbols={"weights": "table", "ops::powers": lambda given: 2 ** np.arange(given["n"], dtype=np.int32)},
    )
    call = op.call(op.parse("toy.glu[f16](x=3~normal@0 table=16~unit@0)"))
    assert list(call.launch.constants) == ["weights", "ops::powers"]
    assert call.launch.constants["ops::powers"].tolist() == [1, 2, 4]
    assert np.array_equal(call.launch.constants["weights"], call.inputs["table"])
    assert not any(case.layouts["table"].offset for case in sample(op.cases(("f32",)), 0, 30))
    with pytest.raises(UsageError, match="table is the content of a symbol, so it is not an argument"):
        declared(args="x out table", inputs={"x": "T", "table": "f32"}, shapes="x: n; out: n; table: 16", grid=1,
                 symbols={"weights": "table"})  # fmt: skip


def test_data_is_drawn_by_input_and_range():
    op = declared(data={"x": ("0..1", "sorted")})
    cases = sample(op.cases(("f32",)), 0, 40)
    assert {case.tensor("x").data for case in cases} == {"0..1", "sorted"}
    assert all(op.parse(str(case)) == case for case in cases)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"grid": "ceil(r*d/256)"}, r"grid: 'ceil\(r\*d/256\)', column 8: unknown name 'd'"),
        ({"grid": "x"}, "unknown name 'x'; write x.shape"),
        ({"shapes": "x: r 2*c; y: c; out: r c"}, "unknown tensor in shapes 'y'"),
        ({"shapes": "x: r 2*c"}, "shapes: .*the shape of out is missing; write 'out: '"),
        ({"shapes": "x: r 2*c; out: r c +"}, "shapes: '\\+' is not a dim"),
        ({"shapes": "x: r numel; out: r"}, "numel cannot name a dim"),
        ({"where": "q > 0"}, "where: 'q > 0', column 1: unknown name 'q'"),
        ({"args": "x out n:i32=r*q"}, "args: 'r\\*q', column 3: unknown name 'q'"),
        ({"args": "x out q"}, "args: unknown argument 'q'"),
        ({"args": "x out n:i3=r"}, "unknown dtype 'i3'"),
        ({"args": "x out x=r"}, "x=r: x has another meaning"),
        ({"args": "x:f32 out"}, "x:f32: x already has a type"),
        ({"args": "x out n-1"}, "'n-1' is not an argument; write name"),
        ({"choices": {"q": (1,)}}, "unknown name in choices 'q'"),
        ({"choices": {"c": ()}}, "choices: c has no values"),
        ({"workspace": {"out": "T"}}, "out is in outputs= and in workspace="),
        ({"updates": {"x": "T"}}, "x is in inputs= and in updates="),
        ({"outputs": {"out": "T", "x": "T"}}, "x is in inputs= and in outputs="),
        ({"strides": {"x": "anyy"}}, "unknown strides 'anyy'; did you mean any"),
        ({"strides": {"z": "any"}}, "unknown tensor with strides 'z'"),
        ({"data": ("nrmal",)}, "unknown data 'nrmal'; did you mean normal"),
        ({"symbols": {"table": "z"}}, "unknown tensor or structure in symbols 'z'"),
        ({"symbols": {"printf": "out"}}, "symbols: printf is 'out', and printed text needs an output of u8"),
        ({"structs": {"s": "a:f32"}}, "structs: unknown argument 'a'"),
        ({"then": (Step("k", "x out", grid="q"),)}, "grid: 'q', column 1: unknown name 'q'"),
    ],
)
def test_invalid_declaration_raises(more, says):
    with pytest.raises(UsageError, match=says):
        declared(**more)


@pytest.mark.parametrize(
    ("more", "items", "says"),
    [
        ({}, "x=3x5~normal@0", r"x has 5 along dim 1, which is not 2\*c"),
        ({"where": "c > 3 and r > 2"}, "x=2x10~normal@0", "r > 2 must hold; here r=2"),
        ({}, "x=0x10~normal@0", "a launch needs 1 or more along every dim"),
        ({"grid": "1, r*c*9999"}, "x=4x4~normal@0", r"is \(1, 79992\) with c=2, r=4: a grid has at most 65535 blocks"),
        ({"shapes": "x: r c; out: r c-9"}, "x=2x3~normal@0", r"out would have shape \(2, -6\)"),
        (
            {"grid": "r/c"},
            "x=3x4~normal@0",
            r"test_declaration.py:\d+: op toy.glu: launch: 'r/c' gives 3/2, .* write ceil\(r/c\)",
        ),
        (
            {"grid": "r//(c-2)"},
            "x=3x4~normal@0",
            r"test_declaration.py:\d+: .* column 1: a division by zero with c=2, r=3; exclude",
        ),
        ({"shared": "c-9"}, "x=3x4~normal@0", r"test_declaration.py:\d+: .*shared='c-9' is -7 bytes with c=2"),
        ({"grid": "r, c, 1, 1"}, "x=3x4~normal@0", "has 4 dims; a grid and a block have one to three"),
        ({"args": "x out n:u8=r*c*99"}, "x=3x4~normal@0", r"op toy.glu: args: n=594 is outside of u8"),
    ],
)
def test_call_invalid_for_case_raises(more, items, says):
    op = declared(**more)
    with pytest.raises(UsageError, match=says):
        op.call(op.parse(f"toy.glu[f32]({items})"))


@pytest.mark.parametrize(("rule", "size"), [("r-5", "r=3"), ("r//4", "r=3"), ("x.shape[0]-5", r"x.shape=\(3, 10\)")])
@pytest.mark.parametrize("field", ["grid", "block"])
def test_launch_without_threads_is_error_unless_case_is_empty(field, rule, size):
    op = declared(**{field: rule})
    with pytest.raises(UsageError, match=rf"is -?\d with {size}: a launch needs 1 or more .*where=") as raised:
        op.parse("toy.glu[f32](x=3x10~normal@0)")
    assert not isinstance(raised.value, ShapeMismatch)
    with pytest.raises(ShapeMismatch, match="a launch needs 1 or more"):
        op.parse("toy.glu[f32](x=0x10~normal@0)")


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"workspace": {"w": lambda view: ("f32", -5)}}, "workspace: w has -5 elements"),
        ({"workspace": {"w": lambda view: ("f32", 2.5)}}, "workspace: w has 2.5 elements"),
        ({"args": "x out k", "scalars": {"k": lambda view: ("i32", 2.5)}}, "k=2.5 is not a whole number, as i32 needs"),
        ({"args": "x out k", "scalars": {"k": lambda view: ("i32", np.arange(3))}}, "which is not a number"),
        ({"launch": lambda view: Grid((1.0, 1, 1), (64, 1, 1))}, "must have whole numbers in three dims"),
        ({"launch": lambda view: Grid((1, 1), (64, 1))}, "must have whole numbers in three dims"),
        ({"launch": lambda view: Grid((1, 1, 1), (64, 1, 1), -8)}, "has -8 bytes of shared memory"),
        ({"mismatch": lambda view: np.zeros(3)}, "mismatch raised ValueError: The truth value of an array"),
        ({"indices": {"i": "c-9"}, "inputs": {"x": "T", "i": "i32"}, "shapes": "x: r 2*c; out: r c; i: r"},
         "indices: c-9 is -7; correct it"),
        ({"indices": {"i": lambda view: -1}, "inputs": {"x": "T", "i": "i32"}, "shapes": "x: r 2*c; out: r c; i: r"},
         "is -1; correct it"),
    ],
)  # fmt: skip
def test_invalid_number_of_a_function_is_error_of_op(more, says):
    op = declared(**more)
    ids = " i=3~index@0" if "indices" in more else ""
    with pytest.raises(UsageError, match=re.escape(says)):
        op.call(op.parse(f"toy.glu[f32](x=3x4~normal@0{ids})"))


def test_numbers_of_numpy_in_launch_become_numbers_of_python():
    grid = Grid((np.int64(3), 1, 1), (np.int32(64), 1, 1), np.uint32(8))
    assert [type(each) for each in (*grid.grid, *grid.block, grid.shared_bytes)] == [int] * 7


def test_choice_beyond_type_of_parameter_is_error():
    op = declared(params={"scale": "f32"}, choices={"scale": (10**400,)})
    with pytest.raises(UsageError, match=r"toy.glu: choices: a value of scale is not of type f32: int too large"):
        sample(op.cases(("f32",)), 0, 3)


def test_parse_mismatched_case_raises_shape_mismatch():
    with pytest.raises(ShapeMismatch):
        declared().parse("toy.glu[f32](x=3x5~normal@0)")
