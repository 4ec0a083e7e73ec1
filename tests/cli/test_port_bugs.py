"""Typical porting bugs, planted in CUDA and HIP sources, are found on the affected targets."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

PORTS = Path(__file__).parents[1] / "foreign" / "ports"


@dataclass(frozen=True)
class Bug:
    """An entry of bugs.toml."""

    name: str
    file: str
    kernel: str
    old: str
    new: str
    kind: str
    fails: list[str]
    passes: list[str] = ()
    says: str = ""
    hip_old: str = ""
    hip_new: str = ""

    @property
    def edits(self) -> tuple[tuple[str, str, str], tuple[str, str, str]]:
        """File, old text and new text of the CUDA and the HIP source."""
        hip_new = self.hip_new if self.hip_old else self.new
        return (f"cuda/{self.file}.cu", self.old, self.new), (f"hip/{self.file}.hip", self.hip_old or self.old, hip_new)


BUGS = [Bug(**row) for row in tomllib.loads((PORTS / "bugs.toml").read_text())["bug"]]
THOROUGH = ("a fast intrinsic", "a reduction over half", "launch bounds", "more shared memory")
"""Name prefixes of the bugs that only thorough tests plant."""
SPELLINGS = ["CUDA", pytest.param("HIP", marks=pytest.mark.thorough)]


def bug_parameter(bug):
    return pytest.param(bug, id=bug.name, marks=[pytest.mark.thorough] * bug.name.startswith(THOROUGH))


@pytest.fixture
def ports(library):
    """Copy the project and change to the copy."""
    return library("ports")


def run(parity, spelling, *arguments):
    """Run the CUDA or the HIP sources; return the result, the cells by target, and the matrix."""
    sides = () if spelling == "HIP" else ("--kernels", "cuda", "--cases", "parity")
    result = parity("run", *arguments, *sides, "--examples", "3", "--output", "out")
    matrix = json.loads(Path("out/matrix.json").read_text())
    states = {cell["target"]: cell for kernel in matrix["kernels"] for cell in kernel["cells"]}
    return result, states, matrix


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_port_kernels_pass_as_cuda_and_as_hip_sources(parity, ports, spelling):
    result, _, matrix = run(parity, spelling, "--target", "gfx1100,gfx90a")
    assert result.code == 0, result.out + result.err
    made = "ported sources" if spelling == "HIP" else "hipified"
    assert all(text.startswith(made) for text in matrix["compilers"].values())


@pytest.mark.parametrize("bug", map(bug_parameter, BUGS))
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_port_bug_is_found_on_affected_targets(parity, ports, bug, spelling):
    file, old, new = bug.edits[spelling == "HIP"]
    text = (ports / file).read_text()
    assert old in text
    (ports / file).write_text(text.replace(old, new))
    targets = ",".join([*bug.fails, *bug.passes])
    result, states, _ = run(parity, spelling, f"{bug.file}.{bug.kernel}", "--target", targets)
    assert result.code == 1, result.out + result.err
    for target in bug.fails:
        kinds = {states[target]["state"], *states[target]["failures"]}
        assert bug.kind in kinds, (target, kinds)
    for target in bug.passes:
        assert states[target]["state"] == "pass", (target, states[target])
    assert bug.says in result.out + result.err


def test_port_failure_names_helpful_translation_that_passes(parity, ports):
    (bug,) = (bug for bug in BUGS if bug.name == "a broadcast without a width")
    file, old, new = bug.edits[0]
    (ports / file).write_text((ports / file).read_text().replace(old, new))
    result, *_ = run(parity, "CUDA", "warp.from_first", "--target", "gfx90a")
    assert "passes with --hipify helpful" in result.out and "__shfl(own, 0, 32)" in result.out
