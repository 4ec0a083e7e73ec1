"""The syntax tree of host code: the pieces around a place that can be taken out, and the launches."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import tree_sitter
import tree_sitter_cuda

from parity.compilers.lexing import code

__all__ = [
    "ANYTHING",
    "DEVICE_ALONE",
    "DEVICE_WORD",
    "HOST_WORD",
    "KERNEL_WORD",
    "Instantiation",
    "Piece",
    "TypeName",
    "arguments_at",
    "asks_for_a_version",
    "attributes_at",
    "braces_at",
    "call_at",
    "components_at",
    "constexpr_at",
    "definitions_at",
    "device_macros",
    "empty_constructor_at",
    "error_directive",
    "extern_at",
    "first_length_at",
    "friend_at",
    "function_at",
    "guessed",
    "host_alone_at",
    "kernels_of",
    "launched",
    "linkage_at",
    "parameters",
    "pieces_at",
    "syntax_tree",
    "text_of",
    "this_at",
    "type_of_head_at",
    "typedef_at",
    "word_at",
    "zeros_at",
]  # fmt: skip

ANYTHING = "::parity_stub::anything()"
"""The stand-in for a value, see ``include/stubs/parity/anything.h``."""

_DEVICE = re.compile(r"\b(?:__device__|__global__|__constant__|__shared__|__managed__)\b")
SIDE_WORD = re.compile(r"\b__(?:host|device|global)__\b")
"""Matches what says for which side a function is."""
KERNEL_WORD = re.compile(r"\b__global__\b")
"""Matches what says that a function is a kernel."""
HOST_WORD, DEVICE_WORD = re.compile(r"\b__host__\b"), re.compile(r"\b__device__\b")
"""Match what says that a function is for one of the sides."""
DEVICE_ALONE = re.compile(r"^(?!.*\b__host__\b).*\b__device__\b", re.DOTALL)
"""Matches what says that code is the device's, and not the host's as well."""
# What libraries call their own spelling of __host__ __device__, in headers that are not here to be read.
_DEVICE_BEFORE = re.compile(
    r"\b__(?:device|global|constant|shared|managed|host|launch_bounds)__(?:\s*\([^()]*\))?"
    r"(?:\s+(?:static|inline|extern|const|volatile|constexpr|__\w+__(?:\s*\([^()]*\))?))*\s*$"
)
_WORDS_BEFORE = re.compile(r"(?<![\w#])[A-Z][A-Z0-9_]*[ \t]+(?:(?:explicit|inline|static|constexpr|virtual)\s+)+$")
"""Matches a macro and words of C++ that begin a declaration."""
_ATTRIBUTE = re.compile(r"__(?:host|device)__")
_FUNCTIONS = frozenset(("function_definition", "declaration", "field_declaration"))
_BEFORE = 300
"""Bytes before a piece that are looked at."""
_DEVICE_MACRO = re.compile(r"\b[A-Z0-9_]*DEVICE[A-Z0-9_]*\b|\b[A-Z0-9_]*GLOBAL_?FUNC[A-Z0-9_]*\b")
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:[^\n]*\\\r?\n)*[^\n]*)", re.MULTILINE)
_LONG_MACRO = re.compile(rb"^[ \t]*#[ \t]*define\b(?:[^\n]*\\\r?\n)+[^\n]*", re.MULTILINE)
_LAMBDA = re.compile(rb"(\]\s*)((?:(?:[A-Z][A-Z0-9_]*|__\w+__)\s*)+)(?=\()")
"""The words between the brackets and the parameters of a lambda, which the parser does not know."""
_ERROR = re.compile(r"#\s*error\b")
_WORD = re.compile(r"\b[A-Za-z_]\w*\b")
_ARGUMENTS_BYTES = re.compile(rb"\w+\s*(<(?:[^<>(){};]|<[^<>(){};]*>)*>)")
_THIS_BYTES = re.compile(rb"[^;{}\n]*?\b(this->)(?=\w)")
_EMPTY_BYTES = re.compile(rb"\w+\s*\(\s*\)\s*(?:noexcept\s*)?\{\s*\}")
"""Matches a constructor without arguments that does nothing, from its name on."""
_FRIEND_BYTES = re.compile(rb"\bfriend\b[^;{}]*\Z")
"""Matches the declaration of a friend, as far as it is there."""
_WORD_BYTES = re.compile(rb"[A-Za-z_]\w*")
_KERNEL = re.compile(r"__global__\b[\s\S]*?\bvoid\b(?:\s+__\w+__(?:\s*\((?:[^()]|\([^()]*\))*\))?)*\s+(\w+)\s*\(")
"""The head of a kernel up to its name."""
_LOCAL = re.compile(r"\bconst(?:expr)?\s+(?:\w+\s+)+(\w+)\s*=\s*(\d+)\s*;")
"""A constant of a function: its name, and its value."""
_USES = frozenset(("template_function", "template_type", "template_method"))
"""Nodes of templates with their arguments."""
_NUMBER = "32"
"""The number for a template where nothing says one: a size that fits a warp and most tiles."""
_UNKNOWN = "?"
_COMMA = re.compile(r",(?![^<>]*>)")
_LITERAL = re.compile(r"\(?-?(?:0[xX][0-9a-fA-F]+|\d+)[uUlL]*\)?|true|false")
_PLAIN = re.compile(
    r"(?:void|bool|char|short|int|long|unsigned|signed|float|double|const|size_t|u?int(?:8|16|32|64)_t)"
    r"|(?:char|uchar|short|ushort|int|uint|long|ulong|float|double)[1-4]|__(?:half2?|hip_bfloat16[2]?|nv_bfloat16[2]?)|half2?|(?:hip|nv)_bfloat16"
)

#: Nodes of a syntax tree that can be taken out whole.
_UNITS = frozenset(
    (
        *("function_definition", "declaration", "template_declaration", "template_instantiation", "alias_declaration"),
        *("using_declaration", "type_definition", "expression_statement", "linkage_specification"),
        *(
            "static_assert_declaration",
            "namespace_alias_definition",
            "struct_specifier",
            "class_specifier",
            "enum_specifier",
            "friend_declaration",
        ),
    )
)
#: Nodes in which such units stand side by side.
_SCOPES = frozenset(("translation_unit", "declaration_list", "field_declaration_list", "ERROR"))
#: Statements of a function that can be taken out whole, those with a body of their own among them.
_STATEMENTS = frozenset(
    (
        "expression_statement",
        "declaration",
        "for_range_loop",
        "throw_statement",
        "using_declaration",
        "alias_declaration",
    )
)
_ALONE = re.compile(r"^[A-Z][A-Z0-9_]*[ \t]*\([\w \t,:<>.\"&*-]*\);?[ \t]*$", re.MULTILINE)
_INDENTED = re.compile(rf"{_ALONE.pattern}|^[ \t]+[A-Z][A-Z0-9_]*[ \t]*\([\w \t,:<>.\"&*-]*\)[ \t]*$", re.MULTILINE)
"""Matches the call of a macro that stands alone in a line, in a class perhaps, where nothing ends it."""
_CONDITIONAL = re.compile(r"\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b")
_BYTE = re.compile(rb"[^\r\n]")
_VERSION = re.compile(
    r"\b(?:(?:CUDA|CUDART|CCCL|CUB|THRUST|_LIBCUDACXX_CUDA_API)_VERSION|__CUDACC_VER_\w+|__CUDA_API_VER_\w+"
    r"|__CUDACC_(?:EXTENDED_LAMBDA|RELAXED_CONSTEXPR|RDC)__)\b"
)
_HEADS = frozenset(("template_declaration", "linkage_specification"))
"""Nodes of which a function is the only part."""
_CLASSES = frozenset(("class_specifier", "struct_specifier"))
_DEFINITIONS = frozenset(("function_definition", *_CLASSES))
_TEXTS = 256
"""Texts that are kept parsed: errors of one compilation are in many files, and go from one to the other."""
_HEAD = 1000
"""Characters before a body that may be the head of a lambda."""

_BODIES = frozenset(("compound_statement", "case_statement", "labeled_statement"))


@dataclass(frozen=True)
class Piece:
    """A piece of host code: bytes ``start`` to ``end``, its first line, and what stands in its place."""

    start: int
    end: int
    line: int
    head: str
    instead: str = ""


@dataclass(frozen=True)
class Instantiation:
    """A kernel template with its arguments, as code in these namespaces calls it."""

    namespaces: tuple[str, ...]
    name: str

    @classmethod
    def of(cls, text: str) -> Instantiation:
        """The one whose ``str`` a text is."""
        name, bracket, arguments = text.partition("<")
        *namespaces, own = name.split("::")
        return cls(tuple(namespaces), own + bracket + arguments)

    def __str__(self) -> str:
        return "::".join((*self.namespaces, self.name))


@dataclass(frozen=True)
class TypeName:
    """The name of a type, as code uses it."""

    namespaces: tuple[str, ...]
    name: str
    is_template: bool


def pieces_at(text: str, line: int, column: int, device: frozenset[str]) -> tuple[Piece, ...]:
    """The pieces of host code around a place, the smallest first; none if it is device code.

    The last is a whole function, class or declaration. In a function, a value can be anything's, an argument of a
    launch or what a variable begins with, and a statement can be left out: what is left of it are the kernel templates
    that it launches.
    """
    if syntax_tree(text).root_node.has_error:  # it may be of braces that two branches open and one closes
        plain = _first_branches(text)
        if plain.split("\n", line)[line - 1 : line] == text.split("\n", line)[line - 1 : line]:
            text = plain
    found = _pieces_at(syntax_tree(text), text, line, column, device)
    # Macros that stand alone can spoil the tree of all that follows.
    if syntax_tree(text).root_node.has_error and not (found and _is_whole(text_of(text, found[-1]))):
        for macros in (_ALONE, _INDENTED):
            plain = _without(text, macros)
            if plain.split("\n", line)[line - 1 : line] != text.split("\n", line)[line - 1 : line]:
                return _alone_at(text, line, device) or found
            other = _pieces_at(syntax_tree(plain), plain, line, column, device)
            if other and _is_whole(text_of(text, other[-1])):
                return other
            found = found or other
        return found
    return tuple(each for each in found if _is_whole(text_of(text, each))) or found or _alone_at(text, line, device)


@functools.lru_cache(maxsize=_TEXTS)
def _first_branches(text: str) -> str:
    """The text without its conditionals and all but the first branch of each; every byte keeps its place."""
    first: list[bool] = []
    lines = []
    is_continued = False
    for line in text.split("\n"):
        directive = None if is_continued else _CONDITIONAL.match(line)
        if directive and directive[1].startswith("if"):
            first.append(True)
        elif directive and first and directive[1] == "endif":
            first.pop()
        elif directive and first:
            first[-1] = False
        is_blank = bool(directive) or is_continued or not all(first)
        lines.append(_BYTE.sub(b" ", line.encode("utf-8", "surrogateescape")).decode() if is_blank else line)
        is_continued = (bool(directive) or is_continued) and line.rstrip("\r").endswith("\\")
    return "\n".join(lines)


@functools.lru_cache(maxsize=_TEXTS)
def _without(text: str, macros: re.Pattern[str]) -> str:
    return macros.sub(lambda match: " " * len(match[0]), text)


def _alone_at(text: str, line: int, device: frozenset[str]) -> tuple[Piece, ...]:
    """The call of a macro that stands alone in a line, unless device code is made of it."""
    lines = text.split("\n")
    if not _INDENTED.fullmatch(lines[line - 1]) or _says_device(lines[line - 1], device):
        return ()
    start = len("\n".join(lines[: line - 1]).encode("utf-8", "surrogateescape")) + (line > 1)
    return (Piece(start, start + len(lines[line - 1].encode("utf-8", "surrogateescape")), line, lines[line - 1][:80]),)


def function_at(text: str, line: int, column: int) -> tuple[Piece, ...]:
    """The function or template of one that is defined at a place, of the host or the device; none if there is none."""
    node = _node_at(text, line, column, "function_definition")
    while node is not None and (node.type != "function_definition" or _is_in_function(node)):
        node = node.parent
    if node is None:
        return ()
    above = node.parent
    return (_piece(above if above is not None and above.type in _HEADS else node, ""),)


def type_of_head_at(text: str, line: int, column: int, device: frozenset[str]) -> TypeName | None:
    """The type at a place in the head of a host function; None if there is none, or the function is for the device."""
    node = syntax_tree(text).root_node.descendant_for_point_range((line - 1, column - 1), (line - 1, column - 1))
    if node is None or node.type not in ("type_identifier", "namespace_identifier"):
        return None
    while node.parent is not None and node.parent.type in ("qualified_identifier", "template_type"):
        node = node.parent
    name, bracket, _ = _source(node).partition("<")
    above = node.parent
    while above is not None and above.type not in _FUNCTIONS:
        if above.type in ("compound_statement", "field_initializer_list"):
            return None
        above = above.parent
    is_function = above is not None and any(each.type == "function_declarator" for each in _descendants(above))
    if above is None or not is_function or "__global__" in _source(above).partition("{")[0]:
        return None
    if not pieces_at(text, line, column, device):
        return None
    *namespaces, own = (part.strip() for part in name.split("::"))
    return TypeName(tuple(filter(None, namespaces)), own, bool(bracket))


def definitions_at(text: str, line: int, column: int) -> tuple[tuple[str, Piece], ...]:
    """The parts that can be left out of the definition at a place, least first, each with the name that goes with it.

    Of a function of the device that is its body, so that no call of it becomes one of a namesake; then all of it, which
    is all that can be left out of a kernel, a class or a variable.
    """
    tree = syntax_tree(text)
    node = tree.root_node.descendant_for_point_range((line - 1, column - 1), (line - 1, column - 1))
    while node is not None:
        is_defined = node.type in _DEFINITIONS and node.child_by_field_name("body") and not _is_in_function(node)
        if is_defined or (node.type in _UNITS and _above(node).type in _SCOPES and not _is_in_function(node)):
            break
        node = node.parent
    if node is None:
        return ()
    name = _name_of(node)
    above = node.parent
    whole = _piece(above if above is not None and above.type in _HEADS else node, "")
    body = node.child_by_field_name("body")
    if node.type != "function_definition" or body is None or "__global__" in text_of(text, whole).partition("{")[0]:
        return ((name, whole),)
    begins = next((each for each in node.children if each.type == "field_initializer_list"), body)
    deleted = replace(whole, start=begins.start_byte, end=body.end_byte, instead="= delete;")
    return ((name, deleted), (name, whole))


def call_at(text: str, line: int, column: int) -> tuple[Piece, ...]:
    """The call or launch at a place; none if there is none."""
    node = _node_at(text, line, column, "call_expression")
    return (_piece(node, ""),) if node is not None else ()


def text_of(text: str, piece: Piece) -> str:
    """The text of a piece."""
    return text.encode("utf-8", "surrogateescape")[piece.start : piece.end].decode("utf-8", "replace")


def _name_of(node: tree_sitter.Node) -> str:
    """The name of a function, class or variable, without what it is in; empty if there is none, or not one alone."""
    if node.type in ("class_specifier", "struct_specifier"):
        named = node.child_by_field_name("name")
        return _WORD.findall(_source(named))[0] if named is not None else ""
    if node.type == "function_definition":
        declarators = [each for each in _descendants(node) if each.type == "function_declarator"]
        head = _source(declarators[0]).partition("(")[0].partition("<")[0] if declarators else ""
    else:
        head = re.split(r"[=;\[({]", _source(node))[0] if node.type == "declaration" else ""
    words = _WORD.findall(head)
    return words[-1] if words else ""


def typedef_at(text: str, line: int, column: int) -> tuple[Piece, ...]:
    """The ``typedef`` at a place; none if there is none."""
    node = _node_at(text, line, column, "type_definition")
    return (_piece(node, ""),) if node is not None else ()


def extern_at(text: str, line: int, column: int) -> tuple[Piece, ...]:
    """The ``extern`` declaration at a place that defines nothing; none if there is none."""
    node = _node_at(text, line, column, "declaration")
    return (_piece(node, ""),) if node is not None and _source(node).startswith("extern") else ()


def linkage_at(text: str, line: int, column: int) -> tuple[Piece, ...]:
    """The ``extern "C"`` before one definition at a place; none if there is none."""
    node = _node_at(text, line, column, "linkage_specification")
    value, body = (node and node.child_by_field_name(part) for part in ("value", "body"))
    if not node or not value or not body or body.type == "declaration_list":
        return ()
    return (replace(_piece(node, ""), end=value.end_byte, head=f"extern {_source(value)}"),)


def word_at(text: str, line: int, column: int) -> tuple[Piece, ...]:
    """The word at a place; none if there is none."""
    return _matched_at(_WORD_BYTES, text, line, column)


def empty_constructor_at(text: str, line: int, column: int) -> tuple[Piece, ...]:
    """The place before the constructor at a place that does nothing, for both sides' words; none if it does."""
    data = text.encode("utf-8", "surrogateescape")
    return tuple(
        replace(name, end=name.start, instead="__host__ __device__ ")
        for name in word_at(text, line, column)
        if _EMPTY_BYTES.match(data, name.start)
    )


