"""Finding and running LLVM's disassembler."""

from dataclasses import replace

import pytest

from parity.compilers import disassembler
from parity.compilers.targets import target
from parity.errors import MissingTool, UsageError


def test_ignored_bits_of_buffer_wbl2_may_differ():
    clang, assembler = (word.to_bytes(4, "little") + bytes(4) for word in (0xE0A0C000, 0xE0A00000))
    line = disassembler.DisassembledLine(0, "buffer_wbl2", clang, "")
    assert disassembler._same(assembler, line)
    assert not disassembler._same((0xE0A40000).to_bytes(4, "little") + bytes(4), line)
    assert not disassembler._same(assembler, replace(line, text="buffer_inv"))


def test_sign_of_literal_of_16_bits_may_be_extended():
    clang, assembler = (bytes.fromhex(f"ff0000521597{upper}") for upper in ("ffff", "0000"))
    line = disassembler.DisassembledLine(0, "v_mul_lo_u16_e32 v0, 0x9715, v0", clang, "")
    assert disassembler._same(assembler, line)
    assert not disassembler._same(assembler, replace(line, text="v_mul_lo_u16_e32 v0, 0xffff9715, v0"))
    assert not disassembler._same(b"\xfe" + assembler[1:], line)


def llvm(folder, version, *, suffix="", targets="amdgcn", tools=("llvm-objdump", "llvm-mc")):
    """Simulate an installed LLVM that supports no processor newer than gfx10."""
    folder.mkdir(exist_ok=True)
    for tool in tools:
        path = folder / f"{tool}{suffix}"
        path.write_text(
            "#!/bin/sh\n"
            f'if [ "$1" = --version ]; then echo "LLVM version {version}.0.6 {targets}"; fi\n'
            'if [ "$1" = -d ]; then echo "gfx1100 is not a recognized processor for this target" >&2; fi\n'
        )
        path.chmod(0o755)
    return folder


@pytest.fixture
def path(monkeypatch, tmp_path):
    """Return a function that sets PATH to folders; hide ROCm and the wheel."""

    def set_to(*folders):
        monkeypatch.setenv("PATH", ":".join(map(str, folders)))
        monkeypatch.setenv("ROCM_PATH", "")
        monkeypatch.setattr(disassembler, "_from_wheel", lambda: None)
        if disassembler.Path("/opt/rocm").exists():
            pytest.skip("a ROCm is installed here")

    return set_to


def test_find_disassembler_prefers_newest_llvm(path, tmp_path):
    older, newer = llvm(tmp_path / "a", 14), llvm(tmp_path / "b", 19, suffix="-19")
    llvm(older, 15, suffix="-15")
    for folders in ((older, newer), (newer, older)):
        path(*folders)
        found = disassembler.find_disassembler()
        assert (found.version, found.tool("llvm-mc")) == (19, newer / "llvm-mc-19")
    path(older)
    assert disassembler.find_disassembler().version == 15


def test_find_disassembler_skips_unusable_llvm(path, tmp_path):
    good = llvm(tmp_path / "good", 14)
    llvm(good, 20, suffix="-20", targets="x86-64")
    llvm(good, 21, suffix="-21", tools=("llvm-objdump",))
    (good / "llvm-objdump-22").write_bytes(b"\x7fELF of another machine")
    (good / "llvm-objdump-22").chmod(0o755)
    path(good)
    assert disassembler.find_disassembler().version == 14


def test_old_llvm_for_new_target_is_an_error(path, tmp_path):
    path(llvm(tmp_path / "old", 14))
    file, tools = tmp_path / "module.hsaco", disassembler.find_disassembler()
    with pytest.raises(UsageError, match=r"is for gfx1100, which .*LLVM 14.* cannot disassemble; install a newer LLVM"):
        disassembler.disassemble(file, file.name, target("gfx1100"), tools, [range(64)])


def test_find_disassembler_without_llvm_names_package_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("ROCM_PATH", str(tmp_path))
    monkeypatch.setattr(disassembler, "_from_wheel", lambda: None)
    if not disassembler.Path("/opt/rocm").exists():
        with pytest.raises(MissingTool, match="apt install llvm"):
            disassembler.find_disassembler()


def test_newest_llvm_may_be_in_the_wheel(path, monkeypatch, tmp_path):
    path(llvm(tmp_path / "installed", 15))
    for version, found in ((14, 15), (15, 15), (22, 22)):
        wheel = disassembler.LibraryDisassembler(tmp_path, version)
        monkeypatch.setattr(disassembler, "_from_wheel", lambda wheel=wheel: wheel)
        assert disassembler.find_disassembler().version == found
    assert disassembler.find_disassembler() is wheel
