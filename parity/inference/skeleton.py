"""Declares the kernels of a module from their signatures, their PTX and launches of them.

With nvcc, PTX shows which pointers are read and written (``ptx_dataflow.py``), and launches show shapes and the grid
(``prober.py``). Without nvcc, both are guesses from names, and marked as such.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import PurePath
from typing import Any, cast

from parity.errors import ParityError
from parity.inference.argument_kinds import argument_kinds
from parity.inference.attempt import RANDOM, Attempt
from parity.inference.call import CALM_DATA, DeclaredCall, guessed_call, inferred_call
from parity.inference.conditions import credible_blocks, in_whole_warps, likely_blocks
from parity.inference.data_flow import Flow
from parity.inference.host_launches import HostLaunch, accepted
from parity.inference.instances import chosen_of, most_lanes, most_ops, template_of, wanted_instances, widest
from parity.inference.kernel_time_limit import Template, TimeLimit
from parity.inference.keywords import Keyword, Literal, rows_name, safe_name
from parity.inference.signature import SUFFIXES, Probe, Signature, read_signature, type_variables
from parity.inference.spec import (
    ALWAYS_FAULTS,
    CONSTANT,
    FOLLOWS,
    GRID_EXTENTS,
    RACES,
    IndexRole,
    InferredSpec,
    KernelArgument,
    trimmed,
    triple,
)
from parity.inference.structures import Structures
from parity.inference.tensor_roles import (
    Tensors,
    Variable,
    constant_tables,
    held_structures,
    result_variables,
    row_pointers,
    row_shapes,
    stride_kinds,
    structured_words,
    tensors_by_role,
    texture_shapes,
    texture_words,
    written_tensors,
)
from parity.inference.textures import MEMORY, shows_size
from parity.model.code_object import Kernel, source_name, spelled, unqualified
from parity.model.dtypes import NUMBERS
from parity.model.launch import PRINTF
from parity.op import Op

_TEXTURE = "it uses a texture or a surface; with nvcc, parity infers how"
_ROUNDED = "it prints floating-point numbers, whose last digits may differ"
_COUNTED = "it writes where counters lead, and guessed counters lead several threads to one place, so say data="
_MOST_ELEMENTS = 1 << 18
"""The number of elements that larger tensors have at most."""
_POSITION = 4
"""Bytes that a position has at least."""
BY_WARPS = "it divides its work by warpSize, and warps of other sizes may give other results"
"""Why the results of a kernel may be right on each target, and differ."""
LEFT_OUT = "more of its instances have no op; the same command adds some each time"
"""The end of the message for a template with too many instances."""
_ORDERED = "4"
"""The number of positions of elements in order, unless another tensor determines it."""
_FEW_BLOCKS = ("3",)
"""The grid of a kernel that gets no tensors, unless the host's code has a constant one."""
_GUESSED_ROLE = "a guess: written; updates= are read as well"


@dataclass(frozen=True)
class Skeleton:
    """The declaration of an op.

    Attributes:
        name: Name of the op; empty if there is nothing to declare.
        kernel: The kernel, and the number of similar kernels.
        keywords: The arguments of ``Op``.
        inputs: The arguments of a reference.
        omitted: Why there is nothing to declare.
        question: What could not be inferred.
        launched: Where and how host code launches the kernel.
        doubt: Why the results of CUDA and AMD may differ without a mistake of the port.
        finding: A mistake of the kernel, which its cases show.
        is_measured: True if the numbers of a single launch are declared.
        shows_races: True if a data race with this block shows a mistake of the kernel.
        again: Declares the kernel more carefully after this declaration failed for a reason. None if nothing is left.
    """

    name: str
    kernel: str
    keywords: tuple[Keyword, ...] = ()
    inputs: tuple[str, ...] = ()
    omitted: str = ""
    question: str = ""
    launched: str = ""
    doubt: str = ""
    finding: str = ""
    is_measured: bool = False
    shows_races: bool = True
    again: Callable[[str], Skeleton | None] = field(default=lambda reason: None, compare=False)

    @property
    def title(self) -> str:
        """The name without the module."""
        return self.name.rpartition(".")[2]

    @property
    def template(self) -> Template:
        """The module, and the kernel without arguments of its template: the same for all instances of the template."""
        return template_of(self.name.rpartition(".")[0], self.kernel)


