"""Finds code that means warps of 32 lanes, and has wavefronts of 64 on a target.

Three kinds are reported: primitives of CUB and cooperative groups whose width is the wavefront's, storage for warps or
lanes of 32, and ``warpSize`` where a constant is needed. Code that states 32 lanes (``WarpReduce<float, 32>``,
``tiled_partition<32>``) is correct at both widths and is not reported.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping

from parity.compilers.lexing import Lines, code
from parity.model.finding import Finding
from parity.porting.conditionals import Conditionals
from parity.porting.cuda_names import defined_macros

WIDTH_ARGUMENT = {
    "WarpReduce": 1,
    "WarpScan": 1,
    "WarpExchange": 2,
    "WarpMergeSort": 2,
    "WarpLoad": 3,
    "WarpStore": 3,
}
"""The position of the number of lanes among the template arguments of CUB's warp primitives."""

_CUB = r"(?:[\w\s]*::)*\s*(?:hip)?cub"
_NAMESPACE = re.compile(rf"\bnamespace\s+(\w+)\s*=\s*{_CUB}\s*;")
_IMPORT = re.compile(rf"\busing\s+(?:namespace\s+{_CUB}|{_CUB}\s*::\s*(\w+))\s*;")
_ALIAS = re.compile(r"\busing\s+(\w+)\s*=\s*(?:typename\s+)?\Z|\btypedef\s+(?:typename\s+)?\Z")
_TYPEDEF_NAME = re.compile(r"\s*(\w+)\s*;")
_COALESCED = re.compile(r"\bcoalesced_threads(?=\s*\()")
_NAMED_32 = re.compile(
    r"#\s*define\s+(\w+)\s+\(?32[uU]?\)?\s*$|\bconst(?:expr)?\s+[\w\s]*?(\w+)\s*=\s*32[uU]?\s*;", re.M
)
_OWN_SIZE = re.compile(r"#\s*define\s+warpSize\b|\b(?:int|unsigned|auto|size_t)\s+warpSize\b")
_LANE = re.compile(r"\b(\w+)\s*=\s*[^;=]*(?:%\s*warpSize|&\s*\(\s*warpSize\s*-\s*1\s*\)|\b__lane_id\s*\()")
_NOT_TYPES = r"(?!return\b|else\b|case\b|goto\b|new\b|delete\b|throw\b)"
_CONSTANTS = (
    re.compile(r"\b(?:constexpr|static\s+const)\b[^;{}()]*=[^;{}]*?(?P<at>\bwarpSize\b)"),
    re.compile(rf"(?<![\w.]){_NOT_TYPES}\w+[\s*&>]+\w+\s*\[[^\];]*?(?P<at>\bwarpSize\b)[^\];]*\]\s*[;={{\[,]"),
    re.compile(r"\b\w+<[\w\s,:*/+-]*?(?P<at>\bwarpSize\b)[\w\s,:*/+-]*>\s*(?:[({>]|::|\w)"),
)
"""Places that need a constant: an initializer, the length of an array, and a template argument."""


def for_64_lanes(files: Mapping[str, str]) -> tuple[Finding, ...]:
    """Return the findings for a target with 64 lanes in these sources (text by name)."""
    plain = {file: code(text) for file, text in files.items()}
    thirty_two = {"32", "32u", "32U"}.union(*map(_names_of_32, plain.values()))
    own_size = any(map(_OWN_SIZE.search, plain.values()))
    primitive = _primitive(plain.values())
    found = []
    for file, text in plain.items():
        if places := _places(text, primitive, frozenset(thirty_two), own_size):
            lines, conditionals = Lines(text), Conditionals(files[file], defined_macros(files[file]))
            each = (Finding(name, file, *lines.place(at), advice) for at, name, advice in sorted(places))
            found += [finding for finding in each if not conditionals.region(finding.line).is_left_out]
    return tuple(found)


