"""The values that the conditions of an op (``where``) allow for a name, and conditions that a case violates."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from functools import partial

from parity.data.extents import NUMBERS, allowed_values, usual_values
from parity.dsl.expression import Scope, Value
from parity.ops.declaration import Declaration


@functools.lru_cache(maxsize=1024)
def default_options(op: Declaration, name: str, kind: str) -> Sequence[Value]:
    """Return the default values of a name that the op's conditions allow (see ``usual_values``)."""
    usual = NUMBERS if name in op.params else usual_values(kind, name in op.parsed_shapes.many)
    return allowed_values(usual, partial(allows, op, name))


def allows(op: Declaration, name: str, value: Value) -> bool:
    """Return whether the conditions that depend on this name alone hold for a value."""
    return all(rule(Scope({name: value})) for rule in op.conditions_on(name))


def violated_condition(op: Declaration, scope: Scope) -> str:
    """Return a message for the first condition that does not hold, or an empty string.

    Conditions with names that do not have a value yet are skipped.
    """
    with op.origin.naming("where"):
        for rule in op.conditions:
            known = not rule.unknown(scope) - scope.failed.keys() and rule.tensors <= scope.tensors.keys()
            if known and not rule(scope):
                shown = rule.shown(scope)
                return f"{rule} must hold" + (f"; here {shown}" if shown else "")
    return ""