def skeletons(
    source: PurePath,
    module: str,
    kernels: Iterable[Kernel],
    flows: Mapping[str, Flow] | None = None,
    probes: Mapping[str, Probe] | None = None,
    structures: Structures | None = None,
    launches: Mapping[str, Sequence[HostLaunch]] | None = None,
    known: str = "",
    limit: TimeLimit | None = None,
    empty: Collection[str] = (),
) -> Iterator[Skeleton]:
    """Yield an op for each kernel of a file. Kernels that differ only in dtypes are one op.

    Of a file with very many instances of templates, each template has some ops, because each op takes seconds.
    Instances with other types come first.

    Args:
        source: Path of the file in the folder of kernels.
        module: Name of the module.
        kernels: The kernels.
        flows: What PTX shows of each kernel, by symbol.
        probes: Functions that launch each kernel, by symbol. Without them, the roles of pointers and numbers are
            guesses from names.
        structures: The structures that the sources declare.
        launches: The launches in host code, by the kernel's name without namespaces.
        known: The text of a case file. Kernels in it are left out.
        limit: The time for each template. After half of it, a template gets no further instances.
        empty: Symbols of instances that were not compiled (``chosen_instances``). A template without other instances
            does nothing at all.
    """
    signatures, limit = list[Signature](), limit or TimeLimit()
    for kernel in kernels:
        probe = probes.get(kernel.name) if probes is not None else None
        host = (launches or {}).get(unqualified((spelled(kernel.name) or (kernel.name,))[0]), ())
        host = tuple(accepted(host, source_name(kernel.name), len(kernel.args)))
        one = read_signature(kernel, (flows or {}).get(kernel.name), probe, structures)
        signatures.append(replace(one, launches=host))
    name = re.sub(r"\W+", "_", module)
    place = "" if source.as_posix() == f"{name}.cu" else source.as_posix()
    wanted = wanted_instances(name, signatures, known)
    for base, instances in wanted.items():
        left, template = len(instances), template_of(name, widest(instances[0][1]).text)
        most = limit.left(template)
        compiled = [each for each in instances if not any(one.symbol in empty for one in each[1])] or instances
        for op, alike in chosen_of(compiled, most_ops(wanted)):
            if limit.left(template) < most / 2:  # the other half is for their trial
                break
            with limit.step(template):
                found = _skeleton(op, place, alike, Attempt())
            left -= 1
            yield found
        if left:
            yield Skeleton("", base, omitted=f"{left} {LEFT_OUT}")


def signature_skeleton(name: str, one: Signature, *, single: bool = False) -> Skeleton:
    """Return the op of a Triton kernel. ``single``: with the numbers of one launch."""
    return _skeleton(name, "", [one], Attempt(single, cautious=single))


