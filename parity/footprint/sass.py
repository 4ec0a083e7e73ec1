"""Counts the instructions of a cubin by class, with NVIDIA's disassembler."""

from __future__ import annotations

import contextlib
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from parity.compilers.cuda_toolkit import nvcc, toolkit_programs
from parity.emulator.amdgpu.classes import class_totals, classifier
from parity.errors import MissingTool, ParityError
from parity.platform.installation import install_command, package_folders

opcode_class = classifier("opcodes")
_SECTION = re.compile(r"^\t\.section\t\.text\.(?P<name>[\w$.]+),", re.MULTILINE)
_OPCODE = re.compile(r"^\s+/\*[0-9a-f]+\*/\s+\{?\s*(?:@!?U?P\w+\s+)?(?P<opcode>[A-Z][A-Z0-9_]*)", re.MULTILINE)


def nvdisasm() -> Path:
    """Find the disassembler on PATH, next to nvcc, or in a wheel of NVIDIA or Triton.

    Raises:
        MissingTool: It is not installed.
    """
    if found := next(_candidates(), None):
        return found
    raise MissingTool(
        "nvdisasm",
        "PATH, $CUDA_HOME/bin, /usr/local/cuda/bin, the folder of nvcc, "
        "the Python packages nvidia-cuda-nvdisasm and triton",
        f"{install_command('nvcc')}, or the CUDA toolkit",
    )


def instruction_mixes(cubin: Path) -> Mapping[str, Mapping[str, int]]:
    """Count the instructions by class in the section of each kernel of a cubin, including callees in the section.

    Raises:
        MissingTool: The disassembler is not installed.
        ParityError: The disassembler rejects the file.
    """
    done = subprocess.run([str(nvdisasm()), "-c", str(cubin)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ParityError(f"{nvdisasm()} rejects {cubin}: {done.stderr.strip()[:500]}")
    return {
        name: class_totals((opcode_class(opcode), 1) for opcode in opcodes)
        for name, opcodes in section_opcodes(done.stdout).items()
    }


def section_opcodes(listing: str) -> Mapping[str, list[str]]:
    """Return the opcodes of each code section, without the padding at its end (a branch to itself, and NOPs)."""
    sections = list(_SECTION.finditer(listing))
    ends = [*(section.start() for section in sections[1:]), len(listing)]
    found = {}
    for section, end in zip(sections, ends, strict=True):
        opcodes = [match["opcode"] for match in _OPCODE.finditer(listing, section.end(), end)]
        while opcodes and opcodes[-1] == "NOP":
            opcodes.pop()
        if opcodes[-1:] == ["BRA"]:
            opcodes.pop()
        found[section["name"]] = opcodes
    return found


def _candidates() -> Iterator[Path]:
    yield from (path for path, _ in toolkit_programs("nvdisasm"))
    with contextlib.suppress(MissingTool):
        yield from filter(Path.is_file, [nvcc().resolve().with_name("nvdisasm")])
    for folder in package_folders("triton"):
        yield from folder.glob("backends/nvidia/bin/nvdisasm")
