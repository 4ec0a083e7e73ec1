"""Draws cases with Hypothesis, so that a seed gives the same cases on every machine, and shrinks failing cases."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from hypothesis import Phase
    from hypothesis.strategies import SearchStrategy

T = TypeVar("T")


@contextlib.contextmanager
def hermetic() -> Iterator[None]:
    """Keep Hypothesis from using constants that it collects from loaded modules.

    Hypothesis (since 6.131) mixes such constants into its draws. The cases of a seed would then depend on the
    installation and on other imported modules. Hypothesis has no setting for this, and a custom backend would lose its
    distributions. This function therefore replaces a private function of the versions that pyproject.toml allows.
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
    """Return ``count`` different draws for a seed; fewer if the strategy has fewer values or rejects most of them."""
    from hypothesis import Phase
    from hypothesis.errors import Unsatisfiable

    drawn: dict[T, None] = {}

    def collect(value: T) -> None:
        drawn.setdefault(value)
        if len(drawn) >= count:
            raise _Stop

    with contextlib.suppress(_Stop, Unsatisfiable):
        _drive(strategy, seed, 3 * count, (Phase.generate,), collect)  # some draws repeat
    return list(drawn)[:count]


def find_minimal(
    strategy: SearchStrategy[T],
    seed: int,
    count: int,
    fails: Callable[[T], bool],
    late: Callable[[], bool] = lambda: False,
) -> T | None:
    """Return the simplest draw that ``fails``, found by Hypothesis's shrinker; None if all ``count`` draws pass.

    When ``late`` returns True, the search ends with the simplest failure so far. Each draw is tested only once, because
    Hypothesis aborts if a draw fails and then passes, as a race may.
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
    """Marks a draw as failing for Hypothesis."""


class _Ended(BaseException):
    """Ends Hypothesis immediately. It would treat an ``Exception`` as another failure."""


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
