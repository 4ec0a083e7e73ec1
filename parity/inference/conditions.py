"""Candidates for the block of a kernel, and conditions on its numbers."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from parity.compilers.targets import DEFAULT_TARGETS, target
from parity.dsl.expression import expression
from parity.inference.data_flow import Flow
from parity.inference.host_launches import HostLaunch
from parity.inference.spec import GRID_EXTENTS, STRIDE, InferredSpec, Numbers, Triple
from parity.model.launch import WARP, WARP_SIZE
from parity.porting import template_arguments

MAX_THREADS = 1024
"""Threads of a block at most."""
MAX_SHARED = 48 << 10
"""Bytes of dynamic shared memory of a launch at most."""
LDS_BYTES = min(target(name).lds_bytes for name in DEFAULT_TARGETS)
"""Shared memory of a block on AMD GPUs: more is possible on CUDA's side only."""
_MOST_NEAR = 2
"""Blocks of other kernels to try."""
_UNKNOWN = 8
"""Threads along an axis for which the host computes the number of threads, if another axis has a constant."""
_PRIMES = (7, 5, 3, 11, 2, 13, 17, 19)


def blocks_for_alike(launches: Iterable[HostLaunch], axes: Collection[str]) -> tuple[Triple, ...]:
    """Return the usual constant blocks in launches of other kernels, with threads along ``axes`` only."""
    given = ((*sizes, 1, 1)[:3] for sizes in _given((), launches))
    wanted = [axis in axes for axis in "xyz"]
    found = Counter((x, y, z) for x, y, z in given if [size > 1 for size in (x, y, z)] == wanted)
    return tuple(block for block, _ in found.most_common(_MOST_NEAR))


def likely_blocks(
    name: str, launches: Iterable[HostLaunch], flow: Flow, near: Iterable[Triple] = ()
) -> Iterator[Triple]:
    """Yield blocks that a kernel may be meant for, the most likely first.

    Candidates come from host code, launch bounds, ``near``, which are blocks of other kernels in the same file, and
    the template's arguments in ``name``. Usual blocks follow. A kernel whose warps exchange values and have several
    axes gets whole warps along x, unless the host has others.
    """
    if flow.fixed:
        x, y, z = (*flow.threads, 1, 1)[:3]
        yield x, y, z
        return
    template = template_arguments(name)
    found = [
        tuple(size or _UNKNOWN for size in sizes) for sizes in _given(template, launches) if max(sizes, default=0) > 1
    ]
    found.append(flow.threads if math.prod(flow.threads) <= MAX_THREADS else ())
    found += near
    numbers = [int(part) for part in template if part.isdecimal()]
    found += [] if flow.thread_axes else [(1,)]  # all threads would do the same
    if flow.thread_axes <= {"x"}:
        warps = [(number,) for number in numbers if number and number % 32 == 0]
        small = [(number,) for number in numbers if 0 < number < 32]
        found += [*warps, (256,), *small, *((number,) for number in (128, 32, 64, 512, 1024))]
    elif "z" in flow.thread_axes:
        found += [(8, 8, 8), (8, 8, 4), (16, 8, 4)]
    else:
        tiles = ((number, number) for number in (*numbers, 16, 32) if number >= 8)
        found += [*itertools.pairwise(numbers), *tiles, (32, 8), (8, 8)]
    whole = ((*sizes, 1, 1, 1)[:3] for sizes in found if sizes)
    usual = dict.fromkeys((x, y, z) for x, y, z in whole if 0 < x * y * z <= MAX_THREADS)
    if flow.crosses and not flow.thread_axes <= {"x"}:
        stated = {(*sizes, 1, 1, 1)[:3] for sizes in _given(template, launches)}
        usual = dict.fromkeys(each for each in usual if not each[0] % WARP or each in stated) or usual
    yield from usual


def credible_blocks(name: str, launches: Sequence[HostLaunch], flow: Flow) -> frozenset[Triple] | None:
    """Return the blocks with which a data race shows a mistake of the kernel. None for any block.

    These are the constant blocks of the host's code. If it computes all blocks, none is credible for a kernel that
    divides dynamic shared memory into parts of computed sizes. Without any launch, none is credible for a kernel whose
    blocks have several axes.
    """
    given = filter(None, _given(template_arguments(name), launches))  # launches of Triton kernels state no block
    blocks = {(x, y, z) for x, y, z in ((*sizes, 1, 1)[:3] for sizes in given) if x * y * z}
    is_open = flow.dynamic if launches else len(flow.thread_axes) > 1
    is_any = flow.fixed or not (blocks or is_open)
    return None if is_any else frozenset(blocks)


def constant_shared(launches: Iterable[HostLaunch]) -> list[int]:
    """Return the bytes of dynamic shared memory of the launches in which they are constant."""
    return [int(each.shared) for each in launches if each.shared.isdecimal()]


