"""The other ways to build a source that does not compile, or has no kernel, as it stands.

A project's build knows more than its sources say: switches and a standard of C++, which files are linked with one, and
of which file one is only a part. Each of these is a variant of the source, found in the project's own files. The
variants are tried in turn, and ``parity build`` names what was taken.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from parity.compilers.diagnostics import CRASHED, NOT_DEFINED, diagnostics
from parity.compilers.errors import undefined_names
from parity.compilers.lexing import code
from parity.porting.build_files import (
    Switch,
    beside,
    is_against_cuda,
    is_for_cuda,
    standard_of,
    standard_used,
    switches_of,
)
from parity.porting.conditionals import macros_of
from parity.porting.cuda_names import defined_macros
from parity.porting.errors import PortError
from parity.porting.hints import is_beyond_switches, switches_asked, switches_of_kernels
from parity.porting.host_code import HostCode, Repairs
from parity.porting.host_syntax import guessed
from parity.porting.sources import INCLUDE, Source, closure, including, linked, others_define, project_of
from parity.porting.stubs import stub_for
from parity.porting.vector_types import DERIVED, PLAIN

__all__ = ["ARCH", "OF_FLAGS", "Variant", "after_errors", "of_version", "with_kernels"]

ARCH = "__CUDA_ARCH__"

_ASKS = r"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif)\b[^\n]*\b{}\b"
_CUDAS = re.compile(r"(?:^|_)(?:CUDA|GPU)(?:_|$)")
"""Matches the name of a switch that has to do with CUDA (``USE_CUDA_SOLVER``)."""
_OF_CUDA = re.compile(r"(?i:cuda|gpu|nvidia)")
"""Matches the name of a folder that has to do with CUDA."""
_LEAST_ARCH, _MOST_ARCH = 700, 900
"""``__CUDA_ARCH__`` for a source that does not compile without: the first with shuffles of HIP's names. The other is
the greatest that a source gets because it asks for so much."""
_LEAST_ASKED = re.compile(rf"\b{ARCH}\s*>=?\s*(\d+)")
_VERSIONS = {
    "CUDA_VERSION": "12080",
    "CUDART_VERSION": "12080",
    "__CUDACC_VER_MAJOR__": "12",
    "__CUDACC_VER_MINOR__": "8",
}
"""CUDA's version, which HIP does not define, for a source that does not compile without."""

_LANES = re.compile(r"(?:\w*_)?(?:WAVEFRONT|WAVE|WARP)_?SIZE")
"""Matches the name of a macro that is the lanes of a wavefront, as builds define it that ask the GPU at hand."""

_PREFIXES = {"amd": "hip", "cuda": "cuda"}
"""How the settings of a side begin."""
_PTX = re.compile(r"\basm\b|\binline PTX\b")
_AMBIGUOUS = re.compile(r"\bambiguous\b|\bmore than one (?:operator|conversion|instance|user-defined)\b")
_OF_HALVES = {
    "amd": ("-D__HIP_NO_HALF_CONVERSIONS__=1", "-D__HIP_NO_HALF_OPERATORS__=1"),
    "cuda": (
        *("-D__CUDA_NO_HALF_OPERATORS__", "-D__CUDA_NO_HALF_CONVERSIONS__"),
        *("-D__CUDA_NO_BFLOAT16_CONVERSIONS__", "-D__CUDA_NO_HALF2_OPERATORS__"),
    ),
}
"""With what torch.utils.cpp_extension compiles for each side, so that torch's Half is the only one with operators."""

_STANDARD = "parity/standard.h"

