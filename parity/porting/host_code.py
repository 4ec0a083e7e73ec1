"""Host code beside kernels: what of it does not compile is left out, because only the kernels are wanted.

Clang reads the host code of a source even where only device code is made, and host code wants libraries that nobody
needs for the kernels: torch, cuBLAS, argument parsers. A header that is not there is replaced by an empty one; a
function, variable or macro call of the host that then does not compile is blanked, and every line keeps its number.
What device code is made of is never left out: an error in it stays an error. But a length that clang refuses and that
means nothing goes, a type of the host's that a source without its headers defines itself, and braces get a type.

What no AMD GPU can do (PTX that is not translated) takes the function with it that does it, and those that call that:
the other kernels of the file are there, and the build names what is not. So does, if nothing else helps, what is not
the source's to mend: a header that is not here, a library or a name of CUDA's that HIP does not have. A kernel that
launches kernels is there, and fails where it comes to that.

A kernel template that only such a function launched would be lost with it. If its arguments are plain types and
numbers, it is instantiated all the same.
"""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from parity.compilers.diagnostics import ATTRIBUTES, NOT_DEFINED, Diagnostic, Place
from parity.compilers.lexing import Lines, code
from parity.model.finding import Finding
from parity.porting.host_syntax import (
    DEVICE_ALONE,
    DEVICE_WORD,
    HOST_WORD,
    KERNEL_WORD,
    SIDE_WORD,
    Instantiation,
    Piece,
    arguments_at,
    asks_for_a_version,
    attributes_at,
    braces_at,
    call_at,
    components_at,
    constexpr_at,
    definitions_at,
    device_macros,
    empty_constructor_at,
    error_directive,
    extern_at,
    first_length_at,
    friend_at,
    function_at,
    host_alone_at,
    launched,
    linkage_at,
    pieces_at,
    this_at,
    typedef_at,
    word_at,
    zeros_at,
)

__all__ = ["HostCode", "LeftOut", "Repairs", "instantiations", "repaired"]

_QUOTED = re.compile(r"'([^']+)'")
_WORD = re.compile(r"[A-Za-z_]\w*")
_CONSTANT = re.compile(r"(\w+)\s*=\s*(.*)")

_EXTERN_SHARED = re.compile(r"__shared__ variable '(\w+)' cannot be 'extern'")
"""clang's error for dynamic shared memory with a length, which nvcc takes and does not heed."""

_TWO_LINKAGES = re.compile(r"^cannot combine with previous 'extern' declaration specifier$")
"""clang's error for ``extern "C" static``, which nvcc takes: as in C++ nobody else sees the function."""

_RESTRICTED = re.compile(r"^restrict requires a pointer or reference")
"""clang's error for ``float __restrict__* x``, which nvcc takes: it says nothing of what is no pointer."""

_TEMPLATE_ID = re.compile(r"^out-of-line constructor for '.*' cannot have template arguments")
"""clang's error for ``A<T>::A<T>()``, which nvcc takes: the arguments are those of the class."""

_NOT_CONSTANT = re.compile(r"^constexpr variable '\w+' must be initialized by a constant expression")
"""clang's error for a constant that is made of a static member of ``*this``, which nvcc evaluates."""

_OF_THIS = re.compile(r"^constexpr if condition is not a constant expression")
"""clang's error for a condition that is a static member of ``*this``, which nvcc evaluates."""

_TEMPLATE_WORD = re.compile(r"^(?:use|missing) 'template' keyword")
"""clang's error for a template of a type that is not known yet, which nvcc takes without the word."""

_OF_FRIEND = re.compile(
    r"^(?:no (?:template|type) named|unknown (?:type|class) name) '(\w+)'; did you mean '(?:simply )?((?:\w+::)+)\1'\?"
)
"""clang's error for ``friend void inner::f(A)`` with an A of ``inner``, where nvcc looks for it."""

