"""Compile options that result from settings and flags."""

import shutil
from pathlib import Path

import pytest

from parity.compilers.compile_options import CompileOptions, named_files
from parity.errors import UsageError


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


@pytest.mark.parametrize(
    "flag",
    [
        *("-fprofile-use=old.profdata", "-fprofile-instr-use=x", "-fplugin=x.so", "-fpass-plugin=x.so"),
        *(
            "-B/opt/tools",
            "--gcc-toolchain=/opt/gcc",
            "--sysroot=/x",
            "-isysroot",
            "-resource-dir=x",
            "-load",
            "-plugin",
        ),
        *("--rocm-path=/opt/rocm", "--cuda-path=/x", "-fmodule-file=x", "-ivfsoverlay", "-ldir", "-Xcompiler=-B/x"),
        *("-mlink-builtin-bitcode", "-Wp,-D,-include-pch", "-fuse-ld=/x/ld", "-specs=x", "-plugin"),
    ],
)
def test_options_flag_that_changes_the_compiler_is_refused(flag, tmp_path):
    with pytest.raises(UsageError, match=rf"pyproject.toml: .*'{flag}', but parity would not notice changes"):
        CompileOptions.from_settings(tmp_path, flags=["-O2", "-Xclang", flag])


@pytest.mark.parametrize("flag", ["{file}", "-fsanitize-ignorelist={file}", "-Xcompiler=-fx={file},-g", "-ccbin=sh"])
def test_named_files_are_found_in_flags(flag, tmp_path):
    (tmp_path / "list").write_text("")
    file = tmp_path / "list" if "{" in flag else Path(shutil.which("sh"))
    assert set(named_files(["-O2", "-DX=1", flag.format(file=file)])) == {file}


@pytest.mark.parametrize("flag", ["-E", "-S", "-c", "-ofile", "-M", "-MFrule", "--ptx", "-dryrun", "--save-temps=obj"])
def test_options_flag_that_changes_outputs_is_refused(flag, tmp_path):
    with pytest.raises(UsageError, match=rf"pyproject.toml: .*'{flag}', but parity chooses what the compiler writes"):
        CompileOptions.from_settings(tmp_path, flags=["-O2", flag])


@pytest.mark.parametrize(
    "flag", ["@more", "--config=clang.cfg", "--options-file", "-optf", "-Wp,-DX,@more", "-Xcompiler=@more"]
)
def test_options_flag_that_reads_a_file_of_options_is_refused(flag, tmp_path):
    with pytest.raises(UsageError, match="write the options of that file into flags instead"):
        CompileOptions.from_settings(tmp_path, flags=[flag])


@pytest.mark.parametrize(
    "flag",
    [
        "-O2",
        "--device-debug",
        "-mwavefrontsize64",
        "-DE=@",
        "--compiler-options",
        "-lineinfo",
        "-DX=a,-c",
        "-fmad=false",
        "-Wall",
        "-ffp-model=precise",
    ],
)
def test_options_other_flags_are_kept(flag, tmp_path):
    assert CompileOptions.from_settings(tmp_path, flags=[flag]).flags == (flag,)


@pytest.mark.parametrize("flags", [("-imacros", "macros.h"), ("-imacrosmacros.h",)])
def test_options_macros_file_is_found_in_project(flags, tmp_path):
    (tmp_path / "macros.h").write_text("")
    options = CompileOptions.from_settings(tmp_path, flags=[*flags])
    assert options.flags == ("-imacros", str(tmp_path / "macros.h"))
