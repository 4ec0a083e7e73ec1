"""The text of a case file that declares the kernels of a module, from what the compiler says of their arguments.

Where nvcc is there, its PTX shows which pointers are read, written or both, and which number bounds the index of an
element (``toolchain/ptx_dataflow.py``). Without it these are guesses from names, and said to be. Where the source
launches the kernel, grid and block are the host's (``host_launches``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath

from parity.cli.host_launches import HostLaunch, constants_of, host_launches
from parity.codeobject import Argument, Kernel, spelled, unqualified
from parity.dtypes import NUMBERS
from parity.errors import UsageError
from parity.expression import expression
from parity.toolchain.ptx_dataflow import Flow

__all__ = ["case_file"]

C_TYPES: Mapping[str, str] = {
    "float": "f32",
    "double": "f64",
    "__half": "f16",
    "half": "f16",
    "_Float16": "f16",
    "__hip_bfloat16": "bf16",
    "hip_bfloat16": "bf16",
    "bool": "u8",
    "unsigned char": "u8",
    "short": "i16",
    "int": "i32",
    "unsigned int": "u32",
    "long": "i64",
    "long long": "i64",
    "unsigned long": "u64",
    "unsigned long long": "u64",
}
"""The dtype of a type of C, as a demangler spells it."""
VECTORS: Mapping[str, str] = {
    **C_TYPES, "char": "i8", "uchar": "u8", "uint": "u32", "longlong": "i64", "ulonglong": "u64",
}  # fmt: skip
"""The dtype of the elements of a vector, by its name without their number: ``float4``."""

SUFFIXES: Mapping[str, str] = {**{name: name for name in NUMBERS}, "fp8_e4m3": "f8_e4m3", "half": "f16", **C_TYPES}
"""The endings that a name may have, and the dtype that each means."""

WRITTEN = re.compile(r"out|output|dst|dest|destination|result|res|y|c", re.IGNORECASE)
COUNT = re.compile(r"n|numel|el_count|n_?elements|num_elements|count|len|length|size", re.IGNORECASE)
REAL = re.compile(r".*(alpha|beta|eps|epsilon|scale|mul|add|lr|factor|slope|value|min|max).*", re.IGNORECASE)
_ENDING = re.compile(rf"(.+)_({'|'.join(sorted(map(re.escape, SUFFIXES), key=len, reverse=True))})")
_TEMPLATE = re.compile(r"(.+)<([^<>,]+)>")
_VECTOR = re.compile(r"(\w*[a-z])([234])")
_INTEGERS: Mapping[str, str] = {"u8": "u8", "s8": "i8", "u32": "i32", "s32": "i32", "u64": "u64", "s64": "i64"}
"""The dtype of a number, by the type that PTX has it as, which has no sign as a rule."""
_ELEMENTS: Mapping[str, str] = {"f32": "f32", "f64": "f64", "u8": "u8", "s8": "i8", "u32": "i32", "s32": "i32"}
"""The dtype of elements, by the type as which PTX reads or writes them; of 16 and 64 bits there are several."""
VARIABLES = ("T", "S", "R")
LINE = 120
"""Characters of a line at most."""
_OWN = frozenset(("numel", "num_dims", "info", "threads", "blocks"))
"""Names that a declaration gives a meaning of its own."""


@dataclass(frozen=True)
class Taken:
    """An argument: its dtype and whether it may be written are unknown (empty, None) of a kernel of C linkage.

    What PTX shows is None without it: ``is_input`` of what a pointer leads to, ``is_count`` of a number that bounds the
    index of an element; ``bounds`` are the pointers into which it bounds another index, as that of a row. ``lanes`` are
    the elements that are accessed at once; ``is_vector`` says that the type is one of so many, ``is_single`` that all
    threads access the same ones, ``by_block`` that blocks have elements of their own.
    """

    name: str
    dtype: str
    size: int
    is_pointer: bool
    is_written: bool | None = None
    is_input: bool | None = None
    is_count: bool | None = None
    bounds: tuple[str, ...] = ()
    lanes: int = 1
    is_vector: bool = False
    is_single: bool = False
    by_block: bool = False


@dataclass(frozen=True)
class Signature:
    """A kernel with its type variables taken out of the name; ``types`` are what they stand for, as spelled.

    ``called`` is its name in the source, without namespaces and template arguments.
    """

    pattern: str
    types: tuple[str, ...]
    args: tuple[Taken, ...]
    text: str
    called: str
    flow: Flow | None = None


@dataclass(frozen=True)
class Host:
    """What a ``file`` says of a kernel: the host's first launch there, and the ``constants`` that it reads."""

    file: str
    launch: HostLaunch | None = None
    constants: tuple[str, ...] = ()


