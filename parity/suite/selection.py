"""Selects kernel entries and cases of a suite by op, module, pattern, kernel entry or printed case."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from parity.errors import UsageError, nearest
from parity.model.case import Case
from parity.op import Entry


class EntryName(Protocol):
    """An object that names a kernel entry: a case, a task, a row of the matrix."""

    @property
    def op(self) -> str:
        """The name of the op."""

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The names of its dtypes."""


@dataclass(frozen=True)
class Selection:
    """What a run executes: kernel entries to draw cases for, and cases given by their text."""

    entries: tuple[Entry, ...]
    cases: tuple[Case, ...] = ()


def select(
    entries: Sequence[Entry], selectors: Sequence[str], dtypes: Sequence[str], parse: Callable[[str], Case]
) -> Selection:
    """Return the entries and cases that the selectors name, or all entries if there are no selectors.

    ``dtypes`` keeps the entries with one of these dtypes.

    Raises:
        UsageError: a selector does not name anything, or nothing is left.
    """
    chosen: dict[Entry, None] = {}
    cases = []
    for selector in selectors or ("*",):
        if "(" in selector:
            cases.append(parse(selector))
            continue
        found = [entry for entry in entries if any(_matches(name, selector) for name in _names(entry))]
        if not found:
            known = [name for entry in entries for name in _names(entry)[:3]]
            near = nearest(selector, known) or "; parity list shows all"
            raise UsageError(f"{selector!r} names no op, module or kernel entry{near}")
        chosen.update(dict.fromkeys(found))
    left = [entry for entry in chosen if not dtypes or set(dtypes) & set(entry.dtypes)]
    if not left and not cases:
        raise UsageError(f"{' '.join(selectors) or 'the suite'} has no kernel for dtype {' or '.join(dtypes)}")
    return Selection(tuple(left), tuple(cases))


def _names(entry: Entry) -> tuple[str, ...]:
    return entry.op.name, entry.op.module, entry.kernel, entry.name


def _matches(name: str, selector: str) -> bool:
    return name == selector or fnmatch.fnmatchcase(name, selector)
