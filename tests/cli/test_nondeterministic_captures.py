"""Captured launches whose results depend on the order of threads or on a clock."""

import hashlib
import json
import zipfile

import numpy as np
import pytest

from parity.captures.file import DATA, FORMAT, HEAD, LAUNCHES, VERSION

KERNELS = """\
extern "C" {
// the same values in another order
__global__ void compact(const int *in, int *out, unsigned *count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (in[i] > 0) out[atomicAdd(count, 1)] = in[i] * 3;
}
// other values in each order, and values that do not depend on it
__global__ void ticket(const int *in, int *out, int *sure, unsigned *count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i] * (int)atomicAdd(count, 1);
  sure[i] = in[i] + 5;
}
__global__ void timed(const int *in, int *sure, unsigned long long *ticks) {
  long long begin = clock64();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  sure[i] = in[i] + 5;
  if (!threadIdx.x) ticks[blockIdx.x] = clock64() - begin;
}
// sums in any order are nearly the same
__global__ void sum(const float *in, float *total) {
  atomicAdd(total, in[blockIdx.x * blockDim.x + threadIdx.x] * 1.5f);
}
}
"""
PLANTED = {"* 3": "* 4", "+ 5": "+ 6", "1.5f": "1.51f"}
BLOCKS, THREADS = 16, 64
COUNT = BLOCKS * THREADS


def _launches():
    """Return kernels with the memory of each argument before and after a launch on a GPU with another order."""
    rng = np.random.default_rng(1)
    ints = rng.integers(-1000, 1000, COUNT).astype(np.int32)
    order = rng.permutation(COUNT)
    kept = ints[order][ints[order] > 0] * 3
    compacted = np.concatenate([kept, np.zeros(COUNT - len(kept), np.int32)]).astype(np.int32)
    zeros, none, sure = np.zeros(COUNT, np.int32), np.zeros(1, np.uint32), ints + np.int32(5)
    numbers = rng.random(COUNT, np.float32)
    total = np.sum(numbers[order] * np.float32(1.5), dtype=np.float64).astype(np.float32).reshape(1)
    tickets = np.empty(COUNT, np.int32)
    tickets[order] = np.arange(COUNT)
    count = np.full(1, COUNT, np.uint32)
    ticks = rng.integers(800, 4000, BLOCKS).astype(np.uint64)
    return {
        "compact": [(ints, ints), (zeros, compacted), (none, np.full(1, len(kept), np.uint32))],
        "ticket": [(ints, ints), (zeros, ints * tickets), (zeros, sure), (none, count)],
        "timed": [(ints, ints), (zeros, sure), (np.zeros(BLOCKS, np.uint64), ticks)],
        "sum": [(numbers, numbers), (np.zeros(1, np.float32), total)],
    }


def _write(path):
    lines, data = [], {}

    def stored(array):
        raw = array.tobytes()
        data[hashlib.sha256(raw).hexdigest()] = raw
        return hashlib.sha256(raw).hexdigest()

    for number, (kernel, memory) in enumerate(_launches().items()):
        allocations, parameters = [], []
        for i, (before, after) in enumerate(memory):
            address, size = (i + 1) << 20, before.nbytes
            part = {"start": 0, "size": size, "before": stored(before), "after": stored(after)}
            allocations.append({"address": address, "size": size, "ranges": [part]})
            parameters.append([8 * i, address.to_bytes(8, "little").hex()])
        launch = {"number": number, "process": 0, "launch": number, "kernel": kernel, "api": "cuLaunchKernel"}
        launch |= {"grid": [BLOCKS, 1, 1], "block": [THREADS, 1, 1], "shared": 0, "parameters": parameters}
        lines.append(json.dumps(launch | {"allocations": allocations}))
    process = {"program": "app", "device": "GPU", "compute": [9, 0], "driver": 13000}
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(HEAD, json.dumps({"format": FORMAT, "version": VERSION, "processes": [process], "skipped": []}))
        file.writestr(LAUNCHES, "".join(f"{line}\n" for line in lines))
        for name, raw in data.items():
            file.writestr(DATA + name, raw)
        file.comment = f"{FORMAT}, version {VERSION}".encode()
    return path


@pytest.fixture
def replay(parity, tmp_path):
    """Return a function that replays the launches on the kernels, and returns the result and the verdict kinds."""
    capture = _write(tmp_path / "order.capture")

    def call(text):
        (tmp_path / "order.cu").write_text(text)
        arguments = ("--captured", capture, "--kernels", tmp_path, "--target", "gfx1100", "--json")
        result = parity("run", *arguments)
        shown = json.loads(result.out)
        return result, {each["op"].partition(".")[2]: each["verdict"]["kind"] for each in shown["failures"]}

    return call


def test_run_captured_nondeterministic_results_do_not_fail(replay):
    result, failures = replay(KERNELS)
    assert failures == {}
    assert result.code == 3
    assert "of 1024 elements of out depend on the order of threads, on a clock" in result.err
    assert "2 of 4 cases were not judged" in result.err


def test_run_captured_bug_in_nondeterministic_kernels_is_found(replay):
    text = KERNELS
    for old, new in PLANTED.items():
        assert old in text
        text = text.replace(old, new)
    result, failures = replay(text)
    assert result.code == 1
    assert failures == dict.fromkeys(("compact", "ticket", "timed", "sum"), "value")