_HEADERS: Mapping[str, tuple[re.Pattern[str], re.Pattern[str], str]] = {
    "parity/compat/min_max.h": (
        re.compile(r"array subscript is not an integer|invalid operands to binary expression \(.*'double'.*\)"),
        re.compile(r"\b(?:min|max)\s*\("),
        "because min and max of a signed and an unsigned number are a double in HIP",
    ),
    PLAIN: (
        re.compile(r"HIP_vector_type|\bambiguous\b|found in multiple base classes"),
        DERIVED,
        "because HIP's vector types have operators, which a class that derives from one would inherit",
    ),
    "parity/compat/unnamed.h": (
        re.compile(r"no matching function for call to '(?:__ld(?:g|c[agsv]|lu)|__shfl(?:_up|_down|_xor)?|__hadd)'"),
        re.compile(r"\bnamespace\s*\{"),
        "because HIP's functions of halves hide others of their names in an unnamed namespace",
    ),
    "hip/hip_bf16.h": (
        re.compile(r"(?:undeclared identifier|unknown type name) '__hip_bfloat16'"),
        re.compile(r"\b(?:__nv_bfloat16|nv_bfloat16|__hip_bfloat16)\b"),
        "because CUDA's headers, CUB's among them, bring it",
    ),
    _STANDARD: (
        re.compile(
            r"(?:undeclared identifier|unknown type name|^identifier) ['\"]"
            r"(?:(?:FLT|DBL|U?INT|U?L?LONG|U?CHAR|U?SHRT|SIZE)\d*_[A-Z_\d]+|u?int(?:8|16|32|64)_t|mem(?:cpy|set))['\"]"
        ),
        re.compile(r"\b(?:[A-Z]+\d*_(?:MAX|MIN|EPSILON)|u?int\d+_t|mem(?:cpy|set))\b"),
        "because other compilers' headers bring what is in the standard library",
    ),
}
"""Headers to force in, by clang's errors without, each with the text that asks for it, and why. Of these nvcc misses
``_STANDARD``, too."""

_OF_NVIDIA = ("cutlass", "cute")
"""Libraries of templates for NVIDIA's GPUs alone, by the folders of their headers."""

_WRAPPED = "THRUST_CUB_WRAPPED_NAMESPACE"
"""A switch that sources do not ask for, but Thrust's headers: the namespace that they and CUB's are in."""
_LEVELS = ("-O3", "-O1", "-O0")
"""Levels of optimization: the next is for a source at whose code clang crashes."""

Kind = Literal[
    "folder",
    "hipcc",
    "switches",
    "cuda",
    "halves",
    "headers",
    "linked",
    "part",
    "templates",
    "newest",
    "libraries",
    "without",
    "optimized",
]


OF_FLAGS: frozenset[Kind] = frozenset(("folder", "hipcc", "switches", "cuda", "linked", "headers", "halves", "newest"))
"""The kinds that add to a source or its flags, and can be taken together."""

_OF_MACROS: frozenset[Kind] = frozenset(("hipcc", "switches", "cuda", "newest"))
"""The kinds that define macros, or take them away."""


@dataclass(frozen=True)
class Variant:
    """A way to build a source: a kind, and the names that it is about."""

    kind: Kind
    names: tuple[str, ...]

    def of(self, source: Source) -> Source | None:
        """The source as this variant; None if the project has nothing of these names."""
        return _KINDS[self.kind](source, self.names)


def after_errors(source: Source, vendor: str, error: PortError) -> Iterator[Variant]:
    """The variants of a source that does not compile, the likeliest first."""
    found = _after_errors(source, vendor, error)
    if is_beyond_switches(source, error.findings):
        return (each for each in found if each.kind not in _OF_MACROS)
    return found


def _after_errors(source: Source, vendor: str, error: PortError) -> Iterator[Variant]:
    if any(CRASHED in each.advice for each in error.findings):
        yield Variant("optimized", _LEVELS)
        return
    for header in (each.missing_header for each in diagnostics(error.log)):
        if places := source.doubtful.get(header):
            names = [source.name(place) for place in places]
            yield Variant("folder", (next(filter(_OF_CUDA.search, names), names[0]), header))
            break  # other headers are doubtful no more, or are this variant's
    said = [each for each in diagnostics(error.log) if not each.missing_header]  # which led to none of these errors
    if said and all(NOT_DEFINED in each.text for each in said):
        # It compiles, and nothing but the file that has the names makes a difference.
        yield Variant("linked", undefined_names(error))
        yield from _wholes(source)
        if vendor == "amd" and error.translation and error.translation.empty_headers and not source.without:
            yield Variant("without", ())
        return
    if source.without:
        return  # with every other variant it is tried, too
    asked = switches_asked(source)
    flags = [Variant("switches", (*error.remedies.switches, _WRAPPED))]
    if cudas := tuple(filter(is_for_cuda, asked)):
        flags.append(Variant("cuda", cudas))
    # Code for one of NVIDIA's GPUs is in the way where it is PTX.
    if any(_PTX.search(each.advice) for each in error.findings):
        flags.insert(0, Variant("hipcc", (ARCH,)))
    if vendor == "amd":
        flags.append(Variant("linked", undefined_names(error)))
    for header, (without, _, _) in _HEADERS.items():
        if (vendor == "amd" or header == _STANDARD) and any(without.search(each.advice) for each in error.findings):
            flags.append(Variant("headers", (header, f"{_PREFIXES[vendor]}-force-include")))
    if any(_AMBIGUOUS.search(each.advice) for each in error.findings):
        flags.append(Variant("halves", _OF_HALVES[vendor]))
    if vendor == "amd":
        flags.append(Variant("switches", (ARCH,)))
        flags.append(Variant("newest", (ARCH, *_VERSIONS)))
    yield from flags
    yield from _wholes(source)
    if more := tuple(filter(_CUDAS.search, asked)):
        yield Variant("cuda", more)
    if vendor == "amd":
        yield Variant("libraries", _OF_NVIDIA)
    if vendor == "amd" and not source.parts:
        yield Variant("without", ())


