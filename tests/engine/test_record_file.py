"""Record files round-trip, and invalid files are refused with the line of the error."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from sealing import sealed

from parity.compare.arbitration import Conclusion
from parity.compare.verdict import Mismatch, Status, Verdict
from parity.engine.case_records import CaseRecord, CrossVendorComparison
from parity.engine.journal import CHECKED
from parity.engine.record_file import RecordWriter, read_record
from parity.errors import UsageError


def test_truncated_record_loses_only_last_line(tmp_path):
    path = tmp_path / "record.jsonl"
    for end in (b"", b'{"case": "una', '{"case": "ä'.encode()[:-1], b'{"complete":tr'):
        path.write_bytes(sealed(b'{"environment": {"sources": {}}}\n') + end)
        assert read_record(path).records == ()
        assert not read_record(path).complete


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"", "is not a record of parity: line 1 is not JSON"),
        (b"[]\n", r"is not a record of parity: line 1: it is \[\], not an object"),
        (b'{"something": 1}\n', "is not a record of parity: line 1: environment is missing"),
        (b"not json\n{}\n", "is not a record of parity: line 1 is not JSON"),
        (b'{"environment": {"sources": {}}}\n{"case"\n{"complete":true}\n', "record.jsonl, line 2 is not JSON"),
        (b'{"environment": {"sources": {}}}\n{"case": 1}\n', "record.jsonl, line 2: case is 1, not a text"),
        (
            b'{"environment": {"sources": {}}}\n{"complete":true}\n{"case": 1}\n',
            "line 2 is the end of a record, but lines",
        ),
        (b'{"environment": {"sources": {}}}\n{"complete":1}\n', "record.jsonl, line 2: complete is 1, not"),
    ],
)
def test_invalid_record_names_its_line(tmp_path, text, says):
    path = tmp_path / "record.jsonl"
    path.write_bytes(sealed(text) if text.startswith(b'{"environment"') else text)
    with pytest.raises(UsageError, match=says):
        read_record(path)


def test_record_keeps_special_texts_and_numbers(tmp_path):
    """The record has Unicode line separators, infinite distances and NumPy scalars."""
    first = Mismatch((0,), "nan", "1.0", math.inf, math.inf)
    verdict = Verdict(Status.FAIL, "nan", math.inf, 1, 1, first, detail="a\u2028b\x85c\td", ulps=np.float64(2.5))
    written = CaseRecord("c", "o", "k", "m", "emulated", "gfx1100", "emulated", verdict, printed="\x1c\x0c\n")
    against = CrossVendorComparison(Conclusion.AMD, ulps=math.inf, budget=math.inf, column="gfx90a")
    written = replace(written, minimal=written, against=against)
    with RecordWriter(tmp_path / "record.jsonl", {"sources": {}}) as writer:
        writer.add(written)
    assert read_record(tmp_path / "record.jsonl").records == (written,)
    assert b"Infinity" not in (tmp_path / "record.jsonl").read_bytes()


@pytest.mark.parametrize("is_complete", [True, False], ids=["complete", "interrupted"])
@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda lines: [lines[0], lines[1].replace(b"pass", b"fail"), *lines[2:]], 2),
        (lambda lines: [lines[0], *lines[2:]], 2),
        (lambda lines: [lines[0].replace(b"cases", b"other"), *lines[1:]], 1),
        (lambda lines: [*lines[:2], lines[1], *lines[2:]], 3),
        (lambda lines: [b"{" + line[CHECKED:] for line in lines], 1),
    ],
    ids=["verdict", "missing-line", "environment", "repeated-line", "no-checksums"],
)
def test_edited_record_is_refused(tmp_path, change, line, is_complete):
    verdict, path = Verdict(Status.PASS, total=1), tmp_path / "record.jsonl"
    with RecordWriter(path, {"sources": {"cases": "1"}}) as writer:
        for case in "abc":
            writer.add(CaseRecord(case, "o", "k", "m", "emulated", "gfx1100", "emulated", verdict))
    lines = path.read_bytes().splitlines(keepends=True)[: None if is_complete else -1]
    path.write_bytes(b"".join(lines))
    assert [each.case for each in read_record(path).records] == ["a", "b", "c"]
    path.write_bytes(b"".join(change(lines)))
    with pytest.raises(UsageError, match=f"line {line} does not match its checksum: the record was edited or damaged"):
        read_record(path)


def test_unwritable_record_error_gives_advice(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="--output"):
        RecordWriter(tmp_path / "file" / "record.jsonl", {})