_BRACES = re.compile(r"overloaded operator '=' is ambiguous \(with operand types .* and 'void'\)")
"""clang's error for ``x = {}`` where HIP's type has several assignments and CUDA's has one."""

_VECTOR = re.compile(r"^no matching constructor for initialization of .*\bHIP_vector_type<[^<>]*, (\d)>'")
"""clang's error for a vector with fewer values than components: HIP's is a class, and CUDA takes zeros for the rest."""

_NO_CONSTRUCTOR = re.compile(r"^no matching constructor for initialization of")
"""clang's error for a shared variable whose constructor is the host's: nvcc takes one that does nothing."""

_OF_DIM3 = re.compile(r"^no matching conversion for C-style cast from '(?:const )?dim3' .* to 'uint3'")
"""clang's error for a cast that CUDA's ``dim3`` has an operator for, and HIP's has none."""

_FIXED_WIDTH = re.compile(
    r"typedef redefinition .* vs '(?:__)?(?:u?int(?:8|16|32|64)_t|s?size_t|ptrdiff_t|u?intptr_t)'"
)
"""clang's error for a type of <cstdint> that a source for CuPy or NVRTC, which have no such header, defines itself."""

_THERE = re.compile(r"^redefinition of '(?:\w+' as different kind of symbol|\w+<.*>')")
"""clang's error for a variable of the host's called like a function that C's library has on Linux alone, and for a
specialization that a header of CUDA's has in some versions."""

_OWN_ATOMIC = re.compile(r"^call to 'atomic\w+' is ambiguous$")
"""clang's error where a source defines, in a namespace, an atomic that CUDA lacks for old GPUs and HIP has."""

_FAILED = re.compile(r"^static assertion failed")
_ERROR = re.compile(r"#\s*error\b")

_BLANK = re.compile(rb"[^\r\n]")
_KEPT = re.compile(rb"^([ \t]*#[ \t]*(?:if|ifdef|ifndef|elif|else|endif)\b(?:\\\r?\n|[^\r\n])*)", re.MULTILINE)
"""Conditionals of the preprocessor."""
_BEYOND = re.compile(r"declared with 'error' attribute: (inline PTX.*)|^(inline assembly that no AMD GPU has.*)")
"""clang's error for an operation that no AMD GPU has, and the assembler's (``compiler.refused_assembly``)."""

_DEVICE_LAUNCH = re.compile(r"device-side kernel call/launch")
_LAUNCHES = re.compile(r"device-side kernel call/launch|no matching function for call to '(?P<name>hip\w+)'")
"""clang's errors for a kernel that launches kernels, and for the functions that CUDA has for such kernels."""
_REFUSED = '(__assert_fail("{}", __FILE__, __LINE__, __func__), hipSuccess)'
"""The text in place of a call that fails when it is met."""

_DECLARED = re.compile(r"[^=;\[({]*\b([A-Za-z_]\w*)\s*(?:[=;\[({]|$)")
"""The name in the first line of a declaration."""

_LACKING = re.compile(
    r"undeclared|no matching|no (?:member|type|template) named|undefined template|unknown (?:type|class)"
    r"|incomplete type|does not refer to|\bdeleted\b|out-of-line definition|explicit specialization"
)

INSTANTIATIONS = "<kernels that parity instantiates>"
"""The name that errors give to the lines of ``instantiations``."""


@dataclass(frozen=True)
class LeftOut:
    """A piece of host code that is not compiled: bytes ``start`` to ``end`` of a file, and the error in it.

    ``instead`` stands in its place. A ``function`` is named if it is device code; then the line is that of the error.
    """

    file: str
    line: int
    name: str
    because: str
    start: int
    end: int
    instead: str = ""
    function: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.name}: {self.because}"

    @property
    def is_call(self) -> bool:
        """True if it is a call in a ``function`` that fails when it is met."""
        return bool(self.function) and self.instead.startswith("(")

    @property
    def is_error(self) -> bool:
        """True if it is an ``#error`` directive."""
        return bool(_ERROR.match(self.name))

    def is_in(self, piece: LeftOut) -> bool:
        """True if a piece takes it away, or adds the same at its place."""
        return self.file == piece.file and self.is_within(piece)

    def is_within(self, piece: LeftOut) -> bool:
        """True if its bytes are among those of a piece of the same file."""
        return piece.start <= self.start and self.end <= piece.end


