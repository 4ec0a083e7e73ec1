"""Advice for a name or a header that the compiler did not find."""

import pytest

from parity.compilers.compile_options import CompileOptions
from parity.compilers.diagnostics import Diagnostic
from parity.porting.hints import remedies
from parity.porting.include_closure import closure
from parity.porting.sources import Source

FUNCTION = "__device__ float area(float x) { return x; }\n"


def advice(tmp_path, error, flags=(), at="a.cu", **files):
    for name, text in files.items():
        (tmp_path / name.replace("_", ".")).write_text(text)
    path, side = tmp_path / "a.cu", CompileOptions(flags=flags)
    every = closure(path, side, tmp_path, {})
    source = Source("a", tmp_path, path, side, every.files, around=every.around, ambiguous=every.ambiguous)
    return found(source, every.files, error, at).hints


def found(source, files, error, at="a.cu"):
    return remedies(source, files, [Diagnostic(error, ((at, 1, 1),))])


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("BLOCK", "#pragma once\n#ifdef GPU\n#define BLOCK 512\n#endif\n"),
        ("area", f"#if defined(GPU) || defined(CPU)\n{FUNCTION}#endif\n"),
        ("area", f"#if GPU == 1\n{FUNCTION}#endif\n"),
        ("area", f"#if (defined(OTHER) || (GPU > 0))\n{FUNCTION}#endif\n".replace("defined(OTHER) || ", "")),
        ("area", f"#if CPU && 0\n#elif !(GPU == 0)\n{FUNCTION}#endif\n"),
        ("area", "#ifdef GPU\n__device__ float\narea(float x) { return x; }\n#endif\n"),
        ("Box", "#if defined(GPU)\ntemplate <class T> struct Box { T x; };\n#endif\n"),
        ("id_t", "#ifndef CPU\n#ifdef GPU\ntypedef unsigned id_t;\n#endif\n#endif\n"),
    ],
)
def test_remedies_name_behind_switch_suggests_switch(tmp_path, name, header):
    error = f"use of undeclared identifier '{name}'"
    said = advice(tmp_path, error, a_cu='#include "b.h"\n', b_h=header)[name]
    assert 'flags = ["-DGPU"]' in said
    assert "b.h:" in said


def test_remedies_name_in_conditional_header_suggests_switch(tmp_path):
    source = '#ifdef WITH_CUDA\n#include "b.h"\n#endif\n'
    said = advice(tmp_path, "use of undeclared identifier 'area'", a_cu=source, b_h=FUNCTION)["area"]
    assert 'flags = ["-DWITH_CUDA"]' in said


@pytest.mark.parametrize(
    "header",
    [
        FUNCTION,  # the name is declared
        f"#define GPU\n#ifdef GPU\n{FUNCTION}#endif\n",  # the switch is on
        f"#ifdef __CUDACC_RTC__\n{FUNCTION}#endif\n",  # a macro that only the compiler defines
        f"#if defined(GPU) && defined(OS_WIN)\n{FUNCTION}#endif\n",  # for another operating system
        "#ifdef GPU\nint x = area(1);\n#endif\n",  # a use, not a declaration
    ],
)
def test_remedies_useless_switch_is_not_suggested(tmp_path, header):
    error = "use of undeclared identifier 'area'"
    assert advice(tmp_path, error, a_cu='#include "b.h"\n', b_h=header) == {}


def test_remedies_given_switch_is_not_suggested(tmp_path):
    header = f"#ifdef GPU\n{FUNCTION}#endif\n"
    error = "use of undeclared identifier 'area'"
    assert advice(tmp_path, error, ("-DGPU",), a_cu='#include "b.h"\n', b_h=header) == {}


def test_remedies_header_in_several_folders_suggests_setting(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "b.h").write_text("")
    said = advice(tmp_path, "'b.h' file not found", a_cu='#include "b.h"\n')["b.h"]
    assert "one" in said
    assert "two" in said
    assert 'include = ["' in said


def test_remedies_specialization_behind_switch_suggests_switch(tmp_path):
    source = "template <class T> struct width;\ntemplate <> struct width<float> {};\n"
    source += "#ifdef WITH_BF16\ntemplate <> struct width< __hip_bfloat16 > {};\n#endif\n"
    name = "width<__hip_bfloat16>"
    said = advice(tmp_path, f"implicit instantiation of undefined template '{name}'", a_cu=source)[name]
    assert "a.cu:4 " in said
    assert 'flags = ["-DWITH_BF16"]' in said


