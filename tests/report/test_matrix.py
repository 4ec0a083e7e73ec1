"""The matrix and its formats."""

from __future__ import annotations

import csv
import json
import math
import re
from dataclasses import replace

import pytest

from parity.compare.arbitration import Conclusion
from parity.compare.verdict import Status, Verdict
from parity.engine.bench import Measurement
from parity.engine.case_records import NOT_RECORDED, CaseRecord, Column, CrossVendorComparison, Provenance
from parity.engine.record_file import records_without_code
from parity.model.coverage import Reached
from parity.report.document import as_json, document
from parity.report.failures import not_judged
from parity.report.matrix import make_matrix
from parity.report.model import CellState
from parity.report.printable import PrintableMatrix
from parity.report.render import as_csv, markdown, plain, summary
from parity.runners.timing import Timing, Timings

GFX = Column("emulated", "gfx1100", "emulated")


def record(entry, verdict, target="gfx1100"):
    return CaseRecord.of(entry, replace(GFX, target=target), "case", verdict)


def passing(budget=0.0, **more):
    return Verdict(Status.PASS, budget=budget, **{"total": 1, **more})


@pytest.fixture
def entries(suite):
    return suite.select(["unary.exp", "unary.neg"]).entries


def matrix_of(entries, records, columns=(GFX,), complete=True):
    return make_matrix(entries, columns, records, provenance=Provenance(2.0, 7, 5, complete))


def cell(matrix, kernel):
    return next(row for row in matrix.rows if row.kernel == kernel).cells[0]


def test_kernel_without_executed_case_is_not_pass(entries):
    matrix = matrix_of(entries, [])
    assert {cell.state for cell in matrix.cells()} == {CellState.COULD_NOT_RUN}
    assert "NOT RUN" in plain(matrix)
    assert "pass " not in plain(matrix)
    assert "10 not run" in summary(matrix)


def test_json_distinguishes_could_not_run_from_not_run(entries, suite):
    def told(matrix):
        return {(cell.state, cell.reason) for kernel in document(matrix).kernels for cell in kernel.cells}

    assert told(matrix_of(entries, [])) == {("could not run", "no case of it could be executed")}
    assert told(matrix_of(entries, [], complete=False)) == {("could not run", "the run was ended before it")}
    ((state, reason),) = told(matrix_of(suite.select(["gemm"]).entries, []))
    assert state == "not run" and "which libraries compute" in reason
    lacking = Verdict(Status.NOT_JUDGED, "no memory", detail="no memory\nfor it")
    assert told(matrix_of(entries[:1], [record(entries[0], lacking)])) == {("not judged", "no memory")}


def test_unsupported_case_does_not_count_as_executed(entries):
    matrix = matrix_of(entries, [record(entries[0], Verdict(Status.UNSUPPORTED))])
    assert cell(matrix, entries[0].kernel).state is CellState.UNSUPPORTED
    assert matrix.executed == 0


def test_kernel_with_only_empty_cases_is_not_judged(entries):
    first, second, *_ = entries
    empty = [record(first, passing(total=0)), record(first, passing(total=0))]
    matrix = matrix_of(entries, [*empty, record(second, passing(total=0)), record(second, passing(total=3))])
    found = cell(matrix, first.kernel)
    assert (found.state, found.run, found.unjudged) == (CellState.NOT_JUDGED, 0, 2)
    assert found.reason == "nothing was compared, because no executed case has an element"
    assert [text for text in not_judged(empty) if "2 cases of 1 kernel" in text and found.reason in text]
    assert cell(matrix, second.kernel).state is CellState.PASS and not not_judged([record(second, passing(total=3))])


def test_cell_sums_passing_cases(entries):
    verdicts = [
        passing(0.2, divergences=("D10", "D2")),
        passing(0.5, beyond_observed=True),
        passing(divergences=("D2",)),
    ]
    found = cell(matrix_of(entries, [record(entries[0], v) for v in verdicts]), entries[0].kernel)
    assert (found.state, found.run, found.passed, found.worst, found.beyond_observed) == (CellState.PASS, 3, 3, 0.5, 1)
    assert found.divergences == ("D2", "D10")


