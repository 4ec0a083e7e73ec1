"""A table of the errors that clang reports for code that nvcc accepts, and the edits that repair them."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import tree_sitter

from parity.compilers.diagnostics import ATTRIBUTES, NOT_DEFINED, Diagnostic, Place
from parity.compilers.lexing import Lines, code
from parity.porting.device_words import (
    DEVICE_ONLY,
    DEVICE_WORD,
    HOST_WORD,
    KERNEL_WORD,
    SIDE_WORD,
    device_macros,
)
from parity.porting.host_code import HostCode
from parity.porting.host_pieces import CONDITIONAL, host_edits
from parity.porting.source_tree import (
    BLOCKS,
    Edit,
    SourceTree,
    decode,
    definition,
    descendants,
    encode,
    is_in_function,
    parse,
    source_of,
)

__all__ = ["REPAIRS", "Module", "Repair", "Site", "find_repair"]

_QUOTED = re.compile(r"'([^']+)'")
_WORD = re.compile(r"\b[A-Za-z_]\w*\b")
_WORD_BYTES = re.compile(rb"[A-Za-z_]\w*")
_SIDE = re.compile(r"__(?:host|device)__")
_VERSION = re.compile(
    r"\b(?:(?:CUDA|CUDART|CCCL|CUB|THRUST|_LIBCUDACXX_CUDA_API)_VERSION|__CUDACC_VER_\w+|__CUDA_API_VER_\w+"
    r"|__CUDACC_(?:EXTENDED_LAMBDA|RELAXED_CONSTEXPR|RDC)__)\b"
)
"""Matches CUDA's version macros and nvcc's options, none of which HIP defines."""

Located = tuple[str, Edit]
"""A file, and an edit of it."""


@dataclass(frozen=True)
class Module:
    """The translated files of a module, by the names that errors use, and what is left out of them."""

    texts: Mapping[str, str]
    host: HostCode

    @functools.cached_property
    def device_macros(self) -> frozenset[str]:
        """Macros that mark device code."""
        return device_macros(self.texts.values()) | self._macros(KERNEL_WORD)

    @functools.cached_property
    def maybe_device_macros(self) -> frozenset[str]:
        """Macros that mark device code in at least one of their definitions."""
        return self._macros(DEVICE_ONLY)

    @functools.cached_property
    def both_sides_macros(self) -> frozenset[str]:
        """Macros that stand for ``__host__ __device__``."""
        return self._macros(HOST_WORD) & self._macros(DEVICE_WORD)

    @functools.cached_property
    def side_macros(self) -> frozenset[str]:
        """Macros that stand for ``__host__``, ``__device__`` or ``__global__``."""
        return self._macros(SIDE_WORD)

    def _macros(self, words: re.Pattern[str]) -> frozenset[str]:
        return device_macros(self.texts.values(), anywhere=True, words=words)


@dataclass(frozen=True)
class Site:
    """An error at one of its places."""

    error: Diagnostic
    module: Module
    file: str
    line: int
    column: int

    @property
    def is_in_module(self) -> bool:
        """True if the place is in a file of the module. The linker may report another file of the same name."""
        text = self.module.texts.get(self.file)
        return text is not None and self.line <= text.count("\n") + 1

    @property
    def tree(self) -> SourceTree:
        return parse(self.module.texts[self.file])

    @property
    def is_of_hip(self) -> bool:
        """True if the error is about a redeclaration of something in HIP's headers."""
        return self.error.previous is not None and self.error.previous[0] not in self.module.texts

    def enclosing(self, kind: str) -> tree_sitter.Node | None:
        """Return the smallest node of a type around the place."""
        return self.tree.enclosing(self.line, self.column, kind)

    def word(self, pattern: re.Pattern[bytes] = _WORD_BYTES) -> Edit | None:
        """Return an edit of the word at the place, or of what else a pattern matches there."""
        return self.tree.match_at(pattern, self.line, self.column)

    def here(self, *edits: Edit | None) -> list[Located]:
        """Return edits of the site's file."""
        return [(self.file, each) for each in edits if each is not None]


Locate = Callable[[Site, re.Match[str]], Sequence[Located] | None]
"""Returns alternative edits, the smallest first; none if the error is the user's; None if another row applies."""


