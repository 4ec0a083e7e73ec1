"""Declarations that are more careful after a declaration failed."""

from dataclasses import replace
from pathlib import PurePath

import pytest

from parity.inference.attempt import DIVERGES, TOO_LITTLE
from parity.inference.data_flow import Flow, Table, Use
from parity.inference.host_launches import HostLaunch
from parity.inference.kernel_time_limit import TimeLimit
from parity.inference.skeleton import skeletons
from parity.inference.spec import IndexRole, InferredSpec
from parity.model.code_object import Argument, Kernel

ARGS = (Argument("x", 0, 8, "global_buffer"), Argument("y", 8, 8, "global_buffer"), Argument("low", 16, 4, "by_value"))
KERNEL = Kernel("_Z3litPKfPff", ARGS, kernarg_bytes=24, sgprs=1, vgprs=1, lds_bytes=0, scratch_bytes=0, wavefront=32)
PUT = replace(KERNEL, name="_Z3putPKiPf", args=ARGS[:2])
ROWS = replace(KERNEL, name="_Z4rowsPKsPA8_A5_f", args=ARGS[:2])
MERGED = replace(KERNEL, name="_Z6mergedPKfPi", args=ARGS[:2])
RACE = "with what was guessed, CUDA's side fails in k.put[f32]: data race in kernel 'put' at byte 4 of buffer 'y'"
OUTSIDE = "with what was guessed, CUDA's side fails in k.lit[f32]: out-of-bounds read of 4 bytes in kernel 'lit'"


FLAGGED = replace(KERNEL, name="_Z7flaggedPK4ItemPf", args=ARGS[:2])
BOOLS = replace(KERNEL, name="_Z5boolsPKbPf", args=ARGS[:2])
BYTES = replace(KERNEL, name="_Z5bytesPKhPf", args=ARGS[:2])
USES = {(0, 0): Use(frozenset(("u8",)), first="ld", width=1), (1, 0): Use(writes=frozenset(("f32",)), width=4)}


SAMPLED = replace(KERNEL, name="_Z7sampledPfP13__hip_texture", args=ARGS[:2])


def declared(kernel, flow=None, extents=("16", "16"), small=(), grid=("1",), roles=()):
    def launched(args, flow, single):
        names = [each.name for each in args if each.is_pointer] or ["x", "y"]
        return InferredSpec(
            dict(zip(names, extents, strict=True)), grid, (32,), is_measured=single, small=frozenset(small),
            roles=dict(roles),
        )  # fmt: skip

    (found,) = skeletons(PurePath("k.cu"), "k", [kernel], flows={kernel.name: flow}, probes={kernel.name: launched})
    return found


@pytest.fixture
def op():
    return declared(KERNEL)


def values(op, name):
    return next((each.value for each in op.keywords if each.name == name), {})


def test_tensor_with_reserved_name_gets_another_name():
    named = (replace(ARGS[0], name="threads"), replace(ARGS[1], name="shape"))
    found = declared(replace(PUT, args=named), Flow(("u64", "u64"), USES))
    assert values(found, "args") == "threads_ shape_" and values(found, "inputs") == {"threads_": "i32"}


def test_vectors_that_carry_halves_are_tensors_of_halves():
    uses = {(0, 0): Use(frozenset(("f16",)), first="ld", width=16), (1, 0): Use(writes=frozenset(("f32",)), width=16)}
    found = declared(replace(KERNEL, name="_Z5widenPK6float4PS_", args=ARGS[:2]), Flow(("u64", "u64"), uses))
    assert values(found, "inputs") == {"x": "f16"} and values(found, "updates") == {"y": "f32"}


def test_pointers_to_arrays_hide_no_types():
    found = declared(ROWS)
    assert found.kernel == "rows(short const*, float (*) [8][5])"
    assert values(found, "inputs") == {"x": "i16"} and values(found, "updates") == {"y": "f32"}


@pytest.mark.parametrize(
    ("template", "arguments", "launched"),
    [((), "abc", "k.cpp:7, as lit<<<1, 64>>>"), ((), "abcd", ""), (("float",), "abc", "")],
)
def test_launches_with_more_arguments_or_of_a_template_are_for_another_kernel(template, arguments, launched):
    launch = HostLaunch("lit", template, (64,), text="lit<<<1, 64>>>", at=7, path="k.cpp", arguments=tuple(arguments))
    (found,) = skeletons(PurePath("k.cu"), "k", [KERNEL], launches={"lit": [launch]})
    assert found.launched == launched


def test_many_arguments_take_several_lines():
    (found,) = (each for each in declared(KERNEL).keywords if each.name == "args")
    assert found.wraps