@dataclass(frozen=True)
class HostCode:
    """The pieces left out of the host code of a module, and the headers that an empty one replaces.

    ``missing`` is what the compiler said of these headers, ``instantiated`` are kernel templates that would be lost
    with what is left out. ``brought`` are lines for what these headers would have brought with them, ``pasted`` names
    of CUDA's that macros put together. ``stuck`` are errors, with their places, that were the user's own when it was
    last added to.
    """

    left_out: tuple[LeftOut, ...] = ()
    empty_headers: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    instantiated: tuple[Instantiation, ...] = ()
    brought: tuple[str, ...] = ()
    pasted: tuple[Finding, ...] = ()
    stuck: frozenset[tuple[str, Place]] = frozenset()

    @property
    def errors(self) -> tuple[LeftOut, ...]:
        """The ``#error`` directives that are left out, because a header that is not here might have prevented them."""
        return tuple(piece for piece in self.left_out if piece.is_error)

    def blanked(self, file: str, text: str) -> str:
        """The text of a file without what is left out of it; no line moves."""
        data = text.encode("utf-8", "surrogateescape")
        parts: list[bytes] = []
        done = 0
        for piece in sorted((each for each in self.left_out if each.file == file), key=lambda e: (e.start, -e.end)):
            if piece.start >= done:  # else it is within one that is left out as a whole
                # Conditionals stay: one may begin before a piece and end in it.
                taken = data[piece.start : piece.end]
                blank = b"".join(part if i % 2 else _BLANK.sub(b" ", part) for i, part in enumerate(_KEPT.split(taken)))
                parts += [data[done : piece.start], piece.instead.encode(), blank]
                done = piece.end
        return b"".join((*parts, data[done:])).decode("utf-8", "surrogateescape")

    def reasons_of(self, errors: Iterable[str]) -> tuple[str, ...]:
        """The compiler's words about the pieces that are left out and declare the names that these errors quote.

        A constant can be left out because another is that it is made of. Of a piece that was left out in parts first,
        the first part has the reason.
        """
        wanted = {word for text in errors for quoted in _QUOTED.findall(text) for word in _WORD.findall(quoted)}
        whole = [piece for piece in self.left_out if not piece.instead]
        constants = {match[1]: match[2] for piece in whole if (match := _CONSTANT.search(piece.name))}
        while more := {w for name in wanted for w in _WORD.findall(constants.get(name, "")) if w in constants} - wanted:
            wanted |= more
        found: set[int] = set()
        for piece in whole:
            if wanted & set(_WORD.findall(piece.name)):
                parts = (i for i, each in enumerate(self.left_out) if each.file == piece.file and each.is_within(piece))
                found.add(next(parts))
        first = (self.left_out[i] for i in sorted(found))
        return tuple(f"{each.file}:{each.line}:1: error: {each.because}" for each in first)

    def covers(self, file: str, piece: Piece) -> bool:
        """True if a piece is left out already, by itself or in a larger one."""
        return any(each.file == file and each.start <= piece.start and piece.end <= each.end for each in self.left_out)


@dataclass
class Repairs:
    """The progress of a module with its host code: shared by the targets that are built at the same time."""

    host: HostCode = HostCode()
    rounds: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


