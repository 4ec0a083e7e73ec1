"""The shapes, grid and shared memory of a kernel, from launches with chosen numbers: what it touches tells them.

A kernel is executed on the CPU as nvcc's PTX, each pointer to more memory than it needs, each whole number a small
prime. How far it reaches behind a pointer, with several choices of numbers, is a product of some of them or it is not
known. Along each axis blocks are added until nothing more is touched: their number is that of the grid.
"""

from __future__ import annotations

import itertools
import math
import operator
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from parity.cache import Cache, default_root
from parity.codeobject import CodeObject, spelled
from parity.dtypes import DType
from parity.emulator import Allocation, InstructionBudgetExceeded, MemoryFault, Refused, UnknownInstruction
from parity.emulator.ptx import PtxDevice
from parity.errors import ParityError
from parity.expression import Scope, expression
from parity.toolchain.host_launches import HostLaunch
from parity.toolchain.ptx_dataflow import Flow

__all__ = ["FREE", "Given", "Probed", "Prober"]

Triple = tuple[int, int, int]
Numbers = Mapping[str, int]

STRIDE = re.compile(r"(?i)\w*stride\w*|\w*pitch\w*|ld[a-z]?|\w+_ld|ld_\w+")
_DISTANCES = re.compile(r"(?i)(\w*?)_?(?:stride|pitch)\w*")
"""The name of a distance between elements, with what stands before it: often the name of the tensor."""
_RADIX = 12
"""More than any extent that distances between elements are found with."""
_PRIMES = (7, 5, 3, 11, 2, 13, 17, 19)
_ROOMS, _TRACED = {1 << 15: 1 << 18, 1 << 18: 1 << 20, 1 << 20: 1 << 20, 1 << 21: 1 << 21}, 15 << 20
"""Bytes behind a pointer, at first and where they are too few, and between them and those behind the next one; and in
all what the emulator follows.
"""
_BUDGET, _ALL, _LAUNCHES = 3_000_000, 20_000_000, 800
"""Instructions of a launch and of all launches of a kernel, and these launches, before it is given up."""
_FEWER = 4
"""The part of them for a kernel if two others alike were given up."""
_DATA = (1, 0, -3)
"""Values that floating-point tensors are filled with: a kernel may go other ways."""
_FEW, _EXPENSIVE = 16, 300_000
"""Blocks along an axis, and instructions of a launch, from which on no more are tried to see what they do."""
_NUMBER_OF = re.compile(
    r"(?i)nnz|non_?zeros|(?:n_?|num_?|no_?of_?)?(?:nnz|edges?)|(?:nnz|edges?)_?(?:n|num|count|size)?"
)
"""Names of numbers that say how many entries a sparse matrix has, or how many edges a graph."""
_ENTRIES = "nnz"
_SUPPOSED = 4
"""Tensors of a kernel whose elements are bounds, at most."""
_BLOCKS = 512
"""Blocks along an axis that the smallest numbers never need."""
_MUCH = 32 << 10
"""Bytes of dynamic shared memory that are enough for one block of usual size."""
_MOST = 1024
"""Threads that a block may have."""
_FACTORS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16)
_BEHIND = 64
"""The most elements behind a number's."""
_LOOSE = 16
"""The largest factor of a dim that is larger than what was found."""
_AXES = "xyz"
FREE = {"x": "rows", "y": "lines", "z": "batches"}
"""The names of extents that only the grid tells, by its axis."""


@dataclass(frozen=True)
class Given:
    """An argument of a kernel; ``dtype`` is that of a number, or of the elements behind a pointer.

    ``key`` is its place, and the byte in it where it is a field of a structure.
    """

    name: str
    dtype: DType
    is_pointer: bool = False
    key: tuple[int, int] = (0, 0)

    @property
    def is_whole(self) -> bool:
        """True for a whole number that may be an extent."""
        return not self.is_pointer and not self.dtype.is_float and self.dtype.itemsize >= 4