def _given(template: Sequence[str], launches: Iterable[HostLaunch]) -> Iterator[tuple[int, ...]]:
    """Yield the threads along each axis of the host's blocks, 0 for what the host computes."""
    for each in launches:
        values = {**dict(zip(each.template, template, strict=False)), WARP_SIZE: str(WARP)}
        yield tuple(int(size) if (size := str(values.get(str(part), part))).isdecimal() else 0 for part in each.block)


@dataclass(frozen=True)
class Condition:
    """A condition on numbers.

    Without ``other``, all numbers, or only ``one``, are multiples of ``unit`` and at most ``limit``. With ``other``,
    which is a multiple of ``unit``, ``one`` is a multiple of it or, if they ``differ``, larger. If ``counts`` is set, a
    block has one thread for each ``unit`` of ``one``.
    """

    unit: int = 1
    limit: int = 0
    one: str = ""
    other: str = ""
    differ: bool = False
    counts: bool = False

    @property
    def block(self) -> str:
        """The formula for the threads of a block, if a number determines them."""
        return (f"{self.one}//{self.unit}" if self.unit > 1 else self.one) if self.counts else ""

    def enforce(self, numbers: Numbers) -> dict[str, int]:
        """Change numbers so that the condition holds."""
        unit_of = self.other or self.one
        found = {name: value * (self.unit if unit_of in ("", name) else 1) for name, value in numbers.items()}
        if self.other:
            one, other = found[self.one], found[self.other]
            found[self.one] = one + other if self.differ else one * other
        return found

    def texts(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the ``where`` conditions of a declaration that uses these names."""
        if self.other:
            if self.differ:
                return (f"{self.one} > {self.other}",)
            multiple = (f"{self.other} % {self.unit} == 0",) if self.unit > 1 else ()
            return f"{self.other} > 0", *multiple, f"{self.one} % {self.other} == 0"
        names = self._affected(names)
        units = tuple(f"{name} % {self.unit} == 0" for name in names if self.unit > 1)
        return (*units, *(f"{name} <= {self.limit}" for name in names if self.limit))

    def choices(self, names: Iterable[str]) -> Mapping[str, tuple[str | int, ...]]:
        """Return values to draw from, for names whose random values would seldom satisfy the condition."""
        if self.other:
            form = "{other}+{i}" if self.differ else "{i}*{other}"
            values = {self.one: tuple(form.format(other=self.other, i=i) for i in (1, 2, 7))}
            multiples = tuple(self.unit * i for i in (1, 2, 3, 7, 33, 100))
            return {self.other: multiples, **values} if self.unit > 1 else values
        units = tuple(self.unit * i for i in ((1, 7, 32, 33, 64, 100) if self.counts else (1, 2, 3, 7)))
        return dict.fromkeys(self._affected(names) if self.unit > 4 or self.counts else (), units)

    def _affected(self, names: Iterable[str]) -> list[str]:
        return sorted({*names} - {*GRID_EXTENTS.values(), "threads"} if not self.one else {*names} & {self.one})


def in_whole_warps(spec: InferredSpec, *, blocks: bool) -> InferredSpec:
    """Return a specification in which the numbers of threads are multiples of a warp, or of a block.

    These are the numbers that determine the grid, or else all numbers.
    """
    used = {name for text in spec.grid for name in expression(text).names}
    names = sorted(used - {*GRID_EXTENTS.values(), "threads"}) or sorted(spec.names)
    condition = Condition(math.prod(spec.block) if blocks and not spec.threads else WARP)
    choices = {**spec.choices, **condition.choices(names)}
    return replace(spec, where=tuple(dict.fromkeys((*spec.where, *condition.texts(names)))), choices=choices)


def numbers_for(condition: Condition, names: Sequence[str], block: Triple) -> list[dict[str, int]]:
    """Return choices of numbers to launch with: small, different, and larger than a block."""
    most = max(block)
    usual = 4 * most + 37 if condition.unit <= 4 else most // condition.unit + 7
    large = condition.limit // condition.unit or usual
    small = dict(zip(names, itertools.cycle(_PRIMES)))
    other = dict(zip(names, itertools.cycle((*_PRIMES[3:], *_PRIMES[:3]))))
    least = dict(zip(names, itertools.cycle((4, 3, 5, 7, 6))))
    chosen = (small, other, *({**least, name: large} for name in names))
    return [condition.enforce(_with_large_strides(each)) for each in chosen]


def _with_large_strides(numbers: Numbers) -> dict[str, int]:
    """Make the numbers whose names suggest strides larger than all others."""
    most = max((value for name, value in numbers.items() if not STRIDE.fullmatch(name)), default=0)
    return {name: value + most * bool(STRIDE.fullmatch(name)) for name, value in numbers.items()}
