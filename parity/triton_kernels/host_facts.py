"""Numbers and shapes that are guesses for arguments of host code, and what contradicts them.

If host code contradicts a guess, for example because it unpacks three dims, ``Contradiction`` names the argument and
the correction. A comparison that fails leaves a ``Complaint``. This file imports nothing of parity.
"""

from __future__ import annotations

import ast
import dis
import math
import re
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

LAST = "last dims"
"""Names the last dims of all arguments. Its facts are their extents by what they were before."""


class Contradiction(BaseException):
    """Host code shows that the argument ``key`` has another ``fact``, such as ``rank``. Host code cannot catch this."""

    def __init__(self, key: str, fact: str, value: Any) -> None:
        super().__init__(f"{key}: {fact} {value}")
        self.key, self.fact, self.value = key, fact, value


class Complaint:
    """The last comparison of host code that failed: an argument, a fact, and the other value.

    An assertion that fails afterwards is probably about it.
    """

    last: tuple[str, str, Any] | None = None


def _bound(name: str, step: int) -> Callable[[Any, Any], Any]:
    """Return a comparison of an extent. If it fails, the extent may be ``step`` more than the other number."""

    def compare(self: Any, other: Any) -> Any:
        found = getattr(int, name)(int(self), other)
        if found is False and self.key and other + step > 0:
            Complaint.last = self.key, self.fact, int(other) + step
        return found

    return compare


class _Keyed:
    """A value that the argument ``key`` is or has."""

    key = ""

    def of(self, key: str) -> Self:
        """Set the argument, and return the value."""
        self.key = key
        return self

    def __ne__(self, other: object) -> bool:
        """Call ``__eq__``, which notes what differs; the ``__ne__`` of int and tuple does not."""
        return not self == other


class _Whole(_Keyed, int):
    """A whole number that is a ``fact`` about an argument. It notes what it differs from."""

    fact = ""
    _compared: type[int] | types.UnionType = int

    def __eq__(self, other: object) -> bool:
        if self.key and isinstance(other, self._compared) and int(self) != other:
            Complaint.last = self.key, self.fact, other if isinstance(other, str) else int(other)
        return int(self) == other

    __hash__ = int.__hash__

    def __deepcopy__(self, memo: Any) -> int:
        return int(self)


class Rank(_Whole):
    """The rank of an argument."""

    fact = "rank"


class Extent(_Whole):
    """A dim of an argument."""

    axis = 0
    __le__, __lt__, __ge__, __gt__ = _bound("__le__", 0), _bound("__lt__", -1), _bound("__ge__", 0), _bound("__gt__", 1)

    @property
    def fact(self) -> str:  # type: ignore[override]
        return f"dim{self.axis}"

    def __mod__(self, other: Any) -> Any:
        found = int(self) % int(other)
        if self.key and found:
            Complaint.last = LAST, f"dim{int(self)}", int(self) + int(other) - found
        return found


class Size(_Keyed, tuple[int, ...]):
    """A shape of an argument."""

    def __eq__(self, other: object) -> bool:
        same = tuple.__eq__(self, other)
        if isinstance(other, tuple) and not same:
            Size._complain(self, other)
            Size._complain(other, self)
        return same is True

    __hash__ = tuple.__hash__

    @staticmethod
    def _complain(one: tuple[int, ...], other: tuple[int, ...]) -> None:
        """Note that a shape differs from another one that host code compares it with."""
        if isinstance(one, Size) and one.key:
            pairs = enumerate(zip(one, other, strict=False))
            differing = next((i for i, (a, b) in pairs if int(a) != int(b)), 0)
            same_rank = len(one) == len(other)
            fact = (f"dim{differing}", int(other[differing])) if same_rank else ("rank", len(other))
            Complaint.last = one.key, *fact

    def _extent(self, place: int) -> int:
        found = Extent(tuple.__getitem__(self, place)).of(self.key)
        found.axis = place % max(1, len(self))
        return found

    def numel(self) -> int:
        return math.prod(self)

    def __iter__(self) -> Iterator[int]:
        if self.key and (count := _unpacked(sys._getframe(1))) and count != len(self):
            raise Contradiction(self.key, "rank", count)
        return map(self._extent, range(len(self)))

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return Size(super().__getitem__(place))
        return self._extent(self.checked(int(place)))

    def checked(self, place: int) -> int:
        """Return the place of a dim if it exists."""
        needed = place + 1 if place >= 0 else -place
        if self.key and needed > len(self):
            raise Contradiction(self.key, "rank", needed)
        return place


_SHAPE = re.compile(r"[\[(]((?:[^\[\](),]+,)+[^\[\](),]*|\w+)[\])]")
"""Matches a shape in a comment: ``[num_seqs, heads * groups, head_size]`` or ``(n,)``."""
_NO_SHAPE = re.compile(r"(?i)tensor|torch|optional|default|float|bool|int|e\.g|\w \w+ \w")


def stated_ranks(path: Path, function: ast.FunctionDef) -> dict[str, int]:
    """Return the ranks of the arguments whose shapes a comment behind them, or the docstring, states."""
    lines = path.read_text(errors="replace").splitlines()
    text = ast.get_docstring(function) or ""
    found: dict[str, int] = {}
    for each in (*function.args.args, *function.args.kwonlyargs):
        comment = lines[(each.end_lineno or each.lineno) - 1].partition("#")[2]
        described = re.search(rf"(?m)^\W*{re.escape(each.arg)}\b(.*)", text)
        for shape in _SHAPE.findall(f"{comment} {described[1] if described else ''}"):
            if not _NO_SHAPE.search(shape):
                found.setdefault(each.arg, len([dim for dim in shape.split(",") if dim.strip()]))
    return found


def _unpacked(frame: types.FrameType) -> int:
    """How many values the current instruction of a frame unpacks; 0 if it does something else."""
    code, at = frame.f_code.co_code, frame.f_lasti
    return code[at + 1] if dis.opname[code[at]] == "UNPACK_SEQUENCE" else 0


class Number(_Keyed):
    """A number that is a guess for an argument. If host code uses it as a tensor or an object, it is one."""

    def __getattr__(self, name: str) -> Any:
        if self.key and name in ("get", "items", "keys", "values"):
            raise Contradiction(self.key, "kind", "table")
        if self.key and not name.startswith("_"):
            raise Contradiction(self.key, "attribute", name)
        raise AttributeError(name)

    def __getitem__(self, place: Any) -> Any:
        raise Contradiction(self.key, "kind", "table" if isinstance(place, str) else "tensor")

    def __contains__(self, name: Any) -> bool:
        raise Contradiction(self.key, "kind", "table")

    def __len__(self) -> int:
        raise Contradiction(self.key, "kind", "tensor")


class Real(Number, float):
    """A real number."""


class Guess(Number, _Whole):
    """A whole number, or a text: host code that compares it with one shows that."""

    fact, _compared = "value", int | str


class Table(dict[str, Any]):
    """The argument ``key``, which holds constants of a launch by name, such as ``config["BLOCK_SIZE_M"]``.

    ``entry`` returns the entry of a key, ``KEY.NAME``, with a usual value.
    """

    def __init__(self, key: str, entry: Callable[[str, int], Any]) -> None:
        self._key, self._entry = key, entry

    def __missing__(self, name: str) -> Any:
        usual = {"num_warps": 4, "num_stages": 2}.get(name, 1 if re.match(r"(?i)group|split|num_", name) else 32)
        return self._entry(f"{self._key}.{name}", usual)
