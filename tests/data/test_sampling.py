"""Drawing of cases: reproducibility, coverage of typical errors, and shrinking."""

from __future__ import annotations

import operator
import statistics
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import strategies as st

from parity.cases.strategies import structure
from parity.data.sampling import find_minimal, sample
from parity.op import Op
from parity.suite.sample_cache import drawn_cases

ROOT = Path(__file__).parents[2]

PROGRAM = """
import sys
from pathlib import Path
{extra}
from parity.suite.loading import load_suite
from parity.data.sampling import sample
suite = load_suite(Path({root!r}) / "kernels", Path({root!r}) / "cases")
op = suite.op("binary.add")
print(*sample(op.cases(("f32",)), 5, 40), sep="\\n")
"""


def test_drawing_after_freezing_objects_does_not_warn():
    program = (
        "import gc, hypothesis, hypothesis.core; gc.freeze(); from hypothesis import strategies as st; "
        "from parity.data.sampling import sample; sample(st.integers(0, 9), 0, 3)"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, cwd=ROOT)


def draws(tmp_path: Path, extra: str) -> str:
    program = tmp_path / "draws.py"
    program.write_text(PROGRAM.format(extra=extra, root=str(ROOT)))
    return subprocess.run(
        [sys.executable, program], capture_output=True, text=True, check=True, cwd=ROOT, env={"PYTHONPATH": str(ROOT)}
    ).stdout


def test_sample_does_not_depend_on_loaded_modules(tmp_path):
    # Hypothesis collects constants from loaded modules; parity's cases must not depend on them.
    (tmp_path / "full_of_constants.py").write_text("VALUES = [3, 4, 17, 95, 2048, 1.25, 'x']\n")
    alone = draws(tmp_path, "")
    assert alone == draws(tmp_path, f"sys.path.insert(0, {str(tmp_path)!r}); import full_of_constants")
    assert len(alone.splitlines()) >= 30


def test_sample_deals_every_option_before_it_repeats_one():
    letters = st.tuples(st.sampled_from("abcdefgh"), st.sampled_from(range(1000)))
    drawn = [letter for letter, _ in sample(letters, 0, 25)]
    for first in (1, 9, 17):  # without the simplest value, with which Hypothesis begins
        assert sorted(drawn[first - 1 : first + 7]) == list("abcdefgh")


def test_sample_of_fewer_values_is_prefix(suite):
    cases = suite.op("binary.add").cases(("f32",))
    assert sample(cases, 1, 20, structure)[:4] == sample(cases, 1, 4, structure)


def test_sample_without_further_kinds_repeats_known_kinds():
    pairs = st.tuples(st.sampled_from("ab"), st.integers(0, 99))
    drawn = sample(pairs, 0, 6, operator.itemgetter(0))
    assert {letter for letter, _ in drawn[:2]} == {"a", "b"} and len(set(drawn)) == 6
    assert sample(st.just(3), 0, 6) == [3]


def test_median_kernel_has_19_structures_of_20(suite):
    entries = [op.entries()[0] for op in list(suite.ops.values())[::3]]  # a third of the ops: drawing takes time
    counts = []
    for number, entry in enumerate(entries):
        drawn = list(map(entry.op.parse, drawn_cases(entry.op, entry.dtypes, "any", number, 20)))
        counts.append(len({layout_structure(case) for case in drawn}))
        assert sum(any(not layout.numel for layout in case.layouts.values()) for case in drawn) <= 1, entry.name
    assert statistics.median(counts) >= 19


def layout_structure(case):
    """Return everything of a case but its data."""
    return tuple(case.layouts.items()), tuple(map(repr, case.params)), case.flags, case.launch, case.threads


def test_drawn_cases_have_several_large_extents(suite):
    declared = Op("m.m", kernel="m_{T}", types=("f32",), args="x out", inputs={"x": "T"}, shapes="x: a b c; out: a b c")
    shapes = [case.layouts["x"].shape for case in sample(declared.cases(("f32",)), 0, 20, structure)]
    assert sum(sum(n > 8 for n in shape) > 1 for shape in shapes) >= 3
    shapes = [case.layouts["lhs"].shape for case in sample(suite.op("binary.add").cases(("f32",)), 0, 60, structure)]
    assert sum(sum(n > 8 for n in shape) > 1 for shape in shapes) >= 3


def test_sample_differs_between_seeds(suite):
    cases = suite.op("binary.add").cases(("f32",))
    assert sample(cases, 1, 20) == sample(cases, 1, 20)
    assert sample(cases, 1, 20) != sample(cases, 2, 20)


def test_sample_covers_typical_errors(suite):
    cases = [c for seed in range(8) for c in sample(suite.op("binary.add").cases(("f32",)), seed, 200)]
    layouts = [t.layout for c in cases for _, t in c.tensors]
    assert {len(layout.shape) for layout in layouts} == {0, 1, 2, 3, 4, 5}
    assert any(layout.numel == 0 for layout in layouts)
    assert any(1 in layout.shape and layout.numel > 1 for layout in layouts)
    assert any(0 in layout.strides for layout in layouts)
    assert any(layout.offset for layout in layouts)
    assert any(min(layout.strides, default=0) > 1 for layout in layouts)
    assert any(tuple(sorted(layout.strides)) == layout.strides and len(set(layout.strides)) > 1 for layout in layouts)
    sizes = {layout.numel for layout in layouts}
    assert {31, 32, 33, 63, 64, 65, 1023, 1024, 1025, 2048, 2049} <= sizes
    flags = {c.flags for c in cases}
    assert {(), ("null-info",), ("aliased",), ("null-info", "aliased")} <= flags
    assert any(c.launch and c.launch[0] * c.launch[1] < c.tensors[0][1].layout.numel for c in cases)
    explicit = [c for c in cases if "null-info" not in c.flags and all(t.layout.is_contiguous for _, t in c.tensors)]
    assert explicit


def test_parameter_covers_special_values(suite):
    cases = [c for seed in range(5) for c in sample(suite.op("affine.affine").cases(("f16",)), seed, 200)]
    values = {repr(v) for c in cases for _, v in c.params}
    assert {"0.0", "-0.0", "1.0", "-1.0", "nan", "inf", "-inf", "65504.0"} <= values
    assert any("in-place" in c.flags for c in cases)


def test_find_minimal_returns_simplest_failure():
    pairs = st.tuples(st.integers(0, 90), st.integers(0, 90))
    assert find_minimal(pairs, 0, 200, lambda p: p[0] + p[1] >= 60) in [(0, 60), (60, 0)]
    assert find_minimal(pairs, 0, 200, lambda p: False) is None


def test_find_minimal_accepts_flaky_failure():
    tried = []

    def fails(value):
        tried.append(value)
        return value >= 10 and tried.count(value) == 1

    assert find_minimal(st.integers(0, 1000), 0, 200, fails) == 10
    assert len(set(tried)) == len(tried)


@pytest.mark.parametrize("error", [ValueError("a defect"), KeyboardInterrupt()])
def test_find_minimal_propagates_errors(error):
    def fails(_: int) -> bool:
        raise error

    with pytest.raises(type(error)):
        find_minimal(st.integers(0, 5), 0, 5, fails)
