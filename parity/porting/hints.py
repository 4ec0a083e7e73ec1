"""Advice for a name or a header that the compiler did not find, from what the project itself has."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from parity.compilers.diagnostics import Diagnostic
from parity.model.finding import Finding
from parity.porting.conditionals import DEFINED, PREDEFINED, RENAMED, macros_of
from parity.porting.cuda_names import defined_macros
from parity.porting.errors import Remedies
from parity.porting.sources import INCLUDE, Source, found_in, project_of, searched

__all__ = ["Hint", "hints", "is_beyond_switches", "remedies", "say_so", "switches_asked", "switches_of_kernels"]

_LACKING = re.compile(
    r"undeclared|unknown type name|no template named|undefined template|file not found"
    r"|\bis (?:undefined|not a template)"
)
_QUOTED = re.compile(r"['\"]([^'\"]+)['\"]")  # clang's quotes, and nvcc's
_NAME = re.compile(r"([A-Za-z_]\w*)(?:<([^'<>]*)>)?")
_DIRECTIVE = re.compile(r"\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b(.*)")
_CONDITION = re.compile(r"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif)\b([^\n]*)", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_]\w*")
_JOINED = re.compile(r"&&|\|\|")
_OPERAND = re.compile(
    r"[\s(]*(?P<not>!?)[\s(]*(?:defined\b[\s(]*)?(?P<name>[A-Za-z_]\w*)[\s)]*"
    r"(?:(?:==|>=)\s*1|(?:!=|>)\s*0|(?P<off>==\s*0|!=\s*1))?[\s)]*"
)
"""Matches a part of a condition that asks for one macro, as being defined, or as being 1."""
_UNDECLARED = re.compile(r"undeclared identifier '(\w+)'|^identifier \"(\w*[A-Z]\w*)\" is undefined")
"""Matches it as clang and as nvcc say it, which says so of parameters, too, where it does not know a type."""
_NOT_FOUND = re.compile(r"'([^']+)' file not found")
_IN_NAMESPACE, _NAMED = r"\b{}\s*::", r"\b(?:namespace|class|struct|union|enum|using|define)\s+(?:\w+\s*::\s*)*{}\b"
"""Match the use of a name as that of a namespace, and what declares it."""
_SUBMODULE = re.compile(r"^\s*path\s*=\s*(\S+)\s*$", re.MULTILINE)
_ERROR = re.compile(r"\s*#\s*error\b")
_OF_SYSTEM = re.compile(r"(?:^|_)(?:WIN(?:32|64|DOWS|NT)?|MSC_VER|MSVC|MINGW\d*|APPLE|MACOSX?|OSX|IOS|ANDROID)(?:_|$)")
"""Matches a macro by which a source knows a system that no code is compiled for here."""
_SHOWN = 3
"""Folders that are shown."""


@dataclass(frozen=True)
class Hint:
    """Advice for an error, which may be none, and the macros that a build may have to define."""

    advice: str = ""
    switches: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.advice or self.switches)


def remedies(found: Mapping[str, Hint]) -> Remedies:
    """Return the advice and the macros of hints."""
    advice = {name: hint.advice for name, hint in found.items() if hint.advice}
    return Remedies(advice, tuple(dict.fromkeys(name for hint in found.values() for name in hint.switches)))


@dataclass(frozen=True)
class _Line:
    """A line of a file, and the macros that have to be defined, and not to be, so that it is compiled."""

    number: int
    text: str
    switches: tuple[str, ...]
    unless: tuple[str, ...]


def hints(source: Source, hip: Mapping[Path, str], errors: Sequence[Diagnostic]) -> dict[str, Hint]:
    """Hints for these errors, by the name that one quotes first, or by the file that it is in.

    A header that lies in several folders needs a setting that says in which. A name that is declared behind ``#ifdef
    SWITCH``, or in a header that is included behind it, needs ``-DSWITCH``, if no file defines that; so does a header
    that is included where the switch is not defined. An identifier that nothing declares may be such a macro itself.
    ``hip`` are the translated files.
    """
    project = _Project(source, hip)
    found: dict[str, Hint] = {}
    for error in errors:
        file, match = error.places[0][0], _QUOTED.search(error.text)
        if match and match[1] not in found and _LACKING.search(error.text):
            found[match[1]] = (
                _several(match[1], source)
                or _of_a_submodule(error, source)
                or project.behind_a_switch(match[1])
                or _itself(error, source.side.flags)
            )
        if _ERROR.match(line := project.line(Path(file), error.places[0][1])):
            found[line] = project.of_an_error(Path(file), error.places[0][1])
        if file not in found:
            found[file] = project.without_a_switch(Path(file))
    return {name: hint for name, hint in found.items() if hint}


def switches_of_kernels(source: Source) -> tuple[str, ...]:
    """The macros that a build has to define so that a source has kernels; none if one is there without."""
    project = _Project(source, {source.path: source.files[source.path]})
    kernels = [line for line in project.lines[source.path] if "__global__" in line.text]
    lacking = [project.lacking(line.switches) for line in kernels]
    return lacking[0] if lacking and all(lacking) else ()


def switches_asked(source: Source) -> tuple[str, ...]:
    """The macros that lines of a source and its headers are behind, and that nothing defines."""
    project = _Project(source, source.files)
    wanted = {line.switches: None for lines in project.lines.values() for line in lines if line.switches}
    return tuple(dict.fromkeys(name for switches in wanted for name in project.lacking(switches)))


def is_beyond_switches(source: Source, errors: Iterable[Finding]) -> bool:
    """True if all that a source lacks are headers that are not here and what is in namespaces of theirs.

    No macro that a build defines brings them, unless a condition is around a line that needs them.
    """
    project = _Project(source, source.files)
    places = {name: path for path in source.files for name in (str(path), source.name(path))}
    texts = source.files.values()
    for error in errors:
        line = project.at(places.get(error.file), error.line)
        if line is None or project.lacking(line.switches) or project.lacking(line.unless):
            return False
        if _NOT_FOUND.search(error.advice):
            continue
        unknown = _undeclared(error.advice)
        if not unknown:
            return False
        used, declared = (re.compile(each.format(unknown)) for each in (_IN_NAMESPACE, _NAMED))
        if not any(map(used.search, texts)) or any(map(declared.search, texts)):
            return False
    return bool(source.repairs.host.empty_headers)


def _itself(error: Diagnostic, flags: Iterable[str]) -> Hint:
    """An undeclared identifier as a macro that a build may have to define."""
    name = _undeclared(error.text)
    return Hint(switches=(name,)) if name and name not in macros_of(flags) else Hint()


def _undeclared(error: str) -> str:
    """The identifier of which an error of clang's or nvcc's says that nothing declares it."""
    match = _UNDECLARED.search(error)
    return match[1] or match[2] if match else ""


def _several(header: str, source: Source) -> Hint:
    places = source.doubtful.get(header)
    if not places:
        return Hint()
    shown = [os.path.relpath(place) for place in places]
    more = " and others have" if len(places) > _SHOWN else " have"
    return Hint(f'{", ".join(shown[:_SHOWN])}{more} it; say which is meant: include = ["{shown[0]}"] in [tool.parity]')


def _of_a_submodule(error: Diagnostic, source: Source) -> Hint:
    """A header that is not here as one of a submodule of the project that is not checked out."""
    match = _NOT_FOUND.search(error.text)
    if match is None:
        return Hint()
    parts = Path(match[1]).parts
    for folder in project_of(source.path.parent):
        modules = folder / ".gitmodules"
        for path in _SUBMODULE.findall(modules.read_text(errors="replace")) if modules.is_file() else ():
            place = folder / path
            if place.name in (*parts[:-1], Path(parts[-1]).stem) and not (place.is_dir() and any(place.iterdir())):
                command = f"git -C {os.path.relpath(folder)} submodule update --init {path}"
                return Hint(f"{path} is a submodule that is not checked out: {command}")
    return Hint()


class _Project:
    """The files of a project, and the macros that are defined whatever its build defines."""

    def __init__(self, source: Source, texts: Mapping[Path, str]) -> None:
        self.source = source
        self.texts = texts
        self.lines = {path: list(_lines(text)) for path, text in texts.items()}
        self.given = {*macros_of(source.side.flags), *DEFINED, *RENAMED}
        self.given |= {macro for text in texts.values() for macro in defined_macros(text)}

    def behind_a_switch(self, name: str) -> Hint:
        """A hint with the macros that the build has to define so that a name is known."""
        match = _NAME.fullmatch(name)
        if match is None:
            return Hint()
        declares = _declaration(*match.groups())
        for path, lines in self.lines.items():
            for line in lines:
                if match[1] not in line.text or not declares.match(line.text):
                    continue
                lacking = self.lacking(line.switches)
                if not lacking and path != self.source.path:
                    lacking = self._before_inclusion(path)
                if not lacking:
                    return Hint()
                said = f"{os.path.relpath(path)}:{line.number} has it for builds that define {say_so(lacking)}"
                return Hint(said, lacking)
        return Hint()

    def without_a_switch(self, path: Path) -> Hint:
        """A hint with the macros that the build has to define so that a header is not included."""
        includers = self._includers.get(path, [])
        unless = [self.lacking(line.unless) for line in includers]
        if not includers or not all(unless):
            return Hint()
        return Hint(f"{os.path.relpath(path)} is for builds that do not define {say_so(unless[0])}", unless[0])

    def at(self, path: Path | None, number: int) -> _Line | None:
        """A line, unless it is a conditional's."""
        lines = self.lines[path] if path else ()
        return next((line for line in lines if line.number == number), None)

    def line(self, path: Path, number: int) -> str:
        """The text of a line, unless it is a conditional's."""
        line = self.at(path if path in self.lines else None, number)
        return line.text if line else ""

    def of_an_error(self, path: Path, number: int) -> Hint:
        """A hint with the macros that the build has to define so that an ``#error`` is not met.

        Where the conditions around it do not say, those are meant that its text names and some condition asks for.
        """
        line = next(line for line in self.lines[path] if line.number == number)
        asked = {name for each in _CONDITION.findall(self.texts[path]) for name in _WORD.findall(each)}
        named = dict.fromkeys(name for name in _WORD.findall(line.text) if name in asked)
        return Hint(switches=self.lacking(line.unless) or self.lacking(named))

    def _before_inclusion(self, path: Path) -> tuple[str, ...]:
        """The macros to define so that a header is included; none if one place includes it all the same."""
        behind = [self.lacking(line.switches) for line in self._includers.get(path, [])]
        return behind[0] if behind and all(behind) else ()

    @functools.cached_property
    def _includers(self) -> dict[Path, list[_Line]]:
        """The lines that include each file."""
        includers: dict[Path, list[_Line]] = {}
        for path, lines in self.lines.items():
            for line in lines:
                header = INCLUDE.match(line.text)
                if header and (found := self._found(header[1], header[2], path)):
                    includers.setdefault(found, []).append(line)
        return includers

    def _found(self, bracket: str, header: str, by: Path) -> Path | None:
        return found_in(header, searched(bracket, by.parent, self.source.folders))

    def lacking(self, macros: Iterable[str]) -> tuple[str, ...]:
        """Those that nothing defines; none if one is CUDA's to define, or another system's."""
        lacking = tuple(each for each in macros if each not in self.given)
        return () if any(PREDEFINED.fullmatch(each) or _OF_SYSTEM.search(each) for each in lacking) else lacking