def _primitive(texts: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern of CUB's warp primitives, qualified with a name of CUB's namespace or imported from it."""
    spaces: set[str] = set()
    imported: set[str] = set()
    for text in texts:
        spaces.update(_NAMESPACE.findall(text))
        for name in _IMPORT.findall(text):  # without a name, the whole namespace is imported
            imported.update({name} & set(WIDTH_ARGUMENT) if name else WIDTH_ARGUMENT)
    names = "|".join(WIDTH_ARGUMENT)
    places = [rf"\b(?:{'|'.join(('(?:hip)?cub', *sorted(spaces)))})\s*::\s*"]
    if imported:
        places.append(rf"(?<![\w:])(?<!struct )(?<!class )(?=(?:{'|'.join(sorted(imported))})\b)")
    return re.compile(rf"(?:{'|'.join(places)})(?P<name>{names})\s*<")


@functools.lru_cache(maxsize=256)
def _names_of_32(text: str) -> frozenset[str]:
    return frozenset(macro or constant for macro, constant in _NAMED_32.findall(text))


@functools.lru_cache(maxsize=256)  # a source is built in several variants, and most of its headers are the same
def _places(
    text: str, primitive: re.Pattern[str], thirty_two: frozenset[str], own_size: bool
) -> frozenset[tuple[int, str, str]]:
    """Return positions with the name of the code and advice."""
    coalesced = "has up to 64 threads here, 32 in CUDA"
    found = {(match.start(), "coalesced_threads", coalesced) for match in _COALESCED.finditer(text)}
    found.update(_primitives(text, primitive, thirty_two))
    if not own_size:
        found.update(_lane_storage(text, thirty_two))
        constant = "is 64 here, and HIP 7 and newer do not accept it where a constant is needed; use 32 for a CUDA warp"
        found.update((match.start("at"), "warpSize", constant) for each in _CONSTANTS for match in each.finditer(text))
    return frozenset(found)


def _primitives(text: str, primitive: re.Pattern[str], thirty_two: frozenset[str]) -> Iterator[tuple[int, str, str]]:
    """Yield CUB's primitives without a number of lanes, and arrays of their storage that are sized for 32."""
    for match in primitive.finditer(text):
        name, end = match["name"], _end_of_arguments(text, match.end())
        if _count(text[match.end() : end]) > WIDTH_ARGUMENT[name]:
            continue
        width = (
            "has 64 lanes here, the width of the wavefront; pass 32 as its number of logical threads for a CUDA warp"
        )
        yield match.start("name"), name, width
        types = [re.escape(text[match.start("name") : end + 1])]
        if alias := _ALIAS.search(text[: match.start()].rstrip() + " "):
            behind = _TYPEDEF_NAME.match(text, end + 1)
            types += [each for each in (alias[1], behind[1] if behind else "") if each]
        numbers = "|".join(map(re.escape, sorted(thirty_two)))
        storage = rf"(?:{'|'.join(types)})(?:\s*<[\w\s,:*]*>)?\s*::\s*TempStorage"
        length = rf"[^\];]*(?:/\s*(?:{numbers})\b|>>\s*5\b)[^\];]*"
        for each in re.finditer(rf"{storage}\s+(\w+)\s*\[{length}\]", text):
            yield each.start(1), each[1], f"has an element for every 32 threads, and {name} has 64 lanes here"


def _lane_storage(text: str, thirty_two: frozenset[str]) -> Iterator[tuple[int, str, str]]:
    """Yield arrays of 32 elements that are indexed with the lane of a wavefront."""
    lanes = "|".join({rf"\b{name}\b" for name in _LANE.findall(text)} | {r"%\s*warpSize", r"\b__lane_id\s*\("})
    numbers = "|".join(map(re.escape, sorted(thirty_two)))
    for match in re.finditer(rf"\b__shared__\s[^;=()]*?\b(\w+)\s*\[\s*(?:{numbers})\s*\]\s*;", text):
        if re.search(rf"\b{match[1]}\s*\[\s*[^\][;]*(?:{lanes})[^\][;]*\]", text):
            yield match.start(1), match[1], "has 32 elements and is indexed with the lane, which reaches 63 here"


def _end_of_arguments(text: str, start: int) -> int:
    """Return the position of the ``>`` that ends the template arguments from ``start`` on."""
    depth = 1
    for match in re.finditer(r"[<>;{]", text[start:]):
        depth += {"<": 1, ">": -1}.get(match[0], -depth)
        if not depth:
            return start + match.start()
    return len(text)


def _count(arguments: str) -> int:
    """Return the number of template arguments."""
    while (simpler := re.sub(r"<[^<>]*>|\([^()]*\)", "", arguments)) != arguments:
        arguments = simpler
    return arguments.count(",") + 1
