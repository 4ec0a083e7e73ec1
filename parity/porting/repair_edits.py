"""Locates the edits that repair an error, one function per row of ``repair_rules.toml``.

Each function returns alternative edits, the smallest first. It returns none if the error is the user's, and None if
another row of the table applies.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from parity.compilers.diagnostics import Place
from parity.compilers.lexing import WORD, Lines, code
from parity.porting.host_pieces import CONDITIONAL, host_edits
from parity.porting.repair_sites import WORD_BYTES, ErrorSite, Located, Module
from parity.porting.source_tree import (
    BLOCKS,
    SourceEdit,
    ancestors,
    decode,
    definition,
    descendants,
    encode,
    is_in_function,
    parse,
    source_of,
)

_SIDE = re.compile(r"__(?:host|device)__")
_VERSION = re.compile(
    r"\b(?:(?:CUDA|CUDART|CCCL|CUB|THRUST|_LIBCUDACXX_CUDA_API)_VERSION|__CUDACC_VER_\w+|__CUDA_API_VER_\w+"
    r"|__CUDACC_(?:EXTENDED_LAMBDA|RELAXED_CONSTEXPR|RDC)__)\b"
)
"""Matches CUDA's version macros and nvcc's options, which HIP does not define."""
_UNROLL = re.compile(r"\s*#\s*pragma\s+(?:no)?unroll\b")
_ZERO = re.compile(r"\{\s*(?:0[uU]?|(?:0\.0*|\.0+)[fF]?)\s*\}")
_PREFERRED = '__attribute__((enable_if(true, "the source has it"))) '


def side_words(site: ErrorSite, match: re.Match[str]) -> list[Located] | None:
    """Insert ``__host__`` and ``__device__`` where only the declaration or only the definition has them."""
    error, texts = site.error, site.module.texts
    if error.previous and error.previous[0] in texts:
        places = [error.places[0], error.previous]
    else:  # clang does not report the declaration of a template
        quoted = next(iter(error.names), "")
        name = re.escape(quoted.partition("(")[0].partition("<")[0].rpartition("::")[2])
        places = list(_mentions(name.split()[-1], texts)) if name else []
        places.sort(key=lambda place: place[:2] != error.places[0][:2])
    found = [(place[0], _side_words_at(site.module, place)) for place in places if place[0] in texts]
    for (file, other), (_, one) in itertools.permutations(found, 2):
        if one and other and (missing := [word for word in one[0] if word not in other[0]]):
            edit = replace(other[1], replacement=f"{' '.join(missing)} ")
            if not site.module.host.covers(file, edit):
                return [(file, edit)]
    return None


def _mentions(name: str, texts: Mapping[str, str]) -> Iterator[Place]:
    """Yield the places where a function may be declared, defined or called."""
    for file, text in texts.items():
        lines = Lines(text)
        for match in re.finditer(rf"\b{name}(?=\s*(?:<[^;{{}}()]*>\s*)?\()", code(text)):
            line, column = lines.place(match.start())
            yield file, line, len(encode(text[match.start() - column + 1 : match.start()])) + 1


def _side_words_at(module: Module, place: Place) -> tuple[tuple[str, ...], SourceEdit] | None:
    """Return the words that name the side of the function at a place, and an insertion before them.

    None if no function is declared or defined there.
    """
    file, line, column = place
    tree = parse(module.texts[file])
    node = tree.node_at(line, column)
    begins = node.start_byte if node is not None else 0
    functions = ("function_definition", "declaration", "field_declaration")
    ends = (*functions, "compound_statement", "call_expression")
    node = next((each for each in ancestors(node) if each.type in ends), None)
    if node is None or node.type not in functions:
        return None
    first = node  # tree-sitter reads two macros before a type as an unfinished declaration
    while (before := first.prev_sibling) and before.type in functions and before.children[-1].is_missing:
        first = before
    head = decode(tree.data[first.start_byte : begins])
    words = (word for word in WORD.findall(head) if _SIDE.fullmatch(word) or word in module.side_macros)
    return tuple(dict.fromkeys(words)), tree.edit(first).inserting("")


def shared_constructor(site: ErrorSite, match: re.Match[str]) -> list[Located] | None:
    """Mark an empty constructor of a shared variable ``__host__ __device__``."""
    declaration = site.enclosing("declaration")
    if not site.error.host_only or declaration is None or "__shared__" not in source_of(declaration):
        return None
    does_nothing = re.compile(rb"\w+\s*\(\s*\)\s*(?:noexcept\s*)?\{\s*\}")
    for file, line, column in site.error.candidates:
        tree = parse(site.module.texts[file]) if file in site.module.texts else None
        name = tree.match_at(WORD_BYTES, line, column) if tree else None
        if tree and name and does_nothing.match(tree.data, name.start):
            edit = name.inserting("__host__ __device__ ")
            if not site.module.host.covers(file, edit):
                return [(file, edit)]
    return None


def shared_length(site: ErrorSite, match: re.Match[str]) -> list[Located]:
    declaration = site.enclosing("declaration")
    for array in descendants(declaration) if declaration is not None else ():
        size, named = array.child_by_field_name("size"), array.child_by_field_name("declarator")
        if size is not None and named is not None and source_of(named) == match[1]:
            return site.here(replace(site.tree.edit(size), head=f"{match[1]}[{source_of(size)}]"))
    return []


def linkage(site: ErrorSite, match: re.Match[str]) -> list[Located]:
    node = site.enclosing("linkage_specification")
    value, body = (node and node.child_by_field_name(part) for part in ("value", "body"))
    if not node or not value or not body or body.type == "declaration_list":
        return []
    return site.here(replace(site.tree.edit(node), end=value.end_byte, head=f"extern {source_of(value)}"))


def word(site: ErrorSite, match: re.Match[str]) -> list[Located]:
    return site.here(site.word())


def constructor_arguments(site: ErrorSite, match: re.Match[str]) -> list[Located]:
    return site.here(site.word(re.compile(rb"\w+\s*(<(?:[^<>(){};]|<[^<>(){};]*>)*>)")))


def constexpr(site: ErrorSite, match: re.Match[str]) -> list[Located] | None:
    declaration = site.enclosing("declaration")
    if declaration is None or declaration.parent is None or declaration.parent.type not in BLOCKS:
        return None
    words = (word for word in declaration.children if source_of(word) == "constexpr")
    return site.here(*(site.tree.edit(word, "const") for word in words)) or None


def template_keyword(site: ErrorSite, match: re.Match[str]) -> list[Located]:
    word = site.word(re.compile(rb"(?:operator *\( *\)|\w+)(?=\s*<)"))
    return site.here(word.inserting("template ") if word else None)


def friend_qualifier(site: ErrorSite, match: re.Match[str]) -> list[Located] | None:
    word = site.word()
    is_friend = word and re.search(rb"\bfriend\b[^;{}]*\Z", site.tree.data[: word.start])
    return site.here(word.inserting(match[2])) if word and is_friend else None


def member_of_this(site: ErrorSite, match: re.Match[str]) -> list[Located]:
    this = site.word(re.compile(rb"[^;{}\n]*?\b(this->)(?=\w)"))
    return site.here(replace(this, replacement="::std::remove_reference_t<decltype(*this)>::") if this else None)


def zeros(site: ErrorSite, match: re.Match[str]) -> list[Located]:
    node, length = site.enclosing("initializer_list"), int(match[1])
    values = [each for each in node.named_children if each.type != "comment"] if node is not None else []
    if node is None or node.start_point != (site.line - 1, site.column - 1) or not 0 < len(values) < length:
        return []
    zeros = f"{', 0' * (length - len(values))}}}"
    return site.here(replace(site.tree.edit(node, zeros), start=values[-1].end_byte))


def no_value(site: ErrorSite, match: re.Match[str]) -> list[Located]:
    """Remove the value 0 from braces. HIP's constructor of a vector with one value sets all components."""
    declarator = site.enclosing("init_declarator")
    value = declarator.child_by_field_name("value") if declarator is not None else None
    if value is None or not _ZERO.fullmatch(source_of(value)):
        return []
    return site.here(site.tree.edit(value, "{}"))


