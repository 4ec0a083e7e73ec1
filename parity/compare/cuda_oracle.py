"""The CUDA oracle: expected values of an op without a reference, from CUDA's output and the effect of roundings.

The rule and its justification are in docs/tolerance-model.md, section 10.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from parity.compare.comparison import accepted_elements, matches
from parity.emulator.shadow_runs import EACH_LANE, SHADOW_RUNS
from parity.model.dtypes import NUMBERS, Array, DType, array_dtype
from parity.model.launch import Arithmetic
from parity.reference.accuracy import furthest
from parity.reference.expected import Bounds, Expected, Limits
from parity.reference.rounding import half_ulp_of_max, ulp_safe

WIDE = 24
"""The significand bits from which the final rounding is not treated separately."""


@dataclass(frozen=True)
class RoundingRuns:
    """One output of a side, computed on an emulator with different roundings (``parity.model.launch.Shadows``)."""

    nearest: Array
    """With the code's own roundings."""
    moved: Sequence[Array]
    """With operations that round up or down."""
    narrowed: Sequence[Array] = ()
    """For bf16: with products rounded to bf16."""
    unflushed: Sequence[Array] = ()
    """With subnormal numbers kept where matrix cores flush them to 0."""
    exponentials: Sequence[Array] = ()
    """With subnormal numbers kept where exponentials flush them; it rounds like the first of ``moved``."""

    @property
    def runs(self) -> Sequence[Array]:
        """All runs."""
        return (self.nearest, *itertools.chain(*self._groups))

    @property
    def _groups(self) -> tuple[Sequence[Array], ...]:
        return self.moved, self.narrowed, self.unflushed, self.exponentials

    @functools.cached_property
    def wide(self) -> Array:
        """The nearest and the moved runs, as float64."""
        return _wides(self.nearest, *self.moved)

    @functools.cached_property
    def spread(self) -> Array:
        """The spread of ``wide``."""
        return _spread(self.wide)

    def field(self, name: str) -> RoundingRuns:
        """The same for one field of blocks."""
        return RoundingRuns(self.nearest[name], *([each[name] for each in some] for some in self._groups))


@np.errstate(all="ignore")
def same_values(oracle: Array, got: Array) -> bool:
    """Return True if all pairs of elements have the same bits, or are both NaN."""
    return bool(_alike(oracle, got).all())


def _alike(x: Array, y: Array) -> Array:
    """Return a mask of elements with the same bits, or both NaN; blocks are compared field by field."""
    if x.dtype.names:
        fields = (_alike(x[name], y[name]) for name in x.dtype.names)
        return np.asarray(np.logical_and.reduce([each.reshape(*x.shape, -1).all(-1) for each in fields]))
    alike = np.asarray(x.view(f"u{x.itemsize}") == y.view(f"u{y.itemsize}"))
    return np.asarray(alike | ((x != x) & (y != y)))


LOSS, NARROW_LOSS = 16, 2
"""A port counts as less precise if a result differs by this many times the distance that CUDA's roundings explain.

The first is for f32 and f64: PTX divides and takes roots in one instruction. AMD's code does so in several, whose
corrections shadow runs undo. The second is for narrower types: results are usually rounded to them once, when stored.
"""


def _no_runs() -> None:
    return None


