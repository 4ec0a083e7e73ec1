"""Finds the kernels of a source, their parameters, and arguments for kernel templates that nothing instantiates."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import tree_sitter

from parity.compilers.lexing import WORD, code
from parity.model.code_object import unqualified
from parity.porting.source_tree import CLASSES, ancestors, descendants, encode, head_of, parse, source_of

INSTANTIATIONS = "<kernels that parity instantiates>"
"""The file name that errors report for the lines of ``instantiations``."""

PLAIN_TYPE = re.compile(
    r"(?:void|bool|char|short|int|long|unsigned|signed|float|double|const|size_t|u?int(?:8|16|32|64)_t)"
    r"|(?:char|uchar|short|ushort|int|uint|long|ulong|float|double)[1-4]"
    r"|__(?:half2?|hip_bfloat16[2]?|nv_bfloat16[2]?)|half2?|(?:hip|nv)_bfloat16"
)
_LITERAL = re.compile(r"\(?-?(?:0[xX][0-9a-fA-F]+|\d+)[uUlL]*\)?|true|false")
_KERNEL = re.compile(r"__global__\b[\s\S]*?\bvoid\b(?:\s+__\w+__(?:\s*\((?:[^()]|\([^()]*\))*\))?)*\s+(\w+)\s*\(")
"""Matches the head of a kernel up to its name."""
_LOCAL_CONSTANT = re.compile(r"\bconst(?:expr)?\s+(?:\w+\s+)+(\w+)\s*(?:=\s*|\{)([\w\s()+\-*/%]+)\}?\s*;")
_ARITHMETIC = re.compile(r"[\w:\s()+\-*/%]+")
_TEMPLATE_USES = frozenset(("template_function", "template_type", "template_method"))
_NUMBER = "32"
"""The value of a template parameter that no launch gives: it fits a warp and most tile sizes."""
_UNKNOWN = "?"
_USE = re.compile(r"\b(\w+)\s*<([^<>;]+)>")
_COMMA = re.compile(r",(?![^<>]*>)")


@dataclass(frozen=True)
class Instantiation:
    """A kernel template with its arguments, as code in these namespaces names it."""

    namespaces: tuple[str, ...]
    name: str

    @classmethod
    def of(cls, text: str) -> Instantiation:
        """Return the instantiation that a qualified name denotes; inverse of ``str``."""
        name, bracket, arguments = text.partition("<")
        *namespaces, own = name.split("::")
        return cls(tuple(namespaces), own + bracket + arguments)

    @property
    def visible(self) -> str:
        """The name as code spells it: without anonymous namespaces, which only a demangler spells."""
        return self.name.replace("(anonymous namespace)::", "")

    @property
    def address(self) -> str:
        """The expression for the address. The types of arguments, if the name has them, choose an overload."""
        name, has_types, types = self.visible.partition(">(")
        return f"(void (*)({types})&{name}>" if has_types else f"&{name}"

    def __str__(self) -> str:
        return "::".join((*self.namespaces, self.name))


def instantiations(kernels: Sequence[Instantiation]) -> str:
    """Return host code that instantiates kernel templates, one per line."""
    lines = [
        f"{''.join(f'namespace {name} {{ ' for name in each.namespaces)}"
        f"static void* const parity_kernel_{i} = (void*){each.address};{' }' * len(each.namespaces)}\n"
        for i, each in enumerate(kernels)
    ]
    return f'\n#line 1 "{INSTANTIATIONS}"\n{"".join(lines)}' if lines else ""


def parameters(text: str) -> dict[str, tuple[str, ...]]:
    """Return the parameter names of each kernel that a source defines or declares, by unqualified kernel name.

    An unnamed parameter is an empty string. Kernels that share a name but not their parameters are omitted.
    """
    found: dict[str, set[tuple[str, ...]]] = {}
    for node in parse(text).nodes():
        kernel = _KERNEL.search(head_of(node)) if node.type in ("function_definition", "declaration") else None
        for each in descendants(node) if kernel else ():
            listed = each.child_by_field_name("parameters") if each.type == "function_declarator" else None
            if kernel and listed is not None:
                names = tuple(_parameter_name(one) for one in listed.named_children if "parameter" in one.type)
                found.setdefault(kernel[1], set()).add(names)
                break
    return {name: each.pop() for name, each in found.items() if len(each) == 1}


def kernels_of(text: str, with_bodies: bool = False) -> tuple[str, ...]:
    """Return the unqualified names of the kernels that a source defines, in any branch of its conditionals.

    ``with_bodies`` omits kernels without a statement.
    """
    found: dict[str, None] = {}
    for node in parse(text).nodes():
        if node.type == "function_definition" and "__global__" in source_of(node):
            head, body = _KERNEL.search(head_of(node)), node.child_by_field_name("body")
            if head and (not with_bodies or (body and any(each.type != "comment" for each in body.named_children))):
                found[head[1]] = None
    return tuple(found)


def has_dependent(text: str) -> bool:
    """Return True if a source names a kernel template with arguments that other code determines."""
    kernels = {match[1] for match in _KERNEL.finditer(text)} if "template" in text else set()
    uses = _USE.findall(text) if kernels else ()
    return any(
        name in kernels and not all(PLAIN_TYPE.fullmatch(word) or _LITERAL.fullmatch(word) for word in words.split())
        for name, words in ((name, arguments.replace(",", " ")) for name, arguments in uses)
    )


def with_chosen_bodies(text: str, chosen: Iterable[str]) -> str:
    """Return a source whose kernel templates are empty except in ``chosen`` instances, names with template arguments.

    Empty instances compile in no time. The lines of the source stay the same.
    """
    given: dict[str, list[list[str]]] = {}
    for each in chosen:
        given.setdefault(unqualified(each), []).append(template_arguments(each))
    edits = dict[int, bytes]()
    for node in parse(text).nodes() if "__global__" in text else ():
        kernel = _KERNEL.search(head_of(node)) if node.type == "template_declaration" else None
        listed = node.child_by_field_name("parameters") if kernel else None
        function = next((each for each in node.named_children if each.type == "function_definition"), None)
        body = function.child_by_field_name("body") if function else None
        if kernel and listed and listed.named_children and body and _is_closed(source_of(body)):
            tests = [_is_instance(listed, each) for each in given.get(kernel[1], ())]
            edits[body.start_byte] = encode(f"{{ if constexpr ({' || '.join(tests) or 'false'}) {{")
            edits[body.end_byte - 1] = b"}}"
    data, end, parts = encode(text), 0, list[bytes]()
    for place, edit in sorted(edits.items()):
        parts += [data[end:place], edit]
        end = place + 1
    return b"".join((*parts, data[end:])).decode("utf-8", "surrogateescape")


def _is_closed(body: str) -> bool:
    """Return False if conditional compilation or an error of the parser makes the end of a body uncertain."""
    text = code(body)
    return text.endswith("}") and text.count("{") == text.count("}")


def as_in_cuda(name: str) -> str:
    """Return the name of an instance as CUDA spells its types. Ops have HIP's names."""
    return name.replace("__hip_", "__nv_").replace("hiprand", "curand").replace("rocwmma", "nvcuda::wmma")


