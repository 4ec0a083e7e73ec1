"""The HIP runtime on the emulator: memory, modules, sticky errors and planted faults."""

from __future__ import annotations

import struct

import pytest

from parity.build.modules import build
from parity.errors import UsageError
from parity.hip import runtime as module
from parity.hip.faults import PlantedFault
from parity.hip.library import hip_errors
from parity.hip.runtime import Runtime

NUMBERS = {name: number for number, name, _ in hip_errors()}
KERNEL = """
extern "C" __global__ void twice(const unsigned char* x, unsigned* out) { out[threadIdx.x] = 2 * x[threadIdx.x]; }
extern "C" __global__ void endless(const unsigned char* x, volatile unsigned* out) { while (true) out[0] = 1; }
"""


@pytest.fixture
def runtime():
    return Runtime(["gfx1100", "gfx90a"], 1 << 20)


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "twice.cu").write_text(KERNEL)
    (built,) = build(folder, targets=["gfx1100"])
    return built.code_object.binary.read_bytes()


def do(runtime, action, *arguments, data=b"", device=0, error="hipSuccess", api="hipSomething"):
    number, value, result = runtime.perform(api, action, device, [*arguments, *[0] * (12 - len(arguments))], data)
    assert number == NUMBERS[error]
    return result or value


def launch(runtime, image, x, out, kernel=b"twice"):
    module = do(runtime, "load", data=image)
    runtime_handles = runtime.perform("hipModuleGetFunction", "find", 0, [module], kernel)
    size, count, *places = struct.unpack("<6I", runtime_handles[2])
    assert (size, count, places) == (16, 2, [0, 8, 8, 8])
    do(runtime, "launch", runtime_handles[1], 1, 1, 1, 4, 1, 1, 0, 0, data=struct.pack("<2Q", x, out))


def test_kernel_works_on_uploaded_memory(runtime, image):
    x, out = do(runtime, "allocate", 4), do(runtime, "allocate", 16)
    do(runtime, "upload", x, data=bytes([1, 2, 3, 4]))
    launch(runtime, image, x, out)
    assert struct.unpack("<4I", do(runtime, "download", out, 16)) == (2, 4, 6, 8)
    assert struct.unpack("<2I", do(runtime, "download", out + 4, 8)) == (4, 6)


def test_kernel_error_is_sticky(runtime, image, capfd):
    x, out = do(runtime, "allocate", 3), do(runtime, "allocate", 16)
    do(runtime, "upload", x, data=bytes(3))
    launch(runtime, image, x, out)
    do(runtime, "synchronize", error="hipErrorIllegalAddress")
    do(runtime, "allocate", 1, error="hipErrorIllegalAddress")
    told = capfd.readouterr().err
    assert told.count("out-of-bounds read of 1 bytes in kernel 'twice' at twice.cu:2") == 1
    assert "of buffer 'allocation 1 of 3 bytes'" in told


def test_endless_kernel_times_out(image, monkeypatch, capfd):
    monkeypatch.setattr(module, "INSTRUCTIONS", 10_000)
    runtime = Runtime(["gfx1100"], 1 << 20)
    launch(runtime, image, 0, do(runtime, "allocate", 16), b"endless")
    do(runtime, "synchronize", error="hipErrorLaunchTimeOut")
    assert "endless" in capfd.readouterr().err


@pytest.mark.parametrize(("old", "size", "memory", "wavefront"), [(0, 1472, 288, 308), (1, 792, 256, 276)])
def test_properties_match_layout_of_hip_version(runtime, old, size, memory, wavefront):
    found = do(runtime, "properties", 1, old)
    assert (len(found), found[: found.index(0)]) == (size, b"parity's emulator (gfx90a)")
    assert struct.unpack_from("<Q", found, memory) == (1 << 20,)
    assert struct.unpack_from("<i", found, wavefront) == (64,)
    do(runtime, "properties", 2, old, error="hipErrorInvalidDevice")


@pytest.mark.parametrize(("freed", "says"), [(None, "never-written read"), (0, "of-bounds read"), (1, "bounds write")])
def test_unwritten_or_freed_memory_is_fault(runtime, image, capfd, freed, says):
    places = do(runtime, "allocate", 4), do(runtime, "allocate", 16)
    if freed is not None:
        do(runtime, "upload", places[0], data=bytes(4))
        do(runtime, "free", places[freed])
    launch(runtime, image, *places)
    do(runtime, "synchronize", error="hipErrorIllegalAddress")
    assert says in capfd.readouterr().err


def test_copies_and_fills_write_memory(runtime):
    a, b = do(runtime, "allocate", 8), do(runtime, "allocate", 8)
    do(runtime, "fill", a, 0x01020304, 4, 2)
    do(runtime, "fill", a + 1, 0xFFFF_FFFF_FFFF_FFFF, 1, 2)
    do(runtime, "copy", b, a, 8)
    assert do(runtime, "download", b, 8) == bytes([4, 255, 255, 1, 4, 3, 2, 1])
    for action, arguments in (
        ("download", (b, 9)),
        ("fill", (a + 7, 0, 1, 2)),
        ("copy", (a, b + 4, 8)),
        ("free", (a + 1,)),
    ):
        do(runtime, action, *arguments, error="hipErrorInvalidValue")