def _skeleton(name: str, source: str, alike: Sequence[Signature], attempt: Attempt) -> Skeleton:
    """Return the op of kernels that differ only in dtypes."""
    one = widest(alike)
    if one.flow is None and ("__hip_texture" in one.text or "__hip_surface" in one.text):
        return Skeleton("", one.text, omitted=_TEXTURE)
    pointers = one.tensors
    written = written_tensors(pointers)
    results = {} if written else result_variables(one)
    if not (written or results):
        return Skeleton("", one.text, omitted=_without_output(one))
    kinds = argument_kinds(alike, written)
    in_memory = [each for each in pointers if each.texture in ("", MEMORY)]
    if in_memory:
        probed = _probe(one, kinds, single=attempt.single)
    else:
        probed = _spec_of_texels(one) if pointers else _spec_of_host(one)
    # Positions in order lead the further the more there are of them.
    fixed = {name for name in _positions(kinds) if name not in written} if attempt.apart else set[str]()
    spec = _scaled(probed, attempt, fixed) if isinstance(probed, InferredSpec) else None
    tables, unknown = constant_tables(one, spec.constant if spec else CONSTANT)
    counts = [name for name, each in tables.items() if not NUMBERS[each.dtype].is_float]
    if isinstance(probed, str) and not probed.startswith((RACES, ALWAYS_FAULTS)):
        unknown += [tables[name].source for name in counts if not tables[name].values]
    tables = tables if spec else {}
    tensors = tensors_by_role(one, written, kinds, spec, cautious=attempt.cautious)
    for result, each in results.items():
        (tensors.outputs if each.source == PRINTF else tensors.updates)[result] = each.dtype
    if spec:
        spec = _with_distinct(spec, tensors, one) if attempt.apart else spec
        spec = _with_ordered(spec, tensors) if attempt.ordered else spec
        spec = in_whole_warps(spec, blocks=attempt.whole > 1) if attempt.whole else spec
        tensors.inputs.update({table: each.dtype for table, each in tables.items()})
        shapes = {**spec.shapes, **{name: str(each.count) for name, each in (tables | results).items()}}
        small = {name for name in counts if spec.calm and tables[name].count > 1 and not tables[name].values}
        ranges = {**spec.ranges, **{name: "0..1" if name in small else tables[name].range for name in counts}}
        ranges |= dict.fromkeys(tables.keys() - ranges.keys(), *CALM_DATA) if spec.calm else {}
        shapes = row_shapes(one, shapes | texture_shapes(one, shapes))
        spec = replace(spec, shapes=shapes, ranges=ranges)
        call = inferred_call(one, kinds, spec, {*tensors.inputs, *tensors.updates})
    else:
        shaped = bool(tensors.inputs or tensors.updates)
        call = guessed_call(one, kinds, shaped=shaped, to_complete=isinstance(probed, str) and bool(probed))
    question = probed if isinstance(probed, str) else ""
    if unknown:
        question = f"the host fills {', '.join(unknown)}, so say symbols="
    elif one.flow and one.flow.counted:
        question = question or _COUNTED
    keywords = tuple(_keywords(source, alike, tensors, call, spec, tables | results))
    rejected = "" if question else _rejected(name, keywords)
    if rejected and (better := _again(name, source, alike, attempt, rejected)):
        return better
    return Skeleton(
        name,
        one.text + (f", and {len(alike) - 1} more" if len(alike) > 1 else ""),
        keywords,
        (*tensors.inputs, *call.params),
        question=question or rejected,
        launched=_launched(one),
        doubt=_ROUNDED if results and one.flow and one.flow.prints_reals else _doubt(one, spec),
        finding=spec.race if spec else "",
        is_measured=spec is not None and spec.is_measured,
        shows_races=_shows_races(one, spec),
        again=partial(_again, name, source, alike, attempt),
    )


def _without_output(one: Signature) -> str:
    """Return why a kernel that writes to nothing that it is given cannot be declared."""
    reason, flow = "it writes to nothing that it is given", one.flow
    if not one.tensors:
        reason = "it has no output that it is given"
    elif flow and flow.indirect:
        reason = FOLLOWS
    elif flow and (variables := ", ".join(map(source_name, flow.variables))):
        reason = f"it writes at most to __device__ variables ({variables})"
    return f"{reason}, so nothing can be compared"


def _again(name: str, source: str, alike: Sequence[Signature], attempt: Attempt, reason: str) -> Skeleton | None:
    """Return the op of the next attempt that leads to a declaration."""
    while (following := attempt.after(reason)) is not None:
        attempt = following
        if not (found := _skeleton(name, source, alike, attempt)).question:
            return found
    return None


def _scaled(spec: InferredSpec, attempt: Attempt, fixed: Collection[str]) -> InferredSpec:
    """Return a specification with larger tensors, which a launch does not write completely.

    Bounds and ``fixed`` tensors remain.
    """
    if not attempt.scale:
        return replace(spec, calm=attempt.calm)
    most = min(max(map(int, spec.shapes.values()), default=1) * attempt.scale, _MOST_ELEMENTS)
    kept = {*spec.roles, *fixed}
    shapes = {name: dims if name in kept else str(max(int(dims), most)) for name, dims in spec.shapes.items()}
    return replace(spec, shapes=shapes, whole=frozenset(), calm=attempt.calm)


def _with_distinct(spec: InferredSpec, tensors: Tensors, one: Signature) -> InferredSpec:
    """Return a specification whose integer inputs, or else updated integers, hold all positions in order.

    Other roles remain, except offsets that the kernel's code does not show. No part between the others is empty.
    """
    found = _positions(tensors.inputs) or _positions(tensors.updates)
    shown = {each.name for each in one.args if one.flow and each.key in one.flow.offsets}
    roles = {name: role for name, role in spec.roles.items() if role.use != "offsets" or name in shown}
    roles |= {name: replace(role, use="parts") for name, role in roles.items() if role.use == "offsets"}
    return replace(spec, roles={**dict.fromkeys(found, IndexRole("ascending")), **roles})


