"""The runners ``hipblas`` and ``hipblaslt``: matrix products by AMD's libraries on an AMD GPU, through hip-python.

A separate process calls the library. An error may persist until the process ends, and rocBLAS ends the process itself
if it does not have kernels for the GPU.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from parity.errors import Unsupported
from parity.model.launch import Computation, Fault
from parity.platform.installation import install_command
from parity.reference.expected import Vendor
from parity.runners.base import Evidence, Probe
from parity.runners.capabilities import UNKNOWN
from parity.runners.gemm import GemmOperand, GemmProduct, gemm_product
from parity.runners.gpu import max_workers, worker_number
from parity.runners.isolated import IsolatedSession
from parity.runners.redzone import Bytes
from parity.runners.rocm import HipCallError, HipDriver, HipMemory, gpu_problem, gpus, software

WORKSPACE_BYTES = 32 << 20
"""Maximum size in bytes of the workspace that hipBLASLt may request."""

SECONDS = 60.0
"""Time limit for one product in seconds. The first product loads the library's kernels."""

NAN = 0xFF
"""Initial value of every byte outside the operands, a NaN in all types: it reveals stray reads and missing writes."""

TYPES = {"f16": "HIP_R_16F", "bf16": "HIP_R_16BF", "f32": "HIP_R_32F", "f64": "HIP_R_64F"}
NOT_THERE = ("HIPBLAS_STATUS_NOT_SUPPORTED", "HIPBLAS_STATUS_ARCH_MISMATCH")
UNSUPPORTED = "unsupported"
"""The fault kind for a request that the library does not support, which is not a failure."""


class LibraryError(Exception):
    """A library call failed. The message has the name of the status and of the function."""


class HipLibrary:
    """A library of ROCm on AMD GPUs. A separate process calls it, through the class at the import path ``executor``."""

    name: str
    executor: str
    evidence = Evidence.LIBRARY
    vendor: Vendor = "amd"

    def __init__(self) -> None:
        self._sessions: dict[tuple[str, ...], IsolatedSession] = {}

    def probe(self) -> Probe:
        """Require hip-python, an AMD GPU with ROCm's driver, and the library."""
        raise NotImplementedError

    def targets(self) -> tuple[str, ...]:
        """Return the targets of the GPUs; empty without a GPU or without the library."""
        return tuple(dict.fromkeys(gpu.target for gpu in gpus())) if self.probe().available else ()

    def describe(self) -> dict[str, str]:
        """Describe the GPUs and the versions of driver, runtime, hip-python and the library."""
        return {**software(), self.name: self.version()}

    def version(self) -> str:
        """Return the version of the library."""
        raise NotImplementedError

    def max_workers(self, targets: Sequence[str]) -> int:
        """Return how many processes the GPUs of these targets serve at once."""
        return max_workers([gpu.memory for gpu in gpus() if gpu.target in targets])

    def new_session(self, target: str, *_: str) -> IsolatedSession:
        """Return a new session, whose process starts with the first call."""
        return _opened(self.executor, target)

    def call(self, where: tuple[str, ...], asked: Computation, method: str, *arguments: Any) -> np.ndarray[Any, Any]:
        """Call a method of the executor, which returns the bytes of the result.

        ``where`` are the arguments of ``new_session``: the target first.

        Raises:
            Unsupported: The library does not support the request.
            LibraryError: A library call or the process failed.
            NotAvailable: The GPU cannot be opened.
        """
        if where not in self._sessions:
            self._sessions[where] = self.new_session(*where)
        result = self._sessions[where].call(method, *arguments)
        if isinstance(result, Fault):
            if result.kind == UNSUPPORTED:
                raise Unsupported(result.message)
            raise LibraryError(f"{result.kind}: {result.message}")
        found: Bytes = result
        return found.view(asked.dtype.numpy).reshape(asked.shape)


