"""Declares the kernels of a compiled module, from its sources and from launches of CUDA's side."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath

from parity.build.result import Built
from parity.captures.observations import CapturedKernels
from parity.inference.conditions import blocks_for_alike
from parity.inference.data_flow import Flow
from parity.inference.host_launches import HostLaunch, accepted, fitting
from parity.inference.launch_hints import of_instance
from parity.inference.prober import ProbedKernel, Prober
from parity.inference.ptx_dataflow import flows
from parity.inference.signature import Probe
from parity.inference.skeleton import Skeleton, skeletons
from parity.inference.spec import InferredSpec, KernelArgument
from parity.inference.structures import Structures
from parity.model.code_object import CodeObject, Kernel, source_name, spelled, unqualified


@dataclass(frozen=True)
class HostCode:
    """The launches of a module's kernels, by name without namespaces; the structures of its sources; and a capture."""

    launches: Mapping[str, Sequence[HostLaunch]]
    structures: Structures
    captured: CapturedKernels | None = None


def module_skeletons(
    source: PurePath,
    module: str,
    kernels: Sequence[Kernel],
    built: Mapping[str, Built] | None,
    host: HostCode,
    prober: Prober,
    known: str,
    empty: Collection[str] = (),
) -> Iterator[Skeleton]:
    """Return the ops of a module's kernels, from PTX and launches of CUDA's side if it compiles.

    ``empty`` are symbols of instances that were not compiled.
    """
    given = partial(skeletons, source, module, kernels, structures=host.structures, launches=host.launches)
    if built is None:
        return given(known=known, empty=empty)
    side = built.get(module)
    cuda = side.code_object if side else None
    seen = flows(cuda.listing) if cuda else {}
    found, probes = {}, dict[str, Probe]()
    for symbol in (each.name for each in kernels):
        probes[symbol] = partial(_not_probed, symbol, side)
        other = _counterpart(symbol, cuda) if cuda else symbol
        if cuda and other in seen:
            found[symbol] = seen[other]
            probes[symbol] = partial(_probe, prober, cuda, other, host)
    return given(flows=found, probes=probes, known=known, limit=prober.limit, empty=empty)


def _counterpart(symbol: str, cuda: CodeObject) -> str:
    """Return the symbol of the same kernel on CUDA's side.

    The names of the C++ library's types differ (``std::__1::conditional``), so a name without arguments is enough.
    """
    names = (symbol, *reversed(spelled(symbol)))
    return next((each for each in map(cuda.symbol, names) if each in cuda.kernels), symbol)


def _not_probed(
    symbol: str, built: Built | None, args: Sequence[KernelArgument], flow: Flow | None, single: bool
) -> str:
    """Return why a kernel was not executed."""
    left_out = built.translation.left_out if built and built.translation else ()
    if because := next((e.because for e in left_out if e.function == unqualified(source_name(symbol))), ""):
        return f"CUDA's side does not compile it here, so nothing was executed: {because}"
    if built is None or built.error is None:
        return "CUDA's side has no kernel of this name, so nothing was executed"
    return f"CUDA's side does not compile here, so nothing was executed{built.first_finding}"


def _probe(
    prober: Prober,
    cuda: CodeObject,
    symbol: str,
    host: HostCode,
    args: Sequence[KernelArgument],
    flow: Flow | None,
    single: bool,
) -> InferredSpec | str:
    assert flow
    name = source_name(symbol)
    launches = accepted(host.launches.get(unqualified(name), ()), name, len(cuda.kernels[symbol].args))
    launches = fitting(of_instance(launches, name), flow.thread_axes)
    others = itertools.chain(*host.launches.values()) if not launches else ()
    kernel = ProbedKernel(cuda, symbol, args, flow, launches, near=blocks_for_alike(others, flow.thread_axes))
    if host.captured:
        return host.captured.probe(prober, kernel, single=single)
    return prober.measure(kernel) or "no single launch shows it" if single else prober.probe(kernel)
