"""The text of a case file that declares the kernels of a module, from what the compiler says of their arguments.

Where nvcc is there, its PTX shows which pointers are read, written or both (``toolchain/ptx_dataflow.py``), and
launches of it show the shapes and the grid (``probing.py``). Without it these are guesses from names, and said to be.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from keyword import iskeyword
from pathlib import PurePath

from parity.dsl.expression import FUNCTIONS
from parity.inference.facts import FREE, InferredSpec, LaunchArguments
from parity.inference.host_launches import HostLaunch
from parity.inference.ptx_dataflow import Flow
from parity.inference.signature import ELEMENTS, SUFFIXES, Probe, Signature, Taken, signature_of, variables_of
from parity.inference.structures import Structures
from parity.model.code_object import Kernel, source_name, spelled, unqualified
from parity.model.dtypes import NUMBERS

__all__ = ["Skeleton", "case_file", "skeletons"]

_WRITTEN = re.compile(r"out|output|dst|dest|destination|result|res|y|c", re.IGNORECASE)
_COUNT = re.compile(r"n|numel|el_count|n_?elements|num_elements|count|len|length|size", re.IGNORECASE)
_ROWS = re.compile(rf"{_COUNT.pattern}|m|b|t|rows?|n?_?rows|batch\w*|num_\w+|n_\w+", re.IGNORECASE)
_REAL = re.compile(r".*(alpha|beta|eps|epsilon|scale|mul|add|lr|factor|slope|value|min|max).*", re.IGNORECASE)
_DIM = re.compile(r"(?:\d+\*)?([A-Za-z_]\w*)")
"""A dim that tells the value of a name."""
_MANY = re.compile(r"(\d{2,})\*([A-Za-z_]\w*)")
"""A dim that is large for small values of a name."""
_UNEXPLAINED = 3
"""Whole numbers of a kernel that nothing depends on, from which on too little is known of it to guess."""
_DRAWN = "(1, 2, 3, 7, 33, 300)"
"""The choices for an extent that is no dim of a tensor with data."""
_PLACES = ("index", "ramp", "repeat")
"""The data of tensors whose elements are places."""
_BOUNDS: Mapping[str, tuple[str, ...]] = {
    "offsets": ("offsets",),
    "size": ("index", "repeat"),
    "mask": ("-1..2",),
    "order": ("permutation",),
}
"""The data of tensors by what their elements bound."""
_COMPLETE = "Say shapes=, grid= and block= as the host has them, and take the # away."
_LAUNCH = "a guess: the host's; say grid= and shapes= if not a thread per element"
_FREE = frozenset(FREE.values())
_OWN = frozenset(("numel", "num_dims", "info", "threads", "blocks", "to", "shape", "grid"))
"""Names that a declaration gives a meaning of its own."""


@dataclass(frozen=True)
class Skeleton:
    """The declaration of an op, or a comment if its ``name`` is empty: then there is nothing to declare.

    ``question`` says what of it could not be told, ``launched`` how the host launches it, and where.
    """

    name: str
    text: str
    question: str = ""
    launched: str = ""


def case_file(source: PurePath, ops: Iterable[Skeleton], asked: Mapping[str, str]) -> str:
    """A case file with these ops. Those that are ``asked`` for, by name with the reason, are comments."""
    texts = []
    for each in ops:
        text = each.text
        if reason := asked.get(each.name, each.question):
            lines = [line if line.startswith("#") else f"# {line}" for line in text.splitlines()]
            host = _wrapped(f"# The host launches it in {each.launched}") if each.launched else []
            told = _wrapped(f"# To be completed: {reason.rstrip('.')}. {_COMPLETE}")
            texts.append("\n".join((lines[0], *told, *host, *lines[1:])))
        else:
            texts.append(text)
    head = f'"""{source.name}: what its kernels compute, and how they are called. Written by parity init."""'
    return "\n\n".join((head, "from parity.op import Op", *texts)) + "\n"


def skeletons(
    source: PurePath,
    module: str,
    kernels: Iterable[Kernel],
    flows: Mapping[str, Flow] | None = None,
    probes: Mapping[str, Probe] | None = None,
    structures: Structures | None = None,
    launches: Mapping[str, Sequence[HostLaunch]] | None = None,
) -> list[Skeleton]:
    """An op for each kernel of a file; those that differ only in their dtypes are one.

    ``flows`` are what PTX shows of kernels, and ``probes`` what launches do, by symbol. Without them, which pointers
    are written, and what numbers mean, is a guess from names, and said to be one. ``structures`` are those of the
    sources, ``launches`` those of the host by the kernel's bare name.
    """
    groups: dict[tuple[str, tuple[str, ...]], list[Signature]] = {}
    for kernel in kernels:
        probe = probes.get(kernel.name) if probes is not None else None
        host = (launches or {}).get(unqualified((spelled(kernel.name) or (kernel.name,))[0]), ())
        one = replace(signature_of(kernel, (flows or {}).get(kernel.name), probe, structures), launches=tuple(host))
        groups.setdefault((one.pattern, tuple(each.name for each in one.args)), []).append(one)
    name = re.sub(r"\W+", "_", module)
    place = "" if source.as_posix() == f"{name}.cu" else source.as_posix()
    names = Counter(pattern for pattern, _ in groups)
    found, titles = [], Counter[str]()
    for (pattern, _), alike in groups.items():
        title = re.sub(r"\W+", "_", re.sub(r"_?<?\{\w\}>?", "", pattern)).strip("_")
        titles[title] += 1
        title += f"_{titles[title]}" * (titles[title] > 1)
        if names[pattern] > 1 and not alike[0].types:  # functions of one name: with the types of their arguments
            alike = [replace(each, pattern=each.text) for each in alike]
        found.append(_op(name, place, title, alike))
    return found


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, 120, subsequent_indent="#   ", break_long_words=False)


def _op(module: str, source: str, title: str, alike: list[Signature]) -> Skeleton:
    one = alike[0]
    if not any(each.is_pointer for each in one.args):
        return Skeleton("", f"# {one.text}: it has no output that it is given, so nothing can be compared")
    pointers = [each for each in one.args if each.is_pointer and each.name != "info"]
    written = _written(pointers)
    is_seen = any(each.is_input is not None for each in pointers)
    if not written:
        return Skeleton("", f"# {one.text}: it writes to nothing that it is given, so nothing can be compared")
    of = _kinds(alike, written)
    inputs = {each.name: of[each.name] for each in pointers if each.name not in written}
    others = {each.name: of[each.name] for each in pointers if each.name in written}
    updated = {each.name for each in pointers if each.is_input} if is_seen else set[str]() if inputs else set(others)
    outputs = {name: kind for name, kind in others.items() if name not in updated}
    updates = {name: kind for name, kind in others.items() if name in updated}
    lanes = max(each.lanes for each in pointers)
    told = _probed(one, of)
    probed = told if isinstance(told, InferredSpec) else None
    if probed:  # what is not written as a whole has to be there before
        updates |= {name: kind for name, kind in outputs.items() if name not in probed.whole}
        outputs = {name: kind for name, kind in outputs.items() if name in probed.whole}
    tables, unknown = _tables(one)
    if probed and tables:
        inputs |= {name: each.dtype for name, each in tables.items()}
        shapes = {name: str(each.count) for name, each in tables.items()}
        probed = replace(probed, shapes={**probed.shapes, **shapes})
    call = _told(one, of, probed, inputs, updates) if probed else _guessed(one, of, lanes, bool(inputs or updates))
    words, structs = _structured(one, call.words)
    given = (*inputs, *call.params)
    guess_of_roles = "" if is_seen else "  # a guess: written; updates= are read as well"
    usual = next((kind for kind in others.values() if kind in NUMBERS), "f32")
    types = [",".join(SUFFIXES.get(spelt, spelt) for spelt in each.types) or usual for each in alike]
    spelling = {SUFFIXES[s]: s for each in alike for s in each.types if SUFFIXES.get(s, s) != s}
    lines = [
        f"# {one.text}" + (f", and {len(alike) - 1} more" if len(alike) > 1 else ""),
        f"{title}_op = Op(",
        f'    "{module}.{title}",',
        *([f'    source="{source}",'] if source else []),
        f'    kernel="{one.pattern}",',
        f"    types={_tuple(types)},",
        *([f"    spelling={_mapping(spelling)},"] if spelling else []),
        f'    args="{" ".join(words)}",',
        *([f"    structs={_mapping(structs)},"] if structs else []),
        *call.shapes,
        *(['    strides="aligned",'] if lanes > 1 else _layouts(probed, {*outputs, *updates}) if probed else []),
        *(["    writes=True,"] * (not (inputs or updates))),
        *([f"    inputs={_mapping(inputs)},"] if inputs else []),
        *([f"    outputs={_mapping(outputs)},{guess_of_roles}"] if outputs else []),
        *([f"    updates={_mapping(updates)},{guess_of_roles}"] if updates else []),
        *(
            [f"    params={_mapping(call.params)},  # drawn; what the host computes is rows:i32=..."]
            if call.params
            else []
        ),
        *(
            [f"    symbols={_mapping({each.source: name for name, each in tables.items()})},"]
            if probed and tables
            else []
        ),
        *call.launch,
        f"    grid_stride={_is_strided(one, probed)},",
        f"    # reference=...,  # a function of {', '.join(given) or 'nothing'}; none: CUDA's side judges",
        ")",
    ]
    question = told if isinstance(told, str) else ""
    if probed and len(idle := [each.name for each in one.args if _is_idle(each, of, probed)]) >= _UNEXPLAINED:
        question = f"no launch tells what {', '.join(idle)} are"
    if unknown:
        question = f"the host fills __constant__ {', '.join(unknown)}, so say symbols="
    return Skeleton(
        f"{module}.{title}", "\n".join(part for line in lines for part in _short(line)), question, _host(one)
    )


@dataclass(frozen=True)
class _Table:
    """A ``__constant__`` variable as the ``source`` spells it, with ``count`` elements."""

    source: str
    dtype: str
    count: int


def _tables(one: Signature) -> tuple[dict[str, _Table], list[str]]:
    """The constants that the host fills, those of floating point as inputs by name, and the names of the others, of
    which nobody knows what they may be.
    """
    found, unknown = dict[str, _Table](), list[str]()
    for symbol, table in (one.flow.tables if one.flow else {}).items():
        source = source_name(symbol)
        kinds = {ELEMENTS.get(each, "") for each in table.types}
        dtype = kinds.pop() if len(kinds) == 1 else ""
        if dtype in NUMBERS and NUMBERS[dtype].is_float:
            name = _safe(unqualified(source))
            name += "_" * (name in (each.name for each in one.args))
            found[name] = _Table(source, dtype, table.size // NUMBERS[dtype].itemsize)
        else:
            unknown.append(source)
    return found, unknown


@dataclass(frozen=True)
class _Call:
    """The words of ``args``, the parameters, and the lines that say shapes and launch."""

    words: list[str]
    params: dict[str, str]
    shapes: list[str]
    launch: list[str]


def _structured(one: Signature, words: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The words of the kernel's arguments, and those of each structure: its fields, with what lies between them."""
    outside, structs, ends = list[str](), dict[str, list[str]](), Counter[str]()
    for each, word in zip(one.args, words, strict=True):
        if not (name := each.inside):
            outside.append(word)
            continue
        if name not in structs:
            outside.append(name)
        of = structs.setdefault(name, [])
        of += _gap(len(of), ends[name] + -ends[name] % each.size, each.key[1])
        of.append(word)
        ends[name] = each.key[1] + each.size
    for name, of in structs.items():
        widest = max(each.size for each in one.args if each.inside == name)
        of += _gap(len(of), ends[name] + -ends[name] % widest, one.structs[name])
    return outside, {name: " ".join(of) for name, of in structs.items()}


