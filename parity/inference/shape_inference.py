"""Infers the shapes of tensors from what launches with a given grid access."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from parity.inference.experiment import Experiment
from parity.inference.probe_launches import Observation
from parity.inference.shape_formulas import Fit, fit_dims
from parity.inference.spec import AXES, InferredSpec, KernelArgument, Numbers, Triple, evaluate, grid_for, trimmed


@dataclass(frozen=True)
class Geometry:
    """A grid to infer shapes with.

    Attributes:
        block: The threads of a block.
        grid: The formula for the number of blocks along each axis.
        extents: Names in ``grid`` that are extents which only the grid determines.
        shared: The formula for the bytes of dynamic shared memory.
        is_exact: True if a tensor may not be larger than what launches access.
    """

    block: Triple
    grid: Mapping[str, str]
    extents: Sequence[str]
    shared: str
    is_exact: bool

    @property
    def blocks(self) -> tuple[str, ...]:
        """The formulas for all three axes."""
        return tuple(self.grid.get(axis, "1") for axis in AXES)

    def launch(self, numbers: Numbers) -> tuple[Triple, Triple, int]:
        """Return the grid, the block and the bytes of shared memory of a launch."""
        return grid_for(self.blocks, numbers), self.block, evaluate(self.shared or "0", numbers, self.block)


def infer_shapes(experiment: Experiment, choices: Sequence[Numbers], geometry: Geometry) -> InferredSpec | None:
    """Return shapes that explain the accesses of launches with each choice of numbers, or None."""
    scopes: list[Numbers] = [
        {**each, **{name: 2 + i + j for i, name in enumerate(geometry.extents)}} for j, each in enumerate(choices)
    ]
    if geometry.is_exact and not _is_promising(experiment, scopes[:2], geometry):
        return None
    runs: list[Observation] = []
    fits: dict[str, Fit] = {}
    for count, scope in enumerate(scopes, 1):
        run = experiment.observe_data(scope, *geometry.launch(scope))
        if run is None:
            return None
        runs.append(run)
        if count in (2, len(scopes)):  # more choices cannot explain what two contradict
            for each in experiment.pointers:
                fit = _fit(experiment, each, runs, scopes, geometry)
                if fit is None:
                    experiment.log.unexplained = experiment.log.unexplained or {each.name}
                    return None
                fits[each.name] = fit
    return _spec(experiment, fits, runs, geometry)


def _is_promising(experiment: Experiment, scopes: Sequence[Numbers], geometry: Geometry) -> bool:
    """Return False if two launches with one kind of data already contradict the grid. That rejects most grids."""
    observed = [experiment.observe(scope, *geometry.launch(scope)) for scope in scopes]
    if None in observed:
        return False
    runs = [each for each in observed if each and all(one.end for one in each.values())]
    return len(runs) < len(observed) or all(
        _fit(experiment, each, runs, scopes, geometry) for each in experiment.pointers
    )


def _fit(
    experiment: Experiment,
    one: KernelArgument,
    runs: Sequence[Observation],
    scopes: Sequence[Numbers],
    geometry: Geometry,
) -> Fit | None:
    """Return dims of a tensor that explain what these launches accessed."""
    scopes, ends = scopes[: len(runs)], [run[one.name].end for run in runs]
    if rule := experiment.strides.get(one.name):
        sizes = [math.prod(scope.get(name, 0) for name in rule.dims) for scope in scopes]
        return Fit(rule.dims) if sizes == ends else None
    if one.key not in experiment.flow.uses and not any(ends):
        return Fit(("1",))
    names = [*geometry.extents, *experiment.numbers]
    grids = [text for text in geometry.blocks if text.startswith("ceil")]
    return fit_dims(ends, scopes, names, geometry.block, grids, is_exact=geometry.is_exact)


def _spec(
    experiment: Experiment, fits: Mapping[str, Fit], runs: Sequence[Observation], geometry: Geometry
) -> InferredSpec:
    whole = {
        each.name
        for each in experiment.pointers
        if not (fits[each.name].loose or fits[each.name].where)
        and all(run[each.name].written == run[each.name].end * each.dtype.itemsize for run in runs)
    }
    blocks, block = geometry.blocks, geometry.block
    return InferredSpec(
        {name: " ".join(fit.dims) for name, fit in fits.items()},
        trimmed(blocks, "1"),
        trimmed(block, 1),
        shared=geometry.shared,
        where=tuple(dict.fromkeys(fit.where for fit in fits.values() if fit.where)),
        whole=frozenset(whole),
        loose=tuple(name for name, fit in fits.items() if fit.loose),
        distances={
            stride: f"{name}.strides[{i}]"
            for name, rule in experiment.strides.items()
            for i, stride in enumerate(rule.strides)
        },
        made=experiment.made,
    )
