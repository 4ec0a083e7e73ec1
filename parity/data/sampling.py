"""Drawing cases with Hypothesis so that a seed gives the same cases on every machine, and shrinking a failing one."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from hypothesis import Phase
    from hypothesis.strategies import SearchStrategy

__all__ = ["find_minimal", "hermetic", "sample"]

T = TypeVar("T")


@contextlib.contextmanager
def hermetic() -> Iterator[None]:
    """Hypothesis without the constants that it collects from the modules that happen to be loaded.

    It mixes such constants into what it draws (since 6.131), so the cases of a seed would depend on whether parity runs
    from a checkout or from site-packages, and on what else is imported. No setting of Hypothesis turns that off, and a
    backend of one's own would lose its distributions. So a private function is replaced, in the versions of Hypothesis
    that pyproject.toml allows.
    """
    from hypothesis.internal.conjecture import providers

    nothing, usual = type(providers.GLOBAL_CONSTANTS)(), providers._get_local_constants
    providers.CONSTANTS_CACHE.cache.clear()
    providers._get_local_constants = lambda: nothing
    try:
        yield
    finally:
        providers._get_local_constants = usual
        providers.CONSTANTS_CACHE.cache.clear()


def sample(strategy: SearchStrategy[T], seed: int, count: int) -> list[T]:
    """``count`` different draws (fewer if the strategy hardly has as many, or rejects most), the same for a seed."""
    from hypothesis import Phase
    from hypothesis.errors import Unsatisfiable

    drawn: dict[T, None] = {}

    def collect(value: T) -> None:
        drawn.setdefault(value)
        if len(drawn) >= count:
            raise _Stop

    with contextlib.suppress(_Stop, Unsatisfiable):
        _drive(strategy, seed, 3 * count, (Phase.generate,), collect)  # it draws some values more than once
    return list(drawn)[:count]


def find_minimal(
    strategy: SearchStrategy[T],
    seed: int,
    count: int,
    fails: Callable[[T], bool],
    late: Callable[[], bool] = lambda: False,
) -> T | None:
    """The simplest draw that ``fails``, found by Hypothesis's shrinker; None if none of the ``count`` draws does.

    As soon as it is ``late``, the simplest so far is taken. Each draw is tried once: a race may fail and then pass,
    which Hypothesis would refuse to go on with.
    """
    from hypothesis import Phase
    from hypothesis.errors import Unsatisfiable

    simplest: list[T] = []
    failed: dict[T, bool] = {}

    def attempt(value: T) -> None:
        if late():
            raise _Ended
        if value not in failed:
            failed[value] = fails(value)
        if failed[value]:
            simplest[:] = [value]
            raise _Stop

    with contextlib.suppress(_Stop, _Ended, Unsatisfiable):
        _drive(strategy, seed, count, (Phase.generate, Phase.shrink), attempt)
    return simplest[0] if simplest else None


class _Stop(Exception):
    """Raised to tell Hypothesis that this draw fails, as the search asks for."""


class _Ended(BaseException):
    """Ends Hypothesis at once: any Exception would be one more failure to it."""


def _drive(
    strategy: SearchStrategy[Any], seed: int, count: int, phases: tuple[Phase, ...], body: Callable[[Any], None]
) -> None:
    import hypothesis

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count,
        phases=phases,
        database=None,
        deadline=None,
        derandomize=False,
        report_multiple_bugs=False,
        print_blob=False,
        suppress_health_check=list(hypothesis.HealthCheck),
        verbosity=hypothesis.Verbosity.quiet,
    )
    @hypothesis.given(strategy)
    def drive(value: Any) -> None:
        body(value)

    with hermetic():
        drive()