def with_kernels(source: Source, vendor: str) -> Iterator[Variant]:
    """The variants of a source that compiles and has no kernel then, the likeliest first."""
    if "__global__" in source.files[source.path]:
        yield from of_version(vendor)
    yield from _wholes(source)
    if names := switches_of_kernels(source):
        yield Variant("switches", tuple(names))
        yield Variant("cuda", tuple(names))
    elif "__global__" in source.files[source.path] and (cudas := tuple(filter(is_for_cuda, switches_asked(source)))):
        yield Variant("cuda", cudas)  # without, a header may make nothing of CUDA's words
    yield Variant(
        "templates", tuple(dict.fromkeys(map(str, guessed(source.files[source.path], tuple(source.files.values())))))
    )


def of_version(vendor: str) -> Iterator[Variant]:
    """The variant of a source with CUDA's version, which nvcc's headers define."""
    if vendor == "amd":
        yield Variant("newest", tuple(_VERSIONS))


def _wholes(source: Source) -> Iterator[Variant]:
    for path in including(source.path):
        if path not in source.parts:
            yield Variant("part", (source.name(path),))


def _switched(source: Source, names: tuple[str, ...]) -> Source | None:
    """The source with those of these macros that the project's build files define, and with their standard of C++."""
    folders = project_of(source.path.parent)
    given = macros_of(source.side.flags)
    # Of the same switch for CUDA and for HIP, a CUDA source means the former; one against CUDA it never means.
    if hips := {each: each.replace("HIP", "CUDA") for each in names if "HIP" in each}:
        asked = {*names, *given, *switches_asked(source)}
        twins = {each: cudas for each, cudas in hips.items() if cudas in asked}
        names = tuple(dict.fromkeys(twins.get(each, each) for each in names))
    unwanted = {each for each in names if _CUDAS.search(each) and is_against_cuda(each)}
    names = tuple(each for each in names if each not in {*given, *unwanted})
    switches = tuple(switches_of(names, source.path, folders))
    known = {*given, *(name for each in switches for name in macros_of([each.flag]))}
    others = {name: each for switch in switches for each in beside(switch) for name in macros_of([each.flag])}
    switches = (*switches, *(each for name, each in others.items() if name not in known and _is_used(name, source)))
    switches = (*switches, *_lanes(source, set(names) - {name for each in switches for name in macros_of([each.flag])}))
    if not any(flag.startswith("-std=") for flag in source.side.flags):
        standard = standard_of(source.path, folders) or standard_used(source.files)
        switches = (*switches, standard) if standard else switches
    if ARCH in names and not source.ported and ARCH not in macros_of(source.side.flags):
        switches = (*switches, *_arch_asked(source))
    return _with(source, switches)


def _of_folder(source: Source, names: tuple[str, ...]) -> Source | None:
    """The source with the headers of this folder, which has one that others have, too: a build may be of each."""
    place, header = Path(os.path.normpath(source.folder / names[0])), names[1]
    including = re.compile(rf'^[ \t]*#[ \t]*include[ \t]*[<"]{re.escape(header)}[>"]', re.MULTILINE)
    if place in source.folders or not (at := _first(source, including)):
        return None
    others = (os.path.relpath(each) for each in source.doubtful.get(header, ()) if each != place)
    setting, why = f'include = ["{os.path.relpath(place)}"]', f"which has {header} as {', '.join(others)} has it"
    side = replace(source.side, include=(*source.side.include, place))
    switches = (*source.switches, Switch(f"-I{os.path.relpath(place)}", *at, setting, why=why))
    return _read_anew(replace(source, side=side, switches=switches))