class _BlasLibrary(HipLibrary):
    """A library that multiplies matrices of the given dtypes; sums of f16 and bf16 products are in f32."""

    dtypes: tuple[str, ...]

    def probe(self) -> Probe:
        """Require hip-python with its extra ``libraries``, an AMD GPU with ROCm's driver, and ROCm's library."""
        if problem := gpu_problem():
            return problem
        binding = _binding(self.name)
        if binding is None:
            missing = f"hip-python has no {self.name}: its extra 'libraries' is not installed"
            return Probe(False, missing, f"install it with: {install_command('rocm')}")
        try:
            self._load(binding)
        except Exception as error:
            install = (
                f"install {self.name} of ROCm with its development files (Debian, Ubuntu: lib{self.name}-dev), which "
                f"contain the name without a version; set ROCM_PATH or LD_LIBRARY_PATH if it is in another place"
            )
            return Probe(False, f"hip-python cannot load lib{self.name}.so ({error})", install)
        return Probe(True)

    def _load(self, binding: Any) -> None:
        """Make the binding load the library, through a call that fails without a handle.

        Creating a handle would occupy the GPU, or end the process.
        """
        raise NotImplementedError

    def version(self) -> str:
        """Return the version that the library states."""
        return _version(self.executor, gpus()[0].target)

    def compute(self, target: str, asked: Computation) -> np.ndarray[Any, Any]:
        """Compute the product of ``a`` (m, k) and ``b`` (k, n); see ``gemm.gemm_product`` for the supported layouts.

        Raises:
            Unsupported: The computation has another op, dtype or memory layout, or the library does not support it.
            LibraryError: A library call or the process failed.
            NotAvailable: The GPU cannot be opened.
        """
        wanted = gemm_product(asked, self.dtypes)
        if wanted.is_empty:  # libraries differ in whether they accept null pointers
            return np.zeros(asked.shape, asked.dtype.numpy)
        return self.call((target,), asked, "multiply", wanted)


class HipBlasRunner(_BlasLibrary):
    """Computes with ``hipblasGemmEx`` and its default algorithm."""

    name, executor = "hipblas", f"{__name__}:HipBlasDevice"
    dtypes = ("f16", "bf16", "f32", "f64")

    def _load(self, binding: Any) -> None:
        binding.hipblasSetStream(None, None)


class HipBlasLtRunner(_BlasLibrary):
    """Computes with ``hipblasLtMatmul`` and the algorithm that its heuristic ranks first."""

    name, executor = "hipblaslt", f"{__name__}:HipBlasLtDevice"
    dtypes = ("f16", "bf16", "f32")

    def _load(self, binding: Any) -> None:
        binding.hipblasLtGetVersion(None)


