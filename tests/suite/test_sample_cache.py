"""The cache of drawn cases, and the changes that invalidate it."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from types import FunctionType

import _pytest.assertion.rewrite
import hypothesis
import pytest

from parity.cases import strategies
from parity.data.sampling import sample
from parity.platform import code_digest
from parity.suite import sample_cache
from parity.suite.loading import load_suite
from parity.suite.options import EXAMPLES
from parity.suite.sample_cache import drawn_cases, kernel_cases, reference_code

CASES = """
from parity.ops.declaration import DATA
from parity.op import Op
{before}
op = Op(
    "mine.mine", kernel="mine_{{T}}", types=("f32", "f16"), args="x out n", inputs={{"x": "T"}}, shapes="x: n; out: n",
    {more}
)
"""
NUMBERS = itertools.count()


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Use a separate cache folder."""
    monkeypatch.setenv("PARITY_CACHE", str(tmp_path / "cache"))
    sample_cache.drawing_code.cache_clear()
    yield
    sample_cache.drawing_code.cache_clear()


@pytest.fixture
def draws(monkeypatch):
    """Record the calls that draw cases."""
    calls = []

    def counted(*arguments):
        calls.append(arguments)
        return sample(*arguments)

    sample_cache.drawing_code()  # computed before the function is replaced
    monkeypatch.setattr(sample_cache, "sample", counted)
    return calls


def declared(tmp_path, more='choices={"n": (3, 5, 9)}', before=""):
    """Write a case file and load its op."""
    (tmp_path / "kernels").mkdir(exist_ok=True)
    (tmp_path / "kernels" / "mine.cu").touch()
    folder = tmp_path / f"cases{next(NUMBERS)}"  # Python's bytecode cache cannot tell edits within a second apart
    folder.mkdir()
    (folder / "mine.py").write_text(CASES.format(more=more, before=before))
    return load_suite(tmp_path / "kernels", folder).op("mine.mine")


def of(op, dtypes=("f32",), launches="any", seed=1, count=8):
    return drawn_cases(op, dtypes, launches, seed, count)


@pytest.mark.parametrize(
    "name", ["unary.gelu", "conv.conv2d", "quantized.get_rows_k", "reduce.rope", "sort.argsort_asc"]
)
def test_cached_cases_equal_drawn_cases(suite, draws, name):
    op = suite.op(name)
    dtypes = op.entries()[0].dtypes
    first, second = of(op, dtypes), of(op, dtypes)
    assert len(draws) == 1
    assert first == second == list(map(str, sample(op.cases(dtypes), 1, 8)))


def test_every_declaration_of_suite_has_unique_key(suite):
    keys = {sample_cache._key(entry.op, entry.dtypes, "any", 0, 20) for entry in suite.entries}
    assert len(keys) == len(suite.entries) and "" not in keys


def test_reloaded_declaration_uses_cache(tmp_path, draws):
    assert of(declared(tmp_path)) == of(declared(tmp_path))
    assert len(draws) == 1


@pytest.mark.parametrize("other", [{"seed": 2}, {"count": 9}, {"launches": "host"}, {"dtypes": ("f16",)}])
def test_other_arguments_draw_again(tmp_path, draws, other):
    op = declared(tmp_path)
    of(op)
    of(op, **other)
    assert len(draws) == 2


def test_cached_cases_of_kernel_equal_new_ones_and_have_edge_cases(suite, draws, monkeypatch):
    op = suite.op("unary.gelu")
    edges = []
    monkeypatch.setattr(type(op), "edge_cases", _counting(type(op).edge_cases, edges))
    first, second = (kernel_cases(op, ("f64",), "any", 1, EXAMPLES) for _ in range(2))
    assert first == second
    assert (len(draws), len(edges)) == (1, 1)
    assert [text for title, text, _ in first if not title] == of(op, ("f64",), count=EXAMPLES)
    assert sum(is_sparse for _, _, is_sparse in first) == 1
    few = kernel_cases(op, ("f64",), "any", 1, EXAMPLES - 1)
    assert len(few) < len(first) and len(edges) == 1


def test_op_whose_cases_are_all_large_has_few(tmp_path):
    op = declared(tmp_path, "")

    def count(shapes, examples=EXAMPLES):
        fixed = replace(op, args="x out", shapes=shapes)
        return len(kernel_cases(fixed, ("f32",), "any", 1, examples))

    assert count("x: 20000000; out: 1") == 4 and 4 < count("x: 5000000; out: 1") <= 16
    assert count("x: 5000000; out: 1", EXAMPLES + 1) > EXAMPLES and count("x: 4000000; out: 1") >= EXAMPLES


def _counting(function, calls):
    def counted(*arguments, **options):
        calls.append(arguments)
        return function(*arguments, **options)

    return counted


REFERENCES = [
    ("", "reference=lambda x: x"),
    ("", "reference=lambda x: x + 1"),
    ("def plus(x): return x + 2", "reference=plus"),
    ("def plus(x): return x + 3", "reference=plus"),
]


def test_edited_reference_makes_edge_cases_again_and_draws_once(tmp_path, draws):
    codes = set()
    for before, more in REFERENCES:
        op = declared(tmp_path, f'choices={{"n": (3, 5)}}, {more}', before)
        codes.add(reference_code(op))
        of(op)
    assert len(codes) == len(REFERENCES) and "" not in codes
    assert len(draws) == 1


def test_every_reference_of_suite_can_be_hashed(suite):
    assert all(reference_code(op) for op in suite.ops.values())


def test_used_reference_has_same_digest(suite):
    """Contexts of MPFR remember that an operation was inexact."""
    op = suite.op("unary.gelu")
    before = reference_code(op)
    op.call(op.parse("unary.gelu[f64](x=7:1~normal@0)")).expected()
    reference_code.cache_clear()
    assert reference_code(op) == before


