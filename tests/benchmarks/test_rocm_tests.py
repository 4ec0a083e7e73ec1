"""Tables about programs and tests of others."""

import csv
from pathlib import Path

import pytest

from benchmarks import hecbench, rocm_tests

LISTING = """Running main()
basic.
  first
  DISABLED_second
typed/0.  # TypeParam = int
  third/1  # GetParam() = 4
"""


def test_names_of_googletest_omit_comments_and_disabled_tests():
    assert rocm_tests._names(LISTING) == ["basic.first", "typed/0.third/1"]


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        (["[       OK ] s.a (1 ms)\n[       OK ] s.b (1 ms)\n"], {"s.a": "passed", "s.b": "passed"}),
        (
            ["[ RUN      ] s.b\n[  FAILED  ] s.b (1 ms)\n", "[       OK ] s.a (1 ms)\n"],
            {"s.a": "passed", "s.b": "failed"},
        ),
        (
            ["[ RUN      ] s.b\nparity: data race\n", "[       OK ] s.b (1 ms)\n", "[       OK ] s.a (1 ms)\n"],
            {"s.a": "passed", "s.b": "finding"},
        ),
        (  # a test that ignores the failure of its kernel
            [
                "[ RUN      ] s.b\nparity: trap\n[       OK ] s.b (1 ms)\n[ RUN      ] s.a\n[  FAILED  ] s.a (1 ms)\n",
                "[       OK ] s.b (1 ms)\n",
                "[       OK ] s.a (1 ms)\n",
            ],
            {"s.a": "passed", "s.b": "finding"},
        ),
        (
            ["[ RUN      ] s.b\nparity: trap\n", "[  FAILED  ] s.b (1 ms)\n", "[       OK ] s.a (1 ms)\n"],
            {"s.a": "passed", "s.b": "failed"},
        ),
        ([None, "[       OK ] s.a (1 ms)\n"], {"s.a": "passed", "s.b": "too slow"}),
    ],
)
def test_rest_of_tests_runs_again_after_failure_or_timeout(monkeypatch, outputs, expected):
    left = iter(outputs)

    def output(command, seconds):
        if "--gtest_list_tests" in command:
            return "s.\n  a\n  b\n", False
        text = next(left)
        return ("[ RUN      ] s.b\n", True) if text is None else (text, False)

    monkeypatch.setattr(rocm_tests, "_output", output)
    tested = rocm_tests.Tested("package", "program", "")
    rocm_tests._run(tested, 2, "gfx90a", 60)
    assert tested.states == expected
    assert tested.reasons.keys() == {name for name, state in expected.items() if state != "passed"}
    assert f"| package | `program` | {list(expected.values()).count('passed')} |" in rocm_tests.text([tested], "t", 60)


def test_table_of_hecbench_has_40_programs_with_readable_edits():
    with Path(hecbench.__file__).with_suffix(".csv").open() as table:
        rows = list(csv.DictReader(table))
    assert len({row["name"] for row in rows}) == 40
    edits = [edit for row in rows for edit in filter(None, row["edits"].split(" && "))]
    assert all(len(edit.split("|")) == 3 for edit in edits)
    text = hecbench.text(rows[:2], {"gru": "passed, 5 s", "linearprobing": "failed (x), 1 s"})
    assert text.startswith("1 passed, 1 failed, of 2 programs.")


@pytest.mark.parametrize(
    ("outputs", "state"),
    [
        (["Forward Softmax Verifies on CPU and GPU\n"], "passed"),
        (["Forward Softmax FAILED: 0.5\n"], "failed"),
        (["parity: data race\n", "Forward Softmax Verifies on CPU and GPU\n"], "finding"),
        (["parity: trap\n", "Forward Softmax FAILED: 0.5\n"], "failed"),
    ],
)
def test_call_of_a_program_that_verifies_has_a_state(monkeypatch, outputs, state):
    left = iter(outputs)
    monkeypatch.setattr(rocm_tests, "_output", lambda command, seconds: (next(left), False))
    tested = rocm_tests.Tested("package", "MIOpenDriver", "")
    rocm_tests._call(tested, "softmax -n 2", "gfx90a", 60)
    assert tested.states == {"softmax -n 2": state}
