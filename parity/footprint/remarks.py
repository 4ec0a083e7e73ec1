"""Finds remarkable differences between the footprints of a kernel on several targets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from parity.footprint.measure import Footprint

APART = 2
"""Minimum ratio of two occupancies or register counts that is worth a remark."""

MANY = 64
"""Minimum register count for a remark. Fewer registers hardly limit the occupancy."""


@dataclass(frozen=True)
class Remark:
    """An observation about ``kernels``: ``what`` in a few words, and ``where``, with targets and numbers."""

    what: str
    where: str
    kernels: tuple[str, ...]


Sides = Sequence[Footprint]


def remarks(found: Iterable[Footprint]) -> list[Remark]:
    """Return the remarks, each with all kernels that it applies to."""
    kernels: dict[tuple[str, str], list[Footprint]] = {}
    for one in found:
        kernels.setdefault((one.module, one.kernel), []).append(one)
    targets = list(dict.fromkeys(side.target for sides in kernels.values() for side in sides))
    grouped: dict[tuple[str, str], list[str]] = {}
    for what, check in _CHECKS.items():
        for (_, name), sides in kernels.items():
            if where := check(sides):
                grouped.setdefault((what, where), []).append(name)
    for (_, name), sides in kernels.items():
        if missing := [name for name in targets if name not in {side.target for side in sides}]:
            grouped.setdefault(("missing", " ".join(missing)), []).append(name)
    return [Remark(what, where, tuple(names)) for (what, where), names in grouped.items()]


def _vacuous(sides: Sides) -> str:
    return " ".join(side.target for side in sides if side.stores is False)


def _too_large(sides: Sides) -> str:
    return ", ".join(f"{side.target} with {side.threads} threads" for side in sides if side.occupancy == 0)


def _some(number: str, sides: Sides) -> str:
    """List the targets where ``number`` is positive and the targets where it is 0; empty unless both exist."""
    some = [side.target for side in sides if getattr(side, number)]
    none = [side.target for side in sides if not getattr(side, number)]
    return f"{' '.join(some)}, not {' '.join(none)}" if some and none else ""


def _occupancies(sides: Sides) -> str:
    known = {side.target: side.occupancy for side in sides if side.occupancy}
    if not known or max(known.values()) < APART * min(known.values()):
        return ""
    return ", ".join(f"{name} {100 * share:.0f} %" for name, share in known.items())


def _registers(sides: Sides) -> str:
    most, least = max(sides, key=lambda side: side.vgprs), min(sides, key=lambda side: side.vgprs)
    if most.vgprs < MANY or most.vgprs < APART * least.vgprs:
        return ""
    return f"most on {most.target}, fewest on {least.target}"


_CHECKS: Mapping[str, Callable[[Sides], str]] = {
    "vacuous: no instruction writes global memory": _vacuous,
    "cannot be launched": _too_large,
    "spills on some targets only": partial(_some, "spills"),
    "scratch memory on some targets only": partial(_some, "scratch_bytes"),
    "occupancy far apart": _occupancies,
    "registers far apart": _registers,
}