def dim3_components(site: ErrorSite, match: re.Match[str]) -> list[Located]:
    node = site.enclosing("cast_expression")
    value = node.child_by_field_name("value") if node is not None else None
    if node is None or value is None:
        return []
    components = ", ".join(f"({source_of(value)}).{axis}" for axis in "xyz")
    return site.here(site.tree.edit(node, f"make_uint3({components})"))


def host_words(site: ErrorSite, match: re.Match[str]) -> list[Located] | None:
    """Make a ``__host__ __device__`` function that launches kernels a host function."""
    node = site.enclosing("function_definition")
    body = node.child_by_field_name("body") if node is not None else None
    if node is None or body is None:
        return None
    both = site.module.both_sides_macros
    whole = definition(node)
    head, start = site.tree.data[whole.start_byte : body.start_byte], whole.start_byte
    found = [(match.span(), decode(match[0])) for match in WORD_BYTES.finditer(head)]
    words = [(span, word) for span, word in found if _SIDE.fullmatch(word) or word in both]
    names = {word for _, word in words}
    if not names & both and names != {"__host__", "__device__"}:
        return None
    edits = (
        replace(site.tree.edit(whole, replacement), start=start + first, end=start + last)
        for (first, last), word in words
        if (replacement := "" if word == "__device__" else "__host__") != word
    )
    return site.here(*edits) or None


