"""The sources of a module: the file of each side, and every file that it may include."""

from __future__ import annotations

import contextlib
import functools
import glob
import itertools
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from parity.compilers import zig
from parity.compilers.compile_options import CompileOptions
from parity.compilers.lexing import code
from parity.errors import MissingTool, UsageError, nearest
from parity.model.code_object import source_of, unqualified
from parity.platform.files import CUDA_SUFFIXES, below, is_file
from parity.porting.build_files import Made, Switch, folders_of, made_header, named_folder
from parity.porting.cuda_names import header_rules
from parity.porting.hipify import LITERAL
from parity.porting.host_code import Repairs
from parity.porting.stubs import stub_for

__all__ = [
    "INCLUDE",
    "PORTED_SUFFIXES",
    "Closure",
    "Source",
    "closure",
    "defining",
    "find_modules",
    "find_ported",
    "forget_folders",
    "found_in",
    "included",
    "including",
    "linked",
    "others_define",
    "project_of",
    "searched",
]

PORTED_SUFFIXES = (".hip", ".cu.hip", ".hip.cpp", ".cu", ".cpp", ".cc", ".cxx")
"""The suffixes of the source of a port, the likeliest first."""

_OTHER_SUFFIXES = (".cpp", ".cc", ".cxx", ".cuh", ".h", ".hpp")
"""The suffixes of files that may include a CUDA source, and are none."""

_MODULES = (*CUDA_SUFFIXES, ".hip", ".hsaco", ".co")
"""The suffixes of the file of a module; the first is the one that counts."""

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)
"""An ``#include`` line: the bracket, and the name."""
_INCLUDED_LATER = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+\w+(?:\(\))?[ \t]+"
    r'(?:(<)([\w./-]+)>|(")([\w./-]+\.(?:h|hpp|cu|cuh|inl|inc|def))")[ \t]*$',
    re.MULTILINE,
)
"""A macro that is the name of a header, for ``#include MACRO``: the bracket, and the name."""
_OF_WINDOWS = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"][^>"\n]*\\[^>"\n]*[>"]', re.MULTILINE)
"""Matches an ``#include`` with a path as compilers on Windows take it."""
_NEAR = ("*", "*/*", "*/*/*")
"""Where in a folder files are that may be linked with another in or below it."""
_FAR = 1000
"""More headers than lead to any other."""
_EXTERN_BEFORE = re.compile(r"\bextern\b[^;{}]*$")
_UPWARDS = re.compile(r"(?:\.\./)+")
_SYSTEM = frozenset(("arpa", "asm", "bits", "linux", "net", "netinet", "sys"))
"""Folders of headers that are the system's, whatever a project has in one of that name."""

_NAMES_OF_C = """
assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic stdbool
stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype
"""
_OF_C = frozenset(f"{name}.h" for name in _NAMES_OF_C.split())
"""Headers of C (ISO/IEC 9899, clause 7): in angle brackets they are the compiler's, and looked for in no project."""

_PROJECT = (
    "CMakeLists.txt",
    "Cargo.toml",
    "LICENSE*",
    "Makefile",
    "README*",
    "meson.build",
    "pyproject.toml",
    "setup.py",
)
"""The files that mark the top folder of a project that is not a checkout."""

_IN_PARTS = frozenset(("OpenCV",))
"""Libraries that come in several projects: one has headers of its own in the same folders."""

_STEPS_UP, _STEPS_DOWN = 8, 2
"""The steps from a kernels folder in which a header is looked for: folders above it, and below one of these."""


