"""The shapes, grid and shared memory of a kernel, from launches with chosen numbers: what it touches tells them.

A kernel is executed on the CPU as nvcc's PTX, each pointer to more memory than it needs, each whole number a small
prime. How far it reaches behind a pointer, with several choices of numbers, is a product of some of them or it is not
known. Along each axis blocks are added until nothing more is touched: their number is that of the grid.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from parity.dsl.expression import Scope, expression
from parity.emulator.ptx import PtxDevice
from parity.inference.conditions import MOST, Condition, likely_blocks, numbers_for
from parity.inference.facts import (
    AXES,
    FREE,
    InferredSpec,
    LaunchArguments,
    Numbers,
    Supposed,
    Triple,
    blocks_of,
    triple,
    value_of,
)
from parity.inference.fits import Fit, fit_dims, fit_places
from parity.inference.grids import counted, linked
from parity.inference.host_launches import HostLaunch
from parity.inference.index_roles import suppositions
from parity.inference.launch_hints import Hosted, hosted, with_formulas
from parity.inference.launching import BUDGET, USUAL, InputFill, Launches, ProbeLimit, Touched, of_several
from parity.inference.ptx_dataflow import Flow
from parity.inference.strides import StrideRule, dense, find_layouts
from parity.model.code_object import CodeObject, source_name
from parity.platform.cache import Cache, default_root

__all__ = ["Prober"]

_FEWER = 4
"""The part of the usual number of launches for a kernel if two others alike were given up."""
_DATA = (1, 0, -3)
"""Values that floating-point tensors are filled with: a kernel may go other ways."""
_FEW, _EXPENSIVE = 16, 300_000
"""Blocks along an axis, and instructions of a launch, from which on no more are tried to see what they do."""
_BLOCKS = 512
"""Blocks along an axis that the smallest numbers never need."""
_MUCH = 32 << 10
"""Bytes of dynamic shared memory that are enough for one block of usual size."""


class Prober:
    """Executes kernels, one after the other, on one emulated device."""

    def __init__(self) -> None:
        self._hints: dict[object, tuple[Triple, Condition]] = {}
        self._failures = Counter[object]()
        self._told: dict[object, InferredSpec | str] = {}
        self._device = PtxDevice(traced=True, instruction_budget=BUDGET, cache=Cache(default_root() / "emulator"))

    def probe(
        self,
        code: CodeObject,
        kernel: str,
        args: Sequence[LaunchArguments],
        flow: Flow,
        launches: Sequence[HostLaunch] = (),
    ) -> InferredSpec | str:
        """The facts that launches tell, with the first of the likely blocks for which there are any, or why none do.

        Of one kernel in several modules, as of a file that others include, they are told once.

        ``flow`` is what the kernel's PTX shows, ``launches`` are those of the host.
        """
        threads = tuple((each.template, each.block, each.shared, each.grid, each.arguments) for each in launches)
        own, _, *texts = self._device.parts(code, kernel)  # what the module has beside it makes no difference
        key = own, *texts, tuple(args), threads
        if key not in self._told:
            self._told[key] = self._probed(code, kernel, args, flow, launches)
        return self._told[key]

    def _probed(
        self, code: CodeObject, kernel: str, args: Sequence[LaunchArguments], flow: Flow, launches: Sequence[HostLaunch]
    ) -> InferredSpec | str:
        is_open = not any(isinstance(size, int) for each in launches for size in each.block)
        name = source_name(kernel)
        # Instances of a template are alike: what holds of one is tried first with the next.
        alike = name.partition("<")[0], tuple(each.name for each in args)
        for host in hosted(name, launches, args, flow):
            if told := self._as_hosted(code, kernel, args, flow, host):
                return told
        one = _Kernel(self._device, code, kernel, args, flow, is_open, _FEWER if self._failures[alike] >= 2 else 1)
        found: InferredSpec | None = None
        try:
            for block in likely_blocks(name, launches, flow):
                one.find_distances(block)
                one.suppose(block)
                for condition in one.conditions(block, self._hints.get(alike)):
                    if not one.can_be(block, condition):
                        continue
                    for told in one.told(block, condition):
                        if (each := one.indexed(told, condition)) and not each.loose:
                            self._hints[alike] = block, condition
                            return one.where_it_may_be_none(each, condition)
                        if each and (not each.bounds or condition == Condition()):
                            found = found or each
                if found:
                    break
        except ProbeLimit as given_up:
            self._failures[alike] += not found
            return found or str(given_up) or one.reason
        self._failures[alike] += not found
        return found or one.reason

    def _as_hosted(
        self, code: CodeObject, kernel: str, args: Sequence[LaunchArguments], flow: Flow, host: Hosted
    ) -> InferredSpec | None:
        """The facts that launches tell with the blocks that the host says, if all of them fit."""
        one = _Kernel(self._device, code, kernel, args, flow, False, _FEWER, host)
        try:
            one.find_distances(host.block)
            one.suppose(host.block)
            for condition in one.conditions(host.block):
                told = one.told_by_host(host, condition) if one.can_be(host.block, condition) else None
                found = one.indexed(told, condition) if told else None
                if found and not found.loose:
                    return one.where_it_may_be_none(found, condition)
        except ProbeLimit:
            pass
        return None


class _Kernel:
    """One kernel: what its launches tell with a block and under a condition."""

    def __init__(
        self,
        device: PtxDevice,
        code: CodeObject,
        kernel: str,
        args: Sequence[LaunchArguments],
        flow: Flow,
        is_open: bool,
        share: int,
        host: Hosted | None = None,
    ) -> None:
        self._args, self._launches = args, Launches(device, code, kernel, args, share)
        self._made = host.made if host else {}
        self._axes, self._dynamic, self._uses = tuple(sorted(flow.axes)), flow.dynamic, flow.uses
        self._numbers = [each.name for each in args if each.is_whole and each.name not in self._made]
        self._scattered = {each.name for each in args if each.key in flow.uses and flow.uses[each.key].scattered}
        self._block = ""
        self._is_open = is_open and not flow.thread_axes - {"x"}
        self._is_strided = flow.strided and not flow.crosses
        # Without floating-point tensors their content makes no difference.
        self._fills = (
            tuple(map(InputFill, _DATA)) if any(e.is_pointer and e.dtype.is_float for e in args) else (InputFill(),)
        )
        self._layouts: dict[str, StrideRule] = {}
        self._alone, self._odd = set[str](), set[str]()
        self._endless: set[tuple[str, Triple]] = set()
        self._supposed: dict[str, Supposed] | None = None

    @property
    def reason(self) -> str:
        """What launches do not tell."""
        if not self._launches.succeeded:
            return (
                f"no launch of it succeeds: {self._launches.fault}"
                if self._launches.fault
                else "no launch of it comes to an end"
            )
        if self._odd:
            return f"launches do not tell how large {_several(self._odd)} {'are' if len(self._odd) > 1 else 'is'}"
        if self._alone:
            return f"no launch comes to what is behind {_several(self._alone)}"
        return "launches do not tell its shapes and its grid"

    def conditions(self, block: Triple, hint: tuple[Triple, Condition] | None = None) -> Iterator[Condition]:
        """The conditions that may have to hold of the numbers, the likeliest first: the ``hint`` is that of a kernel
        alike, with its block.
        """
        usual = self._conditions(block)
        if hint and {hint[1].one, hint[1].other} <= {"", *self._numbers}:
            unit = block[0] if hint[1].unit == hint[0][0] else hint[1].unit
            usual = itertools.chain([replace(hint[1], unit=unit)] * (unit == block[0]), usual)
        yield from usual

    def _conditions(self, block: Triple) -> Iterator[Condition]:
        yield Condition()
        if not self._axes:
            yield Condition(limit=math.prod(block))
        for bound in (each.bound for each in (self._supposed or {}).values() if each.use == "offsets"):
            yield Condition(limit=math.prod(block), one=bound)
        yield Condition(4)
        if 2 <= len(self._numbers) <= 4:
            for one, other in itertools.permutations(self._numbers, 2):
                yield Condition(one=one, other=other)
                yield Condition(one=one, other=other, differ=True)
        units = sorted({block[0], 32} - {1})
        yield from self._multiples(unit for unit in units if unit <= 32)
        if self._is_open:
            for unit, one in itertools.product((1, 4, 8), self._numbers):
                yield Condition(unit, MOST * unit, one, counts=True)
        yield from self._multiples(unit for unit in units if unit > 32)

    def _multiples(self, units: Iterable[int]) -> Iterator[Condition]:
        """The conditions that one of the numbers, or all of them, are multiples of a unit."""
        for unit in units:
            if len(self._numbers) > 1:
                yield from (Condition(unit, one=name) for name in self._numbers)
            yield Condition(unit)

    def find_distances(self, block: Triple) -> None:
        """Find the tensors whose strides are numbers of the kernel, which are known then."""
        if self._layouts:
            return
        self._layouts = find_layouts(
            self._numbers, self._axes, lambda numbers, grid: self._touched(numbers, grid, block, 0)
        )
        strides = {stride for layout in self._layouts.values() for stride in layout.strides}
        self._numbers = [name for name in self._numbers if name not in strides]

    def suppose(self, block: Triple) -> None:
        """Find the tensors whose elements are bounds: with the right ones a kernel reaches more."""
        if self._supposed is not None:
            return

        def reach(supposed: Mapping[str, Supposed], numbers: Sequence[str]) -> dict[str, int]:
            self._supposed, self._numbers = {**supposed}, [*numbers]
            return self._reached(block)

        whole = [each.name for each in self._args if each.is_pointer and not each.dtype.is_float]
        used = {each.name for each in self._args if each.is_pointer and each.key in self._uses}
        self._supposed, self._numbers = suppositions(whole, used, self._numbers, reach)

    def _reached(self, block: Triple) -> dict[str, int]:
        """The elements that some blocks reach behind each pointer, whatever the content."""
        numbers = numbers_for(Condition(), self._numbers, block)[0]
        x, y, z = (4 if axis in self._axes else 1 for axis in AXES)
        shared = _MUCH if self._dynamic else 0
        found = {each.name: 0 for each in self._args if each.is_pointer}
        for fill in (*self._fills, InputFill(whole=1)):
            for name, each in (self._touched(numbers, (x, y, z), block, shared, fill) or {}).items():
                found[name] = max(found[name], each.end)
        return found

    def can_be(self, block: Triple, condition: Condition) -> bool:
        """False if one block alone has a fault under a condition already, or leaves a tensor alone that it may use."""
        self._block = condition.block
        return bool(self._dynamic) or all(self._is_used(each, block) for each in self._choices(condition, block))

    def _choices(self, condition: Condition, block: Triple, grid: Sequence[str] = ()) -> list[dict[str, int]]:
        """Numbers to launch with, of which others are made, and ``grid`` blocks, that there can be."""
        free = dict.fromkeys(FREE.values(), 3)
        return [
            each
            for each in numbers_for(condition, self._numbers, block)
            if min([1, *self._made_of(each).values(), *(blocks_of(grid, {**free, **each}) if grid else ())]) > 0
        ]

    def _is_used(self, numbers: Numbers, block: Triple) -> bool:
        left = {each.name for each in self._args if each.is_pointer and each.key in self._uses}
        for fill in (*self._fills, InputFill(whole=1)):
            if (touched := self._touched(numbers, (1, 1, 1), block, 0, fill)) is None:
                return False
            left -= {name for name, each in touched.items() if each.end}
            if not left:
                return True
        self._alone = left
        return False

    def told(self, block: Triple, condition: Condition) -> Iterator[InferredSpec]:
        """The facts that launches tell under a condition, the likeliest first."""
        choices = numbers_for(condition, self._numbers, block)
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
            formula = next(counted(axis, self._numbers, choices, block, counts), None)
            if formula is None:
                return
            grid[axis] = formula
        free = [axis for axis in self._axes if axis not in grid]
        products = len(free) == 1 and condition.unit > 4
        chosen = [["", *linked(axis, self._numbers, block, products, len(free) == 1)] for axis in free]
        later = []
        for formulas in sorted(itertools.product(*chosen), key=lambda each: sum(map(bool, each))):
            if len({*filter(None, formulas)}) < sum(map(bool, formulas)):
                continue
            # A grid of one block, whatever the numbers, says nothing of them.
            if any(max(value_of(text, each, block) for each in choices) < 2 for text in formulas if text):
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

    def indexed(self, probed: InferredSpec, condition: Condition) -> InferredSpec | None:
        """The same with the tensors whose elements are places; None if these lead where no product of numbers does."""
        free = dict.fromkeys(FREE.values(), 3)
        block = triple(probed.block)
        choices = [{**each, **free} for each in self._choices(condition, block, probed.grid)]
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
                    found = fit_places(reached, steps, choices, self._numbers)
                elif steps and not any(map(operator.mod, reached, steps)):
                    fit = fit_dims(list(map(operator.floordiv, reached, steps)), choices, self._numbers, is_exact=True)
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
        known = {*replace(told, where=()).names, *(each.name for each in self._args if each.is_whole)}
        if any(each.bound and each.bound not in known for each in bounds.values()):
            return None  # no tensor has as many elements as they bound
        return replace(told, strided=self._is_strided and self._fits_any_launch(told, choices[0]))

    def where_it_may_be_none(self, probed: InferredSpec, condition: Condition) -> InferredSpec:
        """The same, with the condition that a number is not 0, where with 0 the kernel touches what is not there."""
        block = triple(probed.block)
        usual = {**dict.fromkeys(FREE.values(), 3), **numbers_for(condition, self._numbers, block)[0]}
        shared = value_of(probed.shared or "0", usual, block)
        where = list(probed.where)
        for name in sorted(probed.names & {*self._numbers}):
            scope = {**usual, name: 0}
            blocks = blocks_of(probed.grid, scope)
            conditions = map(expression, probed.where)
            is_excluded = not all(each(Scope(scope)) for each in conditions if each.names <= {*scope})
            if is_excluded or min([*blocks, *self._made_of(scope).values()]) < 1:
                continue
            touched = self._touched(scope, blocks, block, shared)
            dims = {
                each: expression("*".join(f"({dim})" for dim in text.split())) for each, text in probed.shapes.items()
            }
            sizes = {each: size(Scope(scope)) for each, size in dims.items() if size.names <= {*scope}}
            if touched is None or any(touched[each].end > size for each, size in sizes.items() if each in touched):
                where.insert(0, f"{name} > 0")
        return replace(probed, where=tuple(dict.fromkeys(where)))

    def _placed(
        self,
        probed: InferredSpec,
        choices: Sequence[Numbers],
        block: Triple,
        place: str,
        whole: int,
        firsts: Sequence[int],
    ) -> list[list[dict[str, Touched]]] | None:
        """What is touched with three places in a tensor, from the first on, and ``whole`` in the others, for each
        choice of numbers; None if any has a fault.
        """
        found = []
        for numbers, first in zip(choices, firsts, strict=True):
            grid, shared = blocks_of(probed.grid, numbers), value_of(probed.shared or "0", numbers, block)
            fills = (InputFill(1, whole, place, value) for value in range(first, first + 3))
            runs = [self._touched(numbers, grid, block, shared, fill) for fill in fills]
            if not (done := [run for run in runs if run is not None]) or len(done) < 3:
                return None
            found.append(done)
        return found

    def _fits_any_launch(self, probed: InferredSpec, numbers: Numbers) -> bool:
        """True if one thread, or blocks that are no multiple of a warp, touch what this launch does."""
        if probed.grid not in ((), ("1",)) or probed.threads or probed.shared:
            return False
        launches: tuple[tuple[Triple, Triple], ...]
        launches = ((1, 1, 1), triple(probed.block)), ((1, 1, 1), (1, 1, 1)), ((2, 1, 1), (33, 1, 1))
        touched = [self._touched(numbers, grid, block, 0) for grid, block in launches]
        return touched[0] is not None and all(each == touched[0] for each in touched)

    def _touched(
        self, numbers: Numbers, grid: Triple, block: Triple, shared: int, fill: InputFill = USUAL
    ) -> dict[str, Touched] | None:
        """The memory that a launch touches, with what is known of strides and of content; None if it has a fault."""
        if self._block:
            block = triple([value_of(self._block, numbers, block)])
        numbers = {**dense(self._layouts, numbers), **self._made_of(numbers), **numbers}
        return self._launches.touched(numbers, grid, block, shared, fill, self._supposed or {})

    def _made_of(self, numbers: Numbers) -> dict[str, int]:
        """The values of the numbers that are made of others; an extent that only the grid tells is 3 if not told."""
        scope = {**dict.fromkeys(FREE.values(), 3), **numbers}
        return {name: value_of(text, scope, (1, 1, 1)) for name, text in self._made.items()}

    def told_by_host(self, host: Hosted, condition: Condition) -> InferredSpec | None:
        """The facts that launches tell with the blocks that the host says, under a condition."""
        grid = [with_formulas(text, self._made) for text in host.grid]
        choices = self._choices(condition, host.block, grid)
        if len(choices) < 2:
            return None
        self._block = condition.block
        shared = self._shared(choices, host.block)
        if shared is None:
            return None
        found = self._shapes(
            choices, host.block, dict(zip(AXES, grid, strict=False)), host.free, shared, bool(host.free)
        )
        if not found:
            return None
        names = sorted(found.names)
        if condition.unit > 1 and not condition.texts(names):
            return None
        positive = tuple(f"{text} > 0" for text in self._made.values() if "-" in text)
        return replace(
            found,
            where=(*found.where, *condition.texts(names), *positive),
            choices=condition.choices(names),
            threads=condition.block,
            made=self._made,
        )

    def _shared(self, choices: Sequence[Numbers], block: Triple) -> str | None:
        """The bytes of dynamic shared memory: by threads, by threads and a number, by a number; None if none do."""
        if not self._dynamic:
            return ""
        units = ("threads", *(f"(threads+{name})" for name in self._numbers)) if not self._block else ()
        for text in (f"{factor}*{unit}" for unit in (*units, *self._numbers) for factor in (4, 8, 16)):
            sizes = [value_of(text, each, block) for each in choices]
            if max(sizes) <= 48 << 10 and all(
                self._touched(each, (1, 1, 1), block, size) for each, size in zip(choices, sizes, strict=True)
            ):
                return text
        return None

    def _needed(self, axis: str, numbers: Numbers, block: Triple, shared: str, limit: int) -> int | None:
        """The blocks along an axis that touch all that any number of them does; None if more always touch more."""
        bytes_ = value_of(shared or "0", numbers, block)

        def counts(count: int) -> list[tuple[int, int]] | None:
            grid = tuple(count if each == axis else 1 for each in AXES)
            touched = self._touched(numbers, (grid[0], grid[1], grid[2]), block, bytes_)
            return [each.count for each in touched.values()] if touched else None

        count, before, stable = 1, counts(1) if (axis, block) not in self._endless else None, 0
        while before is not None and stable < 2:
            count *= 2
            if count > limit or (count > _FEW and not stable and self._launches.cost > _EXPENSIVE):
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

    def _shapes(
        self,
        choices: Sequence[Numbers],
        block: Triple,
        grid: Mapping[str, str],
        free: Sequence[str],
        shared: str,
        is_exact: bool,
    ) -> InferredSpec | None:
        """The shapes that fit what is touched with this grid, in which ``free`` are extents of their own; if they have
        to be ``exact``, none is larger than what is touched.
        """
        scopes = [{**each, **{name: 2 + i + j for i, name in enumerate(free)}} for j, each in enumerate(choices)]
        blocks = tuple(grid.get(axis, "1") for axis in AXES)
        names, runs = [*free, *self._numbers], list[dict[str, Touched]]()
        fits = dict[str, Fit]()
        places = [(blocks_of(blocks, scope), block, value_of(shared or "0", scope, block)) for scope in scopes]
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
        return InferredSpec(
            {name: " ".join(fit.dims) for name, fit in fits.items()},
            blocks[: last + 1],
            dims,
            shared=shared,
            where=tuple(dict.fromkeys(fit.where for fit in fits.values() if fit.where)),
            whole=frozenset(whole),
            loose=tuple(name for name, fit in fits.items() if fit.loose),
            distances=distances,
        )

    def _run(self, scope: Numbers, at: Triple, block: Triple, shared: int) -> dict[str, Touched] | None:
        """What launches with all data touch; None if one has a fault."""
        several = [self._touched(scope, at, block, shared, fill) for fill in self._fills]
        if not (done := [touched for touched in several if touched]) or len(done) < len(several):
            return None
        joined = {name: of_several([touched[name] for touched in done]) for name in done[0]}
        # What is behind a mask of zeros: what else there is may depend on what is no mask, but places.
        if not all(each.end for each in joined.values()):
            more = self._touched(scope, at, block, shared, InputFill(whole=1)) or {}
            joined |= {name: more[name] for name in more if not joined[name].end}
        return joined

    def _fitting(
        self,
        one: LaunchArguments,
        runs: Sequence[Mapping[str, Touched]],
        scopes: Sequence[Numbers],
        names: Sequence[str],
        block: Triple,
        blocks: Sequence[str],
        is_exact: bool,
    ) -> Fit | None:
        """The dims of a tensor that fit what these runs touched of it."""
        scopes, ends = scopes[: len(runs)], [run[one.name].end for run in runs]
        if layout := self._layouts.get(one.name):
            sizes = [math.prod(scope.get(name, 0) for name in layout.dims) for scope in scopes]
            return Fit(layout.dims) if sizes == ends else None
        if one.key not in self._uses and not any(ends):
            return Fit(("1",))
        return fit_dims(ends, scopes, names, block, [text for text in blocks if text.startswith("ceil")], is_exact)


def _steps(several: Sequence[Sequence[Mapping[str, Touched]]], name: str) -> list[int] | None:
    """How many more elements of a tensor each further place reaches; None if that is not always as many."""
    steps = [(run[1][name].end - run[0][name].end, run[2][name].end - run[1][name].end) for run in several]
    return None if any(a != b or a <= 0 for a, b in steps) else [step for step, _ in steps]


def _several(names: Collection[str]) -> str:
    *others, last = sorted(names)
    return f"{', '.join(others)} and {last}" if others else last