@np.errstate(all="ignore")
def expected_from_cuda(
    oracle: Array,
    arithmetic: Arithmetic,
    mine: RoundingRuns | None,
    flushed: float = 0.0,
    is_ordered: bool = False,
    approximates: bool = True,
    theirs: Callable[[], RoundingRuns | None] = _no_runs,
    multiplies_matrices: bool = False,
) -> Expected:
    """Return the expectation of an output. All arrays have its dtype and logical shape.

    Code that rounds nothing must give CUDA's values and, if it only moves values, zeros of the same sign. A launch
    that no rounding changes must give CUDA's values except for numbers that underflow. Otherwise the allowed distance
    follows from the spread of the runs.

    Args:
        oracle: CUDA's output.
        arithmetic: What the code computes; see ``Arithmetic``.
        mine: The runs of the side under test; None if its arithmetic is exact.
        flushed: Additional absolute error of f32 if one side flushes subnormal numbers and the other adds them.
        is_ordered: Both sides add numbers in the same order.
        approximates: CUDA's side may have approximate instructions. Without them, an element that no run moves differs
            by at most an ULP: functions that reach a constant, such as tanh, may reach it one ULP earlier.
        theirs: Returns the runs of CUDA's side, if it can be executed with other roundings. Called only for results
            that would be wrong if the port were as precise.
        multiplies_matrices: CUDA's side has matrix instructions. AMD's add the products in another order.
    """
    kind = array_dtype(oracle)
    if kind.is_block:
        return Expected(oracle, accepts=lambda got: _right_blocks(oracle, arithmetic, mine, got))
    if arithmetic < Arithmetic.ROUNDS or mine is None:
        return Expected(oracle, sign_of_zero=arithmetic is Arithmetic.MOVES)
    if not kind.is_float:
        return Expected(oracle, accepts=lambda got: _right_integers(oracle, mine, got, theirs))
    runs = mine.wide
    others = (_wides(mine.nearest, *each) for each in (mine.narrowed, mine.unflushed, mine.exponentials))
    mixed = np.logical_or.reduce([*map(_is_mixed, [runs, *others])])
    spread, more, known = _spreads(mine)
    nominal, value = runs[0], _wide(oracle)
    size, computed = _size(runs), _computed_in(kind, [value, runs])
    # Exact, except where one function flushes the smallest numbers to 0 and another does not (D14).
    exact = _allowed(kind, spread, np.zeros_like(size))
    allowed = exact
    if _moves(mine):
        still = spread + more == 0
        allowed = _allowed(computed, spread, size) + more
        if kind.precision < WIDE:  # the exact value of an element that no run moves is a number of the narrow type
            allowed = np.where(still, exact, allowed)
        elif not approximates:
            allowed = np.where(still, np.maximum(exact, ulp_safe(size, computed)), allowed)
    allowed = allowed + flushed * (kind.name == "f32")
    overflows = np.abs(nominal) + allowed >= kind.max + half_ulp_of_max(kind)
    mixed |= np.isinf(value) & np.isfinite(nominal) & (np.signbit(value) == np.signbit(nominal)) & overflows
    if not is_ordered:  # the order of a sum decides whether it meets the opposite infinity
        mixed |= (np.isinf(value) & np.isnan(nominal)) | (np.isnan(value) & np.isinf(nominal))
    known = known + flushed * (kind.name == "f32")

    def suspicion(got: Array) -> str:
        biased = _bias(value, spread + more, got, mine) if kind.precision < WIDE else ""
        facts = {"approximates": approximates, "multiplies_matrices": multiplies_matrices}
        return biased or _loss(value, mine, computed, mixed, known, theirs, got, **facts)

    def accepted(got: Array) -> Array:
        same = matches(oracle, got, sign_of_zero=False)
        change = np.abs(_wide(got) - value)
        wrong = ~(same | mixed | (change <= allowed))
        other = theirs() if _is_few(wrong) else None
        if other is None:
            return same
        return np.asarray(same | (wrong & _explained(other, computed, change)))

    def bounds(_: Limits) -> Bounds:
        return Bounds(value, 0.0, allowed, allowed)

    return Expected(oracle, bounds, unspecified=mixed, accepts=accepted, bias=suspicion)


@np.errstate(all="ignore")
def explained_by_orders(oracle: Array, others: Sequence[Array], got: Array) -> Array:
    """Return a mask of the elements whose distance from CUDA's is explained by orders of reductions.

    ``others`` are outputs of CUDA's side with other orders. As for roundings, they explain a distance if they move the
    element as far, and any value if it is a number in some orders only.
    """
    kind, runs = array_dtype(oracle), RoundingRuns(oracle, others)
    if kind.is_block:
        return np.asarray(np.logical_or.reduce([_alike(each, got) for each in others]))
    if kind.is_float:
        return _explained(runs, kind, np.abs(_wide(got) - runs.wide[0]))
    return _explained_integers(runs, oracle, got)


def _explained(side: RoundingRuns, kind: DType, change: Array) -> Array:
    """Return a mask of the elements that the runs of a side move, and whose ``change`` these runs explain."""
    within = (side.spread > 0) & (change <= _allowed(kind, side.spread, _size(side.wide)))
    return np.asarray(within | _is_mixed(side.wide))


