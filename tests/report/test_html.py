"""The data and the text of the HTML report; ``test_browser.py`` opens it in a browser."""

from __future__ import annotations

import base64
import csv
import gzip
import hashlib
import json
import math
import re
import zlib
from dataclasses import replace

import pytest

from parity.compare.verdict import Mismatch, Status, Verdict
from parity.engine.case_records import CaseRecord, Column, Provenance
from parity.engine.record_file import records_without_code
from parity.mutation.recall import KernelRecall, Recall
from parity.report.document import document
from parity.report.excerpts import Excerpt, SourceFolders
from parity.report.failures import CLASSES, Reproduction
from parity.report.html.content import PageInput, packed, page_content, recall_content
from parity.report.html.page import LIBRARIES, PROGRAM, render_page
from parity.report.matrix import make_matrix

COLUMNS = (
    Column("recorded", "sm_90", "recorded", vendor="cuda", device="NVIDIA H200"),
    Column("emulated", "gfx1100"),
    Column("emulated", "gfx90a"),
)
FIRST = Mismatch((1, 0), "1.5", "1.25", 2097152.0, 31.0)
WRONG = Verdict(Status.FAIL, "value", 31.0, 4, 12, FIRST, "every 3rd element", shape=(3, 4), picture=("9009", "0090"))


def shown_of(entries, records, columns=COLUMNS, **more):
    matrix = make_matrix(entries, columns, records, provenance=Provenance(2.0, 7, 5))
    return PageInput(document(matrix), records, Reproduction("parity run", ("--seed", "7")), **more)


@pytest.fixture(scope="module")
def entries(suite):
    return suite.select(["unary.exp"]).entries


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 1, 1], {"all": 1}),
        ([0, False], [0, False]),
        (["b", "a", "b"], {"texts": ["b", "a"], "at": [0, 1, 0]}),
        ([1, None, 2.5], [1, None, 2.5]),
        ([], []),
    ],
)
def test_packed_column_has_smallest_form(values, expected):
    assert packed(values) == expected


def test_page_failure_contains_terminal_text_and_excerpts(entries):
    record = CaseRecord.of(entries[0], COLUMNS[1], "unary.exp[f16](x=3x4~mixed@3)", WRONG, launch="<<<1, 2>>>")
    (failure,) = page_content(shown_of(entries, [record]))["failures"]
    assert failure["head"] == "uexp_f16 on gfx1100 (emulated): value"
    lines = dict(failure["lines"])
    assert lines["expected"] == "1.5" and lines["wrong"] == "4 of 12: every 3rd element" and "again" not in lines
    assert failure["again"] == "parity run 'unary.exp[f16](x=3x4~mixed@3)' --seed 7"
    assert failure["alone"] == "parity reproduce 'unary.exp[f16](x=3x4~mixed@3)' --seed 7"
    assert (failure["picture"], failure["shape"]) == (("9009", "0090"), (3, 4))
    assert failure["columns"] == [1] and failure["about"] == CLASSES["value"]["meaning"]


def test_compile_error_is_one_failure_of_all_kernels(entries):
    records = records_without_code(entries, COLUMNS[1:2], {("unary", "gfx1100"): "unary.cu:3:1: error: no"})
    (failure,) = page_content(shown_of(entries, records))["failures"]
    assert failure["kind"] == "compile error" and len(failure["rows"]) == len(entries)


def test_recall_content_counts_faults_by_kernel():
    own = KernelRecall("unary", "uexp_f32", "gfx1100", caught=8, survived=3, equivalent=1)
    found = recall_content(Recall(0, 20, (own,), (), ()))
    assert found == [{"kernel": "uexp_f32", "target": "gfx1100", "caught": 8, "planted": 11}]
    assert recall_content(None) == []


def test_page_cases_are_ordered_and_infinity_is_null(entries, data_of):
    verdicts = [
        Verdict(Status.PASS, total=1, budget=0.123456),
        Verdict(Status.FAIL, "nan", budget=math.inf, ulps=math.inf),
    ]
    records = [
        CaseRecord.of(entry, COLUMNS[1], f"case {i}", verdict)
        for i, verdict in enumerate(verdicts)
        for entry in reversed(entries[:2])
    ]
    cases = data_of(render_page(page_content(shown_of(entries, records)), "t"))["cases"]
    assert (cases["length"], cases["columns"]["row"], cases["columns"]["column"]) == (4, [0, 0, 1, 1], {"all": 1})
    assert cases["columns"]["budget"] == [0.1235, None, 0.1235, None]
    assert cases["columns"]["outcome"]["texts"] == ["pass", "fail: nan"]


