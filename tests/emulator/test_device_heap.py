"""Memory that kernels allocate: ``malloc`` and ``free``, ``new`` and ``delete``, on AMD targets and as PTX."""

from pathlib import Path

import numpy as np
import pytest

from parity.build.modules import build
from parity.emulator.amdgpu.device import AmdgpuDevice
from parity.emulator.amdgpu.kernarg import pack
from parity.emulator.device import Device
from parity.emulator.faults import MemoryFault, NotAllocated
from parity.emulator.ptx.device import PtxDevice

SHAPES = (Path(__file__).parents[1] / "foreign" / "declared" / "kernels" / "heap.cu").read_text()
CREATE, FIND_AREAS = "_Z13create_shapesPP5ShapePKfi", "_Z10find_areasPP5ShapePfi"
SOURCE = """
extern "C" __global__ void inside(float* out, const float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float* own = new float[i % 5 + 1];
  for (int k = 0; k <= i % 5; k++) own[k] = x[i] * k;
  float sum = 0;
  for (int k = 0; k <= i % 5; k++) sum += own[k];
  delete[] own;
  out[i] = sum;
}
extern "C" __global__ void wrong(float* out, int what, int bytes) {
  float* own = (float*)malloc(bytes);
  if (what == 0) out[0] = own[0];
  if (what == 1) own[4] = 1;
  if (what == 2) free(own);
  if (what == 2) own[0] = 1;
  if (what == 3) { free(own); free(own); }
  if (what == 4) free(out);
  if (what == 5) { free(nullptr); out[0] = own == nullptr; }
}
"""
TARGETS = ("gfx1100", "gfx90a", "sm_90")


@pytest.fixture(scope="module")
def codes(tmp_path_factory, cache):
    folder = tmp_path_factory.mktemp("heap")
    (folder / "m.cu").write_text(SHAPES + SOURCE)
    return {each.target: each.code_object for each in build(folder, ["m"], targets=TARGETS, cache=cache)}


@pytest.fixture(params=TARGETS)
def launch(request, codes):
    """A device, and a function that launches one of the kernels on it."""
    code = codes[request.param]
    device: Device = (PtxDevice if request.param == "sm_90" else AmdgpuDevice)(traced=True)

    def run(kernel, *values, grid=1, block=1):
        args = pack(code.kernels[kernel], values)
        device.launch(code, kernel, grid=(grid, 1, 1), block=(block, 1, 1), args=args)

    run.device = device
    return run


def _buffer(device, array):
    found = device.allocate(array.nbytes)
    device.write(found, array)
    return found


def test_threads_allocate_and_delete(launch):
    n = 300
    x = np.arange(n, dtype=np.float32) / 8
    out = launch.device.allocate(4 * n)
    launch("inside", out, _buffer(launch.device, x), n, grid=3, block=128)
    k = np.arange(n) % 5
    assert launch.device.read(out).view(np.float32).tolist() == (x * (k * (k + 1) // 2)).tolist()


def test_objects_outlive_the_launch_that_creates_them(launch):
    n = 300
    x = np.arange(n, dtype=np.float32) / 8
    shapes, out = launch.device.allocate(8 * n), launch.device.allocate(4 * n)
    launch(CREATE, shapes, _buffer(launch.device, x), n, grid=3, block=128)
    launch(FIND_AREAS, shapes, out, n, grid=3, block=128)
    expected = np.where(np.arange(n) % 2, x * x, 3 * x * x)
    assert launch.device.read(out).view(np.float32).tolist() == expected.tolist()


def test_addresses_are_the_same_on_all_targets(codes):
    """So outputs that hold pointers are equal, whatever the number of lanes and the order of threads."""
    found = set()
    for target, code in codes.items():
        device: Device = (PtxDevice if target == "sm_90" else AmdgpuDevice)(traced=True)
        shapes = device.allocate(8 * 300)
        args = pack(code.kernels[CREATE], [shapes, _buffer(device, np.zeros(300, np.float32)), 300])
        device.launch(code, CREATE, grid=(3, 1, 1), block=(128, 1, 1), args=args)
        found.add(device.read(shapes).tobytes())
    assert len(found) == 1


@pytest.mark.parametrize(
    ("what", "error", "message"),
    [
        (0, MemoryFault, "never-written read of 4 bytes"),
        (1, MemoryFault, "0 bytes past the end of buffer 'allocated by the kernel' (16 bytes)"),
        (2, MemoryFault, "buffer 'released by the kernel' (16 bytes)"),
        (3, NotAllocated, "nothing is allocated at address"),
        (4, NotAllocated, "no kernel allocated it"),
    ],
)
def test_wrong_use_is_a_fault(launch, what, error, message):
    out = launch.device.allocate(4)
    with pytest.raises(error) as raised:
        launch("wrong", out, what, 16)
    assert message in str(raised.value)


def test_full_heap_gives_null(launch):
    out = launch.device.allocate(4)
    launch("wrong", out, 5, 1 << 30)
    assert launch.device.read(out).view(np.float32)[0] == 1


def test_reset_releases_the_heap(launch):
    out, shapes = launch.device.allocate(4), launch.device.allocate(8)
    launch(CREATE, shapes, _buffer(launch.device, np.ones(1, np.float32)), 1)
    kept = launch.device.read(shapes)
    launch.device.reset()
    shapes, out = launch.device.allocate(8), launch.device.allocate(4)
    launch.device.write(shapes, kept)
    with pytest.raises(MemoryFault, match="out-of-bounds read"):
        launch(FIND_AREAS, shapes, out, 1)
