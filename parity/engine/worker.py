"""What happens inside a worker process."""

from __future__ import annotations

import signal
import traceback
from dataclasses import dataclass, field, replace

from parity.codeobject import CodeObject
from parity.compare import Status, Verdict
from parity.engine.check import Checked, check, minimize
from parity.engine.diagnose import diagnose
from parity.engine.plan import Plan, Task
from parity.engine.record import CaseRecord
from parity.op import Entry
from parity.runners import Runner, Session, runner
from parity.suite import Suite, load_suite

__all__ = ["Worker", "current", "perform", "prepare", "start"]

FAILURES_TO_SHRINK = 2


@dataclass
class Worker:
    """The state of one process: the suite, the runner, and a device per target."""

    plan: Plan
    suite: Suite
    runner: Runner
    sessions: dict[str, Session] = field(default_factory=dict)
    drawn: dict[Task, list[tuple[str, str]]] = field(default_factory=dict)

    def session(self, target: str) -> Session:
        """The device of a target, opened on first use."""
        if target not in self.sessions:
            self.sessions[target] = self.runner.open(target, checked=self.plan.checked)
        return self.sessions[target]

    def texts(self, task: Task) -> list[tuple[str, str]]:
        """The cases of a task, which are the same for every target: drawing costs more than running them."""
        key = replace(task, target="")
        if key not in self.drawn:
            self.drawn[key] = self.plan.draw(self.suite, task)
        return self.drawn[key]

    def perform(self, task: Task, texts: list[tuple[str, str]]) -> list[CaseRecord]:
        """Check cases of one entry. The first failures of each kind are shrunk."""
        entry = Entry(self.suite.op(task.op), task.dtypes)
        code = self.plan.code[entry.op.module, task.target]
        session = self.session(task.target)
        records: list[CaseRecord] = []
        shrunk: set[tuple[Status, str]] = set()
        for title, text in texts:
            try:
                checked = check(entry.op, entry.op.parse(text), code, session, self.runner.vendor)
            except Exception:  # a defect of the op's declaration or of parity costs this case only
                verdict = Verdict(Status.ERROR, "error", detail=traceback.format_exc())
                records.append(blank(self.runner, entry, task.target, text, verdict, title))
                continue
            record = self._record(entry, task.target, checked, title)
            failure = checked.verdict.status, checked.verdict.kind
            # Each attempt at a failure that costs the device would cost seconds.
            wanted = task.shrink and not checked.lost and failure not in shrunk and len(shrunk) < FAILURES_TO_SHRINK
            if wanted and failure[0] in (Status.FAIL, Status.TIMEOUT):
                shrunk.add(failure)
                record = self._with_minimal(record, entry, task, checked, code)
            records.append(record)
        return records

    def _with_minimal(
        self, record: CaseRecord, entry: Entry, task: Task, checked: Checked, code: CodeObject
    ) -> CaseRecord:
        minimal = minimize(
            entry.op,
            checked.case,
            checked.verdict,
            self.plan.seed_of(entry),
            self.plan.examples,
            code,
            self.session(task.target),
            self.runner.vendor,
        )
        modules = {
            target: self.plan.code[key]
            for target in self.plan.targets
            if (key := (entry.op.module, target)) in self.plan.code
        }
        minimal = diagnose(entry.op, minimal, task.target, modules, self.session, self.runner.vendor)
        return CaseRecord(**{**vars(record), "minimal": self._record(entry, task.target, minimal, "")})

    def _record(self, entry: Entry, target: str, checked: Checked, title: str) -> CaseRecord:
        return blank(
            self.runner, entry, target, str(checked.case), checked.verdict, title,
            launch=checked.launch, inputs=checked.inputs, instructions=checked.instructions,
        )  # fmt: skip


def blank(
    runner: Runner, entry: Entry, target: str, case: str, verdict: Verdict, title: str = "", **more: object
) -> CaseRecord:
    """The record of a case of an entry."""
    names = {"case": case, "op": entry.op.name, "kernel": entry.kernel, "module": entry.op.module, "title": title}
    return CaseRecord(
        **names, runner=runner.name, target=target, evidence=str(runner.evidence), verdict=verdict, **more  # type: ignore[arg-type]
    )  # fmt: skip


_worker: Worker


def start(plan: Plan) -> None:
    """Initialise this process. Ctrl-C is the parent's to handle."""
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _worker = Worker(plan, load_suite(plan.kernels, plan.cases), runner(plan.runner))


def current() -> Worker:
    """The state of this process."""
    return _worker


def prepare(module: str, target: str, kernels: tuple[str, ...]) -> None:
    """Make kernels ready to run, many at once."""
    _worker.session(target).prepare(_worker.plan.code[module, target], kernels)


def perform(task: Task) -> list[CaseRecord]:
    """Run a task."""
    return _worker.perform(task, _worker.texts(task))