def unroll(site: ErrorSite, match: re.Match[str]) -> list[Located]:
    """Remove the last ``#pragma unroll`` before the place."""
    lines = site.tree.text.split("\n")[: site.line]
    found = (number for number in range(len(lines), 0, -1) if _UNROLL.match(lines[number - 1]))
    return site.here(*map(site.tree.line_edit, itertools.islice(found, 1)))


def typed_braces(site: ErrorSite, match: re.Match[str]) -> list[Located]:
    node = site.enclosing("assignment_expression")
    left, right = (node and node.child_by_field_name(side) for side in ("left", "right"))
    if not left or not right or right.type != "initializer_list":
        return []
    return site.here(site.tree.edit(right, f"__typeof__({source_of(left)}){source_of(right)}"))


def own_atomic(site: ErrorSite, match: re.Match[str]) -> list[Located] | None:
    """Remove the source's own definition of an atomic function that HIP has."""
    candidates = site.error.candidates
    own = [each for each in candidates if each[0] in site.module.texts]
    if not 0 < len(own) < len(candidates):
        return None
    sites = (ErrorSite(site.error, site.module, *place) for place in own)
    found = (located for each in sites for located in _function(each))
    return [each for each in found if not site.module.host.covers(*each)][:1]


def own_operator(site: ErrorSite, match: re.Match[str]) -> list[Located] | None:
    """Make calls prefer the operator of the source: an attribute that is always true decides among equal candidates."""
    texts, host = site.module.texts, site.module.host
    own = [(place[0], _side_words_at(site.module, place)) for place in site.error.candidates if place[0] in texts]
    found = [(file, replace(where[1], replacement=_PREFERRED)) for file, where in own if where]
    return [each for each in found if not host.covers(*each)] or None


def _function(site: ErrorSite) -> list[Located]:
    """Return the edit that removes the function or function template that is defined at the place."""
    around = ancestors(site.enclosing("function_definition"))
    functions = (node for node in around if node.type == "function_definition" and not is_in_function(node))
    return site.here(*(site.tree.edit(definition(node)) for node in itertools.islice(functions, 1)))


def _extern(site: ErrorSite) -> list[Located]:
    node = site.enclosing("declaration")
    return site.here(site.tree.edit(node)) if node is not None and source_of(node).startswith("extern") else []


def typedef_of_hip(site: ErrorSite, match: re.Match[str]) -> list[Located] | None:
    if not site.is_of_hip:
        return None
    node = site.enclosing("type_definition")
    return site.here(site.tree.edit(node)) if node is not None else _extern(site)


def host_name_of_hip(site: ErrorSite, match: re.Match[str]) -> list[Located] | None:
    if not site.is_of_hip:
        return None
    pieces = host_edits(site.tree.text, site.line, site.column, site.module.device_macros)
    return _function(site) or _extern(site) or site.here(*pieces[-1:])


def function_of_hip(site: ErrorSite, match: re.Match[str]) -> list[Located] | None:
    return _function(site) or _extern(site) if site.is_of_hip else None


def error_directive(site: ErrorSite, match: re.Match[str]) -> list[Located] | None:
    edit = site.tree.line_edit(site.line)
    is_directive = re.match(r"#\s*error\b", edit.head)
    if is_directive and (site.module.host.empty_headers or _asks_for_version(site.tree.text, site.line)):
        return site.here(edit)
    return None


def _asks_for_version(text: str, line: int) -> bool:
    """True if the conditional around a line tests CUDA's version or an option of nvcc."""
    depth = 0
    for each in reversed(text.split("\n")[: line - 1]):
        match = CONDITIONAL.match(each)
        if match is None:
            continue
        if depth or match[1] == "endif":  # a conditional that ends before the line
            depth += (match[1] == "endif") - match[1].startswith("if")
        elif _VERSION.search(each):
            return True
        elif match[1].startswith("if"):
            return False
    return False


def host_code(site: ErrorSite, match: re.Match[str]) -> list[Located]:
    text, module = site.tree.text, site.module
    edits = host_edits(text, site.line, site.column, module.device_macros)
    if len(edits) > 1 and not host_edits(text, site.line, site.column, module.maybe_device_macros):
        edits = edits[-1:]  # do not remove only a part of a function that may be device code
    return site.here(*edits)