def test_remedies_type_that_nvcc_calls_incomplete_suggests_switch(tmp_path):
    source = "template <class T> struct width;\n#ifdef WITH_BF16\ntemplate <> struct width<__nv_bfloat16> {};\n#endif\n"
    error = 'incomplete type "width<Converter<c10::BFloat16>::Type>" (aka "width<__nv_bfloat16>") is not allowed'
    said = advice(tmp_path, error, a_cu=source)["width<Converter<c10::BFloat16>::Type>"]
    assert 'flags = ["-DWITH_BF16"]' in said


def test_remedies_header_without_switch_suggests_switch(tmp_path):
    source = '#ifdef WITH_CUDA\n#include <cuda.h>\n#else\n#include "fake.h"\n#endif\n'
    header = str(tmp_path / "fake.h")
    error = "typedef redefinition with different types ('int' vs 'hipError_t')"
    said = advice(tmp_path, error, at=header, a_cu=source, fake_h="typedef int hipError_t;\n")[header]
    assert 'fake.h is for builds that do not define WITH_CUDA; if yours does, say so: flags = ["-DWITH_CUDA"]' in said


def test_remedies_undeclared_name_may_be_switch(tmp_path):
    path = tmp_path / "a.cu"
    error = "use of undeclared identifier 'TILE'"
    for flags, switches in (((), ("TILE",)), (("-DTILE=2",), ())):
        source = Source("a", tmp_path, path, CompileOptions(flags=flags), {path: "float x[TILE];\n"})
        assert found(source, source.files, error).switches == switches


@pytest.mark.parametrize("condition", ["#if GPU", "#ifdef GPU", "#if defined(GPU) && defined(FAST)", "#if GPU || HIP"])
def test_remedies_error_directive_suggests_its_condition(tmp_path, condition):
    text = (
        f'{condition}\n#include <cub/cub.cuh>\n#elif WITH_ROCM\n#include <hipcub.h>\n#else\n#error "no GPU"\n#endif\n'
    )
    path = tmp_path / "a.cu"
    source = Source("a", tmp_path, path, CompileOptions(), {path: text})
    every = remedies(source, source.files, [Diagnostic('"no GPU"', ((str(path), 6, 2),))])
    assert {*every.switches} - {"FAST"} == {"GPU"}


def test_remedies_error_directive_suggests_named_macro(tmp_path):
    text = "#if GPU_BITS == 32\n#elif GPU_BITS == 64\n#else\n#error GPU_BITS must be 32 or 64\n#endif\n"
    path = tmp_path / "a.cu"
    source = Source("a", tmp_path, path, CompileOptions(), {path: text})
    every = remedies(source, source.files, [Diagnostic("GPU_BITS must be 32 or 64", ((str(path), 4, 2),))])
    assert {*every.switches} == {"GPU_BITS"}


def test_remedies_error_branch_is_not_suggested(tmp_path):
    text = (
        "#if defined(A) && defined(B)\n#error only one\n#elif defined(A)\n#elif defined(B)\n#else\n#error one\n#endif\n"
    )
    path = tmp_path / "a.cu"
    source = Source("a", tmp_path, path, CompileOptions(), {path: text})
    every = remedies(source, source.files, [Diagnostic("one", ((str(path), 6, 2),))])
    assert {*every.switches} == {"A"}


@pytest.mark.parametrize(("header", "path"), [("glm/glm.hpp", "deps/glm"), ("json.hpp", "deps/json")])
def test_remedies_header_of_submodule_suggests_checkout(tmp_path, header, path):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitmodules").write_text(f'[submodule "x"]\n\tpath = {path}\n\turl = ../x\n')
    error, source = f"'{header}' file not found", f'#include "{header}"\n'
    said = advice(tmp_path, error, a_cu=source)[header]
    assert said.startswith(f"{path} is a submodule that is not checked out: git -C ")
    assert said.endswith(f" submodule update --init {path}")
    assert advice(tmp_path, "'other/glm_json.hpp' file not found", a_cu=source) == {}
    (tmp_path / path).mkdir(parents=True)
    (tmp_path / path / "README").touch()
    assert advice(tmp_path, error, a_cu=source) == {}
