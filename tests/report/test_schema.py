"""The JSON Schemas match the types; valid files conform, and invalid files do not."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from parity.compare.arbitration import Conclusion
from parity.compare.verdict import Mismatch, Status, Verdict
from parity.engine.case_records import CaseRecord, Column, CrossVendorComparison
from parity.engine.record_file import records_without_code
from parity.platform.serialization import NULL_RULE, json_text
from parity.report.document import as_json
from parity.report.matrix import make_matrix
from parity.report.schema import schemas

FOLDER = Path(__file__).parents[2] / "docs" / "schema"
OPTIONAL = ("propertyNames", "default")
COLUMNS = (Column("emulated", "gfx1100"), Column("emulated", "gfx90a"))


def without_optional_keywords(part):
    """Return a schema without what msgspec 0.22 and 0.23 write differently: the keywords of keys and defaults."""
    if isinstance(part, dict):
        return {key: without_optional_keywords(each) for key, each in part.items() if key not in OPTIONAL}
    return [*map(without_optional_keywords, part)] if isinstance(part, list) else part


def test_committed_schemas_match_types():
    """``nox -s schema`` regenerates them."""
    committed = {path.name: path.read_text() for path in FOLDER.iterdir()}
    assert committed.keys() == schemas().keys()
    for name, text in schemas().items():
        assert NULL_RULE in text
        written, made = (without_optional_keywords(json.loads(each)) for each in (committed[name], text))
        assert written == made, name


@pytest.fixture(scope="module")
def failing():
    """A record with all optional parts, including infinite distances."""
    first = Mismatch((1, 2), "nan", "1.0", math.inf, math.inf)
    verdict = Verdict(Status.FAIL, "nan", math.inf, 1, 6, first, "one element", kinds=("nan for a number",))
    against = CrossVendorComparison(Conclusion.AMD, 1, 6, math.inf, ("D14",), budget=math.inf, column="sm_90")
    case = CaseRecord("case", "unary.exp", "uexp_f32", "unary", "emulated", "gfx1100", "emulated", verdict, "a title")
    return replace(case, inputs={"x": "nan"}, instructions=3, minimal=case, against=against, printed="text")


@pytest.fixture(scope="module")
def matrix(suite, failing):
    """A matrix with a failing column and a column that did not compile."""
    entries = suite.select(["unary.exp"]).entries
    uncompiled = records_without_code(entries, COLUMNS, {("unary", "gfx90a"): "error: undeclared"})
    return json.loads(as_json(make_matrix(entries, COLUMNS, [failing, *uncompiled])))


def test_record_with_infinite_distance_conforms(failing, conforms):
    line = json.loads(json_text(failing))
    assert (line["verdict"]["budget"], line["verdict"]["first"]["ulps"], line["against"]["budget"]) == (None,) * 3
    assert conforms("record", line)


def test_matrix_with_failures_conforms(matrix, conforms):
    assert matrix["compile_errors"] and matrix["failed"]
    assert conforms("matrix", matrix)


@pytest.mark.parametrize(
    ("name", "value"), [("case", 1), ("verdict", {"status": "passed"}), ("against", {}), ("instructions", None)]
)
def test_invalid_record_does_not_conform(failing, conforms, name, value):
    line = json.loads(json_text(failing))
    assert conforms("record", {**line, name: value}) == (value is None)
    del line["verdict"]
    assert not conforms("record", line)


def test_invalid_matrix_does_not_conform(matrix, conforms):
    assert not conforms("matrix", {**matrix, "cases": 1.5})
    assert not conforms("matrix", {name: value for name, value in matrix.items() if name != "kernels"})
    matrix["kernels"][0]["cells"][0]["state"] = "FAILED"
    assert not conforms("matrix", matrix)
