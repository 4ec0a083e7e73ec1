"""Case files cannot produce a false pass by exiting, by accepting every value, or by failing to build."""

from __future__ import annotations

from pathlib import Path

import pytest

TARGET = ("--target", "gfx1100", "-j", "1", "--examples", "3")
CASE = "leaky_relu.leaky_relu[f32](x=3~normal@0 alpha=0.5)"


@pytest.fixture
def project(parity, tmp_path, monkeypatch):
    """Create a project with one kernel; return a function that replaces text in its files."""
    assert parity("init", tmp_path / "mine").code == 0
    monkeypatch.chdir(tmp_path / "mine")

    def edit(old, new, file="cases/leaky_relu.py"):
        text = Path(file).read_text()
        assert old in text
        Path(file).write_text(text.replace(old, new))

    return edit


@pytest.mark.parametrize("ending", ["raise SystemExit(0)", "exit(0)", "__import__('sys').exit()"])
def test_case_file_that_exits_is_error_with_location(parity, project, ending):
    project("import numpy as np\n", f"import numpy as np\n{ending}\n")
    result = parity("run", "-v", *TARGET)
    assert result.code == 2
    assert f"{Path('cases/leaky_relu.py').absolute()}:4: SystemExit" in result.err


def test_case_file_with_argument_parser_does_not_end_run(parity, project):
    project("import numpy as np\n", "import numpy as np\n__import__('argparse').ArgumentParser().parse_args(['-x'])\n")
    result = parity("run", "-v", *TARGET)
    assert result.code == 2 and f"{Path('cases/leaky_relu.py').absolute()}:4: SystemExit: 2" in result.err


@pytest.mark.parametrize(
    ("ending", "named"), [("exit(0)", "SystemExit"), ("raise KeyboardInterrupt", "KeyboardInterrupt")]
)
def test_reference_that_exits_counts_as_raising(parity, project, ending, named):
    project("    wide =", f"    {ending}\n    wide =")
    result = parity("run", "-v", CASE, *TARGET)
    assert result.code not in (0, 130) and " 0 passed" in result.out
    told, place = result.out + result.err, f"({Path('cases/leaky_relu.py').absolute()}:11)"
    assert f"the reference raised {named}: " in told and f"{place}; it cannot end the process here" in told


def test_launch_rule_that_exits_disables_its_op(parity, project):
    project("    grid_stride=False", "    mismatch=lambda given: exit(0),\n    grid_stride=False")
    result = parity("run", "-v", *TARGET)
    assert result.code not in (0, 130) and "leaky_relu.py:22); it cannot end the process here" in result.out
    assert "op leaky_relu.leaky_relu: mismatch raised SystemExit: 0 (" in result.out


def test_dtypes_that_raise_disable_their_op(parity, project):
    named = "named=(NamedCase('ones', 'x=3~ramp@1', only=lambda *types: 1 / 0),)"
    project("from parity.op import Op", "from parity.op import NamedCase, Op")
    project("    grid_stride=False", f"    {named},\n    grid_stride=False")
    result = parity("run", "-v", *TARGET)
    assert result.code not in (0, 130) and "Traceback" not in result.out + result.err
    assert "only of 'ones' raised ZeroDivisionError: division by zero (" in result.out + result.err


@pytest.mark.parametrize("budget", ["-1", "float('inf')", "float('nan')"])
def test_invalid_budget_is_declaration_error(parity, project, budget):
    project("within(0.5,", f"within({budget},")
    result = parity("run", "-v", CASE, *TARGET)
    assert result.code != 0 and " 0 passed" in result.out
    value = str(float(eval(budget))).removesuffix(".0")
    place = f"{Path('cases/leaky_relu.py').absolute()}:15: op leaky_relu.leaky_relu"
    assert f"{place}: {CASE}: within({value}, ...): a budget is 0 or more" in " ".join(result.out.split())


def test_bounds_that_are_no_function_are_declaration_error(parity, project):
    project("reference.within(0.5, np.where(wide > 0, wide, alpha * wide), to)", "reference.Expected(x, wide)")
    result = parity("run", "-v", CASE, *TARGET)
    assert result.code != 0 and " 0 passed" in result.out and "Traceback" not in result.out + result.err
    place = f"{Path('cases/leaky_relu.py').absolute()}:15: op leaky_relu.leaky_relu"
    told = " ".join(result.out.split())
    assert f"{place}: {CASE}: bounds= of Expected is a function or None, not a value of type ndarray" in told


def test_custom_bounds_are_checked(parity, project):
    own = "reference.Expected(x, lambda _: reference.Bounds(wide, 0.0, wide * 0 + 1, wide * 0 - 0.25))"
    project("reference.within(0.5, np.where(wide > 0, wide, alpha * wide), to)", own)
    result = parity("run", "-v", CASE, *TARGET)
    assert result.code != 0 and "the budget of out is -0.25 above the value" in " ".join(result.out.split())


def test_unspecified_elements_ignore_budget(parity, project):
    """References of the built-in suite use this for rows whose overflow depends on the order of summation."""
    own = "reference.Expected(x, lambda _: reference.Bounds(wide, 0.0, room, room), unspecified=np.isnan(room))"
    project("reference.within(0.5, np.where(wide > 0, wide, alpha * wide), to)", f"({own})")
    project("    wide =", "    room = np.full(x.shape, np.nan)\n    wide =")
    assert parity("run", "-v", CASE, *TARGET).code == 0
    project("unspecified=np.isnan(room)", "unspecified=~np.isnan(room)")
    assert parity("run", "-v", CASE, *TARGET).code != 0


def test_allowed_vacuous_op_passes_and_is_marked(parity, project, tmp_path):
    project("within(0.5,", "within(1e30,")
    project("[tool.parity]\n", '[tool.parity]\nallow-vacuous = ["leaky_relu.*"]\n', "pyproject.toml")
    result = parity("run", "-v", *TARGET)
    assert result.code == 0 and "1 vacuous" in result.out
    for file in ("matrix.txt", "matrix.md", "matrix.json"):
        assert "vacuous" in (tmp_path / "out" / file).read_text(), file


def test_budget_that_rejects_zeros_is_not_vacuous(parity, project):
    assert "vacuous" not in parity("run", "-v", *TARGET).out


def test_compile_error_fails_each_command(parity, project, tmp_path):
    project("int i =", "int i = nosuch +", "kernels/leaky_relu.cu")
    result = parity("run", "-v", *TARGET)
    assert result.code == 1 and " 1 failed (1 compile error)," in result.out
    failures, junit = ((tmp_path / "out" / name).read_text() for name in ("failures.txt", "junit.xml"))
    assert failures.startswith("FAIL  leaky_relu for gfx1100: compile error\n  kernels   leaky_relu_f32\n")
    for text in (failures, junit):
        assert "use of undeclared identifier 'nosuch'" in text.replace("&#x27;", "'")