def test_again_after_cases_that_show_too_little_draws_calm_numbers(op):
    reasons = f"with what was guessed, {TOO_LITTLE} in k.lit[f32]", f"{TOO_LITTLE} in k.lit[f32](x=16~extreme@0)"
    single = op.again(reasons[0])
    assert "low" not in values(single, "choices")
    calm = single.again(reasons[1])
    assert values(calm, "choices") == {"low": (0.5, 1.0)} and values(calm, "data")["x"] == ("0.25..1",)
    assert values(calm, "shapes") == values(single, "shapes")
    assert calm.again(reasons[1]).again(reasons[1]) is None


def test_again_after_other_failures_draws_calm_numbers(op):
    reason = "with what was guessed, CUDA's side fails in k.lit[f32]: divergent barrier in kernel 'lit'"
    assert values(op.again(reason).again(reason), "choices") == {"low": (0.5, 1.0)}


def test_again_after_divergence_draws_calm_numbers_with_the_same_shapes(op):
    calm = op.again(DIVERGES)
    assert values(calm, "data")["x"] == ("0.25..1",) and values(calm, "shapes") == values(op, "shapes")
    assert calm.again(DIVERGES).again(DIVERGES) is None


@pytest.mark.parametrize(("kernel", "data"), [(FLAGGED, {"x": ("0..1",)}), (BYTES, {})])
def test_bytes_of_structures_may_be_bools(kernel, data):
    assert values(declared(kernel, Flow(("u64", "u64"), USES)), "data") == data


def test_bools_of_a_single_launch_are_0_or_1():
    assert values(declared(BOOLS, Flow(("u64", "u64"), USES), small=("x",)), "data") == {"x": ("0..1",)}


@pytest.mark.parametrize(("types", "doubt"), [(("f32", "u8"), "fields have several types"), (("f32",), "")])
def test_data_for_structures_of_several_types_is_doubtful(types, doubt):
    uses = {**USES, (0, 0): Use(frozenset(types), first="ld", width=4)}
    assert doubt in (found := declared(FLAGGED, Flow(("u64", "u64"), uses)).doubt) and bool(doubt) == bool(found)


def test_results_by_the_size_of_warps_are_doubtful():
    assert "warpSize" in declared(FLAGGED, Flow(("u64", "u64"), USES, by_warps=True)).doubt


def test_kernel_without_tensors_is_declared_again():
    def launched(args, flow, single):
        return InferredSpec({}, ("1",), (32,), is_measured=single)

    kernel, flow = replace(KERNEL, args=(), name="_Z3litv"), Flow((), variables={"out": Table(64, frozenset(("f32",)))})
    (found,) = skeletons(PurePath("k.cu"), "k", [kernel], flows={kernel.name: flow}, probes={kernel.name: launched})
    for _ in range(5):
        found = found.again("CUDA's side fails: out-of-bounds read of 4 bytes")
    assert values(found, "symbols") == {"out": "out"}


@pytest.mark.parametrize(("kernel", "name"), [(PUT, "x"), (MERGED, "y")])
def test_again_after_race_draws_distinct_integers(kernel, name):
    found = declared(kernel).again(RACE)
    assert values(found, "data") == {name: ("consecutive",)} and values(found, "indices") == {name: "16"}
    assert values(found.again(RACE), "data") == values(found, "data")
    assert found.again(RACE).again(RACE) is None, "other numbers would hide the race"


@pytest.mark.parametrize("bound", ["n", "16"])
def test_mask_draws_the_number_that_it_is_compared_with_unless_it_is_constant(bound):
    found = declared(PUT, Flow(("u64", "u64"), USES), roles={"x": IndexRole("mask", bound)})
    assert [*values(found, "choices")] == [each for each in [bound] if each.isidentifier()]


@pytest.mark.parametrize(("parted", "stream"), [((), "offsets"), ([(0, 0)], "parts")])
def test_offsets_bound_no_empty_parts_if_the_kernel_divides_by_their_lengths(parted, stream):
    flow = Flow(("u64", "u64"), USES, parted=frozenset(parted))
    assert values(declared(PUT, flow, roles={"x": IndexRole("offsets", "16")}), "data") == {"x": (stream,)}


@pytest.mark.parametrize(("axes", "shown"), [("x", True), ("xy", False)])
def test_race_with_a_guessed_block_of_two_axes_is_no_mistake(axes, shown):
    assert declared(PUT, Flow(("u64", "u64"), USES, thread_axes=frozenset(axes))).shows_races is shown


def test_again_after_distinct_integers_show_too_little_draws_calm_numbers():
    calm = declared(MERGED).again(RACE).again(f"with what was guessed, {TOO_LITTLE} in k.merged[f32]")
    assert values(calm, "data")["y"] == ("0..3",) and not values(calm, "indices")