@dataclass(frozen=True)
class Source:
    """The sources of one side of a module: its file and all files it may include, as path and text.

    ``ported`` sources are HIP already and compiled as they are; ``hipifier`` is what translates others. ``kernels`` are
    templates with their arguments, which are to be there whether host code launches them or not. Code objects in place
    of a source are in ``prebuilt``, by target. ``around``, ``doubtful`` and ``made`` are those of the ``Closure``;
    ``switches`` are flags of the side that no setting has, but the project's build files. ``linked`` are other sources
    that nvcc links with this one, and that are compiled behind it; ``parts`` are sources in the place of which this one
    is built, because it includes them; ``guessed`` says that nobody but parity asks for ``kernels``. ``without`` says
    that device code is left out, too, whose headers or libraries are not here.
    """

    module: str
    folder: Path
    path: Path
    side: CompileOptions
    files: Mapping[Path, str]
    ported: bool = False
    hipifier: str = LITERAL
    kernels: tuple[str, ...] = ()
    prebuilt: Mapping[str, Path] = field(default_factory=dict)
    around: tuple[Path, ...] = ()
    doubtful: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    made: Mapping[str, Made] = field(default_factory=dict)
    switches: tuple[Switch, ...] = ()
    linked: tuple[Path, ...] = ()
    parts: tuple[Path, ...] = ()
    guessed: bool = False
    without: bool = False
    repairs: Repairs = field(default_factory=Repairs, repr=False, compare=False)

    @property
    def part_of(self) -> Path | None:
        """The path of the source itself, if it is built in the place of another that is a part of it."""
        return self.path if self.parts else None

    @functools.cached_property
    def root(self) -> str:
        """The folder below which the staged files keep their places relative to each other."""
        return os.path.commonpath([*self.folders, *(p.parent for p in self.files), *self._climbed()])

    def _climbed(self) -> Iterator[Path]:
        """The folders to which headers climb before they come down again, as ``../here/name.h`` does."""
        for path, text in self.files.items():
            for bracket, header in included(text):
                if climbs := _UPWARDS.match(header):
                    for place in searched(bracket, path.parent, self.folders):
                        if Path(os.path.normpath(place / header)) in self.files:
                            yield Path(os.path.normpath(place / climbs[0]))

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders in which its headers are looked for."""
        return (self.folder, *self.side.include, *self.around)

    @functools.cached_property
    def originals(self) -> Mapping[str, Path]:
        """The files by the names that ``#line`` gives them."""
        return {self.name(path): path for path in self.files}

    def name(self, path: Path) -> str:
        """The name of a file in ``#line``: independent of where the folder is, so that cached listings are too."""
        return Path(os.path.relpath(path, self.folder)).as_posix()


def defining(names: Iterable[str], source: Source) -> dict[str, tuple[Path, int]]:
    """Places of what a source declares for the device and the project defines elsewhere: the nearest file, and line.

    Of several files of the nearest folder that define a name, that is meant which includes the header of the source
    that has the name, too; the fewer headers lead there, the likelier, and then the one in a folder that is called like
    one with headers that a setting names (src/here, include/here). Where no text defines a name, a macro may: then the
    file that is called like such a header and includes it is meant. A name that no file near the source defines, or
    several that are as likely, is not in it.
    """
    found: dict[str, tuple[Path, int]] = {}
    steps = _steps(source)
    named = {folder.name for folder in source.side.include}
    plain = functools.cache(lambda path: code(_read(path, {})))
    for name in names:
        body = r"\([^;{}]*\)\s*(?:const\b\s*|->[^;{}]*)?\{"
        variable = r"(?:\[[^;]*\]\s*)?[;={]"
        # A function of a class says so wherever it is defined, and need not say there that it is of the device.
        words = [unqualified(name), "::".join(part.partition("<")[0] for part in name.split("::")[-2:])]
        words = [re.escape(word) for word in words]  # an operator has signs in it
        defines = re.compile(
            rf"__(?:device|constant)__[^;{{}}()]*(?<!::)\b{words[0]}\s*(?:{body}|{variable})"
            + ("" if words[0] == words[1] else rf"|\b{words[1]}\s*{body}")
        )
        word = re.compile(rf"\b{words[0]}")
        having = {path: step for path, step in steps.items() if word.search(source.files[path])}
        likely: list[tuple[Path, int]] = []
        for above in project_of(source.path.parent):
            hits: list[tuple[Path, int]] = []
            for path in sorted(each for pattern in _NEAR for each in _cuda_sources(above, pattern)):
                text = plain(path) if path != source.path else ""
                places = (m for m in defines.finditer(text) if not _EXTERN_BEFORE.search(text[: m.start()][-40:]))
                hits += [(path, text.count("\n", 0, match.start()) + 1) for match in itertools.islice(places, 1)]
                if text and any(path.stem == each.stem for each in having.keys() & set(_includes(path, source))):
                    likely.append((path, 1))
            if len(hits) > 1:
                ranks = [
                    min((having.get(each, _FAR) for each in _includes(path, source)), default=_FAR) for path, _ in hits
                ]
                hits = [hit for hit, rank in zip(hits, ranks, strict=True) if rank == min(ranks) < _FAR]
                hits = [hit for hit in hits if hit[0].parent.name in named] or hits
            if hits:
                if len(hits) == 1:
                    found[name] = hits[0]
                break
        else:
            if len(likely := list(dict.fromkeys(likely))) == 1:
                found[name] = likely[0]
    return found