def case_file(
    source: PurePath,
    module: str,
    kernels: Iterable[Kernel],
    flows: Mapping[str, Flow] | None = None,
    text: str = "",
) -> str:
    """A case file with an op for each kernel of a file; those that differ only in their dtypes are one.

    ``flows`` are what PTX shows of kernels, by symbol. Without it, which pointers are written, and what numbers mean,
    is a guess from names, and said to be one. ``text`` is that of the file, in which the host may launch them.
    """
    groups: dict[tuple[str, tuple[str, ...]], list[Signature]] = {}
    for kernel in kernels:
        one = _signature(kernel, (flows or {}).get(kernel.name))
        groups.setdefault((one.pattern, tuple(each.name for each in one.args)), []).append(one)
    name = re.sub(r"\W+", "_", module)
    place = "" if source.as_posix() == f"{name}.cu" else source.as_posix()
    taken = {one.called: tuple(each.name for each in one.args) for alike in groups.values() for one in alike}
    launches, constants = (host_launches(text, taken), constants_of(text, taken)) if text else ({}, {})
    ops = "\n\n".join(
        _op(name, place, each, Host(source.name, launches.get(each[0].called), constants.get(each[0].called, ())))
        for each in groups.values()
    )
    head = f'"""{source.name}: what its kernels compute, and how they are called. Written by parity init."""'
    return f"{head}\n\nfrom parity.op import Op\n\n{ops}\n"


def _signature(kernel: Kernel, flow: Flow | None) -> Signature:
    names = spelled(kernel.name) or (kernel.name,)
    pattern, types = names[0], list[str]()
    if match := _TEMPLATE.fullmatch(pattern):
        if match[2] in C_TYPES:
            pattern, types = f"{match[1]}<{{T}}>", [match[2]]
    else:
        while len(types) < len(VARIABLES) and (match := _ENDING.fullmatch(pattern)):
            pattern, types = match[1], [match[2], *types]
        pattern += "".join(f"_{{{variable}}}" for variable in _variables(len(types)))
    declared = _types_of(names[1]) if len(names) > 1 else []
    args = []
    for i, argument in enumerate(kernel.args):
        c_type = declared[i] if len(declared) == len(kernel.args) else ""
        is_written = None if not c_type else "const" not in c_type
        is_pointer = argument.kind != "by_value"
        dtype, lanes = _dtype(c_type)
        taken = Taken(
            _name(argument, i), dtype, argument.size, is_pointer, is_written, lanes=lanes, is_vector=lanes > 1
        )
        args.append(_seen(taken, i, flow, [_name(each, k) for k, each in enumerate(kernel.args)], c_type))
    shown = f"{names[-1]}({', '.join(each.name for each in args)})" if len(names) == 1 else names[-1]
    return Signature(pattern, tuple(types), tuple(args), shown, unqualified(names[0]), flow)


def _seen(taken: Taken, place: int, flow: Flow | None, names: list[str], c_type: str) -> Taken:
    """The argument with what PTX shows of it."""
    if flow is None or len(flow.types) != len(names) or (place, 0) in flow.escaped:
        return taken
    use, bound, of = flow.uses.get((place, 0)), flow.bounds.get((place, 0)), flow.types[place]
    if use is None and not ("*" in c_type or (taken.is_pointer and of in ("u64", "b64") and bound is None)):
        places = {*(bound.pointers if bound else ()), *flow.pitches.get((place, 0), ())}
        other = tuple(dict.fromkeys(names[i] for i, _ in sorted(places)))
        outputs = {key for key, each in flow.uses.items() if each.writes}
        several = sum(bool(each.direct & outputs) for each in flow.bounds.values()) > 1
        return replace(
            taken,
            is_pointer=False,
            dtype=taken.dtype or (of if of in ("f32", "f64") else _INTEGERS.get(of, "")),
            is_count=bound is not None and bool(bound.direct & outputs) and not several,
            bounds=other,
        )
    found = {_ELEMENTS.get(each, "") for each in use.types} if use else set()
    dtype = taken.dtype or (found.pop() if len(found) == 1 else "")
    lanes = use.width // NUMBERS[dtype].itemsize if use and dtype in NUMBERS else 1
    return replace(
        taken,
        is_pointer=True,
        lanes=taken.lanes if taken.is_vector else max(1, lanes),
        dtype=dtype,
        is_written=bool(use and use.writes),
        is_input=use is None or use.is_input,
        is_single=use is not None and use.is_single,
        by_block=use is not None and use.by_block,
    )


