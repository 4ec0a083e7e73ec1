"""Advice for a name or header that the compiler did not find, from the project's own files."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from parity.compilers.diagnostics import Diagnostic
from parity.compilers.lexing import WORD
from parity.model.finding import Finding
from parity.porting.build_files import switches_of
from parity.porting.conditionals import DEFINED, PREDEFINED, RENAMED, macros_of
from parity.porting.cuda_names import defined_macros
from parity.porting.errors import Remedies
from parity.porting.includes import INCLUDE, found_in, project_of, searched
from parity.porting.sources import Source
from parity.porting.stubs import needed_for

_LACKING = re.compile(
    r"undeclared|unknown type name|no template named|undefined template|file not found"
    r"|\bis (?:undefined|not a template)|^incomplete type"
)
_RESOLVED = re.compile(r"^[^'\"]*(['\"])[^'\"]+\1 \(aka (['\"])(?P<name>[^'\"]+)\2\)")
"""Matches an error whose first name is a typedef, with the type."""
_NAME = re.compile(r"([A-Za-z_]\w*)(?:<([^'<>]*)>)?")
_DIRECTIVE = re.compile(r"\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b(.*)")
_CONDITION = re.compile(r"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif)\b([^\n]*)", re.MULTILINE)
_OPERATOR = re.compile(r"&&|\|\|")
_OPERAND = re.compile(
    r"[\s(]*(?P<not>!?)[\s(]*(?:defined\b[\s(]*)?(?P<name>[A-Za-z_]\w*)[\s)]*"
    r"(?:(?:==|>=)\s*1|(?:!=|>)\s*0|(?P<off>==\s*0|!=\s*1))?[\s)]*"
)
"""Matches a part of a condition that tests whether one macro is defined, or is 1."""
_UNDECLARED = re.compile(r"undeclared identifier '(\w+)'|^identifier \"(\w*[A-Z]\w*)\" is undefined")
"""Matches clang's and nvcc's errors. nvcc also reports parameters of unknown types, whose names are lower-case."""
_NOT_FOUND = re.compile(r"'([^']+)' file not found")
_SUBMODULE = re.compile(r"^\s*path\s*=\s*(\S+)\s*$", re.MULTILINE)
_ERROR = re.compile(r"\s*#\s*error\b")
_OTHER_SYSTEM = re.compile(
    r"(?:^|_)(?:WIN(?:32|64|DOWS|NT)?|MSC_VER|MSVC|MINGW\d*|APPLE|MACOSX?|OSX|IOS|ANDROID)(?:_|$)"
)
_SHOWN_FOLDERS = 3


@dataclass(frozen=True)
class _Hint:
    """Advice for an error, and macros that a build may have to define."""

    advice: str = ""
    switches: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.advice or self.switches)


@dataclass(frozen=True)
class _SourceLine:
    """A line of a file, and the macros that must be defined, and undefined, to compile it."""

    number: int
    text: str
    switches: tuple[str, ...]
    unless: tuple[str, ...]


def remedies(source: Source, hip: Mapping[Path, str], errors: Sequence[Diagnostic]) -> Remedies:
    """Return advice for these errors, by the name that an error quotes first, or by its file.

    A header that is in several folders needs a setting. A name that is declared behind ``#ifdef SWITCH``, or in a
    header that is included behind it, needs ``-DSWITCH``, if no file defines that; so does a header that is only
    included if the switch is undefined. An undeclared identifier may be such a macro itself.

    Args:
        source: The source that does not compile.
        hip: The translated files.
        errors: The compiler's errors.
    """
    project = _Project(source, hip)
    found: dict[str, _Hint] = {}
    for error in errors:
        file, name = error.places[0][0], next(iter(error.names), "")
        if name and name not in found and _LACKING.search(error.text):
            resolved = _RESOLVED.match(error.text)
            found[name] = (
                _ambiguous_header(name, source)
                or _submodule(error, source)
                or _reference(name, source)
                or project.behind_a_switch(resolved["name"] if resolved else name)
                or _macro_itself(error, source.options.flags)
            )
        if _ERROR.match(line := project.line(Path(file), error.places[0][1])):
            found[line] = project.of_error_directive(Path(file), error.places[0][1])
        if file not in found:
            found[file] = project.without_a_switch(Path(file))
    advice = {name: hint.advice for name, hint in found.items() if hint.advice}
    return Remedies(advice, tuple(dict.fromkeys(name for hint in found.values() for name in hint.switches)))


def _reference(name: str, source: Source) -> _Hint | None:
    """Return the advice for a texture or surface reference, whose type nvcc 13 does not know."""
    declared = re.compile(rf"\b(?:texture|surface)\s*<[^;{{}}]*>\s*{re.escape(name)}\b")
    return _Hint(needed_for("texture")) if any(map(declared.search, source.files.values())) else None


def build_macros(names: Iterable[str], source: Path) -> dict[str, str]:
    """Return the values of these macros in the build files of a source's project, by name."""
    return macros_of(each.flag for each in switches_of(names, source, project_of(source.parent)))


