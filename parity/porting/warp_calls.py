"""Writes out calls of CUDA's warp functions for 32 lanes, where a wavefront may have 64 (style ``helpful``)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from parity.compilers.lexing import Span

SHUFFLES = frozenset(["__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync"])

_HALF = ">> (__lane_id() & 32)"
"""Shifts the bits of the caller's 32 lanes to the lower half."""
_VOTES = {
    "__ballot_sync": ("((unsigned)(__ballot(", f") {_HALF}))"),
    "__any_sync": ("((unsigned)(__ballot(", f") {_HALF}) != 0)"),
    "__all_sync": ("((unsigned)(__ballot(!(", f")) {_HALF}) == 0)"),
}
"""The text before and after the predicate of a vote."""
_ACTIVE_MASK, _ACTIVE = "__activemask", f"((unsigned)(__ballot(1) {_HALF}))"

WARP_FUNCTIONS = (*SHUFFLES, *_VOTES, _ACTIVE_MASK)
"""The functions that the two styles translate differently."""

_ALL_LANES = re.compile(
    r"(?:\(\s*unsigned(?:\s+int)?\s*\)\s*)?(?:0[xX][fF]{8}|~\s*0[xX]?0*|-\s*1)[uUlL]*|UINT_MAX|UINT32_MAX"
)


@dataclass(frozen=True)
class SpelledOut:
    """The changes of a call: ``renamed`` replaces the name or more, if present; ``edits`` are other places."""

    renamed: tuple[Span, str] | None
    edits: tuple[tuple[int, int, str], ...] = ()


def for_32_lanes(
    text: str, name: str, span: Span, given: tuple[Span, ...], value: Callable[[str], str | None]
) -> SpelledOut | None:
    """Restrict a call to 32 lanes; return None if that is not possible.

    ``span`` is the place of the name, ``given`` are its arguments, and ``value`` evaluates a macro.
    """
    if name == _ACTIVE_MASK and len(given) == 1:
        return SpelledOut((Span(span.start, given[0].end + 1), _ACTIVE))
    all_lanes = bool(given) and _is_all_lanes(given[0].of(text), value)
    if name in _VOTES and len(given) == 2 and all_lanes:
        before, after = _VOTES[name]
        predicate = given[1]
        return SpelledOut(
            (Span(span.start, predicate.start + _blanks(text, predicate)), before),
            ((predicate.end, predicate.end, after.removesuffix(")")),),
        )
    if name not in SHUFFLES or len(given) not in (3, 4):
        return None
    edits: list[tuple[int, int, str]] = []
    if all_lanes:
        blanks = re.compile(r"[ \t]*").match(text, given[1].start)
        edits.append((given[0].start + _blanks(text, given[0]), blanks.end() if blanks else given[1].start, ""))
    if len(given) == 3:
        edits.append((given[2].end, given[2].end, ", 32"))
    if all_lanes:
        return SpelledOut((span, name.removesuffix("_sync")), tuple(edits))
    return SpelledOut((span, name) if len(given) == 3 else None, tuple(edits))


def _is_all_lanes(mask: str, value: Callable[[str], str | None]) -> bool:
    known = value(mask)
    while known and known.startswith("(") and known.endswith(")"):
        known = known[1:-1].strip()
    return bool(_ALL_LANES.fullmatch(known or mask))


def _blanks(text: str, span: Span) -> int:
    given = text[span.start : span.end]
    return len(given) - len(given.lstrip())
