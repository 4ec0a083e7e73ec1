"""The table of targets and the values derived from it."""

from __future__ import annotations

import runpy
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from parity.build.modules import build
from parity.compilers.targets import DEFAULT_TARGETS, TABLE, TARGETS, Target, target
from parity.emulator.amdgpu.device import AmdgpuDevice
from parity.emulator.amdgpu.kernarg import pack
from parity.errors import UsageError
from parity.footprint.measure import footprints
from parity.hip.properties import properties
from parity.platform.files import read_rows
from parity.runners.emulated import EmulatedRunner

ROOT = Path(__file__).parents[2]
KERNEL = """
extern "C" __global__ void sums(const int *x, int *out) {
  __shared__ int all[128];
  all[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = all[threadIdx.x] + all[(threadIdx.x + 1) % blockDim.x];
}
"""


def test_targets_have_documented_wavefronts():
    assert {t.name: t.wavefront for t in TARGETS.values()} == {
        "gfx1030": 32, "gfx1100": 32, "gfx90a": 64, "gfx942": 64, "gfx950": 64, "gfx1201": 32
    }  # fmt: skip
    assert DEFAULT_TARGETS == ("gfx1030", "gfx1100", "gfx90a")
    assert target("gfx90a").isa == 9010
    assert str(target("gfx1100")) == "gfx1100"


def test_target_abi_matches_llvm_guide():
    """Source: LLVM's user guide for AMDGPU (packed work-item ids, architected flat scratch, workgroup ids in ttmp)."""
    assert {t.name: (t.packed_ids, t.architected_scratch, t.group_ids_in_ttmp) for t in TARGETS.values()} == {
        "gfx1030": (False, False, False),
        "gfx1100": (True, True, False),
        "gfx90a": (True, False, False),
        "gfx942": (True, True, False),
        "gfx950": (True, True, False),
        "gfx1201": (True, True, True),
    }


def test_cuda_target_lds_is_opt_in_limit():
    # CUDA C++ Programming Guide, "Maximum amount of shared memory per thread block"
    kib = {
        "sm_75": 64,
        "sm_80": 163,
        "sm_86": 99,
        "sm_89": 99,
        "sm_90": 227,
        "sm_90a": 227,
        "sm_100": 227,
        "sm_120": 99,
    }
    assert {name: target(name).lds_bytes // 1024 for name in kib} == kib
    assert target("sm_61").lds_bytes == 48 * 1024  # no row lists its limits, so the default applies


def test_target_unknown_name_suggests_nearest():
    with pytest.raises(UsageError, match=r"unknown target 'gfx1101'.*did you mean .*gfx1100"):
        target("gfx1101")


@pytest.fixture
def planted(tmp_path):
    """Return a table with an additional row that differs from gfx1100 only in its name."""
    text = TABLE.read_text()
    row = next(line for line in text.splitlines(keepends=True) if line.startswith("gfx1100,"))
    table = tmp_path / TABLE.relative_to(ROOT)
    table.parent.mkdir(parents=True)
    table.write_text(text.replace(row, row + row.replace("gfx1100", "gfx1101", 1)))
    return table


def test_read_new_row_adds_working_target(planted, cache, tmp_path, monkeypatch):
    limits = TARGETS["gfx1100"].limits
    (row,) = (replace(row, limits=limits) for row in read_rows(planted, Target) if row.name == "gfx1101")
    assert row == replace(TARGETS["gfx1100"], name="gfx1101")
    monkeypatch.setitem(TARGETS, "gfx1101", row)
    assert EmulatedRunner().targets() == (*(name for name in TARGETS if name != "gfx1101"), "gfx1101")
    (tmp_path / "sums.cu").write_text(KERNEL)
    found, seen = [], []
    for built in build(tmp_path, targets=["gfx1100", "gfx1101"], cache=cache):
        assert built.error is None, built.error
        code = built.code_object
        assert f"amdgcn-amd-amdhsa--{built.target}" in code.listing
        device = AmdgpuDevice(cache=cache, traced=True)
        x, out = device.allocate(1024, "x"), device.allocate(1024, "out")
        device.write(x, np.arange(256, dtype=np.int32))
        args = pack(code.kernels["sums"], [x, out])
        device.launch(code, "sums", grid=(2, 1, 1), block=(128, 1, 1), args=args)
        found.append(device.read(out).tobytes())
        (footprint,) = footprints(code, ["sums"])
        told = properties(target(built.target), 0, 1 << 30)
        seen.append((footprint.occupancy, [told[key] for key in ("major", "wavefront", "shared_bytes")]))
    assert len(found) == 2 == found.count(found[0])
    assert seen[0] == seen[1] == (1.0, [11, 32, 65536])


def test_nox_runs_every_target(planted, tmp_path):
    shutil.copy(ROOT / "noxfile.py", tmp_path)
    nox = mock.MagicMock()
    with mock.patch.dict(sys.modules, nox=nox):
        runpy.run_path(str(tmp_path / "noxfile.py"))
    names = tuple(row.name for row in read_rows(planted, Target) if row.isa)
    assert mock.call("target", names) in nox.parametrize.call_args_list
    assert "gfx1101" in names
