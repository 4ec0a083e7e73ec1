"""Configurations of `@triton.autotune` and values of `@triton.heuristics` in declarations. Skipped without Triton."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import pytest

from parity.build.modules import build_suite
from parity.cli import main
from parity.errors import UsageError
from parity.op import triton
from parity.suite.loading import load_suite

pytestmark = pytest.mark.skipif(not importlib.util.find_spec("triton"), reason="the package triton is not installed")

KERNEL = """import triton
import triton.language as tl

WIDE = 256

def is_even(args):
    \"\"\"Whether masks are needed.\"\"\"
    if args["scale"] is None:
        return False
    size = args["n"]
    return size % args["BLOCK"] == 0

@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 64, "FAST": False}, num_warps=2),
        triton.Config({"BLOCK": 128, "FAST": True, "waves_per_eu": 2}, num_warps=4),
        triton.Config({"BLOCK": WIDE, "FAST": True}, num_warps=4, num_stages=2),
    ],
    key=["n"],
)
@triton.heuristics({"EVEN": is_even, "HALF": lambda args: triton.cdiv(args["BLOCK"], 2), "BIG": lambda a: a["n"] > 99})
@triton.jit
def scaled(x, out, n, scale, BLOCK: tl.constexpr, FAST: tl.constexpr, EVEN: tl.constexpr, HALF: tl.constexpr,
           BIG: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.static_assert(HALF * 2 == BLOCK)
    if EVEN:
        tl.store(out + i, tl.load(x + i) * scale)
    else:
        tl.store(out + i, tl.load(x + i, mask=i < n) * scale, mask=i < n)
"""
OP = """from parity.op import Op, triton

op = Op("ops.scaled", triton("ops.py:scaled", GIVEN), ("f32",), inputs={"x": "T"}, shapes="x: c; out: c",
        where="c > 0", choices={"c": (64, 100)}, args="x out n=c scale:f32=2", grid="ceil(c/BLOCK)")
"""
BOTH = "autotune=True, heuristics=True"


def project(folder: Path, given: str = BOTH, kernel: str = KERNEL) -> Path:
    for name in ("kernels", "cases"):
        (folder / name).mkdir()
    (folder / "kernels/ops.py").write_text(kernel)
    (folder / "cases/ops.py").write_text(OP.replace("GIVEN", given))
    (folder / "pyproject.toml").write_text('[tool.parity]\nkernels = "kernels"\ncases = "cases"\n')
    return folder


def declared(folder: Path):
    (op,) = load_suite(folder / "kernels", folder / "cases").ops.values()
    return op


def found(folder: Path, given: str = BOTH, kernel: str = KERNEL) -> list[tuple[dict, dict]]:
    """Return constants and options of all specializations."""
    (entry,) = declared(project(folder, given, kernel)).entries()
    return [(dict(each.constants), dict(each.options)) for each in entry.specializations]


def test_each_configuration_is_a_kernel_with_values_of_heuristics(tmp_path):
    made = found(tmp_path)
    assert {(each["BLOCK"], each["EVEN"], each["HALF"], each["BIG"]) for each, _ in made} == {
        (64, True, 32, False), (64, False, 32, True), (128, False, 64, False), (128, False, 64, True),
        (256, False, 128, False), (256, False, 128, True),
    }  # fmt: skip
    options = {
        each["BLOCK"]: (each["FAST"], *(o[n] for n in ("num_warps", "num_stages", "waves_per_eu"))) for each, o in made
    }
    assert options == {64: (False, 2, 3, 0), 128: (True, 4, 3, 2), 256: (True, 4, 2, 0)}


def test_places_select_configurations_and_keywords_replace_values(tmp_path):
    made = found(tmp_path, "autotune=(0, 2), num_stages=1, EVEN=False, HALF='BLOCK//2', BIG=True")
    assert {(each["BLOCK"], o["num_warps"], o["num_stages"]) for each, o in made} == {(64, 2, 1), (256, 4, 1)}


def test_one_configuration_needs_no_parameter(tmp_path):
    op = declared(project(tmp_path, "autotune=1, heuristics=True"))
    assert not op.params and op.triton_kernel.given["BLOCK"] == 128


def test_configurations_run_on_both_vendors(tmp_path, monkeypatch):
    monkeypatch.chdir(project(tmp_path))
    assert main(["run", "--target", "sm_80,gfx942", "--examples", "6", "-j", "1", "--output", "out"]) == 0
    lines = [json.loads(line) for line in (tmp_path / "out/record.jsonl").read_text().splitlines()]
    cases = " ".join(str(each.get("case")) for each in lines)
    assert all(f"config={place}" in cases for place in range(3))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("autotune=(0, 7), heuristics=True", "scaled has 3 configurations, from 0"),
        ("autotune=()", "autotune has no places"),
    ],
    ids=["place", "no places"],
)
def test_wrong_selection_is_refused(given, message, tmp_path):
    with pytest.raises(UsageError, match=message):
        declared(project(tmp_path, given))


def test_heuristic_that_is_not_an_expression_must_be_stated(tmp_path):
    kernel = KERNEL.replace('lambda a: a["n"] > 99', 'lambda a: a["x"].numel() > 99')
    with pytest.raises(UsageError, match=r"the heuristic BIG of scaled cannot be used: a\['x'\].numel\(\)"):
        declared(project(tmp_path, kernel=kernel))


def test_function_without_decorators_is_refused(tmp_path):
    kernel = "import triton\n\n@triton.jit\ndef scaled(x, out, n, scale):\n    pass\n"
    with pytest.raises(UsageError, match="has no configurations of @triton"):
        declared(project(tmp_path, "autotune=True", kernel))


def test_decorators_outside_a_case_file_are_refused():
    with pytest.raises(UsageError, match="only for declarations in a case file"):
        triton("ops.py:scaled", autotune=True)


def test_configuration_that_needs_too_much_shared_memory_is_refused_by_name(tmp_path):
    """The compiled kernel is small, so the test states that it needs more."""
    folder = project(tmp_path, "autotune=0, heuristics=True")
    suite = load_suite(folder / "kernels", folder / "cases")
    (built,) = build_suite(suite, ["ops"], ["gfx1100"], jobs=1)
    op = declared(folder)
    call = op.call(op.parse("ops.scaled[f32](x=64~normal@0)"))
    kernels = {name: replace(each, dynamic_lds=98304) for name, each in built.code_object.kernels.items()}
    with pytest.raises(UsageError, match=r"scaled_f32_.* needs 98304 bytes of shared memory, and gfx1100 has 65536"):
        call.on(replace(built.code_object, kernels=kernels))


def test_configurations_that_a_target_cannot_run_are_stated_and_skipped(tmp_path, monkeypatch, capsys):
    """Configuration 0 fails an assertion, and 2 has 32 wavefronts of 64 lanes on gfx90a."""
    kernel = KERNEL.replace("== BLOCK)", "== BLOCK)\n    tl.static_assert(BLOCK > 64)").replace(
        "4, num_st", "32, num_st"
    )
    monkeypatch.chdir(project(tmp_path, kernel=kernel))
    assert main(["run", "--target", "gfx90a", "--examples", "12", "-j", "1", "--output", "out"]) == 0
    cases = (tmp_path / "out/record.jsonl").read_text()
    assert all(f"config={place}" in cases for place in range(3))
    told = " ".join(capsys.readouterr().err.split())
    assert "skipped, as Triton's autotuner does: scaled_f32_config0_" in told and "static_assert" in told
    assert "on gfx90a: it needs 2048 threads, and a block has at most 1024" in told and "config1_" not in told


def test_configurations_are_not_skipped_if_a_target_can_run_none(tmp_path, monkeypatch):
    kernel = KERNEL.replace("== BLOCK)", "== BLOCK)\n    tl.static_assert(BLOCK < 64)")
    monkeypatch.chdir(project(tmp_path, kernel=kernel))
    assert main(["run", "--target", "gfx90a", "--examples", "4", "-j", "1", "--output", "out"]) == 1
