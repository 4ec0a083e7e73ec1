"""Finds the pieces of host code around an error that can be removed, and definitions of device code."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, replace

import tree_sitter

from parity.compilers.lexing import WORD, code
from parity.porting.device_words import ends_in_device_words, is_device
from parity.porting.kernel_templates import launches, passed_templates
from parity.porting.source_tree import (
    BLOCKS,
    CLASSES,
    SourceEdit,
    SourceTree,
    ancestors,
    blank,
    container,
    decode,
    definition,
    descendants,
    encode,
    head_of,
    is_in_function,
    parse,
    source_of,
)

ANYTHING = "::parity_stub::anything()"
"""Stands for a value that does not compile, see ``include/stubs/parity/anything.h``."""

CONDITIONAL = re.compile(r"\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b")

_SCOPES = frozenset(("translation_unit", "declaration_list", "field_declaration_list", "ERROR"))
"""Nodes that hold units."""
_UNITS = frozenset(
    (
        *("function_definition", "declaration", "template_declaration", "template_instantiation", "alias_declaration"),
        *("using_declaration", "type_definition", "expression_statement", "linkage_specification"),
        *("static_assert_declaration", "namespace_alias_definition", "struct_specifier", "class_specifier"),
        *("enum_specifier", "friend_declaration"),
    )
)
"""Nodes of a scope that can be removed as a whole."""
_STATEMENTS = frozenset(
    (
        *("expression_statement", "declaration", "for_range_loop", "throw_statement", "using_declaration"),
        "alias_declaration",
    )
)
"""Statements of a function that can be removed as a whole."""
_FUNCTIONS = frozenset(("function_definition", "declaration", "field_declaration"))
_LOOKBACK = 300
"""Bytes before a unit that may hold words separated from it."""
_LAMBDA_LOOKBACK = 1000
"""Characters before a body that may be the head of a lambda."""

_MACRO_LINE = re.compile(r"^[A-Z][A-Z0-9_]*[ \t]*\([\w \t,:<>.\"&*-]*\);?[ \t]*$", re.MULTILINE)
_INDENTED_MACRO_LINE = re.compile(
    rf"{_MACRO_LINE.pattern}|^[ \t]+[A-Z][A-Z0-9_]*[ \t]*\([\w \t,:<>.\"&*-]*\)[ \t]*$", re.MULTILINE
)
"""Match a macro call that fills a line; the second also in a class, without a semicolon."""


@dataclass(frozen=True)
class TypeName:
    """The name of a type, with the namespaces that code gives it."""

    namespaces: tuple[str, ...]
    name: str
    is_template: bool


def host_edits(text: str, line: int, column: int, macros: frozenset[str]) -> tuple[SourceEdit, ...]:
    """Return the edits that remove host code around a place, the smallest first; none in device code.

    The last edit removes a whole function, class or declaration. Within a function, an edit replaces a value by
    ``ANYTHING``, an argument of a launch by a number, or a statement by the addresses of the kernel templates that it
    launches. ``macros`` mark device code.
    """
    if parse(text).has_error:  # perhaps two branches open a brace that is closed once
        plain = _first_branches(text)
        if _is_line_kept(plain, text, line):
            text = plain
    tree = parse(text)
    found = _edits(tree, line, column, macros)
    if not tree.has_error or (found and tree.is_balanced(found[-1])):
        return tuple(each for each in found if tree.is_balanced(each)) or found or _macro_call(tree, line, macros)
    # A macro call that fills a line can spoil the tree of everything after it.
    for pattern in (_MACRO_LINE, _INDENTED_MACRO_LINE):
        plain = _without(text, pattern)
        if not _is_line_kept(plain, text, line):
            return _macro_call(tree, line, macros) or found
        other = _edits(parse(plain), line, column, macros)
        if other and tree.is_balanced(other[-1]):
            return other
        found = found or other
    return found


def definition_edits(tree: SourceTree, line: int, column: int) -> tuple[tuple[str, SourceEdit], ...]:
    """Return the edits that remove the definition at a place, the smallest first, each with the defined name.

    The first edit of a device function deletes its body, so that no call selects another overload. Kernels, classes
    and variables can only be removed as a whole.
    """
    node = next(filter(_is_definition, ancestors(tree.node_at(line, column))), None)
    if node is None:
        return ()
    name, whole = _name_of(node), tree.edit(definition(node))
    body = node.child_by_field_name("body")
    if node.type != "function_definition" or body is None or "__global__" in tree.code_of(whole).partition("{")[0]:
        return ((name, whole),)
    begins = next((each for each in node.children if each.type == "field_initializer_list"), body)
    deleted = replace(whole, start=begins.start_byte, end=body.end_byte, replacement="= delete;")
    return ((name, deleted), (name, whole))


def _is_definition(node: tree_sitter.Node) -> bool:
    has_body = node.type in (*CLASSES, "function_definition") and node.child_by_field_name("body")
    is_unit = node.type in _UNITS and container(node).type in _SCOPES
    return bool(has_body or is_unit) and not is_in_function(node)


def type_in_host_head(text: str, line: int, column: int, macros: frozenset[str]) -> TypeName | None:
    """Return the type at a place in the head of a host function; None anywhere else."""
    node = parse(text).node_at(line, column)
    if node is None or node.type not in ("type_identifier", "namespace_identifier"):
        return None
    while node.parent is not None and node.parent.type in ("qualified_identifier", "template_type"):
        node = node.parent
    name, bracket, _ = source_of(node).partition("<")
    outside = (*_FUNCTIONS, "compound_statement", "field_initializer_list")
    above = next((each for each in ancestors(node.parent) if each.type in outside), None)
    if above is None or above.type not in _FUNCTIONS or "__global__" in source_of(above).partition("{")[0]:
        return None
    if not any(each.type == "function_declarator" for each in descendants(above)):
        return None
    if not host_edits(text, line, column, macros):
        return None
    *namespaces, own = (part.strip() for part in name.split("::"))
    return TypeName(tuple(filter(None, namespaces)), own, bool(bracket))


@functools.lru_cache(maxsize=256)
def _first_branches(text: str) -> str:
    """Blank the directives of conditionals and every branch but the first."""
    is_first: list[bool] = []
    lines = []
    is_continued = False
    for line in text.split("\n"):
        directive = None if is_continued else CONDITIONAL.match(line)
        if directive and directive[1].startswith("if"):
            is_first.append(True)
        elif directive and is_first and directive[1] == "endif":
            is_first.pop()
        elif directive and is_first:
            is_first[-1] = False
        is_blank = bool(directive) or is_continued or not all(is_first)
        lines.append(blank(encode(line)).decode() if is_blank else line)
        is_continued = (bool(directive) or is_continued) and line.rstrip("\r").endswith("\\")
    return "\n".join(lines)


@functools.lru_cache(maxsize=256)
def _without(text: str, pattern: re.Pattern[str]) -> str:
    return pattern.sub(lambda match: " " * len(match[0]), text)


def _is_line_kept(plain: str, text: str, line: int) -> bool:
    return plain.split("\n", line)[line - 1 : line] == text.split("\n", line)[line - 1 : line]


def _macro_call(tree: SourceTree, line: int, macros: frozenset[str]) -> tuple[SourceEdit, ...]:
    """Return the edit that removes a macro call that fills a line, unless it may expand to device code."""
    content = tree.text.split("\n")[line - 1]
    if not _INDENTED_MACRO_LINE.fullmatch(content) or is_device(content, macros):
        return ()
    return (tree.line_edit(line),)


def _edits(tree: SourceTree, line: int, column: int, macros: frozenset[str]) -> tuple[SourceEdit, ...]:
    node = tree.node_at(line, column)
    inner: list[SourceEdit] = []
    unit: tree_sitter.Node | None = None
    while node is not None and node.parent is not None:
        # tree-sitter parses device lambdas in several ways, but the text before their body is reliable.
        if node.type == "compound_statement" and _is_device_body(tree, node, macros):
            return ()
        above = container(node)
        if node.type == "compound_statement" and above.type in _SCOPES:  # the function's head is in a conditional
            unit = node
            break
        if node.type in _UNITS and above.type in (*_SCOPES, *_UNITS):
            unit = node
            if above.type in _SCOPES:
                break
        elif node.type == "field_declaration" and _is_method(node):
            unit = node
            break
        elif replacement := _replacement(node):
            inner.append(tree.edit(node, replacement))
        node = node.parent
    if unit is None or (_is_device_unit(unit, macros) and not _is_kernel_declaration(unit)):
        return ()
    before = decode(tree.data[: unit.start_byte][-_LOOKBACK:])
    if ends_in_device_words(before, macros) or _holds_kernels(unit):
        return ()
    return (*inner, _removal(tree, unit))


def _removal(tree: SourceTree, unit: tree_sitter.Node) -> SourceEdit:
    """Return the edit that removes a unit; the name of a class stays, because device code may mention it."""
    whole = tree.edit(unit)
    of = next((each for each in unit.children if each.type in CLASSES), unit)
    name, body = (of.child_by_field_name(part) if of.type in CLASSES else None for part in ("name", "body"))
    if name is None or body is None or name.type != "type_identifier":
        return whole
    return replace(whole, start=name.end_byte, end=body.end_byte)


def _replacement(node: tree_sitter.Node) -> str:
    """Return code that can replace a part of a function; empty if the part cannot be replaced by itself."""
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
        return _return_replacement(node)
    is_alone = node.type in ("expression_statement", "for_range_loop", "throw_statement")
    if node.type in _STATEMENTS and (is_alone or container(node).type in BLOCKS):
        functions = [source_of(each) for each in launches(node, into_lambdas=False) if "<" in source_of(each)]
        functions += map(source_of, passed_templates(node))
        return "".join(("{", *(f" (void)&{function};" for function in functions), " }"))
    return ""


def _return_replacement(node: tree_sitter.Node) -> str:
    if not node.named_children:
        return ""
    functions = (each for each in ancestors(node) if each.type in ("lambda_expression", "function_definition"))
    around = next(functions, None)
    nodes = descendants(around) if around is not None and around.type == "lambda_expression" else ()
    if sum(each.type == "return_statement" for each in nodes) > 1:  # all of a lambda must have one type
        return "__builtin_unreachable();"
    return f"return {ANYTHING};"


def _is_device_body(tree: SourceTree, body: tree_sitter.Node, macros: frozenset[str]) -> bool:
    before = decode(tree.data[: body.start_byte])
    return is_device(re.split(r"[;{}]", before[-_LAMBDA_LOOKBACK:])[-1], macros, guess=False)


def _is_device_unit(unit: tree_sitter.Node, macros: frozenset[str]) -> bool:
    is_whole = unit.type in (*CLASSES, "expression_statement")
    return is_device(source_of(unit) if is_whole else head_of(unit), macros)


def _is_kernel_declaration(unit: tree_sitter.Node) -> bool:
    """True if a unit declares a kernel that is defined elsewhere, so device code does not depend on it."""
    text = source_of(unit)
    return "__global__" in text and "{" not in text and text.rstrip().endswith(";")


def _holds_kernels(unit: tree_sitter.Node) -> bool:
    """True if a kernel is in the body of a unit. A macro before a class can make its node include all that follows."""
    return "__global__" in code(source_of(unit).partition("{")[2])


def _is_method(node: tree_sitter.Node) -> bool:
    """True if a member of a class is a function, whose removal does not change the size of the class."""
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type in ("pointer_declarator", "reference_declarator"):
        declarator = next((child for child in declarator.named_children if child.type.endswith("declarator")), None)
    return declarator is not None and declarator.type == "function_declarator"


def _name_of(node: tree_sitter.Node) -> str:
    """Return the unqualified name of a function, class or variable; empty if there is not exactly one."""
    if node.type == "template_declaration":
        return _name_of(node.named_children[-1])
    if node.type in CLASSES:
        named = node.child_by_field_name("name")
        return WORD.findall(source_of(named))[0] if named is not None else ""
    if node.type == "function_definition":
        declarators = [each for each in descendants(node) if each.type == "function_declarator"]
        head = source_of(declarators[0]).partition("(")[0].partition("<")[0] if declarators else ""
    else:
        head = re.split(r"[=;\[({]", source_of(node))[0] if node.type == "declaration" else ""
    words = WORD.findall(head)
    return words[-1] if words else ""