def _variables(count: int) -> tuple[str, ...]:
    """Names of type variables: T alone; S and T where one type goes to another."""
    return {0: (), 1: ("T",), 2: ("S", "T")}.get(count, ("R", "S", "T"))


def _name(argument: Argument, i: int) -> str:
    name = argument.name.rpartition(".")[0] or argument.name
    return name if name.isidentifier() else f"argument_{i}"


def _types_of(signature: str) -> list[str]:
    """The types of the arguments in a demangled signature."""
    inside = signature[signature.rindex("(") + 1 : -1]
    return [part.strip() for part in inside.split(",")] if "<" not in inside else []


def _dtype(c_type: str) -> tuple[str, int]:
    """The dtype of a type of C, or of the elements of a vector, and their number."""
    bare = " ".join(re.sub(r"\bconst\b|\bvolatile\b|\*|\b__restrict__\b", "", c_type).split())
    if (vector := _VECTOR.fullmatch(bare)) and vector[1] in VECTORS:
        return VECTORS[vector[1]], int(vector[2])
    return C_TYPES.get(bare, ""), 1


def _op(module: str, source: str, alike: list[Signature], host: Host) -> str:
    one = alike[0]
    if not any(each.is_pointer for each in one.args):
        return f"# {one.text}: it has no output that it is given, so nothing can be compared"
    variables = dict(zip(_variables(len(one.types)), one.types, strict=True))
    of = {SUFFIXES.get(spelt, spelt): variable for variable, spelt in reversed(variables.items())}
    names = list(variables) or ["f32"]
    pointers = [each for each in one.args if each.is_pointer and each.name != "info"]
    written = _written(pointers)
    axes = sorted(one.flow.axes - {"x"}) if one.flow else []
    is_seen = any(each.is_input is not None for each in pointers)
    if not written:
        return f"# {one.text}: it writes to nothing that it is given, so nothing can be compared"
    inputs = {each.name: of.get(each.dtype, each.dtype) or names[0] for each in pointers if each.name not in written}
    others = {each.name: of.get(each.dtype, each.dtype) or names[-1] for each in pointers if each.name in written}
    updated = {each.name for each in pointers if each.is_input} if is_seen else set[str]() if inputs else set(others)
    outputs = {name: kind for name, kind in others.items() if name not in updated}
    updates = {name: kind for name, kind in others.items() if name in updated}
    lanes = max(each.lanes for each in pointers)
    # The number of elements counts vectors where the type is one, else what they are of.
    counts_vectors = any(each.is_vector for each in pointers)
    extent = "n" if counts_vectors or lanes == 1 else f"{lanes}*n"
    shapes = {each.name: f"{each.lanes}*n" if counts_vectors and each.lanes > 1 else extent for each in pointers}
    single = [each for each in pointers if each.is_single]
    # Where further numbers bound an index, as those of rows and of columns do, all of them are extents.
    bounding = [each for each in one.args if each.bounds and _integer(each, of)] if _others(one.args) else []
    if not _OWN.isdisjoint(each.name for each in one.args):
        bounding = []
    # A block for each row, of which nothing tells the number.
    rows = bool(bounding) and one.flow is not None and not one.flow.by_thread and not axes
    rows = rows and any(each.by_block for each in pointers) and "rows" not in {each.name for each in one.args}
    if bounding:
        shapes = {each.name: _extents(each, bounding, counts_vectors, rows) for each in pointers}
    shapes |= {each.name: str(each.lanes) for each in single}
    count = "rows" if rows else "numel" if lanes == 1 and not single else extent
    guess_of_roles = "" if is_seen else "  # a guess: written; updates= are read as well"
    words, params = [], {}
    for each in one.args:
        name, wide = each.name, "u64" if each.size == 8 else "i32"
        guess = of.get(each.dtype, each.dtype) or _number(each, of)
        if each.is_pointer:
            words.append(name)
        elif each in bounding:
            words.append(f"{name}:{guess}")
        elif name in ("num_dims", "numel"):
            words.append(f"{name}:{wide}")
        elif _is_count(each) and guess in NUMBERS and not NUMBERS[guess].is_float:
            words.append(f"{name}:{guess}={count}")
        else:
            words.append(name)
            params[name] = guess
    usual = next(iter(others.values())) if not variables else "f32"
    types = [",".join(SUFFIXES.get(spelt, spelt) for spelt in each.types) or usual for each in alike]
    counts = {word.partition(":")[0]: count for word in words if word.endswith(f"={count}")}
    spelling = {SUFFIXES[s]: s for each in alike for s in each.types if SUFFIXES.get(s, s) != s}
    told = "; ".join(f"{name}: {shape}" for name, shape in shapes.items())
    shaped = [f'    shapes="{told}",  # a guess'] if bounding or single or lanes > 1 or not (inputs or updates) else []
    if bounding and lanes > 1 and not counts_vectors:
        shaped.append(f'    where="{bounding[-1].name} % {lanes} == 0",')
    shaped += ['    strides="aligned",'] * (lanes > 1) + ["    writes=True,"] * (not (inputs or updates))
    known = {*(each.name for each in bounding), *params, *(["rows"] if rows else []), *([] if shaped else ["numel"])}
    title = re.sub(r"\W+", "_", re.sub(r"_?<?\{\w\}>?", "", one.pattern)).strip("_")
    lines = [
        f"# {one.text}" + (f", and {len(alike) - 1} more" if len(alike) > 1 else ""),
        f"{title}_op = Op(",
        f'    "{module}.{title}",',
        *([f'    source="{source}",'] if source else []),
        f'    kernel="{one.pattern}",',
        f"    types={_tuple(types)},",
        *([f"    spelling={_mapping(spelling)},"] if spelling else []),
        f'    args="{" ".join(words)}",',
        *shaped,
        *([f"    inputs={_mapping(inputs)},"] if inputs else []),
        *([f"    outputs={_mapping(outputs)},{guess_of_roles}"] if outputs else []),
        *([f"    updates={_mapping(updates)},{guess_of_roles}"] if updates else []),
        *([f"    params={_mapping(params)},  # drawn; what the host computes is rows:i32=..."] if params else []),
        *_constants(host, inputs),
        *(
            _hosts(host, counts, known, rows)
            or [
                *(['    grid="rows",  # a guess'] if rows else []),
                *_launch(one, bounding, axes, not rows and len(pointers) > len(single) > 0),
            ]
        ),
        f"    grid_stride={one.flow is not None and one.flow.strided},",
        f"    # reference=...,  # a function of {', '.join((*inputs, *params)) or 'nothing'}; none: CUDA's side judges",
        ")",
    ]
    return "\n".join(lines)


