"""Consoles and progress bars. Results go to stdout, messages to stderr; only terminals get colours and bars."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from parity.platform.serialization import json_text

if TYPE_CHECKING:
    from parity.application.measuring import Measured
    from parity.application.run import Prepared, Run
    from parity.build.result import Built
    from parity.engine.calls import Progress as Report


INTERVAL = 10.0
"""Seconds between the lines of a progress display outside of a terminal."""


class _Console(Console):
    """Does not wrap lines. Raises ``BrokenPipeError`` on stdout, and drops messages that stderr does not accept."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError

    def print(self, *parts: object, style: str | None = None, **options: object) -> None:  # type: ignore[override]
        texts = [part if isinstance(part, Text) else Text(str(part)) for part in parts]
        with suppress(OSError) if self.stderr else nullcontext():
            super().print(*texts, style=style, soft_wrap=True, **options)  # type: ignore[arg-type]


def output() -> Console:
    """Return the console for results. It escapes characters that the encoding of stdout lacks."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    return _Console(highlight=False)


def errors() -> Console:
    """Return the console for messages (stderr)."""
    return _Console(highlight=False, stderr=True)


def messages(json: bool) -> Console:
    """Return the console for messages that accompany results: stderr if stdout must contain only ``json``."""
    return errors() if json else output()


def warn(*notes: str) -> None:
    """Print notes to stderr."""
    for note in notes:
        errors().print(f"parity: {note}", style="yellow")


def print_json(value: object) -> None:
    """Print a value as JSON, always in UTF-8."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    print(json_text(value, indent=1).decode())


class _Bars(Progress):
    """Prints a line after every ``INTERVAL`` seconds if stderr is not a terminal."""

    def __init__(self, *columns: ProgressColumn, console: Console, shown: bool) -> None:
        super().__init__(*columns, console=console, transient=True, disable=not (shown and console.is_terminal))
        self._ended = threading.Event()
        self._lines = threading.Thread(target=self._print, daemon=True) if shown and self.disable else None

    def start(self) -> None:
        super().start()
        if self._lines:
            self._lines.start()

    def stop(self) -> None:
        super().stop()
        self._ended.set()
        if self._lines:
            self._lines.join()

    def _print(self) -> None:
        while not self._ended.wait(INTERVAL):
            for task in self.tasks:
                total = f" of {task.total:g}" if task.total else ""
                text = f"{task.description} {task.completed:g}{total} {task.fields['note']}"
                errors().print(f"parity: {text.rstrip()}")


def progress(shown: bool = True) -> Progress:
    """Return a progress display on stderr: bars that disappear at the end, or lines outside of a terminal."""
    console = Console(stderr=True)
    what, left, note = map(TextColumn, ("{task.description:<10}", "left", "{task.fields[note]}"))
    columns = (what, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), left, TimeRemainingColumn(), note)
    return _Bars(*columns, console=console, shown=shown)


@dataclass(frozen=True)
class BuildProgress:
    """A progress display of builds. Call it with each module that has been built for a target."""

    bars: Progress
    bar: TaskID

    def __call__(self, built: Built) -> None:
        self.bars.update(self.bar, advance=1, note=f"{built.module} {built.target}")

    def note(self, text: str) -> None:
        """Show a text next to the bar."""
        self.bars.update(self.bar, note=text)


@contextmanager
def build_progress(total: int) -> Iterator[BuildProgress]:
    """Show the progress of ``total`` builds (modules times targets)."""
    with progress() as bars:
        yield BuildProgress(bars, bars.add_task("building", total=total, note=""))


@contextmanager
def run_progress(shown: bool = True) -> Iterator[tuple[Report, Callable[[str], None]]]:
    """Show the progress of a run; yields the function that reports it, and a function that shows a text next to it."""
    with progress(shown) as bars:
        bar = bars.add_task("preparing", total=None, note="")

        def report(what: str, done: int, total: int) -> None:
            bars.update(bar, description=what, completed=done, total=total)

        yield report, lambda note: bars.update(bar, note=note)


def build_run(run: Run, console: Console | None = None) -> Prepared:
    """Build a run with a progress display, and print compile errors to ``console`` (default: stderr)."""
    with build_progress(len(run.modules) * len(run.targets)) if run.targets else nullcontext() as done:
        prepared = run.build(done)
    failed: dict[str, list[str]] = {}
    for each in prepared.built:
        if each.error:  # usually the same for several targets
            failed.setdefault(str(each.error).replace(each.target, "\0"), []).append(each.target)
    for text, targets in failed.items():
        (console or errors()).print(f"{text.replace(chr(0), ' '.join(targets))}\n", style="red")
    return prepared


def measure_run(prepared: Prepared, *, hot: bool = False, seconds: float = 1.0) -> Measured:
    """Measure the kernels of a run with a progress display."""
    from parity.application.measuring import measure

    with run_progress() as (report, note):
        return measure(prepared, hot=hot, seconds=seconds, progress=report, each=lambda m: note(m.kernel))
