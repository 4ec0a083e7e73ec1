"""Reads the arguments of a kernel from its signature and its PTX: dtypes, and whether they are read and written."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from parity.inference.data_flow import BEHIND, ROW, VARIABLE, Flow, Key, Table
from parity.inference.host_launches import HostLaunch
from parity.inference.keywords import safe_name
from parity.inference.ptx_registers import bytes_of
from parity.inference.spec import CONSTANT, InferredSpec, KernelArgument
from parity.inference.structures import Field, Structures, glm_vector
from parity.inference.textures import texture_text
from parity.model.code_object import Argument, Kernel, source_name, spelled, unqualified
from parity.model.dtypes import NUMBERS, Array
from parity.triton_kernels.kernel import TritonKernel

Probe = Callable[[Sequence[KernelArgument], Flow | None, bool], InferredSpec | str]
"""Launches a kernel and returns what that shows of its arguments, or why it shows nothing.

The last argument asks for the specification of a single launch.
"""

_C_TYPES: Mapping[str, str] = {
    "float": "f32", "double": "f64", "__half": "f16", "half": "f16", "_Float16": "f16", "c10::Half": "f16",
    "c10::BFloat16": "bf16", "__hip_bfloat16": "bf16", "hip_bfloat16": "bf16", "bool": "u8", "signed char": "i8",
    "unsigned char": "u8", "short": "i16",
    "unsigned short": "i16", "int": "i32", "unsigned int": "u32", "long": "i64", "long long": "i64",
    "unsigned long": "u64", "unsigned long long": "u64", "__nv_bfloat16": "bf16",
    "__nv_fp8_e4m3": "f8_e4m3", "__hip_fp8_e4m3": "f8_e4m3", "__hip_fp8_e4m3_fnuz": "f8_e4m3",
}  # fmt: skip
"""The dtype of a C type, as a demangler spells it."""
_VECTORS: Mapping[str, str] = {
    **_C_TYPES, "char": "i8", "ushort": "i16", "uchar": "u8", "uint": "u32", "longlong": "i64", "ulonglong": "u64",
}  # fmt: skip
"""The dtype of a vector's elements, by its name without the number: ``float`` for ``float4``."""

SUFFIXES: Mapping[str, str] = {**{name: name for name in NUMBERS}, "fp8_e4m3": "f8_e4m3", "half": "f16", **_C_TYPES}
"""Suffixes of kernel names, with the dtype that each means."""

_ENDING = re.compile(rf"(.+)_({'|'.join(sorted(map(re.escape, SUFFIXES), key=len, reverse=True))})")
_TEMPLATE = re.compile(r"(.+)<([^<>,]+)>")
_VECTOR = re.compile(r"(\w+)([234])")
_INTEGERS: Mapping[str, str] = {"u8": "u8", "s8": "i8", "u32": "i32", "s32": "i32", "u64": "u64", "s64": "i64"}
"""The dtype of a number by its PTX type, which rarely has a sign."""
_ELEMENTS: Mapping[str, str] = {
    "f32": "f32", "f64": "f64", "u8": "u8", "s8": "i8", "u32": "i32", "s32": "i32", "s16": "i16", "u64": "i64",
    "s64": "i64", "f16": "f16", "f16x2": "f16", "bf16": "bf16", "bf16x2": "bf16",
}  # fmt: skip
"""The dtype of elements by the PTX type of accesses. A 16-bit type may stand for several."""
_LOADED: Mapping[str, tuple[str, int]] = {
    f"{letter}{8 * size}": (c_type, size)
    for size, c_type in ((1, "bool"), (2, "short"), (4, "int"), (8, "long long"))
    for letter in "bsu"
} | {"s8": ("signed char", 1), "f32": ("float", 4), "f64": ("double", 8)}
"""The C type and the size of what an instruction loads, by its PTX type. A byte without a sign may be a ``bool``."""
_HALVES = ("f16", "bf16")
"""The dtypes of 16-bit floating-point numbers."""
_SCALAR_SIZES = (1, 2, 4, 8)
"""The sizes of arguments that are numbers unless the sources say otherwise."""
_POINTER, _WORD = 8, 4
"""Bytes of a pointer, and of a word."""
_VARIABLES = ("T", "S", "R")
_CONST = re.compile(r"\bconst\b[^*]*\*")
"""Matches the type of a pointer to what is constant."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel. For C linkage without PTX, ``dtype`` is empty and ``is_written`` is None.

    ``is_input`` is None without PTX. ``lanes`` is the number of elements per access, and 2 for a structure of other
    elements. ``is_vector`` is True for vector types and such structures, ``is_empty`` for a structure without fields,
    and ``is_typed`` if the sources state the type. ``values`` are the enumerators of an enumeration. ``key`` is the
    position, and the byte offset for a field of the structure ``inside``. ``texture`` declares the texture or surface
    object of a tensor, and ``is_rows`` is True for a tensor to whose rows an array points.
    """

    name: str
    dtype: str
    size: int
    is_pointer: bool
    is_written: bool | None = None
    is_input: bool | None = None
    lanes: int = 1
    is_vector: bool = False
    is_bool: bool = False
    is_empty: bool = False
    is_typed: bool = False
    key: tuple[int, int] = (0, 0)
    inside: str = ""
    values: tuple[int, ...] = ()
    texture: str = ""
    is_rows: bool = False