def _gap(number: int, at: int, end: int) -> list[str]:
    """Fields that fill what an alignment leaves, which is more than that of the field behind it."""
    return [f"gap_{number}_{i}:i32=0" for i in range((end - at) // 4)] if at < end else []


def _guessed(one: Signature, of: Mapping[str, str], lanes: int, has_inputs: bool) -> _Call:
    """The call of a kernel of which only names are known."""
    words, params = [], {}
    for each in one.args:
        guess = of[each.name]
        if each.is_pointer:
            words.append(each.name)
        elif each.name in ("num_dims", "numel"):
            words.append(f"{each.name}:{'u64' if each.size == 8 else 'i32'}")
        elif _COUNT.fullmatch(each.name) and guess in NUMBERS and not NUMBERS[guess].is_float:
            words.append(f"{each.name}:{guess}=numel")
        else:
            words.append(each.name)
            params[each.name] = guess
    pointers = [each.name for each in one.args if each.is_pointer and each.name != "info"]
    extent = "n" if lanes == 1 else f"{lanes}*n"
    told = "; ".join(f"{name}: {extent}" for name in pointers)
    shaped = [] if has_inputs and lanes == 1 else [f'    shapes="{told}",  # a guess']
    return _Call(words, params, shaped, [f"    block={_block(one)},  # {_LAUNCH}"])


def _told(
    one: Signature, of: Mapping[str, str], probed: InferredSpec, inputs: Mapping[str, str], updates: Mapping[str, str]
) -> _Call:
    """The call of a kernel of which launches tell the rest."""
    dims = set(probed.shapes.values())
    threads = math.prod(probed.block)
    (extent,) = dims if len(dims) == 1 else ("",)
    free = sorted(probed.names & _FREE)
    # A name that is no dim of a tensor with data is not drawn with the layouts.
    filled = {*inputs, *updates} or set(probed.shapes)
    told_by = {match[1] for each in filled for dim in probed.shapes[each].split() if (match := _DIM.fullmatch(dim))}
    drawn = dict.fromkeys(sorted(probed.names - told_by - {"threads"}), _DRAWN)
    # A thread per element, whatever the rank.
    by_any = probed.grid == ("1",) and one.flow is not None and one.flow.strided
    is_plain = (by_any or probed.grid == (f"ceil({extent}/{threads})",)) and len(probed.block) == 1
    is_plain = is_plain and bool(inputs or updates) and extent.isidentifier()
    is_plain = is_plain and not (
        drawn or probed.where or probed.threads or probed.shared or probed.indices or probed.bounds
    )
    idle = [each for each in one.args if _is_idle(each, of, probed)]
    # What grows with the square of a number, or has it many times, is slow soon.
    twice = [dim for each in probed.shapes.values() for dim, count in Counter(each.split()).items() if count > 1]
    many = [match[2] for each in probed.shapes.values() for match in _MANY.finditer(each)]
    many += [dim for each in probed.shapes.values() if _MANY.search(each) for dim in each.split() if dim in _FREE]
    words, params = [], dict.fromkeys(sorted(set(drawn) & _FREE), "i32")
    few = {**dict.fromkeys(twice, "(1, 2, 3, 7, 33, 64)"), **dict.fromkeys(many, "(1, 2, 3, 7)")}
    choices = {**drawn, **few, **probed.choices, **_masks(probed)}
    for each in one.args:
        kind, name = of[each.name], _safe(each.name)
        if name in probed.names:
            kind = each.dtype or kind
        if each.is_pointer:
            words.append(each.name)
        elif own := probed.distances.get(name) or probed.made.get(name):
            words.append(f"{name}:{each.dtype or kind}={own}")
        elif name in drawn:
            words.append(name)
            params[name] = kind
        elif is_plain and name == extent:
            words.append(f"numel:{kind}" if each.name == "numel" else f"{name}:{kind}=numel")
        elif name in probed.names:
            words.append(f"{name}:{kind}")
        elif idle == [each] and len(free) == 1 and _ROWS.fullmatch(name):
            words.append(f"{name}:{kind}={free[0]}")
        else:
            words.append(name)
            params[name] = kind
            if each.is_bool:
                choices[name] = "(0, 1)"
            elif each in idle and kind in NUMBERS:
                choices.setdefault(name, "(1, 2, 7)")
    told = "; ".join(f"{name}: {shape}" for name, shape in probed.shapes.items())
    lines = [] if is_plain else _text("shapes", told)
    # A size of nothing is left out: what is not written then is no output.
    where = (*probed.where, *(f"{places} > 0" for places in probed.indices.values()))
    where += tuple(f"{each.bound} > 0" for each in probed.bounds.values() if each.use == "offsets")
    data: dict[str, tuple[str, ...]]
    data = {each.name: ("0..1",) for each in one.args if each.is_bool and each.is_pointer and each.name in filled}
    data |= dict.fromkeys(probed.indices, _PLACES) | dict.fromkeys(probed.distinct, _BOUNDS["order"])
    data |= {name: _BOUNDS[each.use] for name, each in probed.bounds.items()}
    for name in sorted(probed.distinct):
        count, most = probed.shapes[name].replace(" ", "*"), probed.indices[name]
        where += (f"{count} <= {most}",)
        if count.isidentifier() and most not in told_by - {f"{name}_range"} and most != count:
            choices[most] = f'("{count}", "{count}+1", "2*{count}")'
    indices = dict(probed.indices)
    for name, supposed in probed.bounds.items():
        if supposed.use != "mask":
            indices[name] = f"{supposed.bound}+1" if supposed.bound else probed.shapes[name].replace(" ", "*")
    lines += _text("where", " and ".join(where)) if where else []
    if choices:
        told_choices = ", ".join(f'"{name}": {each}' for name, each in choices.items())
        lines.append(f"    choices={{{told_choices}}},")
    if indices:
        lines.append(f"    indices={_mapping(indices)},  # a guess")
    if data:
        told_data = ", ".join(f'"{name}": {_tuple(streams)}' for name, streams in data.items())
        lines.append(f"    data={{{told_data}}},")
    grid = [] if is_plain or by_any else [f'    grid="{", ".join(probed.grid)}",  # a guess']
    block = str(threads) if len(probed.block) == 1 else f'"{", ".join(map(str, probed.block))}"'
    block = f'"{probed.threads}"' if probed.threads else block
    shared = [f'    shared="{probed.shared}",  # a guess'] * bool(probed.shared)
    return _Call(words, params, lines, [*grid, f"    block={block},  # {_LAUNCH if is_plain else 'a guess'}", *shared])


def _masks(probed: InferredSpec) -> dict[str, str]:
    """The choices for numbers that elements are compared with."""
    return {each.bound: "(0, 1, 2)" for each in probed.bounds.values() if each.use == "mask" and each.bound}


def _layouts(probed: InferredSpec, written: set[str]) -> list[str]:
    """The line that says which strides tensors may have whose strides the kernel takes."""
    taken = Counter(text.partition(".")[0] for text in probed.distances.values())
    kinds = {}
    for name, count in taken.items():
        dims = len(probed.shapes[name].split())
        if count == dims:
            kinds[name] = "distinct" if name in written else "any"
        elif dims == 2:
            kinds[name] = "rows"
    return [f"    strides={_mapping(kinds)},  # a guess"] if kinds else []


def _short(line: str) -> list[str]:
    """A line, or several if it is a mapping that is too long for one."""
    begin, brace, rest = line.partition("{")
    inside, _, end = rest.rpartition("}")
    if len(line) <= 120 or not brace:
        return [line]
    parts = textwrap.wrap(f"{inside},", 110, break_long_words=False, break_on_hyphens=False)
    return [f"{begin}{{{end.removeprefix(',')}", *(f"        {part}" for part in parts), "    },"]


def _text(name: str, value: str) -> list[str]:
    """A keyword with a text, in several lines if it is long."""
    if len(value) <= 80:
        return [f'    {name}="{value}",  # a guess']
    parts = textwrap.wrap(value, 100, break_long_words=False, break_on_hyphens=False)
    return [
        f"    {name}=(  # a guess",
        *(f'        "{part} "' for part in parts[:-1]),
        f'        "{parts[-1]}"',
        "    ),",
    ]


def _is_strided(one: Signature, probed: InferredSpec | None) -> bool:
    """True if a kernel takes any number of blocks and of threads."""
    if probed:
        return probed.strided and not (probed.names & _FREE or one.shares)
    return one.flow is not None and one.flow.strided and not one.flow.crosses


def _kinds(alike: Sequence[Signature], written: set[str]) -> dict[str, str]:
    """The type of each argument: a variable if it changes with it from kernel to kernel, else a dtype."""
    types = [[SUFFIXES.get(spelt, spelt) for spelt in each.types] for each in alike]
    variables = variables_of(len(types[0]))
    found = {}
    for i, one in enumerate(alike[0].args):
        dtypes = [each.args[i].dtype for each in alike]
        # Of a number that is of one size in all kernels, the type has to be known.
        varies = one.is_pointer or len({each.args[i].size for each in alike}) > 1
        fitting = [
            variable
            for k, variable in enumerate(variables)
            if all(_may_be(each.args[i], of[k], varies) for each, of in zip(alike, types, strict=True))
        ]
        usual = _number(one, dict(zip(types[0], variables, strict=True)))
        if one.is_pointer:
            usual = variables[-1 if one.name in written else 0] if variables else "f32"
        found[one.name] = fitting[-1 if one.name in written else 0] if fitting else dtypes[0] or usual
    return found


def _may_be(argument: Taken, dtype: str, varies: bool) -> bool:
    """True if an argument, or what a pointer leads to, may be of a dtype; exactly that, unless it ``varies``."""
    if not varies or dtype not in NUMBERS:
        return argument.dtype == dtype
    known = NUMBERS.get(argument.dtype)
    size = known.itemsize if known and argument.is_pointer else 0 if argument.is_pointer else argument.size
    return size in (0, NUMBERS[dtype].itemsize)


def _probed(one: Signature, of: Mapping[str, str]) -> InferredSpec | str:
    """The facts that launches tell of a kernel, or why they do not; empty if none are asked."""
    if one.probe is None or any(each.name == "info" for each in one.args):
        return ""
    if one.flow is None:
        return one.probe((), None)
    types = dict(zip(variables_of(len(one.types)), one.types, strict=True))
    given = []
    for each in one.args:
        kind = types.get(of[each.name], of[each.name])
        found = NUMBERS.get(SUFFIXES.get(kind, kind))
        if found is None:
            return f"the sources here do not tell the fields of {each.name}, {each.size} bytes: say them in structs="
        given.append(
            LaunchArguments(each.name if each.is_pointer else _safe(each.name), found, each.is_pointer, each.key)
        )
    return one.probe(given, one.flow)


def _safe(name: str) -> str:
    """A name that means nothing else in a declaration."""
    return f"{name}_" if name in _OWN or name in FUNCTIONS or name in FREE or iskeyword(name) else name


def _is_idle(number: Taken, of: Mapping[str, str], probed: InferredSpec) -> bool:
    """True for a whole number that no shape and no grid depends on."""
    return _is_whole(number, of) and _safe(number.name) not in {*probed.names, *probed.distances, *probed.made}


def _is_whole(number: Taken, of: Mapping[str, str]) -> bool:
    kind = number.dtype or of[number.name]
    return not number.is_pointer and kind in NUMBERS and not NUMBERS[kind].is_float


def _block(one: Signature) -> str:
    """Threads of a block: those of a launch that are numbers, else of launch bounds, if they are fewer than usual."""
    for launch in one.launches:
        if all(isinstance(size, int) for size in launch.block):
            sizes = ", ".join(map(str, launch.block))
            return sizes if len(launch.block) == 1 else f'"{sizes}"'
    return str(min(256, math.prod(one.flow.threads)) if one.flow and one.flow.threads else 256)


def _host(one: Signature) -> str:
    """The place and the text of the first launch that the host makes; empty if none is known."""
    if not one.launches:
        return ""
    first = one.launches[0]
    return f"{first.path}:{first.at}, as {textwrap.shorten(first.text, 300)}"


def _written(pointers: list[Taken]) -> set[str]:
    """The pointers that are most likely written: those not to const, or the one that is called so, or the last."""
    if any(each.is_written is not None for each in pointers):
        return {each.name for each in pointers if each.is_written}
    called = [each.name for each in pointers if _WRITTEN.fullmatch(each.name)]
    return {*called[:1]} or {each.name for each in pointers[-1:]}


def _number(number: Taken, of: Mapping[str, str]) -> str:
    """The type of a number of which only the size is known."""
    real = _REAL.fullmatch(number.name) is not None
    if real and of:
        kind, variable = next(iter(of.items()))
        if kind in NUMBERS and NUMBERS[kind].itemsize == number.size:
            return variable
    sizes = {1: "u8", 2: "f16" if real else "i16", 4: "f32" if real else "i32", 8: "f64" if real else "u64"}
    return sizes.get(number.size, f"a struct of {number.size} bytes: say its fields in structs=")


def _tuple(values: Iterable[str]) -> str:
    quoted = [f'"{value}"' for value in dict.fromkeys(values)]
    return f"({', '.join(quoted)}{',' * (len(quoted) == 1)})"


def _mapping(values: Mapping[str, str]) -> str:
    return "{" + ", ".join(f'"{key}": "{value}"' for key, value in values.items()) + "}"