def friend_at(text: str, line: int, column: int, qualifier: str) -> tuple[Piece, ...]:
    """The place before the word at a place that is in the declaration of a friend, for a qualifier; else none."""
    before = text.encode("utf-8", "surrogateescape")
    return tuple(
        replace(word, end=word.start, instead=qualifier)
        for word in word_at(text, line, column)
        if _FRIEND_BYTES.search(before[: word.start])
    )


def arguments_at(text: str, line: int, column: int) -> tuple[Piece, ...]:
    """The template arguments behind the name at a place; none if there are none."""
    return _matched_at(_ARGUMENTS_BYTES, text, line, column)


def _matched_at(pattern: re.Pattern[bytes], text: str, line: int, column: int) -> tuple[Piece, ...]:
    """The last group of a pattern that matches at a place in a line, or all it matches."""
    data = text.split("\n", line)[line - 1].encode("utf-8", "surrogateescape")
    if not (match := pattern.match(data, column - 1)):
        return ()
    start = sum(len(each.encode("utf-8", "surrogateescape")) + 1 for each in text.split("\n", line - 1)[: line - 1])
    first, last = match.span(match.lastindex or 0)
    return (Piece(start + first, start + last, line, data[first:last].decode("utf-8", "replace")),)


def constexpr_at(text: str, line: int, column: int) -> tuple[Piece, ...]:
    """The word ``constexpr`` in the declaration at a place in a function, which becomes ``const``; none elsewhere."""
    declaration = _node_at(text, line, column, "declaration")
    if declaration is None or declaration.parent is None or declaration.parent.type not in _BODIES:
        return ()
    return tuple(_piece(word, "const") for word in declaration.children if _source(word) == "constexpr")