def _steps(source: Source) -> dict[Path, int]:
    """The headers of a source, and by how many that lead to it each is included."""
    found: dict[Path, int] = {}
    now, step = [source.path], 0
    while now:
        step += 1
        now = [each for path in now for each in _includes(path, source) if each in source.files and each not in found]
        found |= dict.fromkeys(now, step)
    return found


def _includes(path: Path, source: Source) -> list[Path]:
    """The headers that a file of the project of a source includes, of those that are found."""
    headers = included(_read(path, dict(source.files)))
    found = (found_in(header, searched(bracket, path.parent, source.folders)) for bracket, header in headers)
    return [each for each in found if each]


def others_define(names: Iterable[str], source: Source) -> dict[Path, int]:
    """The files, each with a line, that define such names, and are not compiled with a source yet."""
    found: dict[Path, int] = {}
    for path, line in () if source.ported else defining(names, source).values():
        if path not in source.linked:
            found.setdefault(path, line)
    return found


def linked(source: Source, others: Iterable[Path]) -> Source:
    """The source with others compiled behind it."""
    closures = [closure(path, source.side, source.folder, {}) for path in others]
    files = dict(source.files)
    for each in closures:
        files |= each.files
    around = dict.fromkeys((*source.around, *(folder for each in closures for folder in each.around)))
    paths = dict.fromkeys((*source.linked, *others))
    # What is left out of these files already compiled without.
    return replace(source, files=files, around=tuple(around), linked=tuple(paths), repairs=Repairs(source.repairs.host))


def find_modules(folder: Path, modules: Iterable[str] | None = None, *, ported: Path | None = None) -> dict[str, Path]:
    """The source of each module in ``folder`` in alphabetical order; all, or those asked for.

    A module is one ``.cu`` or ``.cu.cc`` file, or a ``.hip`` file beside which there is none. It is called like its
    file, with the folders below ``folder`` that it is in, without the suffix. The file of one that is given as code
    objects is not there. What lies in the folder ``ported`` is the other side of a module and none itself.

    Raises:
        UsageError: the folder does not exist or holds no source, or a module is not in it.
    """
    if not folder.is_dir():
        raise UsageError(f"no kernels folder {folder}; set 'kernels' in [tool.parity] of pyproject.toml")
    apart = ported if ported and ported != folder and ported.is_relative_to(folder) else None
    found: dict[str, Path] = {}
    for path in sorted(below(folder, *_MODULES), key=_rank):
        if apart and path.is_relative_to(apart):
            continue
        source = source_of(path)
        name = source.relative_to(folder).as_posix()
        for suffix in (".hip", *reversed(CUDA_SUFFIXES)):
            name = name.removesuffix(suffix)
        found.setdefault(name, source)
    found = dict(sorted(found.items()))
    if not found:
        raise UsageError(
            f"the kernels folder {folder} holds no .cu or .hip file, and no code object; a module is one .cu file"
        )
    if modules is None:
        return found
    wanted = tuple(modules)
    for module in wanted:
        if module not in found:
            raise UsageError(f"no module {module!r} in {folder}; it has {' '.join(found)}{nearest(module, found)}")
    return {module: found[module] for module in wanted}


