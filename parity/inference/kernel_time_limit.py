"""The time that ``parity init`` has for each kernel. Compiling, inference and trials share it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

Template = tuple[str, str]
"""A module, and a kernel without arguments of its template. All instances of a template share its time."""

COMPILING = 0.75
"""The largest share of the limit for compiling, so that some time is left for launches."""


@dataclass
class TimeLimit:
    """The time for each kernel template, in seconds, and how much of it is used.

    ``clock`` measures inference: processor time, because parity infers in one thread. ``compiled`` is the time that
    compilers took, by module, for each of its kernels.
    """

    seconds: float = math.inf
    clock: Callable[[], float] = time.process_time
    compiled: dict[str, float] = field(default_factory=dict)
    _used: dict[Template, float] = field(default_factory=dict)
    _current: Template = ("", "")
    _since: float = 0.0

    @property
    def spent(self) -> str:
        """The message for a kernel whose time is over."""
        return f"its time limit of {self.seconds:g} s (--limit) ended"

    def left(self, template: Template) -> float:
        """Return the seconds that are left for a template."""
        compiling = min(self.compiled.get(template[0], 0.0), COMPILING * self.seconds)
        return max(0.0, self.seconds - compiling - self._used.get(template, 0.0))

    def charge(self, template: Template, seconds: float) -> None:
        """Count seconds that inference or a trial of a template used."""
        self._used[template] = self._used.get(template, 0.0) + seconds

    def compile(self, module: str, seconds: float) -> None:
        """Count seconds that compilers used for each kernel of a module."""
        self.compiled[module] = self.compiled.get(module, 0.0) + seconds

    @contextmanager
    def step(self, template: Template) -> Iterator[None]:
        """Count the time of the body. A step inside another one counts once."""
        outer = self._current
        self._switch(template)
        try:
            yield
        finally:
            self._switch(outer)

    def deadline(self) -> float:
        """Return when a part of the current step has to end: after half of the time that is left."""
        self._switch(self._current)
        return self._since + self.left(self._current) / 2

    def _switch(self, template: Template) -> None:
        now = self.clock()
        if self._current[0]:
            self.charge(self._current, now - self._since)
        self._current, self._since = template, now
