"""Loading suites, selecting kernels and cases, and errors in folders and settings."""

from __future__ import annotations

import csv
import os
import sys
from pathlib import Path

import pytest

from parity.engine.plan import Plan, make_tasks
from parity.errors import UsageError
from parity.suite.loading import _ContentLoader, find_suite, load_suite


def test_repository_suite_calls_every_kernel_once(suite):
    with (Path(__file__).parents[1] / "kernels" / "entries.csv").open(encoding="utf-8", newline="") as file:
        kernels = {(row["module"], row["kernel"]) for row in csv.DictReader(file)}
    assert sorted((e.op.module, e.kernel) for e in suite.kernel_entries) == sorted(kernels)


def test_library_op_has_entries_without_source(suite):
    rows = [entry for entry in suite.entries if entry.op.library]
    assert {entry.op.module for entry in rows} == {"gemm", "rng", "scan"}
    assert "gemm" not in suite.modules and not suite.missing and not suite.problems
    assert suite.modules_with(suite.entries_in(suite.select(["unary.gelu", "gemm", "affine"]))) == ["affine", "unary"]


@pytest.mark.parametrize(
    ("selectors", "kernels"),
    [
        (["unary.gelu"], {"ugelu_f16", "ugelu_bf16", "ugelu_f32", "ugelu_f64", "ugelu_fp8_e4m3"}),
        (["ugelu_f16"], {"ugelu_f16"}),
        (["unary.gelu[f16]"], {"ugelu_f16"}),
        (["usqrt_*16"], {"usqrt_f16", "usqrt_bf16"}),
        (["where_u8_f32", "ugelu_f16"], {"where_u8_f32", "ugelu_f16"}),
    ],
)
def test_select_kernels_by_name(suite, selectors, kernels):
    assert {e.kernel for e in suite.select(selectors).entries} == kernels


def test_select_by_module_pattern_and_dtype(suite):
    assert len(suite.select(["binary"]).entries) == len(suite.select(["binary.*"]).entries) == 96
    assert suite.select([]).entries == suite.entries
    assert {"u8"} <= set().union(*(e.dtypes for e in suite.select(["cast"], ["u8"]).entries))
    assert len(suite.select(["cast"], ["u8"]).entries) == 15


def test_select_case_by_printed_text(suite):
    text = "unary.gelu[f16](x=3~mixed@5)"
    selection = suite.select([text])
    assert selection.entries == () and [str(c) for c in selection.cases] == [text]


@pytest.mark.parametrize(
    ("selector", "says"),
    [("unary.gelo", "unary.gelu"), ("ugelu_f17", "ugelu_f1"), ("unery", "unary"), ("zzzz.*", "names no op")],
)
def test_select_unknown_name_suggests_nearest(suite, selector, says):
    with pytest.raises(UsageError, match=says):
        suite.select([selector])


def test_select_dtype_without_kernels_raises(suite):
    with pytest.raises(UsageError, match="no kernel for dtype u8"):
        suite.select(["unary.gelu"], ["u8"])


@pytest.fixture
def folders(tmp_path):
    """Write the folders of a suite with one op, which the tests modify."""
    (tmp_path / "kernels").mkdir()
    (tmp_path / "cases").mkdir()
    (tmp_path / "kernels" / "mine.cu").write_text("")
    (tmp_path / "cases" / "mine.py").write_text(
        "from parity import reference\nfrom parity.op import Op\n\n"
        "double = Op('mine.neg', kernel='neg_{T}', types=('f32',), args='x out numel', inputs={'x': 'T'},\n"
        "            reference=reference.neg)\n"
    )
    return tmp_path


def test_load_suite_from_user_folders(folders):
    suite = load_suite(folders / "kernels", folders / "cases")
    assert [e.kernel for e in suite.entries] == ["neg_f32"]


def test_plan_loads_required_case_files(folders):
    text = (folders / "cases" / "mine.py").read_text()
    (folders / "cases" / "other.py").write_text(text.replace("mine.neg", "mine.other"))
    suite = load_suite(folders / "kernels", folders / "cases")
    plan = Plan.of(suite, make_tasks(suite.select(["mine.other"]), []), {}, examples=1)
    assert list(plan.suite().ops) == ["mine.other"]
    (folders / "cases" / "other.py").write_text("import parity_cases_mine\n" + text.replace("mine.neg", "mine.other"))
    sys.modules.pop("parity_cases_mine")
    assert list(plan.suite().ops) == ["mine.neg", "mine.other"]