def _declaration(name: str, arguments: str | None) -> re.Pattern[str]:
    """Matches a line that declares a name, or a template for these arguments."""
    if arguments is not None:
        words = r"\s*".join(re.escape(word) for word in re.findall(r"\w+|[^\w\s]", arguments))
        return re.compile(rf"(?:.*\W)?(?:struct|class)\s+{name}\s*<\s*{words}\s*>")
    return re.compile(
        rf"\s*\#\s*define\s+{name}\b | (?:.*\W)?(?:struct|class|enum|union|using|typedef\b.*\W)\s*{name}\b"
        rf" | \s*(?:[\w:<>]+[\s*&]+)+{name}\s*[(=;\[] | {name}\s*\(",  # its type may be in the line before
        re.VERBOSE,
    )


def say_so(macros: Sequence[str]) -> str:
    """The setting by which a project says that its build defines these macros."""
    flags = ", ".join(f'"-D{each}"' for each in macros)
    return f"{' and '.join(macros)}; if yours does, say so: flags = [{flags}] in [tool.parity]"


def _lines(text: str) -> Iterator[_Line]:
    """The lines of a file but for its conditionals; of alternatives in a condition, the first counts."""
    around: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
    alternatives: list[list[tuple[tuple[str, ...], tuple[str, ...]]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        match = _DIRECTIVE.match(line)
        if match is None:
            switches = tuple(name for wanted, _ in around for name in wanted)
            unless = tuple(name for _, unwanted in around for name in unwanted)
            yield _Line(number, line, switches, unless)
            if around and around[-1] in alternatives[-1] and _ERROR.match(line):
                alternatives[-1].remove(around[-1])  # no build is meant to take it
            continue
        word, condition = match.groups()
        if word.startswith("if"):
            around.append(_tested(word, condition))
            alternatives.append([around[-1]])
        elif around and word == "endif":
            around.pop()
            alternatives.pop()
        elif around and word == "else":
            around[-1] = next(iter(alternatives[-1]), ((), ()))[::-1]  # the first before it counts as well
        elif around:
            around[-1] = _tested(word, condition)
            alternatives[-1].append(around[-1])


def _tested(word: str, condition: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The macros that a condition wants defined, and those that it wants not to be."""
    if word in ("ifdef", "ifndef"):
        names = tuple(condition.split()[:1])
        return (names, ()) if word == "ifdef" else ((), names)
    tested = [_OPERAND.fullmatch(part) for part in _JOINED.split(condition.partition("//")[0])]
    names = tuple(match["name"] for match in tested if match and bool(match["not"]) == bool(match["off"]))
    negated = tuple(match["name"] for match in tested if match and bool(match["not"]) != bool(match["off"]))
    return (names[:1], negated[:1]) if "||" in condition else (names, negated)