def this_at(text: str, line: int, column: int) -> tuple[Piece, ...]:
    """The first ``this->`` in a condition that begins at a place, which becomes the class; none if there is none."""
    return tuple(
        replace(piece, instead="::std::remove_reference_t<decltype(*this)>::")
        for piece in _matched_at(_THIS_BYTES, text, line, column)
    )


def first_length_at(text: str, line: int, column: int, name: str) -> tuple[Piece, ...]:
    """The text between the first brackets of an array in the declaration at a place; none if there is none."""
    declaration = _node_at(text, line, column, "declaration")
    for array in _descendants(declaration) if declaration is not None else ():
        size, named = array.child_by_field_name("size"), array.child_by_field_name("declarator")
        if size is not None and named is not None and _source(named) == name:
            return (replace(_piece(size, ""), head=f"{name}[{_source(size)}]"),)
    return ()


def attributes_at(text: str, line: int, column: int, sides: frozenset[str]) -> tuple[tuple[str, ...], Piece] | None:
    """The words before the name at a place that say for which side its function is, and the place before all of them.

    Beside CUDA's words they are those macros of ``sides``. None if no function is declared or defined there.
    """
    node = syntax_tree(text).root_node.descendant_for_point_range((line - 1, column - 1), (line - 1, column - 1))
    begins = node.start_byte if node is not None else 0
    while node is not None and node.type not in _FUNCTIONS:
        if node.type in ("compound_statement", "call_expression"):  # a call
            return None
        node = node.parent
    if node is None:
        return None
    first = node  # two macros before a type look like a declaration of their own that lacks its end
    while (before := first.prev_sibling) and before.type in _FUNCTIONS and before.children[-1].is_missing:
        first = before
    head = text_of(text, Piece(first.start_byte, begins, line, ""))
    words = (word for word in _WORD.findall(head) if _ATTRIBUTE.fullmatch(word) or word in sides)
    return tuple(dict.fromkeys(words)), replace(_piece(first, ""), end=first.start_byte)


