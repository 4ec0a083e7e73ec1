"""Compile options that result from settings and flags."""

from pathlib import Path

import pytest

from parity.compilers.compile_options import CompileOptions


@pytest.mark.parametrize(
    "flags",
    [
        ["-Imore"],
        ["-I", "more"],
        ["-isystem", "more"],
        ["-isystemmore"],
        ["--include-directory=more"],
        ["-iquote", "more"],
    ],
)
def test_options_from_flags_contain_header_folder(flags, tmp_path):
    options = CompileOptions.from_settings(tmp_path, ["include"], ["-DX=1", *flags, "-O1"])
    assert options == CompileOptions((tmp_path / "include", tmp_path / "more"), ("-DX=1", "-O1"))


def test_options_forced_headers_are_paths_only_if_they_exist(tmp_path):
    (tmp_path / "compat.h").write_text("")
    options = CompileOptions.from_settings(tmp_path, flags=["-include", "compat.h"], forced=["hip/hip_fp16.h"])
    assert options.forced == ("hip/hip_fp16.h", str(tmp_path / "compat.h"))


def test_options_absolute_folder_is_unchanged():
    assert CompileOptions.from_settings(Path("/project"), ["/usr/include/x"]).include == (Path("/usr/include/x"),)