def _integer(number: Taken, of: Mapping[str, str]) -> bool:
    kind = number.dtype or _number(number, of)
    return not number.is_pointer and kind in NUMBERS and not NUMBERS[kind].is_float


def _extents(pointer: Taken, bounding: list[Taken], counts_vectors: bool, rows: bool) -> str:
    """The extents of what a pointer leads to: the numbers that bound an index into it, and the ``rows`` of blocks."""
    names = [each.name for each in bounding if pointer.name in each.bounds]
    if rows and pointer.by_block:
        names.insert(0, "rows")
    names = names or [each.name for each in bounding]
    if counts_vectors and pointer.lanes > 1:
        names[-1] = f"{pointer.lanes}*{names[-1]}"
    return " ".join(names)


def _constants(host: Host, inputs: Mapping[str, str]) -> list[str]:
    """Comments about what else the kernel needs: constant memory that the host fills, and ids that are in range."""
    symbols = [
        f'    # symbols={{"{name}": ...}},  # what the host copies to __constant__ {name}: an input, or a function'
        for name in host.constants
    ]
    floats = any(kind in NUMBERS and NUMBERS[kind].is_float for kind in inputs.values())
    ids = [name for name, kind in inputs.items() if floats and kind in ("i32", "u32", "i64", "u64")]
    indices = [
        f'    # indices={{"{name}": ...}},  # the number of places, if its elements are ids of such' for name in ids
    ]
    return symbols + indices


