"""The register of divergences matches the code, the named cases and the documentation."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from parity.compare.verdict import Status, Verdict
from parity.engine.case_records import CaseRecord
from parity.errors import UsageError
from parity.model.divergences import divergence, divergences, met_by, sort_ids
from parity.op import NamedCase
from parity.reference import Expected
from parity.report.failures import Failure, Reproduction, failure_text

ROOT = Path(__file__).parents[2]
ID = re.compile(r"\bD\d+\w*")
KNOWN = r"no known divergence has the id 'D8'; the register has D1, D2, .*D25$"


def about(suite):
    """Map each divergence to the ops with named cases for it."""
    found = {name: [] for name in divergences()}
    for op in suite.ops.values():
        for each in dict.fromkeys(named.divergence for named in op.named if named.divergence):
            found[each].append(op.name)
    return found


def texts(path):
    """Yield the string literals and comments of a program."""
    tree = ast.parse(path.read_text())
    yield from (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    yield from re.findall(r"#.*", path.read_text())


def test_mentioned_divergences_are_defined():
    files = [path for folder in ("parity", "cases", "examples") for path in (ROOT / folder).rglob("*.py")]
    named = {name for path in files for text in texts(path) for name in ID.findall(text)}
    pages = [*(ROOT / "docs").glob("*.md"), ROOT / "README.md", *(ROOT / "reports").glob("*.md")]
    named |= {name for path in pages for name in ID.findall(path.read_text())}
    assert len(named) > 10 and named <= divergences().keys()


def test_defined_divergences_have_named_cases(suite):
    assert [name for name, ops in about(suite).items() if not ops] == []


def test_documentation_has_register_and_affected_ops(suite):
    lines = [
        f"| {name} | {each.topic} | {each.cuda} | {each.amd} | {each.source} | "
        f"{', '.join(f'`{op}`' for op in about(suite)[name])} |"
        for name, each in divergences().items()
    ]
    page = (ROOT / "docs" / "divergences.md").read_text()
    shown = [line for line in page.splitlines() if ID.match(line.removeprefix("| "))]
    assert shown == lines, "the table of docs/divergences.md must be:\n" + "\n".join(lines)


def test_register_is_complete_and_ordered():
    assert tuple(divergences()) == sort_ids(divergences())
    for each in divergences().values():
        assert all((each.topic, each.cuda, each.amd, each.source)) and "|" not in f"{each}{each.source}"


@pytest.mark.parametrize(
    ("code", "met"),
    [
        ("cvt.rzi.s64.f32 %rd1, %f1;", ["D3"]),
        ("cvt.rzi.u64.f64 %rd1, %fd1;\n\tcvt.rzi.s32.f64 %r1, %fd1;", ["D2", "D4"]),
        ("cvt.rni.s64.f64 %rd1, %fd1;\n\tcvt.rmi.s32.f64 %r1, %fd1;", ["D2", "D4"]),
        ("cvt.rzi.u32.f32 %r1, %f1;\n\tst.global.u8 [%rd1], %r1;", ["D5"]),
        ("cvt.rzi.u32.f32 %r1, %f1;\n\tst.global.u32 [%rd1], %r1;", []),
        ("cvt.rn.f32.s64 %f1, %rd1;", []),
    ],
)
def test_ptx_shows_possible_divergences(code, met):
    assert [each.id for each in met_by(code)] == met


@pytest.mark.parametrize(
    "use",
    [
        lambda: divergence("D8"),
        lambda: NamedCase("shifts", "x=3~mixed@0", divergence="D8"),
        lambda: Expected(np.zeros(1), divergences={"D8": np.ones(1)}),
    ],
)
def test_divergence_unknown_id_raises(use):
    with pytest.raises(UsageError, match=KNOWN):
        use()


def test_named_case_title_does_not_repeat_divergence(suite):
    exp = suite.op("unary.exp")
    titles = {str(case): title for title, case in exp.named_cases(["f32"])}
    assert exp.divergences(["f32"]) == {
        "unary.exp[f32](x=16~points@0)": "D14",
        "unary.exp[f32](x=2000~bits@0)": "D13",
    }
    assert titles["unary.exp[f32](x=2000~bits@0)"] == "subnormal arguments"
    assert exp.divergences(["f16"]) == {}
    assert [t for op in suite.ops.values() for each in (*op.named, *op.bench) if ID.match(t := each.title)] == []


def test_failure_names_divergence_of_case(failing):
    text = failure_text(Failure((failing,)), Reproduction())
    assert (
        "\n  about     D14: exp of f32 below -103.28: CUDA gives a subnormal number within 2 ULP; AMD gives 0\n" in text
    )
    older = replace(failing, divergence="D8")  # from the record of another version
    assert "about" not in failure_text(Failure((older,)), Reproduction())


@pytest.fixture
def failing():
    verdict = Verdict(Status.FAIL, "value", wrong=1, total=16)
    case = "unary.exp[f32](x=16~points@0)"
    where = ("unary.exp", "uexp_f32", "unary", "emulated", "gfx1100", "emulated")
    return CaseRecord(case, *where, verdict, "subnormal results", "D14")
