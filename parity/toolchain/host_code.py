"""Host code beside kernels: what of it does not compile is left out, because only the kernels are wanted.

Clang reads the host code of a source even where only device code is made, and host code wants libraries that nobody
needs for the kernels: torch, cuBLAS, argument parsers. A header that is not there is replaced by an empty one; a
function, variable or macro call of the host that then does not compile is blanked, and every line keeps its number.
What device code is made of is never left out: an error in it stays an error.

A kernel template that only such a function launched would be lost with it. If its arguments are plain types and
numbers, it is instantiated all the same.
"""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import tree_sitter
import tree_sitter_cuda

__all__ = ["Diagnostic", "HostCode", "Instantiation", "LeftOut", "Repairs", "diagnostics", "instantiations", "repaired"]

_DIAGNOSTIC = re.compile(
    r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?P<column>\d+): (?P<kind>fatal error|error|note|warning): (?P<text>.*)$",
    re.MULTILINE,
)
_NOT_FOUND = re.compile(r"'([^']+)' file not found")
_DEVICE = re.compile(r"\b(?:__device__|__global__|__constant__|__shared__|__managed__)\b")
# What libraries call their own spelling of __host__ __device__, in headers that are not here to be read.
_DEVICE_MACRO = re.compile(r"\b[A-Z0-9_]*DEVICE[A-Z0-9_]*\b|\b[A-Z0-9_]*GLOBAL_?FUNC[A-Z0-9_]*\b")
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:[^\n]*\\\r?\n)*[^\n]*)", re.MULTILINE)
_WORD = re.compile(r"\b[A-Za-z_]\w*\b")
_LITERAL = re.compile(r"\(?-?(?:0[xX][0-9a-fA-F]+|\d+)[uUlL]*\)?|true|false")
_PLAIN = re.compile(
    r"(?:void|bool|char|short|int|long|unsigned|signed|float|double|const|size_t|u?int(?:8|16|32|64)_t)"
    r"|(?:char|uchar|short|ushort|int|uint|long|ulong|float|double)[1-4]|__(?:half2?|hip_bfloat16[2]?)|half2?|hip_bfloat16"
)

INSTANTIATIONS = "<kernels that parity instantiates>"
"""What errors call the lines of ``instantiations``."""

#: Nodes of a syntax tree that can be taken out whole.
_UNITS = frozenset(
    (
        *("function_definition", "declaration", "template_declaration", "template_instantiation", "alias_declaration"),
        *("using_declaration", "type_definition", "expression_statement", "linkage_specification"),
        *("namespace_alias_definition", "struct_specifier", "class_specifier"),
    )
)
#: Nodes in which such units stand side by side.
_SCOPES = frozenset(("translation_unit", "declaration_list", "field_declaration_list", "ERROR"))


@dataclass(frozen=True)
class Diagnostic:
    """An error of the compiler: its text, and the places that it is about, the nearest first (file, line, column)."""

    text: str
    places: tuple[tuple[str, int, int], ...]

    @property
    def missing_header(self) -> str:
        """The header that was not found, if that is the error."""
        match = _NOT_FOUND.search(self.text)
        return match[1] if match else ""


@dataclass(frozen=True)
class LeftOut:
    """A piece of host code that is not compiled: bytes ``start`` to ``end`` of a file, and the error in it."""

    file: str
    line: int
    name: str
    because: str
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.name}: {self.because}"


@dataclass(frozen=True)
class Instantiation:
    """A kernel template with its arguments, as code in these namespaces calls it."""

    namespaces: tuple[str, ...]
    name: str

    def __str__(self) -> str:
        return "::".join((*self.namespaces, self.name))


@dataclass(frozen=True)
class HostCode:
    """What is left out of the host code of a module, and the headers in whose place an empty one stands.

    ``missing`` is what the compiler said of these headers, ``instantiated`` are kernel templates that would be lost
    with what is left out.
    """

    left_out: tuple[LeftOut, ...] = ()
    empty_headers: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    instantiated: tuple[Instantiation, ...] = ()

    def blanked(self, file: str, text: str) -> str:
        """The text of a file without what is left out of it; no line moves."""
        pieces = [piece for piece in self.left_out if piece.file == file]
        if not pieces:
            return text
        data = bytearray(text.encode("utf-8", "surrogateescape"))
        for piece in pieces:
            data[piece.start : piece.end] = re.sub(rb"[^\r\n]", b" ", bytes(data[piece.start : piece.end]))
        return data.decode("utf-8", "surrogateescape")


@dataclass
class Repairs:
    """How far a module is with its host code: shared by the targets that are built at the same time."""

    host: HostCode = HostCode()
    rounds: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


def diagnostics(log: str) -> list[Diagnostic]:
    """The errors in what clang said; an error in a template is also about the places that instantiate it."""
    found: list[Diagnostic] = []
    for match in _DIAGNOSTIC.finditer(log):
        place = (match["file"], int(match["line"]), int(match["column"]))
        if "error" in match["kind"]:
            found.append(Diagnostic(match["text"], (place,)))
        elif found and match["kind"] == "note" and "requested here" in match["text"]:
            found[-1] = replace(found[-1], places=(*found[-1].places, place))
    return found


