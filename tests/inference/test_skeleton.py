"""Declarations that are more careful after a declaration failed."""

from pathlib import PurePath

import pytest

from parity.inference.skeleton import TOO_LITTLE, skeletons
from parity.inference.spec import InferredSpec
from parity.model.code_object import Argument, Kernel

ARGS = (Argument("x", 0, 8, "global_buffer"), Argument("y", 8, 8, "global_buffer"), Argument("low", 16, 4, "by_value"))
KERNEL = Kernel("_Z3litPKfPff", ARGS, kernarg_bytes=24, sgprs=1, vgprs=1, lds_bytes=0, scratch_bytes=0, wavefront=32)
OUTSIDE = "with what was guessed, CUDA's side fails in k.lit[f32]: out-of-bounds read of 4 bytes in kernel 'lit'"


@pytest.fixture
def op():
    def launched(args, flow, single):
        return InferredSpec({"x": "16", "y": "16"}, ("1",), (32,), is_measured=single)

    (found,) = skeletons(PurePath("k.cu"), "k", [KERNEL], probes={KERNEL.name: launched})
    return found


def values(op, name):
    return next((each.value for each in op.keywords if each.name == name), {})


def test_again_after_cases_that_show_too_little_draws_calm_numbers(op):
    reasons = f"with what was guessed, {TOO_LITTLE} in k.lit[f32]", f"{TOO_LITTLE} in k.lit[f32](x=16~extreme@0)"
    single = op.again(reasons[0])
    assert "low" not in values(single, "choices")
    calm = single.again(reasons[1])
    assert values(calm, "choices") == {"low": (0.5, 1.0)} and values(calm, "data")["x"] == ("0.25..1",)
    assert values(calm, "shapes") == values(single, "shapes")
    assert calm.again(reasons[1]).again(reasons[1]) is None


@pytest.mark.parametrize(("detail", "is_repeated"), [("divergent barrier in", True), ("data race in", False)])
def test_again_after_other_failures_draws_calm_numbers_except_after_races(op, detail, is_repeated):
    reason = f"with what was guessed, CUDA's side fails in k.lit[f32]: {detail} kernel 'lit'"
    calm = op.again(reason).again(reason)
    assert (calm is not None) == is_repeated
    assert not calm or values(calm, "choices") == {"low": (0.5, 1.0)}


def test_again_after_access_outside_enlarges_tensors_before_it_draws_calm_numbers(op):
    single = op.again(OUTSIDE)
    larger = single.again(OUTSIDE)
    assert values(larger, "shapes") == "x: 256; y: 256" and "low" not in values(larger, "choices")
    calm = larger.again(OUTSIDE).again(OUTSIDE)
    assert values(calm, "choices") == {"low": (0.5, 1.0)} and values(calm, "shapes") == "x: 16; y: 16"