def host_alone_at(text: str, line: int, column: int, both: frozenset[str]) -> tuple[Piece, ...]:
    """The words that make the function at a place one of both sides, as those that make it the host's; none elsewhere.

    ``both`` are macros that say it.
    """
    node = _node_at(text, line, column, "function_definition")
    body = node.child_by_field_name("body") if node is not None else None
    if node is None or body is None:
        return ()
    above = node.parent
    whole = above if above is not None and above.type in _HEADS else node
    head = text.encode("utf-8", "surrogateescape")[whole.start_byte : body.start_byte]
    found = [(match.span(), match[0].decode("utf-8", "replace")) for match in _WORD_BYTES.finditer(head)]
    words = [(span, word) for span, word in found if _ATTRIBUTE.fullmatch(word) or word in both]
    if not {word for _, word in words} & both and {word for _, word in words} != {"__host__", "__device__"}:
        return ()
    start = whole.start_byte
    return tuple(
        replace(_piece(whole, instead), start=start + first, end=start + last)
        for (first, last), word in words
        if (instead := "" if word == "__device__" else "__host__") != word
    )


def braces_at(text: str, line: int, column: int) -> tuple[Piece, ...]:
    """The braces that are assigned at a place, which become a value of the type that they are assigned to."""
    node = _node_at(text, line, column, "assignment_expression")
    left, right = (node and node.child_by_field_name(side) for side in ("left", "right"))
    if not left or not right or right.type != "initializer_list":
        return ()
    return (_piece(right, f"__typeof__({_source(left)}){_source(right)}"),)


