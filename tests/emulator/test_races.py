"""Races between random accesses: the emulator agrees with a list of all accesses to each byte."""

import random
import re
from collections import defaultdict
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from execution import program as compiled

from parity.compilers.targets import TARGETS
from parity.emulator.amdgpu.device import AmdgpuDevice
from parity.emulator.amdgpu.kernarg import pack
from parity.emulator.faults import DataRace

BLOCKS, WAVEFRONTS, PROGRAMS = 2, 4, 150
MEMORY = 2048
BARRIER = (-1, 0, 0, 0, 0)
SIZES = (1, 2, 4, 8)
FIRST_LINE = next(
    number
    for number, line in enumerate(Path(__file__).parent.joinpath("kernels/accesses.cu").read_text().splitlines(), 1)
    if "case 0:" in line
)


def program(draw, lanes):
    """Return accesses (wavefront, kind, byte of lane 0, bytes from lane to lane, lanes) and barriers.

    Kinds are loads and stores of 1, 2, 4 and 8 bytes. Most access the memory of their wavefront, so races are rare.
    """
    found = []
    part = MEMORY // (BLOCKS * WAVEFRONTS)
    for _ in range(draw.randint(1, 25)):
        kind = draw.randrange(8)
        size = SIZES[kind % 4]
        some = draw.choice((1, 2, lanes // 2, lanes, lanes))
        step = size * draw.choice((0, 1, 1, 1, 2, 3)) if some * 3 * size <= part else size
        wavefront = draw.randrange(BLOCKS * WAVEFRONTS)
        place = wavefront if draw.random() < 0.8 else draw.randrange(BLOCKS * WAVEFRONTS)
        at = place * part + draw.randint(0, max(part - (some - 1) * step - size, 0)) // size * size
        at = min(at, MEMORY - some * max(step, size))
        found.append(BARRIER if draw.random() < 0.15 else (wavefront, kind, at, step, some))
    return found


def expected(accesses, in_lds):
    """Return the first race: (line of the first access, of the second, lane, byte), or ``None``.

    Blocks run in order; so do their wavefronts between barriers. A byte remembers its last writer and the last two
    wavefronts that read it.
    """
    write, reads = {}, defaultdict(list)
    for block in range(BLOCKS):
        if in_lds:
            write, reads = {}, defaultdict(list)
        parts = [[]]
        for access in accesses:
            if access == BARRIER:
                parts.append([])
            elif access[0] // WAVEFRONTS == block:
                parts[-1].append(access)
        for epoch, part in enumerate(parts):
            for wavefront, kind, at, step, lanes in sorted(part, key=lambda access: access[0]):
                for lane in range(lanes):
                    begin = at + lane * step
                    for byte in range(begin, begin + SIZES[kind % 4]):
                        before = filter(None, [write.get(byte), *(reads[byte] if kind > 3 else ())])
                        racing = [
                            other
                            for other in before
                            if other[0] != wavefront and (other[0] // WAVEFRONTS < block or other[1] == epoch)
                        ]
                        if racing:
                            return racing[-1][2], kind, lane, begin
                        now = wavefront, epoch, kind
                        if kind > 3:
                            write[byte] = now
                        elif reads[byte] and reads[byte][0][0] == wavefront:
                            reads[byte][0] = now
                        else:
                            reads[byte] = [now, *reads[byte][:1]]
    return None


@pytest.mark.parametrize("kernel", ["in_memory", "in_lds"])
@pytest.mark.parametrize("target", ["gfx1100", "gfx90a"])
def test_races_match_list_of_all_accesses(target, kernel, translated, cache):
    lanes, code = TARGETS[target].wavefront, translated("accesses")[target]
    device, draw, races = AmdgpuDevice(cache=cache, traced=True, capacity=1 << 25), random.Random(0), 0
    for _ in range(PROGRAMS):
        accesses = program(draw, lanes)
        device.reset()
        todo = device.allocate(20 * len(accesses), "todo")
        device.write(todo, np.array(accesses, np.int32), constant=True)
        memory = device.allocate(MEMORY, "memory")
        device.write(memory, np.zeros(MEMORY, np.uint8))
        sums = device.allocate(8 * BLOCKS * WAVEFRONTS * lanes, "sums")
        args = pack(code.kernels[kernel], [todo, len(accesses), memory, sums])
        found = None
        try:
            device.launch(code, kernel, grid=(BLOCKS, 1, 1), block=(WAVEFRONTS * lanes, 1, 1), args=args)
        except DataRace as race:
            first, second = (int(line) - FIRST_LINE for line in re.findall(r"accesses\.cu:(\d+)", str(race)))
            found = first, second, race.lane, int(re.search(r"byte (\d+) of (?:buffer 'memory'|LDS)", str(race))[1])
        assert found == expected(accesses, kernel == "in_lds"), accesses
        races += found is not None
    assert PROGRAMS // 10 < races < PROGRAMS


OWN = """
extern "C" __global__ void own(const float* x, float* y) {
    __shared__ float value;
    value = x[threadIdx.x / warpSize * warpSize];
    y[threadIdx.x] = *(volatile float*)&value;  // the compiler must load it again
}
"""


@pytest.mark.parametrize("target", ["gfx1100", "gfx90a"])
@pytest.mark.parametrize("last", [3, 4])
def test_store_of_value_that_memory_holds_is_no_race_with_loads(tmp_path, cache, target, last):
    code, x = compiled(tmp_path, OWN, target, cache).built.code_object, np.full(256, 3, np.float32)
    x[-TARGETS[target].wavefront] = last
    device = AmdgpuDevice(cache=cache, traced=True)
    given, result = (device.allocate(x.nbytes, name) for name in "xy")
    device.write(given, x)
    args = pack(code.kernels["own"], [given, result])
    with nullcontext() if last == 3 else pytest.raises(DataRace):
        device.launch(code, "own", grid=(1, 1, 1), block=(256, 1, 1), args=args)
