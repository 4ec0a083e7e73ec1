"""Finds LLVM's disassembler and runs it on code objects that were built elsewhere.

The disassembler's output is assembled again. An instruction whose bytes differ counts as unreadable: an LLVM older than
the compiler silently drops bits that it has no name for, such as register halves on RDNA 3.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import struct
import subprocess
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from parity.compilers.targets import Target
from parity.errors import MissingTool, UsageError

_LINE = re.compile(r"\t(?P<text>.+?)\s*// (?P<address>[0-9A-F]+):(?P<words>(?: [0-9A-F]{8})+)", re.ASCII)
_LITERAL = re.compile(r"\blit(?:64)?\(([^()]*)\)")
"""Matches a literal as LLVM 22 prints it where an inline constant has the same value."""
_PLACE = re.compile(r"; (?:\./)?(?P<file>\S+):(?P<line>\d+)$")
_NO_OFFSET = re.compile(r"^(s_(?:buffer_)?load.*, )null$")  # output of LLVM 15
_ENCODING = re.compile(r"encoding: \[([^\]]*)\]")
_REFUSED = re.compile(r"^<stdin>:(\d+):\d+: error:", re.MULTILINE)
BRANCHES = ("s_branch ", "s_cbranch_")
_VERSION = re.compile(r"LLVM version (\d+)")
_CLOSE = 1 << 16
"""Bytes between functions that are disassembled together."""


@dataclass(frozen=True)
class Disassembler:
    """``llvm-objdump`` of an LLVM. Its ``llvm-mc`` is in the same folder."""

    objdump: Path
    version: int

    def __str__(self) -> str:
        return f"{self.objdump} (LLVM {self.version})"

    def tool(self, name: str) -> Path:
        """Return a tool of the same LLVM."""
        return self.objdump.with_name(self.objdump.name.replace("llvm-objdump", name))

    def run(self, name: str, *arguments: str | Path, text: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run a tool. Does not check the exit status."""
        command = [str(self.tool(name)), *map(str, arguments)]
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False, errors="replace")


@dataclass(frozen=True, slots=True)
class DisassembledLine:
    """An instruction at an address: its text, its bytes, and its source location."""

    address: int
    text: str
    code: bytes
    place: str


def find_disassembler() -> Disassembler:
    """Return the newest LLVM below ``$ROCM_PATH`` and ``/opt/rocm``, and on PATH (``llvm-objdump``,
    ``llvm-objdump-19``, ...).

    Raises:
        MissingTool: no LLVM for AMD GPUs is installed.
    """
    if found := _installed(os.environ.get("ROCM_PATH", ""), os.environ.get("PATH", "")):
        return found
    raise MissingTool(
        "a disassembler for AMD GPUs (llvm-objdump, with llvm-mc)",
        "$ROCM_PATH/llvm/bin, /opt/rocm/llvm/bin, PATH",
        "the package llvm of your distribution (Debian, Ubuntu: apt install llvm), or ROCm",
    )


@functools.cache
def _installed(rocm: str, path: str) -> Disassembler | None:
    folders = [Path(root, "llvm/bin") for root in (rocm, "/opt/rocm") if root]
    folders += [Path(folder) for folder in path.split(os.pathsep) if folder]
    found = []
    for objdump in (p for folder in folders for p in folder.glob("llvm-objdump*") if shutil.which(p)):
        try:
            text = subprocess.run([str(objdump), "--version"], capture_output=True, text=True, check=False).stdout
        except OSError:  # for example a program for a different machine
            continue
        if (version := _VERSION.search(text)) and "amdgcn" in text:
            one = Disassembler(objdump, int(version[1]))
            found += [one] if one.tool("llvm-mc").is_file() else []
    return max(found, key=lambda one: one.version, default=None)


