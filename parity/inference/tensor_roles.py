"""The tensors, constants and structures of a kernel's declaration, by role."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from parity.inference.data_flow import BEHIND, VARIABLE
from parity.inference.keywords import rows_name, safe_name
from parity.inference.signature import Parameter, Signature, constant_content, constant_dtype, element_dtype
from parity.inference.spec import CONSTANT, InferredSpec
from parity.inference.textures import MEMORY, memory_shape, object_name, texture_shape
from parity.model.code_object import source_name, unqualified
from parity.model.dtypes import NUMBERS
from parity.model.launch import PRINTF

_PRINTED = 1 << 18
"""Bytes of text that a kernel may print."""
_NUMBERED = re.compile(r"(\w+_)\d+:(\w+)=(\d+)")
"""Matches an element of an array that is a constant."""
_OUTPUT_NAME = re.compile(r"out|output|dst|dest|destination|result|res|y|c", re.IGNORECASE)


@dataclass(frozen=True)
class Variable:
    """A ``__constant__`` or ``__device__`` variable as the ``source`` spells it, with ``count`` elements.

    Integers are at most ``integer``. ``values`` are the integers that the host copies there, or the words of a
    structure with several types.
    """

    source: str
    dtype: str
    count: int
    values: tuple[int, ...] = ()
    integer: int = CONSTANT

    @property
    def range(self) -> str:
        """The data stream of integers."""
        if self.values:
            return ".".join(("values", *map(str, self.values)))
        return f"{min(1, self.integer - 1) if self.count > 1 else self.integer}..{self.integer}"


@dataclass(frozen=True)
class Tensors:
    """The tensors of an op, by role, each with its dtype or type variable."""

    inputs: dict[str, str]
    outputs: dict[str, str]
    updates: dict[str, str]


def tensors_by_role(
    one: Signature, written: set[str], kinds: Mapping[str, str], spec: InferredSpec | None, *, cautious: bool
) -> Tensors:
    """Return the roles of tensors. A tensor that is not completely written has to have content before.

    If ``cautious``, a tensor has content before even if the kernel seems to write it before it reads it.
    """
    pointers, uses = one.tensors, one.flow.uses if one.flow else {}
    inputs = {each.name: kinds[each.name] for each in pointers if each.name not in written}
    others = {each.name: kinds[each.name] for each in pointers if each.name in written}
    if any(each.is_input is not None for each in pointers):
        read = {each.name for each in pointers if cautious and each.key in uses and uses[each.key].reads}
        updated = {each.name for each in pointers if each.is_input} | read
    else:
        updated = set() if inputs else set(others)
    outputs = {name: kind for name, kind in others.items() if name not in updated}
    updates = {name: kind for name, kind in others.items() if name in updated}
    if spec:
        updates |= {name: kind for name, kind in outputs.items() if name not in spec.whole}
        outputs = {name: kind for name, kind in outputs.items() if name in spec.whole}
    return Tensors(inputs, outputs, updates)


def row_pointers(one: Signature) -> dict[str, str]:
    """Return ``pointers`` of a declaration: the tensor of each array of pointers."""
    return {rows_name(each.name): each.name for each in one.tensors if each.is_rows}


def row_shapes(one: Signature, shapes: Mapping[str, str]) -> dict[str, str]:
    """Return the shapes with one shape for each tensor in rows: the length of its array of pointers, and of a row."""
    rows = {each.name: rows_name(each.name) for each in one.tensors if each.is_rows}
    kept = {name: dims for name, dims in shapes.items() if name not in rows.values()}
    return {name: f"{shapes[rows[name]]} {dims}" if name in rows else dims for name, dims in kept.items()}


def texture_words(one: Signature) -> dict[str, str]:
    """Return ``textures`` of a declaration: by the name of the object, the tensor and its words."""
    return {object_name(each.name): f"{each.name} {each.texture}" for each in one.tensors if each.texture}


def texture_shapes(one: Signature, shapes: Mapping[str, str]) -> dict[str, str]:
    """Return the shapes of the tensors of textures. For linear memory, ``shapes`` has the size that launches show."""
    numbers = [safe_name(each.name) for each in one.args if not each.is_pointer]
    return {
        each.name: memory_shape(shapes[each.name], each.lanes)
        if each.texture == MEMORY
        else texture_shape(each.texture, each.lanes, each.name, numbers)
        for each in one.tensors
        if each.texture
    }


def written_tensors(pointers: Sequence[Parameter]) -> set[str]:
    """Return the pointers that are written: as PTX or ``const`` shows, or else by name, or else the last one."""
    if any(each.is_written is not None for each in pointers):
        return {each.name for each in pointers if each.is_written}
    named = [each.name for each in pointers if _OUTPUT_NAME.fullmatch(each.name)]
    return {*named[:1]} or {each.name for each in pointers[-1:]}


def constant_tables(one: Signature, integer: int = CONSTANT) -> tuple[dict[str, Variable], list[str]]:
    """Return the constants that the host fills, with integers up to ``integer``, and the names of unknown ones."""
    found, unknown = dict[str, Variable](), list[str]()
    for symbol, table in (one.flow.tables if one.flow else {}).items():
        source = source_name(symbol)
        dtype, content = constant_dtype(table), constant_content(table, integer)
        if content is None:
            unknown.append(source)
            continue
        name = _tensor_name(one, source)
        words = table.content if dtype in NUMBERS else _repeated(content.tolist())
        found[name] = Variable(source, dtype if dtype in NUMBERS else "i32", len(content), words, integer)
    return found, unknown


def _repeated(words: list[int]) -> tuple[int, ...]:
    """Return the words of a structure, of which there may be several with the same content."""
    count = len(words)
    parts = (words[:size] for size in range(1, count + 1) if not count % size)
    return tuple(next(part for part in parts if part * (count // len(part)) == words))


def result_variables(one: Signature) -> dict[str, Variable]:
    """Return the variables whose content is a result of the kernel, and ``printf`` if it prints, by tensor."""
    found = dict[str, Variable]()
    for symbol, table in (one.flow.variables if one.flow else {}).items():
        source, dtype = source_name(symbol), NUMBERS.get(element_dtype(table.types))
        if dtype and table.size:
            found[_tensor_name(one, source)] = Variable(source, dtype.name, table.size // dtype.itemsize)
    if one.flow and one.flow.prints:
        found[_tensor_name(one, "printed")] = Variable(PRINTF, "u8", _PRINTED)
    return found


def _tensor_name(one: Signature, source: str) -> str:
    name = safe_name(unqualified(source))
    return name + "_" * (name in (each.name for each in one.args))


def structured_words(one: Signature, words: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the words of the kernel's arguments, and the words of each structure: its fields and the gaps.

    The name of a structure in memory begins with an asterisk.
    """
    outside, structs, ends = list[str](), dict[str, list[str]](), Counter[str]()
    for each, word in zip(one.args, words, strict=True):
        if not (name := each.inside):
            outside.append(word)
            continue
        if name not in structs and each.key[0] < VARIABLE:
            outside.append(name)
        fields = structs.setdefault(name, [])
        at = each.key[1] % BEHIND
        fields += _gap(len(fields), ends[name], each.size, at)
        fields.append(word)
        ends[name] = at + each.size
    for name, fields in structs.items():
        widest = max(each.size for each in one.args if each.inside == name)
        fields += _gap(len(fields), ends[name], widest, one.structs[name])
    behind = {each.inside for each in one.args if each.key[1] >= BEHIND}
    return outside, {"*" * (name in behind) + name: " ".join(_joined(fields)) for name, fields in structs.items()}