def _with_ordered(spec: InferredSpec, tensors: Tensors) -> InferredSpec:
    """Return a specification whose integer inputs without another role are in order."""
    found = {name for name in _positions(tensors.inputs) if name not in spec.roles}
    roles = dict.fromkeys(found, IndexRole("ordered"))
    return replace(spec, roles={**roles, **spec.roles}, indices={**dict.fromkeys(found, _ORDERED), **spec.indices})


def _positions(kinds: Mapping[str, str]) -> list[str]:
    """Return the names of integers that are large enough for positions."""
    dtypes = {name: NUMBERS.get(kind) for name, kind in kinds.items()}
    return [name for name, of in dtypes.items() if of and not of.is_float and of.itemsize >= _POSITION]


def _rejected(name: str, keywords: Sequence[Keyword]) -> str:
    """Return why a declaration is invalid, or an empty string."""
    try:
        Op(name, **{each.name: cast(Any, each.value) for each in keywords})
    except ParityError as error:
        return str(error)
    return ""


def _keywords(
    source: str,
    alike: Sequence[Signature],
    tensors: Tensors,
    call: DeclaredCall,
    spec: InferredSpec | None,
    tables: Mapping[str, Variable],
) -> list[Keyword]:
    """Return the arguments of ``Op``, in the order of a case file."""
    one = alike[0]
    pointers = one.tensors
    is_seen = not pointers or any(each.is_input is not None for each in pointers)
    role, written = "" if is_seen else _GUESSED_ROLE, tensors.outputs | tensors.updates
    usual = next((kind for kind in written.values() if kind in NUMBERS), "f32")
    types = [",".join(SUFFIXES.get(name, name) for name in each.types) or usual for each in alike]
    spelling = {SUFFIXES[name]: name for each in alike for name in each.types if SUFFIXES.get(name, name) != name}
    words, structs = structured_words(one, call.words)
    symbols = {each.source: name for name, each in tables.items()} | held_structures(one)
    strides: Literal = "aligned" if max(map(most_lanes, alike)) > 1 else stride_kinds(spec, tensors)
    optional = (
        Keyword("structs", structs),
        *call.shapes,
        Keyword("strides", strides, "" if strides == "aligned" else "a guess"),
        Keyword("writes", not (tensors.inputs or tensors.updates)),
        Keyword("inputs", tensors.inputs),
        Keyword("optional", tuple(each for each in tensors.inputs if spec and each in spec.optional)),
        Keyword("outputs", tensors.outputs, role),
        Keyword("updates", tensors.updates, role),
        Keyword("params", call.params, "drawn; if the host computes it, write its value in args: rows:i32=..."),
        Keyword("textures", texture_words(one), "a guess, unless the host sets it like this"),
        Keyword("pointers", row_pointers(one)),
        Keyword("symbols", symbols),
    )
    if one.triton:
        optional = tuple(replace(each, value=_generic(each.value, usual)) for each in optional)
        return [
            Keyword("kernel", one.triton, _others(one.configurations)),
            Keyword("types", (usual,)),
            Keyword("args", " ".join(words), wraps=True),
            *(each for each in optional if each.value and each.name != "strides"),
            *(each for each in call.launch if each.name == "grid"),
        ]
    return [
        *([Keyword("source", source)] if source else []),
        Keyword("kernel", one.pattern),
        Keyword("types", tuple(dict.fromkeys(types))),
        *([Keyword("spelling", spelling)] if spelling else []),
        Keyword("args", " ".join(words), wraps=True),
        *(each for each in optional if each.value),
        *call.launch,
        Keyword("grid_stride", _is_strided(one, spec)),
    ]


def _others(count: int) -> str:
    """Return how to test all configurations of a Triton kernel, if there are several."""
    return f"one of {count} configurations; autotune=True, and a grid of their names, test all" if count > 1 else ""


def _generic(value: Literal, dtype: str) -> Literal:
    """Replace a dtype of tensors by the type variable of the op."""
    return {name: "T" if kind == dtype else kind for name, kind in value.items()} if isinstance(value, dict) else value


