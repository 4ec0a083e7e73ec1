"""Writes the matrix as JUnit XML for CI systems: one suite per column, one test per kernel.

A failed kernel contains its failures as text. A kernel that was not executed, or whose failures are known issues, is
skipped with a reason. Elements and attributes follow the schema of Jenkins (junit-10.xsd of its xUnit plug-in), the
strictest schema in use.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from parity.engine.case_records import CaseRecord, Column
from parity.engine.known_issues import ReviewedIssue
from parity.report.failures import Reproduction, failure_text, not_judged, shown_failures
from parity.report.matrix import by_cell, class_counts
from parity.report.model import Cell, CellState, KernelRow, Matrix

_COUNTERS = {"failure": "failures", "error": "errors", "skipped": "skipped"}
_RESULT = {
    CellState.PASS: "",
    CellState.FAIL: "failure",
    **dict.fromkeys((CellState.MISSING, CellState.COMPILE_ERROR, CellState.NOT_JUDGED), "error"),
}
_NOT_XML = "[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"


def junit(matrix: Matrix, records: Iterable[CaseRecord], reproduction: Reproduction) -> str:
    """Return the matrix, its failures and its known issues as one XML document."""
    found = by_cell((*matrix.uncompiled, *records))
    root = Element("testsuites", name="parity")
    for index, column in enumerate(matrix.columns):
        places = ((row, (row.op, row.kernel, column.runner, column.target)) for row in matrix.rows)
        tests = [_kernel(row, row.cells[index], column, found.get(place, ()), reproduction) for row, place in places]
        properties = {"runner": column.spec or column.runner, "seed": str(matrix.provenance.seed)}
        root.append(_suite(str(column), tests, properties))
    if matrix.issues:
        root.append(_suite("known issues", [_issue(each) for each in matrix.issues]))
    indent(root)
    return tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(name: str, tests: Sequence[Element], properties: dict[str, str] | None = None) -> Element:
    results = Counter(_COUNTERS[child.tag] for test in tests for child in test)
    suite = Element("testsuite", name=name, tests=str(len(tests)))
    for counter in _COUNTERS.values():
        suite.set(counter, str(results[counter]))
    if properties:
        listed = SubElement(suite, "properties")
        for key, value in properties.items():
            SubElement(listed, "property", name=key, value=value)
    suite.extend(tests)
    return suite


def _kernel(
    row: KernelRow, cell: Cell, column: Column, records: Sequence[CaseRecord], reproduction: Reproduction
) -> Element:
    result = _RESULT.get(cell.state, "skipped")
    message = f"{cell.state}: {', '.join(class_counts(cell.failures or cell.known)) or cell.reason}"
    locations = ", ".join(dict.fromkeys(record.known for record in records if record.known))
    texts = [*(failure_text(failure, reproduction) for failure in shown_failures(records)), *not_judged(records)]
    text = "\n\n".join(texts)
    message += f" ({locations})" * bool(locations)
    return _test(row.op, f"{row.kernel} on {column}", result, message, text)


def _issue(reviewed: ReviewedIssue) -> Element:
    result = "failure" if reviewed.complaint else "skipped"
    return _test("known issues", reviewed.issue.location, result, str(reviewed))


def _test(group: str, name: str, result: str, message: str, text: str = "") -> Element:
    test = Element("testcase", classname=group, name=name)
    if result:
        element = SubElement(test, result, message=_clean(message.rstrip(": ")))
        element.text = _clean(text) or None
    return test


def _clean(text: str) -> str:
    """Replace characters that XML cannot represent; messages of faults may contain them."""
    return re.sub(_NOT_XML, "?", text)  # compiled for the first failure, because that takes long
