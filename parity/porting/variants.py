"""Other ways to build a source that does not compile, or that has no kernel.

A project's build files define settings that the sources do not contain: macros, the C++ standard, files to link, and
the file that includes a source as a part. Each of these is a variant. ``parity build`` tries the variants in order and
reports the chosen one.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from parity.compilers.diagnostics import CRASHED, NOT_DEFINED, diagnostics
from parity.compilers.errors import undefined_names
from parity.compilers.lexing import code
from parity.platform.files import read_rows
from parity.porting.build_files import (
    Switch,
    is_against_cuda,
    is_for_cuda,
    same_statement,
    standard_of,
    standard_used,
    switches_of,
)
from parity.porting.conditionals import ARCH, macros_of
from parity.porting.cuda_names import defined_macros
from parity.porting.errors import PortError
from parity.porting.hints import is_beyond_switches, switches_of_kernels, switches_tested
from parity.porting.host_code import HostCode, RepairState
from parity.porting.include_closure import closure
from parity.porting.includes import INCLUDE, project_of
from parity.porting.kernel_templates import guess_instantiations
from parity.porting.linking import includers, linked, others_define, with_definitions
from parity.porting.sources import Source
from parity.porting.stubs import stub_for

_MIN_ARCH, _MAX_ARCH = 700, 900
"""``__CUDA_ARCH__`` for a source that needs one: the first with ``*_sync`` shuffles, and the upper limit."""
_ARCH_TESTED = re.compile(rf"\b{ARCH}\s*>=?\s*(\d+)")
_VERSIONS = {
    "CUDA_VERSION": "12080",
    "CUDART_VERSION": "12080",
    "__CUDACC_VER_MAJOR__": "12",
    "__CUDACC_VER_MINOR__": "8",
}
"""Macros with CUDA's version, which nvcc defines and hipcc does not."""

_CUDA_SWITCH = re.compile(r"(?:^|_)(?:CUDA|GPU)(?:_|$)")
_CUDA_FOLDER = re.compile(r"(?i:cuda|gpu|nvidia)")
_WARP_SIZE = re.compile(r"(?:\w*_)?(?:WAVEFRONT|WAVE|WARP)_?SIZE")
"""Matches macros that a build sets to the size of a wavefront after querying the GPU."""
_PTX = re.compile(r"\basm\b|\binline PTX\b")
_AMBIGUOUS = re.compile(r"\bambiguous\b|\bmore than one (?:operator|conversion|instance|user-defined)\b")

_NEWER_NAME = re.compile(
    r"(?:\"|reference to ')"
    r"(beta|byte|clamp|data|empty|expint|gcd|hermite|laguerre|lcm|legendre|sample|size)[\"'] is ambiguous"
)
"""Matches errors for a name of the source that namespace std has since C++17."""
_OLDER = "-std=c++14"

_SETTING_PREFIX = {"amd": "hip", "cuda": "cuda"}
_HALF_FLAGS = {
    "amd": ("-D__HIP_NO_HALF_CONVERSIONS__=1", "-D__HIP_NO_HALF_OPERATORS__=1"),
    "cuda": (
        *("-D__CUDA_NO_HALF_OPERATORS__", "-D__CUDA_NO_HALF_CONVERSIONS__"),
        *("-D__CUDA_NO_BFLOAT16_CONVERSIONS__", "-D__CUDA_NO_HALF2_OPERATORS__"),
    ),
}
"""Flags that torch.utils.cpp_extension passes, so that only torch's Half type has operators."""
_NVIDIA_LIBRARIES = ("cutlass", "cute")
"""Folders of template libraries that only support NVIDIA's GPUs."""
_THRUST_SWITCH = "THRUST_CUB_WRAPPED_NAMESPACE"
"""The namespace around Thrust and CUB, which only their headers test."""
_LEVELS = ("-O3", "-O1", "-O0")


@dataclass(frozen=True)
class _ForcedHeader:
    """A row of ``forced_headers.csv``: a header to include before a source.

    ``errors`` matches the errors without it, and ``uses`` the code that needs it.
    """

    header: str
    vendors: frozenset[str]
    errors: re.Pattern[str]
    uses: re.Pattern[str]
    reason: str


_FORCED_HEADERS = {row.header: row for row in read_rows(Path(__file__).with_name("forced_headers.csv"), _ForcedHeader)}


