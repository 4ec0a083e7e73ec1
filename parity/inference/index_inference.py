"""Infers which integer tensors hold positions in other tensors, and which numbers may not be zero."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace

from parity.dsl.expression import Scope, expression
from parity.errors import UsageError
from parity.inference.conditions import Condition, numbers_for
from parity.inference.experiment import GRID_DEFAULTS, Experiment
from parity.inference.probe_launches import InputFill, Observation
from parity.inference.shape_formulas import fit_dims, fit_positions
from parity.inference.spec import InferredSpec, Numbers, Triple, evaluate, grid_for, holds, triple


@dataclass(frozen=True)
class _Runs:
    """Launches in which a tensor holds three successive positions, for each choice of numbers."""

    runs: tuple[tuple[Observation, Observation, Observation], ...]

    @property
    def accesses_all(self) -> bool:
        """True if the last position leads to accesses of all tensors."""
        return all(each.end for _, _, last in self.runs for each in last.values())

    @property
    def reached(self) -> tuple[int, ...]:
        """The most elements of any tensor that the first position leads to, by choice."""
        return tuple(max(each.end for each in first.values()) for first, _, _ in self.runs)

    def ends(self, name: str) -> list[int]:
        """Return how many elements of a tensor the first position leads to."""
        return [first[name].end for first, _, _ in self.runs]

    def leads_to(self, name: str) -> bool:
        """Return True if a further position leads to more elements of a tensor."""
        return any(last[name].end > middle[name].end for _, middle, last in self.runs)

    def steps(self, name: str) -> list[int] | None:
        """Return how many elements each further position adds, or None if the steps differ."""
        steps = [
            (middle[name].end - first[name].end, last[name].end - middle[name].end) for first, middle, last in self.runs
        ]
        return None if any(a != b or a <= 0 for a, b in steps) else [step for step, _ in steps]


def with_indices(experiment: Experiment, spec: InferredSpec, condition: Condition) -> InferredSpec | None:
    """Add the tensors whose elements are positions. Return None if they lead beyond what formulas explain."""
    experiment = replace(experiment, threads=spec.threads)
    roles = experiment.roles or {}
    choices: list[Numbers] = [
        {**each, **GRID_DEFAULTS} for each in experiment.choices(condition, triple(spec.block), spec.grid)
        if holds(spec.where, each)
    ]  # fmt: skip
    found = spec
    for tensor in (name for name in experiment.integer_tensors if name not in roles):
        more = _with_index(experiment, spec, found, tensor, choices)
        if more is None:
            return None
        found = more
    whole = (
        spec.whole
        if all(role.use in ("offsets", "starts", "lengths", "segments", "order", "places") for role in roles.values())
        else frozenset[str]()
    )
    found = replace(found, roles=roles, whole=whole)
    known = {*replace(found, where=()).names, *(each.name for each in experiment.args if each.is_whole)}
    if any(role.bound and role.bound not in known for role in roles.values()):
        return None  # no tensor has as many elements as the role's bound
    strided = experiment.flow.strided and not experiment.flow.crosses
    return replace(found, strided=strided and _fits_any_launch(experiment, found, choices[0]))


def with_positive_numbers(experiment: Experiment, spec: InferredSpec, condition: Condition) -> InferredSpec:
    """Add the condition that a number is positive if a kernel writes, or leaves its tensors, when it is 0."""
    experiment = replace(experiment, threads=spec.threads)
    block = triple(spec.block)
    usual = {**GRID_DEFAULTS, **numbers_for(condition, experiment.numbers, block)[0]}
    shared = evaluate(spec.shared or "0", usual, block)
    positive, full = list[str](), _filled(experiment, spec, usual, shared)
    for name in sorted(spec.names & {*experiment.numbers}):
        scope, one = {**usual, name: 0}, {**usual, name: 1}
        try:
            grid = grid_for(spec.grid, scope)
            excluded = not holds(spec.where, scope)
            least = min([*grid, *experiment.made_numbers(scope).values()])
        except UsageError:  # the host divides by it
            positive.insert(0, f"{name} > 0")
            continue
        if excluded or least < 1:
            continue
        observed, known = experiment.observe(scope, grid, block, shared), _sizes(spec, scope)
        # What a kernel writes without elements may come from registers or shared memory that nothing sets.
        if (
            observed is None
            or any(each.written for each in observed.values())
            or any(observed[each].end > size for each, size in known.items() if each in observed)
            or (holds(spec.where, one) and full - _filled(experiment, spec, one, shared))  # the formula begins at 2
        ):
            positive.insert(0, f"{name} > 0")
    return replace(spec, where=tuple(dict.fromkeys((*positive, *spec.where))))


def _sizes(spec: InferredSpec, scope: Numbers) -> dict[str, int]:
    """Return the number of elements of each tensor whose dims these numbers determine."""
    sizes = {tensor: expression("*".join(f"({dim})" for dim in dims.split())) for tensor, dims in spec.shapes.items()}
    return {tensor: int(size(Scope({**scope}))) for tensor, size in sizes.items() if size.names <= {*scope}}


def _filled(experiment: Experiment, spec: InferredSpec, scope: Numbers, shared: int) -> set[str]:
    """Return the tensors of which a launch with these numbers reaches the last element."""
    grid = grid_for(spec.grid, scope)
    run = experiment.observe(scope, grid, triple(spec.block), shared) if min(grid) > 0 else None
    return {name for name, size in _sizes(spec, scope).items() if run and name in run and run[name].end == size}


def _with_index(
    experiment: Experiment, spec: InferredSpec, found: InferredSpec, tensor: str, choices: Sequence[Numbers]
) -> InferredSpec | None:
    """Add to ``found`` what a tensor leads to if its elements are positions. Return None without an explanation."""
    others, zeros = 0, [0] * len(choices)
    runs = _run(experiment, spec, choices, tensor, others, zeros)
    if runs and not runs.accesses_all:
        others = 1  # zeros in a mask hide what is behind it
        runs = _run(experiment, spec, choices, tensor, others, zeros) or runs
    if runs is None:
        return None
    led = [name for name in found.shapes if runs.leads_to(name)]
    beyond: _Runs | None = None
    if not led:  # the positions may lie in what other accesses reach anyway: start behind it
        beyond = _run(experiment, spec, choices, tensor, others, [1 + end for end in runs.reached]) or runs
        led = [name for name in found.shapes if beyond.leads_to(name)]
    for name in led:
        target = _target(experiment, choices, runs, beyond, name, found.shapes[name])
        if target is None:
            return None
        extent, dims = target
        indices = {tensor: extent or f"{tensor}_range", **found.indices}
        if indices[tensor] != (extent or f"{tensor}_range"):
            return None
        # Of two threads that write to one position, either may be the last.
        distinct = {tensor} if name in experiment.scattered else set[str]()
        found = replace(
            found,
            shapes={**found.shapes, name: " ".join(dims if extent else (indices[tensor], *dims))},
            indices={**found.indices, tensor: indices[tensor]},
            loose=tuple(each for each in found.loose if each != name),
            distinct=found.distinct | distinct,
        )
    return found


def _target(
    experiment: Experiment, choices: Sequence[Numbers], runs: _Runs, beyond: _Runs | None, name: str, shape: str
) -> tuple[str, tuple[str, ...]] | None:
    """Return the extent in which positions lie and the dims of the tensor. An empty extent stands for a new one."""
    reached, steps = runs.ends(name), (beyond or runs).steps(name)
    if not steps:
        return None
    if not beyond:
        return fit_positions(reached, steps, choices, experiment.numbers)
    if any(map(operator.mod, reached, steps)):
        return None
    fit = fit_dims(list(map(operator.floordiv, reached, steps)), choices, experiment.numbers, is_exact=True)
    return ("*".join(fit.dims), tuple(shape.split())) if fit else None


def _run(
    experiment: Experiment,
    spec: InferredSpec,
    choices: Sequence[Numbers],
    tensor: str,
    others: int,
    firsts: Sequence[int],
) -> _Runs | None:
    """Launch with three positions in a tensor, and ``others`` in all other integer tensors. None after a fault."""
    found, block = [], triple(spec.block)
    for numbers, first in zip(choices, firsts, strict=True):
        grid, shared = grid_for(spec.grid, numbers), evaluate(spec.shared or "0", numbers, block)
        fills = (InputFill(1, others, tensor, value) for value in range(first, first + 3))
        one, two, three = (experiment.observe(numbers, grid, block, shared, fill) for fill in fills)
        if one is None or two is None or three is None:
            return None
        found.append((one, two, three))
    return _Runs(tuple(found))


def _fits_any_launch(experiment: Experiment, spec: InferredSpec, numbers: Numbers) -> bool:
    """Return True if one thread, or blocks that are not a multiple of a warp, access the same as the spec's launch."""
    if spec.grid not in ((), ("1",)) or spec.threads or spec.shared:
        return False
    launches: tuple[tuple[Triple, Triple], ...]
    launches = ((1, 1, 1), triple(spec.block)), ((1, 1, 1), (1, 1, 1)), ((2, 1, 1), (33, 1, 1))
    observed = [experiment.observe(numbers, grid, block, 0) for grid, block in launches]
    return observed[0] is not None and all(each == observed[0] for each in observed)
