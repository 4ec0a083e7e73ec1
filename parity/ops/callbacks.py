"""Calls of users' functions with the arguments that they name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["wanted"]


def wanted(function: Callable[..., Any], **offered: Any) -> dict[str, Any]:
    """Those of the offered arguments that the function names."""
    try:
        names = inspect.signature(function).parameters
    except ValueError:  # a function of C that does not say
        return {}
    return {name: value for name, value in offered.items() if name in names}
