"""Journals: entries survive, truncated lines are dropped, and other files stay untouched."""

from __future__ import annotations

import os
import resource
import signal
import threading

import pytest

from parity.engine.outcomes import FinishedTask, outcome_journal
from parity.errors import UsageError
from parity.model.launch import Fault
from parity.runners.recording_file import RecordedCase

PLAN = {"seed": 0, "environment": {"sources": {"unary.cu": "ab" * 32}, "versions": {"numpy": "2.0"}}}


def case(number: int, fault: Fault | None = None) -> RecordedCase:
    text = f"unary.neg[f32](x={number}~normal@0)"
    return RecordedCase(text, "", "unary", "uneg_f32", "sm_90", f"{number}", {"out": bytes(range(number))}, fault)


@pytest.fixture
def path(tmp_path):
    """The path of a journal with two tasks."""
    with outcome_journal(tmp_path / "some.zip.partial", PLAN) as journal:
        journal.add(FinishedTask.of(3, [case(3), case(200)]))
        journal.add(FinishedTask.of(1, [case(1, Fault("crash", "gone\nfor ever", True))]))
    return journal.path


def test_journal_entries_survive_reopening(path):
    with outcome_journal(path, PLAN) as journal:
        three, one = journal.entries
        assert (three.task, one.task, journal.other) == (3, 1, "")
        assert three.unpacked() == [case(3), case(200)]
        assert one.cases[0].fault == Fault("crash", "gone\nfor ever", True)
        journal.add(FinishedTask.of(0, []))
    assert len(outcome_journal(path, PLAN).entries) == 3


def test_truncated_line_loses_only_its_entry(path):
    data = path.read_bytes()
    last = data[:-1].rindex(b"\n") + 1
    for end in (last, last + 1, last + 40, *range(last + 76, len(data), 23), len(data) - 1):
        path.write_bytes(data[:end])
        with outcome_journal(path, PLAN) as journal:
            assert [entry.task for entry in journal.entries] == [3]
            journal.add(FinishedTask.of(1, [case(1)]))
        with outcome_journal(path, PLAN) as journal:
            assert journal.entries[-1].unpacked() == [case(1)]


def test_altered_line_drops_itself_and_later_lines(path):
    head, first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(head + first.replace(b"x=3", b"x=4") + second)
    assert len(outcome_journal(path, PLAN).entries) == 0


def test_journal_of_other_plan_starts_over_and_reports_difference(path):
    other = {**PLAN, "seed": 1, "environment": {**PLAN["environment"], "sources": {"unary.cu": "cd" * 32}}}
    with outcome_journal(path, other) as journal:
        assert not journal.entries
        assert journal.other == "seed (0 there, 1 here), environment: sources: unary.cu"
    with outcome_journal(path, other) as journal:
        assert journal.other == ""


@pytest.mark.parametrize("text", ["a file of the user\n", "{}\n", "\n"])
def test_other_file_is_not_overwritten(tmp_path, text):
    path = tmp_path / "some.zip.partial"
    path.write_text(text)
    with pytest.raises(UsageError, match="is not the journal of a recording"):
        outcome_journal(path, PLAN)
    assert path.read_text() == text


def test_journal_is_locked_against_second_process(path):
    with outcome_journal(path, PLAN), pytest.raises(UsageError, match="another process is writing to"):
        outcome_journal(path, PLAN)


def test_full_disk_loses_only_unwritten_entry(path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with pytest.raises(UsageError, match="cannot write"), outcome_journal(path, PLAN) as journal:
            resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 100, hard))
            journal.add(FinishedTask.of(0, [case(0)]))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    with outcome_journal(path, PLAN) as journal:
        assert [entry.task for entry in journal.entries] == [3, 1]


def test_unwritable_journal_error_gives_advice(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"cannot write .*choose another file with -o"):
        outcome_journal(tmp_path / "file" / "some.zip.partial", PLAN)


def test_interrupt_during_write_keeps_entries_consistent(tmp_path, monkeypatch):
    with outcome_journal(tmp_path / "some.partial", PLAN) as journal:
        # Signals this thread only: a thread of pytest-xdist could receive the signal, and Python would raise it later.
        here = threading.get_ident()
        monkeypatch.setattr(os, "fsync", lambda number: signal.pthread_kill(here, signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            journal.add(FinishedTask.of(0, [case(1)]))
        monkeypatch.undo()
        assert len(journal.entries) == journal.path.read_bytes().count(b"\n") - 1 == 1
