"""The choice between a real library and its stub."""

import os

import pytest

from parity.build.modules import build
from parity.build.settings import BuildCallbacks
from parity.compilers import clang_flags, toolchain
from parity.compilers.clang import Clang
from parity.compilers.headers import available_headers
from parity.compilers.toolchain import ROCM
from parity.platform.files import read_table
from parity.porting.stubs import LIBRARIES, POLICY, TABLE, choose, libraries, library_of, stub_for

KERNEL = """#include <rocwmma/rocwmma.hpp>
extern "C" __global__ void k(float* y) { y[threadIdx.x] = ANSWER; }
"""


@pytest.fixture
def rocm(tmp_path, monkeypatch):
    """Install a simulated ROCm and return its only rocWMMA header, which tests may rewrite."""
    header = tmp_path / "rocm" / "include" / "rocwmma" / "rocwmma.hpp"
    header.parent.mkdir(parents=True)
    header.write_text("#pragma once\n#define ANSWER 42.0f\n")
    monkeypatch.setenv("ROCM_PATH", str(tmp_path / "rocm"))
    monkeypatch.setenv(POLICY, "auto")
    return header


def built(folder, text, cache):
    (folder / "kernels").mkdir()
    (folder / "kernels" / "m.cu").write_text(text)
    (one,) = build(folder / "kernels", targets=["gfx1100"], cache=cache)
    return one


def test_tables_name_the_same_libraries():
    assert {row["library"] for row in read_table(TABLE)} == {row["name"] for row in read_table(LIBRARIES)}
    assert all(library.stub_used and (bool(library.place) == bool(library.header)) for library in libraries())


def test_library_of_stub_header_is_library_of_its_row():
    assert stub_for("thrust/pair.h").header == "parity/thrust.h"
    assert library_of("parity/thrust_random.h") == library_of("parity/thrust.h") == "Thrust"


def test_choose_without_real_headers_uses_stub(tmp_path, monkeypatch):
    monkeypatch.setenv("ROCM_PATH", str(tmp_path))
    assert "rocwmma/rocwmma.hpp" in choose(["rocwmma/rocwmma.hpp", "vector"]).stubs


def test_choose_prefers_installed_real_headers(rocm):
    choice = choose(["rocwmma/rocwmma.hpp", "vector"])
    assert not choice.stubs
    assert {library.name: path for library, path in choice.real.items()} == {"rocWMMA": (rocm.parents[1],)}


@pytest.mark.parametrize(
    ("headers", "stubbed", "policy"),
    [
        pytest.param(["rocwmma/rocwmma.hpp"], ["rocWMMA"], "auto", id="headers do not compile"),
        pytest.param(["rocwmma/rocwmma.hpp", "rocwmma/rocwmma_coop.hpp"], [], "auto", id="a header is missing"),
        pytest.param(["rocwmma/rocwmma.hpp"], [], "always", id="policy always"),
    ],
)
def test_choose_unusable_real_headers_uses_stub(headers, stubbed, policy, rocm, monkeypatch):
    monkeypatch.setenv(POLICY, policy)
    choice = choose(headers, stubbed)
    assert not choice.real and [*choice.stubs] == headers


def test_build_with_real_headers_reports_them(rocm, wheels, tmp_path, cache):
    one = built(tmp_path, KERNEL, cache)
    assert (one.error, one.translation.stubs, one.translation.stubbed) == (None, (), ())
    assert one.translation.libraries == (f"rocWMMA ({rocm.parents[1]})",)


@pytest.mark.parametrize("has", [True, False], ids=["of the named root", "not in the named root"])
def test_build_with_named_rocm_uses_only_its_libraries(has, rocm, wheels, tmp_path, cache, monkeypatch):
    """Libraries of another version of ROCm than the headers' are not used."""
    root, headers = tmp_path / "root", available_headers()
    if headers is None:
        pytest.skip("needs AMD's headers")
    (root / "include").mkdir(parents=True)
    (root / "include" / "hip").symlink_to(headers.folder / "hip")
    if has:
        (root / "include" / "rocwmma").mkdir()
        (root / "include" / "rocwmma" / "rocwmma.hpp").write_text("#pragma once\n#define ANSWER 5.0f\n")
    monkeypatch.setenv(ROCM, str(root))
    one = built(tmp_path, KERNEL if has else KERNEL.replace("ANSWER", "1.0f"), cache)
    assert one.error is None and one.translation.stubs == (() if has else ("rocwmma/rocwmma.hpp",))
    assert one.translation.libraries == ((f"rocWMMA ({root / 'include'})",) if has else ())