Kind = Literal[
    "folder", "hipcc", "switches", "cuda", "halves", "headers", "linked", "defined", "part", "templates", "newest",
    "older", "libraries", "without", "optimized", "partial",
]  # fmt: skip

COMBINABLE: frozenset[Kind] = frozenset(
    ("folder", "hipcc", "switches", "cuda", "linked", "headers", "halves", "newest", "older")
)
"""Kinds that add to a source or its flags, and can be combined."""
_MACRO_KINDS: frozenset[Kind] = frozenset(("hipcc", "switches", "cuda", "newest"))
"""Kinds that define or undefine macros."""


@dataclass(frozen=True)
class Variant:
    """A way to build a source: its kind, and the macros, headers, folders or files that it involves."""

    kind: Kind
    names: tuple[str, ...]

    def of(self, source: Source) -> Source | None:
        """Return the source as this variant; None if the variant does not change it."""
        return _KINDS[self.kind](source, self.names)


def after_errors(source: Source, vendor: str, error: PortError) -> Iterator[Variant]:
    """Yield variants of a source that does not compile, the most likely first."""
    if source.partial:
        return iter(())  # every other variant was tried before
    found = _after_errors(source, vendor, error)
    if is_beyond_switches(source, error.findings):
        return (each for each in found if each.kind not in _MACRO_KINDS)
    return found


def _after_errors(source: Source, vendor: str, error: PortError) -> Iterator[Variant]:
    if any(CRASHED in each.advice for each in error.findings):
        yield Variant("optimized", _LEVELS)
        return
    errors = diagnostics(error.log)
    if header := next((each.missing_header for each in errors if source.ambiguous.get(each.missing_header)), ""):
        names = [source.name(place) for place in source.ambiguous[header]]
        yield Variant("folder", (next(filter(_CUDA_FOLDER.search, names), names[0]), header))
    compiled = [each for each in errors if not each.missing_header]
    if compiled and all(NOT_DEFINED in each.text for each in compiled):
        # A file defines the names, or code that only newer GPUs or versions of CUDA compile.
        yield Variant("linked", undefined_names(error))
        yield Variant("defined", undefined_names(error))
        yield from _including(source)
        if vendor == "amd":
            yield Variant("newest", (ARCH, *_VERSIONS))
        if vendor == "amd" and error.translation and error.translation.empty_headers and not source.without:
            yield Variant("without", ())
        return
    if source.without:
        return  # every other variant was tried before
    tested = switches_tested(source)
    yield from _flag_variants(source, vendor, error, tested)
    yield from _including(source)
    if more := tuple(filter(_CUDA_SWITCH.search, tested)):
        yield Variant("cuda", more)
    if vendor == "amd":
        yield Variant("libraries", _NVIDIA_LIBRARIES)
    if not source.parts:
        yield Variant("without", ())


def _flag_variants(source: Source, vendor: str, error: PortError, tested: Iterable[str]) -> Iterator[Variant]:
    def reports(pattern: re.Pattern[str]) -> bool:
        return any(pattern.search(each.advice) for each in error.findings)

    if reports(_PTX):  # code for a specific NVIDIA GPU
        yield Variant("hipcc", (ARCH,))
    yield Variant("switches", (*error.remedies.switches, _THRUST_SWITCH))
    if cudas := tuple(filter(is_for_cuda, tested)):
        yield Variant("cuda", cudas)
    if vendor == "amd":
        yield Variant("linked", undefined_names(error))
    for rule in _FORCED_HEADERS.values():
        if vendor in rule.vendors and reports(rule.errors):
            yield Variant("headers", (rule.header, f"{_SETTING_PREFIX[vendor]}-force-include"))
    if reports(_AMBIGUOUS):
        yield Variant("halves", _HALF_FLAGS[vendor])
    if names := dict.fromkeys(_NEWER_NAME.findall(error.log)):
        yield Variant("older", tuple(names))
    if vendor == "amd":
        yield Variant("switches", (ARCH,))
        yield Variant("newest", (ARCH, *_VERSIONS))


def with_kernels(source: Source, vendor: str) -> Iterator[Variant]:
    """Yield variants of a source that compiles without any kernel, the most likely first."""
    text = source.files[source.path]
    if "__global__" in text:
        yield from with_cuda_version(vendor)
    yield from _including(source)
    if names := switches_of_kernels(source):
        yield Variant("switches", tuple(names))
        yield Variant("cuda", tuple(names))
    elif "__global__" in text and (cudas := tuple(filter(is_for_cuda, switches_tested(source)))):
        yield Variant("cuda", cudas)  # otherwise a header may define CUDA's keywords as nothing
    guesses = guess_instantiations(text, tuple(source.files.values()))
    yield Variant("templates", tuple(dict.fromkeys(map(str, guesses))))


