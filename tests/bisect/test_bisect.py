"""The table of compiler options, and the lines whose instructions change."""

from __future__ import annotations

import pytest

from parity.bisect.changed_lines import changed_lines
from parity.bisect.compiler_options import COMPILER_OPTIONS, available_options
from parity.build.modules import build
from parity.build.settings import BuildSettings
from parity.compilers.compile_options import CompileOptions, Sides
from parity.compilers.targets import target


def descriptions(name: str, *flags: str) -> list[str]:
    """Return the descriptions of the options that apply to a project with these flags."""
    return [option.description(flags) for option in available_options(target(name), flags) if not option.variant]


def test_option_that_removes_flag_applies_only_if_project_has_flag():
    assert "without -O1" not in descriptions("gfx1100") and "without -O1" in descriptions("gfx1100", "-DX", "-O1")
    assert "without -ffast-math -fno-signed-zeros" in descriptions("gfx90a", "-ffast-math", "-fno-signed-zeros")
    assert not any("fast-math" in each for each in descriptions("gfx90a", "-DX=-ffast-math", "-DY"))


def test_option_that_project_already_uses_does_not_apply():
    assert "-ffp-contract=off" in descriptions("gfx1100")
    assert "-ffp-contract=off" not in descriptions("gfx1100", "-ffp-contract=off")


def test_flag_and_value_in_two_words_match():
    assert "without --fmad false" in descriptions("sm_90", "--fmad", "false")
    (option,) = (each for each in COMPILER_OPTIONS if each.vendor == "cuda" and each.where.startswith("--?fmad"))
    assert option.changed_flags(("-DX", "--fmad", "false", "-DY")) == ("-DX", "-DY")
    (kept,) = (each for each in COMPILER_OPTIONS if each.flags == ("--ftz=false",))
    assert kept.changed_flags(("--use_fast_math",)) == ("--use_fast_math", "--ftz=false")


@pytest.mark.parametrize(("name", "has"), [("gfx1100", True), ("gfx90a", False), ("sm_90", False)])
def test_wavefront_option_applies_only_to_wave32_targets(name, has):
    assert any("-mwavefrontsize64" in each for each in descriptions(name)) is has


def test_every_option_has_explanation_and_effect():
    assert all(option.says and option.vendor in ("amd", "cuda") for option in COMPILER_OPTIONS)
    assert all(option.flags or option.where or option.variant for option in COMPILER_OPTIONS)


SOURCE = """\
extern "C" __global__ void first(float* x, int n) {
    float y = x[threadIdx.x];
    x[threadIdx.x] = y * y
        + 3.0f;
    x[n] = y * 2.0f;
}
"""


@pytest.mark.parametrize(
    ("name", "flag", "lost", "got", "more"),
    [
        ("gfx90a", "-ffp-contract=off", "v_fma_f32", "v_add_f32", "v_mul_f32"),
        ("sm_90", "--fmad=false", "fma.rn.f32", "add.rn.f32", "mul.rn.f32"),
    ],
)
def test_changed_lines_name_lost_and_gained_instructions(tmp_path, cache, request, name, flag, lost, got, more):
    if name == "sm_90":
        request.getfixturevalue("with_nvcc")
    (tmp_path / "m.cu").write_text(SOURCE)
    sides = (Sides(), Sides.both(CompileOptions(flags=(flag,))))
    before, after = (
        build(tmp_path, ["m"], [name], cache=cache, settings=BuildSettings(each))[0].code_object for each in sides
    )
    found = {each.place: str(each) for each in changed_lines(before, after, ["first"])}
    assert (
        next(iter(found)) == "m.cu:4" and found["m.cu:4"] == f"{lost} now {got}" and found["m.cu:3"] == f"{more} more"
    )
    assert changed_lines(before, after, ["first"], about="a race at m.cu:3, listing line 7")[0].place == "m.cu:3"
    assert not changed_lines(before, before, ["first"])