@dataclass(frozen=True)
class Supposed:
    """The use of a tensor of whole numbers: ``offsets`` are where the rows of a sparse matrix begin, of ``bound``
    entries; a ``size`` is a number in memory, at most ``bound``; a ``mask`` is compared with the number ``bound``, or
    with -1 if there is none; an ``order`` has every place among as many as it has elements.
    """

    use: Literal["offsets", "size", "mask", "order"]
    bound: str = ""

    def content(self, count: int, bound: int) -> np.ndarray[Any, Any]:
        """So many elements with which the whole of ``bound`` is reached."""
        if self.use == "offsets":
            return np.minimum(np.arange(count) * -(-bound // 2), bound)
        return np.arange(count) if self.use == "order" else np.full(count, bound if self.bound else -1)


@dataclass(frozen=True)
class _Fill:
    """The content of tensors: those of floating point hold ``real``, of whole numbers ``whole``, and ``one`` of these
    ``value``.
    """

    real: int = 1
    whole: int = 0
    one: str = ""
    value: int = 0


@dataclass(frozen=True)
class Probed:
    """Facts that launches tell of a kernel; expressions are those of declarations.

    ``shapes`` has the dims of each tensor, ``grid`` the blocks along each axis, ``block`` the threads, unless
    ``threads`` says them by a number, ``shared`` bytes. ``whole`` are the tensors of which each element is written.
    ``where`` are conditions under which all of this holds, ``choices`` what numbers are drawn from for that.
    ``indices`` are tensors whose elements are places, and how many of those there are, ``distinct`` those of them that
    have none twice, ``bounds`` tensors whose elements are sizes, and what these are at most. ``loose`` are tensors that
    may be smaller. ``strided`` says that any number of blocks and of threads does. ``distances`` are numbers that are
    strides, and of what, as ``x.strides[0]``.
    """

    shapes: Mapping[str, str]
    grid: tuple[str, ...]
    block: tuple[int, ...]
    threads: str = ""
    shared: str = ""
    where: tuple[str, ...] = ()
    whole: frozenset[str] = frozenset()
    indices: Mapping[str, str] = field(default_factory=dict)
    distinct: frozenset[str] = frozenset()
    bounds: Mapping[str, Supposed] = field(default_factory=dict)
    choices: Mapping[str, str] = field(default_factory=dict)
    loose: tuple[str, ...] = ()
    strided: bool = False
    distances: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> frozenset[str]:
        """The names that its expressions have."""
        dims = itertools.chain(*map(str.split, self.shapes.values()))
        texts = (*self.grid, *self.where, self.threads or "0", self.shared or "0", *dims)
        return frozenset(itertools.chain(*(expression(text).names for text in texts)))


@dataclass(frozen=True)
class _Touched:
    """The reach of a launch behind a pointer, in elements, and the bytes that it read and wrote."""

    end: int
    read: int
    written: int

    @property
    def count(self) -> tuple[int, int]:
        return self.read, self.written


def _likely_blocks(name: str, launches: Iterable[HostLaunch], flow: Flow) -> Iterator[Triple]:
    """The blocks that a kernel may be meant for, the likeliest first: those of the host's launches, of launch bounds,
    of a number that the template has, and usual ones.

    ``name`` is spelled with its template arguments.
    """
    template = [part.strip() for part in name.partition("<")[2].rpartition(">")[0].split(",")]
    found: list[tuple[int, ...]] = []
    for each in launches:
        values = dict(zip(each.template, template, strict=False))
        sizes = [int(size) if (size := str(values.get(str(part), part))).isdecimal() else 0 for part in each.block]
        found.append(tuple(sizes))
    found.append(flow.threads if math.prod(flow.threads) <= _MOST else ())
    numbers = [int(part) for part in template if part.isdecimal()]
    if flow.thread_axes <= {"x"}:
        warps = [(number,) for number in numbers if number and number % 32 == 0]
        found += [*warps, *((number,) for number in (256, 128, 32, 64, 512, 1024))]
    elif "z" in flow.thread_axes:
        found += [(8, 8, 8), (8, 8, 4), (16, 8, 4)]
    else:
        tiles = ((number, number) for number in (*numbers, 16, 32) if number >= 8)
        found += [*itertools.pairwise(numbers), *tiles, (32, 8), (8, 8)]
    whole = ((*sizes, 1, 1, 1)[:3] for sizes in found if sizes)
    yield from dict.fromkeys((x, y, z) for x, y, z in whole if 0 < x * y * z <= _MOST)


@dataclass(frozen=True)
class _Condition:
    """A condition on numbers: all, or ``one``, are multiples of ``unit`` and at most ``limit``; or ``one`` is a
    multiple of ``other``, or, if they ``differ``, larger. If it ``counts``, a block has a thread for each ``unit`` of
    ``one``.
    """

    unit: int = 1
    limit: int = 0
    one: str = ""
    other: str = ""
    differ: bool = False
    counts: bool = False

    @property
    def block(self) -> str:
        """The threads of a block, if a number tells them."""
        return (f"{self.one}//{self.unit}" if self.unit > 1 else self.one) if self.counts else ""

    def met(self, numbers: Numbers) -> dict[str, int]:
        """Numbers for which it holds, made of such for which it may not."""
        found = {name: value * (self.unit if self.one in ("", name) else 1) for name, value in numbers.items()}
        if self.other:
            one, other = found[self.one], found[self.other]
            found[self.one] = one + other if self.differ else one * other
        return found

    def texts(self, names: Iterable[str]) -> tuple[str, ...]:
        """The conditions of a declaration that has these names."""
        if self.other:
            return (f"{self.one} > {self.other}" if self.differ else f"{self.one} % {self.other} == 0",)
        names = self._about(names)
        units = tuple(f"{name} % {self.unit} == 0" for name in names if self.unit > 1)
        return (*units, *(f"{name} <= {self.limit}" for name in names if self.limit))

    def choices(self, names: Iterable[str]) -> Mapping[str, str]:
        """The choices for these names that chance would seldom have."""
        if self.other:
            form = "{other}+{i}" if self.differ else "{i}*{other}"
            several = ", ".join(f'"{form.format(other=self.other, i=i)}"' for i in (1, 2, 7))
            return {self.one: f"({several})"}
        units = str(tuple(self.unit * i for i in ((1, 7, 32, 33, 64, 100) if self.counts else (1, 2, 3, 7))))
        return dict.fromkeys(self._about(names) if self.unit > 4 or self.counts else (), units)

    def _about(self, names: Iterable[str]) -> list[str]:
        return sorted({*names} - {*FREE.values(), "threads"} if not self.one else {*names} & {self.one})


class _GaveUp(Exception):
    """A kernel that cannot be executed, which is said, or needs too many launches."""


class Prober:
    """Executes kernels, one after the other, on one emulated device."""

    def __init__(self) -> None:
        self._hints: dict[object, tuple[Triple, _Condition]] = {}
        self._failures = Counter[object]()
        self._told: dict[object, Probed | str] = {}
        self._device = PtxDevice(traced=True, instruction_budget=_BUDGET, cache=Cache(default_root() / "emulator"))

    def probe(
        self,
        code: CodeObject,
        kernel: str,
        args: Sequence[Given],
        flow: Flow,
        launches: Sequence[HostLaunch] = (),
    ) -> Probed | str:
        """The facts that launches tell, with the first of the likely blocks for which there are any, or why none do.

        Of one kernel in several modules, as of a file that others include, they are told once.

        ``flow`` is what the kernel's PTX shows, ``launches`` are those of the host.
        """
        threads = tuple((each.template, each.block, each.shared) for each in launches)
        own, _, *texts = self._device.parts(code, kernel)  # what the module has beside it makes no difference
        key = own, *texts, tuple(args), threads
        if key not in self._told:
            self._told[key] = self._probed(code, kernel, args, flow, launches)
        return self._told[key]

    def _probed(
        self, code: CodeObject, kernel: str, args: Sequence[Given], flow: Flow, launches: Sequence[HostLaunch]
    ) -> Probed | str:
        is_open = not any(isinstance(size, int) for each in launches for size in each.block)
        name = (spelled(kernel) or (kernel,))[0]
        # Instances of a template are alike: what holds of one is tried first with the next.
        alike = name.partition("<")[0], tuple(each.name for each in args)
        one = _Kernel(self._device, code, kernel, args, flow, is_open, _FEWER if self._failures[alike] >= 2 else 1)
        found: Probed | None = None
        try:
            for block in _likely_blocks(name, launches, flow):
                one.find_distances(block)
                one.suppose(block)
                for condition in one.conditions(block, self._hints.get(alike)):
                    if not one.can_be(block, condition):
                        continue
                    for told in one.told(block, condition):
                        if (each := one.indexed(told, condition)) and not each.loose:
                            self._hints[alike] = block, condition
                            return each
                        if each and (not each.bounds or condition == _Condition()):
                            found = found or each
                if found:
                    break
        except _GaveUp as given_up:
            self._failures[alike] += not found
            return found or str(given_up) or one.reason
        self._failures[alike] += not found
        return found or one.reason


class _Kernel:
    """The launches of one kernel."""

    def __init__(
        self,
        device: PtxDevice,
        code: CodeObject,
        kernel: str,
        args: Sequence[Given],
        flow: Flow,
        is_open: bool,
        share: int,
    ) -> None:
        self._device, self._code, self._kernel, self._args = device, code, kernel, args
        self._axes, self._dynamic, self._uses = tuple(sorted(flow.axes)), flow.dynamic, flow.uses
        self._numbers = [each.name for each in args if each.is_whole]
        self._scattered = {each.name for each in args if each.key in flow.uses and flow.uses[each.key].scattered}
        self._left, self._instructions, self._block, self._cost = _LAUNCHES // share, _ALL // share, "", 0
        self._is_open = is_open and not flow.thread_axes - {"x"}
        self._is_strided = flow.strided and not flow.crosses
        # Without floating-point tensors their content makes no difference.
        self._fills = tuple(map(_Fill, _DATA)) if any(e.is_pointer and e.dtype.is_float for e in args) else (_Fill(),)
        self._layouts: dict[str, _Layout] = {}
        self._fault, self._alone, self._odd = "", set[str](), set[str]()
        self._endless: set[tuple[str, Triple]] = set()
        self._supposed: dict[str, Supposed] | None = None
        self._room, self._places = 0, dict[str, Allocation]()
        self._held = dict[str, object]()
        self._seen: dict[object, dict[str, _Touched] | None] = {}

    @property
    def reason(self) -> str:
        """What launches do not tell."""
        if not any(self._seen.values()):
            return f"no launch of it succeeds: {self._fault}" if self._fault else "no launch of it comes to an end"
        if self._odd:
            return f"launches do not tell how large {_several(self._odd)} {'are' if len(self._odd) > 1 else 'is'}"
        if self._alone:
            return f"no launch comes to what is behind {_several(self._alone)}"
        return "launches do not tell its shapes and its grid"

    def conditions(self, block: Triple, hint: tuple[Triple, _Condition] | None = None) -> Iterator[_Condition]:
        """The conditions that may have to hold of the numbers, the likeliest first: the ``hint`` is that of a kernel
        alike, with its block.
        """
        usual = self._conditions(block)
        if hint and {hint[1].one, hint[1].other} <= {"", *self._numbers}:
            unit = block[0] if hint[1].unit == hint[0][0] else hint[1].unit
            usual = itertools.chain([replace(hint[1], unit=unit)] * (unit == block[0]), usual)
        yield from usual

    def _conditions(self, block: Triple) -> Iterator[_Condition]:
        yield _Condition()
        if not self._axes:
            yield _Condition(limit=math.prod(block))
        for bound in (each.bound for each in (self._supposed or {}).values() if each.use == "offsets"):
            yield _Condition(limit=math.prod(block), one=bound)
        yield _Condition(4)
        units = sorted({block[0], 32} - {1})
        yield from self._multiples(unit for unit in units if unit <= 32)
        if 2 <= len(self._numbers) <= 4:
            for one, other in itertools.permutations(self._numbers, 2):
                yield _Condition(one=one, other=other)
                yield _Condition(one=one, other=other, differ=True)
        if self._is_open:
            for unit, one in itertools.product((1, 4, 8), self._numbers):
                yield _Condition(unit, _MOST * unit, one, counts=True)
        yield from self._multiples(unit for unit in units if unit > 32)

    def _multiples(self, units: Iterable[int]) -> Iterator[_Condition]:
        """The conditions that one of the numbers, or all of them, are multiples of a unit."""
        for unit in units:
            if len(self._numbers) > 1:
                yield from (_Condition(unit, one=name) for name in self._numbers)
            yield _Condition(unit)

    def find_distances(self, block: Triple) -> None:
        """Find the tensors whose strides are numbers of the kernel, and of which extents; these numbers are known then.

        The strides of a tensor are powers of a number that no extent reaches, so that the digits of the last place that
        is touched are the extents. Which tensor they belong to shows where they are doubled.
        """
        groups: dict[str, list[str]] = {}
        for name in self._numbers:
            if match := _DISTANCES.fullmatch(name):
                groups.setdefault(match[1], []).append(name)
        strides = [name for group in groups.values() for name in group]
        if self._layouts or len(strides) < 2 or max(map(len, groups.values())) > 4:
            return
        names = [name for name in self._numbers if name not in strides]
        found = []
        for first, values in enumerate(((7, 5, 3, 11, 2), (3, 7, 11, 2, 5))):
            scope = dict(zip(names, itertools.cycle(values)))
            scope |= {FREE[axis]: 4 + (i + first) % 3 * 2 for i, axis in enumerate(self._axes)}
            found.append(self._layouts_with(scope, groups, block))
        layouts = found[0]
        if (
            layouts
            and layouts == found[1]
            and {name for each in layouts.values() for name in each.strides} == {*strides}
        ):
            self._layouts, self._numbers = layouts, names

    def _layouts_with(
        self, scope: Numbers, groups: Mapping[str, Sequence[str]], block: Triple
    ) -> dict[str, _Layout] | None:
        """The layouts that one choice of numbers shows; None if it has a fault, or digits are no extents."""
        extents = {value: name for name, value in scope.items()}
        strides = {name: _RADIX ** (len(group) - i) for group in groups.values() for i, name in enumerate(group)}
        x, y, z = (scope[FREE[axis]] if axis in self._axes else 1 for axis in _AXES)
        usual = self._touched({**scope, **strides}, (x, y, z), block, 0)
        found = dict[str, _Layout]()
        for group in groups.values():
            twice = {**strides, **{name: 2 * strides[name] for name in group}}
            doubled = self._touched({**scope, **twice}, (x, y, z), block, 0)
            if usual is None or doubled is None:
                return None
            for name, touched in usual.items():
                if doubled[name].end == touched.end:
                    continue
                digits = [(touched.end - 1) // _RADIX**i % _RADIX + 1 for i in range(len(group), -1, -1)]
                dims = [extents.get(digit, "") for digit in digits[: len(group) + (digits[-1] > 1)]]
                if name in found or not all(dims):
                    return None
                found[name] = _Layout(tuple(dims), tuple(group))
        return found

    def _distances(self, numbers: Numbers) -> dict[str, int]:
        """The strides of dense tensors; an extent that only the grid tells is 3 where it is not among the numbers."""
        known = {**dict.fromkeys(FREE.values(), 3), **numbers}
        return {
            stride: math.prod(known[name] for name in layout.dims[i + 1 :])
            for layout in self._layouts.values()
            for i, stride in enumerate(layout.strides)
        }

    def suppose(self, block: Triple) -> None:
        """Find the tensors whose elements are bounds: with the right ones a kernel reaches more.

        What they bound is a number of the kernel's if one is called so, else one more.
        """
        if self._supposed is not None:
            return
        self._supposed = {}
        whole = [each.name for each in self._args if each.is_pointer and not each.dtype.is_float]
        used = {each.name for each in self._args if each.is_pointer and each.key in self._uses}
        reached = self._reached(block) if whole else {}
        single = {name for name in whole if reached.get(name, 0) == 1}
        while len(self._supposed) < _SUPPOSED:
            for name, each in self._suppositions([name for name in whole if name not in self._supposed], single):
                # A size is one only if more is reached with it than with the 1 that all hold at times.
                if each.use != "size" and used <= {name for name, end in reached.items() if end}:
                    continue
                before = dict(self._supposed), self._numbers
                self._supposed[name] = each
                self._numbers = list(dict.fromkeys((*self._numbers, *filter(None, [each.bound]))))
                more = self._reached(block)
                if (
                    any(more[other] > end + 1 for other, end in reached.items())
                    if each.use == "size"
                    else any(more[other] and not end for other, end in reached.items())
                ):
                    reached = more
                    break
                self._supposed, self._numbers = before
            else:
                return

    def _suppositions(self, whole: Sequence[str], single: Collection[str]) -> Iterator[tuple[str, Supposed]]:
        """The uses that tensors of whole numbers may have, the likeliest first; ``single`` have one element."""
        for name in filter(single.__contains__, whole):
            yield name, Supposed("size", f"{name}_most")
        entries = next(filter(_NUMBER_OF.fullmatch, self._numbers), _ENTRIES)
        for name in (name for name in whole if name not in single):
            yield name, Supposed("offsets", entries)
        for name in (name for name in whole if name not in single):
            yield name, Supposed("order")
        for name, number in itertools.product(whole, ("", *self._numbers)):
            yield name, Supposed("mask", number)

    def _reached(self, block: Triple) -> dict[str, int]:
        """The elements that some blocks reach behind each pointer, whatever the content."""
        numbers = self._choices(_Condition(), block)[0]
        x, y, z = (4 if axis in self._axes else 1 for axis in _AXES)
        shared = _MUCH if self._dynamic else 0
        found = {each.name: 0 for each in self._args if each.is_pointer}
        for fill in (*self._fills, _Fill(whole=1)):
            for name, each in (self._touched(numbers, (x, y, z), block, shared, fill) or {}).items():
                found[name] = max(found[name], each.end)
        return found

    def can_be(self, block: Triple, condition: _Condition) -> bool:
        """False if one block alone has a fault under a condition already, or leaves a tensor alone that it may use."""
        self._block = condition.block
        return bool(self._dynamic) or all(self._is_used(each, block) for each in self._choices(condition, block))

    def _is_used(self, numbers: Numbers, block: Triple) -> bool:
        left = {each.name for each in self._args if each.is_pointer and each.key in self._uses}
        for fill in (*self._fills, _Fill(whole=1)):
            if (touched := self._touched(numbers, (1, 1, 1), block, 0, fill)) is None:
                return False
            left -= {name for name, each in touched.items() if each.end}
            if not left:
                return True
        self._alone = left
        return False

    def told(self, block: Triple, condition: _Condition) -> Iterator[Probed]:
        """The facts that launches tell under a condition, the likeliest first."""
        choices = self._choices(condition, block)
        self._block = condition.block
        shared = self._shared(choices, block)
        if shared is None:
            return
        grid: dict[str, str] = {}
        for axis in self._axes:
            counts = [self._needed(axis, choices[0], block, shared, _BLOCKS)]
            if counts[0] is None:
                continue
            counts += [self._needed(axis, each, block, shared, 16 * _BLOCKS) for each in choices[1:]]
            formula = next(self._grids(axis, choices, block, counts), None)
            if formula is None:
                return
            grid[axis] = formula
        free = [axis for axis in self._axes if axis not in grid]
        products = len(free) == 1 and condition.unit > 4
        linked = [["", *self._links(axis, block, products, len(free) == 1)] for axis in free]
        later = []
        for formulas in sorted(itertools.product(*linked), key=lambda each: sum(map(bool, each))):
            if len({*filter(None, formulas)}) < sum(map(bool, formulas)):
                continue
            # A grid of one block, whatever the numbers, says nothing of them.
            if any(max(_value(text, each, block) for each in choices) < 2 for text in formulas if text):
                continue
            whole = {**grid, **{axis: text or FREE[axis] for axis, text in zip(free, formulas, strict=True)}}
            names = [FREE[axis] for axis, text in zip(free, formulas, strict=True) if not text]
            if found := self._shapes(choices, block, whole, names, shared, bool(free)):
                names = sorted(found.names)
                if condition.unit > 1 and not condition.texts(names):
                    continue  # it says nothing that holds without it
                where = (*found.where, *condition.texts(names))
                drawn = condition.choices(names)
                told = replace(found, where=where, choices=drawn, threads=condition.block)
                # A block's threads times the number of blocks may be all that blocks do which have nothing to do.
                dims = " ".join(found.shapes.values()).split()
                in_blocks = bool(free) and any(dim.startswith(f"{math.prod(block)}*") for dim in dims)
                if in_blocks and {*self._numbers} - {*names}:
                    later.append(told)
                else:
                    yield told
        yield from later

    def indexed(self, probed: Probed, condition: _Condition) -> Probed | None:
        """The same with the tensors whose elements are places; None if these lead where no product of numbers does."""
        free = dict.fromkeys(FREE.values(), 3)
        block = _triple(probed.block)
        choices = [{**each, **free} for each in self._choices(condition, block)]
        places = [
            each.name
            for each in self._args
            if each.is_pointer and not each.dtype.is_float and each.name not in (self._supposed or {})
        ]
        shapes, indices, loose, distinct = dict(probed.shapes), dict[str, str](), probed.loose, set[str]()
        for place in places:
            others, firsts = 0, [0] * len(choices)
            several = self._placed(probed, choices, block, place, others, firsts)
            if several and not all(end for run in several for end in (each.end for each in run[-1].values())):
                others = 1  # what a mask leads to is not reached with zeros
                several = self._placed(probed, choices, block, place, others, firsts) or several
            if several is None:
                return None
            led = {name for name in shapes if any(run[2][name].end > run[1][name].end for run in several)}
            behind = None
            if not led:  # it may lead into what is reached as a whole anyway
                firsts = [1 + max(each.end for each in run[0].values()) for run in several]
                behind = self._placed(probed, choices, block, place, others, firsts) or several
                led = {name for name in shapes if any(run[2][name].end > run[1][name].end for run in behind)}
            for name in filter(led.__contains__, shapes):
                reached, steps = [run[0][name].end for run in several], _steps(behind or several, name)
                found: tuple[str, tuple[str, ...]] | None = None
                if steps and not behind:
                    found = _place(reached, steps, choices, self._numbers)
                elif steps and not any(map(operator.mod, reached, steps)):
                    fit = _fit(list(map(operator.floordiv, reached, steps)), choices, self._numbers, is_exact=True)
                    found = ("*".join(fit.dims), tuple(shapes[name].split())) if fit else None
                if found is None:
                    return None
                extent, dims = found
                if indices.setdefault(place, extent or f"{place}_range") != (extent or f"{place}_range"):
                    return None
                shapes[name] = " ".join(dims if extent else (indices[place], *dims))
                loose = tuple(other for other in loose if other != name)
                if name in self._scattered:  # of two threads that write to one place nobody knows which is the last
                    distinct.add(place)
        bounds = self._supposed or {}
        whole = probed.whole if all(each.use in ("offsets", "order") for each in bounds.values()) else frozenset[str]()
        told = replace(
            probed,
            shapes=shapes,
            indices=indices,
            bounds=bounds,
            loose=loose,
            whole=whole,
            distinct=frozenset(distinct),
        )
        return replace(told, strided=self._is_strided and self._fits_any_launch(told, choices[0]))

    def _placed(
        self,
        probed: Probed,
        choices: Sequence[Numbers],
        block: Triple,
        place: str,
        whole: int,
        firsts: Sequence[int],
    ) -> list[list[dict[str, _Touched]]] | None:
        """What is touched with three places in a tensor, from the first on, and ``whole`` in the others, for each
        choice of numbers; None if any has a fault.
        """
        found = []
        for numbers, first in zip(choices, firsts, strict=True):
            grid, shared = _at(probed.grid, numbers), _value(probed.shared or "0", numbers, block)
            fills = (_Fill(1, whole, place, value) for value in range(first, first + 3))
            runs = [self._touched(numbers, grid, block, shared, fill) for fill in fills]
            if not (done := [run for run in runs if run is not None]) or len(done) < 3:
                return None
            found.append(done)
        return found

    def _fits_any_launch(self, probed: Probed, numbers: Numbers) -> bool:
        """True if one thread, or blocks that are no multiple of a warp, touch what this launch does."""
        if probed.grid not in ((), ("1",)) or probed.threads or probed.shared:
            return False
        launches: tuple[tuple[Triple, Triple], ...]
        launches = ((1, 1, 1), _triple(probed.block)), ((1, 1, 1), (1, 1, 1)), ((2, 1, 1), (33, 1, 1))
        touched = [self._touched(numbers, grid, block, 0) for grid, block in launches]
        return touched[0] is not None and all(each == touched[0] for each in touched)

    def _choices(self, condition: _Condition, block: Triple) -> list[dict[str, int]]:
        """Numbers to launch with: small ones, others, and such that one of them is larger than a block."""
        most, names = max(block), self._numbers
        usual = 4 * most + 37 if condition.unit <= 4 else most // condition.unit + 7
        large = condition.limit // condition.unit or usual
        small = dict(zip(names, itertools.cycle(_PRIMES)))
        other = dict(zip(names, itertools.cycle((*_PRIMES[3:], *_PRIMES[:3]))))
        least = dict(zip(names, itertools.cycle((4, 3, 5, 7, 6))))
        chosen = (small, other, *({**least, name: large} for name in names))
        return [condition.met(_far_apart(each)) for each in chosen]

    def _touched(
        self, numbers: Numbers, grid: Triple, block: Triple, shared: int, fill: _Fill = _Fill()
    ) -> dict[str, _Touched] | None:
        """The memory that a launch touches; None if it has a fault."""
        if self._block:
            block = _triple([_value(self._block, numbers, block)])
        key = (tuple(sorted(numbers.items())), grid, block, shared, fill, *(self._supposed or {}).items())
        if key not in self._seen:
            pointers = sum(each.is_pointer for each in self._args)
            self._seen[key] = None
            rooms = [each for each, gap in _ROOMS.items() if (each + gap) * pointers <= _TRACED]
            for room in rooms:
                try:
                    self._seen[key] = self._launched(numbers, grid, block, shared, fill, room)
                    break
                except MemoryFault as fault:
                    self._fault = self._fault or str(fault).splitlines()[0]
                    if fault.buffer not in self._places or not room <= fault.offset < rooms[-1]:
                        break  # more room would not help
        return self._seen[key]

    def _launched(
        self, numbers: Numbers, grid: Triple, block: Triple, shared: int, fill: _Fill, room: int
    ) -> dict[str, _Touched] | None:
        """Raises: MemoryFault: what is behind a pointer is too small."""
        if not self._left or self._instructions < 0:
            raise _GaveUp
        self._left -= 1
        device, places = self._device, self._placed_in(room)
        device.restore(self._code)
        kernel = self._code.kernels[self._kernel]
        segment, held = bytearray(kernel.explicit_bytes), dict[str, object]()
        numbers = {**self._distances(numbers), **numbers}
        # Small whole numbers, which are values or switches, are not all the same.
        others = (each for each in self._args if not each.is_pointer and not each.is_whole)
        small = {each.name: 0.5 if each.dtype.is_float else i for i, each in enumerate(others, 1)}
        for each in self._args:
            if each.is_pointer:
                held[each.name] = self._fill(each, places[each.name], numbers, fill)
                raw = places[each.name].address.to_bytes(8, "little")
            else:
                raw = each.dtype.convert(numbers[each.name] if each.is_whole else small[each.name]).tobytes()
            at = kernel.args[each.key[0]].offset + each.key[1]
            segment[at : at + len(raw)] = raw
        self._held.clear()  # what a launch writes is not known before its end
        try:
            stats = device.launch(
                self._code, self._kernel, grid=grid, block=block, shared_bytes=shared,
                args=bytes(segment),
            )  # fmt: skip
        except (UnknownInstruction, Refused) as error:
            raise _GaveUp(str(error).splitlines()[0]) from error
        except InstructionBudgetExceeded:
            self._instructions -= _BUDGET
            return None
        except MemoryFault:
            raise
        except ParityError as error:
            self._fault = self._fault or str(error).splitlines()[0]
            return None
        self._cost = stats.instructions
        self._instructions -= self._cost
        found = {}
        for each in self._args:
            if each.is_pointer:
                read, written = device.accessed(places[each.name])
                last = np.flatnonzero(read | written)[-1:]
                end = -(-(int(last[0]) + 1) // each.dtype.itemsize) if last.size else 0
                found[each.name] = _Touched(end, int(np.count_nonzero(read)), int(np.count_nonzero(written)))
                if not found[each.name].written:
                    self._held[each.name] = held[each.name]
        return found

    def _placed_in(self, room: int) -> Mapping[str, Allocation]:
        """Memory of so many bytes for each pointer, far from each other; that of the last launch, if it is enough."""
        if self._room != room:
            self._device.reset()
            self._held.clear()
            gaps, places = [], {}
            for each in self._args:
                if each.is_pointer:
                    places[each.name] = self._device.allocate(room, each.name)
                    gaps.append(self._device.allocate(_ROOMS[room], "gap"))
            for gap in gaps:
                self._device.free(gap)
            self._room, self._places = room, places
        return self._places

    def _fill(self, one: Given, place: Allocation, numbers: Numbers, fill: _Fill) -> object:
        """Write the content of a tensor, unless it is there; returns what stands for it."""
        supposed = (self._supposed or {}).get(one.name)
        if supposed:
            content: object = supposed, numbers.get(supposed.bound, 0)
        else:
            usual = fill.real if one.dtype.is_float else fill.whole
            content = fill.value if fill.one == one.name else usual
        if self._held.get(one.name, self) != content:
            count = place.size // one.dtype.itemsize
            values = supposed.content(count, numbers.get(supposed.bound, 0)) if supposed else np.full(count, content)
            self._device.write(place, one.dtype.convert(values))
        return content

    def _shared(self, choices: Sequence[Numbers], block: Triple) -> str | None:
        """The bytes of dynamic shared memory: by threads, by threads and a number, by a number; None if none do."""
        if not self._dynamic:
            return ""
        units = ("threads", *(f"(threads+{name})" for name in self._numbers)) if not self._block else ()
        for text in (f"{factor}*{unit}" for unit in (*units, *self._numbers) for factor in (4, 8, 16)):
            sizes = [_value(text, each, block) for each in choices]
            if max(sizes) <= 48 << 10 and all(
                self._touched(each, (1, 1, 1), block, size) for each, size in zip(choices, sizes, strict=True)
            ):
                return text
        return None

    def _needed(self, axis: str, numbers: Numbers, block: Triple, shared: str, limit: int) -> int | None:
        """The blocks along an axis that touch all that any number of them does; None if more always touch more."""
        bytes_ = _value(shared or "0", numbers, block)

        def counts(count: int) -> list[tuple[int, int]] | None:
            grid = tuple(count if each == axis else 1 for each in _AXES)
            touched = self._touched(numbers, (grid[0], grid[1], grid[2]), block, bytes_)
            return [each.count for each in touched.values()] if touched else None

        count, before, stable = 1, counts(1) if (axis, block) not in self._endless else None, 0
        while before is not None and stable < 2:
            count *= 2
            if count > limit or (count > _FEW and not stable and self._cost > _EXPENSIVE):
                self._endless.add((axis, block))
                return None
            now = counts(count)
            before, stable = now, stable + 1 if now == before else 0
        if before is None:
            return None
        low, high = 1, count // 4
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if counts(middle) == before else (middle + 1, high)
        return low

    def _grids(
        self, axis: str, choices: Sequence[Numbers], block: Triple, counts: Sequence[int | None]
    ) -> Iterator[str]:
        """The expressions that give these numbers of blocks along an axis."""
        if set(counts) == {1}:
            yield "1"
        along, threads = block[_AXES.index(axis)], math.prod(block)
        per_block = dict.fromkeys((along, threads, threads // 32, *(along * i for i in (2, 4, 8)), 8, 16, 32))
        for size in range(1, 6):
            for names in itertools.combinations(self._numbers, size):
                product = "*".join(names)
                for text in (product, *(f"ceil({product}/{each})" for each in per_block if each > 1)):
                    if all(_value(text, each, block) == count for each, count in zip(choices, counts, strict=True)):
                        yield text

    def _links(self, axis: str, block: Triple, products: bool, is_only: bool) -> Iterator[str]:
        """The grids that an axis may have along which nothing is compared with the number of blocks; more of them if it
        ``is_only`` one.
        """
        along = block[_AXES.index(axis)]
        for size in (3, 2) if products else ():
            for names in itertools.combinations(self._numbers, size):
                yield f"ceil({'*'.join(names)}/{along})"
        for name in self._numbers:
            if along > 1:
                yield f"ceil({name}/{along})"
            if along == 1 or is_only:
                yield name
            if is_only and (threads := math.prod(block)) != along:
                yield f"ceil({name}/{threads})"
            if is_only:
                yield f"ceil({name}/{2 * along})"

    def _shapes(
        self,
        choices: Sequence[Numbers],
        block: Triple,
        grid: Mapping[str, str],
        free: Sequence[str],
        shared: str,
        is_exact: bool,
    ) -> Probed | None:
        """The shapes that fit what is touched with this grid, in which ``free`` are extents of their own; if they have
        to be ``exact``, none is larger than what is touched.
        """
        scopes = [{**each, **{name: 2 + i + j for i, name in enumerate(free)}} for j, each in enumerate(choices)]
        blocks = tuple(grid.get(axis, "1") for axis in _AXES)
        names, runs = [*free, *self._numbers], list[dict[str, _Touched]]()
        fits = dict[str, _Fit]()
        places = [(_at(blocks, scope), block, _value(shared or "0", scope, block)) for scope in scopes]
        if is_exact:  # of many grids: whether one kind of data in two launches fits tells it of most
            tried = [self._touched(scope, *place) for scope, place in zip(scopes[:2], places, strict=False)]
            touched = [each for each in tried if each and all(one.end for one in each.values())]
            if None in tried or (
                len(touched) == len(tried)
                and not all(
                    self._fitting(each, touched, scopes, names, block, blocks, True)
                    for each in self._args
                    if each.is_pointer
                )
            ):
                return None
        for count, (scope, place) in enumerate(zip(scopes, places, strict=True), 1):
            run = self._run(scope, *place)
            if run is None:
                return None
            runs.append(run)
            if count in (2, len(scopes)):  # what two choices do not allow, no further ones do
                for each in self._args:
                    fit = self._fitting(each, runs, scopes, names, block, blocks, is_exact) if each.is_pointer else None
                    if each.is_pointer and fit is None:
                        self._odd = self._odd or {each.name}
                        return None
                    if fit:
                        fits[each.name] = fit
        whole = set()
        for each in self._args:
            if not each.is_pointer:
                continue
            fit, size = fits[each.name], each.dtype.itemsize
            if not (fit.loose or fit.where) and all(
                run[each.name].written == run[each.name].end * size for run in runs
            ):
                whole.add(each.name)
        last = max((i for i, text in enumerate(blocks) if text != "1"), default=0)
        dims = tuple(block[: max((i for i in range(3) if block[i] > 1), default=0) + 1])
        distances = {
            stride: f"{name}.strides[{i}]"
            for name, layout in self._layouts.items()
            for i, stride in enumerate(layout.strides)
        }
        return Probed(
            {name: " ".join(fit.dims) for name, fit in fits.items()},
            blocks[: last + 1],
            dims,
            shared=shared,
            where=tuple(dict.fromkeys(fit.where for fit in fits.values() if fit.where)),
            whole=frozenset(whole),
            loose=tuple(name for name, fit in fits.items() if fit.loose),
            distances=distances,
        )

    def _run(self, scope: Numbers, at: Triple, block: Triple, shared: int) -> dict[str, _Touched] | None:
        """What launches with all data touch; None if one has a fault."""
        several = [self._touched(scope, at, block, shared, fill) for fill in self._fills]
        if not (done := [touched for touched in several if touched]) or len(done) < len(several):
            return None
        joined = {name: _joined([touched[name] for touched in done]) for name in done[0]}
        # What is behind a mask of zeros: what else there is may depend on what is no mask, but places.
        if not all(each.end for each in joined.values()):
            more = self._touched(scope, at, block, shared, _Fill(whole=1)) or {}
            joined |= {name: more[name] for name in more if not joined[name].end}
        return joined

    def _fitting(
        self,
        one: Given,
        runs: Sequence[Mapping[str, _Touched]],
        scopes: Sequence[Numbers],
        names: Sequence[str],
        block: Triple,
        blocks: Sequence[str],
        is_exact: bool,
    ) -> _Fit | None:
        """The dims of a tensor that fit what these runs touched of it."""
        scopes, ends = scopes[: len(runs)], [run[one.name].end for run in runs]
        if layout := self._layouts.get(one.name):
            sizes = [math.prod(scope.get(name, 0) for name in layout.dims) for scope in scopes]
            return _Fit(layout.dims) if sizes == ends else None
        if one.key not in self._uses and not any(ends):
            return _Fit(("1",))
        return _fit(ends, scopes, names, block, [text for text in blocks if text.startswith("ceil")], is_exact)


@dataclass(frozen=True)
class _Layout:
    """A tensor whose ``strides``, of its first ``dims``, are numbers of the kernel."""

    dims: tuple[str, ...]
    strides: tuple[str, ...]


@dataclass(frozen=True)
class _Fit:
    """Dims whose product is what was found, or ``loose``: no less."""

    dims: tuple[str, ...]
    loose: bool = False
    where: str = ""


def _fit(
    ends: Sequence[int],
    scopes: Sequence[Numbers],
    names: Sequence[str],
    block: Triple = (1, 1, 1),
    grids: Sequence[str] = (),
    is_exact: bool = False,
) -> _Fit | None:
    """The dims that have these numbers of elements; None if nothing does, or nothing near, unless it is ``exact``."""
    if not any(ends):
        return None
    factors = dict.fromkeys((*_FACTORS, *block, math.prod(block), math.prod(block) // 32))
    products = [
        (chosen, [math.prod([scope[name] for name in chosen]) for scope in scopes])
        for size in range(5)
        for chosen in itertools.combinations_with_replacement(names, size)
    ]
    for chosen, sizes in products:
        factor = ends[0] // max(1, sizes[0])
        if factor in factors and [factor * each for each in sizes] == [*ends]:
            return _Fit(_dims(chosen, factor))
        for more in (1, -1, 2) if len(chosen) == 1 else ():
            if [each + more for each in sizes] == [*ends]:
                return _Fit((f"{chosen[0]}{more:+}",))
    for one, other in itertools.permutations(names, 2):
        for sign, more in itertools.product("+-", (0, -1, 1)):
            text = f"{one}{sign}{other}{f'{more:+}' if more else ''}"
            sums = [scope[one] + (scope[other] if sign == "+" else -scope[other]) + more for scope in scopes]
            if not sums[0] or ends[0] % sums[0]:
                continue
            for chosen, sizes in products:
                is_short = len({*chosen}) == len(chosen) <= (0 if more else 2)
                if is_short and [sum * size for sum, size in zip(sums, sizes, strict=True)] == [*ends]:
                    return _Fit((text, *chosen))
    for name in names:
        behind = {end - scope[name] for end, scope in zip(ends, scopes, strict=True)}
        if len(behind) == 1 and 0 < min(behind) <= _BEHIND and len({*ends}) > 1:
            return _Fit((f"{name}+{min(behind)}",))
    for stride in filter(STRIDE.fullmatch, names):
        for rows, cols in itertools.permutations([name for name in names if name != stride], 2):
            if [(scope[rows] - 1) * scope[stride] + scope[cols] for scope in scopes] == list(ends):
                return _Fit((rows, stride), where=f"{cols} <= {stride}")
    for text in grids:
        if [_value(text, scope, block) for scope in scopes] == list(ends):
            return _Fit((text,))
    if parts := _fit_of_parts(ends, scopes, names, block):
        return parts
    if len({*ends}) == 1 < len(ends):
        return _Fit((str(ends[0]),))
    return None if is_exact else _near(ends, products, [factor for factor in factors if factor <= _LOOSE])


def _dims(chosen: Sequence[str], factor: int) -> tuple[str, ...]:
    """The dims with a product of names, times a number."""
    last = (f"{factor}*{chosen[-1]}" if factor > 1 else chosen[-1]) if chosen else str(factor)
    return (*chosen[:-1], last)


def _near(
    ends: Sequence[int], products: Iterable[tuple[tuple[str, ...], Sequence[int]]], factors: Sequence[int]
) -> _Fit | None:
    """The dims that are the least larger than what was found, at most twice as large."""
    found: tuple[int, _Fit] | None = None
    for chosen, sizes in products:
        if len({*chosen}) < len(chosen):
            continue
        for factor in factors:
            over = factor * sum(sizes) - sum(ends)
            if over > sum(ends) or (found and over >= found[0]):
                continue
            if all(factor * size >= end for size, end in zip(sizes, ends, strict=True)):
                found = over, _Fit(_dims(chosen, factor), loose=True)
    return found[1] if found else None


def _fit_of_parts(ends: Sequence[int], scopes: Sequence[Numbers], names: Sequence[str], block: Triple) -> _Fit | None:
    """The dims of what has an element for each warp, or each block, of a dim."""
    units = dict.fromkeys(size for size in (32, math.prod(block), *block) if size > 1)
    for unit, name in itertools.product(units, names):
        parts = [-(-scope[name] // unit) for scope in scopes]
        for size in range(3 if max(parts) > 1 else 0):
            for chosen in itertools.combinations([other for other in names if other != name], size):
                products = [math.prod(scope[other] for other in chosen) for scope in scopes]
                if [part * product for part, product in zip(parts, products, strict=True)] == list(ends):
                    return _Fit((*chosen, f"ceil({name}/{unit})"))
    return None


def _steps(several: Sequence[Sequence[Mapping[str, _Touched]]], name: str) -> list[int] | None:
    """How many more elements of a tensor each further place reaches; None if that is not always as many."""
    steps = [(run[1][name].end - run[0][name].end, run[2][name].end - run[1][name].end) for run in several]
    return None if any(a != b or a <= 0 for a, b in steps) else [step for step, _ in steps]


def _place(
    firsts: Sequence[int], steps: Sequence[int], scopes: Sequence[Numbers], names: Sequence[str]
) -> tuple[str, tuple[str, ...]] | None:
    """The dim along which places lie, and all dims; if no dim does, nothing, and the dims of what lies at a place.

    ``firsts`` are the elements that are reached with the first place, ``steps`` how many more with each further one.
    """
    pitch = _fit(steps, scopes, names)
    if pitch and not pitch.loose and all(map(operator.le, firsts, steps)):
        return "", () if pitch.dims == ("1",) else pitch.dims
    for size in range(1, 5):
        for chosen in itertools.combinations(names, size):
            for extent in chosen:
                sizes = [math.prod(scope[name] for name in chosen) for scope in scopes]
                last = [a + (scope[extent] - 1) * b for a, b, scope in zip(firsts, steps, scopes, strict=True)]
                if sizes == last:
                    return extent, chosen
    return None


def _joined(several: Sequence[_Touched]) -> _Touched:
    """The most that any of several launches reached, and the least that all of them wrote."""
    ends, reads, writes = zip(*((each.end, each.read, each.written) for each in several), strict=True)
    return _Touched(max(ends), max(reads), min(writes))


def _several(names: Collection[str]) -> str:
    *others, last = sorted(names)
    return f"{', '.join(others)} and {last}" if others else last


def _value(text: str, numbers: Numbers, block: Triple) -> int:
    return int(expression(text)(Scope({**numbers, "threads": math.prod(block)})))


def _far_apart(numbers: Numbers) -> dict[str, int]:
    """The numbers with those that are called strides larger than all others."""
    most = max((value for name, value in numbers.items() if not STRIDE.fullmatch(name)), default=0)
    return {name: value + most * bool(STRIDE.fullmatch(name)) for name, value in numbers.items()}


def _triple(sizes: Sequence[int]) -> Triple:
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


def _at(grid: Sequence[str], numbers: Numbers) -> Triple:
    return _triple([_value(text, numbers, (1, 1, 1)) for text in grid])
