"""Inspects the resources that kernels use on each target, without running them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from parity.build.modules import build_suite
from parity.build.result import Built
from parity.build.settings import BuildCallbacks
from parity.compilers.cuda_toolkit import nvcc
from parity.compilers.targets import CUDA_TARGET, DEFAULT_TARGETS, target
from parity.compilers.toolchain import versions_of
from parity.errors import MissingTool
from parity.footprint.measure import Footprint, footprints
from parity.footprint.remarks import Remark, remarks
from parity.footprint.sass import nvdisasm
from parity.report.frames import static_frame
from parity.suite.loading import Suite
from parity.suite.selection import Selection

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Inspected:
    """The footprint of each kernel on each target. ``notes`` describe missing footprints."""

    built: tuple[Built, ...]
    footprints: tuple[Footprint, ...]
    notes: tuple[str, ...] = ()

    @property
    def remarks(self) -> list[Remark]:
        return remarks(self.footprints)

    def frame(self) -> pandas.DataFrame:
        """Return one row per kernel and target; see ``static_frame``.

        Raises:
            MissingTool: pandas is not installed.
        """
        return static_frame(self.footprints)


@dataclass(frozen=True)
class Inspection:
    """The kernels to inspect, by module, and the targets. ``notes`` describe what is unavailable."""

    suite: Suite
    kernels: dict[str, list[str]]
    targets: tuple[str, ...]
    notes: tuple[str, ...] = ()
    jobs: int | None = field(default=None, kw_only=True)

    @classmethod
    def of(
        cls, suite: Suite, selection: Selection, targets: Sequence[str] = (), *, jobs: int | None = None
    ) -> Inspection:
        """Return the kernels of a selection for these targets (default: AMD's, and CUDA's if it can be built here).

        Raises:
            UsageError: A target is unknown.
            MissingTool: A CUDA target was requested, but nvcc is missing.
        """
        kernels: dict[str, list[str]] = {}
        for entry in suite.entries_in(selection):
            if not entry.op.library:
                kernels.setdefault(entry.op.module, []).extend(entry.kernels)
        found, notes = _buildable(targets)
        return cls(suite, kernels, found, notes, jobs=jobs)

    def inspect(
        self, done: Callable[[Built], None] | None = None, reading: Callable[[Built], None] | None = None
    ) -> Inspected:
        """Build the kernels, and read their footprints. ``done`` and ``reading`` receive each module."""
        built = build_suite(self.suite, self.kernels, self.targets, jobs=self.jobs, progress=BuildCallbacks(done))
        found: list[Footprint] = []
        notes = list(self.notes)
        for one in built:
            if reading:
                reading(one)
            if one.code_object:
                names = {name: one.code_object.symbol(name) for name in self.kernels[one.module]}
                found += footprints(one.code_object, names.values())
                absent = [name for name, symbol in names.items() if symbol not in one.code_object.kernels]
                notes += [f"{one.module} for {one.target} has no {' '.join(absent)}"] * bool(absent)
        return Inspected(tuple(built), tuple(found), tuple(notes))


def _buildable(asked: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the targets to build for, and notes about what is unavailable on this machine."""
    targets = [target(name) for name in versions_of(dict.fromkeys(asked or (CUDA_TARGET, *DEFAULT_TARGETS)))]
    notes = []
    if any(where.vendor == "cuda" for where in targets):
        try:
            nvcc()
        except MissingTool as error:
            if asked:
                raise
            notes.append(f"{CUDA_TARGET} left out: {error}")
            targets = [where for where in targets if where.vendor != "cuda"]
    if cuda := [where.name for where in targets if where.vendor == "cuda"]:
        try:
            nvdisasm()
        except MissingTool as error:
            notes.append(f"no instructions by class for {' '.join(cuda)}: {error}")
    return tuple(where.name for where in targets), tuple(notes)