def _rank(path: Path) -> int:
    """The rank of a name for the file of a module: 0 is the likeliest."""
    return next(rank for rank, suffix in enumerate(_MODULES) if path.name.endswith(suffix))


def find_ported(path: Path, folder: Path, ported: Path) -> Path | None:
    """The HIP source of the CUDA source ``path`` of ``folder`` in the folder ``ported``.

    It has the same name below its folder, but for the suffix (``PORTED_SUFFIXES``), and ``cuda`` may have become
    ``hip`` in it, which is how torch's hipify names what it writes.
    """
    wanted = _ported_name(path.relative_to(folder), CUDA_SUFFIXES)
    candidates = sorted(each for each in below(ported, *PORTED_SUFFIXES) if each != path)
    for suffix in PORTED_SUFFIXES:
        for each in candidates:
            if each.name.endswith(suffix) and _ported_name(each.relative_to(ported), (suffix,)) == wanted:
                return each
    return None


def _ported_name(path: Path, suffixes: Sequence[str]) -> str:
    name = path.as_posix()
    for suffix in suffixes:
        name = name.removesuffix(suffix)
    return re.sub(r"cuda", "hip", name.lower()).removesuffix("_hip")


@dataclass(frozen=True)
class Closure:
    """A file and all files that it may include, as path and text.

    ``around`` are folders of the project in which headers are found although no setting names these folders;
    ``doubtful`` are headers that several folders have, so that a setting has to say which. ``made`` are headers
    that the project's build makes of templates.
    """

    files: Mapping[Path, str]
    around: tuple[Path, ...] = ()
    doubtful: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    made: Mapping[str, Made] = field(default_factory=dict)


def closure(path: Path, side: CompileOptions, folder: Path, texts: dict[Path, str]) -> Closure:
    """The file and all it may include, conditionals ignored; headers that are found nowhere are the compiler's.

    ``texts`` remembers what was read.
    """
    found: dict[Path, str] = {}
    folders = [folder, *side.include]
    nowhere: dict[tuple[str, str], Path] = {}
    doubtful: dict[str, tuple[Path, ...]] = {}
    made: dict[str, Made] = {}
    forced = (found_in(name, folders) for name in side.forced)
    source, open_paths = path, [path, *(each for each in forced if each)]
    while open_paths:
        path = open_paths.pop()
        if path not in found:
            found[path] = _read(path, texts)
            for bracket, header in included(found[path]):
                if here := found_in(header, searched(bracket, path.parent, folders)):
                    open_paths.append(here)
                else:
                    nowhere.setdefault((bracket, header), path.parent)
        if not open_paths:  # folders that settings name are all read: now those around
            open_paths += [each for each in _found_around(source, nowhere, folders, doubtful) if each not in found]
        if not open_paths:
            open_paths += _made_headers(source, nowhere, folders, texts, made)
    several = {header: places for header, places in doubtful.items() if len(places) > 1}
    return Closure(found, tuple(folders[1 + len(side.include) :]), several, made)


def _read(path: Path, texts: dict[Path, str]) -> str:
    if path not in texts:
        # A comment in some other encoding is no reason to refuse a source: its bytes go through unchanged. A byte order
        # mark is none of its text.
        text = path.read_text(encoding="utf-8", errors="surrogateescape").removeprefix("\ufeff")
        texts[path] = _OF_WINDOWS.sub(lambda include: include[0].replace("\\", "/"), text)
    return texts[path]


