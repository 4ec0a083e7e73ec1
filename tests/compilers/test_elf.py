"""Symbols and metadata of code objects."""

import io
import sys
from pathlib import Path

import msgspec
from elftools.elf.elffile import ELFFile

from parity.compilers import zig
from parity.compilers.elf import FUNCTION, metadata, symbols
from parity.compilers.targets import TARGETS


class Notes:
    """An ELF file with a section that contains notes."""

    def __init__(self, *notes, flags=0):
        self.notes, self.header = notes, {"e_flags": flags}

    def iter_sections(self, kind):
        assert kind == "SHT_NOTE"
        return [self]

    def iter_notes(self):
        return self.notes


def note(document, owner="AMDGPU", kind=32):
    return {"n_name": owner, "n_type": kind, "n_descdata": msgspec.msgpack.encode(document)}


def test_kernels_of_several_notes_are_merged():
    notes = [note({"amdhsa.kernels": [{".name": name}], "amdhsa.target": "gfx90a"}) for name in "abc"]
    notes.append(note({"amdhsa.kernels": [{".name": "d"}]}, owner="GNU"))
    found = metadata(Notes(*notes))
    assert [kernel[".name"] for kernel in found["amdhsa.kernels"]] == ["a", "b", "c"]
    assert found["amdhsa.target"] == "gfx90a"
    assert metadata(Notes()) == {}


def test_target_is_read_from_the_header_if_no_note_names_it():
    kernels = {"amdhsa.kernels": []}
    assert metadata(Notes(note(kernels), flags=0x53F))["amdhsa.target"] == "amdgcn-amd-amdhsa--gfx90a"
    named = note({**kernels, "amdhsa.target": "other"})
    assert metadata(Notes(named, flags=0x53F))["amdhsa.target"] == "other"
    assert "amdhsa.target" not in metadata(Notes(note(kernels), flags=0x500))


def test_number_of_each_target_is_the_one_that_the_compiler_writes(tmp_path):
    for target in TARGETS.values():
        (tmp_path / "empty.s").touch()
        options = ("clang", "-c", "--target=amdgcn-amd-amdhsa", f"-mcpu={target.name}")
        built = zig.run([*options, tmp_path / "empty.s", "-o", tmp_path / "out.o"])
        assert not built.returncode, built.stderr
        assert ELFFile(io.BytesIO((tmp_path / "out.o").read_bytes())).header["e_flags"] & 0xFF == target.machine


def test_symbols_are_the_same_as_pyelftools_reads():
    elf = ELFFile(io.BytesIO(Path(sys.executable).read_bytes()))
    table = elf.get_section_by_name(".dynsym")
    found = list(symbols(elf, ".dynsym", ".none"))
    assert [(s.name, s.address, s.size) for s in found] == [
        (s.name, s["st_value"], s["st_size"]) for s in table.iter_symbols()
    ]
    named = {s.name for s in table.iter_symbols() if s["st_info"]["type"] == "STT_FUNC"}
    assert named == {s.name for s in found if s.kind == FUNCTION}