def switches_of_kernels(source: Source) -> tuple[str, ...]:
    """Return the macros that a build must define so that a source has kernels; none if a kernel needs no macro."""
    project = _Project(source, {source.path: source.files[source.path]})
    kernels = [line for line in project.lines[source.path] if "__global__" in line.text]
    undefined = [project.undefined(line.switches) for line in kernels]
    return undefined[0] if undefined and all(undefined) else ()


def switches_tested(source: Source) -> tuple[str, ...]:
    """Return the undefined macros that some lines of a source and its headers depend on."""
    project = _Project(source, source.files)
    wanted = {line.switches: None for lines in project.lines.values() for line in lines if line.switches}
    return tuple(dict.fromkeys(name for switches in wanted for name in project.undefined(switches)))


def is_beyond_switches(source: Source, errors: Iterable[Finding]) -> bool:
    """True if a source only lacks headers that are absent, and names in their namespaces.

    No macro provides these, unless a condition surrounds a line with an error.
    """
    project = _Project(source, source.files)
    places = {name: path for path in source.files for name in (str(path), source.name(path))}
    texts = source.files.values()
    for error in errors:
        line = project.at(places.get(error.file), error.line)
        if line is None or project.undefined(line.switches) or project.undefined(line.unless):
            return False
        if _NOT_FOUND.search(error.advice):
            continue
        unknown = _undeclared(error.advice)
        if not unknown:
            return False
        used = re.compile(rf"\b{unknown}\s*::")
        declared = re.compile(rf"\b(?:namespace|class|struct|union|enum|using|define)\s+(?:\w+\s*::\s*)*{unknown}\b")
        if not any(map(used.search, texts)) or any(map(declared.search, texts)):
            return False
    return bool(source.repairs.host.empty_headers)


def setting_for(macros: Sequence[str]) -> str:
    """Return the advice to declare in the settings that the project's build defines these macros."""
    flags = ", ".join(f'"-D{each}"' for each in macros)
    return f"{' and '.join(macros)}; if yours does, say so: flags = [{flags}] in [tool.parity]"


def _macro_itself(error: Diagnostic, flags: Iterable[str]) -> _Hint:
    """Treat an undeclared identifier as a macro that the build may define."""
    name = _undeclared(error.text)
    return _Hint(switches=(name,)) if name and name not in macros_of(flags) else _Hint()


def _undeclared(error: str) -> str:
    match = _UNDECLARED.search(error)
    return match[1] or match[2] if match else ""


def _ambiguous_header(header: str, source: Source) -> _Hint:
    places = source.ambiguous.get(header)
    if not places:
        return _Hint()
    shown = [os.path.relpath(place) for place in places]
    more = " and others have" if len(places) > _SHOWN_FOLDERS else " have"
    listed = ", ".join(shown[:_SHOWN_FOLDERS])
    return _Hint(f'{listed}{more} it; say which is meant: include = ["{shown[0]}"] in [tool.parity]')


def _submodule(error: Diagnostic, source: Source) -> _Hint:
    """Explain a missing header that belongs to a submodule which is not checked out."""
    match = _NOT_FOUND.search(error.text)
    if match is None:
        return _Hint()
    parts = Path(match[1]).parts
    for folder in project_of(source.path.parent, source.folder):
        modules = folder / ".gitmodules"
        for path in _SUBMODULE.findall(modules.read_text(errors="replace")) if modules.is_file() else ():
            place = folder / path
            if place.name in (*parts[:-1], Path(parts[-1]).stem) and not (place.is_dir() and any(place.iterdir())):
                command = f"git -C {os.path.relpath(folder)} submodule update --init {path}"
                return _Hint(f"{path} is a submodule that is not checked out: {command}")
    return _Hint()