def _found_around(
    source: Path,
    nowhere: Mapping[tuple[str, str], Path],
    folders: list[Path],
    doubtful: dict[str, tuple[Path, ...]],
) -> list[Path]:
    """Headers that are in folders of the project that no setting names; these folders are appended to ``folders``.

    ``nowhere`` are the brackets and names of headers that were not found, with the folder of a file that wants each.
    Of several folders, the one is taken that the build files around the ``source`` name.
    """
    found: list[Path] = []
    for (bracket, header), folder in nowhere.items():
        here = found_in(header, folders)
        if not here and header not in doubtful and _is_of_a_project(header, bracket):
            places = _around(header, folder)
            if not places and (named := _named(header, source)):
                places = (named,)
            if len(places) > 1 and (named := named_folder(places, source, project_of(source.parent))):
                places = (named,)
            doubtful[header] = places
            if len(places) == 1:
                folders += places
                here = found_in(header, places)
        elif (
            not here
            and (stub := stub_for(header))
            and stub.library in _IN_PARTS
            and (own := _far(header, source.parent))
        ):
            folders += own[:1]
            here = own[0] / header
        elif (
            not here
            and bracket == "<"
            and not (header in _OF_C or _is_known(header))
            and (named := _named(header, source))
        ):
            folders.append(named)
            here = named / header
        found += [here] if here else []
    return found


def _named(header: str, source: Path) -> Path | None:
    """The first of the folders that build files name in which a header is."""
    folders = folders_of(source, project_of(source.parent))
    return next((folder for folder in folders if is_file(folder / header)), None)


def _made_headers(
    source: Path,
    nowhere: Mapping[tuple[str, str], Path],
    folders: list[Path],
    texts: dict[Path, str],
    made: dict[str, Made],
) -> list[Path]:
    """Headers that the project's build makes of a template, as if they were beside that, with their ``texts``.

    ``nowhere`` and ``folders`` are those of ``_found_around``; what is made is added to ``made``.
    """
    found: list[Path] = []
    for bracket, header in nowhere:
        if header in made or not _is_of_a_project(header, bracket) or found_in(header, folders):
            continue
        if each := made_header(header, source, project_of(source.parent)):
            path = each.template.parent / header
            texts[path] = each.text
            made[header] = each
            folders.append(each.template.parent)
            found.append(path)
    return found


def _is_of_a_project(header: str, bracket: str) -> bool:
    """True if a header that no folder has may be the project's own: no library's, and not the compiler's."""
    name = Path(header)
    if _is_known(header):
        return False
    if len(name.parts) > 1:
        return bracket == '"' or name.parts[0] not in _SYSTEM
    return bracket == '"' or name.suffix != ".h" or not (header in _OF_C or header in _headers_of_c())


@functools.cache
def _headers_of_c() -> frozenset[str]:
    """The headers of C's library and of compilers in their own folders, of the wheels and of this machine."""
    folders = [Path("/usr/include")]
    with contextlib.suppress(MissingTool):
        library = zig.zig().parent / "lib"
        folders += [library / "include", *(library / "libc" / "include").iterdir()]
    return frozenset(path.name for folder in folders for path in folder.glob("*.h"))


def _is_known(header: str) -> bool:
    """True if a header is CUDA's or a library's, or of a name that no file of a project has."""
    name = Path(header)
    bad = name.is_absolute() or ".." in name.parts or not name.suffix
    return bad or header in header_rules() or stub_for(header) is not None


def _around(header: str, folder: Path) -> tuple[Path, ...]:
    """The folders of a project by which a header is found, of those that are nearest to ``folder``.

    If none is near, any folder of the project counts.
    """
    project = project_of(folder)
    for above in project:
        for steps in range(_STEPS_DOWN + 1):
            found = above.glob("/".join([*"*" * steps, glob.escape(header)]))
            hits = sorted(path for path in found if is_file(path))
            places = [hit.parents[len(Path(header).parts) - 1] for hit in hits]
            if places := [each for each in places if not any(p[0] == "." for p in each.relative_to(above).parts)]:
                return tuple(places)
    return _far(header, folder)