def test_failing_case_fails_kernel_and_run(entries):
    verdicts = [passing(0.2), Verdict(Status.FAIL, "value", budget=math.inf), Verdict(Status.TIMEOUT, "timeout")]
    matrix = matrix_of(entries, [record(entries[0], v) for v in verdicts])
    found = cell(matrix, entries[0].kernel)
    assert (found.state, found.run, found.passed, found.failed) == (CellState.FAIL, 3, 1, 2)
    assert found.failures == {"value": 1, "timeout": 1}
    assert matrix.failed


def known(entry, kind="value"):
    return replace(record(entry, Verdict(Status.FAIL, kind)), known="known-issues.toml, line 3")


def test_known_failure_does_not_fail_run(entries):
    first, second, *_ = entries
    matrix = matrix_of(entries, [record(first, passing(0.2)), known(first), known(first, "nan"), known(second)])
    found = cell(matrix, first.kernel)
    assert (found.state, found.run, found.passed, found.failed) == (CellState.KNOWN, 3, 1, 0)
    assert found.known == {"value": 1, "nan": 1}
    assert (matrix.executed, matrix.passed, matrix.known, matrix.failed) == (4, 1, 3, False)
    assert "1 passed, 0 failed, 3 known" in summary(matrix)
    assert "value x2, nan x1" in plain(matrix)  # one line for the kernels of an op
    assert json.loads(as_json(matrix))["known"] == 3


def test_unknown_failure_next_to_known_fails(entries):
    matrix = matrix_of(entries, [known(entries[0]), record(entries[0], Verdict(Status.FAIL, "nan"))])
    assert cell(matrix, entries[0].kernel).state is CellState.FAIL
    assert matrix.failed
    assert "nan x1, known: value x1" in plain(matrix)
    assert [row for row in csv.DictReader(as_csv(matrix).splitlines()) if row["gfx1100_emulated_known"] == "value 1"]


def test_missing_kernel_can_be_known(entries):
    missing = replace(record(entries[0], Verdict(Status.MISSING, "missing kernel")), known="known-issues.toml, line 3")
    assert cell(matrix_of(entries, [missing]), entries[0].kernel).state is CellState.KNOWN


NO_FAILURES = (Status.PASS, Status.UNSUPPORTED, Status.NOT_JUDGED, Status.BASELINE)


def test_case_taken_as_right_is_neither_pass_nor_failure(entries):
    matrix = matrix_of(entries, [record(entries[0], Verdict(Status.BASELINE))] * 3)
    cell = matrix.rows[0].cells[0]
    assert (cell.state, cell.baseline, cell.run, cell.passed, cell.failed) == (CellState.BASELINE, 3, 0, 0, 0)
    assert not matrix.failed and matrix.executed == matrix.passed == 0
    assert "baseline  3" in plain(matrix)


def test_cell_judged_by_cuda_is_explained(entries):
    by = Verdict(Status.PASS, total=1, by="sm_90 (recorded on NVIDIA H200)", allowed=True, budget=0.25)
    unknown = Verdict(Status.NOT_JUDGED, "no reference")
    text = plain(matrix_of(entries, [record(entries[0], by), record(entries[1], unknown)]))
    assert "25 %  against CUDA" in text and "Only a reference can reveal a mistake" in text
    assert "only memory checked x1" in text and "but not the values" in text
    alone = plain(matrix_of(entries, [record(entries[0], Verdict(Status.PASS, total=1))]))
    assert "against CUDA" not in alone and "only memory checked" not in alone


@pytest.mark.parametrize("status", [s for s in Status if s not in NO_FAILURES])
def test_other_statuses_are_failures(entries, status):
    assert matrix_of(entries, [record(entries[0], Verdict(status))]).failed