def test_again_after_access_outside_enlarges_tensors_before_it_draws_calm_numbers():
    single = declared(KERNEL, extents=("16", "4")).again(OUTSIDE)
    alike = single.again(OUTSIDE)
    assert values(alike, "shapes") == "x: 16; y: 16"
    larger = alike.again(OUTSIDE)
    assert values(larger, "shapes") == "x: 256; y: 256" and "low" not in values(larger, "choices")
    calm = larger.again(OUTSIDE).again(OUTSIDE)
    assert values(calm, "choices") == {"low": (0.5, 1.0)} and values(calm, "shapes") == "x: 16; y: 4"


def test_name_of_op_has_template_arguments_only_if_they_tell_kernels_apart():
    def titles(*names, known=""):
        kernels = [replace(KERNEL, name=f"_Z{name}PKfPff") for name in names]
        return [each.title for each in skeletons(PurePath("k.cu"), "k", kernels, known=known)]

    alone, other = "3litILi4EfEv", "3litILi8EfEv"
    assert titles(alone) == ["lit"] and titles(alone, other) == ["lit_4_float", "lit_8_float"]
    assert not titles(alone, known='"k.lit_4_float"')


def test_small_integers_that_a_kernel_compares_with_minus_1_may_be_minus_1():
    uses = {(0, 0): Use(frozenset(("s32",)), first="ld", width=4), (1, 0): Use(writes=frozenset(("f32",)), width=4)}
    found = declared(PUT, Flow(("u64", "u64"), uses, wholes={(0, 0): (-1, 0)}), small=("x",))
    assert values(found, "data") == {"x": ("-1..2",)}
    assert values(declared(PUT, Flow(("u64", "u64"), uses), small=("x",)), "data") == {"x": ("0..3",)}


@pytest.mark.parametrize(("grid", "most"), [(("1", "lines"), 300), (("ceil(n/32)", "lines"), 7)])
def test_free_extents_of_large_grids_are_small(grid, most):
    assert max(values(declared(KERNEL, extents=("n", "n"), grid=grid), "choices")["lines"]) == most


def test_extents_of_tensors_are_few_blocks_for_each_of_a_free_extent():
    found = declared(KERNEL, extents=("batches 4", "batches 4"), grid=("1", "lines", "batches"))
    assert {name: max(each) for name, each in values(found, "choices").items()} == {"lines": 7, "batches": 64}
    assert "batches" not in values(declared(KERNEL, extents=("batches 4",) * 2, grid=("1", "1", "batches")), "choices")


def test_extents_next_to_a_squared_extent_are_small():
    found = declared(KERNEL, extents=("batch rows rows", "batch rows cols"))
    assert {name: max(each) for name, each in values(found, "choices").items()} == dict.fromkeys(
        ("batch", "cols", "rows"), 64
    )


def test_file_with_very_many_instances_has_some_ops_of_each_template():
    many = [replace(KERNEL, name=f"_Z4tileILi{i}EEvPKfPff") for i in range(100)]
    found = [*skeletons(PurePath("k.cu"), "k", [KERNEL, *many])]
    assert [each.name for each in found[:3]] == ["k.lit", "k.tile_0", "k.tile_9"] and len(found) == 14
    assert found[-1].kernel == "tile" and found[-1].omitted.startswith("88 more of its instances")
    known = "".join(f'"{each.name}"' for each in found if each.name)
    assert next(skeletons(PurePath("k.cu"), "k", [KERNEL, *many], known=known)).name == "k.tile_1"
    assert len([*skeletons(PurePath("k.cu"), "k", many[:24])]) == 24


def test_template_without_any_code_has_ops_as_if_it_had():
    many = [replace(KERNEL, name=f"_Z4tileILi{i}EEvPKfPff") for i in range(9)]
    found = [each.name for each in skeletons(PurePath("k.cu"), "k", many)]
    assert found == [each.name for each in skeletons(PurePath("k.cu"), "k", many, empty=[each.name for each in many])]


def test_instances_with_other_types_come_first_until_the_time_of_their_template_is_over():
    names = [f"_Z4tileI{kind}Li{i}EEvPKfPff" for i in range(40) for kind in ("2HaIdE", "2HaIfE")]
    many = [replace(KERNEL, name=name) for name in names]
    found = [*skeletons(PurePath("k.cu"), "k", many)]
    assert [each.name for each in found[:3]] == ["k.tile_Ha_float_0", "k.tile_Ha_double_0", "k.tile_Ha_float_4"]
    limit = TimeLimit(60)
    limit.charge(("k", "tile"), 10)
    probes = {name: lambda *asked: limit.charge(("k", "tile"), 30) or "no launch shows it" for name in names}
    one, left = skeletons(PurePath("k.cu"), "k", many, probes=probes, limit=limit)
    assert one.name == "k.tile_Ha_float_0" and left.omitted.startswith("79 more of its instances have no op")


def test_texture_without_ptx_is_omitted():
    (found,) = skeletons(PurePath("k.cu"), "k", [SAMPLED])
    assert found.omitted == "it uses a texture or a surface; with nvcc, parity infers how"