def _far(header: str, folder: Path) -> tuple[Path, ...]:
    """The folders of the project around ``folder`` by which a header is found, wherever they are in it."""
    return tuple(sorted(path.parents[len(Path(header).parts) - 1] for path in _anywhere(header, folder)))


def _anywhere(name: str, folder: Path) -> Iterator[Path]:
    """The files of that name, which may have folders in it, in the project around ``folder``."""
    parts = Path(name).parts
    found = _headers_below(project_of(folder)[-1]).get(parts[-1], ())
    return (path for path in found if path.parts[-len(parts) :] == parts)


@functools.cache
def _headers_below(top: Path) -> Mapping[str, tuple[Path, ...]]:
    """The headers of a project by their names, without those in hidden folders."""
    found: dict[str, tuple[Path, ...]] = {}
    for folder, inner, names in os.walk(top):
        inner[:] = [name for name in inner if name[0] != "."]
        for name in names:
            if Path(name).suffix[1:2] in ("h", "c", "i"):  # .h, .hpp, .cuh, .inl, ...
                found[name] = (*found.get(name, ()), Path(folder, name))
    return found


@functools.cache
def project_of(folder: Path) -> tuple[Path, ...]:
    """``folder`` and those above it that are of the same project, upwards.

    A home folder is the top of none, nor is one that many users write to, such as /tmp (its sticky bit is set).
    """
    upwards = [folder, *folder.parents][: _STEPS_UP + 1]
    for count, each in enumerate(upwards, 1):
        if each in (Path.home(), Path(each.anchor)) or (each.is_dir() and each.stat().st_mode & stat.S_ISVTX):
            upwards = upwards[: max(count - 1, 1)]
            break
        if (each / ".git").exists():
            return tuple(upwards[:count])
    tops = [count for count, each in enumerate(upwards, 1) if any(next(each.glob(name), None) for name in _PROJECT)]
    return tuple(upwards[: max(tops, default=1)])


def forget_folders() -> None:
    """Look anew, from here on, which headers and build files a project has: else a process looks once."""
    for each in (_headers_below, project_of, folders_of):
        each.cache_clear()


def including(path: Path) -> Iterator[Path]:
    """The files of a project that include a source, in its own folder, beside that and above it: CUDA sources first.

    Others are C++ that a build hands to nvcc all the same, and headers, which have what comes before the source.
    """
    for suffixes in (CUDA_SUFFIXES, _OTHER_SUFFIXES):
        for folder in project_of(path.parent)[:_STEPS_DOWN]:
            for each in (*sorted(_of(suffixes, folder, "*")), *sorted(_of(suffixes, folder, "*/*"))):
                if each == path:
                    continue
                for bracket, header in included(each.read_text(encoding="utf-8", errors="surrogateescape")):
                    if Path(header).name == path.name and found_in(header, searched(bracket, each.parent, ())) == path:
                        yield each
                        break


def _of(suffixes: Iterable[str], folder: Path, pattern: str) -> Iterator[Path]:
    for suffix in suffixes:
        yield from folder.glob(pattern + suffix)


def _cuda_sources(folder: Path, pattern: str) -> Iterator[Path]:
    return _of(CUDA_SUFFIXES, folder, pattern)


def included(text: str) -> list[tuple[str, str]]:
    """The headers that a source includes as bracket and name, in order, whatever conditionals surround them.

    Behind them are those that it gives a macro as a name, by which others include them.
    """
    later = ((a or b, c or d) for a, c, b, d in _INCLUDED_LATER.findall(text))
    return [*INCLUDE.findall(text), *later]


def searched(bracket: str, beside: Path, folders: Iterable[Path]) -> tuple[Path, ...]:
    """The folders for a header that a file in the folder ``beside`` includes: that one, too, if the name is quoted."""
    return (beside, *folders) if bracket == '"' else tuple(folders)


def found_in(header: str, folders: Iterable[Path]) -> Path | None:
    """The file that a header is, in the first folder that has it."""
    candidates = (Path(os.path.normpath(folder / header)) for folder in folders)
    return next((path for path in candidates if is_file(path)), None)
