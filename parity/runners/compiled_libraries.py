"""Runners of AMD's libraries that hip-python lacks: MIOpen, rocBLAS, rocRAND, rocThrust, and hipCUB with rocPRIM.

Each library has a C++ source in ``library_calls`` with a table of functions by op. hipcc compiles it when it is first
used. A separate process loads it and passes tensors and parameters by name.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from parity.compilers import rocm
from parity.errors import ParityError, Unsupported
from parity.model.dtypes import array_dtype
from parity.model.launch import Computation, Fault
from parity.platform.cache import Cache, default_root, digest
from parity.runners.base import Probe, missing_tool_probe
from parity.runners.gemm import span
from parity.runners.gpu import worker_number
from parity.runners.hip_libraries import NAN, UNSUPPORTED, HipLibrary, dotted
from parity.runners.isolated import IsolatedSession
from parity.runners.redzone import Bytes
from parity.runners.rocm import HipCallError, HipDriver, HipMemory, gpu_problem

SECONDS = 300.0
"""Time limit of each call in seconds. MIOpen compiles kernels within calls."""

_SOURCES = Path(__file__).with_name("library_calls")
_HEADER = _SOURCES / "call.h"
_VERSION = re.compile(r"^#define \w+_VERSION(?:_MAJOR|_MINOR|_PATCH)? +(\d+)$", re.MULTILINE)


class CompiledLibrary(HipLibrary):
    """A library whose calls are in ``library_calls/NAME.cpp``.

    ``header`` defines the library's version, ``linked`` names it for the linker (empty: headers only), and ``package``
    is Debian's package. With ``strided``, it takes tensors with their strides, otherwise contiguous ones. If ``types``
    has types of C++ by dtype, the calls are compiled for one dtype at a time, as ``TYPE``.
    """

    executor = f"{__name__}:LibraryDevice"
    header: str
    linked: str
    package: str
    strided = False
    types: Mapping[str, str] = MappingProxyType({})

    def probe(self) -> Probe:
        """Require hip-python, an AMD GPU with ROCm's driver, ROCm's compiler, and the library with its headers."""
        if problem := gpu_problem() or missing_tool_probe(rocm.find):
            return problem
        header = rocm.find().include / self.header
        install = f"install {self.name} of ROCm with its development files (Debian, Ubuntu: {self.package})"
        return Probe(True) if header.is_file() else Probe(False, f"{header} not found", install)

    def version(self) -> str:
        """Return the version that the headers state."""
        numbers = _VERSION.findall((rocm.find().include / self.header).read_text(errors="replace"))
        if len(numbers) == 1:
            return dotted(int(numbers[0]), 100_000)
        return ".".join(numbers[-3:])

    def new_session(self, target: str, *dtypes: str) -> IsolatedSession:
        arguments = (target, worker_number(), str(self.built(target, *dtypes)))
        return IsolatedSession(self.executor, arguments, launch_seconds=SECONDS)

    def built(self, target: str, *dtypes: str) -> Path:
        """Return the library of calls for a target and, if the calls need it, a dtype. Compiles it unless it is cached.

        Raises:
            MissingTool: ROCm is not installed.
            ParityError: The source does not compile.
        """
        source, compiler = _SOURCES / f"{self.name}.cpp", rocm.find()
        linked = [f"-l{self.linked}"] if self.linked else []
        defined = [f"-DTYPE={self.types[dtype]}" for dtype in dtypes]
        flags = ["-O2", "-std=c++17", "-shared", "-fPIC", f"--offload-arch={target}", *defined]

        def compile_library(folder: Path) -> None:
            result = compiler.run(["hipcc", *flags, "-x", "hip", source, "-o", folder / "calls.so", *linked])
            if result.returncode:
                raise ParityError(f"the calls of {self.name} do not compile:\n{result.stderr}")

        key = digest(str(compiler), self.version(), *flags, *linked, source.read_bytes(), _HEADER.read_bytes())
        folder, _ = Cache(default_root() / "libraries").get(key, compile_library)
        return folder / "calls.so"

    def compute(self, target: str, asked: Computation) -> np.ndarray[Any, Any]:
        """Compute a case.

        Raises:
            Unsupported: The library does not have the op, or not for these dtypes, shapes or parameters.
            LibraryError: A library call or the process failed.
            NotAvailable: The GPU cannot be opened.
        """
        tensors = [_tensor(name, array, self.strided) for name, array in asked.inputs.items()]
        poison = np.full(asked.dtype.itemsize * math.prod(asked.shape), NAN, np.uint8).view(asked.dtype.numpy)
        out = _tensor("out", poison.reshape(asked.shape))
        params = {
            name: (float(value), int(value) if value.dtype.kind in "ui" else 0) for name, value in asked.params.items()
        }
        dtype = asked.dtypes[0] if asked.dtypes else asked.dtype.name
        if self.types and dtype not in self.types:
            raise Unsupported(f"{self.name} is not called for {dtype}")
        where = (target, dtype) if self.types else (target,)
        return self.call(where, asked, "compute", asked.op, tensors, out, params)


class MiopenRunner(CompiledLibrary):
    """Convolution, pooling, softmax, activation, normalization, reduction and binary ops."""

    name, header, linked, package = "miopen", "miopen/version.h", "MIOpen", "libmiopen-dev"


class RocBlasRunner(CompiledLibrary):
    """Matrix products: ``rocblas_gemm_ex``, ``_batched_ex`` and ``_strided_batched_ex``."""

    name, header, linked, package = "rocblas", "rocblas/internal/rocblas-version.h", "rocblas", "librocblas-dev"
    strided = True


class RocRandRunner(CompiledLibrary):
    """Random numbers by the generators of the host interface."""

    name, header, linked, package = "rocrand", "rocrand/rocrand_version.h", "rocrand", "librocrand-dev"


class HipCubRunner(CompiledLibrary):
    """Sort, scan and reduce."""

    name, header, linked, package = "hipcub", "hipcub/hipcub_version.hpp", "", "libhipcub-dev"
    types = MappingProxyType(
        {
            "u8": "uint8_t", "u32": "uint32_t", "i64": "int64_t",
            "f16": "__half", "bf16": "hip_bfloat16", "f32": "float", "f64": "double",
        }
    )  # fmt: skip


class RocThrustRunner(CompiledLibrary):
    """Sort, scan and reduce. Each row of a tensor is a call."""

    name, header, linked, package = "rocthrust", "thrust/rocthrust_version.hpp", "", "librocthrust-dev"
    types = MappingProxyType({name: HipCubRunner.types[name] for name in ("u8", "u32", "i64", "f32", "f64")})


@dataclass(frozen=True)
class Tensor:
    """A tensor: the bytes from its first element to its last, its shape, and its strides in elements."""

    name: str
    dtype: str
    data: Bytes
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class LibraryDevice:
    """A compiled library on a GPU, in the process that calls it.

    Raises:
        NotAvailable: This machine does not have a GPU of that target.
    """

    def __init__(self, target: str, worker: int, path: str) -> None:
        self.driver = HipDriver(target, worker)
        self._call = ctypes.CDLL(path).parity_call
        self._call.restype = ctypes.c_char_p

    def compute(
        self, op: str, inputs: Sequence[Tensor], out: Tensor, params: Mapping[str, tuple[float, int]]
    ) -> Bytes | Fault:
        """Return the bytes of the result, or a fault of kind ``UNSUPPORTED`` or with the name of the error."""
        try:
            tensors = [*inputs, out]
            memories = [self._placed(tensor) for tensor in tensors]
            places = [_TensorStruct.of(*each) for each in zip(tensors, [m.address for m in memories], strict=True)]
            values = [_ParamStruct(name.encode(), *value) for name, value in params.items()]
            call = _CallStruct(
                op.encode(), (_TensorStruct * len(places))(*places), len(places),
                (_ParamStruct * len(values))(*values), len(values), int(self.driver.stream),
            )  # fmt: skip
            error = self._call(ctypes.byref(call))
            if error is None:
                return self.driver.download(memories[-1], out.data.nbytes)
            text = error.decode(errors="replace")
        except HipCallError as failed:
            text = str(failed)
        name, _, story = text.partition(": ")
        return Fault(name, story, name != UNSUPPORTED and self.driver.is_lost())

    def _placed(self, tensor: Tensor) -> HipMemory:
        """Upload a tensor. The output has NaN or large integers, which show missing writes."""
        memory = self.driver.allocate(max(1, tensor.data.nbytes))
        self.driver.upload(memory, tensor.data)
        return memory


class _TensorStruct(ctypes.Structure):
    """``Tensor`` of call.h."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_char_p),
        ("data", ctypes.c_void_p),
        ("rank", ctypes.c_int64),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
    )

    @classmethod
    def of(cls, tensor: Tensor, address: int) -> _TensorStruct:
        """Describe a tensor in device memory."""
        rank = len(tensor.shape)
        shape, strides = ((ctypes.c_int64 * rank)(*each) for each in (tensor.shape, tensor.strides))
        return cls(tensor.name.encode(), tensor.dtype.encode(), address, rank, shape, strides)


class _ParamStruct(ctypes.Structure):
    """``Param`` of call.h."""

    _fields_ = (("name", ctypes.c_char_p), ("value", ctypes.c_double), ("bits", ctypes.c_uint64))


class _CallStruct(ctypes.Structure):
    """``Call`` of call.h."""

    _fields_ = (
        ("op", ctypes.c_char_p),
        ("tensors", ctypes.POINTER(_TensorStruct)),
        ("tensor_count", ctypes.c_int64),
        ("params", ctypes.POINTER(_ParamStruct)),
        ("param_count", ctypes.c_int64),
        ("stream", ctypes.c_void_p),
    )


def _tensor(name: str, array: np.ndarray[Any, Any], strided: bool = False) -> Tensor:
    """Describe an array: with its strides, if possible and if ``strided``, otherwise as a contiguous one."""
    if not strided or any(stride < 0 or stride % array.itemsize for stride in array.strides):
        array = np.asarray(array, order="C")
    strides = tuple(stride // array.itemsize for stride in array.strides)
    return Tensor(name, array_dtype(array).name, span(array), array.shape, strides)
