"""Describes the kernels of a PTX text: arguments, registers, shared and local memory."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

from parity.compilers.include import CUDA_ALIAS
from parity.compilers.targets import Target
from parity.model.code_object import Argument, CodeObject, Kernel
from parity.platform.cache import digest

_ENTRY = re.compile(r"\.entry (?P<name>\w+)\((?P<parameters>[^)]*)\)(?P<directives>[^{]*)")
# .param .u64 [.ptr [.global] [.align 8]] NAME, or .param .align 2 .b8 NAME[2]
_PARAM = re.compile(
    r"\.param (?:\.align (?P<align>\d+) )?\.[a-z]+(?P<bits>\d+)(?P<pointer> \.ptr(?: \.\w+)*(?: \d+)?)?"
    r" \w+(?:\[(?P<count>\d+)\])?"
)
_MAXNTID = re.compile(r"\.(?:max|req)ntid (\d+)(?:, (\d+))?(?:, (\d+))?")
_DEFAULT_MAXNTID = "1024"
# The report of ptxas -v about one entry.
_USAGE = re.compile(
    r"Compiling entry function '(?P<name>\w+)'.*?(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores"
    r".*?Used (?P<registers>\d+) registers(?P<more>[^\n]*)",
    re.DOTALL,
)
_SHARED = re.compile(r"(\d+) bytes smem")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', re.MULTILINE)
_LINE = re.compile(r"^\s*\.loc\s+(\d+) ", re.MULTILINE)


def parse_ptx(ptx: str, module: str, target: Target, usage: str = "", *, binary: Path | None = None) -> CodeObject:
    """Return the code object of a PTX text. ``usage`` is the output of ``ptxas -v``, from which resources are read.

    An 8-byte parameter without ``.ptr`` may be a pointer or a number, so its kind is empty. Kernels of CUDA's headers
    are omitted: including CUB adds one.
    """
    libraries = {number for number, name in _FILE.findall(ptx) if name.startswith(f"{CUDA_ALIAS}/")}
    used = {match["name"]: match for match in _USAGE.finditer(usage)}
    kernels = {}
    for entry in _ENTRY.finditer(ptx):
        line = _LINE.search(ptx, entry.end())
        if not (line and line[1] in libraries):
            kernels[entry["name"]] = _kernel(entry, used.get(entry["name"]), target)
    return CodeObject(module, target.name, ptx, kernels, digest(ptx), (), binary)


def _kernel(entry: re.Match[str], usage: re.Match[str] | None, target: Target) -> Kernel:
    args = tuple(_arguments(entry["parameters"]))
    limit = _MAXNTID.search(entry["directives"])
    shared = _SHARED.search(usage["more"]) if usage else None
    return Kernel(
        name=entry["name"],
        args=args,
        kernarg_bytes=args[-1].offset + args[-1].size if args else 0,
        sgprs=0,
        vgprs=int(usage["registers"]) if usage else 0,
        lds_bytes=int(shared[1]) if shared else 0,
        scratch_bytes=int(usage["stack"]) if usage else 0,
        wavefront=target.wavefront,
        spills=-(-int(usage["stores"]) // 4) if usage else 0,
        max_threads=math.prod(map(int, limit.groups("1") if limit else (_DEFAULT_MAXNTID,))),
    )


def _arguments(parameters: str) -> Iterator[Argument]:
    offset = 0
    for match in _PARAM.finditer(parameters):
        size = int(match["bits"]) // 8 * int(match["count"] or 1)
        align = int(match["align"] or size)
        offset = -(-offset // align) * align
        kind = "global_buffer" if match["pointer"] else "" if size == 8 else "by_value"
        yield Argument("", offset, size, kind)
        offset += size