def test_missing_kernel_and_compile_error_have_own_states(entries):
    missing = matrix_of(entries, [record(entries[0], Verdict(Status.MISSING, "missing kernel"))])
    assert "MISSING KERNEL" in plain(missing)
    broken = matrix_of(entries, records_without_code(entries, [GFX], {("unary", "gfx1100"): "error"}))
    assert {cell.state for cell in broken.cells()} == {CellState.COMPILE_ERROR}
    assert broken.failed
    assert " 10 failed (10 compile error)," in summary(broken)
    assert " 1 failed (1 missing kernel)," in summary(missing)
    document = json.loads(as_json(broken))
    assert (document["failed"], len(document["compile_errors"])) == (10, 1)


def lines_of(matrix):
    return {line.split()[0]: line for line in plain(matrix).splitlines() if line.startswith("  ")}


def test_exact_requires_no_allowed_and_no_found_error(entries):
    exp, neg = (next(e for e in entries if e.kernel == name) for name in ("uexp_f32", "uneg_f32"))
    matrix = matrix_of([exp, neg], [record(exp, passing(allowed=True)), record(neg, passing())])
    assert "0 %" in lines_of(matrix)["exp"] and "exact" in lines_of(matrix)["neg"]
    cells = [kernel["cells"][0] for kernel in json.loads(as_json(matrix))["kernels"]]
    assert [each["exact"] for each in cells] == [False, True]


def test_known_issue_is_not_exact(entries):
    matrix = matrix_of(entries[:1], [record(entries[0], passing()), known(entries[0])])
    assert not cell(matrix, entries[0].kernel).exact
    assert "exact " not in lines_of(matrix)["exp"]


def test_kernel_that_zeros_pass_is_vacuous(entries):
    verdicts = [passing(0.2, allowed=True, vacuous=("low", "out")), passing(0.1, allowed=True, vacuous=("out",))]
    matrix = matrix_of(entries, [record(e, v) for e in entries for v in (verdicts if e is entries[0] else [passing()])])
    text = plain(matrix)
    (line,) = [line for line in text.splitlines() if entries[0].kernel in line]
    assert "pass" in line and "vacuous" in line and "(out)" in line and "20 %" not in line
    assert "vacuous: every case would also accept wrong results" in text
    assert f"`{entries[0].kernel}`" in markdown(matrix) and " vacuous (out)" in markdown(matrix)
    assert json.loads(as_json(matrix))["kernels"][0]["cells"][0]["vacuous"] == ["out"]
    assert "1 vacuous" in summary(matrix) and " vacuous" not in summary(matrix_of(entries, []))


def test_kernel_with_case_that_zeros_fail_is_not_vacuous(entries):
    records = [record(entries[0], passing(vacuous=("out",))), record(entries[0], passing())]
    assert not cell(matrix_of(entries, records), entries[0].kernel).vacuous


def test_compiled_only_is_neither_pass_nor_failure(entries):
    matrix = matrix_of(entries, [], columns=[Column("emulated", "gfx90a", "compiled only")])
    assert {cell.state for cell in matrix.cells()} == {CellState.COMPILED}
    assert not matrix.failed
    assert matrix.executed == 0


def test_library_op_is_not_run_by_kernel_columns(entries, suite):
    (entry,) = suite.select(["matmul_f32"]).entries
    library = Column("hipblas", "gfx1100", "library")
    done = replace(record(entry, passing()), runner="hipblas", evidence="library")
    matrix = matrix_of([entry], [done], (GFX, library))
    assert [each.state for each in matrix.cells()] == [CellState.NOT_IN_RUN, CellState.PASS]
    assert not matrix.failed
    assert "not run: an op without a kernel" in plain(matrix)
    assert "not run:" not in plain(matrix_of(entries, []))