def held_structures(one: Signature) -> dict[str, str]:
    """Return the structures that variables hold, by the variable's name in the source."""
    held = {each.key[0]: each.inside for each in one.args if each.key[0] >= VARIABLE}
    return {source_name(symbol): held[place] for place, (symbol, _) in (one.flow.holders if one.flow else {}).items()}


def _joined(fields: Sequence[str]) -> Iterator[str]:
    """Yield fields, and one field for successive elements of an array that are the same constant."""
    for _, each in itertools.groupby(
        fields, lambda one: match.groups() if (match := _NUMBERED.fullmatch(one)) else one
    ):
        first, *others = each
        yield first.replace("=", f"[{1 + len(others)}]=") if others else first


def _gap(number: int, end: int, alignment: int, at: int) -> list[str]:
    """Return a field that fills a gap which the alignment of the next field does not explain."""
    return [f"gap_{number}:u8[{at - end}]=0"] if end + -end % alignment < at else []


def stride_kinds(spec: InferredSpec | None, tensors: Tensors) -> dict[str, str]:
    """Return which strides the tensors may have whose strides are arguments."""
    if spec is None:
        return {}
    taken = Counter(text.partition(".")[0] for text in spec.distances.values())
    kinds = {}
    for name, count in taken.items():
        dims = len(spec.shapes[name].split())
        if count == dims:
            kinds[name] = "distinct" if name in tensors.outputs or name in tensors.updates else "any"
        elif dims == 2:
            kinds[name] = "rows"
    return kinds
