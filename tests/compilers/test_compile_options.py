"""How a side is compiled: what settings say."""

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
def test_a_folder_named_by_a_flag_is_a_folder_of_the_side(flags, tmp_path):
    side = CompileOptions.of(tmp_path, ["include"], ["-DX=1", *flags, "-O1"])
    assert side == CompileOptions((tmp_path / "include", tmp_path / "more"), ("-DX=1", "-O1"))


def test_forced_headers_are_paths_if_they_are_there_and_names_otherwise(tmp_path):
    (tmp_path / "compat.h").write_text("")
    side = CompileOptions.of(tmp_path, flags=["-include", "compat.h"], forced=["hip/hip_fp16.h"])
    assert side.forced == ("hip/hip_fp16.h", str(tmp_path / "compat.h"))


def test_an_absolute_folder_stays_as_it_is():
    assert CompileOptions.of(Path("/project"), ["/usr/include/x"]).include == (Path("/usr/include/x"),)