def with_cuda_version(vendor: str) -> Iterator[Variant]:
    """Yield the variant of a source with CUDA's version macros, which nvcc defines anyway."""
    if vendor == "amd":
        yield Variant("newest", tuple(_VERSIONS))


def _including(source: Source) -> Iterator[Variant]:
    for path in includers(source.path):
        if path not in source.parts:
            yield Variant("part", (source.name(path),))


def _with_switches(source: Source, names: tuple[str, ...]) -> Source | None:
    """Define the macros that the project's build files define as well, and use their C++ standard."""
    folders = project_of(source.path.parent, source.folder)
    given = macros_of(source.options.flags)
    # If a switch exists for CUDA and for HIP, a CUDA source needs the former; it never needs a switch against CUDA.
    if twins := {each: each.replace("HIP", "CUDA") for each in names if "HIP" in each}:
        tested = {*names, *given, *switches_tested(source)}
        names = tuple(dict.fromkeys(twins[each] if twins.get(each) in tested else each for each in names))
    unwanted = {each for each in names if _CUDA_SWITCH.search(each) and is_against_cuda(each)}
    names = tuple(each for each in names if each not in {*given, *unwanted})
    switches = tuple(switches_of(names, source.path, folders))
    known = {*given, *(name for each in switches for name in macros_of([each.flag]))}
    others = {name: each for switch in switches for each in same_statement(switch) for name in macros_of([each.flag])}
    switches = (*switches, *(each for name, each in others.items() if name not in known and _is_used(name, source)))
    defined = {name for each in switches for name in macros_of([each.flag])}
    switches = (*switches, *_warp_sizes(source, set(names) - defined))
    if not any(flag.startswith("-std=") for flag in source.options.flags):
        standard = standard_of(source.path, folders) or standard_used(source.files)
        switches = (*switches, standard) if standard else switches
    if ARCH in names and not source.ported and ARCH not in macros_of(source.options.flags):
        place = _first_test(source, ARCH)
        arch = (Switch(f"-D{ARCH}={_MIN_ARCH}", *place, f"cuda-arch = {_MIN_ARCH}"),) if place else ()
        switches = (*switches, *arch)
    return _with(source, switches)


def _is_used(name: str, source: Source) -> bool:
    """True if the source contains an identifier and defines no macro of that name."""
    texts = source.files.values()
    return any(re.search(rf"\b{name}\b", text) for text in texts) and not any(
        name in defined_macros(text) for text in texts
    )


def _warp_sizes(source: Source, names: Iterable[str]) -> Iterator[Switch]:
    """Yield definitions of undefined macros whose names suggest the size of a wavefront."""
    why = "a guess by its name: the lanes of a wavefront, 64 on gfx9 and 32 elsewhere"
    for name in filter(_WARP_SIZE.fullmatch, names):
        if place := _first(source, re.compile(rf"\b{name}\b"), code):
            yield Switch(f"-D{name}=PARITY_WAVEFRONT_SIZE", *place, why=why)


def _of_folder(source: Source, names: tuple[str, ...]) -> Source | None:
    """Use the headers of one of several folders that have a header of the same name."""
    place, header = Path(os.path.normpath(source.folder / names[0])), names[1]
    include = re.compile(rf'^[ \t]*#[ \t]*include[ \t]*[<"]{re.escape(header)}[>"]', re.MULTILINE)
    if place in source.folders or not (at := _first(source, include)):
        return None
    others = (os.path.relpath(each) for each in source.ambiguous.get(header, ()) if each != place)
    setting, why = f'include = ["{os.path.relpath(place)}"]', f"which has {header} as {', '.join(others)} has it"
    options = replace(source.options, include=(*source.options.include, place))
    switches = (*source.switches, Switch(f"-I{os.path.relpath(place)}", *at, setting, why=why))
    return _reread(replace(source, options=options, switches=switches))


def _reread(source: Source) -> Source:
    """Find the files of a source again, and discard its repairs."""
    every = closure(source.path, source.options, source.folder, {})
    found = replace(source, files=every.files, around=every.around, ambiguous=every.ambiguous, made=every.made)
    return found.unrepaired()


