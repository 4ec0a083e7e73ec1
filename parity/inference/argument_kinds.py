"""Finds the type of each argument of kernels that differ only in dtypes: a dtype, or a type variable."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from parity.inference.signature import SUFFIXES, Parameter, Signature, type_variables
from parity.model.dtypes import NUMBERS

_REAL_NAME = re.compile(r".*(alpha|beta|eps|epsilon|scale|mul|add|lr|factor|slope|value|min|max).*", re.IGNORECASE)


def argument_kinds(alike: Sequence[Signature], written: set[str]) -> dict[str, str]:
    """Return the type of each argument: a type variable if it changes with one between kernels, else a dtype."""
    types = [[SUFFIXES.get(name, name) for name in each.types] for each in alike]
    variables = type_variables(len(types[0]))
    found = {}
    for i, one in enumerate(alike[0].args):
        dtypes = [each.args[i].dtype for each in alike]
        # A number of the same size in all kernels may only be a type variable if its type is known.
        varies = one.is_pointer or len({each.args[i].size for each in alike}) > 1
        fitting = [
            variable
            for k, variable in enumerate(variables)
            if all(_may_be(each.args[i], of[k], varies) for each, of in zip(alike, types, strict=True))
        ]
        usual = _number_kind(one, dict(zip(types[0], variables, strict=True)))
        if one.is_pointer:
            usual = variables[-1 if one.name in written else 0] if variables else "f32"
        found[one.name] = fitting[-1 if one.name in written else 0] if fitting else dtypes[0] or usual
    return found


def _may_be(parameter: Parameter, dtype: str, varies: bool) -> bool:
    """Return True if a parameter may have a dtype. Unless it ``varies``, it must be known to have it."""
    if parameter.is_typed or not varies or dtype not in NUMBERS:
        return parameter.dtype == dtype
    known = NUMBERS.get(parameter.dtype)
    size = known.itemsize if known and parameter.is_pointer else 0 if parameter.is_pointer else parameter.size
    return size in (0, NUMBERS[dtype].itemsize)


def _number_kind(number: Parameter, variables: Mapping[str, str]) -> str:
    """Return the likely type of a number from its name and size."""
    is_real = _REAL_NAME.fullmatch(number.name) is not None
    if is_real and variables:
        kind, variable = next(iter(variables.items()))
        if kind in NUMBERS and NUMBERS[kind].itemsize == number.size:
            return variable
    sizes = {1: "u8", 2: "f16" if is_real else "i16", 4: "f32" if is_real else "i32", 8: "f64" if is_real else "u64"}
    return sizes.get(number.size, f"a struct of {number.size} bytes: say its fields in structs=")