class _Project:
    """The files of a source, and the macros that are defined in every build."""

    def __init__(self, source: Source, texts: Mapping[Path, str]) -> None:
        self.source = source
        self.texts = texts
        self.lines = {path: list(_lines(text)) for path, text in texts.items()}
        self.defined = {*macros_of(source.options.flags), *DEFINED, *RENAMED}
        self.defined |= {macro for text in texts.values() for macro in defined_macros(text)}

    def behind_a_switch(self, name: str) -> _Hint:
        """Return the macros that the build must define so that a name is declared."""
        match = _NAME.fullmatch(name)
        if match is None:
            return _Hint()
        declares = _declaration(*match.groups())
        for path, lines in self.lines.items():
            for line in lines:
                if match[1] not in line.text or not declares.match(line.text):
                    continue
                undefined = self.undefined(line.switches)
                if not undefined and path != self.source.path:
                    undefined = self._before_inclusion(path)
                if not undefined:
                    return _Hint()
                place = f"{os.path.relpath(path)}:{line.number}"
                return _Hint(f"{place} has it for builds that define {setting_for(undefined)}", undefined)
        return _Hint()

    def without_a_switch(self, path: Path) -> _Hint:
        """Return the macros that the build must define so that a header is not included."""
        lines = self._including.get(path, [])
        unless = [self.undefined(line.unless) for line in lines]
        if not lines or not all(unless):
            return _Hint()
        return _Hint(f"{os.path.relpath(path)} is for builds that do not define {setting_for(unless[0])}", unless[0])

    def at(self, path: Path | None, number: int) -> _SourceLine | None:
        """Return a line, unless it is a conditional directive."""
        lines = self.lines[path] if path else ()
        return next((line for line in lines if line.number == number), None)

    def line(self, path: Path, number: int) -> str:
        """Return the text of a line, unless it is a conditional directive."""
        line = self.at(path if path in self.lines else None, number)
        return line.text if line else ""

    def of_error_directive(self, path: Path, number: int) -> _Hint:
        """Return the macros that the build must define to avoid an ``#error``.

        If the surrounding conditions do not determine the macros, these are the macros that its message names and a
        condition tests.
        """
        line = next(line for line in self.lines[path] if line.number == number)
        tested = {name for each in _CONDITION.findall(self.texts[path]) for name in WORD.findall(each)}
        named = dict.fromkeys(name for name in WORD.findall(line.text) if name in tested)
        return _Hint(switches=self.undefined(line.unless) or self.undefined(named))

    def undefined(self, macros: Iterable[str]) -> tuple[str, ...]:
        """Return the undefined macros; empty if one is CUDA's or stands for another operating system."""
        names = tuple(each for each in macros if each not in self.defined)
        return () if any(PREDEFINED.fullmatch(each) or _OTHER_SYSTEM.search(each) for each in names) else names

    def _before_inclusion(self, path: Path) -> tuple[str, ...]:
        """Return the macros that must be defined to include a header; none if one include needs no macro."""
        behind = [self.undefined(line.switches) for line in self._including.get(path, [])]
        return behind[0] if behind and all(behind) else ()

    @functools.cached_property
    def _including(self) -> dict[Path, list[_SourceLine]]:
        """The lines that include each file."""
        found: dict[Path, list[_SourceLine]] = {}
        for path, lines in self.lines.items():
            for line in lines:
                include = INCLUDE.match(line.text)
                folders = searched(include[1], path.parent, self.source.folders) if include else ()
                if include and (header := found_in(include[2], folders)):
                    found.setdefault(header, []).append(line)
        return found


def _declaration(name: str, arguments: str | None) -> re.Pattern[str]:
    """Return a pattern for a line that declares a name, or a template for these arguments."""
    if arguments is not None:
        words = r"\s*".join(re.escape(word) for word in re.findall(r"\w+|[^\w\s]", arguments))
        return re.compile(rf"(?:.*\W)?(?:struct|class)\s+{name}\s*<\s*{words}\s*>")
    return re.compile(
        rf"\s*\#\s*define\s+{name}\b | (?:.*\W)?(?:struct|class|enum|union|using|typedef\b.*\W)\s*{name}\b"
        rf" | \s*(?:[\w:<>]+[\s*&]+)+{name}\s*[(=;\[] | {name}\s*\(",  # the type may be in the previous line
        re.VERBOSE,
    )


_Tested = tuple[tuple[str, ...], tuple[str, ...]]
"""Macros that must be defined, and macros that must not be."""


def _lines(text: str) -> Iterator[_SourceLine]:
    """Yield the lines of a file without conditional directives. For alternatives in a condition, the first counts."""
    around: list[_Tested] = []
    alternatives: list[list[_Tested]] = []
    for number, line in enumerate(text.splitlines(), 1):
        match = _DIRECTIVE.match(line)
        if match is None:
            switches = tuple(name for wanted, _ in around for name in wanted)
            unless = tuple(name for _, unwanted in around for name in unwanted)
            yield _SourceLine(number, line, switches, unless)
            if around and around[-1] in alternatives[-1] and _ERROR.match(line):
                alternatives[-1].remove(around[-1])  # no build may take this branch
            continue
        word, condition = match.groups()
        if word.startswith("if"):
            around.append(_tested(word, condition))
            alternatives.append([around[-1]])
        elif around and word == "endif":
            around.pop()
            alternatives.pop()
        elif around and word == "else":
            around[-1] = next(iter(alternatives[-1]), ((), ()))[::-1]
        elif around:
            around[-1] = _tested(word, condition)
            alternatives[-1].append(around[-1])


def _tested(word: str, condition: str) -> _Tested:
    if word in ("ifdef", "ifndef"):
        names = tuple(condition.split()[:1])
        return (names, ()) if word == "ifdef" else ((), names)
    tested = [_OPERAND.fullmatch(part) for part in _OPERATOR.split(condition.partition("//")[0])]
    names = tuple(match["name"] for match in tested if match and bool(match["not"]) == bool(match["off"]))
    negated = tuple(match["name"] for match in tested if match and bool(match["not"]) != bool(match["off"]))
    return (names[:1], negated[:1]) if "||" in condition else (names, negated)