def components_at(text: str, line: int, column: int) -> tuple[Piece, ...]:
    """The cast of a ``dim3`` at a place, which becomes a ``uint3`` of its components."""
    node = _node_at(text, line, column, "cast_expression")
    value = node.child_by_field_name("value") if node is not None else None
    if node is None or value is None:
        return ()
    return (_piece(node, f"make_uint3({', '.join(f'({_source(value)}).{axis}' for axis in 'xyz')})"),)


def zeros_at(text: str, line: int, column: int, length: int) -> tuple[Piece, ...]:
    """The end of the braces at a place, with the zeros that they lack as values for so many components."""
    node = _node_at(text, line, column, "initializer_list")
    given = [each for each in node.named_children if each.type != "comment"] if node is not None else []
    if node is None or node.start_point != (line - 1, column - 1) or not 0 < len(given) < length:
        return ()
    zeros = f"{', 0' * (length - len(given))}}}"
    return (replace(_piece(node, zeros), start=given[-1].end_byte),)


def _node_at(text: str, line: int, column: int, kind: str) -> tree_sitter.Node | None:
    """The node of a kind that a place is in."""
    node = syntax_tree(text).root_node.descendant_for_point_range((line - 1, column - 1), (line - 1, column - 1))
    while node is not None and node.type != kind:
        node = node.parent
    return node


def error_directive(text: str, line: int) -> Piece | None:
    """The ``#error`` in a line, if that is what it is."""
    lines = text.encode("utf-8", "surrogateescape").split(b"\n")
    head = lines[line - 1].decode("utf-8", "replace").strip()
    start = sum(len(each) + 1 for each in lines[: line - 1])
    return Piece(start, start + len(lines[line - 1]), line, head[:80]) if _ERROR.match(head) else None


def asks_for_a_version(text: str, line: int) -> bool:
    """True if the conditional around a line asks for the version of CUDA, or an option of nvcc; HIP has none."""
    depth = 0
    for each in reversed(text.split("\n")[: line - 1]):
        match = _CONDITIONAL.match(each)
        if match is None:
            continue
        if depth or match[1] == "endif":  # of one that ends before the line
            depth += (match[1] == "endif") - match[1].startswith("if")
        elif _VERSION.search(each):
            return True
        elif match[1].startswith("if"):
            return False
    return False


def _pieces_at(tree: tree_sitter.Tree, text: str, line: int, column: int, device: frozenset[str]) -> tuple[Piece, ...]:
    point = (line - 1, column - 1)
    node = tree.root_node.descendant_for_point_range(point, point)
    inner: list[Piece] = []
    unit: tree_sitter.Node | None = None
    while node is not None and node.parent is not None:
        # A lambda of the device: the tree has it in several shapes, the text before its body is always the same.
        if node.type == "compound_statement" and _begins_device(text, node, device):
            return ()
        above = _above(node)
        # The body of a function whose head is one of several, in a conditional.
        if node.type == "compound_statement" and above.type in _SCOPES:
            unit = node
            break
        if node.type in _UNITS and above.type in (*_SCOPES, *_UNITS):
            unit = node
            # The smallest piece that stands for itself: a function of a class, but with the template that it is of.
            if above.type in _SCOPES:
                break
        elif node.type == "field_declaration" and _is_method(node):
            unit = node
            break
        elif instead := _instead(node):
            inner.append(_piece(node, instead))
        node = node.parent
    if unit is None or (_is_device(unit, device) and not _is_promise(unit)) or _follows_device(text, unit, device):
        return ()
    if _holds_kernels(unit):  # a macro before a class can make the tree take all that follows as its body
        return ()
    return (*inner, _declared(unit))