class _Device:
    """A library on a GPU, in the process that calls it.

    Raises:
        NotAvailable: This machine does not have a GPU of that target.
    """

    binding: str
    prefix: str
    """The prefix of the library's function names."""

    def __init__(self, target: str, worker: int = 0) -> None:
        self.driver = HipDriver(target, worker)
        self.hip, self.hipblas, self._functions = (_binding(name) for name in ("hip", "hipblas", self.binding))

    def multiply(self, wanted: GemmProduct) -> Bytes | Fault:
        """Return the bytes of a non-empty product, or a fault of kind ``UNSUPPORTED`` or with the name of the error."""
        try:
            return self._multiply(wanted)
        except Unsupported as reason:
            return Fault(UNSUPPORTED, str(reason))
        except (LibraryError, HipCallError) as error:
            name, _, story = str(error).partition(": ")
            return Fault(name, story, self.driver.is_lost())

    def _multiply(self, wanted: GemmProduct) -> Bytes:
        driver = self.driver
        left, right = (self._placed(matrix, wanted.itemsize) for matrix in (wanted.left, wanted.right))
        out = self._memory(wanted.nbytes)
        with self.create() as handle:
            self.enqueue(handle, wanted, left.address, right.address, out.address)
            return driver.download(out, wanted.nbytes)

    def enqueue(self, handle: Any, wanted: GemmProduct, left: int, right: int, out: int) -> None:
        """Multiply the matrices at these addresses on the driver's stream."""
        raise NotImplementedError

    def _placed(self, matrix: GemmOperand, itemsize: int) -> HipMemory:
        """Upload an operand. BLAS may read whole columns, so the memory includes the gap after the last column."""
        memory = self._memory(matrix.columns * matrix.leading * itemsize)
        self.driver.upload(memory, matrix.data)
        return memory

    def _memory(self, nbytes: int) -> HipMemory:
        memory = self.driver.allocate(nbytes)
        self.driver.fill(memory, NAN, nbytes)
        return memory

    def call(self, function: str, *arguments: Any) -> Any:
        """Call a library function, named without its prefix, and return its values without the status.

        Raises:
            Unsupported: The status says that the library does not support the request.
            LibraryError: Any other error status.
        """
        status, *values = getattr(self._functions, self.prefix + function)(*arguments)
        if status.name in NOT_THERE:
            raise Unsupported(f"{self.prefix}{function} returned {status.name}")
        if status.value:
            raise LibraryError(f"{status.name}: returned by {self.prefix}{function}")
        return values[0] if len(values) == 1 else tuple(values)

    @contextmanager
    def create(self, what: str = "", *arguments: Any) -> Iterator[Any]:
        """Create a library object, by default a handle, and destroy it at the end of the context."""
        made = self.call(f"{what}Create", *arguments)
        try:
            yield made
        except BaseException:
            # After an error this call may fail as well; its status must not hide the first error.
            getattr(self._functions, f"{self.prefix}{what}Destroy")(made)
            raise
        self.call(f"{what}Destroy", made)

    def type(self, dtype: str) -> Any:
        """Return the hipDataType of a dtype."""
        return getattr(self.hip.hipDataType, TYPES[dtype])

    def operation(self, matrix: GemmOperand) -> Any:
        """Return the hipblasOperation_t of an operand."""
        operations = self.hipblas.hipblasOperation_t
        return operations.HIPBLAS_OP_T if matrix.transposed else operations.HIPBLAS_OP_N


class HipBlasDevice(_Device):
    """hipBLAS on a GPU."""

    binding = prefix = "hipblas"

    def version(self) -> str:
        """Return the version of the library."""
        number = np.zeros(1, np.int32)
        with self.create() as handle:
            self.call("GetVersion", handle, number)
        return dotted(int(number[0]), 10_000)

    def enqueue(self, handle: Any, wanted: GemmProduct, left: int, right: int, out: int) -> None:
        """Implement ``_Device.enqueue``."""
        compute = self.hipblas.hipblasComputeType_t
        is_double = wanted.dtype == "f64"
        one, zero = (np.full(1, value, np.float64 if is_double else np.float32) for value in (1, 0))
        kind = self.type(wanted.dtype)
        self.call("SetStream", handle, self.driver.stream)
        self.call(
            "GemmEx", handle, self.operation(wanted.left), self.operation(wanted.right),
            wanted.rows, wanted.columns, wanted.inner,
            one, left, kind, wanted.left.leading, right, kind, wanted.right.leading,
            zero, out, kind, wanted.rows,
            compute.HIPBLAS_COMPUTE_64F if is_double else compute.HIPBLAS_COMPUTE_32F,
            self.hipblas.hipblasGemmAlgo_t.HIPBLAS_GEMM_DEFAULT,
        )  # fmt: skip


