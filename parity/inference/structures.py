"""Reads the fields of structures from their declarations, for kernels that take structures by value.

The layout follows C's rules. A structure is unknown if the text does not show all of it: base classes, bit fields, or
members whose type is declared elsewhere.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import tree_sitter

from parity.inference.host_formulas import OPERATORS, parsed_arithmetic
from parity.inference.host_tables import copied_integers
from parity.platform.files import read_table
from parity.porting import descendants, parse, source_of

_TYPES = read_table(Path(__file__).with_name("scalar_types.csv"))
SIZES = {row["name"]: int(row["size"]) for row in _TYPES}
"""The sizes in bytes of scalars, and of some other types."""
_SCALARS = {row["name"]: (row["spelled"], SIZES[row["name"]]) for row in _TYPES if row["spelled"]}
"""The type of a scalar as a demangler spells it, and its size in bytes."""
_VECTOR = re.compile(r"(char|uchar|short|ushort|int|uint|float|double|longlong|ulonglong)([1-4])|dim3")
_GLM = re.compile(r"glm::(?:vec<(\d), ([a-z ]+?)(?:,.*)?>|tvec(\d)<([a-z ]+?)(?:,.*)?>|([biud]?)vec([1-4]))")
"""Matches vectors of GLM, as a demangler or a source spells them."""
_OF_GLM = {"": "float", "b": "bool", "i": "int", "u": "unsigned int", "d": "double"}
_LONG = {"longlong": "long long", "ulonglong": "unsigned long long"}
_WIDEST = 16
"""The largest alignment of CUDA's vectors."""
_QUALIFIER = re.compile(r"\b(?:const|volatile|struct|typename|mutable|std::)\b|std::")
_ALIAS = re.compile(
    r"\btypedef\s+([\w ]+?)\s+(\w+)\s*;|\busing\s+(\w+)\s*=\s*([\w ]+?)\s*;"
    r"|^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([A-Za-z_][\w ]*?)[ \t]*$",
    re.MULTILINE,
)
_NUMBER = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([\w(][^\n]*)"
    r"|\b(?:constexpr|const)\s+(?:[\w:]+\s+)+?(\w+)\s*=\s*([\w(][^;{}\n]*);",
    re.MULTILINE,
)
"""Matches macros and constants, whose values may be arithmetic with others."""
_ENUM = re.compile(r"\benum\s+(?:class\s+|struct\s+)?(\w+)\s*\{")
_ACCESSORS = """
template <typename T, size_t N, typename P, typename I> struct GenericPackedTensorAccessor {
    T* data; I size[N]; I stride[N];
};
template <typename T, int N, typename I, typename P> class THCDeviceTensor {
    T* data_; I stride_[N], size_[N];
};
template <typename T, typename I> struct TensorInfo {
    T* data; I sizes[25]; I strides[25]; int dims;
};
"""
"""The tensors of PyTorch and Torch as arguments: their layout, without their functions."""
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_KERNEL = re.compile(r"__global__(?:[^;{}()]|__launch_bounds__\s*\([^)]*\))*?\b(\w+)\s*\(([^{}()]*)\)\s*\{")
_VARIABLE = re.compile(
    r"\b__(?:constant|device)__\s+(?:(?:static|extern|const|volatile|__\w+__)\s+)*"
    r"([A-Za-z_][\w:<>, ]*?(?:\s+|\s*\*\s*))(?:const\s+|__restrict__\s+)*(\w+)\s*[\[;=]"
)
"""Matches the type and the name of a variable on the device."""
_MOST = 64
"""The largest number of fields of a structure."""
_DEEPEST = 8
"""Levels of types or constants that refer to others."""


@dataclass(frozen=True)
class Field:
    """A scalar field of a structure: its type as a demangler spells it, and its byte offset.

    Fields of nested structures and elements of arrays are separate, and their names contain the outer names.
    """

    name: str
    c_type: str
    offset: int
    size: int


@dataclass(frozen=True)
class _TypeLayout:
    fields: tuple[Field, ...]
    size: int
    align: int


def glm_vector(c_type: str) -> tuple[str, int] | None:
    """Return the type and the number of the elements of a vector of GLM; None for another type."""
    if not (match := _GLM.fullmatch(c_type)):
        return None
    count, of, older, of_older, letter, short = match.groups()
    return of or of_older or _OF_GLM[letter], int(count or older or short)