def repaired(
    host: HostCode,
    texts: Mapping[str, str],
    errors: Sequence[Diagnostic],
    *,
    coarse: bool = False,
    without: Callable[[str], bool] | None = None,
    guessed: bool = False,
) -> HostCode | None:
    """The pieces to leave out so that these errors go away; None if none of them is one of host code.

    ``texts`` are the translated files by the names that the errors call them, before anything is left out. The smallest
    piece goes first; ``coarse`` is a whole function at once, as it is where the same errors are the user's own for the
    second time: then the others matter little. With ``without``, device code goes as well where headers
    are not here, or where an error is about a name that this says HIP does not have. ``guessed`` says that nobody but
    parity asks for the instantiated templates: one that leads to an error goes if nothing else is left to go.
    """
    device = device_macros(texts.values()) | device_macros(texts.values(), anywhere=True, words=KERNEL_WORD)
    of_host, of_device = (device_macros(texts.values(), anywhere=True, words=each) for each in (HOST_WORD, DEVICE_WORD))
    perhaps = device_macros(texts.values(), anywhere=True, words=DEVICE_ALONE)
    missing = {
        error.missing_header: f"{':'.join(map(str, error.places[0]))}: error: {error.text}"
        for error in errors
        if error.missing_header and error.missing_header not in host.empty_headers
    }
    pieces: dict[tuple[str, int], LeftOut] = {}
    open_ones: list[tuple[str, str, list[Piece]]] = []
    refused: set[int] = set()
    doubted: set[int] = set()
    stuck: set[tuple[str, Place]] = set()
    for error in errors:
        if error.missing_header:
            continue
        if guessed:
            doubted.update(line - 1 for file, line, _ in error.places if file == INSTANTIATIONS)
        sides = (
            _sides(error, texts, device_macros(texts.values(), anywhere=True, words=SIDE_WORD))
            if ATTRIBUTES.search(error.text) or NOT_DEFINED in error.text
            else ()
        )
        if added := next((each for each in sides if not any(map(each.is_in, host.left_out))), None):
            pieces.setdefault((added.file, added.start), added)
            continue
        if _NO_CONSTRUCTOR.search(error.text) and error.host_only and _is_shared_at(texts, error.places[0]):
            empty = [
                (file, piece)
                for file, line, column in error.candidates
                if file in texts
                for piece in empty_constructor_at(texts[file], line, column)
                if not host.covers(file, piece)
            ]
            if empty:
                open_ones += [(file, error.text, [piece]) for file, piece in empty]
                continue
        own = [each for each in error.candidates if each[0] in texts] if _OWN_ATOMIC.search(error.text) else []
        for file, line, column in own if 0 < len(own) < len(error.candidates) else error.places:
            if file == INSTANTIATIONS:
                refused.update(() if guessed else (line - 1,))
                break
            if file not in texts or line > texts[file].count("\n") + 1:  # the linker may mean one of the same name
                continue
            if _FAILED.search(error.text):
                break  # it may be about device code
            if shared := _EXTERN_SHARED.search(error.text):
                around = first_length_at(texts[file], line, column, shared[1])
            elif _TWO_LINKAGES.search(error.text):
                around = linkage_at(texts[file], line, column)
            elif _RESTRICTED.search(error.text):
                around = word_at(texts[file], line, column)
            elif _TEMPLATE_ID.search(error.text):
                around = arguments_at(texts[file], line, column)
            elif _NOT_CONSTANT.search(error.text) and (words := constexpr_at(texts[file], line, column)):
                around = words
            elif _TEMPLATE_WORD.search(error.text):
                around = tuple(
                    replace(each, end=each.start, instead="template ") for each in word_at(texts[file], line, column)
                )
            elif (friend := _OF_FRIEND.search(error.text)) and (
                words := friend_at(texts[file], line, column, friend[2])
            ):
                around = words
            elif _OF_THIS.search(error.text):
                around = this_at(texts[file], line, column)
            elif vector := _VECTOR.search(error.text):
                around = zeros_at(texts[file], line, column, int(vector[1]))
            elif _OF_DIM3.search(error.text):
                around = components_at(texts[file], line, column)
            elif _DEVICE_LAUNCH.search(error.text) and (
                words := host_alone_at(texts[file], line, column, of_host & of_device)
            ):
                around = words  # on AMD GPUs only the host launches
            elif _BRACES.search(error.text):
                around = braces_at(texts[file], line, column)
            elif own:
                around = function_at(texts[file], line, column)
            elif error.previous and error.previous[0] not in texts:  # HIP's headers have it: device code or not
                at = typedef_at if _FIXED_WIDTH.search(error.text) else function_at
                around = at(texts[file], line, column) or extern_at(texts[file], line, column)
                if not around and _THERE.search(error.text):
                    around = pieces_at(texts[file], line, column, device)[-1:]
            elif (said := error_directive(texts[file], line)) and (
                host.empty_headers or asks_for_a_version(texts[file], line)
            ):
                around = (said,)  # a header that is not there may have made the difference, or CUDA's version does
            else:
                around = pieces_at(texts[file], line, column, device)
                if len(around) > 1 and not pieces_at(texts[file], line, column, perhaps):
                    around = around[-1:]  # no part of a function that may be the device's: it would do something else
            if not around:
                if not (without or _BEYOND.search(error.text) or _LAUNCHES.search(error.text)):
                    stuck.add((error.text, (file, line, column)))
                break  # device code of the user's: the error is his
            if found := [piece for piece in around if not host.covers(file, piece)]:
                open_ones.append((file, error.text, found))
                break
    for file, because, found in open_ones:
        piece = found[-1 if coarse or stuck & host.stuck else 0]
        left_out = LeftOut(file, piece.line, piece.head, because, piece.start, piece.end, piece.instead)
        pieces.setdefault((file, piece.start), left_out)
    # An error around another may be of what is wrong inside: a launch stays if an argument can go.
    for key, outer in [*pieces.items()]:
        if outer.instead and any(each is not outer and each.is_in(outer) for each in pieces.values()):
            del pieces[key]
    if not pieces:
        refused |= doubted  # what else does not compile may be the reason of its errors
    if not missing and (without or not (pieces or refused)):
        pieces = {**_beyond(host, texts, errors, device, without), **pieces}
    if not missing and not pieces and not refused:
        return None
    kept = [each for i, each in enumerate(host.instantiated) if i not in refused]
    # One that was refused once stays out: the piece that launches it is left out already.
    wanted = [name for piece in pieces.values() for name in launched(texts[piece.file], piece.start, piece.end)]
    return replace(
        host,
        stuck=frozenset(stuck),
        left_out=(*host.left_out, *pieces.values()),
        empty_headers=(*host.empty_headers, *missing),
        missing=(*host.missing, *missing.values()),
        instantiated=tuple(dict.fromkeys((*kept, *wanted))),
    )


