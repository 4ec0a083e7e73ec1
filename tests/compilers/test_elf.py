"""Symbols and metadata of code objects."""

import io
import sys
from pathlib import Path

import msgspec
from elftools.elf.elffile import ELFFile

from parity.compilers.elf import FUNCTION, metadata, symbols


class Notes:
    """An ELF file with a section that contains notes."""

    def __init__(self, *notes):
        self.notes = notes

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


def test_symbols_are_the_same_as_pyelftools_reads():
    elf = ELFFile(io.BytesIO(Path(sys.executable).read_bytes()))
    table = elf.get_section_by_name(".dynsym")
    found = list(symbols(elf, ".dynsym", ".none"))
    assert [(s.name, s.address, s.size) for s in found] == [
        (s.name, s["st_value"], s["st_size"]) for s in table.iter_symbols()
    ]
    named = {s.name for s in table.iter_symbols() if s["st_info"]["type"] == "STT_FUNC"}
    assert named == {s.name for s in found if s.kind == FUNCTION}
