"""Caches drawn cases on disk. Drawing takes longer than running, and always gives the same cases for a seed."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Sequence

from parity.cases.strategies import structure
from parity.data.sampling import sample
from parity.errors import ResourceExhausted
from parity.model.case import Case
from parity.op import Op
from parity.platform.cache import Cache, default_root, digest
from parity.platform.code_digest import Fingerprint, NotHashable


def drawn_cases(op: Op, dtypes: Sequence[str], launches: str, seed: int, count: int) -> list[str]:
    """Return the texts of ``count`` drawn cases of different structures, from the cache if possible.

    The key of a cache entry covers the declaration, as it is in memory, and all code that draws. Declarations that
    cannot be hashed (``NotHashable``) are drawn every time.
    """
    cache = Cache(default_root() / "cases")
    key = _key(op, dtypes, launches, seed, count)
    if key and (kept := cache.noted(key)) is not None:
        return kept.splitlines()
    texts = list(map(str, sample(op.cases(dtypes, launches=launches), seed, count, structure)))
    if key == _key(op, dtypes, launches, seed, count):
        with contextlib.suppress(ResourceExhausted):  # without an entry, the next run draws again
            cache.note(key, "".join(f"{text}\n" for text in texts))
    return texts


def _key(op: Op, dtypes: Sequence[str], launches: str, seed: int, count: int) -> str:
    """The key of an entry; empty if the declaration or the code cannot be hashed."""
    if (code := drawing_code()) is None:
        return ""
    fingerprint = Fingerprint(code)
    declared = {field.name: getattr(op, field.name) for field in dataclasses.fields(op)}
    del declared["declared"]
    try:
        # Drawing only depends on whether a reference exists.
        fingerprint.add([type(op), {**declared, "reference": op.reference is None}])
    except NotHashable:
        return ""
    return digest(fingerprint.digest, *dtypes, launches, str(seed), str(count))


@functools.cache
def drawing_code() -> Fingerprint | None:
    """Return the digest of the code that draws; None if it cannot be hashed, for example if a tool modified it."""
    fingerprint = Fingerprint()
    try:
        fingerprint.add([Op, sample, structure, Case])
    except NotHashable:
        return None
    return Fingerprint(fingerprint)  # computes the digest once
