"""Runners of AMD's libraries whose calls are compiled: a small library instead of AMD's, on emulated HIP."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path

import numpy as np
import pytest

from parity.compilers import rocm
from parity.compilers.headers import available_headers
from parity.hip.library import environment
from parity.model.dtypes import dtype
from parity.runners import Computation, OpRunner, Probe, Unsupported, runner
from parity.runners import compiled_libraries as libraries
from parity.runners.hip_libraries import LibraryError

NAMES = ("miopen", "rocblas", "hipcub", "rocthrust", "rocrand")
CALLS = Path(libraries.__file__).with_name("library_calls")

needs_hip = pytest.mark.skipif(importlib.util.find_spec("hip") is None, reason="needs hip-python")


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    """Compile the library of the tests."""
    path = tmp_path_factory.mktemp("calls") / "calls.so"
    hip = Path(environment()["LD_LIBRARY_PATH"].split(":")[0])
    flags = (
        "-shared",
        "-fPIC",
        "-O1",
        "-std=c++17",
        "-D__HIP_PLATFORM_AMD__",
        f"-I{CALLS}",
        f"-I{available_headers().folder}",
    )
    source = Path(__file__).with_name("library_calls.cpp")
    command = ["g++", *flags, source, f"-L{hip}", "-lamdhip64", "-o", path]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return path


@pytest.fixture
def library(calls, monkeypatch):
    for name, value in environment(("gfx1100",)).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(libraries.CompiledLibrary, "built", lambda self, target, *dtypes: calls)
    return runner("rocblas")


def asked(x, op="affine", mul=2.0, add=0, shape=None):
    params = {"mul": np.float64(mul), "add": np.uint64(add)}
    return Computation(f"test.{op}", ("f32",), {"x": x}, params, dtype("f32"), x.shape if shape is None else shape)


X = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize("name", NAMES)
def test_compiled_library_is_op_runner(name):
    assert isinstance(runner(name), OpRunner)
    assert runner(name).name == name and (CALLS / f"{name}.cpp").is_file()


@needs_hip
@pytest.mark.parametrize("x", [X, X.T, X[:, ::2], X[::-1], X[:, 1:3], np.broadcast_to(X[:1], (5, 4))])
def test_compute_passes_tensors_with_any_strides(library, x):
    assert np.array_equal(library.compute("gfx1100", asked(x)), x * 2)


@needs_hip
def test_compute_passes_integers_exactly(library):
    assert np.array_equal(library.compute("gfx1100", asked(X, mul=0.5, add=2**63 + 5)), X * 0.5 + 3)


@needs_hip
def test_output_that_library_does_not_write_is_nan(library):
    assert np.isnan(library.compute("gfx1100", asked(X, op="nothing"))).all()


@needs_hip
def test_library_without_op_or_dtype_is_unsupported(library):
    with pytest.raises(Unsupported, match=r"^the library does not have test\.other$"):
        library.compute("gfx1100", asked(X, op="other"))
    with pytest.raises(Unsupported, match=r"^only f32$"):
        library.compute("gfx1100", asked(X.astype(np.float64)))


@needs_hip
@pytest.mark.parametrize(
    ("op", "says"), [("fails", "^hipErrorOutOfMemory: returned by something"), ("ends", "^crash: ")]
)
def test_error_affects_one_call_only(library, op, says):
    with pytest.raises(LibraryError, match=says):
        library.compute("gfx1100", asked(X, op=op))
    assert np.array_equal(library.compute("gfx1100", asked(X)), X * 2)


@needs_hip
def test_empty_result_needs_op_as_any_other(library):
    assert library.compute("gfx1100", asked(X[:0])).shape == (0, 4)
    with pytest.raises(Unsupported, match=r"^the library does not have test\.other$"):
        library.compute("gfx1100", asked(X[:0], op="other"))


def test_library_that_is_compiled_for_dtypes_refuses_others():
    with pytest.raises(Unsupported, match=r"^hipcub is not called for f8_e4m3$"):
        case = Computation("reduce.sum", ("f8_e4m3",), {"x": X}, {}, dtype("f32"), (3,))
        runner("hipcub").compute("gfx1100", case)


def test_tensor_has_strides_only_on_request():
    assert libraries._tensor("x", X.T).strides == (3, 1)
    found = libraries._tensor("x", X.T, strided=True)
    assert (found.shape, found.strides, found.data.nbytes) == ((4, 3), (1, 4), 48)
    assert libraries._tensor("x", X[:, ::-1], strided=True).strides == (4, 1)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of an installed ROCm without libraries."""
    installed = rocm.InstalledRocm(tmp_path, (7, 2), tmp_path / "bin/hipcc")
    monkeypatch.setattr(rocm, "find", lambda: installed)
    monkeypatch.setattr(libraries, "gpu_problem", lambda: None)
    return tmp_path / "include"


@pytest.mark.parametrize("name", NAMES)
def test_probe_requires_headers(folder, name):
    header = folder / runner(name).header
    assert runner(name).probe().reason == f"{header} not found"
    assert f"lib{name}-dev" in runner(name).probe().install
    header.parent.mkdir(parents=True)
    header.touch()
    assert runner(name).probe() == Probe(True)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("miopen", "#define MIOPEN_VERSION_MAJOR 3\n#define MIOPEN_VERSION_MINOR 5\n#define MIOPEN_VERSION_PATCH 1\n"),
        ("rocrand", "#define ROCRAND_VERSION 300501\n"),
    ],
)
def test_version_is_that_of_headers(folder, name, text):
    header = folder / runner(name).header
    header.parent.mkdir(parents=True)
    header.write_text(text)
    assert runner(name).version() == "3.5.1"