def _declared(unit: tree_sitter.Node) -> Piece:
    """All of a unit, or of a class what follows its name: device code may name a type that it does not have."""
    whole = _piece(unit, "")
    of = next((each for each in unit.children if each.type in _CLASSES), unit)
    name, body = (of.child_by_field_name(part) if of.type in _CLASSES else None for part in ("name", "body"))
    if name is None or body is None or name.type != "type_identifier":
        return whole
    return replace(whole, start=name.end_byte, end=body.end_byte)


def _is_whole(piece: str) -> bool:
    """True if every brace of a piece has its counterpart in it: a macro can make the tree take what follows as one."""
    text = code(piece)
    return text.count("{") == text.count("}")


def _is_promise(unit: tree_sitter.Node) -> bool:
    """True if a piece declares a kernel that is defined elsewhere: no code is made of that."""
    text = _source(unit)
    return "__global__" in text and "{" not in text and text.rstrip().endswith(";")


def _holds_kernels(unit: tree_sitter.Node) -> bool:
    """True if a piece has a kernel in it, which is in no function and no class."""
    return "__global__" in code(_source(unit).partition("{")[2])


def _follows_device(text: str, unit: tree_sitter.Node, device: frozenset[str]) -> bool:
    """True if a word that makes it device code stands before a piece: macros before that can tear them apart."""
    start = text.encode("utf-8", "surrogateescape")[: unit.start_byte][-_BEFORE:]
    before = start.decode("utf-8", "replace")
    words = _WORDS_BEFORE.search(before)
    return bool(_DEVICE_BEFORE.search(before) or (words and _says_device(words[0], device)))


def launched(text: str, start: int, end: int) -> Iterator[Instantiation]:
    """The kernel templates that a piece of host code launches with arguments that mean the same everywhere."""
    root = syntax_tree(text).root_node.descendant_for_byte_range(start, end - 1)
    for function in _launches(root) if root else ():
        if start <= function.start_byte < end:
            name, _, arguments = _source(function).partition("<")
            words = [word for word in re.split(r"[\s,<>*&]+", arguments) if word]
            if words and all(_PLAIN.fullmatch(word) or _LITERAL.fullmatch(word) for word in words):
                yield Instantiation(_namespaces(function), f"{name}<{arguments}")


def parameters(text: str) -> dict[str, tuple[str, ...]]:
    """The names of the parameters of each kernel that a file defines or declares, by its name without namespaces.

    A parameter without a name is empty; kernels of one name that differ in them are left out.
    """
    found: dict[str, set[tuple[str, ...]]] = {}
    for node in _descendants(syntax_tree(text).root_node):
        kernel = _KERNEL.search(_head(node)) if node.type in ("function_definition", "declaration") else None
        for each in _descendants(node) if kernel else ():
            listed = each.child_by_field_name("parameters") if each.type == "function_declarator" else None
            if kernel and listed is not None:
                names = tuple(_parameter_name(one) for one in listed.named_children if "parameter" in one.type)
                found.setdefault(kernel[1], set()).add(names)
                break
    return {name: each.pop() for name, each in found.items() if len(each) == 1}


def kernels_of(text: str, with_bodies: bool = False) -> tuple[str, ...]:
    """The names of the kernels that a file defines, without namespaces, whatever conditionals surround them.

    Those ``with_bodies`` alone have a statement.
    """
    found: dict[str, None] = {}
    for node in _descendants(syntax_tree(text).root_node):
        if node.type == "function_definition" and "__global__" in _source(node):
            head, body = _KERNEL.search(_head(node)), node.child_by_field_name("body")
            if head and (not with_bodies or (body and any(each.type != "comment" for each in body.named_children))):
                found[head[1]] = None
    return tuple(found)


def _parameter_name(parameter: tree_sitter.Node) -> str:
    declarator = parameter.child_by_field_name("declarator")
    words = [] if declarator is None else _WORD.findall(_source(declarator).partition("[")[0])
    return words[-1] if words and not words[-1].startswith("__") else ""


def guessed(text: str, texts: Sequence[str] = ()) -> Iterator[Instantiation]:
    """The kernel templates of a file, for ``float`` where nothing says for which types they are.

    Numbers are those of a launch, or the constants that it names; those of a template that the file launches nowhere
    are 32. ``texts`` are those of all that the file includes.
    """
    root = syntax_tree(text).root_node
    launches: dict[str, dict[tuple[str, ...], None]] = {}
    for function in _launches(root):
        name = _source(function).partition("<")[0].rpartition("::")[2].strip()
        launches.setdefault(name, {}).update(dict.fromkeys(_given(function, texts)))
    for node in _descendants(root):
        kernel = _KERNEL.search(_head(node)) if node.type == "template_declaration" else None
        parameters = node.child_by_field_name("parameters") if kernel else None
        if kernel is None or parameters is None:
            continue
        defaults = [_default(child, texts) for child in parameters.named_children if child.type != "comment"]
        for given in launches.get(kernel[1], [()]):
            if found := _guess(defaults, kernel[1] in launches, given):
                yield Instantiation(_namespaces(node), f"{kernel[1]}<{', '.join(found)}>")