def _as_hipcc(source: Source, names: tuple[str, ...]) -> Source | None:
    """Undefine macros of CUDA that the flags define, as hipcc does not define them."""
    flags = tuple(flag for flag in source.options.flags if not set(macros_of([flag])) & set(names))
    given = {flag for flag in source.options.flags if flag not in flags} - {each.flag for each in source.switches}
    place = next(filter(None, (_first_test(source, name) for name in names)), None)
    if source.ported or not given or place is None:
        return None
    undefined = tuple(Switch(f"-U{name}", *place, "no cuda-arch", why="as hipcc does it") for name in names)
    return _with(source, undefined, flags=flags)


def _for_cuda(source: Source, names: tuple[str, ...]) -> Source | None:
    """Define the macros whose names mention CUDA or a GPU, whether a build file defines them or not."""
    found: list[Switch] = []
    for name in (name for name in names if _CUDA_SWITCH.search(name) and not is_against_cuda(name)):
        tests = re.compile(rf"^[ \t]*#[ \t]*(?:if|ifdef|elif)\b[^\n]*\b{name}\b", re.MULTILINE)
        if place := _first(source, tests):
            found.append(Switch(f"-D{name}", *place))
    return _with(source, tuple(found))


def _with_half_flags(source: Source, names: tuple[str, ...]) -> Source | None:
    """Add the flags of torch's build to the source of a torch extension that does not have them."""
    if source.ported or set(names) & set(source.options.flags):
        return None
    for path, text in source.files.items():
        for match in INCLUDE.finditer(text):
            if (stub := stub_for(match[2])) and stub.library == "PyTorch":
                line = text.count("\n", 0, match.start()) + 1
                why, vendor = "as torch's builds of extensions are", "cuda" if "__CUDA_" in names[0] else "hip"
                found = (Switch(flag, path, line, f'{vendor}-flags = ["{flag}"]', why=why) for flag in names)
                return _with(source, tuple(found))
    return None


def _with_older_standard(source: Source, names: tuple[str, ...]) -> Source | None:
    """Use C++14, in which namespace std does not have these names, unless the settings state a standard."""
    if any(flag.startswith("-std=") for flag in source.options.flags):
        return None
    place = _first(source, re.compile(rf"\b(?:{'|'.join(names)})\b"), code)
    why = f"namespace std has {' and '.join(names)} since C++17"
    return _with(source, (Switch(_OLDER, *place, why=why),)) if place else None


def _with_header(source: Source, names: tuple[str, ...]) -> Source | None:
    """Force a header in, if the source has code that needs it."""
    header, setting = names
    rule = _FORCED_HEADERS[header]
    if source.ported or header in source.options.forced or not (place := _first(source, rule.uses, code)):
        return None
    switch = Switch(f"-include {header}", *place, f'{setting} = ["{header}"]', why=rule.reason)
    return _with(source, (switch,), forced=(*source.options.forced, header))


def _newest(source: Source, names: tuple[str, ...]) -> Source | None:
    """Define CUDA's version, and the newest ``__CUDA_ARCH__`` that the source tests, where it tests these macros."""
    given = {flag for flag in source.options.flags if not flag.startswith(f"-D{ARCH}={_MIN_ARCH}")}
    numbers = [int(number) for text in source.files.values() for number in _ARCH_TESTED.findall(text)]
    newest = max((number for number in numbers if _MIN_ARCH < number <= _MAX_ARCH), default=_MIN_ARCH)
    found = []
    for name, value in {**_VERSIONS, ARCH: str(newest)}.items():
        if name in names and name not in macros_of(given) and (place := _first_test(source, name)):
            setting = f"cuda-arch = {value}" if name == ARCH else f'hip-flags = ["-D{name}={value}"]'
            found.append(Switch(f"-D{name}={value}", *place, setting, why="as nvcc has it"))
    flags = tuple(each.flag for each in found)
    if source.ported or set(flags) <= set(source.options.flags):
        return None
    kept = tuple(flag for flag in source.options.flags if flag in given)
    switches = tuple(each for each in source.switches if each.flag in given or not each.flag.startswith("-D"))
    options = replace(source.options, flags=(*kept, *flags))
    return replace(source, options=options, switches=(*switches, *found), repairs=_fresh_repairs(source))


def _linked(source: Source, names: tuple[str, ...]) -> Source | None:
    """Also compile the files that define the functions and variables that the source only declares for the device."""
    others = others_define(names, source)
    if not others:
        return None
    includes = (
        Switch(f'#include "{os.path.relpath(path, source.path.parent)}"', path, line) for path, line in others.items()
    )
    return replace(linked(source, others), switches=(*source.switches, *includes))