def test_build_with_changed_real_headers_recompiles(rocm, wheels, tmp_path, cache):
    text = KERNEL.replace("ANSWER", "ANSWER + 1.0f")
    first = built(tmp_path, text, cache)
    rocm.write_text("#pragma once\n#define ANSWER 7.0f\n")
    os.utime(rocm, ns=(1, 1))
    (tmp_path / "kernels" / "m.cu").unlink()
    (tmp_path / "kernels").rmdir()
    assert first.code_object.digest != built(tmp_path, text, cache).code_object.digest


@pytest.mark.parametrize("text", ["#error of no use", "int broken = ;"], ids=["refuses", "does not parse"])
def test_build_with_unusable_real_headers_falls_back_to_stub(text, rocm, wheels, tmp_path, cache):
    rocm.write_text(f"#pragma once\n{text}\n")
    one = built(tmp_path, KERNEL.replace("ANSWER", "1.0f"), cache)
    assert (one.error, one.translation.stubs, one.translation.libraries) == (None, ("rocwmma/rocwmma.hpp",), ())
    (finding,) = one.translation.stubbed
    assert finding.name == "rocWMMA" and "do not compile for gfx1100" in finding.advice


def test_build_uses_stub_of_host_library_even_if_compiler_finds_real_one(wheels, tmp_path, cache, monkeypatch):
    """An installed ROCm finds its own hipBLAS, whose types conflict with those that torch's stub declares."""
    installed = tmp_path / "include" / "hipblas" / "hipblas.h"
    installed.parent.mkdir(parents=True)
    installed.write_text(
        "#pragma once\ntypedef enum { HIPBLAS_OP_N = 111 } hipblasOperation_t;\ntypedef void* hipblasHandle_t;\n"
    )
    headers = clang_flags.header_options

    def with_installed(target, flags, found):
        return ("-isystem", installed.parents[1], *headers(target, flags, found))

    monkeypatch.setattr(toolchain, "header_options", with_installed)
    text = "#include <cublas_v2.h>\n#include <torch/extension.h>\n" + KERNEL.partition("\n")[2].replace(
        "ANSWER", "1.0f"
    )
    one = built(tmp_path, text, cache)
    assert one.error is None and "hipblas/hipblas.h" in one.translation.stubs


def test_broken_library_is_found_with_one_compilation_and_remembered(rocm, wheels, tmp_path, cache, monkeypatch):
    rocm.write_text('#pragma once\n#include "internal/missing.hpp"\n')
    checks, check = [], Clang.check
    monkeypatch.setattr(Clang, "check", lambda self, unit: checks.append(unit) or check(self, unit))
    retried = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "m.cu").write_text(KERNEL.replace("ANSWER", f"{len(name)}.0f /* {name} */"))
        callbacks = BuildCallbacks(retrying=retried.append)
        (one,) = build(tmp_path / name, targets=["gfx1100"], cache=cache, progress=callbacks)
        (finding,) = one.translation.stubbed
        assert one.error is None and "'internal/missing.hpp' file not found" in finding.advice
    assert len(checks) == 1 and not retried


def test_build_uses_stub_of_broken_library_even_if_compiler_finds_it(rocm, wheels, tmp_path, cache, monkeypatch):
    rocm.write_text('#pragma once\n#include "internal/missing.hpp"\n')
    headers = clang_flags.header_options

    def with_installed(target, flags, found):
        return ("-isystem", rocm.parents[1], *headers(target, flags, found))

    monkeypatch.setattr(toolchain, "header_options", with_installed)
    one = built(tmp_path, KERNEL.replace("ANSWER", "1.0f"), cache)
    assert one.error is None and one.translation.stubs == ("rocwmma/rocwmma.hpp",)


def test_build_that_fails_with_both_reports_source_error(rocm, wheels, tmp_path, cache):
    one = built(tmp_path, KERNEL.replace("ANSWER", "unknown"), cache)
    assert "unknown" in str(one.error) and "m.cu:2" in str(one.error)