class HipBlasLtDevice(_Device):
    """hipBLASLt on a GPU."""

    binding, prefix = "hipblaslt", "hipblasLt"

    def version(self) -> str:
        """Return the version of the library."""
        with self.create() as handle:
            return dotted(self.call("GetVersion", handle), 100_000)

    def enqueue(self, handle: Any, wanted: GemmProduct, left: int, right: int, out: int) -> None:
        """Implement ``_Device.enqueue``, and wait for the result because the workspace is freed on return."""
        one, zero = np.ones(1, np.float32), np.zeros(1, np.float32)
        with ExitStack() as stack:
            operation = stack.enter_context(self._operation(wanted))
            layouts = [stack.enter_context(layout) for layout in self._layouts(wanted)]
            algorithm = self._algorithm(handle, wanted, operation, layouts)
            size = algorithm.workspaceSize
            workspace = self.driver.allocate(size) if size else None
            a, b, d = layouts
            self.call(
                "Matmul", handle, operation, one, left, a, right, b, zero, out, d, out, d,
                algorithm.algo, workspace and workspace.address, size, self.driver.stream,
            )  # fmt: skip
            self.driver.synchronize()

    @contextmanager
    def _operation(self, wanted: GemmProduct) -> Iterator[Any]:
        """Create the description of a product: the types of sums and scalars, and the transposed operands."""
        attributes = self._functions.hipblasLtMatmulDescAttributes_t
        single = self.hipblas.hipblasComputeType_t.HIPBLAS_COMPUTE_32F
        with self.create("MatmulDesc", single, self.type("f32")) as description:
            for attribute, matrix in (
                (attributes.HIPBLASLT_MATMUL_DESC_TRANSA, wanted.left),
                (attributes.HIPBLASLT_MATMUL_DESC_TRANSB, wanted.right),
            ):
                value = np.full(1, self.operation(matrix).value, np.int32)
                self.call("MatmulDescSetAttribute", description, attribute, value, value.nbytes)
            yield description

    def _layouts(self, wanted: GemmProduct) -> list[Any]:
        """Return the layouts of operands and result as contexts to enter."""
        places = [(matrix.rows, matrix.columns, matrix.leading) for matrix in (wanted.left, wanted.right)]
        places.append((wanted.rows, wanted.columns, wanted.rows))
        return [self.create("MatrixLayout", self.type(wanted.dtype), *place) for place in places]

    def _algorithm(self, handle: Any, wanted: GemmProduct, operation: Any, layouts: Sequence[Any]) -> Any:
        """Return the heuristic's first result.

        Raises:
            Unsupported: The heuristic has no result.
        """
        a, b, d = layouts
        found = self._functions.hipblasLtMatmulHeuristicResult_t()
        limit = self._functions.hipblasLtMatmulPreferenceAttributes_t.HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES
        value = np.full(1, WORKSPACE_BYTES, np.uint64)
        with self.create("MatmulPreference") as preference:
            self.call("MatmulPreferenceSetAttribute", preference, limit, value, value.nbytes)
            count = self.call("MatmulAlgoGetHeuristic", handle, operation, a, b, d, d, preference, 1, found)
        if not count or int(found.state):
            raise Unsupported(f"the heuristic of hipBLASLt has no algorithm for {wanted}")
        return found


def _opened(executor: str, target: str) -> IsolatedSession:
    return IsolatedSession(executor, (target, worker_number()), launch_seconds=SECONDS)


@functools.cache  # a run describes its columns several times, and each call starts a process
def _version(executor: str, target: str) -> str:
    """Return the version of a library, or ``UNKNOWN`` with the reason."""
    session = _opened(executor, target)
    version = session.call("version")
    session.close()
    if not isinstance(version, Fault):
        return str(version)
    reason, _, _ = version.message.partition("\n")
    return f"{UNKNOWN}: {reason}"


def _binding(name: str) -> Any:
    """Return a module of hip-python; None if its wheel is not installed."""
    return getattr(__import__("hip", fromlist=[name]), name, None)


def dotted(version: int, major: int) -> str:
    """Convert 10203 into "1.2.3", with ``major`` = 10000."""
    return f"{version // major}.{version % major // 100}.{version % 100}"