def _is_strided(one: Signature, spec: InferredSpec | None) -> bool:
    """Return True if a kernel accepts any number of blocks and threads."""
    if spec:
        return spec.strided and not (spec.names & {*GRID_EXTENTS.values()} or one.shares)
    return one.flow is not None and one.flow.strided and not one.flow.crosses


def _probe(one: Signature, kinds: Mapping[str, str], *, single: bool) -> InferredSpec | str:
    """Return what launches show of a kernel, or why they show nothing. Empty without launches."""
    if one.probe is None or any(each.name == "info" for each in one.args):
        return ""
    if one.flow is None:
        return one.probe((), None, single)
    types = dict(zip(type_variables(len(one.types)), one.types, strict=True))
    args = []
    numbers = [safe_name(each.name) for each in one.args if not each.is_pointer]
    for each in one.args:
        kind = types.get(kinds[each.name], kinds[each.name])
        dtype = NUMBERS.get(SUFFIXES.get(kind, kind))
        if dtype is None:
            return f"the sources here do not tell the fields of {each.name}, {each.size} bytes: say them in structs="
        name = each.name if each.is_pointer else safe_name(each.name)
        is_nullable = each.key in one.flow.nullable and not each.is_written
        lanes = each.lanes if each.is_vector and each.is_typed else 1
        is_pointer = each.is_pointer and shows_size(each.texture, each.name, numbers)
        values = each.values, each.texture
        args.append(KernelArgument(name, dtype, is_pointer, each.key, is_nullable, lanes, *values))
        if each.is_rows:
            args.append(KernelArgument(rows_name(name), NUMBERS["u64"], True, (each.key[0], 0), rows_of=name))
    return one.probe(args, one.flow, single)


def _spec_of_host(one: Signature) -> InferredSpec:
    """Return the specification of a kernel without tensors: the constant blocks and threads of the host's code."""
    flow = one.flow or Flow(())
    block = next(likely_blocks(one.pattern, one.launches, flow))
    grids = (each.grid for each in one.launches if each.grid and all(map(str.isdecimal, each.grid)))
    return InferredSpec({}, next(grids, _FEW_BLOCKS), trimmed(block, 1))


def _spec_of_texels(one: Signature) -> InferredSpec:
    """Return the specification of a kernel with nothing but textures: a thread for each texel of the first result."""
    shapes = texture_shapes(one, {})
    first = next(each for each in one.tensors if each.is_written)
    extents = shapes[first.name].split()[::-1][first.lanes > 1 :]
    block = trimmed(next(likely_blocks(one.pattern, one.launches, one.flow or Flow(()))), 1)
    threads = (*block, 1, 1)
    grid = tuple(f"ceil({x}/{n})" if n > 1 else x for x, n in zip(extents, threads, strict=False))
    return InferredSpec(shapes, grid, block)


def _doubt(one: Signature, spec: InferredSpec | None) -> str:
    """Return why CUDA's and AMD's results may differ without a mistake of the port, or an empty string."""
    if one.flow and one.flow.random:
        return RANDOM
    if one.flow and one.flow.private and spec and spec.is_measured:
        return "its threads have private arrays, which may be too small for the numbers that were guessed"
    if one.flow and spec and not spec.distinct and any(use.scattered for use in one.flow.uses.values()):
        return "it writes to positions that it reads from memory, and with guessed data threads may meet there"
    if one.flow and one.flow.by_warps:
        return BY_WARPS
    uses = one.flow.uses if one.flow else {}
    structures = (each for each in one.tensors if each.is_vector and not each.is_typed and each.key in uses)
    if any(len(uses[each.key].types) > 1 for each in structures):
        return "it accesses structures whose fields have several types, and the guessed data suits one of them"
    return ""


def _shows_races(one: Signature, spec: InferredSpec | None) -> bool:
    blocks = credible_blocks(one.pattern, one.launches, one.flow) if one.flow and spec else None
    return not spec or blocks is None or bool(spec.race or spec.threads) or triple(spec.block) in blocks


def _launched(one: Signature) -> str:
    """Return the place and the text of the first launch in host code, or an empty string."""
    if not one.launches:
        return ""
    first = one.launches[0]
    return f"{first.path}:{first.at}, as {textwrap.shorten(first.text, 300)}"