@dataclass(frozen=True)
class Signature:
    """A kernel whose name has type variables instead of ``types``.

    ``shares`` is True if threads of a block share memory. ``structs`` maps structures to their size in bytes; their
    fields are among ``args``, also if the kernel gets a pointer to the structure. ``launches`` are those in host code.
    ``triton`` is the declaration of a Triton function, whose ``@triton.autotune`` lists so many ``configurations``.
    """

    pattern: str
    types: tuple[str, ...]
    args: tuple[Parameter, ...]
    text: str
    flow: Flow | None = None
    probe: Probe | None = None
    shares: bool = False
    structs: Mapping[str, int] = field(default_factory=dict)
    launches: tuple[HostLaunch, ...] = ()
    triton: TritonKernel | None = None
    configurations: int = 0
    symbol: str = ""

    @property
    def tensors(self) -> list[Parameter]:
        """The parameters that are tensors."""
        return [each for each in self.args if _is_tensor(each)]


def _is_tensor(parameter: Parameter) -> bool:
    return parameter.is_pointer and parameter.name != "info"


def read_signature(kernel: Kernel, flow: Flow | None, probe: Probe | None, structures: Structures | None) -> Signature:
    """Return the signature of a kernel, with what PTX and the declared structures show of its parameters."""
    if flow and structures:
        flow = _with_declared_constants(flow, structures)
    names = spelled(kernel.name) or (kernel.name,)
    pattern, types = names[0], list[str]()
    if match := _TEMPLATE.fullmatch(pattern):
        if match[2] in _C_TYPES:
            pattern, types = f"{match[1]}<{{T}}>", [match[2]]
    else:
        while len(types) < len(_VARIABLES) and (match := _ENDING.fullmatch(pattern)):
            pattern, types = match[1], [match[2], *types]
        pattern += "".join(f"_{{{variable}}}" for variable in type_variables(len(types)))
    from_source = structures.parameters(kernel.name) if structures else []
    declared = _types_of(names[1]) if len(names) > 1 else from_source
    typed = flow if flow and len(flow.types) == len(kernel.args) else None
    args, structs = list[Parameter](), dict[str, int]()
    for i, argument in enumerate(kernel.args):
        c_type = declared[i] if len(declared) == len(kernel.args) else ""
        name, is_pointer = _name(argument, i), argument.kind != "by_value"
        size, begin = argument.size, 0
        if flow and any(place == i and offset >= BEHIND for place, offset in flow.loaded):
            is_pointer, begin = False, BEHIND
            size, fields = _fields_behind(name, i, _bare(c_type), flow, structures)
        else:
            fields = structures.fields(c_type, size) if structures and not is_pointer else ()
            is_struct = size not in _SCALAR_SIZES or (
                flow is not None and not _dtype(c_type)[0] and any(at == i and byte for at, byte in flow.loaded)
            )
            if not fields and flow and not is_pointer and is_struct:
                fields = _loaded_fields(name, i, size, flow)
        if len(fields) > 1 or (fields and size not in _SCALAR_SIZES) or begin:
            structs[name] = size
        inside = name if name in structs else ""
        for each in fields if inside else (Field(name, c_type, 0, size),):
            args.append(_parameter(each, (i, begin + each.offset), inside, structures, typed, is_pointer=is_pointer))
    for place, (symbol, size) in flow.holders.items() if flow else ():
        holder, fields = _fields_of_holder(place, symbol, size, flow, structures)
        structs[holder] = size
        for each in fields:
            args.append(_parameter(each, (place, each.offset), holder, structures, typed, is_pointer=False))
    kernel_name = unqualified(source_name(kernel.name))
    source = structures.from_kernel(kernel_name) if structures and flow and flow.textures else ""
    args = [_textured(each, flow, source) for each in args]
    twice = {name for name, count in Counter(each.name for each in args).items() if count > 1}
    twice |= {"x", "y", "z", "w"}  # the fields of vectors
    args = [replace(e, name=f"{e.inside}_{e.name}") if e.inside and e.name in twice else e for e in args]
    args = [replace(e, name=safe_name(e.name, of_tensor=True)) if _is_tensor(e) else e for e in args]
    given = ", ".join(dict.fromkeys(each.inside or each.name for each in args if each.key[0] < VARIABLE))
    shown = f"{names[-1]}({given})" if len(names) == 1 else names[-1]
    shares = kernel.lds_bytes > 0 or any(each.kind == "hidden_dynamic_lds_size" for each in kernel.hidden)
    return Signature(pattern, tuple(types), tuple(args), shown, flow, probe, shares, structs, symbol=kernel.name)