@dataclass(frozen=True)
class Repair:
    """A row of the table: errors that match ``pattern``, where to edit the source, and a source with such an error.

    Rows that do not need a place find it by the name that the error quotes.
    """

    name: str
    pattern: re.Pattern[str]
    locate: Locate
    example: str
    needs_place: bool = True


def find_repair(site: Site) -> tuple[Repair, Sequence[Located]] | None:
    """Return the first row that applies to an error, with its edits; None if the place is not in the module."""
    for repair in REPAIRS:
        match = repair.pattern.search(site.error.text) if site.is_in_module or not repair.needs_place else None
        found = None if match is None else repair.locate(site, match)
        if found is not None:
            return repair, found
    return None


def _side_words(site: Site, match: re.Match[str]) -> list[Located] | None:
    """Insert ``__host__`` and ``__device__`` where only the declaration or only the definition has them."""
    error, texts = site.error, site.module.texts
    if error.previous and error.previous[0] in texts:
        places = [error.places[0], error.previous]
    else:  # clang does not report the declaration of a template
        quoted = _QUOTED.search(error.text)
        name = re.escape(quoted[1].partition("(")[0].partition("<")[0].rpartition("::")[2]) if quoted else ""
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
            before = text[match.start() - lines.column(match.start()) + 1 : match.start()]
            yield file, lines.number(match.start()), len(encode(before)) + 1


def _side_words_at(module: Module, place: Place) -> tuple[tuple[str, ...], Edit] | None:
    """Return the words that name the side of the function at a place, and an insertion before them.

    None if no function is declared or defined there.
    """
    file, line, column = place
    tree = parse(module.texts[file])
    node = tree.node_at(line, column)
    begins = node.start_byte if node is not None else 0
    functions = ("function_definition", "declaration", "field_declaration")
    while node is not None and node.type not in functions:
        if node.type in ("compound_statement", "call_expression"):
            return None
        node = node.parent
    if node is None:
        return None
    first = node  # two macros before a type look like a declaration without its end
    while (before := first.prev_sibling) and before.type in functions and before.children[-1].is_missing:
        first = before
    head = decode(tree.data[first.start_byte : begins])
    words = (word for word in _WORD.findall(head) if _SIDE.fullmatch(word) or word in module.side_macros)
    return tuple(dict.fromkeys(words)), tree.edit(first).inserting("")


def _shared_constructor(site: Site, match: re.Match[str]) -> list[Located] | None:
    """Let a constructor that does nothing, and that a shared variable calls, be for both sides."""
    text, error = site.module.texts.get(error_file := site.error.places[0][0], ""), site.error
    _, line, column = error.places[0]
    lines = text.split("\n")[:line]
    before = "\n".join(lines)[: len("\n".join(lines[:-1])) + column] if error_file in site.module.texts else ""
    if not error.host_only or "__shared__" not in re.split(r"[;{}]", before)[-1]:
        return None
    does_nothing = re.compile(rb"\w+\s*\(\s*\)\s*(?:noexcept\s*)?\{\s*\}")
    for file, line, column in error.candidates:
        tree = parse(site.module.texts[file]) if file in site.module.texts else None
        name = tree.match_at(_WORD_BYTES, line, column) if tree else None
        if tree and name and does_nothing.match(tree.data, name.start):
            edit = name.inserting("__host__ __device__ ")
            if not site.module.host.covers(file, edit):
                return [(file, edit)]
    return None


def _shared_length(site: Site, match: re.Match[str]) -> list[Located]:
    declaration = site.enclosing("declaration")
    for array in descendants(declaration) if declaration is not None else ():
        size, named = array.child_by_field_name("size"), array.child_by_field_name("declarator")
        if size is not None and named is not None and source_of(named) == match[1]:
            return site.here(replace(site.tree.edit(size), head=f"{match[1]}[{source_of(size)}]"))
    return []


def _linkage(site: Site, match: re.Match[str]) -> list[Located]:
    node = site.enclosing("linkage_specification")
    value, body = (node and node.child_by_field_name(part) for part in ("value", "body"))
    if not node or not value or not body or body.type == "declaration_list":
        return []
    return site.here(replace(site.tree.edit(node), end=value.end_byte, head=f"extern {source_of(value)}"))


