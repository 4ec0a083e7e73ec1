"""Executes the requests of a program: takes note of allocations, loads code objects and launches kernels."""

from __future__ import annotations

import itertools
import json
import os
import sys
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from parity.emulator import faults
from parity.emulator.amdgpu.device import AmdgpuDevice
from parity.emulator.launch_options import LaunchOptions
from parity.emulator.memory import Allocation
from parity.errors import ParityError, UsageError
from parity.hsa import blits
from parity.hsa.code_objects import LoadedObject, load
from parity.hsa.memory import SharedMemory
from parity.model.code_object import Kernel
from parity.platform.cache import Cache, default_root

INSTRUCTIONS = 50_000_000_000
"""Instruction budget of one launch, to stop endless loops."""

_APERTURE_VIOLATION, _ILLEGAL_INSTRUCTION, _EXCEPTION = 41, 42, 0x1016  # hsa_status_t
_STATUS: dict[type[ParityError], int] = {
    faults.UnknownInstruction: _ILLEGAL_INSTRUCTION,
    faults.MemoryFault: _APERTURE_VIOLATION,
    ParityError: _EXCEPTION,
}
"""The status of a queue for each error of a launch; the first match counts."""


@dataclass
class Finding:
    """A failed launch: the kernel, the kind of its fault, the message, and how many launches failed in this way."""

    kernel: str
    kind: str
    message: str
    count: int = 0


class Executor:
    """The GPUs of a program. They share one memory, so that an address is unique across GPUs."""

    def __init__(
        self, memory: SharedMemory, targets: Sequence[str], checks: str, cores: int, report: Path | None
    ) -> None:
        self._memory, self._targets, self._report = memory, targets, report
        checked = checks != "none"
        self._device = AmdgpuDevice(
            checked=checked,
            initialized=checks == "initialized",
            traced=checked,
            instruction_budget=INSTRUCTIONS,
            cache=Cache(default_root() / "emulator"),
            memory=memory,
            cores=cores,
        )
        self._objects: dict[int, LoadedObject] = {}
        self._copies: Counter[bytes] = Counter()
        self._count = 0
        self._launches: Counter[str] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._findings: dict[str, Finding] = {}

    def perform(self, action: str, values: Sequence[int], data: bytes) -> tuple[int, int, bytes]:
        """Perform a request and return its status, value and bytes. Prints an error's description to stderr.

        A defect of parity ends this process, and thus the program. Its queue would stop, and AMD's runtime would wait.
        """
        try:
            value, result = getattr(self, f"_{action}")(values, data) or (0, b"")
            return 0, value, result
        except ParityError as error:
            print(f"parity: {error}", file=sys.stderr, flush=True)
            return next(status for kind, status in _STATUS.items() if isinstance(error, kind)), 0, b""

    def _allocate(self, values: Sequence[int], data: bytes) -> None:
        address, size, agent = values[:3]
        self._count += 1
        kind = f"GPU {agent - 1}" if agent else f"{data.decode()} memory"
        self._memory.adopt(Allocation(f"allocation {self._count} of {size} bytes ({kind})", address, size))

    def _free(self, values: Sequence[int], _: bytes) -> None:
        self._memory.forget(values[0])

    def _map(self, values: Sequence[int], _: bytes) -> None:
        self._memory.remap(*values[:3])

    def _load(self, values: Sequence[int], data: bytes) -> tuple[int, bytes]:
        number = values[0]
        used = {each.copy for each in self._objects.values() if each.image == data}
        copy = next(each for each in itertools.count() if each not in used)
        loaded = load(number, data, copy)
        if copy == self._copies[data]:
            self._copies[data] += 1
        else:
            self._device.restore(loaded.code())
        self._objects[number] = loaded
        return 0, loaded.symbols

    def _unload(self, values: Sequence[int], _: bytes) -> None:
        self._objects.pop(values[0], None)

    def _variable(self, values: Sequence[int], data: bytes) -> tuple[int, bytes]:
        return self._device.symbol(self._objects[values[0]].code(), data.decode()).address, b""

    def _launch(self, values: Sequence[int], _: bytes) -> None:
        loaded, index = self._objects[values[0] >> 32], (values[0] & 0xFFFFFFFF) - 1
        kernel = loaded.kernels[index]
        name = kernel.name
        start = time.perf_counter()
        self._launches[name] += 1
        try:
            self._execute(loaded, kernel, values)
        except ParityError as error:
            kind = getattr(error, "kind", "") or type(error).__name__
            self._findings.setdefault(str(error), Finding(name, kind, str(error))).count += 1
            raise
        finally:
            self._seconds[name] += time.perf_counter() - start
            print(self._device.take_printed(), end="", flush=True)

    def _execute(self, loaded: LoadedObject, kernel: Kernel, values: Sequence[int]) -> None:
        name, items, block = kernel.name, values[2:5], values[5:8]
        x, y, z = (-(-size // threads) for size, threads in zip(items, block, strict=True))
        rest = tuple(size % threads for size, threads in zip(items, block, strict=True))
        cooperative = bool(values[9])
        if any(rest) and cooperative:
            raise UsageError(f"cooperative kernel {name!r} has {items} threads, not a multiple of the block {block}")
        at = values[1] - self._memory.base
        args = self._memory.data[at : at + kernel.kernarg_bytes].tobytes() if values[1] else b""
        if name.startswith(blits.PREFIX) and blits.performed(kernel, args, self._memory):
            return
        geometry = f"{name} {values[2:9]}"
        # GPUs start workgroups in order: the workgroups of a rocPRIM scan wait for earlier ones.
        seed = zlib.crc32(geometry.encode()) | 1
        self._device.launch(
            loaded.code(name),
            name,
            grid=(x, y, z),
            block=(block[0], block[1], block[2]),
            args=args,
            shared_bytes=values[8] - kernel.lds_bytes,
            rest=(rest[0], rest[1], rest[2]),
            options=LaunchOptions(seed=seed, in_order=True, cooperative=cooperative),
            whole=True,
        )

    def _finish(self, *_: object) -> None:
        """Write the report."""
        if self._report is None:
            return
        self._report.mkdir(parents=True, exist_ok=True)
        kernels = {
            name: {"launches": count, "seconds": round(self._seconds[name], 3)}
            for name, count in sorted(self._launches.items())
        }
        content = {
            "targets": list(self._targets),
            "kernels": kernels,
            "findings": [*map(asdict, self._findings.values())],
        }
        path = self._report / f"findings-{os.getpid()}.json"
        path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