def _parameter(
    field: Field, key: Key, inside: str, structures: Structures | None, flow: Flow | None, *, is_pointer: bool
) -> Parameter:
    """Return a parameter, or a field of one, as the source declares it, with what PTX shows of it."""
    c_type, bare = field.c_type, _bare(field.c_type)
    dtype, lanes = _dtype(c_type)
    if not dtype and structures and "*" in c_type:  # a structure with a single type is a tensor of it
        dtype, _ = _dtype(structures.element(bare))
    if "*" in c_type and not dtype and bare not in ("", "void", "char", *_C_TYPES):
        lanes = 2
    is_written = None if not c_type or inside else "const" not in c_type
    is_empty = field.size == 1 and bare not in ("", "bool", "char", *_C_TYPES) and not is_pointer
    is_empty &= not (structures and structures.fields(bare, 1))
    values = structures.enumerators(bare) if structures and "*" not in c_type else ()
    declared = Parameter(
        field.name, "u8" if is_empty else dtype, field.size, is_pointer or "*" in c_type, is_written, None,
        lanes, lanes > 1, bare == "bool", is_empty, bool(dtype), key, inside, values,
    )  # fmt: skip
    if flow is None or key in flow.escaped or key in flow.textures:
        return declared
    if (rows := (key[0], ROW)) in flow.uses and not key[1] and flow.uses[rows].types:
        dtype, lanes = _dtype(bare)
        declared = replace(declared, dtype=dtype, lanes=lanes, is_vector=lanes > 1, is_typed=bool(dtype))
        return _seen(replace(declared, key=rows, is_rows=True), flow, c_type)
    return _seen(declared, flow, c_type)


def _fields_of_holder(
    place: int, symbol: str, size: int, flow: Flow | None, structures: Structures | None
) -> tuple[str, tuple[Field, ...]]:
    """Return a name for what a variable holds, and its fields: as declared, or what the kernel loads."""
    name = safe_name(unqualified(source_name(symbol)))
    declared = structures.of_variable(name) if structures else None
    if declared and declared[0] == size:
        fields = declared[1]
    else:
        fields = _loaded_fields(name, place, size, flow) if flow else ()
    return (name, fields) if len(fields) > 1 else (f"at_{name}", (replace(fields[0], name=name),))


