"""Test items: a collector for each case file, and an item for each kernel and column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from parity.application.run import Run
from parity.compare.verdict import Status
from parity.engine.case_records import CaseRecord, Column
from parity.op import Entry
from parity.platform.serialization import json_text
from parity.report.failures import Reproduction, not_judged
from parity.testing.execution import Execution
from parity.testing.failure import ParityFailure, failure_from_records


class SuiteRun(Protocol):
    """The part of the plugin that items use. The execution starts before the first item runs."""

    run: Run
    execution: Execution

    def reproduction(self, column: Column | None = None) -> Reproduction:
        """Return the command that runs a case again, on one column or on all."""


class CaseFile(pytest.File):
    """A case file."""

    suite: SuiteRun

    def collect(self) -> Iterator[pytest.Item]:
        """Yield an item for each kernel and column."""
        run = self.suite.run
        for op in run.suite.ops_in(self.path):
            for entry in op.entries():
                for column in run.columns.runnable:
                    if column.takes(op.library):
                        name = f"{op.name}[{','.join(entry.dtypes)}-{column.label(run.columns.runnable)}]"
                        yield KernelItem.from_parent(self, name=name, entry=entry, column=column)


class KernelItem(pytest.Item):
    """The cases of one kernel on one column."""

    def __init__(self, *, name: str, parent: CaseFile, entry: Entry, column: Column, **more: Any) -> None:
        # An explicit id, because pytest parses brackets as parameters when it compares ids, for example for --lf.
        super().__init__(name=name, parent=parent, nodeid=f"{parent.nodeid}::{name}", **more)
        self.entry, self.column = entry, column
        self.found: list[CaseRecord] = []
        self.error = ""
        self.add_marker("parity")

    @property
    def suite(self) -> SuiteRun:
        """The plugin that collected the item."""
        assert isinstance(self.parent, CaseFile)
        return self.parent.suite

    def runtest(self) -> None:
        """Run the cases.

        Raises:
            ParityFailure: A case failed, or the kernel did not compile.
            pytest.skip.Exception: The runner does not support the op, or the recording does not contain the kernel.
        """
        execution, run, column = self.suite.execution, self.suite.run, self.column
        self.error = execution.compile_error(self.entry, column)
        errors = {(self.entry.op.module, column.target): self.error} if self.error else {}
        for record in run.without_code([self.entry], [column], errors):
            if record.known:
                pytest.xfail(f"{'does not compile' if self.error else 'is missing'}, a known issue: {record.known}")
            raise ParityFailure(record.verdict.detail)
        self.found = execution.records(self.entry, column)
        if failure := failure_from_records(self.found, self.suite.reproduction(column), run.suite):
            raise failure
        if unjudged := not_judged(self.found):
            raise ParityFailure("\n".join(unjudged))
        if known := [record.known for record in self.found if record.known]:
            pytest.xfail(f"{len(known)} known: {', '.join(dict.fromkeys(known))}")
        if any(record.verdict.status is Status.BASELINE for record in self.found):
            pytest.skip("baseline: the op has no reference, and this column judges the others")
        if all(record.verdict.status is Status.UNSUPPORTED for record in self.found):
            reasons = Counter(record.verdict.detail.partition("\n")[0] for record in self.found)
            pytest.skip(next(iter(reasons), "no case to run" if self.column.live else "not recorded"))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *more: Any) -> Any:
        """Format a failure like the command line."""
        if isinstance(excinfo.value, ParityFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, *more)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """The location and the title of the item. The title differs from its id, in which pytest would replace dots."""
        return self.path, None, f"{self.entry.name} on {self.column}"

    def report_data(self) -> dict[str, Any]:
        """Return data for the process that prints the matrix, in types that pytest-xdist can serialize."""
        return {
            "entry": [self.entry.op.name, list(self.entry.dtypes)],
            "column": [self.column.runner, self.column.target],
            "error": self.error,
            "made_by": self.suite.execution.plan.made_by.get(self.column.target, ""),
            "records": [json_text(record).decode() for record in self.found],
        }
