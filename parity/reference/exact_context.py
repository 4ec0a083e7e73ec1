"""Contexts for arithmetic with many bits, whose settings a code digest can include (``copyreg``)."""

from __future__ import annotations

import copyreg
from typing import Any

import gmpy2

_SETTINGS = ("precision", "round", "emax", "emin", "subnormalize")


def exact_context(bits: int) -> Any:
    """Return a context of MPFR with this precision."""
    return gmpy2.context(precision=bits)


def _reduced(context: Any) -> tuple[Any, ...]:
    """Return what restores a context. The flags of earlier operations are not part of it."""
    return gmpy2.context, (), {name: getattr(context, name) for name in _SETTINGS}


copyreg.pickle(type(gmpy2.context()), _reduced)
