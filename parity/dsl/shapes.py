"""Parses the shapes of an op's tensors, such as ``x: rows 2*c; out: rows c``, and binds names to extents.

Semicolons separate statements. ``tensor: dims`` lists the dims of a tensor, separated by blanks; a scalar has no dims.
A dim is a name or an expression without blanks; equal names mean equal extents. ``*name`` stands for any number of dims
and ``*name:count`` for ``count`` dims; the value of such a name is a tuple. ``name = expression`` defines a value.
Names of parameters may occur everywhere.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from parity.dsl.expression import Expression, Scope, Value, expression, whole
from parity.errors import UsageError

Shape = tuple[int, ...]
_Extent = tuple[str, int, Expression, int]
"""A dim: its tensor, axis, declared extent, and extent in the case."""

_STATEMENT = re.compile(r"\s*(?P<name>\w+)\s*(?P<sign>[:=])(?P<rest>.*)", re.DOTALL)
_STARRED = re.compile(r"\*(?P<name>[A-Za-z_]\w*)(?::(?P<count>.+))?")


class ShapeMismatch(UsageError):
    """Tensors or parameters of a case do not fit the declaration."""


@dataclass(frozen=True)
class Dim:
    """A dim; or, if ``many``, a starred name for several dims, whose number is ``count`` if the text states it."""

    extent: Expression
    many: bool = False
    count: Expression | None = None

    def __str__(self) -> str:
        return "*" * self.many + str(self.extent) + (f":{self.count}" if self.count else "")


@dataclass(frozen=True)
class Shapes:
    """Parsed statements: the dims of each tensor and the defined values, in the order of the text."""

    text: str
    tensors: Mapping[str, tuple[Dim, ...]] = field(compare=False)
    defined: Mapping[str, Expression] = field(compare=False)

    @property
    def dims(self) -> Iterator[Dim]:
        """All dims of all tensors."""
        return (dim for dims in self.tensors.values() for dim in dims)

    @functools.cached_property
    def free(self) -> tuple[str, ...]:
        """The names that no statement defines, including names in expressions and starred names."""
        inside = [name for dim in self.dims for name in sorted(dim.extent.names | (dim.count or dim.extent).names)]
        inside += [name for each in self.defined.values() for name in sorted(each.names)]
        return tuple(name for name in dict.fromkeys(inside) if name not in self.defined)

    @functools.cached_property
    def many(self) -> frozenset[str]:
        """The starred names."""
        return frozenset(dim.extent.name for dim in self.dims if dim.many)

    def statement(self, tensor: str) -> str:
        """Return the statement of a tensor as text."""
        return f"{tensor}: {' '.join(map(str, self.tensors[tensor]))}"

    def bind(self, extents: Mapping[str, Shape], known: Mapping[str, Value], tensors: Mapping[str, object]) -> Scope:
        """Compute the values of all names that follow from the shapes of tensors and from known values.

        ``extents`` are the shapes, ``tensors`` the tensors as expressions see them.

        Raises:
            ShapeMismatch: the shapes do not fit together or do not fit the statements.
            UsageError: the statements are ambiguous.
        """
        scope = Scope(dict(known), tensors)
        unread = [name for name in self.tensors if name in extents]
        unsolved: list[_Extent] = []
        while True:
            before = len(scope.names), len(unread), len(unsolved)
            for tensor in list(unread):
                if self._match_dims(tensor, extents[tensor], scope, unsolved):
                    unread.remove(tensor)
            unsolved = [each for each in unsolved if not self._solve_extent(*each, scope)]
            self.define(scope)
            if before == (len(scope.names), len(unread), len(unsolved)):
                break
        if unread:
            raise UsageError(
                f"{self.statement(unread[0])!r} is ambiguous: state the number of dims of a name, as in *name:2"
            )
        for tensor, _, extent, _ in unsolved:
            name = min(extent.unknown(scope))
            if name in scope.failed:
                continue
            raise UsageError(
                f"{self.statement(tensor)!r} does not determine {name}: state a tensor that has {name} as a dim"
            )
        self._check_definitions(scope)
        return scope

    def _check_definitions(self, scope: Scope) -> None:
        """Check that values found from extents agree with the definitions of their names."""
        for name, each in self.defined.items():
            if name in scope.names and not each.unknown(scope) and each.tensors <= scope.tensors.keys():
                value = each(scope)
                if value != scope.names[name]:
                    raise ShapeMismatch(f"{name} is {scope.names[name]}, where {name} = {each} makes it {value}")

    def define(self, scope: Scope) -> None:
        """Add the defined values whose expressions can be evaluated to the scope."""
        for name, each in self.defined.items():
            known = not each.unknown(scope) and each.tensors <= scope.tensors.keys()
            if known and name not in scope.names and name not in scope.failed:
                try:
                    scope.names[name] = each(scope)
                except UsageError as error:  # raised when the value is used
                    scope.failed[name] = error

    def _match_dims(
        self, tensor: str, shape: Shape, scope: Scope, unsolved: list[tuple[str, int, Expression, int]]
    ) -> bool:
        """Match the dims of a tensor to its shape. Return False if the number of dims of two names is still unknown."""
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
                unsolved.append((tensor, axis, dim.extent, shape[axis]))
            axis += count
        return True

    def _length(self, dim: Dim, scope: Scope) -> int | None:
        """The number of dims that a dim stands for, or None if it is not known yet."""
        if not dim.many:
            return 1
        if dim.extent.name in scope.names:
            return len(scope.names[dim.extent.name])
        return None if dim.count is None or dim.count.unknown(scope) else whole(dim.count(scope), dim.count.text)

    def _solve_extent(self, tensor: str, axis: int, extent: Expression, given: int, scope: Scope) -> bool:
        """Compare an extent with the value of its expression, or solve the expression for its unknown name.

        Returns False if the expression cannot be evaluated or solved yet.
        """
        unknown, declared = extent.unknown(scope), self.statement(tensor)
        if len(unknown) > 1:
            return False
        if unknown:
            found = extent.solve(given, scope)
            if found is None:
                return False  # another dim may consist of that name alone
            name, solution = found
            if solution is None:
                raise ShapeMismatch(
                    f"{tensor} has {given} along dim {axis}, which is not {extent}; declared is {declared!r}"
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
        """Compute the shape of a tensor.

        Raises:
            ShapeMismatch: an extent would be negative.
            UsageError: an extent is not a whole number, or a name has no value.
        """
        found: list[int] = []
        for dim in self.tensors[tensor]:
            value = dim.extent(scope)
            found += value if dim.many else [whole(value, dim.extent.text)]
        if min(found, default=0) < 0:
            raise ShapeMismatch(
                f"{tensor} would have shape {tuple(found)} ({self.statement(tensor)!r}); exclude it with where="
            )
        return tuple(found)


@functools.lru_cache(maxsize=1024)
def parse_shapes(text: str) -> Shapes:
    """Parse statements.

    Raises:
        UsageError: a statement is malformed; the message has its column.
    """
    tensors: dict[str, tuple[Dim, ...]] = {}
    defined: dict[str, Expression] = {}
    column = 1
    for part in text.split(";"):
        match = _STATEMENT.fullmatch(part)
        if not match or not match["name"].isidentifier():
            example = "write 'x: rows 2*c; out: rows c' or 'name = expression'"
            raise UsageError(f"column {column}: {part.strip()!r} is not a statement; {example}")
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
        raise UsageError(f"{word!r} is not a dim; write an expression without blanks, such as 2*c")
    return Dim(expression(word))


def words(text: str) -> list[str]:
    """Split a text at blanks, except inside brackets."""
    found, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter.isspace() and depth <= 0:
            found.append("")
        else:
            found[-1] += letter
    return [word for word in found if word]