def _defined(source: Source, names: tuple[str, ...]) -> Source | None:
    """Define the variables that the source declares with ``extern``, if no other file can be compiled with it."""
    found = with_definitions(names, source)
    if found is None:
        return None
    why = "because no file that defines it can be compiled with this one; it has no value unless symbols= fills it"
    lines = found.files[found.linked[-1]].splitlines()
    return replace(
        found, switches=(*source.switches, *(Switch(" ".join(e.split()), source.path, 1, why=why) for e in lines))
    )


def _part(source: Source, names: tuple[str, ...]) -> Source | None:
    """Build the file that includes this source instead."""
    path = Path(os.path.normpath(source.folder / names[0]))
    return _reread(replace(source, path=path, parts=(*source.parts, source.path))) if path.is_file() else None


def _instantiated(source: Source, names: tuple[str, ...]) -> Source | None:
    """Instantiate kernel templates that nothing in the source instantiates."""
    if source.kernels or not names:
        return None
    return replace(source, kernels=names, guessed=True, repairs=_fresh_repairs(source))


def _without_libraries(source: Source, names: tuple[str, ...]) -> Source | None:
    """Treat headers in folders of these names as absent, so that host code that needs them is left out."""
    files = {path: text for path, text in source.files.items() if not set(names) & set(path.parent.parts)}
    is_smaller = source.path in files and len(files) < len(source.files)
    return replace(source.unrepaired(), files=files) if is_smaller else None


def _optimized(source: Source, names: tuple[str, ...]) -> Source | None:
    """Compile at the next lower optimization level."""
    now = next((flag for flag in reversed(source.options.flags) if flag.startswith("-O")), names[0])
    level = next((lower for higher, lower in itertools.pairwise(names) if higher == now), "")
    why = f"because clang itself crashes at {now}"
    return _with(source, (Switch(level, source.path, 1, f'hip-flags = ["{level}"]', why=why),)) if level else None


def _without(source: Source, names: tuple[str, ...]) -> Source | None:
    """Leave out device code whose headers or libraries are absent, in addition to host code."""
    return replace(source, without=True, repairs=RepairState(source.repairs.host))


def _partial(source: Source, names: tuple[str, ...]) -> Source | None:
    """Leave out device code that has errors."""
    return None if source.partial else replace(source, partial=True, repairs=RepairState(source.repairs.host))


def _with(source: Source, switches: tuple[Switch, ...], **changed: Any) -> Source | None:
    """Return the source with these switches: their flags are added, unless it is ``changed`` otherwise."""
    if not switches:
        return None
    changed = changed or {"flags": (*source.options.flags, *(each.flag for each in switches))}
    options = replace(source.options, **changed)
    return replace(source, options=options, switches=(*source.switches, *switches), repairs=_fresh_repairs(source))


def _fresh_repairs(source: Source) -> RepairState:
    """Keep only the absent headers of the repair state, because a variant lacks them as well."""
    host = source.repairs.host
    kept = HostCode(empty_headers=host.empty_headers, missing=host.missing, implied=host.implied, pasted=host.pasted)
    return RepairState(kept)


def _first_test(source: Source, macro: str) -> tuple[Path, int] | None:
    """Return the first place with a condition that tests a macro."""
    return _first(source, re.compile(rf"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif)\b[^\n]*\b{macro}\b", re.MULTILINE))


def _first(source: Source, pattern: re.Pattern[str], read: Callable[[str], str] = str) -> tuple[Path, int] | None:
    """Return the file and line of the first match in the texts, after ``read`` blanks parts of them."""
    for path, text in source.files.items():
        if match := pattern.search(read(text)):
            return path, text.count("\n", 0, match.start()) + 1
    return None


_KINDS: Mapping[Kind, Callable[[Source, tuple[str, ...]], Source | None]] = {
    "folder": _of_folder,
    "hipcc": _as_hipcc,
    "switches": _with_switches,
    "cuda": _for_cuda,
    "halves": _with_half_flags,
    "headers": _with_header,
    "linked": _linked,
    "defined": _defined,
    "part": _part,
    "templates": _instantiated,
    "newest": _newest,
    "older": _with_older_standard,
    "libraries": _without_libraries,
    "without": _without,
    "optimized": _optimized,
    "partial": _partial,
}
