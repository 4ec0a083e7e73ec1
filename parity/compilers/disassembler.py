"""Finds LLVM's disassembler and runs it on code objects that were built elsewhere.

An installed LLVM has programs. The wheel ``rocm-llvm-python`` has a library; the wheels' clang assembles its output.

The disassembler's output is assembled again. An instruction whose bytes differ counts as unreadable: an LLVM older than
the compiler silently drops bits that it has no name for, such as register halves on RDNA 3.
"""

from __future__ import annotations

import bisect
import ctypes
import functools
import importlib.metadata
import io
import os
import re
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from parity.compilers import zig
from parity.compilers.elf import symbols
from parity.compilers.targets import Target
from parity.errors import MissingTool, UsageError

_LINE = re.compile(r"\t(?P<text>.+?)\s*// (?P<address>[0-9A-F]+):(?P<words>(?: [0-9A-F]{8})+)", re.ASCII)
_LITERAL = re.compile(r"\blit(?:64)?\(([^()]*)\)")
"""Matches a literal as LLVM 22 prints it where an inline constant has the same value."""
_PLACE = re.compile(r"; (?:\./)?(?P<file>\S+):(?P<line>\d+)$")
_NO_OFFSET = re.compile(r"^(s_(?:buffer_)?load.*, )null$")  # output of LLVM 15
_ENCODING = re.compile(r"encoding: \[([^\]]*)\]")
_REFUSED = re.compile(r"^(?:<stdin>|\S*code\.s):(\d+):\d+: error:", re.MULTILINE)
_WHEEL, _LIBRARY = "rocm-llvm-python", "rocm/llvm/librocmllvm.so"
_TRIPLE = "amdgcn-amd-amdhsa"
_LONGEST = 64
"""More bytes than the longest instruction has."""
BRANCHES = ("s_branch ", "s_cbranch_")
_VERSION = re.compile(r"LLVM version (\d+)")
_CLOSE = 1 << 16
"""Bytes between functions that are disassembled together."""


@dataclass(frozen=True, slots=True)
class DisassembledLine:
    """An instruction at an address: its text, its bytes, and its source location."""

    address: int
    text: str
    code: bytes
    place: str


@dataclass(frozen=True)
class _Llvm:
    path: Path
    version: int

    def __str__(self) -> str:
        return f"{self.path} (LLVM {self.version})"