def disassemble(
    path: Path, name: str, where: Target, tools: Disassembler, places: Collection[range]
) -> list[DisassembledLine]:
    """Return the instructions at these addresses."""
    output = ""
    for part in _joined(places):
        limits = (f"--start-address={part.start}", f"--stop-address={part.stop}")
        run = tools.run("llvm-objdump", "-d", "-l", f"--mcpu={where}", *limits, path)
        if run.returncode or "not a recognized processor" in run.stderr:
            raise UsageError(f"{name} is for {where}, which {tools} cannot disassemble; install a newer LLVM")
        output += run.stdout
    lines, place = [], ""
    for text in output.splitlines():
        if match := _LINE.match(text):
            code = b"".join(int(word, 16).to_bytes(4, "little") for word in match["words"].split())
            if (text := match["text"]).startswith(BRANCHES):  # hand-written assembly has names of labels
                text = f"{text.partition(' ')[0]} {int.from_bytes(code[:2], 'little')}"
            lines.append(DisassembledLine(int(match["address"], 16), _NO_OFFSET.sub(r"\g<1>0x0", text), code, place))
        elif match := _PLACE.match(text):
            file = os.path.normpath(match["file"])  # LLVM 14 says ./file
            place = f"\t.loc\t1 {match['line']} 0 ; {file}:{match['line']}:0"
    return _read_back(lines, where, tools)


def _joined(places: Iterable[range]) -> list[range]:
    """Join ranges that are close to each other."""
    found: list[range] = []
    for place in sorted(places, key=lambda each: each.start):
        if found and place.start - found[-1].stop <= _CLOSE:
            place = range(found.pop().start, place.stop)
        found.append(place)
    return found


def _read_back(lines: list[DisassembledLine], where: Target, tools: Disassembler) -> list[DisassembledLine]:
    """Replace instructions that do not assemble to the same bytes by an instruction that does not exist."""
    distinct = list(
        dict.fromkeys(line.text for line in lines if not line.text.startswith("."))
    )  # data is not an instruction
    arguments = ("-triple=amdgcn-amd-amdhsa", f"-mcpu={where}", "-show-encoding")
    run = tools.run("llvm-mc", *arguments, text="\n".join(distinct) + "\n")
    refused = {int(number) - 1 for number in _REFUSED.findall(run.stderr)}
    accepted = [text for i, text in enumerate(distinct) if i not in refused]
    codes = [bytes(int(part, 16) for part in each.split(",")) for each in _ENCODING.findall(run.stdout)]
    if len(codes) != len(accepted):
        raise UsageError(f"{tools.tool('llvm-mc')} does not assemble what {tools} prints: {run.stderr[:500]}")
    known = dict(zip(accepted, codes, strict=True))
    unknown = f"not_read_by_llvm_{tools.version}"
    return [
        replace(line, text=_LITERAL.sub(r"\1", line.text))
        if _same(known.get(line.text), line)
        else DisassembledLine(line.address, f"{unknown} 0x{line.code.hex()}", line.code, line.place)
        for line in lines
    ]


def _same(code: bytes | None, line: DisassembledLine) -> bool:
    """Return True if assembled bytes are the bytes of a line, or mean the same."""
    if code is None:
        return False
    if len(code) + 4 == len(line.code):  # linkers keep literals where assemblers use an inline constant
        (literal,) = struct.unpack("<i", line.code[-4:])
        inline = 128 + literal if literal >= 0 else 192 - literal
        return literal in range(-16, 65) and all(
            new == old or (old, new) == (0xFF, inline) for old, new in zip(line.code, code, strict=False)
        )
    if line.text == "buffer_wbl2":  # clang sets bits of the cache policy that gfx90a ignores, llvm-mc does not
        return code[2:] == line.code[2:] and code[0] == line.code[0] and code[1] == line.code[1] & 0x3F
    if line.code[-2:] == b"\xff\xff" and f"0x{int.from_bytes(code[-4:], 'little'):x}" in line.text:
        return code[:-2] == line.code[:-2]  # clang extends the sign of a literal of 16 bits, llvm-mc does not
    # v_cmpx always writes EXEC. Assemblers fill its unused result field differently.
    start = 1 if line.text.startswith("v_cmpx") and len(line.code) >= 8 else 0
    return code[start:] == line.code[start:]
