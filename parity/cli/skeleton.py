"""The text of a case file that declares the kernels of a module, from what the compiler says of their arguments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath

from parity.codeobject import Argument, Kernel, spelled
from parity.dtypes import NUMBERS

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

SUFFIXES: Mapping[str, str] = {**{name: name for name in NUMBERS}, "fp8_e4m3": "f8_e4m3", "half": "f16", **C_TYPES}
"""The endings that a name may have, and the dtype that each means."""

WRITTEN = re.compile(r"out|output|dst|dest|destination|result|res|y|c", re.IGNORECASE)
COUNT = re.compile(r"n|numel|el_count|n_?elements|num_elements|count|len|length|size", re.IGNORECASE)
REAL = re.compile(r".*(alpha|beta|eps|epsilon|scale|mul|add|lr|factor|slope|value|min|max).*", re.IGNORECASE)
_ENDING = re.compile(rf"(.+)_({'|'.join(sorted(map(re.escape, SUFFIXES), key=len, reverse=True))})")
_TEMPLATE = re.compile(r"(.+)<([^<>,]+)>")
VARIABLES = ("T", "S", "R")


@dataclass(frozen=True)
class Taken:
    """An argument: its dtype and whether it may be written are unknown (empty, None) of a kernel of C linkage."""

    name: str
    dtype: str
    size: int
    is_pointer: bool
    is_written: bool | None = None


@dataclass(frozen=True)
class Signature:
    """A kernel with its type variables taken out of the name; ``types`` are what they stand for, as spelled."""

    pattern: str
    types: tuple[str, ...]
    args: tuple[Taken, ...]
    text: str


def case_file(source: PurePath, module: str, kernels: Iterable[Kernel]) -> str:
    """A case file with an op for each kernel of a file; those that differ only in their dtypes are one.

    Which pointers are written, and what numbers mean, is a guess from names, and said to be one.
    """
    groups: dict[tuple[str, tuple[str, ...]], list[Signature]] = {}
    for kernel in kernels:
        one = _signature(kernel)
        groups.setdefault((one.pattern, tuple(each.name for each in one.args)), []).append(one)
    name = re.sub(r"\W+", "_", module)
    place = "" if source.as_posix() == f"{name}.cu" else source.as_posix()
    ops = "\n\n".join(_op(name, place, each) for each in groups.values())
    head = f'"""{source.name}: what its kernels compute, and how they are called. Written by parity init."""'
    return f"{head}\n\nfrom parity.op import Op\n\n{ops}\n"


def _signature(kernel: Kernel) -> Signature:
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
    for place, argument in enumerate(kernel.args):
        c_type = declared[place] if len(declared) == len(kernel.args) else ""
        is_written = None if not c_type else "const" not in c_type
        is_pointer = argument.kind != "by_value"
        args.append(Taken(_name(argument, place), _dtype(c_type), argument.size, is_pointer, is_written))
    shown = f"{names[-1]}({', '.join(each.name for each in args)})" if len(names) == 1 else names[-1]
    return Signature(pattern, tuple(types), tuple(args), shown)


def _variables(count: int) -> tuple[str, ...]:
    """Names of type variables: T alone; S and T where one type goes to another."""
    return {0: (), 1: ("T",), 2: ("S", "T")}.get(count, ("R", "S", "T"))


def _name(argument: Argument, place: int) -> str:
    name = argument.name.rpartition(".")[0] or argument.name
    return name if name.isidentifier() else f"argument_{place}"


def _types_of(signature: str) -> list[str]:
    """The types of the arguments in a demangled signature."""
    inside = signature[signature.rindex("(") + 1 : -1]
    return [part.strip() for part in inside.split(",")] if "<" not in inside else []


def _dtype(c_type: str) -> str:
    bare = re.sub(r"\bconst\b|\bvolatile\b|\*|\b__restrict__\b", "", c_type)
    return C_TYPES.get(" ".join(bare.split()), "")


def _op(module: str, place: str, alike: list[Signature]) -> str:
    one = alike[0]
    variables = dict(zip(_variables(len(one.types)), one.types, strict=True))
    of = {SUFFIXES.get(spelt, spelt): variable for variable, spelt in reversed(variables.items())}
    names = list(variables) or ["f32"]
    pointers = [each for each in one.args if each.is_pointer and each.name != "info"]
    written = _written(pointers)
    inputs = {each.name: of.get(each.dtype, each.dtype) or names[0] for each in pointers if each.name not in written}
    others = {each.name: of.get(each.dtype, each.dtype) or names[-1] for each in pointers if each.name in written}
    words, params = [], {}
    for each in one.args:
        name, wide = each.name, "u64" if each.size == 8 else "i32"
        guess = of.get(each.dtype, each.dtype) or _number(each, of)
        if each.is_pointer:
            words.append(name)
        elif name in ("num_dims", "numel"):
            words.append(f"{name}:{wide}")
        elif COUNT.fullmatch(name) and guess in NUMBERS and not NUMBERS[guess].is_float:
            words.append(f"{name}:{guess}=numel")
        else:
            words.append(name)
            params[name] = guess
    types = [",".join(SUFFIXES.get(spelt, spelt) for spelt in each.types) or "f32" for each in alike]
    spelling = {SUFFIXES[s]: s for each in alike for s in each.types if SUFFIXES.get(s, s) != s}
    title = re.sub(r"\W+", "_", re.sub(r"_?<?\{\w\}>?", "", one.pattern)).strip("_")
    lines = [
        f"# {one.text}" + (f", and {len(alike) - 1} more" if len(alike) > 1 else ""),
        f"{title}_op = Op(",
        f'    "{module}.{title}",',
        *([f'    source="{place}",'] if place else []),
        f'    kernel="{one.pattern}",',
        f"    types={_tuple(types)},",
        *([f"    spelling={_mapping(spelling)},"] if spelling else []),
        f'    args="{" ".join(words)}",',
        *([f"    inputs={_mapping(inputs)},"] if inputs else []),
        f"    {'outputs' if inputs else 'updates'}={_mapping(others)},  # a guess: written; updates= are read as well",
        *([f"    params={_mapping(params)},  # drawn; what the host computes is rows:i32=..."] if params else []),
        "    block=256,  # a guess: the host's; say grid= and shapes= if it is not a thread per element",
        "    grid_stride=False,",
        f"    # reference=...,  # a function of {', '.join((*inputs, *params)) or 'nothing'}; none: CUDA's side judges",
        ")",
    ]
    return "\n".join(lines)


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