class Structures:
    """The structures that a text declares. Other texts, without comments, may have ``copies`` into its variables."""

    def __init__(self, text: str, copies: str = "") -> None:
        text = f"{text}\n{_ACCESSORS}"
        self._text, self._copies = COMMENT.sub(" ", text), copies
        self._numbers = {a or c: b or d for a, b, c, d in _NUMBER.findall(self._text)}
        self._aliases = {b or c or e: a or d or f for a, b, c, d, e, f in _ALIAS.findall(text)}
        self._aliases |= dict.fromkeys(_ENUM.findall(text), "int")
        self._bodies: dict[str, tree_sitter.Node] = {}
        self._parameters: dict[str, list[str]] = {}
        kinds = ("struct_specifier", "class_specifier")
        self._enumerators: dict[str, tuple[int, ...]] = {}
        for node in descendants(parse(text).root):
            if node.type == "enum_specifier":
                self._read_enumerators(node)
            is_whole = node.type in kinds and node.child_by_field_name("body") is not None
            for name in _names(node) if is_whole else ():
                self._bodies.setdefault(name, node)
                self._parameters.setdefault(name, _type_parameters(node))

    def from_kernel(self, kernel: str) -> str:
        """Return the text without comments, beginning with the part from a kernel to the next one."""
        parts = [match.start() for match in _KERNEL.finditer(self._text) if match[1] == kernel]
        found = (self._text[start:].split("__global__") for start in parts)
        return "".join((*("".join(each[:2]) for each in found), "\n", self._text))

    def fields(self, c_type: str, size: int) -> tuple[Field, ...]:
        """Return the fields of a type of this size, or nothing if the text does not show them all."""
        found = self._layout(c_type, {}, 0)
        return found.fields if found and found.size == size and len(found.fields) <= _MOST else ()

    def whole(self, c_type: str) -> tuple[int, tuple[Field, ...]] | None:
        """Return the size and the fields of a type, or None if the text does not show them all."""
        found = self._layout(c_type, {}, 0)
        return (found.size, found.fields) if found and len(found.fields) <= _MOST else None

    def of_variable(self, name: str) -> tuple[int, tuple[Field, ...]] | None:
        """Return the size and the fields of a variable's elements, or None if the text does not show them all."""
        found = {match[1].strip() for match in _VARIABLE.finditer(self._text) if match[2] == name}
        return self.whole(found.pop()) if len(found) == 1 else None

    def copied_to(self, variable: str) -> tuple[int, ...]:
        """Return the integers that host code copies into a variable, if a text lists them."""
        return copied_integers(self._text, variable) or copied_integers(self._copies, variable)

    def enumerators(self, c_type: str) -> tuple[int, ...]:
        """Return the values of an enumeration, or nothing for another type and for values that the text computes."""
        return self._enumerators.get(c_type.rpartition("::")[2], ())

    def parameters(self, kernel: str) -> list[str]:
        """Return the types of a kernel's parameters, as a demangler spells them. Empty if there are several kernels."""
        found = {match[2] for match in _KERNEL.finditer(self._text) if match[1] == kernel}
        return [self._spelled(part) for part in found.pop().split(",")] if len(found) == 1 else []

    def _spelled(self, parameter: str) -> str:
        c_type = re.sub(r"\s*\b\w+\s*$", "", parameter.replace("[]", "").strip()) + "*" * parameter.count("[]")
        found = self._layout(c_type.replace("*", "").replace("__restrict__", ""), {}, 0)
        is_scalar = found is not None and len(found.fields) == 1 and not found.fields[0].name
        const, stars = "const " * c_type.startswith("const "), "*" * c_type.count("*")
        return f"{const}{found.fields[0].c_type}{stars}" if found and is_scalar else c_type

    def element(self, c_type: str) -> str:
        """Return the type of all fields of a structure, or an empty string if it is unknown or has several types."""
        found = self._layout(c_type, {}, 0)
        kinds = {each.c_type for each in found.fields} if found else set()
        return kinds.pop() if len(kinds) == 1 else ""

    def _layout(self, c_type: str, types: Mapping[str, str], deep: int) -> _TypeLayout | None:
        """Return the fields, size and alignment of a type. ``types`` maps template parameters to types."""
        bare = " ".join(_QUALIFIER.sub(" ", c_type).split())
        stars = "*" * bare.count("*")
        bare = types.get(bare.rstrip("* "), bare.rstrip("* ")) + stars
        if deep > _DEEPEST:
            return None
        if bare.endswith("*"):
            return _TypeLayout((Field("", bare, 0, 8),), 8, 8)
        if bare in _SCALARS:
            spelt, size = _SCALARS[bare]
            return _TypeLayout((Field("", spelt, 0, size),), size, size)
        if (parts := glm_vector(bare)) and parts[0] in _SCALARS:
            spelt, size = _SCALARS[parts[0]]
            fields = tuple(Field(axis, spelt, i * size, size) for i, axis in enumerate("xyzw"[: parts[1]]))
            return _TypeLayout(fields, parts[1] * size, size)
        if vector := _VECTOR.fullmatch(bare):
            one, count = vector[1] or "uint", int(vector[2] or 3)
            spelt, size = _SCALARS[_LONG.get(one, one)]
            fields = tuple(Field(axis, spelt, i * size, size) for i, axis in enumerate("xyzw"[:count]))
            return _TypeLayout(fields, count * size, min(_WIDEST, size * (count if count != 3 else 1)))
        name, _, arguments = bare.partition("<")
        name = name.rpartition("::")[2].strip()
        if name in self._bodies:
            given = [part.strip() for part in arguments.rstrip("> ").split(",") if part.strip()]
            return self._laid_out(self._bodies[name], dict(zip(self._parameters[name], given, strict=False)), deep)
        return self._layout(self._aliases[name], types, deep + 1) if self._aliases.get(name, name) != name else None

    def _laid_out(self, node: tree_sitter.Node, types: Mapping[str, str], deep: int) -> _TypeLayout | None:
        body = node.child_by_field_name("body")
        if (
            body is None
            or any(child.type == "base_class_clause" for child in node.children)
            or "alignas" in source_of(node).partition("{")[0]
        ):
            return None
        fields, at, align = list[Field](), 0, 1
        for member in body.named_children:
            text = source_of(member)
            if member.type != "field_declaration" or text.startswith("static"):
                if member.type in ("preproc_if", "preproc_ifdef", "ERROR") or "virtual" in text:
                    return None
                continue
            declarators = member.children_by_field_name("declarator")
            if any(_leaf(each).type == "function_declarator" for each in declarators):
                continue
            kind = member.child_by_field_name("type")
            if kind is None or not declarators or any(child.type == "bitfield_clause" for child in member.children):
                return None
            for declarator in declarators:
                stars, name, counts = self._declared(declarator, types)
                one = self._layout(source_of(kind) + "*" * stars, types, deep + 1)
                if one is None or not name or None in counts or math.prod(count or 0 for count in counts) > _MOST:
                    return None
                at += -at % one.align
                align = max(align, one.align)
                places = [""]
                for count in counts:
                    places = [f"{place}_{i}" for place in places for i in range(count or 0)]
                for place in places:
                    fields += [_inside(each, name + place, at) for each in one.fields]
                    at += one.size
        return _TypeLayout(tuple(fields), max(1, at + -at % align), align) if len(fields) <= _MOST else None

    def _declared(self, node: tree_sitter.Node, types: Mapping[str, str]) -> tuple[int, str, list[int | None]]:
        """Return the number of pointers, the name and the array extents of a declarator."""
        stars, counts = 0, list[int | None]()
        while node.type != "field_identifier":
            if node.type == "pointer_declarator":
                stars += 1
            elif node.type == "array_declarator":
                extent = node.child_by_field_name("size")
                text = source_of(extent) if extent is not None else ""
                counts.insert(0, self._number(types.get(text, text), 0))
            inner = node.child_by_field_name("declarator")
            if inner is None:
                return 0, "", []
            node = inner
        return stars, source_of(node), counts

    def _read_enumerators(self, node: tree_sitter.Node) -> None:
        body = node.child_by_field_name("body")
        values = list[int | None]()
        for each in body.named_children if body is not None else ():
            if each.type == "enumerator":
                given, last = each.child_by_field_name("value"), values[-1] if values else -1
                after = None if last is None else last + 1
                values.append(after if given is None else self._number(source_of(given), 0))
        found = tuple(value for value in values if value is not None)
        if 0 < len(found) == len(values) <= _MOST:
            self._enumerators |= dict.fromkeys(_names(node), found)

    def _number(self, text: str, deep: int) -> int | None:
        """Return the value of arithmetic with constants, or None if the text does not show it."""
        try:
            return self._value(parsed_arithmetic(text), deep)
        except (ValueError, ZeroDivisionError):
            return None

    def _value(self, node: ast.expr | None, deep: int) -> int:
        match node:
            case ast.Constant(value=int(value)):
                return value
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._value(operand, deep)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                return OPERATORS[type(op)](self._value(left, deep), self._value(right, deep))
            case ast.Name(id=name) if deep < _DEEPEST and name in self._numbers:
                return self._value(parsed_arithmetic(self._numbers[name]), deep + 1)
        raise ValueError


def _inside(field: Field, name: str, at: int) -> Field:
    return replace(field, name=f"{name}_{field.name}" if field.name else name, offset=at + field.offset)


def _names(node: tree_sitter.Node) -> list[str]:
    """Return the name of a structure or an enumeration, and the name of its typedef."""
    own = node.child_by_field_name("name")
    names = [source_of(own)] if own is not None else []
    if node.parent is not None and node.parent.type == "type_definition":
        names += [source_of(each) for each in node.parent.children_by_field_name("declarator")]
    return names


def _type_parameters(node: tree_sitter.Node) -> list[str]:
    if node.parent is None or node.parent.type != "template_declaration":
        return []
    parameters = node.parent.child_by_field_name("parameters")
    return [source_of(each).split()[-1] for each in parameters.named_children] if parameters is not None else []


def _leaf(node: tree_sitter.Node) -> tree_sitter.Node:
    """Return the declarator inside pointers and arrays."""
    while node.type in ("pointer_declarator", "array_declarator", "reference_declarator"):
        inner = next(
            (child for child in node.named_children if child.type.endswith(("declarator", "identifier"))), None
        )
        if inner is None:
            return node
        node = inner
    return node