def _read_anew(source: Source) -> Source:
    """The source with the files that its path and its side lead to, and without repairs."""
    every = closure(source.path, source.side, source.folder, {})
    found = replace(source, files=every.files, around=every.around, doubtful=every.doubtful, made=every.made)
    return replace(found, repairs=Repairs())


def _is_used(name: str, source: Source) -> bool:
    """True if a source has an identifier and defines no macro of this name."""
    texts = source.files.values()
    return any(re.search(rf"\b{name}\b", text) for text in texts) and not any(
        name in defined_macros(text) for text in texts
    )


def _as_hipcc(source: Source, names: tuple[str, ...]) -> Source | None:
    """The source without these macros, if they are flags of its side: hipcc does not define CUDA's."""
    flags = tuple(flag for flag in source.side.flags if not set(macros_of([flag])) & set(names))
    given = {flag for flag in source.side.flags if flag not in flags} - {each.flag for each in source.switches}
    place = next(filter(None, (_asked(source, name) for name in names)), None)
    if source.ported or not given or place is None:
        return None
    said = tuple(Switch(f"-U{name}", *place, "no cuda-arch", why="as hipcc does it") for name in names)
    side = replace(source.side, flags=flags)
    return replace(source, side=side, switches=(*source.switches, *said), repairs=_afresh(source))


def _lanes(source: Source, names: Iterable[str]) -> Iterator[Switch]:
    """Macros that nothing defines and whose names say that they are the lanes of a wavefront, at their first places."""
    why = "a guess by its name: the lanes of a wavefront, 64 on gfx9 and 32 elsewhere"
    for name in filter(_LANES.fullmatch, names):
        if place := _first(source, re.compile(rf"\b{name}\b"), code):
            yield Switch(f"-D{name}=__AMDGCN_WAVEFRONT_SIZE__", *place, why=why)


def _for_cuda(source: Source, names: tuple[str, ...]) -> Source | None:
    """The source with those of these macros that are CUDA's by their names, wherever a project's build defines them."""
    found: list[Switch] = []
    for name in (name for name in names if _CUDAS.search(name) and not is_against_cuda(name)):
        asks = re.compile(rf"^[ \t]*#[ \t]*(?:if|ifdef|elif)\b[^\n]*\b{name}\b", re.MULTILINE)
        if place := _first(source, asks):
            found.append(Switch(f"-D{name}", *place))
    return _with(source, tuple(found))


def _of_halves(source: Source, names: tuple[str, ...]) -> Source | None:
    """The source with these options, if it is one of an extension of torch and has none of them."""
    if source.ported or set(names) & set(source.side.flags):
        return None
    for path, text in source.files.items():
        for match in INCLUDE.finditer(text):
            if (stub := stub_for(match[2])) and stub.library == "PyTorch":
                line = text.count("\n", 0, match.start()) + 1
                why, side = "as torch's builds of extensions are", "cuda" if "__CUDA_" in names[0] else "hip"
                found = (Switch(flag, path, line, f'{side}-flags = ["{flag}"]', why=why) for flag in names)
                return _with(source, tuple(found))
    return None


def _of_headers(source: Source, names: tuple[str, ...]) -> Source | None:
    """The source with a header forced in, at the first place that asks for it."""
    header, setting = names
    _, asks, why = _HEADERS[header]
    if source.ported or header in source.side.forced:
        return None
    if place := _first(source, asks, code):
        said = Switch(f"-include {header}", *place, f'{setting} = ["{header}"]', why=why)
        side = replace(source.side, forced=(*source.side.forced, header))
        return replace(source, side=side, switches=(*source.switches, said), repairs=_afresh(source))
    return None


def _with(source: Source, switches: tuple[Switch, ...]) -> Source | None:
    if not switches:
        return None
    side = replace(source.side, flags=(*source.side.flags, *(each.flag for each in switches)))
    return replace(source, side=side, switches=(*source.switches, *switches), repairs=_afresh(source))


def _afresh(source: Source) -> Repairs:
    """Of what is known of a source only the headers that are not here, which another way to build it lacks, too."""
    host = source.repairs.host
    kept = HostCode(empty_headers=host.empty_headers, missing=host.missing, brought=host.brought, pasted=host.pasted)
    return Repairs(kept)


def _arch_asked(source: Source) -> Iterator[Switch]:
    """``__CUDA_ARCH__`` at the first place that asks for it."""
    if place := _asked(source, ARCH):
        yield Switch(f"-D{ARCH}={_LEAST_ARCH}", *place, f"cuda-arch = {_LEAST_ARCH}")


