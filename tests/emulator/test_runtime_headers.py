"""Python reads the constants and structs of the C++ runtime from its headers and does not copy them."""

import ast
import ctypes
import re
from pathlib import Path

import pytest

from parity import emulator
from parity.emulator import runtime_headers
from parity.emulator.fault_report import _ERRORS
from parity.emulator.runtime_headers import constants, structure

PACKAGE = Path(emulator.__file__).parent
RUNTIME = PACKAGE / "runtime"
HEADERS = ("approximate.h", "faults.h", "memory.h", "requests.h", "shadow.h", "threaded.h", "tracing.h", "wavefronts.h")
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.name != "runtime_headers.py")


@pytest.fixture
def header(tmp_path, monkeypatch):
    """Return a function that sets the content of the only header."""
    monkeypatch.setattr(runtime_headers, "_RUNTIME", tmp_path)
    constants.cache_clear()
    structure.cache_clear()
    yield lambda text: (tmp_path / "one.h").write_text(text)
    constants.cache_clear()
    structure.cache_clear()


def is_number(value: ast.expr) -> bool:
    """Return whether an expression only has numbers, arithmetic and ``range``."""
    names = {each.id for each in ast.walk(value) if isinstance(each, ast.Name)}
    constants = [each.value for each in ast.walk(value) if isinstance(each, ast.Constant)]
    return names <= {"range"} and bool(constants) and all(isinstance(each, int) for each in constants)


def assigned_numbers(path: Path) -> set[str]:
    """Return the names to which a module assigns numbers, without leading underscores."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None and is_number(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {
                each.id.lstrip("_") for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)
            }
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_python_modules_do_not_copy_runtime_constants(path):
    known = {name for header in HEADERS for name in constants(header)}
    assert not known & assigned_numbers(path)


@pytest.mark.parametrize(
    "copy",
    [
        "_MAILBOX = 8192",
        "RECORD: int = 10",
        "_WRITABLE, _READABLE = 1, 2",
        "NONE, READ_OUTSIDE = range(2)",
        "SLICE = 1 << 20",
    ],
)
def test_copied_constant_is_found(copy, tmp_path):
    path = tmp_path / "module.py"
    path.write_text(copy)
    known = {name for header in HEADERS for name in constants(header)}
    assert known & assigned_numbers(path)


def test_constants_read_by_python_exist():
    """Every name in a subscript of ``constants(...)``, or of a variable that holds it, is defined in a header."""
    known = {name for header in HEADERS for name in constants(header)}
    used = set()
    for path in MODULES:
        text = path.read_text(encoding="utf-8")
        used |= set(re.findall(r'constants\("[\w.]+"\)\["(\w+)"\]', text))
        used |= set(re.findall(r'_(?:FAULTS|SHADOW|APPROXIMATE|WAVEFRONTS|THREADED)\["(\w+)"\]', text))
    assert used and used <= known


def test_faults_have_distinct_numbers_and_errors():
    text = (RUNTIME / "faults.h").read_text(encoding="utf-8")
    names = re.findall(r"\w+", text.partition("enum Fault {")[2].partition("}")[0])
    numbers = [constants("faults.h")[name] for name in names]
    assert numbers == list(range(len(names)))
    assert {*_ERRORS} == {*numbers} - {constants("faults.h")["NONE"]}


def test_constants_evaluate_enumerators_and_expressions(header):
    header(
        """
    enum Fault { NONE, READ, WRITE = 7, RACE }; // TIMEOUT
    enum { A = 1 << 3, B };
    constexpr u32 ALL = ~0u, HALF = 1u << 31;
    constexpr u64 ROOM = 2 * HALF;
    constexpr u32 CELLS[] = {32, 4, 1};
    constexpr u32 LOGGED = LANES == 32 ? 16 : 1;
    """.replace("\n    ", "\n")
    )
    assert constants("one.h") == {
        "NONE": 0, "READ": 1, "WRITE": 7, "RACE": 8, "A": 8, "B": 9,
        "ALL": 0xFFFFFFFF, "HALF": 1 << 31, "ROOM": 1 << 32, "CELLS": (32, 4, 1),
    }  # fmt: skip


def test_structure_has_layout_of_c_struct(header):
    header("""
struct Access { u32 who; u16 epoch, instruction;
};
struct alignas(32) Cell {
  Access write, read[2]; // of wavefronts
  u8 *at;
};
""")
    cell = structure("one.h", "Cell")
    assert ctypes.sizeof(cell) == 32
    assert [name for name, _ in cell._fields_] == ["write", "read", "at"]
    assert cell.read.offset == 8 and cell.at.offset == 24
