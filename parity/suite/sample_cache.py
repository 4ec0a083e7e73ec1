"""Caches drawn cases on disk. Drawing takes longer than running, and always gives the same cases for a seed."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Iterable, Sequence

import msgspec

from parity.cases.strategies import structure
from parity.data.sampling import sample
from parity.errors import ResourceExhausted
from parity.model.case import Case
from parity.op import Op
from parity.platform.cache import Cache, default_root, digest
from parity.platform.code_digest import Fingerprint, NotHashable
from parity.suite.options import EXAMPLES

CaseText = tuple[str, str, bool]
"""A case of a kernel: its title (or an empty string), its text, and whether only a sample of its blocks runs."""

_LARGE, _MOST, _LEAST = 1 << 22, 1 << 26, 4
"""Elements of a large case, and of all cases of an op without smaller ones; and the cases that it has at least."""


def kernel_cases(op: Op, dtypes: Sequence[str], launches: str, seed: int, count: int) -> list[CaseText]:
    """Return the named, drawn and edge cases of a kernel entry, from the cache if possible.

    The key of a cache entry covers the declaration with its reference, which edge cases depend on, and all code that
    makes cases. ``count`` cases are drawn. With the default number or more, edge cases are added. Up to the default
    number, an op whose cases are all large (``all_large``) has few of them.

    Raises:
        UsageError: The declaration gives no case.
    """
    cache = Cache(default_root() / "cases")
    key = _key(op, dtypes, launches, seed, count, reference_code(op))
    if key and (kept := cache.noted(key)) is not None:
        return _affordable(op, msgspec.json.decode(kept, type=list[CaseText]), count)
    drawn = drawn_cases(op, dtypes, launches, seed, count)
    found = _named_drawn_and_edges(op, dtypes, launches, drawn, with_edges=count >= EXAMPLES)
    reference_code.cache_clear()
    if key == _key(op, dtypes, launches, seed, count, reference_code(op)):
        _note(cache, key, msgspec.json.encode(found).decode())
    return _affordable(op, found, count)


def all_large(op: Op, cases: Iterable[str]) -> bool:
    """Return whether all cases of an op have so many elements that it has few of them. Named ones are wanted."""
    return not op.named and all(text and _elements(op, text) > _LARGE for text in cases)


def _affordable(op: Op, found: list[CaseText], count: int) -> list[CaseText]:
    """Return cases with about ``_MOST`` elements in sum, if all are large: sizes may be constants of the kernel."""
    texts = [text for _, text, _ in found]
    if count > EXAMPLES or not all_large(op, texts):
        return found
    most = max(_LEAST, _MOST // min(_elements(op, text) for text in texts))
    return found[:: -(-len(found) // most)]


def _elements(op: Op, case: str) -> int:
    return sum(layout.numel for layout in op.parse(case).layouts.values())


def _named_drawn_and_edges(
    op: Op, dtypes: Sequence[str], launches: str, texts: Sequence[str], *, with_edges: bool
) -> list[CaseText]:
    if not texts:
        fulfils = f"fulfils where={op.where!r} and " if op.where else ""
        raise op.origin.error(f"no drawn case {fulfils}has a launch; set choices= so that some do")
    named = [(title, str(case), False) for title, case in op.named_cases(dtypes, launches=launches)]
    edges = op.edge_cases(list(map(op.parse, texts)), launches=launches) if with_edges else []
    drawn = [("", text, False) for text in texts]
    return named + drawn + [(title, str(case), op.is_sparse(case)) for title, case in edges]


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
        _note(cache, key, "".join(f"{text}\n" for text in texts))
    return texts


def _note(cache: Cache, key: str, text: str) -> None:
    if key:
        with contextlib.suppress(ResourceExhausted):  # without an entry, the next run draws again
            cache.note(key, text)


def _key(op: Op, dtypes: Sequence[str], launches: str, seed: int, count: int, *more: str) -> str:
    """The key of an entry; empty if the declaration, the code or ``more`` cannot be hashed."""
    if (code := drawing_code()) is None or "" in more:
        return ""
    fingerprint = Fingerprint(code)
    declared = {field.name: getattr(op, field.name) for field in dataclasses.fields(op)}
    del declared["declared"]
    try:
        # Drawing only depends on whether a reference exists.
        fingerprint.add([type(op), {**declared, "reference": op.reference is None}])
    except NotHashable:
        return ""
    return digest(fingerprint.digest, *dtypes, launches, str(seed), str(count), *more)


@functools.cache
def reference_code(op: Op) -> str:
    """Return the digest of an op's reference, which all dtypes share; empty if it cannot be hashed."""
    fingerprint = Fingerprint(drawing_code())
    try:
        fingerprint.add([op.reference])
    except NotHashable:
        return ""
    return fingerprint.digest


@functools.cache
def drawing_code() -> Fingerprint | None:
    """Return the digest of the code that draws; None if it cannot be hashed, for example if a tool modified it."""
    fingerprint = Fingerprint()
    try:
        fingerprint.add([Op, sample, structure, Case, _named_drawn_and_edges])
    except NotHashable:
        return None
    return Fingerprint(fingerprint)  # computes the digest once