def _is_shared_at(texts: Mapping[str, str], place: Place) -> bool:
    """True if a variable at a place is one of ``__shared__``."""
    file, line, column = place
    lines = texts.get(file, "").split("\n")[:line]
    before = "\n".join(lines)[: len("\n".join(lines[:-1])) + column]
    return "__shared__" in re.split(r"[;{}]", before)[-1]


def _sides(error: Diagnostic, texts: Mapping[str, str], macros: frozenset[str]) -> Iterator[LeftOut]:
    """The words on its side that only a definition has, or only its declaration: nvcc takes both for both."""
    if error.previous and error.previous[0] in texts:
        places = [error.places[0], error.previous]
    else:  # clang does not say it of templates
        quoted = _QUOTED.search(error.text)
        name = re.escape(quoted[1].partition("(")[0].partition("<")[0].rpartition("::")[2]) if quoted else ""
        places = list(_named(name.split()[-1], texts)) if name else []
        places.sort(key=lambda place: place[:2] != error.places[0][:2])  # what is at the error's own place first
    said = [(file, attributes_at(texts[file], line, column, macros)) for file, line, column in places if file in texts]
    for (file, other), (_, one) in itertools.permutations(said, 2):
        if one and other and (missing := [word for word in one[0] if word not in other[0]]):
            piece, instead = other[1], f"{' '.join(missing)} "
            yield LeftOut(file, piece.line, piece.head, error.text, piece.start, piece.end, instead)