def test_run_data_appears_only_in_page_data(entries, data_of):
    hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
    record = CaseRecord.of(entries[0], COLUMNS[1], hostile, replace(WRONG, detail=hostile), title=hostile)
    unjudged = CaseRecord.of(entries[0], COLUMNS[1], hostile, Verdict(Status.NOT_JUDGED, "system", detail=hostile))
    columns = (replace(COLUMNS[1], device=hostile),)
    text = render_page(page_content(shown_of(entries, [record, unjudged], columns)), hostile)
    assert "alert(1)" not in text.replace("&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;", "")
    assert "<img" not in text and "&lt;img" in text  # the title
    assert hostile in json.dumps(data_of(text)) and hostile in data_of(text)["notes"][0]


def test_page_policy_allows_only_own_scripts(entries):
    text = render_page(page_content(shown_of(entries, [])), "t")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert policy.startswith("default-src 'none';") and "unsafe-eval" not in policy
    assert "unsafe-inline" not in policy.partition("script-src")[2]
    (program,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(program.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in policy and policy.count("sha256-") == 4
    assert not re.findall(r"""(?:src|href)=["']?(?:https?:)?//""", text)
    assert "sourceMappingURL" not in text


def test_page_contains_each_script():
    assert sorted(PROGRAM) == sorted(path.name for path in (LIBRARIES.parent / "js").iterdir())


def test_libraries_match_vendor_table():
    with (LIBRARIES / "vendor.csv").open() as table:
        rows = list(csv.DictReader(table))
    assert {"vendor.csv", *(row["file"] for row in rows), *(row["notice"] for row in rows)} == {
        path.name for path in LIBRARIES.iterdir()
    }
    for row in rows:
        stored = (LIBRARIES / row["file"]).read_bytes()
        text = gzip.decompress(stored) if row["file"].endswith(".gz") else stored
        assert hashlib.sha256(text).hexdigest() == row["sha256"], row["file"]
        assert "ermission" in (LIBRARIES / row["notice"]).read_text()


def test_page_of_whole_suite_is_below_5_mb(suite):
    """The suite has 748 kernels; the page has 4 columns with 23 cases each."""
    columns = (*COLUMNS, Column("emulated", "gfx1030"))
    records = []
    for entry in suite.kernel_entries:
        for n in range(23):
            text = f"{entry.op.name}[{','.join(entry.dtypes)}](x={n * 7919 % 97}x{n}~normal@{n * 104729 % 8191})"
            budget = (zlib.crc32(text.encode()) % 9973) / 9973
            verdict = Verdict(Status.PASS, budget=budget, ulps=4 * budget, total=97 * n, allowed=True)
            records += [CaseRecord.of(entry, column, text, verdict) for column in columns]
    text = render_page(page_content(shown_of(suite.kernel_entries, records, columns)), "t")
    assert len(records) > 67_000 and len(text) < 5_000_000


@pytest.fixture
def sources(tmp_path):
    (tmp_path / "kernels" / "deep").mkdir(parents=True)
    (tmp_path / "kernels" / "one.cuh").write_text("".join(f"line {i}\n" for i in range(1, 21)))
    (tmp_path / "kernels" / "deep" / "two.cu").write_text("only\n")
    return tmp_path / "kernels"


def test_excerpts_contain_named_lines_and_neighbours(sources):
    message = "first at one.cuh:10, then at one.cuh:10, and /build/deep/two.cu:1:7; also one.cuh:99 and none.cu:1"
    first, second = SourceFolders((sources,)).named(message.replace("/build/", ""))
    assert first == Excerpt("one.cuh", 10, 6, tuple(f"line {i}" for i in range(6, 15)))
    assert second == Excerpt("deep/two.cu", 1, 1, ("only",))


def test_changed_or_ambiguous_source_has_no_excerpt(sources):
    digest = hashlib.sha256((sources / "one.cuh").read_bytes()).hexdigest()
    assert SourceFolders((sources,), digests={"one.cuh": digest}).named("one.cuh:3")
    assert not SourceFolders((sources,), digests={"one.cuh": "0" * 64}).named("one.cuh:3")
    (sources / "deep" / "one.cuh").write_text("another\n")
    assert not SourceFolders((sources,)).named("one.cuh:1")


def test_excerpts_use_sources_of_vendor(sources, tmp_path):
    (tmp_path / "hip").mkdir()
    (tmp_path / "hip" / "one.cuh").write_text("ported\n")
    both = SourceFolders((sources,), ported=(tmp_path / "hip",))
    assert both.named("one.cuh:1", "amd")[0].lines == ("ported",)
    assert both.named("one.cuh:1", "cuda")[0].lines[0] == "line 1"
    changed = SourceFolders((sources,), ported=(tmp_path / "hip",), digests={"../hip/one.cuh": "0" * 64})
    assert not changed.named("one.cuh:1", "amd") and changed.named("one.cuh:1", "cuda")
