"""Finds the launches in host code, with their blocks and shared memory where these are constants.

``kernel<<<grid, block, shared>>>(...)`` is found in the syntax tree. A name stands for its value in an ``#define``, an
enumerator or an initialized variable of the file or of a file that it includes. The same holds for ``dim3`` variables.
"""

from __future__ import annotations

import ast
import itertools
import os
import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath

from parity.compilers.compile_options import CompileOptions
from parity.inference.host_formulas import CAST, OPERATORS, WARP_NAMES, Formulas, HostValues, parsed_arithmetic
from parity.inference.structures import COMMENT, SIZES, Structures
from parity.model.launch import WARP_SIZE
from parity.platform.files import find_below, read_content
from parity.porting import (
    SourceTree,
    ancestors,
    closure,
    cuda_code,
    descendants,
    embeds_cuda,
    parse,
    source_of,
    template_arguments,
)

_FULL_LINE_COMMENT = re.compile(r"^[ \t]*(?://[^\n]*|/\*.*?\*/)", re.MULTILINE | re.DOTALL)
"""Matches a comment at the start of a line. In Python, ``//`` within a line is a quotient."""
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\n]+?)[ \t]*(?://.*|/\*.*)?$", re.MULTILINE)
_VARIABLES = re.compile(
    r"\b(?:int|unsigned|size_t|auto|long|short|u?int(?:32|64)_t|uint)\s+(?:const\s+)?(?=(\w+\s*[={][^;]*);)"
)
_VARIABLE = re.compile(r"(\w+)\s*(?:=\s*((?:[^={}]|[!=<>]=)+)|\{([^{}]+)\})", re.DOTALL)
_DIM3 = re.compile(r"\bdim3\s+(?:const\s+)?([^;()]*(?:\([^;]*)?);")
_DECLARED = re.compile(r"(\w+)\s*(?:(?:=\s*(?:dim3\s*)?)?[({](.*)[)}])?", re.DOTALL)
_FIELD = re.compile(r"\b(\w+)\s*\.\s*([xyz])\s*=\s*([^;=]+);")
_ASSIGNED = re.compile(r"(?<!dim3)\s(\w+)\s*=\s*dim3\s*[({]([^;]*)[)}]\s*;")
_ADDED = re.compile(r"\b(\w+)\s*\+=\s*([^;]+);")
_MACRO = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(\w+)\(([\w\s,]*)\)[ \t]*\\?\n?[ \t]*([^\n]+?)[ \t]*(?://.*|/\*.*)?$", re.MULTILINE
)
_ASSERTED = re.compile(r"\b(?:\w*(?i:assert)\w*|\w*CHECK)\s*\(([^;{}\"]*)")
_FUNCTION = re.compile(r"\b(\w+)\s*\(([^(){};]*)\)\s*(?:const|noexcept)?\s*\{\s*return\s+([^;{}]+);\s*\}")
_ENUM = re.compile(r"\benum\b[^{};]*\{([^{}]*)\}")
_ENUMERATOR = re.compile(r"\b([A-Za-z_]\w*)\s*=\s*(\d+)\s*[,}]")
_WHOLE_WARPS = re.compile(rf"\*\s*(?:[\w:]+::)?(?:{'|'.join(WARP_NAMES)})(?:\(\))?\s*$")
_SIZEOF = re.compile(r"\bsizeof\s*\(\s*([\w\s:]+?)\s*\)")
_KERNEL = re.compile(
    r"__global__(?:__\w+__\s*\((?:[^()]|\([^()]*\))*\)|[^;{}(])*?\b(?!__)(\w+)\s*\("  # __launch_bounds__(...)
)
_MACRO_NAME = re.compile(r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b")
_DEFINED_NAME = re.compile(r"\b([A-Z][A-Z0-9_]+)(?=\s*=)|#\s*define\s+(\w+)")
_LAUNCHED = re.compile(r"\b(\w+)\s*(?:<[^;{}()]*>)?\s*<<<")
_SUFFIXES = (".cu", ".cuh", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".inl", ".py")
_APART = re.compile(r"<< <|>> >(?=\s*\()")
_MOST_OUTSIDE = 1 << 20
"""The largest number of characters to read of headers outside of the project's folder, such as large libraries."""
_DEEP = 8
"""The largest number of names on the way to a value."""


@dataclass(frozen=True)
class HostLaunch:
    """A launch of a kernel. None, or an empty text, stands for a value that the code does not determine.

    Attributes:
        kernel: Name of the kernel without namespaces.
        template: The arguments in ``<>`` as the source spells them.
        block: The threads along each axis: numbers or names of template arguments.
        shared: An expression for the bytes of dynamic shared memory.
        text: The launch in one line.
        at: The line where it begins.
        path: The file, relative to the project's folder.
        grid: Expressions for the blocks along each axis.
        threads: Expressions for the threads along each axis.
        arguments: Expressions for what is passed to the kernel.
        constants: The values of the arguments that the code fixes, by position.
    """

    kernel: str
    template: tuple[str, ...]
    block: tuple[int | str | None, ...]
    shared: str = ""
    text: str = ""
    at: int = 0
    path: str = ""
    grid: tuple[str, ...] = ()
    threads: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    constants: Mapping[int, int] = field(default_factory=dict)


def accepted(launches: Sequence[HostLaunch], name: str, parameters: int) -> Sequence[HostLaunch]:
    """Return the launches without more arguments than a kernel has, and with template arguments only for a template.

    The others are for kernels of the same name. ``name`` includes the template's arguments.
    """
    return [each for each in launches if len(each.arguments) <= parameters and ("<" in name or not each.template)]


def fitting(launches: Sequence[HostLaunch], axes: Collection[str]) -> Sequence[HostLaunch]:
    """Return the launches with threads only along axes that the kernel reads, if there are any: else all of them."""

    def fits(launch: HostLaunch) -> bool:
        return all(size == 1 or axis in axes for axis, size in zip("xyz", launch.block, strict=False))

    return [each for each in launches if fits(each)] or launches


class HostTexts:
    """The source files in a project's folder, and the headers elsewhere that they include."""

    def __init__(self, folder: Path, options: CompileOptions | None = None) -> None:
        self._folder, self._options = folder, options or CompileOptions()
        # Some formatters write << <grid, block>> >.
        self._texts = {path: _APART.sub(_joined, _text(path)) for path in find_below(folder, *_SUFFIXES)}
        self._given = {_absolute(path): path for path in self._texts}
        self._read: dict[Path, str] = {}
        self._found: dict[Path, list[Path]] = {}
        self._structures: dict[Path, Structures] = {}
        self._copying = {path: COMMENT.sub(" ", text) for path, text in self._texts.items() if "MemcpyToSymbol" in text}
        self._launched = {path: {*_LAUNCHED.findall(text)} for path, text in self._texts.items() if "<<<" in text}

    def launches(
        self, path: Path, macros: Mapping[str, str] | None = None, kernels: Collection[str] | None = None
    ) -> dict[str, tuple[HostLaunch, ...]]:
        """Return the launches of a file's kernels, by name: in the file and its headers, or else in other files.

        ``macros`` are those that compiler options define. ``kernels`` are the names of the kernels without namespaces,
        by default of all kernels that the file or a header of it declares.
        """
        defined = "".join(f"\n#define {name} {value}" for name, value in (macros or {}).items())
        own, more = self.whole(path) + defined, dict[str, list[HostLaunch]]()
        found = self._launches(path, defined, kernels)
        missing = set(_KERNEL.findall(own) if kernels is None else kernels) - set(found)
        others = [other for other, launched in self._launched.items() if other != path and missing & launched]
        near = {name: _nearest(path, [each for each in others if name in self._launched[each]]) for name in missing}
        theirs = {
            other: self._launches(other, own, missing) for other in dict.fromkeys(itertools.chain(*near.values()))
        }
        for name, several in near.items():
            for other in several:
                more.setdefault(name, []).extend(theirs[other].get(name, ()))
        return {**{name: tuple(launches) for name, launches in more.items()}, **found}

    def _launches(
        self, path: Path, others: str = "", wanted: Collection[str] | None = None
    ) -> dict[str, tuple[HostLaunch, ...]]:
        """Return the launches in a file and its headers, with their places."""
        known, begin = _HostDefinitions(f"{self.whole(path)}\n{others}"), 0
        found: dict[str, list[HostLaunch]] = {}
        for one in self._files(path):
            place = PurePath(os.path.relpath(one, self._folder)).as_posix()
            for launch in _launches(self.own(one), known, begin, wanted) if one in self._launched else ():
                found.setdefault(launch.kernel, []).append(replace(launch, path=place))
            begin += len(self.own(one)) + 1
        return {name: tuple(launches) for name, launches in found.items()}

    def undefined_macros(self, path: Path) -> frozenset[str]:
        """Return the upper-case names in a file with launches that neither it nor its headers define."""
        if path not in self._launched:
            return frozenset()
        defined = _DEFINED_NAME.finditer(self.whole(path))
        return frozenset({*_MACRO_NAME.findall(self.own(path))} - {match[1] or match[2] for match in defined})

    def included_sources(self, path: Path) -> frozenset[Path]:
        """Return the sources with kernels that a file includes, directly or through headers."""
        return frozenset(each for each in self._files(path)[1:] if each.suffix == ".cu")

    def kernels_of_other_parts(self, path: Path, whole: Path) -> frozenset[str]:
        """Return the names of kernels in the sources that ``whole`` includes, unless the file ``path`` has them too."""
        known = next((each for each in self._texts if each.resolve() == whole.resolve()), whole)
        names = {name for each in self.included_sources(known) for name in _KERNEL.findall(self.own(each))}
        return frozenset(names - {*_KERNEL.findall(self.whole(path))})

    def kernels_of_headers(self, path: Path) -> frozenset[str]:
        """Return the names of kernels in the headers that a file includes, unless the file has them too."""
        names = {name for each in self._files(path)[1:] for name in _KERNEL.findall(self.own(each))}
        return frozenset(names - {*_KERNEL.findall(self.own(path))})

    def own(self, path: Path) -> str:
        """Return the text of a file."""
        return self._texts.get(path, "")

    def whole(self, path: Path) -> str:
        """Return the text of a file, followed by the headers of the project that it includes."""
        return "\n".join(self._texts.get(one, "") for one in self._files(path))

    def structures(self, path: Path) -> Structures:
        """Return the structures of a file and the headers of the project that it includes.

        Its constants may be filled by other files of its folder.
        """
        if path not in self._structures:
            beside = (text for other, text in self._copying.items() if other.parent == path.parent and other != path)
            self._structures[path] = Structures(self.whole(path), "\n".join(beside))
        return self._structures[path]

    def _files(self, path: Path) -> list[Path]:
        """Return a file and the headers that it includes. Of headers outside of the folder, the nearest are enough."""
        if path not in self._found:
            whole = _absolute(path)
            found = closure(whole, self._options, _absolute(self._folder), self._read).files
            files = [path, *(self._given[each] for each in found if each in self._given and each != whole)]
            left = _MOST_OUTSIDE
            outside = [each for each in found if each not in self._given and each != whole]
            for each in sorted(outside, key=lambda one: -len(os.path.commonpath((whole, one)))):
                if (left := left - len(found[each])) < 0:
                    break
                self._texts[each] = text = _APART.sub(_joined, found[each])
                if "<<<" in text:
                    self._launched[each] = {*_LAUNCHED.findall(text)}
                files.append(each)
            self._found[path] = files
        return self._found[path]


def host_launches(text: str, others: str = "") -> dict[str, tuple[HostLaunch, ...]]:
    """Return the launches in a text in order, by the kernel's name without namespaces.

    Names without a value in the text may have one in ``others``.
    """
    found: dict[str, list[HostLaunch]] = {}
    for launch in _launches(text, _HostDefinitions(f"{text}\n{others}")):
        found.setdefault(launch.kernel, []).append(launch)
    return {name: tuple(launches) for name, launches in found.items()}


def _launches(
    text: str, known: _HostDefinitions, begin: int = 0, wanted: Collection[str] | None = None
) -> Iterator[HostLaunch]:
    """Yield the launches in a text, of ``wanted`` kernels if given.

    ``known`` are the values of names in a longer text, in which this text begins at ``begin``.
    """
    tree, offsets = parse(text), _byte_offsets(text)
    for geometry in descendants(tree.root):
        call = geometry.parent
        function = call.child_by_field_name("function") if call is not None else None
        if call is None or function is None or geometry.type != "kernel_call_syntax":
            continue
        name, _, arguments = source_of(function).partition("<")
        parts = [source_of(each) for each in geometry.named_children if each.type != "comment"]
        if len(parts) < 2:
            continue
        bare = name.rpartition("::")[2].strip()
        if wanted is not None and bare not in wanted:
            continue
        template = tuple(filter(None, template_arguments(f"<{arguments}")))
        written, line = " ".join(source_of(call).split()), call.start_point.row + 1
        passed = call.child_by_field_name("arguments")
        given = [source_of(each) for each in passed.named_children if each.type != "comment"] if passed else []
        shared = _with_sizes(parts[2]) if len(parts) > 2 else "0"
        for place in known.places(parts[1], tree, offsets, call.start_byte, begin):
            grid, threads = (known.sizes(part, place) or [part] for part in parts[:2])
            of = Formulas(known.host(place), grid, given, threads, shared)
            values = {i: value for i, one in enumerate(given) if isinstance(value := known.value(one, place), int)}
            yield HostLaunch(
                bare, template, known.dims(parts[1], place), of.shared, written, line, "", of.grid, of.threads,
                of.arguments, values,
            )  # fmt: skip


def _byte_offsets(text: str) -> Sequence[int]:
    """Return the byte at which each character of a source begins, and the number of bytes."""
    if text.isascii():
        return range(len(text) + 1)
    return [0, *itertools.accumulate(len(each.encode(errors="surrogateescape")) for each in text)]


def _text(path: Path) -> str:
    """Return the text of a file: for Python, the CUDA code in it. Old sources may have comments in another encoding."""
    text = read_content(path).decode(errors="replace")
    if path.suffix != ".py":
        return text
    return cuda_code(text) if embeds_cuda(text) else ""


def _absolute(path: Path) -> Path:
    return Path(os.path.normpath(path.absolute()))


def _nearest(path: Path, others: Sequence[Path]) -> list[Path]:
    """Return the files that share the most folders with a path."""
    shared = [len(os.path.commonpath((path, other))) for other in others]
    return [other for other, count in zip(others, shared, strict=True) if count == max(shared)]


def _joined(match: re.Match[str]) -> str:
    """Remove the blank inside a match without changing its length."""
    bare = match[0].replace(" ", "")
    return bare.rjust(len(match[0])) if bare[0] == "<" else bare.ljust(len(match[0]))


class _HostDefinitions:
    """The values of the names in a file, by position."""

    def __init__(self, text: str) -> None:
        text = _FULL_LINE_COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
        self._values: dict[str, list[tuple[int, str]]] = {}
        self._dims: dict[str, list[tuple[int, str]]] = {}
        enumerators = [each for one in _ENUM.finditer(text) for each in _ENUMERATOR.finditer(f"{one[1]},")]
        for match in (*_DEFINE.finditer(text), *enumerators):
            values = self._values.setdefault(match[1], [])
            values.append((match.start() if values else 0, match[2]))
        for several in _VARIABLES.finditer(text):
            for match in filter(None, map(_VARIABLE.fullmatch, _split(several[1]))):
                self._values.setdefault(match[1], []).append((several.start(), (match[2] or match[3]).strip()))
        for match in _DIM3.finditer(text):
            for one in filter(None, map(_DECLARED.fullmatch, _split(match[1]))):
                self._dims.setdefault(one[1], []).append((match.start(), one[2] or ""))
        self._assigned: dict[str, list[int]] = {}
        for match in _ASSIGNED.finditer(text):
            if match[1] in self._dims:
                self._dims[match[1]].append((match.start(1), match[2]))
                self._assigned.setdefault(match[1], []).append(match.start(1))
        for match in _FIELD.finditer(text):
            self._values.setdefault(f"{match[1]}.{match[2]}", []).append((match.start(), match[3]))
        for match in _ADDED.finditer(text):
            if before := [value for place, value in self._values.get(match[1], []) if place < match.start()]:
                self._values[match[1]].append((match.start(), f"({before[-1]})+({match[2]})"))
        self._fixed = {match[1] for match in (*_DEFINE.finditer(text), *enumerators)}
        for match in _ASSERTED.finditer(text):
            for name, value in _equations(_split(match[1])[0]):
                if name not in self._fixed:
                    self._values.setdefault(name, []).append((match.start(), value))
        self._functions = {
            match[1]: (tuple(part.split()[-1].lstrip("&*") for part in _split(match[2]) if part), match[3])
            for match in (*_FUNCTION.finditer(text), *_MACRO.finditer(text))
        }

    def places(self, block: str, tree: SourceTree, offsets: Sequence[int], at_byte: int, begin: int) -> list[int]:
        """Return where to look up names for a launch: behind each branch that assigns its block, the last one first.

        ``tree`` is the part of the text from ``begin``. Positions count characters, and the tree counts bytes;
        ``offsets`` are the bytes at which the characters of the part begin.
        """
        at, found = begin + bisect_left(offsets, at_byte), list[int]()
        assigned = [each for each in self._assigned.get(block, ()) if begin <= each < at]
        declared = [each for each, _ in self._dims.get(block, ()) if each < at and each not in assigned]
        for place in reversed([each for each in assigned if each > max(declared, default=0)]):
            start = offsets[place - begin]
            around = ancestors(tree.root.descendant_for_byte_range(start, start))
            scope = next((each.parent for each in around if each.type == "expression_statement"), None)
            is_last = scope is None or scope.start_byte <= at_byte < scope.end_byte
            end = at if scope is None or is_last else begin + bisect_left(offsets, scope.end_byte)
            found.append(min([end, *(each - 1 for each in assigned if each > place)]) if found else at)
            if is_last:
                break
        return found or [at]

    def host(self, at: int) -> HostValues:
        """Return the definitions at a position."""

        def defined(name: str) -> str | None:
            given = self._last(self._values, name, at)
            return None if given is None else _with_sizes(given)

        return HostValues(defined, lambda name: self.sizes(name, at), self._functions, self._fixed)

    def dims(self, text: str, at: int) -> tuple[int | str | None, ...]:
        """Return the sizes of a ``dim3`` along x, y and z."""
        parts = self.sizes(text, at)
        return tuple(self._threads(part, at) for part in ((text,) if parts is None else parts))

    def _threads(self, text: str, at: int) -> int | str | None:
        """Return a number or a name, or one warp for a computed number of whole warps: ``blocks * warpSize``."""
        if (found := self.value(text, at)) is not None:
            return found
        made = self._last(self._values, text.strip(), at) or text
        return WARP_SIZE if _WHOLE_WARPS.search(made) else None

    def sizes(self, text: str, at: int) -> list[str] | None:
        """Return the texts of the sizes of a ``dim3``, or None for a number."""
        for _ in range(_DEEP):
            text = text.strip()
            if match := re.fullmatch(r"dim3\s*[({](.*)[)}]", text, re.DOTALL):
                return _split(match[1])
            found, number = self._nearest(self._dims, text, at), self._nearest(self._values, text, at)
            if found and (number is None or found >= number):  # another function may give the name to a number
                fields = tuple(self._last(self._values, f"{text}.{axis}", at) for axis in "xyz")
                parts = _split(found[2])
                return [fields[i] or (parts[i] if i < len(parts) and parts[i] else "1") for i in range(3)]
            if number is None or number[2].strip() == text:
                return None
            text = number[2]
        return None

    def value(self, text: str, at: int, met: frozenset[str] = frozenset()) -> int | str | None:
        """Return a number, or the name without a value that an expression leads to, or None.

        Names in ``met`` are not followed, because a program may add to a variable what it was before.
        """
        text = CAST.sub("", _with_sizes(text)).strip()
        for _ in range(_DEEP):
            if not text.isidentifier():
                break
            given = self._last(self._values, text, at)
            if given is None or given.strip() == text:
                return WARP_SIZE if text in WARP_NAMES else text
            met |= {text}
            text = CAST.sub("", _with_sizes(given)).strip()
        try:
            return self._number(parsed_arithmetic(text), at, met)
        except (ValueError, ZeroDivisionError):
            return None

    def _number(self, node: ast.expr | None, at: int, met: frozenset[str]) -> int:
        """Return the value of an expression.

        Raises:
            ValueError: the file does not determine it.
        """
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return node.value
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](self._number(node.left, at, met), self._number(node.right, at, met))
        if isinstance(node, ast.Name) and node.id not in met and isinstance(value := self.value(node.id, at, met), int):
            return value
        raise ValueError

    @staticmethod
    def _nearest(table: Mapping[str, list[tuple[int, str]]], name: str, at: int) -> tuple[bool, int, str] | None:
        """Return the last value of a name before a position, or else the first after it; the nearer, the larger."""
        found = [(place <= at, place if place <= at else -place, text) for place, text in table.get(name, [])]
        return max(found, default=None, key=lambda each: each[:2])

    def _last(self, table: Mapping[str, list[tuple[int, str]]], name: str, at: int) -> str | None:
        """Return the text of the nearest value of a name."""
        found = self._nearest(table, name, at)
        return found and found[2]


def _equations(asserted: str) -> Iterator[tuple[str, str]]:
    """Yield the names in an assertion with the products that they are equal to."""
    for part in asserted.split("&&"):
        sides = [side.strip() for side in part.split("==")]
        for one, other in itertools.permutations(sides) if len(sides) == 2 else ():
            if one.isidentifier() and "*" in other:
                yield one, other


def _with_sizes(text: str) -> str:
    """Replace ``sizeof`` of known types by numbers."""
    return _SIZEOF.sub(lambda match: str(SIZES.get(match[1], match[0])), text)


def _split(text: str) -> list[str]:
    """Split a text at commas outside of brackets, up to an unmatched closing bracket."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if depth < 0:
            break
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]