class ProgramDisassembler(_Llvm):
    """``llvm-objdump`` of an LLVM. Its ``llvm-mc`` is in the same folder."""

    def tool(self, name: str) -> Path:
        """Return a tool of the same LLVM."""
        return self.path.with_name(self.path.name.replace("llvm-objdump", name))

    def run(self, name: str, *arguments: str | Path, text: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run a tool. Does not check the exit status."""
        command = [str(self.tool(name)), *map(str, arguments)]
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False, errors="replace")

    def lines(self, path: Path, name: str, where: Target, part: range) -> Iterator[DisassembledLine]:
        """Yield the instructions at these addresses of a code object."""
        limits = (f"--start-address={part.start}", f"--stop-address={part.stop}")
        run = self.run("llvm-objdump", "-d", "-l", f"--mcpu={where}", *limits, path)
        if run.returncode or "not a recognized processor" in run.stderr:
            raise UsageError(f"{name} is for {where}, which {self} cannot disassemble; install a newer LLVM")
        place = ""
        for text in run.stdout.splitlines():
            if match := _LINE.match(text):
                code = b"".join(int(word, 16).to_bytes(4, "little") for word in match["words"].split())
                yield DisassembledLine(int(match["address"], 16), match["text"], code, place)
            elif match := _PLACE.match(text):
                place = _place(match["file"], match["line"])

    def encodings(self, texts: Sequence[str], where: Target) -> dict[str, bytes]:
        """Return the bytes of each instruction that the assembler accepts."""
        arguments = (f"-triple={_TRIPLE}", f"-mcpu={where}", "-show-encoding")
        run = self.run("llvm-mc", *arguments, text="\n".join(texts) + "\n")
        accepted = _accepted(texts, run.stderr)
        codes = [bytes(int(part, 16) for part in each.split(",")) for each in _ENCODING.findall(run.stdout)]
        if len(codes) != len(accepted):
            raise UsageError(f"{self.tool('llvm-mc')} does not assemble what {self} prints: {run.stderr[:500]}")
        return dict(zip(accepted, codes, strict=True))


class LibraryDisassembler(_Llvm):
    """LLVM's library in a wheel."""

    def lines(self, path: Path, name: str, where: Target, part: range) -> Iterator[DisassembledLine]:
        from elftools.elf.elffile import ELFFile  # slow to import

        elf = ELFFile(io.BytesIO(path.read_bytes()))
        sections = ((s["sh_addr"], s) for s in elf.iter_sections() if s["sh_addr"])
        start, code = next((at, s.data()) for at, s in sections if at <= part.start < at + s["sh_size"])
        places = sorted(_places(elf))
        library, text, address = _library(self.path), ctypes.create_string_buffer(1024), part.start
        handle = library.LLVMCreateDisasmCPU(_TRIPLE.encode(), str(where).encode(), None, 0, None, None)
        while address < part.stop:
            rest = code[address - start : min(address + _LONGEST, part.stop) - start]
            size = library.LLVMDisasmInstruction(handle, rest, len(rest), address, text, len(text))
            words = text.value.decode().strip() if size else ".long"
            line = bisect.bisect(places, (address, chr(0x10FFFF))) - 1
            yield DisassembledLine(address, words, rest[: size or 4], places[line][1] if line >= 0 else "")
            address += size or 4
        library.LLVMDisasmDispose(handle)

    def encodings(self, texts: Sequence[str], where: Target) -> dict[str, bytes]:
        from elftools.elf.elffile import ELFFile  # slow to import

        accepted = list(texts)
        with tempfile.TemporaryDirectory() as folder:
            source, output = Path(folder, "code.s"), Path(folder, "code.o")
            for _ in range(2):  # again without what the assembler refuses
                labeled = [f"l{i}: {text}" for i, text in enumerate(accepted)]
                source.write_text("\n".join([*labeled, f"l{len(accepted)}:", ""]))
                flags = ("clang", f"--target={_TRIPLE}", f"-mcpu={where}", "-nogpulib")
                run = zig.run([*flags, "-c", source, "-o", output])
                if not run.returncode:
                    break
                accepted = _accepted(accepted, run.stderr)
            if run.returncode:
                raise UsageError(f"the wheels' clang does not assemble what {self} prints: {run.stderr[:500]}")
            elf = ELFFile(io.BytesIO(output.read_bytes()))
        text = elf.get_section_by_name(".text")
        assert text is not None
        code, places = text.data(), {s.name: s.address for s in symbols(elf, ".symtab")}
        return {each: code[places[f"l{i}"] : places[f"l{i + 1}"]] for i, each in enumerate(accepted)}


Disassembler = ProgramDisassembler | LibraryDisassembler


def _place(file: str, line: object) -> str:
    file = os.path.normpath(file)  # LLVM 14 says ./file
    return f"\t.loc\t1 {line} 0 ; {file}:{line}:0"


def _places(elf: Any) -> Iterator[tuple[int, str]]:
    """Yield the addresses at which source lines begin, and the lines."""
    dwarf = elf.get_dwarf_info()
    for program in filter(None, map(dwarf.line_program_for_CU, dwarf.iter_CUs())):
        older = program["version"] < 5  # numbers of files and folders begin with 1; 0 is the folder of the compilation
        folders = [b""] * older + [*program["include_directory"]]
        for state in (entry.state for entry in program.get_entries() if entry.state):
            file = program["file_entry"][state.file - older]
            path = Path(folders[file.dir_index].decode(), file.name.decode())
            yield state.address, _place(str(path), state.line)


def _accepted(texts: Sequence[str], errors: str) -> list[str]:
    """Return the lines of a source that the assembler did not refuse."""
    refused = {int(number) - 1 for number in _REFUSED.findall(errors)}
    return [text for i, text in enumerate(texts) if i not in refused]


def find_disassembler() -> Disassembler:
    """Return the newest LLVM: below ``$ROCM_PATH`` and ``/opt/rocm``, on PATH (``llvm-objdump``, ``llvm-objdump-19``,
    ...), and in the wheel.

    Raises:
        MissingTool: no LLVM for AMD GPUs is installed.
    """
    installed = _installed(os.environ.get("ROCM_PATH", ""), os.environ.get("PATH", ""))
    if found := [each for each in (installed, _from_wheel()) if each]:
        return max(found, key=lambda each: each.version)
    raise MissingTool(
        "a disassembler for AMD GPUs (llvm-objdump, with llvm-mc)",
        f"$ROCM_PATH/llvm/bin, /opt/rocm/llvm/bin, PATH, {_WHEEL}",
        f"the package llvm of your distribution (Debian, Ubuntu: apt install llvm), ROCm, or pip install {_WHEEL}",
    )


@functools.cache
def _from_wheel() -> LibraryDisassembler | None:
    """Return the library of the wheel if it is installed and can be loaded."""
    version = [ctypes.c_uint() for _ in range(3)]
    try:
        path = Path(str(importlib.metadata.distribution(_WHEEL).locate_file(_LIBRARY)))
        _library(path).LLVMGetVersion(*map(ctypes.byref, version))
    except (importlib.metadata.PackageNotFoundError, OSError):
        return None
    return LibraryDisassembler(path, version[0].value)


@functools.cache
def _library(path: Path) -> Any:
    """Load LLVM's interface for C, for AMD GPUs."""
    library = ctypes.CDLL(str(path))
    for part in ("TargetInfo", "TargetMC", "Disassembler"):
        getattr(library, f"LLVMInitializeAMDGPU{part}")()
    pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64
    library.LLVMCreateDisasmCPU.restype = pointer
    library.LLVMCreateDisasmCPU.argtypes = (text, text, pointer, ctypes.c_int, pointer, pointer)
    library.LLVMDisasmInstruction.restype = ctypes.c_size_t
    library.LLVMDisasmInstruction.argtypes = (pointer, text, number, number, text, ctypes.c_size_t)
    library.LLVMDisasmDispose.argtypes = (pointer,)
    return library


@functools.cache
def _installed(rocm: str, path: str) -> ProgramDisassembler | None:
    folders = [Path(root, "llvm/bin") for root in (rocm, "/opt/rocm") if root]
    folders += [Path(folder) for folder in path.split(os.pathsep) if folder]
    found = []
    for objdump in (p for folder in folders for p in folder.glob("llvm-objdump*") if shutil.which(p)):
        try:
            text = subprocess.run([str(objdump), "--version"], capture_output=True, text=True, check=False).stdout
        except OSError:  # for example a program for a different machine
            continue
        if (version := _VERSION.search(text)) and "amdgcn" in text:
            one = ProgramDisassembler(objdump, int(version[1]))
            found += [one] if one.tool("llvm-mc").is_file() else []
    return max(found, key=lambda one: one.version, default=None)


def disassemble(
    path: Path, name: str, where: Target, tools: Disassembler, places: Collection[range]
) -> list[DisassembledLine]:
    """Return the instructions at these addresses."""
    found = []
    for line in (each for part in _joined(places) for each in tools.lines(path, name, where, part)):
        text = line.text
        if text.startswith(BRANCHES):  # hand-written assembly has names of labels
            text = f"{text.partition(' ')[0]} {int.from_bytes(line.code[:2], 'little')}"
        found.append(replace(line, text=_NO_OFFSET.sub(r"\g<1>0x0", text)))
    return _read_back(found, where, tools)


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
    known = tools.encodings(distinct, where)
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