def repaired(host: HostCode, texts: Mapping[str, str], errors: Sequence[Diagnostic]) -> HostCode | None:
    """What to leave out so that these errors go away, or None if none of them is one of host code.

    ``texts`` are the translated files by the names that the errors call them, before anything is left out.
    """
    device = _device_macros(texts.values())
    missing = {
        error.missing_header: f"{':'.join(map(str, error.places[0]))}: error: {error.text}"
        for error in errors
        if error.missing_header and error.missing_header not in host.empty_headers
    }
    pieces: dict[tuple[str, int], LeftOut] = {}
    refused: set[int] = set()
    for error in errors:
        if error.missing_header:
            continue
        for file, line, column in error.places:
            if file == INSTANTIATIONS:
                refused.add(line - 1)
                break
            piece = _unit(file, texts[file], line, column, device, error.text) if file in texts else None
            if piece and piece not in host.left_out:
                pieces.setdefault((piece.file, piece.start), piece)
                break
            if piece is None and file in texts:
                break  # device code of the user's: the error is his
    if not missing and not pieces and not refused:
        return None
    kept = [each for i, each in enumerate(host.instantiated) if i not in refused]
    # One that was refused once stays out: the piece that launches it is left out already.
    launched = [name for piece in pieces.values() for name in _launched(texts[piece.file], piece)]
    return HostCode(
        (*host.left_out, *pieces.values()),
        (*host.empty_headers, *missing),
        (*host.missing, *missing.values()),
        tuple(dict.fromkeys((*kept, *launched))),
    )


def instantiations(kernels: Sequence[Instantiation]) -> str:
    """Host code that instantiates kernel templates, a line each."""
    lines = [
        f"{''.join(f'namespace {name} {{ ' for name in each.namespaces)}"
        f"static void* const parity_kernel_{i} = (void*)&{each.name};{' }' * len(each.namespaces)}\n"
        for i, each in enumerate(kernels)
    ]
    return f'\n#line 1 "{INSTANTIATIONS}"\n{"".join(lines)}' if lines else ""


@functools.lru_cache(maxsize=64)
def _tree(text: str) -> tree_sitter.Tree:
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))
    return parser.parse(text.encode("utf-8", "surrogateescape"))


def _unit(file: str, text: str, line: int, column: int, device: frozenset[str], because: str) -> LeftOut | None:
    """The piece of host code around a place; None if it is device code, or nothing that can be taken out."""
    point = (line - 1, column - 1)
    node = _tree(text).root_node.descendant_for_point_range(point, point)
    unit: tree_sitter.Node | None = None
    while node is not None:
        if node.type in _UNITS and node.parent is not None and node.parent.type in (*_SCOPES, *_UNITS):
            unit = node
            # The smallest piece that stands for itself: a function of a class, but with the template that it is of.
            if node.parent.type in _SCOPES:
                break
        node = node.parent
    if unit is None or unit.type == "field_declaration" or _is_device(unit, device):
        return None
    head = _source(unit).lstrip().splitlines()[0].strip()
    return LeftOut(file, unit.start_point[0] + 1, head[:80], because, unit.start_byte, unit.end_byte)


def _is_device(unit: tree_sitter.Node, device: frozenset[str]) -> bool:
    """Whether device code is made of a piece: by what its head says, or by a macro that says it."""
    text = (
        _source(unit) if unit.type in ("struct_specifier", "class_specifier", "expression_statement") else _head(unit)
    )
    return bool(_DEVICE.search(text) or _DEVICE_MACRO.search(text) or device & set(_WORD.findall(text)))


def _head(unit: tree_sitter.Node) -> str:
    """The text of a definition before its body."""
    bodies = [node for node in _descendants(unit) if node.type in ("compound_statement", "field_declaration_list")]
    source = unit.text or b""
    end = min((body.start_byte for body in bodies), default=unit.end_byte) - unit.start_byte
    if any(body.type == "field_declaration_list" for body in bodies):
        end = len(source)  # a class: what its members say counts
    return source[:end].decode("utf-8", "replace")


def _source(node: tree_sitter.Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _descendants(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    for child in node.children:
        yield child
        yield from _descendants(child)


def _launched(text: str, piece: LeftOut) -> Iterator[Instantiation]:
    """The kernel templates that a piece of host code launches with arguments that mean the same everywhere."""
    root = _tree(text).root_node.descendant_for_byte_range(piece.start, piece.end - 1)
    for node in _descendants(root) if root else ():
        call = node.parent
        function = call.child_by_field_name("function") if call and node.type == "kernel_call_syntax" else None
        if call is None or function is None or not piece.start <= call.start_byte < piece.end:
            continue
        name, _, arguments = _source(function).partition("<")
        words = [word for word in re.split(r"[\s,<>*&]+", arguments) if word]
        if words and all(_PLAIN.fullmatch(word) or _LITERAL.fullmatch(word) for word in words):
            yield Instantiation(_namespaces(call), f"{name}<{arguments}")


def _namespaces(node: tree_sitter.Node) -> tuple[str, ...]:
    found: list[str] = []
    above = node.parent
    while above is not None:
        name = above.child_by_field_name("name") if above.type == "namespace_definition" else None
        found += [_source(name)] if name else []
        above = above.parent
    return tuple(reversed(found))


def _device_macros(texts: Iterable[str]) -> frozenset[str]:
    """Macros whose expansion says that something is device code."""
    bodies = {name: body for text in texts for name, body in _DEFINE.findall(text)}
    found = {name for name, body in bodies.items() if _DEVICE.search(body)}
    while more := {n for n, body in bodies.items() if n not in found and found & set(_WORD.findall(body))}:
        found |= more
    return frozenset(found)