def _given(use: tree_sitter.Node, texts: Sequence[str], depth: int = 3) -> Iterator[tuple[str, ...]]:
    """The arguments of a template where it is used, with what the parameters of a template around it stand for.

    These are the arguments with which the same file uses that one. A number of which nobody says one is what
    ``_default`` says.
    """
    arguments = _source(use).partition("<")[2].removesuffix(">")
    parts = tuple(part.strip() for part in _COMMA.split(arguments) if part.strip())
    around = use.parent
    constants: dict[str, str] = {}
    while around is not None and around.type != "template_declaration":
        if around.type == "compound_statement":
            constants = {**dict(_LOCAL.findall(_source(around))), **constants}
        around = around.parent
    parts = tuple(constants.get(part, part) for part in parts)
    listed = around.child_by_field_name("parameters") if around else None
    children = [child for child in listed.named_children if child.type != "comment"] if listed else []
    names = [_parameter_name(child) or _source(child).partition("=")[0].split()[-1] for child in children]
    if around is None or not set(names) & set(parts):
        yield parts
        return
    own = _defined_by(around)
    uses = [each for each in _descendants(_root(around)) if each.type in _USES and _named_by(each) == own]
    several = dict.fromkeys(each for node in uses if depth for each in _given(node, texts, depth - 1))
    defaults = [_default(child, texts) for child in children]
    for given in [each for each in several if len(each) <= len(names)] or [()]:
        known = dict(zip(names, (*given, *defaults[len(given) :]), strict=True))
        yield tuple(known.get(part, part) or part for part in parts)


def _root(node: tree_sitter.Node) -> tree_sitter.Node:
    while node.parent is not None:
        node = node.parent
    return node


def _named_by(node: tree_sitter.Node) -> str:
    name = node.child_by_field_name("name")
    return _source(name) if name else ""


def _defined_by(template: tree_sitter.Node) -> str:
    """The name of the class or function that a template is."""
    for node in _descendants(template):
        if node.type in _CLASSES:
            return _named_by(node)
        if node.type == "function_declarator" and (name := node.child_by_field_name("declarator")):
            return _source(name).rpartition("::")[2]
    return ""


def _default(parameter: tree_sitter.Node, texts: Sequence[str]) -> str:
    """The argument of a template for a parameter of which nothing says anything; empty if it has a default."""
    if parameter.type.startswith("optional_"):
        return ""
    named = parameter.child_by_field_name("type")
    if parameter.type != "parameter_declaration" or named is None:
        return "float" if parameter.type == "type_parameter_declaration" else _UNKNOWN
    concept = re.compile(rf"\bconcept\s+{re.escape(_source(named))}\b")
    if any(concept.search(text) for text in texts):
        return "float"
    return "true" if _source(named) == "bool" else _NUMBER


def _guess(defaults: Sequence[str], launched: bool, given: Sequence[str]) -> list[str]:
    """Arguments for template parameters, by those of a launch; empty if they cannot be guessed.

    ``launched`` says that the file has launches of it: then it says numbers, or nobody knows them.
    """
    found: list[str] = []
    for place, default in enumerate(defaults):
        argument = given[place] if place < len(given) else ""
        words = [word for word in re.split(r"[\s*&]+", argument) if word]
        if words and all(_PLAIN.fullmatch(word) or _LITERAL.fullmatch(word) for word in words):
            found.append(argument)
        elif default == "float" and (not argument or re.fullmatch(r"\w+", argument)):
            found.append(default)
        elif not default and not argument:
            break
        elif default in ("true", _NUMBER) and (not launched or re.fullmatch(r"[\w:]+", argument)):
            found.append(argument or default)  # a constant, if the launch knows it by a name
        else:
            return []
    return found


def device_macros(texts: Iterable[str], *, anywhere: bool = False, words: re.Pattern[str] = _DEVICE) -> frozenset[str]:
    """Macros whose expansion says that something is device code: the last definition's, or that of one ``anywhere``.

    The last is often that for compilers of the host. What it makes of code of both sides is left out if it does not
    compile, libraries' above all. Of all ``words`` of the device, those that are looked for may be fewer.
    """
    bodies = [each for text in texts for each in _DEFINE.findall(text)]
    bodies = bodies if anywhere else [*dict(bodies).items()]
    found = {name for name, body in bodies if words.search(body)}
    while more := {n for n, body in bodies if n not in found and found & set(_WORD.findall(body))}:
        found |= more
    return frozenset(found)


def _is_in_function(node: tree_sitter.Node) -> bool:
    """True if a definition stands among the statements of a function, and not in a class there.

    The head of a loop that a macro makes (``LOOP(i, n) { }``) looks like a function. With its body a kernel would lose
    what it does.
    """
    above = node.parent
    while above is not None and above.type != "field_declaration_list":
        if above.type in _BODIES:
            return True
        above = above.parent
    return False