def _fields_behind(
    name: str, place: int, c_type: str, flow: Flow, structures: Structures | None
) -> tuple[int, tuple[Field, ...]]:
    """Return the size and the fields of a structure in memory: as the sources show it, or what the kernel loads."""
    loaded = {at - BEHIND: kind for (of, at), kind in flow.loaded.items() if of == place and at >= BEHIND}
    if structures and (known := structures.whole(c_type)):
        size, fields = known
        if any(of == place and at >= BEHIND for of, at in flow.uses):
            return known
        return size, tuple(each for each in fields if any(_overlaps(each, at, kind) for at, kind in loaded.items()))
    end = max(loaded) + _POINTER
    size = end + -end % _POINTER
    return size, _loaded_fields(name, place, size, flow, BEHIND)


def _overlaps(field: Field, at: int, kind: str) -> bool:
    return field.offset < at + bytes_of(kind) and at < field.offset + field.size


def _loaded_fields(name: str, place: int, size: int, flow: Flow, begin: int = 0) -> tuple[Field, ...]:
    """Return the parts of a structure that a kernel loads as fields, for a structure that the sources do not show."""
    fields, end = list[Field](), 0
    parts = [(at - begin, kind) for (of, at), kind in flow.loaded.items() if of == place and at >= begin]
    for at, kind in sorted(parts):
        c_type, width = _LOADED.get(kind, ("", 0))
        if (place, begin + at) in flow.uses:
            c_type, width = "void*", 8
        if c_type and end <= at <= size - width and not at % width:
            fields.append(Field(f"{name}_{at}", c_type, at, width))
            end = at + width
    return tuple(fields) or (Field(f"{name}_0", "unsigned char", 0, 1),)


def element_dtype(types: Iterable[str]) -> str:
    """Return the dtype of elements by the PTX types of their accesses; empty if these are several, or unknown."""
    found = {_ELEMENTS.get(each, "") for each in types}
    return found.pop() if len(found) == 1 else ""


def constant_dtype(table: Table) -> str:
    """Return the dtype of a ``__constant__`` variable's elements; empty if these are several, or unknown."""
    declared = {*table.dtypes.values()}
    return element_dtype(table.types) or (declared.pop() if len(declared) == 1 else "")