def _named(name: str, texts: Mapping[str, str]) -> Iterator[Place]:
    """The places where a function of a name may be declared, defined or called."""
    for file, text in texts.items():
        lines = Lines(text)
        for match in re.finditer(rf"\b{name}(?=\s*(?:<[^;{{}}()]*>\s*)?\()", code(text)):
            before = text[match.start() - lines.column(match.start()) + 1 : match.start()]
            yield file, lines.number(match.start()), len(before.encode("utf-8", "surrogateescape")) + 1


def _beyond(
    host: HostCode,
    texts: Mapping[str, str],
    errors: Sequence[Diagnostic],
    device: frozenset[str],
    without: Callable[[str], bool] | None,
) -> dict[tuple[str, int], LeftOut]:
    """Device code that does what no AMD GPU can, or needs what is not here, and that which uses it."""
    gone = {piece.function for piece in host.left_out if piece.function and not piece.is_call}

    def is_of_hip(because: str) -> bool:
        return not (without and _LACKING.search(because) and any(map(without, _QUOTED.findall(because))))

    if without:  # a texture reference, for one, is a variable of the host's
        declared = (_DECLARED.match(piece.name) for piece in host.left_out if not is_of_hip(piece.because))
        gone |= {match[1] for match in declared if match}
    found: dict[tuple[str, int], LeftOut] = {}
    for error in errors:
        file, line, column = error.place_in(texts)
        said = _BEYOND.search(error.text)
        words = {word for text in _QUOTED.findall(error.text) for word in _WORD.findall(text)}
        used = sorted(gone & words) if _LACKING.search(error.text) else []
        lacks = without and (host.empty_headers or not is_of_hip(error.text))
        if file not in texts:
            continue
        if call := _refused_call(error, texts[file], (file, line, column)):
            if not any(each.file == file and call.is_within(each) for each in host.left_out):
                found.setdefault((file, call.start), call)
            continue
        if not (said or used or lacks) or pieces_at(texts[file], line, column, device):
            continue  # no device code
        because = (said[1] or said[2]) if said else f"uses {used[0]}, which is left out" if used else error.text
        for name, piece in definitions_at(texts[file], line, column):
            if not host.covers(file, piece):
                gone_now = LeftOut(file, line, piece.head, because, piece.start, piece.end, piece.instead, name)
                found.setdefault((file, piece.start), gone_now)
                break
    return found


def _refused_call(error: Diagnostic, text: str, place: Place) -> LeftOut | None:
    """The launch or call at a place that a kernel cannot make on AMD GPUs, as one that fails when it is met."""
    launch = _LAUNCHES.search(error.text)
    if launch is None or (launch["name"] and not error.host_only):
        return None
    what = f"call {launch['name']}" if launch["name"] else "launch kernels"
    because = f"a kernel cannot {what} on AMD GPUs"
    file, line, column = place
    function = next((name for name, _ in definitions_at(text, line, column)), "")
    for each in call_at(text, line, column):
        return LeftOut(file, line, each.head, because, each.start, each.end, _REFUSED.format(because), function)
    return None


def instantiations(kernels: Sequence[Instantiation]) -> str:
    """Host code that instantiates kernel templates, a line each."""
    lines = [
        f"{''.join(f'namespace {name} {{ ' for name in each.namespaces)}"
        f"static void* const parity_kernel_{i} = (void*)&{each.name};{' }' * len(each.namespaces)}\n"
        for i, each in enumerate(kernels)
    ]
    return f'\n#line 1 "{INSTANTIATIONS}"\n{"".join(lines)}' if lines else ""
