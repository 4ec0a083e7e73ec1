"""Parses arguments of kernels and fields of structures: ``x``, ``numel:i32``, ``n:i32=r*c``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real

from parity.dsl.expression import Expression, Scope, Value, expression, whole
from parity.errors import UsageError, parse_natural
from parity.model.dtypes import DType, dtype
from parity.model.launch import Scalar

DEFAULT_KIND = "u64"
"""The type of a value without a stated type."""

_WORD = re.compile(r"(?P<name>[A-Za-z_]\w*)(?::(?P<kind>\w+)(?:\[(?P<count>\d+)\])?)?(?:=(?P<value>.+))?", re.DOTALL)


@dataclass(frozen=True)
class ArgumentSpec:
    """The declaration of an argument or field.

    Attributes:
        name: a tensor, parameter, structure, or the name of a value.
        kind: type of a value (dtype or type variable), if stated.
        value: expression of a value. Without one, the name is the expression.
        count: length of an array field. Missing elements are 0.
    """

    name: str
    kind: str = ""
    value: Expression | None = None
    count: int | None = None

    @property
    def expression(self) -> Expression:
        """The expression of the value."""
        return self.value or expression(self.name)

    def scalars(self, scope: Scope, types: Mapping[str, DType]) -> Scalar | tuple[Scalar, ...]:
        """Evaluate the value, or the values of an array.

        Raises:
            UsageError: the type does not hold a value, or the array is too short.
        """
        kind = types.get(self.kind) or dtype(self.kind or DEFAULT_KIND)
        value = self.expression(scope)
        if self.count is None:
            return self._scalar(value, kind)
        values = value if isinstance(value, tuple) else (value,)
        if len(values) > self.count:
            raise UsageError(f"{self.name} has {len(values)} values; its array holds {self.count}")
        return tuple(self._scalar(each, kind) for each in (*values, *(0,) * (self.count - len(values))))

    def _scalar(self, value: Value, kind: DType) -> Scalar:
        if not kind.is_float:
            value = whole(int(value) if isinstance(value, bool) else value, self.expression.text)
        return Scalar(kind, in_range(value, kind, self.name))


def parse_argument(text: str) -> ArgumentSpec:
    """Parse an argument.

    Raises:
        UsageError: the text is malformed.
    """
    match = _WORD.fullmatch(text)
    if not match:
        raise UsageError(f"{text!r} is not an argument; write name, name:i32 or name:i32=expression, without blanks")
    count = parse_natural(match["count"], f"the length of {match['name']}") if match["count"] else None
    return ArgumentSpec(
        match["name"], match["kind"] or "", expression(match["value"]) if match["value"] else None, count
    )


def in_range(value: Value, kind: DType, name: str) -> Value:
    """Return the value, after checking that its type holds it. ``name`` names it in errors.

    Raises:
        UsageError: the value is not a number, or an integer type does not hold it.
    """
    is_number = isinstance(value, Real)
    if not is_number:
        raise UsageError(f"{name} is {value!r}, which is not a number")
    if not kind.is_float and not kind.min <= value <= kind.max:
        raise UsageError(f"{name}={value} is outside of {kind}: {kind.min} to {kind.max}")
    if not kind.is_float and int(value) != value:
        raise UsageError(f"{name}={value} is not a whole number, as {kind} needs")
    return value