def constant_content(table: Table, integer: int = CONSTANT) -> Array | None:
    """Return a content for a ``__constant__`` variable: ``integer``, or floating-point numbers, which are 1.

    With zeros in the place of these numbers, a kernel may divide by 0 or write 0 everywhere. A structure of several
    types is its 32-bit words. None if neither the source nor the kernel shows what it contains.
    """
    if dtype := NUMBERS.get(constant_dtype(table)):
        if table.content and not dtype.is_float:
            return dtype.convert(np.array(table.content))
        return dtype.convert(np.full(table.size // dtype.itemsize, 1 if dtype.is_float else integer))
    content = bytearray(table.size)
    parts = table.dtypes or {at: element_dtype([kind]) for at, kind in table.parts.items()}
    for at, name in parts.items():
        if not (part := NUMBERS.get(name)):
            return None
        value = 1 if part.is_float or part.itemsize < _WORD else integer
        content[at : at + part.itemsize] = part.convert(np.full(1, value)).tobytes()
    return np.frombuffer(content, np.int32) if parts and not table.size % _WORD else None


def _with_declared_constants(flow: Flow, structures: Structures) -> Flow:
    """Add the types of constants whose reads do not show them, and the integers that the host copies there."""
    tables = dict(flow.tables)
    for symbol, table in tables.items():
        found = None if element_dtype(table.types) else structures.of_variable(unqualified(source_name(symbol)))
        if found and found[0] and not table.size % found[0]:
            size, fields = found
            dtypes = {at + each.offset: _dtype(each.c_type)[0] for at in range(0, table.size, size) for each in fields}
            tables[symbol] = replace(table, dtypes=dtypes)
    for symbol, table in tables.items():
        dtype, content = NUMBERS.get(constant_dtype(table)), structures.copied_to(source_name(symbol))
        if dtype and len(content) * dtype.itemsize == table.size:
            tables[symbol] = replace(table, content=content)
    return replace(flow, tables=tables)


def _seen(parameter: Parameter, flow: Flow, c_type: str) -> Parameter:
    """Return a parameter with what PTX shows of it."""
    use, of = flow.uses.get(parameter.key), "".join(flow.types[parameter.key[0] :][:1])
    is_number = of not in ("u64", "b64") or parameter.key in flow.bounds
    if use is None and "*" not in c_type and (is_number or not parameter.is_pointer):
        return replace(
            parameter,
            is_pointer=False,
            dtype=parameter.dtype or (of if of in ("f32", "f64") else _INTEGERS.get(of, "")),
        )
    seen = element_dtype(use.types) if use else ""
    is_half = seen in _HALVES  # also in vectors of wider elements, which may only carry them
    are_bytes = parameter.dtype in ("i8", "u8") and seen in NUMBERS and NUMBERS[seen].is_float  # a char* of numbers
    dtype = seen if is_half or are_bytes else parameter.dtype or seen
    lanes = use.width // NUMBERS[dtype].itemsize if use and dtype in NUMBERS else 1
    # A pointer that replaces a null pointer shares its register, so the stores may go to the other one.
    is_alternative = parameter.key in flow.nullable and bool(_CONST.search(c_type))
    is_member = parameter.lanes > 1 and not parameter.dtype and dtype in ("u8", "i8")  # perhaps a bool of a structure
    return replace(
        parameter,
        is_pointer=True,
        is_bool=parameter.is_bool or is_member,
        lanes=parameter.lanes if parameter.is_vector and not is_half else max(1, lanes),
        dtype=dtype,
        is_written=bool(use and use.writes) and not is_alternative,
        is_input=use is None or use.is_input,
    )


def _textured(parameter: Parameter, flow: Flow | None, source: str) -> Parameter:
    """Return a parameter that is a texture or surface object as its tensor, and any other parameter unchanged."""
    if flow is None or not (use := flow.textures.get(parameter.key)):
        return parameter
    found = texture_text(parameter.name, use, source)
    return replace(
        parameter, is_pointer=True, is_written=use.writes, is_input=use.reads, dtype=found.dtype, lanes=found.channels,
        is_vector=found.channels > 1, is_typed=True, texture=found.words,
    )  # fmt: skip


def type_variables(count: int) -> tuple[str, ...]:
    """Return the names of type variables: T alone, or S and T for a conversion from S to T."""
    return {0: (), 1: ("T",), 2: ("S", "T")}.get(count, ("R", "S", "T"))


def _name(argument: Argument, i: int) -> str:
    name = argument.name.rpartition(".")[0] or argument.name
    return name if name.isidentifier() else f"argument_{i}"


def _types_of(signature: str) -> list[str]:
    """Return the types of the parameters in a demangled signature."""
    parts, depth = [""], 0
    for letter in reversed(signature[:-1]):  # the end of the list is known, and its begin follows from it
        depth += (letter in ">)") - (letter in "<(")
        if depth < 0:
            break
        parts = [*parts, ""] if letter == "," and not depth else [*parts[:-1], letter + parts[-1]]
    return [part.strip() for part in reversed(parts)]


def _bare(c_type: str) -> str:
    """Return the type of a value, or of what a pointer leads to (``int (*) [8]``: int), without qualifiers."""
    return " ".join(re.sub(r"\bconst\b|\bvolatile\b|\(\*\).*|\*|\b__restrict__\b", "", c_type).split())


def _dtype(c_type: str) -> tuple[str, int]:
    """Return the dtype of a C type, or of a vector's elements, and the number of elements."""
    if c_type.count("*") > 1:
        return "i64", 1  # the elements are pointers
    bare = _bare(c_type)
    if (vector := _VECTOR.fullmatch(bare)) and vector[1] in _VECTORS:
        return _VECTORS[vector[1]], int(vector[2])
    if (parts := glm_vector(bare)) and parts[0] in _C_TYPES:
        return _C_TYPES[parts[0]], parts[1]
    return _C_TYPES.get(bare, ""), 1