def _word(site: Site, match: re.Match[str]) -> list[Located]:
    return site.here(site.word())


def _constructor_arguments(site: Site, match: re.Match[str]) -> list[Located]:
    return site.here(site.word(re.compile(rb"\w+\s*(<(?:[^<>(){};]|<[^<>(){};]*>)*>)")))


def _constexpr(site: Site, match: re.Match[str]) -> list[Located] | None:
    declaration = site.enclosing("declaration")
    if declaration is None or declaration.parent is None or declaration.parent.type not in BLOCKS:
        return None
    words = (word for word in declaration.children if source_of(word) == "constexpr")
    return site.here(*(site.tree.edit(word, "const") for word in words)) or None


def _template_keyword(site: Site, match: re.Match[str]) -> list[Located]:
    word = site.word()
    return site.here(word.inserting("template ") if word else None)


def _friend_qualifier(site: Site, match: re.Match[str]) -> list[Located] | None:
    word = site.word()
    is_friend = word and re.search(rb"\bfriend\b[^;{}]*\Z", site.tree.data[: word.start])
    return site.here(word.inserting(match[2])) if word and is_friend else None


def _member_of_this(site: Site, match: re.Match[str]) -> list[Located]:
    this = site.word(re.compile(rb"[^;{}\n]*?\b(this->)(?=\w)"))
    return site.here(replace(this, replacement="::std::remove_reference_t<decltype(*this)>::") if this else None)


def _zeros(site: Site, match: re.Match[str]) -> list[Located]:
    node, length = site.enclosing("initializer_list"), int(match[1])
    values = [each for each in node.named_children if each.type != "comment"] if node is not None else []
    if node is None or node.start_point != (site.line - 1, site.column - 1) or not 0 < len(values) < length:
        return []
    zeros = f"{', 0' * (length - len(values))}}}"
    return site.here(replace(site.tree.edit(node, zeros), start=values[-1].end_byte))


def _dim3_components(site: Site, match: re.Match[str]) -> list[Located]:
    node = site.enclosing("cast_expression")
    value = node.child_by_field_name("value") if node is not None else None
    if node is None or value is None:
        return []
    components = ", ".join(f"({source_of(value)}).{axis}" for axis in "xyz")
    return site.here(site.tree.edit(node, f"make_uint3({components})"))


def _host_words(site: Site, match: re.Match[str]) -> list[Located] | None:
    """Make a ``__host__ __device__`` function that launches kernels a host function."""
    node = site.enclosing("function_definition")
    body = node.child_by_field_name("body") if node is not None else None
    if node is None or body is None:
        return None
    both = site.module.both_sides_macros
    whole = definition(node)
    head, start = site.tree.data[whole.start_byte : body.start_byte], whole.start_byte
    found = [(match.span(), decode(match[0])) for match in _WORD_BYTES.finditer(head)]
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


def _typed_braces(site: Site, match: re.Match[str]) -> list[Located]:
    node = site.enclosing("assignment_expression")
    left, right = (node and node.child_by_field_name(side) for side in ("left", "right"))
    if not left or not right or right.type != "initializer_list":
        return []
    return site.here(site.tree.edit(right, f"__typeof__({source_of(left)}){source_of(right)}"))


def _own_atomic(site: Site, match: re.Match[str]) -> list[Located] | None:
    """Remove the source's own definition of an atomic function that HIP has."""
    candidates = site.error.candidates
    own = [each for each in candidates if each[0] in site.module.texts]
    if not 0 < len(own) < len(candidates):
        return None
    sites = (Site(site.error, site.module, *place) for place in own)
    found = (located for each in sites for located in _function(each))
    return [each for each in found if not site.module.host.covers(*each)][:1]


def _function(site: Site) -> list[Located]:
    """Return the edit that removes the function or function template that is defined at the place."""
    node = site.enclosing("function_definition")
    while node is not None and (node.type != "function_definition" or is_in_function(node)):
        node = node.parent
    return [] if node is None else site.here(site.tree.edit(definition(node)))


def _extern(site: Site) -> list[Located]:
    node = site.enclosing("declaration")
    return site.here(site.tree.edit(node)) if node is not None and source_of(node).startswith("extern") else []


