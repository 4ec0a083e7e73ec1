"""SASS: classes of opcodes, parsing of disassemblies, and the real disassembler if it is installed."""

from __future__ import annotations

import pytest

from parity.emulator.amdgpu.classes import CLASSES
from parity.errors import MissingTool, ParityError
from parity.footprint import sass as module
from parity.footprint.sass import instruction_mixes, nvdisasm, opcode_class, section_opcodes

LISTING = """
\t.target\tsm_90

//--------------------- .text.first          --------------------------
\t.section\t.text.first,"ax",@progbits
        .global         first
.text.first:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/               @P2 BRA `(.L_x_0) ;
        /*0020*/              @!UP0 UIADD3 UR4, UR4, 0x1, URZ ;
        /*0030*/                   NOP ;
        /*0040*/                   STG.E desc[UR4][R2.64], R0 ;
.L_x_0:
        /*0050*/              @!PT EXIT ;
.L_x_1:
        /*0060*/                   BRA `(.L_x_1);
        /*0070*/                   NOP;
        /*0080*/                   NOP;
.L_x_2:

//--------------------- .text.second          --------------------------
\t.section\t.text.second,"ax",@progbits
.text.second:
        /*0000*/                   EXIT ;
.L_x_3:
        /*0010*/                   BRA `(.L_x_3);
        /*0020*/                   NOP;

//--------------------- SYMBOLS --------------------------
\t.type\t\t.nv.reservedSmem.offset0,@object
"""


@pytest.mark.parametrize(
    ("opcodes", "name"),
    [
        ("FFMA HFMA2 DADD IMAD IADD3 VIADD MUFU LEA LOP3 SHF PRMT SEL I2F S2R CS2R MOV PLOP3 HMMA VOTE", "valu"),
        ("UIADD3 ULEA USEL UMOV R2UR S2UR REDUX", "salu"),
        ("LDC ULDC", "smem"),
        ("LD LDG LDGSTS TEX UBLKCP", "vmem load"),
        ("ST STG UTMASTG", "vmem store"),
        ("ATOM ATOMG RED", "vmem atomic"),
        ("LDS STS LDSM ATOMS SHFL", "lds"),
        ("LDL STL", "scratch"),
        ("BRA BRX CALL RET BSSY BSYNC BREAK WARPSYNC", "branch"),
        ("BAR SYNCS", "barrier"),
        ("NOP DEPBAR LDGDEPBAR MEMBAR FENCE ERRBAR CCTL NANOSLEEP YIELD", "wait"),
        ("EXIT BPT QUUX", "other"),
    ],
)
def test_opcode_class(opcodes, name):
    assert {opcode: opcode_class(opcode) for opcode in opcodes.split()} == dict.fromkeys(opcodes.split(), name)
    assert name in CLASSES


def test_section_opcodes_omit_padding():
    assert section_opcodes(LISTING) == {
        "first": ["LDC", "BRA", "UIADD3", "NOP", "STG", "EXIT"],
        "second": ["EXIT"],
    }


def test_missing_disassembler_states_installation(monkeypatch):
    monkeypatch.setattr(module, "_candidates", lambda: iter(()))
    with pytest.raises(MissingTool, match=r"nvdisasm not found .*pip install .*\[nvcc\]"):
        nvdisasm()


def test_other_file_than_cubin_is_rejected(tmp_path):
    try:
        nvdisasm()
    except MissingTool as error:
        pytest.skip(str(error))
    (tmp_path / "no.cubin").write_text("text")
    with pytest.raises(ParityError, match=r"rejects .*no\.cubin"):
        instruction_mixes(tmp_path / "no.cubin")
