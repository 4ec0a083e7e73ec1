"""Listings: they have every instruction of the object code that clang writes itself, or compilation fails."""

import io
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

from parity.build.modules import build
from parity.compilers import assembler, clang, toolchain, zig
from parity.compilers.clang import Clang
from parity.compilers.clang_flags import intermediate_command
from parity.compilers.errors import CompileError
from parity.compilers.targets import TARGETS, target
from parity.compilers.unit import Unit
from parity.platform.cache import Cache

ROOT = Path(__file__).parents[2]
FOLDERS = ("kernels", "tests/emulator/kernels", "tests/compilers/kernels", "gallery")
DEFAULT = ("affine-gfx90a", "small-gfx1100")
TRAPS = """
__attribute__((device, noinline)) int twice(int x) { return 2 * x; }
extern "C" __attribute__((global)) void k(long* x, int n) {
  if (n > 3) __builtin_trap();
  x[0] = 1;
  if (x[1]) __builtin_trap();
#line 7 "original.cu"
  x[2] = twice(x[3]) & ((1L << n) - 1);
}
"""
PSEUDO = "\t.loc\t1 3 5 ; mine.cu:3:5\n\ts_nop 0\n{}\n\ts_endpgm\n"


FP8_TARGETS = ("gfx942", "gfx1201")
SWIZZLES = (0xD87A, 0xD8D4)
"""Upper halves of ds_swizzle_b32 on gfx9 and on newer targets."""


def modules():
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.cu")):
            for name in FP8_TARGETS if path.stem == "floats8" else TARGETS:
                label = f"{path.stem}-{name}"
                yield pytest.param(path, name, id=label, marks=[] if label in DEFAULT else pytest.mark.thorough)


def instructions(binary):
    """Return the words of the code. Some instructions have several encodings; clang's text is the same for all."""
    words = np.frombuffer(ELFFile(io.BytesIO(binary.read_bytes())).get_section_by_name(".text").data(), "<u4")
    return [encoding(int(word)) for word in words]


def encoding(word):
    upper, lower = word >> 16, word & 0xFFFF
    if word == 0xE0A0C000:  # buffer_wbl2 on gfx90a, whose text lacks its cache bits
        return 0xE0A00000
    if upper == 0xFFFF and lower >= 0x8000:  # a literal of 16 bits, which gfx11 extends with zeros or with the sign
        return lower
    if upper in SWIZZLES and lower < 0x8000:  # BITMASK_PERM: the lanes that are read
        return tuple((lane & lower | lower >> 5) & 31 ^ lower >> 10 for lane in range(32))
    return word


@pytest.mark.parametrize(("path", "name"), [*modules()])
def test_assembled_listing_has_the_bytes_of_clangs_object(path, name, tmp_path, monkeypatch, wheels):
    own, generate = tmp_path / "own.o", Clang._generate

    def noted(self, optimized, output, flags):
        command = [
            *intermediate_command(self.target, flags),
            "-Xclang",
            "-disable-llvm-passes",
            "-c",
            optimized.resolve(),
        ]
        assert not zig.run([*command, "-o", own]).returncode
        return generate(self, optimized, output, flags)

    monkeypatch.setattr(Clang, "_generate", noted)
    monkeypatch.setattr(clang, "_with_expanded_traps", lambda listing: listing)
    (built,) = build(path.parent, [path.stem], [name], cache=Cache(tmp_path / "cache"))
    assert built.error is None
    assert not zig.run(["ld.lld", "-shared", own, "-o", tmp_path / "own.hsaco"]).returncode
    assert instructions(built.code_object.binary) == instructions(tmp_path / "own.hsaco")


@pytest.mark.parametrize(
    "name", [name if name == "gfx1100" else pytest.param(name, marks=pytest.mark.thorough) for name in TARGETS]
)
@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2", "-O3"])
def test_code_after_traps_keeps_its_instructions(name, level, tmp_path):
    source, listing = tmp_path / "m.hip", tmp_path / "m.s"
    source.write_text(TRAPS)
    Clang(target(name), toolchain.wheels()).compile_listing(Unit(source, flags=(level,)), listing)
    assert listing.read_text().count("\ts_swappc_b64") == 1
    assert ("s_sethalt" in listing.read_text()) == (name == "gfx1100"), "s_trap may do nothing there"
    Clang(target(name), toolchain.wheels()).assemble(listing, tmp_path / "m.hsaco")


def test_compiler_that_loses_instructions_is_an_error_with_the_line(tmp_path):
    source = tmp_path / "m.hip"
    source.write_text(TRAPS)
    flags = tuple(word for part in ("-target-feature", "+priv-enabled-trap2-nop-bug") for word in ("-Xclang", part))
    unit = Unit(source, flags=flags, originals={"original.cu": "mine/original.cu"})
    with pytest.raises(CompileError, match=r"mine/original.cu:7:\d+: error: a defect of the compiler"):
        Clang(target("gfx1100"), toolchain.wheels()).compile_listing(unit, tmp_path / "m.s")


@pytest.mark.parametrize("line", ["\t", "\t  ", "\t      ; 4-byte Folded Spill", "\tV_ADD_U64_PSEUDO v0, v1"])
def test_lost_instructions_finds_pseudo_instruction(line):
    assert assembler.lost_instructions(PSEUDO.format(line)).startswith("mine.cu:3:5: error: a defect of the compiler")


@pytest.mark.parametrize(
    "line",
    ["", "\t; wave barrier", "\tv_nop ; x", "\t;;#ASMSTART\n\t\n\tV_NOP\n\t;;#ASMEND", "                    ; %bb.1:"],
)
def test_lost_instructions_accepts_other_lines(line):
    assert assembler.lost_instructions(PSEUDO.format(line)) == ""