def _typedef_of_hip(site: Site, match: re.Match[str]) -> list[Located] | None:
    if not site.is_of_hip:
        return None
    node = site.enclosing("type_definition")
    return site.here(site.tree.edit(node)) if node is not None else _extern(site)


def _host_name_of_hip(site: Site, match: re.Match[str]) -> list[Located] | None:
    if not site.is_of_hip:
        return None
    pieces = host_edits(site.tree.text, site.line, site.column, site.module.device_macros)
    return _function(site) or _extern(site) or site.here(*pieces[-1:])


def _function_of_hip(site: Site, match: re.Match[str]) -> list[Located] | None:
    return _function(site) or _extern(site) if site.is_of_hip else None


def _error_directive(site: Site, match: re.Match[str]) -> list[Located] | None:
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


def _host_code(site: Site, match: re.Match[str]) -> list[Located]:
    text, module = site.tree.text, site.module
    edits = host_edits(text, site.line, site.column, module.device_macros)
    if len(edits) > 1 and not host_edits(text, site.line, site.column, module.maybe_device_macros):
        edits = edits[-1:]  # a function that may be for the device must not lose a part of its code
    return site.here(*edits)


REPAIRS = (
    Repair(
        "side of a declaration and its definition differ",
        re.compile(f"{ATTRIBUTES.pattern}|{NOT_DEFINED}"),
        _side_words,
        "struct A { __device__ int f(int) const; };\nint A::f(int x) const { return x; }\n"
        "__global__ void k(int* x) { *x = A().f(1); }\n",
        needs_place=False,
    ),
    Repair(
        "shared variable with a host constructor that does nothing",
        re.compile(r"^no matching constructor for initialization of"),
        _shared_constructor,
        "struct A { int x; A() {} A(double a) : x(a) {} };\n"
        "__global__ void k(int* x) { __shared__ A all[32]; all[1].x = 1; *x = all[1].x; }\n",
    ),
    Repair(
        "length of dynamic shared memory",
        re.compile(r"__shared__ variable '(\w+)' cannot be 'extern'"),
        _shared_length,
        "extern __shared__ float all[32];\n__global__ void k(float* x) { *x = all[threadIdx.x]; }\n",
    ),
    Repair(
        'extern "C" static',
        re.compile(r"^cannot combine with previous 'extern' declaration specifier$"),
        _linkage,
        'extern "C" static __device__ int f(int x) { return x; }\n__global__ void k(int* x) { *x = f(*x); }\n',
    ),
    Repair(
        "__restrict__ without a pointer",
        re.compile(r"^restrict requires a pointer or reference"),
        _word,
        "__global__ void k(const float3 __restrict__* x, float* y) { *y = x->x; }\n",
    ),
    Repair(
        "template arguments of a constructor's name",
        re.compile(r"^out-of-line constructor for '.*' cannot have template arguments"),
        _constructor_arguments,
        "template <class T> struct S { T x; __device__ S(T y); };\n"
        "template <class T> __device__ S<T>::S<T>(T y) : x(y) {}\n__global__ void k(int* x) { *x = S<int>(*x).x; }\n",
    ),
    Repair(
        "constexpr variable from a static member of an object",
        re.compile(r"^constexpr variable '\w+' must be initialized by a constant expression"),
        _constexpr,
        "struct A { static constexpr int n = 8; };\n"
        "struct B { const A& a; __device__ int f() const { constexpr int n = 2 * a.n; return n; } };\n"
        "__global__ void k(int* x, const A& a) { *x = B{a}.f(); }\n",
    ),
    Repair(
        "missing template keyword",
        re.compile(r"^(?:use|missing) 'template' keyword"),
        _template_keyword,
        "struct A { template <class U> __device__ int get() const { return 1; } };\n"
        "template <class T> __global__ void k(T a, int* x) { *x = a.get<int>(); }\n"
        "template __global__ void k<A>(A, int*);\n",
    ),
    Repair(
        "friend whose parameters are of its namespace",
        re.compile(
            r"^(?:no (?:template|type) named|unknown (?:type|class) name) '(\w+)'; "
            r"did you mean '(?:simply )?((?:\w+::)+)\1'\?"
        ),
        _friend_qualifier,
        "namespace inner { struct Plain {}; __global__ void k(Plain, int* x); }\n"
        "class Item { friend __global__ void inner::k(Plain, int*); int x; };\n"
        "__global__ void inner::k(Plain, int* x) { Item item; item.x = 1; *x = item.x; }\n",
    ),
    Repair(
        "constexpr condition on a static member of this",
        re.compile(r"^constexpr if condition is not a constant expression"),
        _member_of_this,
        "template <class T> struct Base { static constexpr bool wide = sizeof(T) > 2; };\n"
        "template <class T> struct S : Base<T> {\n"
        "  __device__ T f(T x) const { if constexpr (sizeof(T) < 8 and this->wide) return x; else return -x; }\n};\n"
        "__global__ void k(int* x) { *x = S<int>().f(*x); }\n",
    ),
    Repair(
        "vector with fewer values than components",
        re.compile(r"^no matching constructor for initialization of .*\bHIP_vector_type<[^<>]*, (\d)>'"),
        _zeros,
        "__device__ float4 f(float x) { return {x, 2.f}; }\n__global__ void k(float* x) { *x = f(*x).y; }\n",
    ),
    Repair(
        "cast of dim3 to uint3",
        re.compile(r"^no matching conversion for C-style cast from '(?:const )?dim3' .* to 'uint3'"),
        _dim3_components,
        "__global__ void k(uint3* x, dim3 d) { *x = (uint3)d; }\n",
    ),
    Repair(
        "launch in a function for both sides",
        re.compile(r"device-side kernel call/launch"),
        _host_words,
        "template <class T> __global__ void k(T* x) { *x = 1; }\n"
        "template <class F> struct Launch {\n  F f;\n"
        "  template <class T> __host__ __device__ void operator()(T* x) const { f<<<1, 32>>>(x); }\n};\n"
        "void host() { Launch<void (*)(double*)>{k<double>}((double*)nullptr); }\n",
    ),
    Repair(
        "assignment of braces to a type with several assignments",
        re.compile(r"overloaded operator '=' is ambiguous \(with operand types .* and 'void'\)"),
        _typed_braces,
        "#include <cuda_fp16.h>\n__global__ void k(__half2* x) { __half2 sum; sum = {}; *x = sum; }\n",
    ),
    Repair(
        "own atomic function that HIP has",
        re.compile(r"^call to 'atomic\w+' is ambiguous$"),
        _own_atomic,
        "namespace { __device__ double atomicMin(double* at, double x) { return *at = x < *at ? x : *at; } }\n"
        "__global__ void k(double* x) { atomicMin(x, 1.0); }\n",
    ),
    Repair(
        "typedef of <cstdint>",
        re.compile(
            r"typedef redefinition .* vs '(?:__)?(?:u?int(?:8|16|32|64)_t|s?size_t|ptrdiff_t|u?intptr_t)'"
        ),
        _typedef_of_hip,
        "typedef unsigned long long uint64_t;\n__global__ void k(uint64_t* x) { *x += 1; }\n",
    ),
    Repair(
        "host variable or specialization that a system header has",
        re.compile(r"^redefinition of '(?:\w+' as different kind of symbol|\w+<.*>')"),
        _host_name_of_hip,
        "#include <cstdlib>\nstruct Draw { Draw(float); };\nstatic Draw random(0.0f);\n"
        "__global__ void k(float* x) { *x = 1; }\n",
    ),
    Repair(
        "function that HIP has",
        re.compile(""),
        _function_of_hip,
        "__device__ inline void atomicMax(float* to, float value) { *to = value; }\n"
        "__global__ void k(float* x) { atomicMax(x, x[1]); }\n",
    ),
    Repair(
        "#error about CUDA's version or an absent header",
        re.compile(""),
        _error_directive,
        "#if !defined(CUDART_VERSION)\n#error no CUDA\n#endif\n__global__ void k(int* x) { *x = 1; }\n",
    ),
    Repair(
        "host code",
        re.compile(""),
        _host_code,
        "void host(int n) { missing(n); }\n__global__ void k(int* x) { *x = 1; }\n",
    ),
)  # fmt: skip
"""The rows, in the order in which they are tried."""
