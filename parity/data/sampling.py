"""Draws cases with Hypothesis, so that a seed gives the same cases on every machine, and shrinks failing cases."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from hypothesis import Phase
    from hypothesis.internal.conjecture.providers import HypothesisProvider
    from hypothesis.strategies import SearchStrategy

T = TypeVar("T")

LARGEST_DECK = 256
"""Most options of a choice that are dealt like cards. Other numbers are drawn at random."""

SPARE_DRAWS = 60
"""Draws beyond three per value, before values of known kinds fill up a sample."""


def _dealer() -> type[HypothesisProvider]:
    """Return a Hypothesis backend that uses every option of a choice once before it uses an option again.

    A choice is identified by the label of its strategy. Unlike Hypothesis's own backend, it does not repeat parts of
    earlier draws, and does not use constants that Hypothesis collects from loaded modules: the cases of a seed must not
    depend on the installation.
    """
    from hypothesis.internal.conjecture.providers import HypothesisProvider

    decks: dict[tuple[int, int, int], list[int]] = {}

    class Dealer(HypothesisProvider):
        label = 0

        def span_start(self, label: int, /) -> None:
            self.label = label

        def _maybe_draw_constant(self, *arguments: Any, **options: Any) -> None:
            return None

        def draw_integer(self, min_value: int | None = None, max_value: int | None = None, **options: Any) -> int:
            if min_value is None or max_value is None or max_value - min_value >= LARGEST_DECK:
                return super().draw_integer(min_value, max_value, **options)
            assert self._random is not None
            deck = decks.setdefault((self.label, min_value, max_value), [])
            if not deck:
                deck += range(min_value, max_value + 1)
                self._random.shuffle(deck)
            return deck.pop()

    return Dealer


def sample(
    strategy: SearchStrategy[T], seed: int, count: int, kind: Callable[[T], Hashable] = lambda value: value
) -> list[T]:
    """Return ``count`` draws of different kinds for a seed.

    If the strategy does not have as many kinds, further draws of known kinds follow. The result is shorter if the
    strategy has fewer values or rejects most of them.
    """
    from hypothesis import Phase
    from hypothesis.errors import Unsatisfiable

    kinds: dict[Hashable, T] = {}
    drawn: dict[T, None] = {}

    def collect(value: T) -> None:
        if drawn:  # Hypothesis begins with the simplest value, which only fills up
            kinds.setdefault(kind(value), value)
        drawn.setdefault(value)
        if len(kinds) >= count:
            raise _Stop

    with contextlib.suppress(_Stop, Unsatisfiable):
        _drive(strategy, seed, 3 * count + SPARE_DRAWS, (Phase.generate,), collect)
    return list(dict.fromkeys([*kinds.values(), *drawn]))[:count]


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
    from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS

    AVAILABLE_PROVIDERS["parity"] = _dealer()

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count,
        phases=phases,
        database=None,
        deadline=None,
        backend="parity",
        derandomize=False,
        report_multiple_bugs=False,
        print_blob=False,
        suppress_health_check=list(hypothesis.HealthCheck),
        verbosity=hypothesis.Verbosity.quiet,
    )
    @hypothesis.given(strategy)
    def drive(value: Any) -> None:
        body(value)

    with warnings.catch_warnings():
        # After gc.freeze(), Hypothesis does not find what refers to its own generator (Python 3.14).
        warnings.filterwarnings("ignore", "It looks like `register_random`")
        drive()