def _hosts(host: Host, counts: Mapping[str, str], known: Iterable[str], rows: bool) -> list[str]:
    """The lines about the launch as the host has it; none if it has none that can be said in names of the op.

    ``counts`` are the names of arguments that are the number of elements, and what the op calls that. With a block for
    each of the ``rows``, a single name that the kernel is not given is their number.
    """
    if not (launch := host.launch):
        return []
    if rows and len(launch.grid) == 1 and launch.grid[0].isidentifier() and launch.grid[0] not in {*known, *counts}:
        counts = {**counts, launch.grid[0]: "rows"}
    fields = {"grid": launch.grid, "block": launch.block, "shared": (launch.shared or "0",)}
    said = {name: [_in_names(each, counts, known) for each in axes] for name, axes in fields.items()}
    if not all(map(all, said.values())):
        return []
    values = {
        name: axes[0] if axes[0].isdigit() and len(axes) == 1 else f'"{", ".join(axes)}"' for name, axes in said.items()
    }
    lines = [f"    {name}={value}," for name, value in values.items() if value != "0"]
    comment = f"    # {host.file}:{launch.line}: {launch.text}"
    return [comment if len(comment) <= LINE else f"{comment[: LINE - 3]}...", *lines]


def _in_names(text: str, counts: Mapping[str, str], known: Iterable[str]) -> str:
    """An expression with the names that the op has; empty if it has others."""
    text = re.sub(r"\b[A-Za-z_]\w*\b", lambda match: counts.get(match[0], match[0]), text)
    try:
        return text if expression(text).names <= {*known, *counts.values()} else ""
    except UsageError:
        return ""


def _launch(one: Signature, bounding: list[Taken], axes: list[str], reduces: bool) -> list[str]:
    """The lines about the launch: of pictures, whose blocks lie in rows and columns, 16 x 16 threads; of a kernel that
    ``reduces``, one for each element that it does not reduce to.
    """
    names = [each.name for each in bounding]
    threads = _block(one.flow)
    if len(names) == 2 and axes == ["y"] and not (one.flow and one.flow.threads):
        return [f'    grid="ceil({names[1]}/16), ceil({names[0]}/16)",  # a guess', '    block="16, 16",  # a guess']
    guess = "a guess: the host's; say grid= and shapes= if not a thread per element"
    told = [f"    # its blocks are told apart along {' and '.join(axes)}: say grid="] if axes else []
    grid = [f'    grid="ceil({"*".join(names) or "n"}/{threads})",  # a guess'] if reduces and not axes else []
    return [*grid, f"    block={threads},  # {guess}", *told]


def _is_count(number: Taken) -> bool:
    """True for the number of elements, as PTX shows it, else as it is called."""
    return bool(number.is_count) or (not number.bounds and COUNT.fullmatch(number.name) is not None)


def _others(args: Iterable[Taken]) -> list[Taken]:
    """The numbers that bound an index and are not the number of elements."""
    return [each for each in args if each.bounds and not each.is_count]


def _block(flow: Flow | None) -> int:
    """Threads of a block: those of the launch bounds, if they are fewer than usual."""
    return min(256, math.prod(flow.threads)) if flow and flow.threads else 256


def _written(pointers: list[Taken]) -> set[str]:
    """The pointers that are most likely written: those not to const, or the one that is called so, or the last."""
    if any(each.is_written is not None for each in pointers):
        return {each.name for each in pointers if each.is_written}
    called = [each.name for each in pointers if WRITTEN.fullmatch(each.name)]
    return {*called[:1]} or {each.name for each in pointers[-1:]}


def _number(number: Taken, of: Mapping[str, str]) -> str:
    """The type of a number of which only the size is known."""
    real = REAL.fullmatch(number.name) is not None
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