def template_arguments(name: str) -> list[str]:
    """Return the template arguments of a name (``tile<8, float>``). A comma in an argument does not separate."""
    parts, depth = [""], 0
    for letter in name.partition("<")[2].rpartition(">")[0]:
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _is_instance(parameters: tree_sitter.Node, arguments: Sequence[str]) -> str:
    """Return the condition that a template has these arguments. Arguments that code cannot name are left out."""
    tests = []
    for parameter, argument in zip(
        (e for e in parameters.named_children if e.type != "comment"), arguments, strict=False
    ):
        declarator = parameter.child_by_field_name("declarator")
        name = _template_parameter(parameter)
        if "variadic" in parameter.type:
            break
        if name in ("typename", "class") or not set(argument).isdisjoint("{}'$"):
            continue
        if "type_parameter" in parameter.type:
            tests.append(f"__is_same({name}, {argument.replace('(anonymous namespace)::', '')})")
        elif declarator and declarator.type == "identifier":
            tests.append(f"(long long)({name}) == (long long)({argument})")
    return f"({' && '.join(tests) or 'true'})"


def launches(node: tree_sitter.Node, into_lambdas: bool = True) -> Iterator[tree_sitter.Node]:
    """Yield the functions that the ``<<<...>>>`` launches in a piece of code call."""
    for each in descendants(
        node, ("kernel_call_syntax",) if into_lambdas else ("kernel_call_syntax", "lambda_expression")
    ):
        call = each.parent if each.type == "kernel_call_syntax" else None
        if call and (function := call.child_by_field_name("function")):
            yield function