def _asked(source: Source, macro: str) -> tuple[Path, int] | None:
    """The first place with a condition that asks for a macro."""
    return _first(source, re.compile(_ASKS.format(macro), re.MULTILINE))


def _first(source: Source, pattern: re.Pattern[str], read: Callable[[str], str] = str) -> tuple[Path, int] | None:
    """The first file and line that a pattern matches in what ``read`` leaves of a text, each thing at its place."""
    for path, text in source.files.items():
        if match := pattern.search(read(text)):
            return path, text.count("\n", 0, match.start()) + 1
    return None


def _of_newest(source: Source, names: tuple[str, ...]) -> Source | None:
    """The source with CUDA's version and the newest ``__CUDA_ARCH__`` of those of these macros that it asks for."""
    given = {flag for flag in source.side.flags if not flag.startswith(f"-D{ARCH}={_LEAST_ARCH}")}
    numbers = [int(number) for text in source.files.values() for number in _LEAST_ASKED.findall(text)]
    newest = max((number for number in numbers if _LEAST_ARCH < number <= _MOST_ARCH), default=_LEAST_ARCH)
    found = []
    for name, value in {**_VERSIONS, ARCH: str(newest)}.items():
        if name in names and name not in macros_of(given) and (place := _asked(source, name)):
            setting = f"cuda-arch = {value}" if name == ARCH else f'hip-flags = ["-D{name}={value}"]'
            found.append(Switch(f"-D{name}={value}", *place, setting, why="as nvcc has it"))
    flags = tuple(each.flag for each in found)
    if source.ported or set(flags) <= set(source.side.flags):
        return None
    kept = tuple(flag for flag in source.side.flags if flag in given)
    switches = tuple(each for each in source.switches if each.flag in given or not each.flag.startswith("-D"))
    side = replace(source.side, flags=(*kept, *flags))
    return replace(source, side=side, switches=(*switches, *found), repairs=_afresh(source))


def _linked(source: Source, names: tuple[str, ...]) -> Source | None:
    """The source with those behind it that define what it declares for the device."""
    others = others_define(names, source)
    if not others:
        return None
    included = (
        Switch(f'#include "{os.path.relpath(path, source.path.parent)}"', path, line) for path, line in others.items()
    )
    return replace(linked(source, others), switches=(*source.switches, *included))


def _part(source: Source, names: tuple[str, ...]) -> Source | None:
    """The source that includes this one."""
    path = Path(os.path.normpath(source.folder / names[0]))
    if not path.is_file():
        return None
    return _read_anew(replace(source, path=path, parts=(*source.parts, source.path)))


def _instantiated(source: Source, names: tuple[str, ...]) -> Source | None:
    """The source with kernel templates that nothing in it instantiates."""
    return replace(source, kernels=names, guessed=True, repairs=_afresh(source)) if names else None


def _without_libraries(source: Source, names: tuple[str, ...]) -> Source | None:
    """The source without headers in folders of these names: host code that needs them is left out, too."""
    files = {path: text for path, text in source.files.items() if not set(names) & set(path.parent.parts)}
    own = source.path in files and len(files) < len(source.files)
    return replace(source, files=files, repairs=Repairs()) if own else None


def _optimized(source: Source, names: tuple[str, ...]) -> Source | None:
    """The source at the next lower of these levels of optimization."""
    now = next((flag for flag in reversed(source.side.flags) if flag.startswith("-O")), names[0])
    level = next((lower for higher, lower in itertools.pairwise(names) if higher == now), "")
    why = f"because clang itself crashes at {now}"
    return _with(source, (Switch(level, source.path, 1, f'hip-flags = ["{level}"]', why=why),)) if level else None


def _without(source: Source, names: tuple[str, ...]) -> Source | None:
    """The source without the device code whose headers or libraries are not here; what is known of it stays known."""
    return replace(source, without=True, repairs=Repairs(source.repairs.host))


_KINDS: Mapping[Kind, Callable[[Source, tuple[str, ...]], Source | None]] = {
    "folder": _of_folder,
    "hipcc": _as_hipcc,
    "switches": _switched,
    "cuda": _for_cuda,
    "halves": _of_halves,
    "headers": _of_headers,
    "linked": _linked,
    "part": _part,
    "templates": _instantiated,
    "newest": _of_newest,
    "libraries": _without_libraries,
    "without": _without,
    "optimized": _optimized,
}