def test_text_merges_passing_kernels_and_separates_failing(entries):
    records = [record(entry, passing(0.25)) for entry in entries[:-1]]
    records.append(record(entries[-1], Verdict(Status.FAIL, "value")))
    text = plain(matrix_of(entries, records))
    lines = [line.split() for line in text.splitlines() if line.startswith("  ")]
    assert sorted(line[0] for line in lines) == sorted(["exp", "neg", entries[-1].kernel])
    assert "value x1" in text
    full = plain(matrix_of(entries, records), full=True)
    assert all(entry.kernel in full for entry in entries)


def test_plain_text_is_aligned_ascii(entries, suite):
    everything = suite.entries
    text = plain(matrix_of(everything, [record(entry, passing(0.25)) for entry in everything]))
    assert text.isascii()
    for module in text.split("\n\n"):
        assert len({line.index("pass ") for line in module.splitlines() if "pass " in line}) <= 1
    assert not any(line.endswith(" ") for line in text.splitlines())


def test_text_has_column_per_target(entries):
    columns = [GFX, Column("emulated", "gfx90a", "compiled only")]
    text = plain(matrix_of(entries, [record(e, passing()) for e in entries], columns=columns))
    assert "gfx1100 emulated" in text
    assert "gfx90a compiled only" in text


def test_json_contains_all_kernels_without_infinity(entries):
    verdicts = [Verdict(Status.FAIL, "nan", budget=math.inf)]
    text = as_json(matrix_of(entries, [record(entries[0], v) for v in verdicts]))
    data = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert [kernel["kernel"] for kernel in data["kernels"]] == [entry.kernel for entry in entries]
    assert data["kernels"][0]["cells"][0]["failures"] == {"nan": 1}
    assert (data["cases"], data["passed"], data["failed"], data["seed"]) == (1, 0, 1, 7)


def test_legend_explains_met_divergences(entries):
    against = CrossVendorComparison(Conclusion.RULES, 1, 12, divergences=("D5",), column="sm_90 (cuda)")
    verdict = passing(0.125, divergences=("D14", "D99"))  # D99 comes from the record of another version
    for text in (plain, markdown):
        shown = text(matrix_of(entries, [replace(record(entries[0], verdict), against=against)]))
        lines = [line for line in shown.splitlines() if re.match(r"D\d", line)]
        assert [line.partition(":")[0] for line in lines] == ["D5", "D14"]
        assert lines[1] == "D14: exp of f32 below -103.28: CUDA gives a subnormal number within 2 ULP; AMD gives 0"
    assert not any(re.match(r"D", line) for line in plain(matrix_of(entries, [])).splitlines())


def test_csv_has_line_per_kernel(entries):
    records = [record(entries[0], passing(0.125, divergences=("D2", "D14")))]
    rows = list(csv.DictReader(as_csv(matrix_of(entries, records)).splitlines()))
    assert [row["kernel"] for row in rows] == [entry.kernel for entry in entries]
    assert rows[0]["gfx1100_emulated_worst_budget"] == "0.125"
    assert rows[0]["gfx1100_emulated_divergences"] == "D2 D14"
    assert rows[1]["gfx1100_emulated_state"] == "NOT RUN"


def reaching(entry, *masks, blocks=8):
    """Return records with coverage masks: 8 blocks, then 4 directions."""
    reached = (Reached.of(blocks, 4, mask) for mask in masks)
    return [replace(record(entry, passing()), reached=each) for each in reached]


def test_cell_merges_coverage_of_cases(entries):
    matrix = matrix_of(
        entries, [*reaching(entries[0], 0b0001_00000001, 0b0010_00001110), record(entries[1], passing())]
    )
    assert cell(matrix, entries[0].kernel).reached == Reached.of(8, 4, 0b0011_00001111)
    assert cell(matrix, entries[1].kernel).reached is None
    first, second, *_ = (kernel["cells"][0] for kernel in json.loads(as_json(matrix))["kernels"])
    assert [first[name] for name in CODE] == [8, 4, 4, 2]
    assert [second[name] for name in CODE] == [None] * 4
    (row, *_) = csv.DictReader(as_csv(matrix).splitlines())
    assert [row[f"gfx1100_emulated_{name}"] for name in CODE] == ["8", "4", "4", "2"]


