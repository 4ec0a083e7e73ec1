"""Infers shapes, grid and shared memory of kernels from launches on the CPU.

A kernel runs as nvcc's PTX on the emulator. Each pointer leads to more memory than the kernel needs, and each integer
is a small prime. How far the kernel reaches behind a pointer, for several choices of numbers, is a product of some of
them, or remains unknown. Along each axis, blocks are added until launches access nothing more.

The steps are functions from an immutable ``Experiment`` and a specification to a more detailed one:

1. ``with_strides`` and ``with_roles`` find the arguments that are strides, and the tensors whose elements are bounds.
2. ``candidate_conditions`` yields conditions on the numbers.
3. ``hinted_spec`` (with the grid of the host's code) or ``candidate_specs`` infer the grid and the shapes.
4. ``with_indices`` finds the tensors whose elements are positions.
5. ``with_positive_numbers`` excludes zero where it leads out of bounds.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from parity.emulator.ptx.device import PtxDevice
from parity.errors import UsageError
from parity.inference.conditions import (
    LDS_BYTES,
    Condition,
    constant_shared,
    credible_blocks,
    likely_blocks,
    numbers_for,
)
from parity.inference.data_flow import Flow
from parity.inference.experiment import GRID_DEFAULTS, Experiment, ProbeLog
from parity.inference.grid_inference import candidate_specs, hinted_spec
from parity.inference.host_launches import HostLaunch
from parity.inference.hypotheses import candidate_conditions, is_plausible, with_roles, with_strides
from parity.inference.index_inference import with_indices, with_positive_numbers
from parity.inference.kernel_time_limit import TimeLimit
from parity.inference.launch_hints import launch_hints
from parity.inference.measured import has_given_block, measured_spec
from parity.inference.probe_launches import BUDGET, LARGE_BUDGET, InputFill, ProbeLaunches, ProbeLimit
from parity.inference.signature import constant_content
from parity.inference.spec import (
    ALWAYS_FAULTS,
    CONSTANT,
    FOLLOWS,
    RACES,
    InferredSpec,
    KernelArgument,
    Triple,
    evaluate,
    grid_for,
    holds,
    triple,
)
from parity.inference.strides import strides_of_structures
from parity.model.code_object import CodeObject, source_name
from parity.model.dtypes import Array
from parity.platform.cache import Cache, default_root

_SHARE, _FAILURES = 4, 2
"""Divisor of the usual limits for each hint, and for a kernel after this number of similar kernels failed."""
_BLOCKS = 3
"""Blocks to measure a kernel with."""
_Ends = tuple[Mapping[str, int], ...]
"""How many elements of each tensor launches reach."""
_NO_LAUNCH = "no launch of it comes to an end"
_MOST_SEARCHED = 12
"""The largest number of integers of a kernel to search formulas for. For more, the search does not end in time."""
_UNEXPLAINED = 3
"""Integers that nothing depends on, from which on too little is known of a kernel to declare it."""


@dataclass(frozen=True)
class ProbedKernel:
    """A kernel of a module by its symbol, with its arguments, its data flow, and its launches in host code.

    ``limits`` are values that numbers may not exceed, such as the tile of a Triton kernel. ``usual`` are numbers
    for a single launch. With ``lds_races``, launches continue after a data race in shared memory. With ``unset``,
    arguments of one byte are 0. Integers in ``__constant__`` variables are ``constant``. ``near`` are blocks of
    other kernels, for a kernel that no host code launches.
    """

    code: CodeObject
    symbol: str
    args: Sequence[KernelArgument]
    flow: Flow
    launches: Sequence[HostLaunch] = ()
    limits: tuple[int, ...] = ()
    usual: Mapping[str, int] = field(default_factory=dict)
    lds_races: bool = False
    unset: bool = False
    constant: int = CONSTANT
    near: tuple[Triple, ...] = ()

    @property
    def name(self) -> str:
        """The name with template arguments."""
        return source_name(self.symbol)


class Prober:
    """Infers specifications of kernels on an emulated device.

    ``limit`` is the time for each kernel. Each search uses at most half of what is left of it.
    """

    def __init__(self, limit: TimeLimit | None = None) -> None:
        self.limit = limit or TimeLimit()
        self._deadline = math.inf
        self._hints: dict[object, tuple[Triple, Condition]] = {}
        self._failures = Counter[object]()
        self._results: dict[object, InferredSpec | str] = {}
        self._measured: dict[object, InferredSpec | str] = {}
        self._whole: dict[object, frozenset[str]] = {}
        self._similar: dict[object, tuple[InferredSpec, _Ends]] = {}
        cache = Cache(default_root() / "emulator")
        self._devices = {
            budget: PtxDevice(traced=True, instruction_budget=budget, cache=cache) for budget in (BUDGET, LARGE_BUDGET)
        }

    def probe(self, kernel: ProbedKernel) -> InferredSpec | str:
        """Return what launches show of a kernel with the first likely block that works, or why they show nothing.

        A kernel that occurs in several modules, because they include the same file, is probed once.
        """
        key = self._key(kernel)
        if key not in self._results:
            self._deadline = self.limit.deadline()
            self._results[key] = self._despite_race(kernel, self._explained)
        return self._results[key]

    def _despite_race(
        self, kernel: ProbedKernel, find: Callable[[ProbedKernel], InferredSpec | str]
    ) -> InferredSpec | str:
        """Return what ``find`` returns. If that is a race, find out the rest from launches that continue after it."""
        found = find(kernel)
        if isinstance(found, str) and found.startswith(RACES) and not kernel.lds_races:
            self._deadline = self.limit.deadline()
            rest = find(replace(kernel, lds_races=True))
            return replace(rest, race=found) if isinstance(rest, InferredSpec) else found
        return found

    def _explained(self, kernel: ProbedKernel) -> InferredSpec | str:
        if kernel.flow.dynamic and (least := min(constant_shared(kernel.launches), default=0)) > LDS_BYTES:
            return f"the host launches it with {least} bytes of shared memory, and most AMD GPUs have {LDS_BYTES}"
        return self._like_similar(kernel) or self._probed(kernel)

    def _key(self, kernel: ProbedKernel) -> tuple[object, ...]:
        """Return what determines the launches of a kernel. The rest of its module does not matter."""
        geometries = tuple(
            (each.template, each.block, each.threads, each.shared, each.grid, each.arguments, *each.constants.items())
            for each in kernel.launches
        )
        own, _, *texts = self._devices[BUDGET].parts(kernel.code, kernel.symbol)
        known = geometries, kernel.near, kernel.limits, tuple(kernel.usual.items()), kernel.lds_races
        return own, *texts, tuple(kernel.args), *known

    def _ended(self) -> str:
        """Return that the time is over, or an empty string."""
        return self.limit.spent if self.limit.clock() > self._deadline else ""

    def _probed(self, kernel: ProbedKernel) -> InferredSpec | str:
        found = self._hinted(kernel) or self._searched(kernel)
        if not _is_explained(kernel, found):
            measured = self.measure(kernel)
            # Numbers that do not fit together may cause a race. Those of a single launch fit better.
            found = measured or (_NO_LAUNCH if isinstance(found, str) and found.startswith(RACES) else found)
        if isinstance(found, InferredSpec) and not found.is_measured:
            found = self._with_optional(kernel, found)
        if isinstance(found, InferredSpec) and (ends := self._ends(kernel, found)):
            self._similar[_similarity(kernel)] = found, ends
        return found

    def _like_similar(self, kernel: ProbedKernel) -> InferredSpec | None:
        """Return the specification of another instance of the same template, if launches access the same elements."""
        known, ends = self._similar.get(_similarity(kernel), (None, None))
        return known if known and self._ends(kernel, known) == ends else None

    def _with_optional(self, kernel: ProbedKernel, spec: InferredSpec) -> InferredSpec:
        """Add the inputs that the kernel compares with null, if launches without them and without each succeed."""
        names = frozenset(each.name for each in kernel.args if each.is_nullable)
        ends = self._ends(kernel, spec, nulls=True) if names else ()
        return replace(spec, optional=names) if ends and all(ends) else spec

    def _ends(self, kernel: ProbedKernel, spec: InferredSpec, *, nulls: bool = False) -> _Ends:
        """Return how many elements a few launches under a specification reach. Empty if they show too little.

        With ``nulls``, these are launches with null pointers.
        """
        experiment = replace(self._experiment(kernel, spec.made, share=_SHARE), roles=spec.roles, threads=spec.threads)
        if spec.distances:
            return ()
        block, found = triple(spec.block), list[Mapping[str, int]]()
        try:
            for numbers in numbers_for(Condition(), experiment.numbers, block):
                scope = {**GRID_DEFAULTS, **numbers, "threads": math.prod(block)}
                if not holds(spec.where, scope):
                    continue
                shared = evaluate(spec.shared or "0", numbers, block)
                for fill in experiment.null_fills if nulls else (*experiment.fills[:1], InputFill(whole=1)):
                    run = experiment.observe(numbers, grid_for(spec.grid, scope), block, shared, fill)
                    found.append({name: each.end for name, each in run.items()} if run else {})
        except (ProbeLimit, UsageError):
            return ()
        return tuple(found) if any(found) else ()

    def measure(self, kernel: ProbedKernel) -> InferredSpec | str:
        """Return the specification of a single launch, for a kernel without an explanation.

        If a launch has a data race, return the race. Otherwise, the text is empty if no launch shows anything.
        """
        key = self._key(kernel)
        if key not in self._measured:
            self._measured[key] = self._despite_race(kernel, self._measure)
        return self._measured[key]

    def _measure(self, kernel: ProbedKernel) -> InferredSpec | str:
        self._deadline = self.limit.deadline()
        blocks = [*itertools.islice(likely_blocks(kernel.name, kernel.launches, kernel.flow, kernel.near), _BLOCKS)]
        experiment = self._experiment(kernel, {}, share=1, budget=LARGE_BUDGET, grows=True)
        hints = [*launch_hints(kernel.name, kernel.launches, kernel.args, kernel.flow)]
        spec = measured_spec(experiment, blocks, kernel.launches, kernel.usual, hints)
        flags = [each.name for each in kernel.args if each.is_flag]
        if not spec and flags and not kernel.unset and experiment.launches.trapped:
            found = self._measure(replace(kernel, unset=True))
            return replace(found, unset=frozenset(flags)) if isinstance(found, InferredSpec) else found
        if not spec and kernel.flow.tables and kernel.constant > 1:
            found = self._measure(replace(kernel, constant=1))
            return replace(found, constant=1) if isinstance(found, InferredSpec) else found
        return self._with_optional(kernel, spec) if spec else experiment.launches.race

    def with_written(self, kernel: ProbedKernel, spec: InferredSpec) -> InferredSpec:
        """Add which tensors the launch of a specification writes completely, if it can be executed.

        Nothing is added for tensors that are too large to trace.
        """
        key = *self._key(kernel), *spec.shapes.items(), *spec.made.items(), *spec.grid
        if key not in self._whole:
            self._whole[key] = self._written_whole(
                replace(kernel, lds_races=bool(spec.race), constant=spec.constant), spec
            )
        return replace(spec, whole=self._whole[key])

    def _written_whole(self, kernel: ProbedKernel, spec: InferredSpec) -> frozenset[str]:
        self._deadline = self.limit.deadline()
        experiment = self._experiment(kernel, spec.made, share=1, budget=LARGE_BUDGET)
        numbers = {each.name: int(spec.made[each.name]) for each in kernel.args if each.is_whole}
        try:
            runs = [
                experiment.observe(numbers, grid_for(spec.grid, {}), triple(spec.block), 0, fill)
                for fill in (InputFill(), InputFill(whole=1))
            ]
        except ProbeLimit:
            return frozenset()
        return frozenset(
            each.name for each in experiment.pointers
            if all(run and run[each.name].written == int(spec.shapes[each.name]) * each.dtype.itemsize for run in runs)
        )  # fmt: skip

    def _hinted(self, kernel: ProbedKernel) -> InferredSpec | None:
        """Return the specification for the grid of a launch in host code, if it explains all accesses."""
        for hint in launch_hints(kernel.name, kernel.launches, kernel.args, kernel.flow):
            experiment = replace(self._experiment(kernel, hint.made, share=_SHARE), threads=hint.threads)
            try:
                experiment = with_roles(with_strides(experiment, hint.block), hint.block)
                for condition in candidate_conditions(
                    experiment, hint.block, is_open=False, grid=hint.grid, threads=hint.threads
                ):
                    if not is_plausible(experiment, hint.block, condition):
                        continue
                    spec = hinted_spec(experiment, hint, condition)
                    found = with_indices(experiment, spec, condition) if spec else None
                    if found and not found.loose:
                        return with_positive_numbers(experiment, found, condition)
            except (ProbeLimit, UsageError):  # the latter: a formula of the host divides by zero
                pass
        return None

    def _searched(self, kernel: ProbedKernel) -> InferredSpec | str:
        """Return the specification for the first likely block that works, or the reason why none does."""
        # Instances of a template are similar: the next one is tried first with the same block and condition.
        similar = _similarity(kernel)
        is_open = not has_given_block(kernel.launches)
        experiment = self._experiment(kernel, {}, share=_SHARE if self._failures[similar] >= _FAILURES else 1)
        found: InferredSpec | None = None
        limit = ""
        try:
            for block in likely_blocks(kernel.name, kernel.launches, kernel.flow, kernel.near):
                experiment = with_roles(with_strides(experiment, block), block)
                if len(experiment.numbers) > _MOST_SEARCHED:
                    break
                hint = self._hints.get(similar)
                for condition in candidate_conditions(experiment, block, is_open=is_open, hint=hint):
                    if not is_plausible(experiment, block, condition):
                        continue
                    for candidate in candidate_specs(experiment, block, condition):
                        spec = with_indices(experiment, candidate, condition)
                        if spec and not spec.loose:
                            self._hints[similar] = block, condition
                            return with_positive_numbers(experiment, spec, condition)
                        if spec and (not spec.roles or condition == Condition()):
                            found = found or with_positive_numbers(experiment, spec, condition)
                if found:
                    break
        except ProbeLimit as error:
            limit = str(error)
        self._failures[similar] += not found
        return found or (f"{_reason(experiment)}; {limit}" if limit else _reason(experiment))

    def _experiment(
        self, kernel: ProbedKernel, made: Mapping[str, str], *, share: int, budget: int = BUDGET, grows: bool = False
    ) -> Experiment:
        formulas = {**strides_of_structures(kernel.args, kernel.flow.segments), **made}
        numbers = tuple(each.name for each in kernel.args if each.is_whole and each.name not in formulas)
        launches = ProbeLaunches(
            self._devices[budget], kernel.code, kernel.symbol, kernel.args, share, self._ended, budget,
            dict(_constants(kernel.flow, kernel.constant)),
            None if made else credible_blocks(kernel.name, kernel.launches, kernel.flow),
            grows=grows, lds_races=kernel.lds_races, unset=kernel.unset,
            holders={place: source_name(symbol) for place, (symbol, _) in kernel.flow.holders.items()},
        )  # fmt: skip
        return Experiment(kernel.args, kernel.flow, launches, ProbeLog(), numbers, formulas, limits=kernel.limits)


def _similarity(kernel: ProbedKernel) -> object:
    """Return what instances of a template have in common, and kernels of the same name for other types."""
    return kernel.name.partition("<")[0], tuple(each.name for each in kernel.args)


def _is_explained(kernel: ProbedKernel, found: InferredSpec | str) -> bool:
    """Return False without a specification, or if it says nothing about several numbers."""
    if isinstance(found, str):
        return False
    known = {*found.names, *found.distances, *found.made}
    return sum(each.is_whole and each.name not in known for each in kernel.args) < _UNEXPLAINED


def _reason(experiment: Experiment) -> str:
    """Return what launches do not show."""
    launches, log = experiment.launches, experiment.log
    if not launches.succeeded:
        if launches.race:
            return launches.race
        if launches.fault and launches.before:
            return f"{ALWAYS_FAULTS}: {launches.fault}"
        if experiment.flow.indirect:
            return f"{FOLLOWS}; {launches.fault}" if launches.fault else FOLLOWS
        return f"no launch of it succeeds: {launches.fault}" if launches.fault else _NO_LAUNCH
    if log.unexplained:
        return f"{_missing(log.unexplained)}: no formula explains it"
    if log.unreached:
        return f"{_missing(log.unreached)}: no launch accesses {'them' if len(log.unreached) > 1 else 'it'}"
    return f"the number of blocks and {_missing({each.name for each in experiment.pointers})}: no formula explains both"


def _missing(tensors: Collection[str]) -> str:
    return f"the number of elements of {_listed(tensors)} is missing"


def _listed(names: Collection[str]) -> str:
    *others, last = sorted(names)
    return f"{', '.join(others)} and {last}" if others else last


def _constants(flow: Flow, integer: int) -> Iterator[tuple[str, Array]]:
    """Yield the symbols of constants with their contents, in which integers are ``integer``."""
    for symbol, table in flow.tables.items():
        if (content := constant_content(table, integer)) is not None:
            yield source_name(symbol), content
