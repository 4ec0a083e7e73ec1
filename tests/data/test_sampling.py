"""Drawing of cases: reproducibility, coverage of typical errors, and shrinking."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture import providers

from parity.data.sampling import find_minimal, hermetic, sample

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


def test_hermetic_replaces_constant_collection():
    """If this fails, Hypothesis has changed: adapt ``hermetic`` and the version bound in pyproject.toml."""
    mark = 123_456_789_012
    constants = type(providers.GLOBAL_CONSTANTS)(integers={mark})
    with mock.patch.object(providers, "_get_local_constants", lambda: constants):
        assert mark in plain_draws(400)
        with hermetic():
            assert mark not in plain_draws(400)
        assert mark in plain_draws(400)


def plain_draws(count: int) -> list[int]:
    """Return draws of Hypothesis without ``hermetic``."""
    found = []

    @seed(1)
    @settings(max_examples=count, phases=[Phase.generate], database=None, deadline=None)
    @given(st.integers(0, 10**12))
    def draw(value):
        found.append(value)

    draw()
    return found


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
