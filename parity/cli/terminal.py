"""The consoles: results go to stdout, all else to stderr; colours and progress bars are shown on a terminal only."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from parity.platform.serialization import json_text

if TYPE_CHECKING:
    from parity.application import Measured, Prepared, Run
    from parity.build.result import Built
    from parity.engine import Progress as Report

__all__ = [
    "building", "built", "errors", "measured", "messages", "output", "print_json", "progress", "reporting", "warn",
]  # fmt: skip


class _Console(Console):
    """A console that leaves lines as long as they are, and leaves a broken pipe to the caller."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError

    def print(self, *parts: object, style: str | None = None, **options: object) -> None:  # type: ignore[override]
        texts = [part if isinstance(part, Text) else Text(str(part)) for part in parts]
        super().print(*texts, style=style, soft_wrap=True, **options)  # type: ignore[arg-type]


def output() -> Console:
    """The console of results. A character that its encoding lacks is shown as its number."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    return _Console(highlight=False)


def errors() -> Console:
    """The console of messages."""
    return _Console(highlight=False, stderr=True)


def messages(json: bool) -> Console:
    """The console of what is said beside the results: theirs, unless JSON alone goes there."""
    return errors() if json else output()


def warn(notes: Iterable[str]) -> None:
    """Print notes to stderr."""
    for note in notes:
        errors().print(f"parity: {note}", style="yellow")


def print_json(value: object) -> None:
    """Print a value as JSON: in UTF-8, whatever the encoding of stdout."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    print(json_text(value, indent=1).decode())


def progress(shown: bool = True) -> Progress:
    """A progress display on stderr that vanishes when it is done; nothing if stderr is no terminal."""
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description:<10}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
        console=console,
        transient=True,
        disable=not (shown and console.is_terminal),
    )


@dataclass(frozen=True)
class Building:
    """A progress display of builds, to be called with each module that is built for a target."""

    bars: Progress
    bar: TaskID

    def __call__(self, built: Built) -> None:
        self.bars.update(self.bar, advance=1, note=f"{built.module} {built.target}")

    def note(self, text: str) -> None:
        """Show what is done now."""
        self.bars.update(self.bar, note=text)


@contextmanager
def building(total: int) -> Iterator[Building]:
    """A progress display of ``total`` modules and targets."""
    with progress() as bars:
        yield Building(bars, bars.add_task("building", total=total, note=""))


@contextmanager
def reporting(shown: bool = True) -> Iterator[tuple[Report, Callable[[str], None]]]:
    """A progress display of what a run reports, and a function that notes something behind it."""
    with progress(shown) as bars:
        bar = bars.add_task("preparing", total=None, note="")

        def report(what: str, done: int, total: int) -> None:
            bars.update(bar, description=what, completed=done, total=total)

        yield report, lambda note: bars.update(bar, note=note)


def built(run: Run, console: Console | None = None) -> Prepared:
    """Build a run, and show how far that is; then print what does not compile (default: to stderr)."""
    with building(len(run.modules) * len(run.targets)) if run.targets else nullcontext() as done:
        prepared = run.build(done)
    failed: dict[str, list[str]] = {}
    for each in prepared.built:
        if each.error:  # the same for several targets, as a rule
            failed.setdefault(str(each.error).replace(each.target, "\0"), []).append(each.target)
    for text, targets in failed.items():
        (console or errors()).print(f"{text.replace(chr(0), ' '.join(targets))}\n", style="red")
    return prepared


def measured(prepared: Prepared, *, hot: bool = False, seconds: float = 1.0) -> Measured:
    """Measure the kernels of a run, and show how far that is."""
    from parity.application import measure

    with reporting() as (report, note):
        return measure(prepared, hot=hot, seconds=seconds, progress=report, each=lambda m: note(m.kernel))