CODE = ("blocks", "blocks_reached", "directions", "directions_reached")


def test_line_shows_coverage_share(entries):
    exps = [entry for entry in entries if entry.op.name == "unary.exp"][:2]
    records = [*reaching(exps[0], 0b1111_11111111), *reaching(exps[1], 0b0001_00111111)]
    text = plain(matrix_of(exps, records))
    assert "code 87 %" in text  # 14 of 16, rounded down
    assert "code n %: the share of the basic blocks" in text
    assert "gfx1100 emulated: 14 of 16 basic blocks reached (87.5 %), 5 of 8 branch directions (62.5 %)" in text
    assert "code" not in plain(matrix_of(exps, [record(each, passing()) for each in exps])).replace("code object", "")


def test_markdown_is_table(entries):
    lines = markdown(matrix_of(entries, [record(e, passing(0.5)) for e in entries])).splitlines()
    assert len({line.count("|") for line in lines if line.startswith("|")}) == 1
    assert any("`exp`" in line and "50 %" in line for line in lines)


def test_summary_of_interrupted_run_says_so(entries):
    assert summary(matrix_of(entries, [], complete=False)).startswith("interrupted")


def measured(kernel, seconds, **more):
    timing = Timing(seconds, seconds, seconds, 0.001, 50)
    return Measurement(
        "unary", "unary.neg", ("f32",), kernel, "contiguous", "case", "cuda", "sm_90", "hardware",
        **{"bytes": 2**29, "elements": 2**26, "timings": Timings(timing), "copy": 4e12, "rate": 6e13, **more},
    )  # fmt: skip


def test_line_shows_smallest_share_of_kernels(entries):
    places = [("uneg_f32", 1.5e-4), ("uneg_f16", 2e-4), ("uexp_f32", 1e-2)]
    each = {(kernel, GFX): measured(kernel, seconds) for kernel, seconds in places}
    matrix = matrix_of(entries, [record(e, passing()) for e in entries]).with_measurements(each)
    text = plain(matrix)
    assert "67 % of copy" in text
    assert "1 % of copy" in text
    assert "89 %" not in text
    assert "% of copy, of FLOPs: the time that the device's copy rate or FLOP rate allows" in text
    full = plain(matrix, full=True)
    assert "89 % of copy" in full
    assert json.loads(as_json(matrix))["kernels"][0]["cells"][0].keys() >= {"share", "bound"}


def test_not_recorded_kernel_has_no_cases_or_times(entries):
    first, second, *_ = entries
    records = [CaseRecord.of(first, GFX, "", NOT_RECORDED), CaseRecord.of(second, GFX, "a case", passing())]
    each = {(entry.kernel, GFX): measured(entry.kernel, 1e-4) for entry in entries}
    matrix = matrix_of(entries, records).with_measurements(each)
    states = [(cell.state, cell.measured is not None) for cell in matrix.cells()]
    assert states[:3] == [(CellState.NOT_RECORDED, False), (CellState.PASS, True), (CellState.COULD_NOT_RUN, False)]
    assert not matrix.uncompiled and not matrix.failed


def test_line_without_time_shows_instructions(entries):
    each = {("uneg_f32", GFX): measured("uneg_f32", 1.0, timings=None, instructions={"valu": 2**26, "salu": 2**25})}
    text = plain(matrix_of(entries, [record(e, passing()) for e in entries]).with_measurements(each))
    assert "1.5 instr." in text
    assert "of copy" not in text


def test_printable_matrix_str_is_text(entries):
    matrix = matrix_of(entries, [record(entries[0], passing(0.2))])
    assert str(PrintableMatrix.from_matrix(matrix)) == f"{plain(matrix)}\n{summary(matrix)}"
