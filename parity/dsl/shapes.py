"""The shapes of an op's tensors, stated once: ``x: rows 2*c; out: rows c``.

A statement says of each tensor its dims, separated by blanks; statements are separated by semicolons. A dim is a name
or an expression without blanks; equal names mean equal extents. ``*name`` stands for any number of dims,
``*name:count`` for so many; such a name is a tuple. No dims at all are those of a scalar. ``name = expression`` names a
value that follows from others. The names of parameters may be used everywhere.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from parity.dsl.expression import Expression, Scope, Value, expression, whole
from parity.errors import UsageError

__all__ = ["Dim", "ShapeMismatch", "Shapes", "parse_shapes", "words"]

Shape = tuple[int, ...]

_STATEMENT = re.compile(r"\s*(?P<name>\w+)\s*(?P<sign>[:=])(?P<rest>.*)", re.DOTALL)
_STARRED = re.compile(r"\*(?P<name>[A-Za-z_]\w*)(?::(?P<count>.+))?")


class ShapeMismatch(UsageError):
    """Tensors or parameters of a case that do not fit what a declaration states."""


@dataclass(frozen=True)
class Dim:
    """One dim, or any number of them: ``many`` if it is starred, of which ``count`` says how many, if it says so."""

    extent: Expression
    many: bool = False
    count: Expression | None = None

    def __str__(self) -> str:
        return "*" * self.many + str(self.extent) + (f":{self.count}" if self.count else "")


@dataclass(frozen=True)
class Shapes:
    """Parsed statements: the dims of ``tensors``, and the ``defined`` values, in their order."""

    text: str
    tensors: Mapping[str, tuple[Dim, ...]] = field(compare=False)
    defined: Mapping[str, Expression] = field(compare=False)

    @property
    def dims(self) -> Iterator[Dim]:
        """All dims of all tensors."""
        return (dim for dims in self.tensors.values() for dim in dims)

    @functools.cached_property
    def free(self) -> tuple[str, ...]:
        """The names that no statement defines: dims, and those in expressions. Which of them are starred: ``many``."""
        inside = [name for dim in self.dims for name in sorted(dim.extent.names | (dim.count or dim.extent).names)]
        inside += [name for each in self.defined.values() for name in sorted(each.names)]
        return tuple(name for name in dict.fromkeys(inside) if name not in self.defined)

    @functools.cached_property
    def many(self) -> frozenset[str]:
        """The names that stand for any number of dims."""
        return frozenset(dim.extent.name for dim in self.dims if dim.many)

    def statement(self, tensor: str) -> str:
        """The statement of a tensor, as text."""
        return f"{tensor}: {' '.join(map(str, self.tensors[tensor]))}"

    def bind(self, extents: Mapping[str, Shape], known: Mapping[str, Value], views: Mapping[str, object]) -> Scope:
        """The values of all names that follow from the shapes of tensors and from the values that are ``known``.

        ``views`` are the tensors as expressions see them.

        Raises:
            ShapeMismatch: the shapes do not fit together, or not to the statements.
        """
        scope = Scope(dict(known), views)
        unread = [name for name in self.tensors if name in extents]
        unsettled: list[tuple[str, int, Expression, int]] = []
        while True:
            before = len(scope.names), len(unread), len(unsettled)
            for tensor in list(unread):
                if self._read(tensor, extents[tensor], scope, unsettled):
                    unread.remove(tensor)
            unsettled = [each for each in unsettled if not self._settle(*each, scope)]
            self.define(scope)
            if before == (len(scope.names), len(unread), len(unsettled)):
                break
        if unread:
            raise UsageError(
                f"{self.statement(unread[0])!r} leaves open which dims belong to which name; give one of them its count"
            )
        for tensor, _, extent, _ in unsettled:
            name = min(extent.unknown(scope))
            if name in scope.failed:
                continue
            raise UsageError(
                f"{self.statement(tensor)!r} does not tell {name}: state a tensor that has {name} for a dim of its own"
            )
        self._agree(scope)
        return scope

    def _agree(self, scope: Scope) -> None:
        """Compare values that were found from extents with what their names are defined as.

        Raises:
            ShapeMismatch: one differs.
        """
        for name, each in self.defined.items():
            if name in scope.names and not each.unknown(scope) and each.tensors <= scope.tensors.keys():
                value = each(scope)
                if value != scope.names[name]:
                    raise ShapeMismatch(f"{name} is {scope.names[name]}, where {name} = {each} makes it {value}")

    def define(self, scope: Scope) -> None:
        """Add the defined values that follow from what the scope has."""
        for name, each in self.defined.items():
            known = not each.unknown(scope) and each.tensors <= scope.tensors.keys()
            if known and name not in scope.names and name not in scope.failed:
                try:
                    scope.names[name] = each(scope)
                except UsageError as error:  # which matters where the value is asked for
                    scope.failed[name] = error

    def _read(self, tensor: str, shape: Shape, scope: Scope, unsettled: list[tuple[str, int, Expression, int]]) -> bool:
        """Lay the dims of a tensor on its shape, if it is clear by now how many each name stands for."""
        dims, declared = self.tensors[tensor], self.statement(tensor)
        lengths = [self._length(dim, scope) for dim in dims]
        if lengths.count(None) > 1:
            return False
        rest = len(shape) - sum(length for length in lengths if length is not None)
        if rest < 0 or (rest and None not in lengths):
            raise ShapeMismatch(f"{tensor} has {len(shape)} dims; declared is {declared!r}")
        axis = 0
        for dim, length in zip(dims, lengths, strict=True):
            count = rest if length is None else length
            if dim.many:
                name, part = dim.extent.name, shape[axis : axis + count]
                if scope.names.setdefault(name, part) != part:
                    raise ShapeMismatch(
                        f"{tensor} has {part} for {name}, which is {scope.names[name]}; declared is {declared!r}"
                    )
            else:
                unsettled.append((tensor, axis, dim.extent, shape[axis]))
            axis += count
        return True

    def _length(self, dim: Dim, scope: Scope) -> int | None:
        """The number of dims that a dim stands for; None if that is not known yet."""
        if not dim.many:
            return 1
        if dim.extent.name in scope.names:
            return len(scope.names[dim.extent.name])
        return None if dim.count is None or dim.count.unknown(scope) else whole(dim.count(scope), dim.count.text)

    def _settle(self, tensor: str, axis: int, extent: Expression, given: int, scope: Scope) -> bool:
        """Compare an extent with what its expression says, or find the name in it that is not known yet."""
        unknown, declared = extent.unknown(scope), self.statement(tensor)
        if len(unknown) > 1:
            return False
        if unknown:
            found = extent.solve(given, scope)
            if found is None:
                return False  # perhaps another dim is that name alone
            name, solution = found
            if solution is None:
                raise ShapeMismatch(
                    f"{tensor} has {given} along dim {axis}, which is no {extent}; declared is {declared!r}"
                )
            scope.names[name] = solution
            return True
        value = extent(scope)
        if value != given:
            because = extent.shown(scope)
            says = f"{because} makes it {value}" if because != f"{extent}={value}" else f"{because}"
            raise ShapeMismatch(f"{tensor} has {given} along dim {axis}, where {says}; declared is {declared!r}")
        return True

    def shape(self, tensor: str, scope: Scope) -> Shape:
        """The shape of a tensor.

        Raises:
            ShapeMismatch: an extent would be negative.
            UsageError: an extent is no whole number, or a name in it has no value.
        """
        found: list[int] = []
        for dim in self.tensors[tensor]:
            value = dim.extent(scope)
            found += value if dim.many else [whole(value, dim.extent.text)]
        if min(found, default=0) < 0:
            raise ShapeMismatch(
                f"{tensor} would have shape {tuple(found)} ({self.statement(tensor)!r}); say what must hold with where="
            )
        return tuple(found)


@functools.lru_cache(maxsize=1024)
def parse_shapes(text: str) -> Shapes:
    """The statements of a text.

    Raises:
        UsageError: what is no statement, with its column.
    """
    tensors: dict[str, tuple[Dim, ...]] = {}
    defined: dict[str, Expression] = {}
    column = 1
    for part in text.split(";"):
        match = _STATEMENT.fullmatch(part)
        if not match or not match["name"].isidentifier():
            example = "write 'x: rows 2*c; out: rows c' or 'name = expression'"
            raise UsageError(f"column {column}: {part.strip()!r} says nothing of a tensor; {example}")
        name = match["name"]
        if name in tensors or name in defined:
            raise UsageError(f"column {column}: {name} is stated twice")
        if match["sign"] == "=":
            defined[name] = expression(match["rest"])
        else:
            tensors[name] = tuple(map(_dim, words(match["rest"])))
        column += len(part) + 1
    return Shapes(text, tensors, defined)


def _dim(word: str) -> Dim:
    if match := _STARRED.fullmatch(word):
        return Dim(expression(match["name"]), True, expression(match["count"]) if match["count"] else None)
    if not word[0].isalnum() and word[0] not in "_(":
        raise UsageError(f"{word!r} is no dim; write an expression without blanks, as 2*c")
    return Dim(expression(word))


def words(text: str) -> list[str]:
    """The words of a text; blanks inside of brackets separate none."""
    found, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter.isspace() and depth <= 0:
            found.append("")
        else:
            found[-1] += letter
    return [word for word in found if word]