def launched(text: str, start: int, end: int) -> Iterator[Instantiation]:
    """Yield the kernel templates that bytes ``start`` to ``end`` launch with plain types and numbers."""
    root = parse(text).root.descendant_for_byte_range(start, end - 1)
    for function in launches(root) if root else ():
        if start <= function.start_byte < end:
            name, _, arguments = source_of(function).partition("<")
            words = [word for word in re.split(r"[\s,<>*&]+", arguments) if word]
            if words and all(PLAIN_TYPE.fullmatch(word) or _LITERAL.fullmatch(word) for word in words):
                yield Instantiation(_namespaces(function), f"{name}<{arguments}")


def passed_templates(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """Yield the function templates of the file that a statement passes as arguments, with plain types only."""
    passed = [
        each
        for each in descendants(node)
        if each.type == "template_function"
        and each.parent is not None
        and each.parent.type == "argument_list"
        and all(
            map(PLAIN_TYPE.fullmatch, source_of(each).partition("<")[2].removesuffix(">").replace(",", " ").split())
        )
    ]
    if passed:
        defined = {_defined_name(each) for each in descendants(_root(node)) if each.type == "template_declaration"}
        yield from (each for each in passed if _name_field(each) in defined)


def guess_instantiations(text: str, texts: Sequence[str] = (), known: Collection[str] = ()) -> Iterator[Instantiation]:
    """Yield an instantiation of each kernel template of a source, with ``float`` where nothing gives a type.

    Numbers come from the launches in the file, including constants that a launch names. A template without a launch
    gets 32. ``texts`` are the sources of all files that this one includes. The names of kernels in ``known`` are left
    out.
    """
    tree = parse(text)
    by_name: dict[str, dict[tuple[str, ...], None]] = {}
    for function in launches(tree.root):
        name = source_of(function).partition("<")[0].rpartition("::")[2].strip()
        by_name.setdefault(name, {}).update(dict.fromkeys(_template_arguments(function, texts)))
    for node in tree.nodes():
        kernel = _KERNEL.search(head_of(node)) if node.type == "template_declaration" else None
        listed = node.child_by_field_name("parameters") if kernel else None
        if kernel is None or listed is None or kernel[1] in known:
            continue
        defaults = [_default(child, texts) for child in listed.named_children if child.type != "comment"]
        others = ["false" if each == "true" else each for each in defaults]  # the compiler may refuse one of both
        for given, usual in itertools.product(by_name.get(kernel[1], [()]), (defaults, others)):
            if found := _guess(usual, kernel[1] in by_name, given):
                yield Instantiation(_namespaces(node), f"{kernel[1]}<{', '.join(found)}>")


def _template_arguments(use: tree_sitter.Node, texts: Sequence[str], depth: int = 3) -> Iterator[tuple[str, ...]]:
    """Yield the template arguments of a use, with the parameters of an enclosing template substituted.

    The values of these parameters come from the uses of the enclosing template in the same file, and else from
    ``_default``.
    """
    arguments = source_of(use).partition("<")[2].removesuffix(">")
    parts = tuple(part.strip() for part in _COMMA.split(arguments) if part.strip())
    around = use.parent
    constants: dict[str, str] = {}
    while around is not None and around.type != "template_declaration":
        if around.type == "compound_statement":
            constants = {**dict(_LOCAL_CONSTANT.findall(source_of(around))), **constants}
        around = around.parent
    parts = tuple(_substituted(part, constants) for part in parts)
    listed = around.child_by_field_name("parameters") if around else None
    children = [child for child in listed.named_children if child.type != "comment"] if listed else []
    names = [_template_parameter(child) for child in children]
    if around is None or not set(names) & {word for part in parts for word in WORD.findall(part)}:
        yield parts
        return
    own = _defined_name(around)
    uses = [each for each in descendants(_root(around)) if each.type in _TEMPLATE_USES and _name_field(each) == own]
    several = dict.fromkeys(each for node in uses if depth for each in _template_arguments(node, texts, depth - 1))
    defaults = [_default(child, texts) for child in children]
    for given in [each for each in several if len(each) <= len(names)] or [()]:
        known = dict(zip(names, (*given, *defaults[len(given) :]), strict=True))
        yield tuple(_substituted(part, known) for part in parts)


def _substituted(text: str, values: Mapping[str, str]) -> str:
    """Replace names in a template argument by their values, and names in these values by theirs."""

    def value(match: re.Match[str]) -> str:
        found = values.get(match[0])
        if not found or found == match[0]:
            return match[0]
        inside = _substituted(found, {name: each for name, each in values.items() if name != match[0]})
        return inside if match[0] == text or WORD.fullmatch(inside) else f"({inside})"

    return WORD.sub(value, text)


def _default(parameter: tree_sitter.Node, texts: Sequence[str]) -> str:
    """Return an argument for a template parameter that nothing determines; empty if the parameter has a default."""
    if parameter.type.startswith("optional_"):
        return ""
    kind = parameter.child_by_field_name("type")
    if parameter.type != "parameter_declaration" or kind is None:
        return "float" if parameter.type == "type_parameter_declaration" else _UNKNOWN
    concept = re.compile(rf"\bconcept\s+{re.escape(source_of(kind))}\b")
    if any(concept.search(text) for text in texts):
        return "float"
    return "true" if source_of(kind) == "bool" else _NUMBER


def _guess(defaults: Sequence[str], is_launched: bool, given: Sequence[str]) -> list[str]:
    """Return arguments for template parameters, taken from a launch; empty if they cannot be guessed.

    If the file launches the template, only the launch determines its numbers.
    """
    found: list[str] = []
    for place, default in enumerate(defaults):
        argument = given[place] if place < len(given) else ""
        words = [word for word in re.split(r"[\s*&]+", argument) if word]
        if words and all(PLAIN_TYPE.fullmatch(word) or _LITERAL.fullmatch(word) for word in words):
            found.append(argument)
        elif default == "float" and (not argument or re.fullmatch(r"\w+", argument)):
            found.append(default)
        elif not default and not argument:
            break
        elif default in ("true", "false", _NUMBER) and (not is_launched or _ARITHMETIC.fullmatch(argument)):
            found.append(argument or default)  # possibly of names of constants
        else:
            return []
    return found


def _parameter_name(parameter: tree_sitter.Node) -> str:
    declarator = parameter.child_by_field_name("declarator")
    words = [] if declarator is None else WORD.findall(source_of(declarator).partition("[")[0])
    return words[-1] if words and not words[-1].startswith("__") else ""


def _template_parameter(parameter: tree_sitter.Node) -> str:
    return _parameter_name(parameter) or source_of(parameter).partition("=")[0].split()[-1]


def _root(node: tree_sitter.Node) -> tree_sitter.Node:
    *_, root = ancestors(node)
    return root


def _name_field(node: tree_sitter.Node) -> str:
    name = node.child_by_field_name("name")
    return source_of(name) if name else ""


def _defined_name(template: tree_sitter.Node) -> str:
    """Return the name of the class or function that a template declares."""
    for node in descendants(template):
        if node.type in CLASSES:
            return _name_field(node)
        if node.type == "function_declarator" and (name := node.child_by_field_name("declarator")):
            return source_of(name).rpartition("::")[2]
    return ""


def _namespaces(node: tree_sitter.Node) -> tuple[str, ...]:
    spaces = [each for each in ancestors(node.parent) if each.type == "namespace_definition"]
    return tuple(name for each in reversed(spaces) if (name := _name_field(each)))