@pytest.mark.parametrize("name", ["mine.cu.cc", "mine.hip"])
def test_source_may_have_any_supported_suffix(folders, name):
    (folders / "kernels" / "mine.cu").rename(folders / "kernels" / name)
    suite = load_suite(folders / "kernels", folders / "cases")
    assert suite.files == {"mine": folders / "kernels" / name} and not suite.missing


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda f: (f / "cases" / "mine.py").write_text("x = = 1\n"), r"mine\.py:1: "),
        (lambda f: (f / "cases" / "mine.py").write_text("\n\nboom()\n"), r"mine\.py:3: NameError"),
        (lambda f: (f / "cases" / "mine.py").write_text("x = 1\n"), "declare no op"),
        (lambda f: (f / "cases" / "mine.py").unlink(), r"holds no \*\.py"),
        (lambda f: (f / "kernels" / "mine.cu").unlink(), r"holds no \*\.cu"),
        (
            lambda f: (f / "kernels" / "mine.cu").rename(f / "kernels" / "mina.cu"),
            r"mine\.py:4: op mine\.neg: .*did you mean mina",
        ),
        (lambda f: (f / "kernels").rename(f / "gone"), "does not exist"),
        (
            lambda f: (f / "cases" / "mine.py").write_text(
                (f / "cases" / "mine.py").read_text().replace("numel", "nuemel")
            ),
            r"mine\.py:4: .*unknown argument 'nuemel'; did you mean numel",
        ),
        (
            lambda f: (f / "cases" / "mine.py").write_text(
                (f / "cases" / "mine.py").read_text().replace("reference=", "optional=('y',), reference=")
            ),
            r"mine\.py:4: .*op mine\.neg: unknown input 'y'",
        ),
        (
            lambda f: (f / "cases" / "mine.py").write_text(
                (f / "cases" / "mine.py").read_text().replace("reference=", "refrence=")
            ),
            "unexpected keyword argument 'refrence'; did you mean reference?",
        ),
    ],
)
def test_load_suite_invalid_folder_names_place(folders, spoil, says):
    spoil(folders)
    with pytest.raises(UsageError, match=says):
        load_suite(folders / "kernels", folders / "cases")


def test_find_suite_from_subfolder(folders):
    (folders / "pyproject.toml").write_text("[tool.parity]\n")
    (folders / "deep" / "down").mkdir(parents=True)
    assert find_suite(folders / "deep" / "down").kernels == folders / "kernels"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (
            'include = ["headers"]',
            r"pyproject.toml: \[tool.parity\]: include has 'headers', which is not a folder there",
        ),
        ('kernels = "kernels"\nhip = "port"', "the folder of the port .*port does not exist"),
    ],
)
def test_find_suite_missing_folder_raises(folders, line, says):
    (folders / "pyproject.toml").write_text(f"[tool.parity]\n{line}\n")
    with pytest.raises(UsageError, match=says):
        find_suite(folders)


def test_load_suite_name_outside_locale_suggests_utf8(folders, monkeypatch):
    with pytest.raises(UsageError, match=r"größe does not exist; set \[tool.parity\] kernels in pyproject.toml$"):
        load_suite(folders / "größe", folders / "cases")
    monkeypatch.setattr("sys.getfilesystemencoding", lambda: "iso8859-1")
    with pytest.raises(UsageError, match="reads names of files as iso8859-1: if they are UTF-8, set PYTHONUTF8=1"):
        load_suite(folders / "größe", folders / "cases")


def test_case_file_output_goes_to_stderr(folders, capsys):
    path = folders / "cases" / "mine.py"
    path.write_text(f"print('hello')\n{path.read_text()}")
    load_suite(folders / "kernels", folders / "cases")
    assert capsys.readouterr() == ("", "hello\n")


def test_unchanged_case_file_is_compiled_once_and_edited_one_again(folders, monkeypatch):
    compiled = []
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    to_code = _ContentLoader.source_to_code
    monkeypatch.setattr(_ContentLoader, "source_to_code", lambda *given: compiled.append(given[1]) or to_code(*given))
    path = folders / "cases" / "mine.py"
    for text in (path.read_text(), path.read_text().replace("'f32'", "'f64'")):
        path.write_text(text)
        os.utime(path, (1, 1))  # the time and the size do not show the edit
        for _ in range(2):
            sys.modules.pop("parity_cases_mine", None)
            suite = load_suite(folders / "kernels", folders / "cases")
    assert [entry.kernel for entry in suite.entries] == ["neg_f64"]
    assert len(compiled) == 2


def test_known_issues_belong_to_project_cases(folders):
    config = folders / "pyproject.toml"
    config.write_text("[tool.parity]\n")
    assert find_suite(folders).known is None
    usual, mine, other = folders / "known-issues.toml", folders / "mine.toml", folders / "other.toml"
    usual.write_text("")
    assert find_suite(folders).known == usual
    assert find_suite(folders, kernels=folders / "kernels").known == usual
    assert find_suite(folders, cases=folders / "cases").known is None
    assert find_suite(folders, known=other).known == other
    config.write_text('[tool.parity]\nknown-issues = "mine.toml"\n')
    assert find_suite(folders).known == mine  # even if the file does not exist


@pytest.mark.parametrize(
    ("config", "says"),
    [
        (
            "[tool.parity]\nkernel = 'k'\n",
            "pyproject.toml: \\[tool.parity\\]: it has no 'kernel'; did you mean kernels",
        ),
        ("[tool.parity]\nkernels = 3\n", "kernels is 3, not a text"),
        ("[tool.parity]\nhip_flags = ['-DA', 3]\n", "hip-flags\\[1\\] is 3, not a text"),
        ("[tool.parity]\nflags = '-DA'\n", "flags is '-DA', not a list"),
        ("[tool.parity]\ncuda-arch = true\n", "cuda-arch is True, not a number such as 890"),
        ("[tool.parity]\nlaunches = 'hots'\n", "launches is 'hots', not any or host"),
        ("[tool\n", "not valid TOML"),
        ("[tool]\nparity = 1\n", "must be a table"),
        *(
            (f"[{name}]\nkernels = 'k'\n", f"\\[{name}\\] is not read; write \\[tool.parity\\]")
            for name in ("tool.Parity", "tool.partiy", "parity")
        ),
    ],
)
def test_find_suite_invalid_settings_raise(folders, config, says):
    (folders / "pyproject.toml").write_text(config)
    with pytest.raises(UsageError, match=says):
        find_suite(folders)