def _above(node: tree_sitter.Node) -> tree_sitter.Node:
    """The node that a piece of code stands in, whatever conditionals of the preprocessor are around it."""
    above = node.parent or node
    while above.type.startswith("preproc_") and above.parent is not None:
        above = above.parent
    return above


def _piece(node: tree_sitter.Node, instead: str) -> Piece:
    head = (_source(node).strip() or " ").splitlines()[0].strip()
    return Piece(node.start_byte, node.end_byte, node.start_point[0] + 1, head[:80], instead)


def _instead(node: tree_sitter.Node) -> str:
    """The text that can replace a part of a function; empty if that part cannot be replaced by itself."""
    above = node.parent
    assert above is not None
    if above.type == "kernel_call_syntax" and node.is_named:
        return "1" if node in above.named_children[:2] else "0"
    if above.type == "argument_list" and node.is_named and above.parent is not None:
        return ANYTHING if any(child.type == "kernel_call_syntax" for child in above.parent.children) else ""
    if above.type == "init_declarator" and node == above.child_by_field_name("value"):
        return f"({ANYTHING})" if node.type == "argument_list" else ANYTHING
    if node.type == "condition_clause":
        return f"({ANYTHING})"
    if node.type == "return_statement":
        return _instead_of_return(node)
    alone = node.type in ("expression_statement", "for_range_loop", "throw_statement") or _above(node).type in _BODIES
    if node.type in _STATEMENTS and alone:
        functions = [_source(function) for function in _launches(node, into_lambdas=False) if "<" in _source(function)]
        functions += map(_source, _templates_given(node))
        return "".join(("{", *(f" (void)&{function};" for function in functions), " }"))
    return ""


def _templates_given(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """The function templates of a file that a statement gives to others, with arguments that mean the same anywhere."""
    given = [
        each
        for each in _descendants(node)
        if each.type == "template_function"
        and each.parent is not None
        and each.parent.type == "argument_list"
        and all(map(_PLAIN.fullmatch, _source(each).partition("<")[2].removesuffix(">").replace(",", " ").split()))
    ]
    if given:
        defined = {_defined_by(each) for each in _descendants(_root(node)) if each.type == "template_declaration"}
        yield from (each for each in given if _named_by(each) in defined)


def _instead_of_return(node: tree_sitter.Node) -> str:
    if not node.named_children:
        return ""
    above = node.parent
    while above is not None and above.type not in ("lambda_expression", "function_definition"):
        above = above.parent
    in_lambda = above is not None and above.type == "lambda_expression"
    # The types of several values that a lambda returns must be one.
    several = above is not None and sum(each.type == "return_statement" for each in _descendants(above)) > 1
    return "__builtin_unreachable();" if in_lambda and several else f"return {ANYTHING};"


def _launches(node: tree_sitter.Node, into_lambdas: bool = True) -> Iterator[tree_sitter.Node]:
    """The functions that the launches in a piece of code call."""
    for child in node.children:
        if child.type == "kernel_call_syntax" and (function := node.child_by_field_name("function")):
            yield function
        elif into_lambdas or child.type != "lambda_expression":
            yield from _launches(child, into_lambdas)


def _begins_device(text: str, body: tree_sitter.Node, device: frozenset[str]) -> bool:
    before = text.encode("utf-8", "surrogateescape")[: body.start_byte].decode("utf-8", "replace")
    head = re.split(r"[;{}]", before[-_HEAD:])[-1]
    return bool(_DEVICE.search(head) or device & set(_WORD.findall(head)))


def _is_method(node: tree_sitter.Node) -> bool:
    """True if a member of a class is a function, which takes no room in it."""
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type in ("pointer_declarator", "reference_declarator"):
        declarator = next((child for child in declarator.named_children if child.type.endswith("declarator")), None)
    return declarator is not None and declarator.type == "function_declarator"


def _says_device(text: str, device: frozenset[str]) -> bool:
    return bool(_DEVICE.search(text) or _DEVICE_MACRO.search(text) or device & set(_WORD.findall(text)))


@functools.lru_cache(maxsize=_TEXTS)
def syntax_tree(text: str) -> tree_sitter.Tree:
    """The syntax tree of a source, in which macros of several lines are blank; places are those of its bytes.

    Blank are also the words that say of a lambda that it is for the device.
    """
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))
    # A comment in a macro of several lines ends it for the parser, and what follows is taken for code.
    data = _LONG_MACRO.sub(lambda match: re.sub(rb"[^\r\n]", b" ", match[0]), text.encode("utf-8", "surrogateescape"))
    return parser.parse(_LAMBDA.sub(lambda match: match[1] + re.sub(rb"[^\r\n]", b" ", match[2]), data))


def _is_device(unit: tree_sitter.Node, device: frozenset[str]) -> bool:
    """True if device code is made of a piece: its head says so, or a macro in it."""
    text = (
        _source(unit) if unit.type in ("struct_specifier", "class_specifier", "expression_statement") else _head(unit)
    )
    return _says_device(text, device)


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


def _namespaces(node: tree_sitter.Node) -> tuple[str, ...]:
    found: list[str] = []
    above = node.parent
    while above is not None:
        name = above.child_by_field_name("name") if above.type == "namespace_definition" else None
        found += [_source(name)] if name else []
        above = above.parent
    return tuple(reversed(found))