def test_freed_memory_is_available_again(runtime):
    kept = do(runtime, "allocate", 64)
    for _ in range(100):
        do(runtime, "free", do(runtime, "allocate", 600_000))
    do(runtime, "allocate", 1 << 20, error="hipErrorOutOfMemory")
    left, total = struct.unpack("<2Q", do(runtime, "memory"))
    assert (total - left, total) == (64, 1 << 20)
    do(runtime, "free", kept)
    do(runtime, "free", kept, error="hipErrorInvalidValue")
    do(runtime, "free", 0)


def test_handle_of_other_kind_is_refused(runtime, image):
    stream, event, module = do(runtime, "make_stream"), do(runtime, "make_event"), do(runtime, "load", data=image)
    do(runtime, "record", event, stream)
    do(runtime, "record", stream, event, error="hipErrorInvalidHandle")
    do(runtime, "elapsed", event, do(runtime, "make_event"), error="hipErrorInvalidHandle")
    do(runtime, "find", event, data=b"twice", error="hipErrorInvalidHandle")
    do(runtime, "find", module, data=b"thrice", error="hipErrorNotFound")
    do(runtime, "destroy", module)
    do(runtime, "find", module, data=b"twice", error="hipErrorInvalidHandle")
    do(runtime, "load", data=image, device=1, error="hipErrorNoBinaryForGpu")


GLOBALS = """
__constant__ float weights[4];
namespace ops { __device__ int counter = 7; }
extern "C" __global__ void weighted(const unsigned char* x, float* out) {
    out[threadIdx.x] = x[threadIdx.x] * weights[threadIdx.x];
    if (threadIdx.x == 0) ops::counter += 1;
}
"""


def test_module_variable_is_found_written_and_read(runtime, tmp_path, capfd):
    (tmp_path / "weighted.cu").write_text(GLOBALS)
    (built,) = build(tmp_path, targets=["gfx1100"])
    image = built.code_object.binary.read_bytes()
    x, out = do(runtime, "allocate", 4), do(runtime, "allocate", 16)
    do(runtime, "upload", x, data=bytes([1, 2, 3, 4]))
    handle = do(runtime, "load", data=image)

    def place(name, error="hipSuccess"):
        number, address, size = runtime.perform("hipModuleGetGlobal", "global", 0, [handle], name)
        assert number == NUMBERS[error]
        return (address, *struct.unpack("<Q", size)) if not number else None

    weights, size = place(b"weights")
    counter, four = place(b"_ZN3ops7counterE")
    assert (size, four) == (16, 4)
    do(runtime, "upload", weights, data=struct.pack("<2f", 0.5, 0.25))
    do(runtime, "copy", weights + 8, weights, 8)
    launch(runtime, image, x, out, b"weighted")
    assert struct.unpack("<4f", do(runtime, "download", out, 16)) == (0.5, 0.5, 1.5, 1.0)
    assert do(runtime, "download", counter, 4) == struct.pack("<i", 8)
    do(runtime, "download", weights + 8, 9, error="hipErrorInvalidValue")
    do(runtime, "free", weights, error="hipErrorInvalidValue")
    place(b"weight", "hipErrorNotFound")
    assert "module 'weighted' has no variable 'weight'; did you mean weights" in capfd.readouterr().err
    place(b"ops::counter", "hipErrorNotFound")  # HIP looks up symbols only


def test_module_variables_live_as_long_as_module(runtime, tmp_path):
    (tmp_path / "weighted.cu").write_text(GLOBALS)
    (built,) = build(tmp_path, targets=["gfx1100"])
    image = built.code_object.binary.read_bytes()
    for _ in range(2):
        module = do(runtime, "load", data=image)
        _, counter, _ = runtime.perform("hipModuleGetGlobal", "global", 0, [module], b"_ZN3ops7counterE")
        assert do(runtime, "download", counter, 4) == struct.pack("<i", 7)
        do(runtime, "fill", counter, 0, 1, 4)
        do(runtime, "destroy", module)
        do(runtime, "download", counter, 4, error="hipErrorInvalidValue")


def test_planted_fault_occurs_at_its_call(image):
    runtime = Runtime(["gfx1100"], 1 << 20, [PlantedFault.parse("hipMalloc=hipErrorOutOfMemory@2")])
    for error in ("hipSuccess", "hipErrorOutOfMemory", "hipSuccess"):
        do(runtime, "allocate", 1, api="hipMalloc", error=error)
        do(runtime, "allocate", 1, api="hipMallocAsync")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("hipMalloc", "write API=ERROR"),
        ("=hipErrorUnknown", "write API=ERROR"),
        ("hipMalloc=hipErrorUnknown@0", "write API=ERROR"),
        ("hipMalloc=hipErrorOutOfMemry", "did you mean hipErrorOutOfMemory"),
    ],
)
def test_invalid_planted_fault_is_refused(text, says):
    with pytest.raises(UsageError, match=says):
        PlantedFault.parse(text)
