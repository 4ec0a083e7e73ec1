"""Imports go down only: what stands higher in the list may import what stands lower."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PARITY = Path(__file__).parent.parent / "parity"

# From the top. What is not named is below all of them. The package itself imports its interface when that is used.
LAYERS = (
    ("__main__", "__init__"),
    ("pytest_plugin",),
    ("cli", "testing"),
    ("application",),
    ("report", "cluster"),
    ("knobs",),
    ("mutation",),
    ("engine",),
    ("runners", "static", "guess"),
    ("hip",),
    ("emulator",),
    ("toolchain",),
    ("suite",),
)
DEPTHS = {name: depth for depth, names in enumerate(LAYERS) for name in names}
PARTS = sorted({path.relative_to(PARITY).parts[0].removesuffix(".py") for path in PARITY.rglob("*.py")})


def imports(path: Path) -> Iterator[str]:
    """The parts of parity that a module imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("parity."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            yield from (name.name.split(".")[1] for name in node.names if name.name.startswith("parity."))


@pytest.mark.parametrize("part", PARTS)
def test_imports_go_down(part):
    own = PARITY / part
    files = own.rglob("*.py") if own.is_dir() else [own.with_suffix(".py")]
    depth, lowest = DEPTHS.get(part, len(LAYERS)), len(LAYERS)
    above = {name for name, place in DEPTHS.items() if place <= depth < lowest or place < depth} - {part}
    assert not {(path.name, name) for path in files for name in imports(path) if name in above}


def test_every_layer_exists():
    assert DEPTHS.keys() <= {*PARTS}


@pytest.mark.parametrize("package", ["engine", "runners", "testing"])
def test_no_two_modules_of_a_package_need_each_other(package):
    """Not even for their types."""
    needs = {path.stem: set(siblings(path, package)) for path in (PARITY / package).glob("*.py")}
    assert not {(one, other) for one, others in needs.items() for other in others if one in needs.get(other, ())}


def siblings(path: Path, package: str) -> Iterator[str]:
    """The modules of its package that a module imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"parity.{package}"):
            below = node.module.split(".")[2:]
            yield from below or [name.name for name in node.names]


def strings(path: Path) -> Iterator[ast.Constant]:
    """The string literals of a module that are no docstrings."""
    tree = ast.parse(path.read_text())
    texts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in texts)


def test_targets_are_named_in_their_table_alone():
    name = re.compile(r"gfx[0-9a-f]{3,}|sm_[0-9]+[a-z]?")
    found = {(path.name, each.value) for path in PARITY.rglob("*.py") for each in strings(path)}
    assert not [(file, value) for file, value in found if isinstance(value, str) and name.fullmatch(value)]


def test_what_kind_of_evidence_a_column_has_is_asked_of_the_column():
    asked = [
        (path.name, node.lineno)
        for path in PARITY.rglob("*.py")
        if "runners" not in path.parts and path.name != "results.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Compare) and any("Evidence." in ast.unparse(each) for each in node.comparators)
    ]
    assert not asked


def test_the_engine_itself_imports_nothing_that_draws_or_prints():
    program = (
        "import sys, parity.engine; print(*{'hypothesis', 'jinja2', 'packaging', 'rich', 'yaml'} & sys.modules.keys())"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert not found.split()