FUNCTIONS = "def none(g): return ''\ndef one(g): return (1,)\ndef two(g): return (2,)"
EDITS = {
    "numbers": ('choices={"n": (3, 5)}', 'choices={"n": (3, 6)}'),
    "what a function does": ("mismatch=lambda g: ''", "mismatch=lambda g: '' if g.shape else 'scalar'"),
    "a default": ("mismatch=lambda g, n=1: ''", "mismatch=lambda g, n=2: ''"),
    "a function inside of a function": ("mismatch=lambda g: (lambda: '')()", "mismatch=lambda g: (lambda: str())()"),
    "which function": ("mismatch=none, info=one", "mismatch=none, info=two"),
    "streams equal to the default": ("data=DATA", "data=(*DATA,)"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_edited_declaration_draws_again(tmp_path, draws, edit):
    for more in EDITS[edit]:
        of(declared(tmp_path, more, FUNCTIONS))
    assert len(draws) == 2


@pytest.mark.parametrize(
    ("one", "other", "more"),
    [
        ("LIMIT = 1", "LIMIT = 2", "mismatch=lambda g: '' if LIMIT else 'no'"),
        ("def most(n): return n", "def most(n): return n + 1", "mismatch=lambda g: '' if most(1) else 'no'"),
        (
            "class Most:\n    def of(self): return 1",
            "class Most:\n    def of(self): return 2",
            "mismatch=lambda g: '' if Most().of() else 'no'",
        ),
        (
            "def most(n): return lambda g: '' if n else 'no'\nf = most(1)",
            "def most(n): return lambda g: '' if n else 'no'\nf = most(2)",
            "mismatch=f",
        ),
        (
            "from functools import partial",
            "from functools import partial; int = float",
            "mismatch=partial(lambda n, g: '' if int(n) else 'no', 1)",
        ),
        ("import re; P = re.compile('a')", "import re; P = re.compile('b')", "mismatch=lambda g: P.pattern and ''"),
    ],
)
def test_edited_dependency_draws_again(tmp_path, draws, one, other, more):
    of(declared(tmp_path, more, one))
    of(declared(tmp_path, more, one))
    assert len(draws) == 1
    of(declared(tmp_path, more, other))
    assert len(draws) == 2


@pytest.mark.parametrize("how", ["import {} as helper", "from {} import most", "from {} import LIMIT"])
def test_edited_helper_module_draws_again(tmp_path, draws, monkeypatch, how):
    monkeypatch.syspath_prepend(tmp_path)
    use = {"m": "helper.most()", "t": "most()", "T": "LIMIT"}[how[-1] if how[-1] != "r" else "m"]
    for limit in (1, 2):
        name = f"helper{next(NUMBERS)}"
        (tmp_path / f"{name}.py").write_text(f"LIMIT = {limit}\ndef most(): return LIMIT\n")
        of(declared(tmp_path, f"mismatch=lambda g: '' if {use} else 'no'", how.format(name)))
    assert len(draws) == 2


@pytest.mark.parametrize(
    ("before", "more"),
    [
        ("import threading; L = threading.Lock()", "mismatch=lambda g: '' if L else 'no'"),
        (
            "def f(g):\n    from some_module import something\n    return ''",
            "mismatch=lambda g: f(g) if g is None else ''",
        ),
        ("import os", "mismatch=lambda g: os.environ.get('COMPLAINT', '')"),
        ("", "mismatch=lambda g: '' if open(__file__) else 'no'"),
    ],
)
def test_unhashable_declaration_draws_every_time(tmp_path, draws, before, more):
    op = declared(tmp_path, more, before)
    assert of(op) == of(op)
    assert len(draws) == 2


def test_unhashable_drawing_code_draws_every_time(tmp_path, draws, monkeypatch):
    with Path(__file__).open() as file:
        monkeypatch.setattr(sample_cache, "Case", (sample_cache.Case, file))
        sample_cache.drawing_code.cache_clear()
        op = declared(tmp_path)
        assert of(op) == of(op)
    assert len(draws) == 2


def test_rewritten_assertions_depend_on_pytest_version(monkeypatch):
    """pytest rewrites the assertions of an installed plugin's package, which then refer to a module of pytest."""
    rewritten = FunctionType(compile("explain", "rewritten", "eval"), {"explain": _pytest.assertion.rewrite})

    def told():
        code_digest._version.cache_clear()
        found = code_digest.Fingerprint()
        found.add(rewritten)
        return found.digest

    before = told()
    monkeypatch.setattr(_pytest, "__version__", "1.0")
    assert told() != before
    code_digest._version.cache_clear()


def test_changed_drawing_code_draws_again(tmp_path, draws, monkeypatch):
    of(declared(tmp_path))
    monkeypatch.setattr(strategies, "WINDOW", 95)
    sample_cache.drawing_code.cache_clear()
    of(declared(tmp_path))
    assert len(draws) == 2


def test_other_hypothesis_version_draws_again(tmp_path, draws, monkeypatch):
    of(declared(tmp_path))
    monkeypatch.setattr(hypothesis, "__version__", "6.0.0")
    code_digest._version.cache_clear()
    sample_cache.drawing_code.cache_clear()
    try:
        of(declared(tmp_path))
    finally:
        code_digest._version.cache_clear()
    assert len(draws) == 2


def test_unwritable_cache_draws_every_time(tmp_path, draws, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("PARITY_CACHE", str(tmp_path / "file"))
    op = declared(tmp_path)
    assert of(op) == of(op)
    assert len(draws) == 2