def _is_few(wrong: Array) -> bool:
    """True if few elements are wrong, so that a branch may be the cause that roundings decide on CUDA's side only.

    Such a branch may find the place of a minimum, or whether two edges meet.
    """
    return bool(0 < np.count_nonzero(wrong) <= max(2, wrong.size // 8))


def _spreads(mine: RoundingRuns) -> tuple[Array, Array, Array]:
    """Return the spread of roundings, what known differences of AMD add to the allowed distance, and their part of it.

    The second also contains roundings, because the runs with known differences round up or down.
    """
    spread, more, known = mine.spread, np.zeros(mine.nearest.shape), np.zeros(mine.nearest.shape)
    for some in (mine.narrowed, mine.unflushed):
        apart = _spread(_wides(mine.nearest, *some))
        more, known = more + apart, known + np.maximum(apart - mine.spread, 0.0)
    if mine.unflushed:
        spread = spread + _spread(_wides(*mine.unflushed))
    if mine.exponentials:  # the rest of the difference from the first run is what exponentials lose
        lost = _spread(_wides(mine.moved[0], *mine.exponentials))
        lost = np.where(lost > 2 * spread, 2 * lost, 0.0)  # subnormal numbers have few bits
        more, known = more + lost, known + lost
    return spread, more, known


def _size(runs: Array) -> Array:
    """The size of the largest finite run."""
    return np.asarray(np.nan_to_num(np.abs(runs), nan=0.0, posinf=0.0).max(0))


@np.errstate(all="ignore")
def is_unstable(oracle: Array, mine: RoundingRuns | None, input_size: float) -> bool:
    """Return True if roundings leave no digit of an element, and move it by more than the largest number of the inputs.

    Examples are the solution of a singular system of equations, and an iteration that diverges.
    """
    kind = array_dtype(oracle)
    if kind.is_block or not kind.is_float or mine is None:
        return False
    return bool(((mine.spread > input_size) & (furthest(kind.name) * mine.spread >= _size(mine.wide))).any())


BIASED = 24
"""The least number of different pairs of results that show a bias. By chance, one in 8 million cases has a single
direction. Equal pairs count once, because equal inputs have the same tie.
"""

_LANES = tuple(i for i, number in enumerate(SHADOW_RUNS) if number & EACH_LANE)
"""The places of the runs in which each lane rounds at random."""
_TOGETHER = 0.75
"""How many more elements a run moves in one direction than in the other, as a share, if they share a rounded value."""


@np.errstate(all="ignore")
def _bias(value: Array, spread: Array, got: Array, mine: RoundingRuns) -> str:
    """Return a sentence if all differences from CUDA's numbers have one direction; empty if not.

    In a narrow type, two correct results differ only near a tie, or by chance in either direction. If more than an
    eighth of the elements that roundings move differ, and all in one direction, one side does not round to nearest.
    The exception are elements that share a rounded value, such as a norm: runs that round each lane at random move them
    in one direction as well.
    """
    number = np.abs(value) >= 2.0 ** array_dtype(got).emin
    change = np.where(number, _wide(got) - value, 0.0)
    change = np.where(np.isfinite(change), change, 0.0)
    count, moving = np.count_nonzero(change), np.count_nonzero(number & (spread > 0))
    pairs = np.unique((value + 1j * change)[change != 0])
    if pairs.size < BIASED or 8 * count < moving:
        return ""
    runs = _wides(mine.nearest, *(mine.moved[i] for i in _LANES if i < len(mine.moved)))
    moves = np.where(number, np.sign(np.nan_to_num(runs[1:] - runs[0])), 0.0).reshape(-1, value.size)
    for direction, signs in (
        ("towards 0", -np.sign(value)),
        ("away from 0", np.sign(value)),
        ("downwards", -np.ones_like(value)),
        ("upwards", np.ones_like(value)),
    ):
        if (change * signs >= 0).all():
            along = np.abs((moves * signs.reshape(-1)).sum(-1))
            if (along > _TOGETHER * np.maximum(BIASED, np.abs(moves).sum(-1))).any():
                return ""
            return f"all {count} differences from CUDA's values are {direction}: one side does not round to nearest"
    return ""


@np.errstate(all="ignore")
def _loss(
    value: Array,
    mine: RoundingRuns,
    computed: DType,
    mixed: Array,
    known: Array,
    theirs: Callable[[], RoundingRuns | None],
    got: Array,
    *,
    approximates: bool,
    multiplies_matrices: bool,
) -> str:
    """Return a sentence if elements are right only because roundings move them much further than CUDA's.

    Then the port is less precise, for example because of a formula whose terms cancel. ``known`` is the part of the
    allowed distance that known differences explain.
    """
    size = _size(np.array([value, mine.wide[0]]))
    factor = LOSS if array_dtype(got).precision >= WIDE else NARROW_LOSS
    unit, change = ulp_safe(size, computed), np.abs(_wide(got) - value) - known
    judged = np.isfinite(change) & ~mixed & (np.abs(value) >= 2.0 ** array_dtype(got).emin)
    if not (judged & (change > factor * _allowed(computed, np.zeros_like(size), size))).any():
        return ""
    runs = theirs()
    if runs is None:
        return ""
    spread = np.maximum(runs.spread, unit)
    beyond = judged & ~_is_mixed(runs.wide) & (change > factor * _allowed(computed, runs.spread, size))
    if approximates:  # no run moves an approximate result that is a power of two, such as exp(1e-9)
        beyond &= runs.spread > 0
    # A branch that roundings decide moves most of a number, and gives CUDA's number in some of the runs.
    close = (np.abs(mine.wide - value) <= _allowed(computed, runs.spread, size)).any(0)
    beyond &= ~(close & (4 * mine.spread >= size))
    # Where large products cancel, an order of sums may be exact, and then no run of CUDA's code moves the element.
    if not beyond.any() or (multiplies_matrices and _is_few(beyond)):
        return ""
    worst = np.unravel_index(np.where(beyond, change / spread, 0.0).argmax(), beyond.shape)
    moved, less = (f"{each[worst] / unit[worst]:,.0f}" for each in (mine.spread, spread))
    return f"roundings move an element by {moved} ULP, and by {less} ULP in CUDA's code: AMD's side is less precise"


def _moves(side: RoundingRuns) -> bool:
    """True if a rounding changes any element."""
    return any(not _alike(side.nearest, each).all() for each in side.runs)


def _wide(x: Array) -> Array:
    return x.astype(np.float64)


def _wides(*arrays: Array) -> Array:
    return np.array([_wide(each) for each in arrays])


def _allowed(kind: DType, spread: Array, size: Array) -> Array:
    """The allowed distance (float64), from the spread of the runs and the size of the largest run."""
    factor, unit = furthest(kind.name), ulp_safe(size, kind)
    if kind.precision < WIDE:  # nothing magnifies the final rounding
        return np.asarray(factor * np.maximum(spread - unit, 0.0) + unit)
    return np.asarray(factor * np.maximum(spread, unit))


def _computed_in(kind: DType, results: Sequence[Array]) -> DType:
    """The narrowest float type that represents all results: a side may compute in it and convert at the end."""
    fewer = (each for each in NUMBERS.values() if each.is_float and 1 < each.itemsize < kind.itemsize)
    holding = (each for each in fewer if all(_holds(each, some) for some in results))
    return min(holding, key=lambda each: each.precision, default=kind)


def _holds(kind: DType, x: Array) -> bool:
    """True if the type represents every finite element."""
    return bool(((_wide(x.astype(kind.numpy)) == x) | ~np.isfinite(x)).all())


def _is_mixed(runs: Array) -> Array:
    """Return a mask of elements for which the runs disagree about being a number, an infinity or NaN."""
    alike = np.isfinite(runs).all(0) | np.isnan(runs).all(0)
    return np.asarray(~(alike | (np.isinf(runs) & (runs == runs[0])).all(0)))


def _spread(runs: Array) -> Array:
    """The distance from the smallest to the largest run; 0 where a run is not finite."""
    return np.where(np.isfinite(runs).all(0), runs.max(0) - runs.min(0), 0.0)


def _right_integers(
    oracle: Array, mine: RoundingRuns, got: Array, theirs: Callable[[], RoundingRuns | None] = _no_runs
) -> Array:
    """Return a mask of the integers that are as close to CUDA's as the runs of one side are to each other."""
    right = _explained_integers(mine, oracle, got)
    other = theirs() if _is_few(~right) else None
    return right if other is None else right | _explained_integers(other, oracle, got)


def _explained_integers(side: RoundingRuns, oracle: Array, got: Array) -> Array:
    def apart(a: Array, b: Array) -> Array:
        return np.asarray(np.maximum(a, b).astype(np.uint64) - np.minimum(a, b).astype(np.uint64))

    return np.asarray(apart(oracle, got) <= apart(np.minimum.reduce(side.runs), np.maximum.reduce(side.runs)))


def _right_blocks(oracle: Array, arithmetic: Arithmetic, mine: RoundingRuns | None, got: Array) -> Array:
    """Return a mask of the blocks whose fields are all right: integers as ``_integers``, scales as float outputs."""
    right = np.ones(oracle.shape, np.bool_)
    for name in oracle.dtype.names or ():
        field = oracle[name]
        moved = mine.field(name) if mine else None
        if field.dtype.kind == "f" or moved is None:
            found = accepted_elements(expected_from_cuda(field, arithmetic, moved), got[name], "amd")
        else:
            found = _right_integers(field, moved, got[name])
        right &= found.reshape(*oracle.shape, -1).all(-1)
    return right
