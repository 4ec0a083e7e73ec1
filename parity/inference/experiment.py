"""An immutable description of what probing assumes of a kernel, and the launches that test it."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from parity.inference.conditions import Condition, numbers_for
from parity.inference.data_flow import Flow
from parity.inference.probe_launches import Accessed, InputFill, LaunchConfig, Observation, ProbeLaunches, combined
from parity.inference.spec import (
    AXES,
    GRID_EXTENTS,
    IndexRole,
    KernelArgument,
    Numbers,
    Triple,
    evaluate,
    grid_for,
    triple,
)
from parity.inference.strides import StrideRule, dense_strides

GRID_DEFAULTS: Numbers = dict.fromkeys(GRID_EXTENTS.values(), 3)
"""Values for extents that only the grid determines."""
_REAL_DATA = (1, 0, -3)
"""Values to fill floating-point tensors with, because a kernel may branch on them."""
_WHOLE_DATA = (-1, 0, 1)
"""Values that all integer tensors are filled with, and the usual value of masks (``IndexRole``)."""
_WIDE = 8
"""Bytes of a number that may be a distance in memory."""
_MOST_COMPARED = 4
"""Constants of a kernel to fill a tensor with."""


@dataclass
class ProbeLog:
    """What launches of a kernel did not show.

    ``unreached`` are tensors that no launch accessed, ``unexplained`` those whose size fits no formula, and
    ``endless`` the axes, with the block, along which more blocks always access more.
    """

    unreached: Collection[str] = ()
    unexplained: Collection[str] = ()
    endless: set[tuple[str, Triple]] = field(default_factory=set)


@dataclass(frozen=True)
class Experiment:
    """The assumptions about a kernel.

    Attributes:
        args: The kernel's arguments.
        flow: What its PTX shows.
        launches: Executes launches.
        log: What launches did not show.
        numbers: Names of the integer arguments that vary freely, and of bounds that are not arguments.
        made: Formulas of the integer arguments that the host computes from others.
        strides: Tensors whose strides are arguments.
        roles: Integer tensors whose elements are bounds; None before they are determined.
        threads: The formula for the threads of a block, if a number determines them.
        limits: Values that numbers may not exceed.
    """

    args: Sequence[KernelArgument]
    flow: Flow
    launches: ProbeLaunches
    log: ProbeLog
    numbers: tuple[str, ...]
    made: Mapping[str, str] = field(default_factory=dict)
    strides: Mapping[str, StrideRule] = field(default_factory=dict)
    roles: Mapping[str, IndexRole] | None = None
    threads: str = ""
    limits: tuple[int, ...] = ()

    @property
    def pointers(self) -> list[KernelArgument]:
        """The arguments that are tensors."""
        return [each for each in self.args if each.is_pointer]

    @property
    def pitches(self) -> list[str]:
        """The names of 64-bit integers next to a pointer in a structure of two fields: perhaps distances in bytes."""
        fields = {at: [each for each in self.args if each.key[0] == at] for at, _ in (one.key for one in self.args)}
        pairs = (each for each in fields.values() if len(each) == 2 and sum(one.is_pointer for one in each) == 1)
        return [one.name for pair in pairs for one in pair if one.is_whole and one.dtype.itemsize == _WIDE]

    @property
    def integer_tensors(self) -> list[str]:
        """The names of tensors of integers."""
        return [each.name for each in self.pointers if not (each.dtype.is_float or each.rows_of)]

    @property
    def real_tensors(self) -> list[str]:
        """The names of tensors of floating-point numbers."""
        return [each.name for each in self.pointers if each.dtype.is_float]

    @property
    def offsets(self) -> frozenset[str]:
        """The names of integer tensors of which two neighbors bound a range."""
        return frozenset(each.name for each in self.pointers if each.key in self.flow.offsets)

    @property
    def segments(self) -> frozenset[str]:
        """The names of integer tensors whose rows are segments of others."""
        return frozenset(each.name for each in self.pointers if each.key in self.flow.segments)

    @property
    def used(self) -> frozenset[str]:
        """The names of tensors that the PTX accesses."""
        return frozenset(each.name for each in self.pointers if each.key in self.flow.uses)

    @property
    def scattered(self) -> frozenset[str]:
        """The names of tensors that are written at positions which come from memory."""
        uses = self.flow.uses
        return frozenset(each.name for each in self.args if each.key in uses and uses[each.key].scattered)

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes of the grid that the kernel reads."""
        return tuple(sorted(self.flow.axes))

    @property
    def fills(self) -> tuple[InputFill, ...]:
        """The contents of tensors, and of flags, to try. Floating-point data matters only with such tensors."""
        flags = (InputFill(flags=False),) if any(each.is_flag for each in self.args) else ()
        return *(map(InputFill, _REAL_DATA) if self.real_tensors else (InputFill(),)), *flags

    @property
    def compared_fills(self) -> tuple[InputFill, ...]:
        """Contents that are equal to what the kernel compares elements with."""
        reals = [each for each in self.flow.reals if each not in _REAL_DATA] if self.real_tensors else []
        wholes = (
            InputFill(one=each.name, value=value)
            for each in self.pointers if not each.dtype.is_float
            for value in self.flow.wholes.get(each.key, ())[:_MOST_COMPARED] if value not in _WHOLE_DATA
        )  # fmt: skip
        special = (math.inf, math.nan) if self.flow.tests_finite and self.real_tensors else ()
        return *map(InputFill, (*reals[:_MOST_COMPARED], *special)), *wholes, *self.null_fills

    @property
    def null_fills(self) -> tuple[InputFill, ...]:
        """Contents with null pointers: all inputs that may be null, and each of them."""
        names = [each.name for each in self.pointers if each.is_nullable]
        together = {frozenset(names), *(frozenset({name}) for name in names)} if names else ()
        return tuple(InputFill(nulls=each) for each in sorted(together, key=sorted))

    @property
    def probing_fills(self) -> tuple[InputFill, ...]:
        """``fills``, a fill with integers other than zero, and ``compared_fills``."""
        return *self.fills, InputFill(whole=1), *self.compared_fills

    def observe(
        self, numbers: Numbers, grid: Triple, block: Triple, shared: int, fill: InputFill | None = None
    ) -> Observation | None:
        """Return the accesses of a launch under these assumptions, or None if it faults.

        A kernel that does not load the starts of empty parts has as many starts as lengths.
        """
        run = self.launches.observe(self._config(numbers, grid, block, shared, fill or InputFill()))
        parts = [name for name, role in (self.roles or {}).items() if role.use in ("starts", "lengths")]
        if run is None or not parts:
            return run
        most = max(run[name].end for name in parts)
        return {**run, **{name: replace(run[name], end=most) for name in parts}}

    def has_race(self, numbers: Numbers, grid: Triple, block: Triple, shared: int, fill: InputFill) -> bool:
        """Return True if threads of a launch write different values to one place in global memory."""
        config = self._config(numbers, grid, block, shared, fill)
        return self.launches.observe(config) is None and config.key in self.launches.raced

    def is_too_long(self, numbers: Numbers, block: Triple, shared: int) -> bool:
        """Return True if a single block needs more instructions than a launch may have."""
        config = self._config(numbers, (1, 1, 1), block, shared, InputFill())
        return self.launches.observe(config) is None and config.key in self.launches.too_long

    def _config(self, numbers: Numbers, grid: Triple, block: Triple, shared: int, fill: InputFill) -> LaunchConfig:
        if self.threads:
            block = triple([evaluate(self.threads, numbers, block)])
        known = {**GRID_DEFAULTS, **numbers}
        numbers = {**dense_strides(self.strides, known), **self.made_numbers(numbers), **numbers}
        return LaunchConfig(numbers, grid, block, shared, fill, self.roles or {})

    def observe_data(self, numbers: Numbers, grid: Triple, block: Triple, shared: int) -> Observation | None:
        """Return the combined accesses with all ``fills``, or None if one of the launches faults."""
        several = [self.observe(numbers, grid, block, shared, fill) for fill in self.fills]
        done = [each for each in several if each]
        if not done or len(done) < len(several):
            return None
        joined: dict[str, Accessed] = {name: combined([each[name] for each in done]) for name in done[0]}
        # Zeros in a mask hide what is behind it. Other tensors, whose elements are positions, may still need zeros.
        for fill in (InputFill(whole=1), *self.compared_fills):
            if not all(each.end for each in joined.values()):
                more = self.observe(numbers, grid, block, shared, fill) or {}
                hidden = {name: one for name, one in more.items() if not joined[name].end}
                joined |= {name: replace(one, written=joined[name].written) for name, one in hidden.items()}
        return joined

    def observe_ends(self, block: Triple, shared: int) -> dict[str, int]:
        """Return how many elements of each tensor a few blocks reach with any data."""
        numbers = numbers_for(Condition(), self.numbers, block)[0]
        x, y, z = (4 if axis in self.axes else 1 for axis in AXES)
        ends = {each.name: 0 for each in self.pointers}
        for fill in self.probing_fills:
            for name, each in (self.observe(numbers, (x, y, z), block, shared, fill) or {}).items():
                ends[name] = max(ends[name], each.end)
        return ends

    def made_numbers(self, numbers: Numbers) -> dict[str, int]:
        """Return the values of the numbers that the host computes from others."""
        scope = {**GRID_DEFAULTS, **numbers}
        return {name: evaluate(text, scope, (1, 1, 1)) for name, text in self.made.items()}

    def choices(self, condition: Condition, block: Triple, grid: Sequence[str] = ()) -> list[dict[str, int]]:
        """Return numbers to launch with for which all computed numbers and the grid are positive.

        Numbers with which a block needs too many instructions are left out if enough others remain.
        """
        found = [
            each
            for each in numbers_for(condition, self.numbers, block)
            if min([1, *self.made_numbers(each).values(), *(grid_for(grid, {**GRID_DEFAULTS, **each}) if grid else ())])
            > 0
        ]
        short = [each for each in found if not self.is_too_long(each, block, 0)]
        return short if len(short) > 1 else found

    def limited(self, condition: Condition, block: Triple) -> dict[str, tuple[int, ...]]:
        """Return the values to draw numbers from that are left out of ``choices`` because launches take too long."""
        kept = self.choices(condition, block)
        found = {}
        for name in self.numbers if kept else ():
            most = max(each[name] for each in kept)
            if max(each[name] for each in numbers_for(condition, self.numbers, block)) > most:
                found[name] = tuple(sorted({1, 2, *(each[name] for each in kept)}))
        return found
