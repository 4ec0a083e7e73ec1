"""The HSA runtime exports what AMD's HIP runtime needs, and shares its numbers with the emulator's process."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from parity.hsa import memory
from parity.hsa.library import environment, functions, hip_runtime, library
from parity.hsa.server import Action

HEADER = Path(memory.__file__).with_name("runtime") / "hsa.h"


def symbols(path, section):
    with path.open("rb") as file:
        elf = ELFFile(file)
        found = elf.get_section_by_name(section).iter_symbols()
        return {(s.name, s["st_shndx"] != "SHN_UNDEF") for s in found if s.name.startswith("hsa_")}


def test_library_exports_all_functions_of_the_table_and_no_others():
    assert len(functions()) == 95
    exported = symbols(library() / "libhsa-runtime64.so.1", ".dynsym")
    assert {name for name, defined in exported if defined} == set(functions())


@pytest.mark.skipif(not hip_runtime(), reason="needs libamdhip64.so.7 of ROCm 7; nox -s amd-runtime has it")
def test_table_has_all_functions_that_amds_runtime_needs():
    needed = symbols(hip_runtime() / "libamdhip64.so.7", ".dynsym")
    assert {name for name, defined in needed if not defined} <= set(functions())


@pytest.mark.parametrize(
    ("name", "value"), [("BASE", memory.BASE), ("SPACE", memory.SPACE), ("HOST_END", memory.SPACE - memory.RESERVED)]
)
def test_address_space_is_the_same_in_both_processes(name, value):
    (text,) = re.findall(rf"#define {name} \(?(.+?)\)?\s*//", HEADER.read_text())
    number, _, shift = text.replace("ull", "").partition(" << ")
    assert int(number, 0) << int(shift or 0) == value


def test_requests_are_the_same_in_both_processes():
    (text,) = re.findall(r"enum Action \{ (.*) \};", HEADER.read_text())
    names = [name.removesuffix(" = 1") for name in text.split(", ")]
    assert names == [action.name for action in Action]
    assert [action.value for action in Action] == [*range(1, len(names) + 1)]


def test_environment_names_targets_memory_and_checks(tmp_path, monkeypatch):
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    found = environment(tmp_path, ("gfx90a", "gfx1100"), memory=1 << 20, checks="none", jobs=2, report=tmp_path / "out")
    assert found == {
        "LD_LIBRARY_PATH": f"{library()}:{tmp_path}",
        "PARITY_HSA_TARGETS": "gfx90a,gfx1100",
        "GPU_PINNED_MIN_XFER_SIZE": "1000000",
        "PARITY_HSA_MEMORY": str(1 << 20),
        "PARITY_HSA_CHECK": "none",
        "PARITY_HSA_JOBS": "2",
        "PARITY_HSA_REPORT": str(tmp_path / "out"),
    }


def test_runtime_is_found_below_rocm(tmp_path):
    assert hip_runtime(tmp_path) is None
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/libamdhip64.so.7").touch()
    assert hip_runtime(tmp_path) == tmp_path / "lib"
