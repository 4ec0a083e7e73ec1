"""Compilation with clang from the wheels, and errors for missing wheels."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

from parity.compilers import clang_flags, clang_version, device_library, errors, include, toolchain, zig
from parity.compilers.clang import Clang
from parity.compilers.targets import TARGETS, target
from parity.compilers.unit import Unit
from parity.errors import MissingTool

MATH = """
#include <hip/hip_runtime.h>
#line 1 "original.cu"
extern "C" __device__ float __ocml_tanh_f32(float);
extern "C" __global__ void k(float* x) {
    x[threadIdx.x] = __ocml_tanh_f32(x[threadIdx.x]);
}
"""


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "m.hip"
    path.write_text(MATH)
    return path


DEFAULT = ("gfx1100", "gfx90a")


@pytest.mark.parametrize(
    "name", [name if name in DEFAULT else pytest.param(name, marks=pytest.mark.thorough) for name in TARGETS]
)
def test_clang_compiles_and_assembles_for_target(source, name):
    listing, hsaco = source.with_suffix(".s"), source.with_suffix(".hsaco")
    Clang(target(name), toolchain.wheels()).compile_listing(Unit(source), listing)
    text = listing.read_text()
    assert f'.amdgcn_target "amdgcn-amd-amdhsa--{name}"' in text
    assert ".amdhsa_code_object_version 5" in text
    assert "s_swappc" not in text, "the library was not linked and inlined"
    assert "original.cu:3:" in text
    Clang(target(name), toolchain.wheels()).assemble(listing, hsaco)
    assert hsaco.read_bytes()[:4] == b"\x7fELF"
    assert b"k.kd\0" in hsaco.read_bytes()
    assert not list(source.parent.glob("*.o"))


def test_listing_does_not_depend_on_folder(source, tmp_path):
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / source.name).write_text(MATH)
    for path in (source, other / source.name):
        Clang(target("gfx1100"), toolchain.wheels()).compile_listing(Unit(path), path.with_suffix(".s"))
    text = source.with_suffix(".s").read_text()
    assert text == (other / source.name).with_suffix(".s").read_text()
    assert str(include.HEADERS) not in text


def test_precompiled_header_is_used_after_its_files_get_new_times(source):
    Clang(target("gfx1100"), toolchain.wheels()).compile_listing(Unit(source), source.with_suffix(".s"))
    header = include.HEADERS / "library_throws.h"
    times = header.stat()
    os.utime(header, (1, 1))
    try:
        Clang(target("gfx1100"), toolchain.wheels()).compile_listing(Unit(source), source.with_suffix(".s"))
    finally:
        os.utime(header, ns=(times.st_atime_ns, times.st_mtime_ns))


def test_precompiled_headers_are_shared_by_folders_and_unrelated_macros(source, monkeypatch):
    """Modules share them despite separate stub folders and macros that only the source uses."""
    read, run = [], zig.run

    def noted(arguments, **options):
        read.extend(str(each) for each in arguments if str(each).endswith(".pch"))
        return run(arguments, **options)

    monkeypatch.setattr(zig, "run", noted)
    for flags in ((), ("-idirafter", str(source.parent)), ("-DOF_NO_HEADER=1",)):
        Clang(target("gfx1100"), toolchain.wheels()).compile_listing(
            Unit(source, flags=flags), source.with_suffix(".s")
        )
    assert len(read) >= 3 and len(set(read[-3:])) == 1
    for flags in ((), ("-D__HIP_DISABLE_CPP_FUNCTIONS__",)):  # AMD's headers use this macro
        unit = Unit(source, flags=flags, forced=(include.HIP_RUNTIME,))
        Clang(target("gfx1100"), toolchain.wheels()).compile_listing(unit, source.with_suffix(".s"))
    assert len(set(read[-2:])) == 2


def test_compile_error_names_original_file(source):
    source.write_text(MATH.replace("tanh_f32(x[threadIdx.x])", "tanh_f32(undeclared)"))
    with pytest.raises(errors.CompileError) as caught:
        names = {"original.cu": "kernels/original.cu"}
        Clang(target("gfx1100"), toolchain.wheels()).compile_listing(
            Unit(source, originals=names), source.with_suffix(".s")
        )
    assert "module 'm' does not compile for gfx1100" in str(caught.value)
    assert "kernels/original.cu:3:38: error: use of undeclared identifier 'undeclared'" in str(caught.value)


REFUSED = """
#include <hip/hip_runtime.h>
#line 1 "original.cu"
__device__ void gone(int) __attribute__((error("no \\"such\\" thing")));
#line 7 "parity-include/lib.h"
__device__ inline void around(int x) { if (x) gone(x); }
#line 3 "original.cu"
__global__ void dead(int* x) { if (sizeof(*x) > 4) gone(1); *x = 1; }
__global__ void own(int* x) {
  gone(*x);
}
__global__ void brought(int* x) {
  around(*x);
}
"""


def test_refused_call_fails_before_code_generation(source, monkeypatch):
    """A refused call inside a header of parity is reported at the line of the source that causes it."""
    made = []
    monkeypatch.setattr(Clang, "_generate", made.append)
    source.write_text(REFUSED)
    with pytest.raises(errors.CompileError) as caught:
        Clang(target("gfx1100"), toolchain.wheels()).compile_listing(Unit(source), source.with_suffix(".s"))
    said = "error: call to 'gone' declared with 'error' attribute: no \"such\" thing"
    assert caught.value.log.splitlines() == [f"original.cu:5:3: {said}", f"original.cu:8:3: {said}"] and not made
    assert {path.suffix for path in source.parent.iterdir()} == {".hip", ".d"}


def test_assembler_error_is_reported(tmp_path):
    listing = tmp_path / "bad.s"
    listing.write_text("\tv_frobnicate_f32 v0, v1\n")
    with pytest.raises(errors.CompileError, match=r"(?s)module 'bad'.*invalid instruction"):
        Clang(target("gfx1100"), toolchain.wheels()).assemble(listing, tmp_path / "bad.hsaco")


def without(monkeypatch, package):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == package else find(name, *a))
    monkeypatch.delenv("ROCM_PATH", raising=False)


def test_missing_device_library_names_wheel(monkeypatch):
    without(monkeypatch, "quadrants")
    monkeypatch.setattr(device_library, "optional_files", lambda wheel: None)
    folders = list(device_library._library_folders(device_library.optional_files))
    monkeypatch.setattr(device_library, "_library_folders", lambda files: iter(f / "absent" for f in folders))
    with pytest.raises(MissingTool, match=r"ocml\.bc.*quadrants.*python -m pip install quadrants"):
        device_library.device_library()


def test_device_library_without_wheel_comes_from_rocm(monkeypatch, tmp_path):
    without(monkeypatch, "quadrants")
    monkeypatch.setattr(device_library, "optional_files", lambda wheel: None)
    folder = tmp_path / "amdgcn" / "bitcode"
    folder.mkdir(parents=True)
    (folder / "ocml.bc").write_text("")
    monkeypatch.setenv("ROCM_PATH", str(tmp_path))
    assert device_library.device_library() == folder
    with pytest.raises(MissingTool, match=r"ockl\.bc"):
        toolchain.wheels().fingerprint(target("gfx1100"))


def test_missing_compiler_names_wheel(monkeypatch):
    zig.zig.cache_clear()
    without(monkeypatch, "ziglang")
    monkeypatch.setattr(zig, "cached_files", lambda wheel: None)
    monkeypatch.setattr(zig, "optional_files", lambda wheel: None)
    with pytest.raises(MissingTool, match=r"ziglang.*python -m pip install 'ziglang==0\.17\.\*'"):
        toolchain.wheels().fingerprint(target("gfx1100"))


def test_device_library_without_package_is_extracted_from_wheel(monkeypatch, tmp_path):
    installed = device_library.library_files()
    without(monkeypatch, "quadrants")
    (tmp_path / "ocml.bc").write_text("")
    wheels = []
    monkeypatch.setattr(device_library, "optional_files", lambda wheel: wheels.append(wheel) or tmp_path)
    assert device_library.device_library() == tmp_path
    assert [each.project for each in wheels] == ["quadrants"]
    assert {Path(place).name for place in wheels[0].places} == {file.name for file in installed}
    monkeypatch.setattr(device_library, "cached_files", lambda wheel: None)
    assert device_library.present_library() is None


def test_device_library_is_found_without_import():
    device_library.device_library()
    assert "quadrants" not in sys.modules


def test_fingerprint_depends_on_target_and_compiler(monkeypatch):
    prints = {toolchain.wheels().fingerprint(t) for t in TARGETS.values()}
    assert len(prints) == len(TARGETS)
    monkeypatch.setattr(clang_version, "compiler_version", lambda: "ziglang 0.18")
    assert toolchain.wheels().fingerprint(target("gfx1100")) not in prints


def test_function_as_template_argument_is_mangled_like_nvcc(source):
    """Clang 18 and later mangle the type of such an argument (TnPF...) if it depends on another argument."""
    source.write_text(
        "#include <hip/hip_runtime.h>\n"
        "template <class T> __device__ T twice(T x) { return 2 * x; }\n"
        "template <class T, T (*F)(T)> __global__ void k(T* x) { *x = F(*x); }\n"
        "template __global__ void k<float, twice<float>>(float*);\n"
    )
    listing = source.with_suffix(".s")
    Clang(target("gfx1100"), toolchain.wheels()).compile_listing(Unit(source), listing)
    assert "\n_Z1kIfXadL_Z5twiceIfET_S1_EEEvPS1_:" in listing.read_text()


def test_intermediate_command_passes_contraction_to_compiler_proper():
    """The driver of clang 15, which ROCm 5.2 has, refuses the value."""
    command = [*clang_flags.intermediate_command(target("gfx1030"), ())]
    assert command[command.index("-ffp-contract=fast-honor-pragmas") - 1] == "-Xclang"
