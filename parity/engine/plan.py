"""Plans: what a run will do, as data that can be sent to a worker process."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from parity.codeobject import CodeObject
from parity.generate import sample
from parity.op import Entry
from parity.suite import Selection, Suite

__all__ = ["Plan", "Task", "tasks_of"]


@dataclass(frozen=True)
class Task:
    """The cases of one kernel entry on one target: ``cases`` by their text, or, if None, those the plan draws.

    ``shrink`` asks for the simplest case of a failure.
    """

    op: str
    dtypes: tuple[str, ...]
    target: str
    cases: tuple[str, ...] | None = None
    shrink: bool = True


@dataclass(frozen=True)
class Plan:
    """A run: everything that decides its outcome, in a form that pickles (ops hold functions, so they are named).

    ``examples`` cases are drawn per kernel entry beside the named ones, from ``seed``. ``code`` maps (module, target)
    to what the toolchain built. A case that gives no answer within ``seconds`` is ended.
    """

    kernels: Path
    cases: Path
    runner: str
    tasks: tuple[Task, ...]
    examples: int
    seed: int
    checked: bool
    code: Mapping[tuple[str, str], CodeObject]
    seconds: float = 60.0

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(task.target for task in self.tasks))

    def seed_of(self, entry: Entry) -> int:
        """The seed of one kernel entry, so that its cases do not depend on what else is selected."""
        return zlib.crc32(f"{self.seed}/{entry.name}".encode())

    def draw(self, suite: Suite, task: Task) -> list[tuple[str, str]]:
        """Title (or an empty string) and text of every case of a task."""
        entry = Entry(suite.op(task.op), task.dtypes)
        if task.cases is not None:
            return [("", text) for text in task.cases]
        drawn = sample(entry.op.cases(entry.dtypes), self.seed_of(entry), self.examples)
        return [(title, str(case)) for title, case in entry.op.named_cases(entry.dtypes)] + [
            ("", str(c)) for c in drawn
        ]


def tasks_of(selection: Selection, targets: Sequence[str]) -> tuple[Task, ...]:
    """One task per kernel entry and target; explicit cases are grouped by entry."""
    found = [Task(e.op.name, e.dtypes, target) for e in selection.entries for target in targets]
    texts: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for case in selection.cases:
        texts.setdefault((case.op, case.dtypes), []).append(str(case))
    found += [Task(*key, target, tuple(each)) for key, each in texts.items() for target in targets]
    return tuple(found)
