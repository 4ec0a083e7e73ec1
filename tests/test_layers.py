"""Imports only go down the layout table of CONTRIBUTING.md, and no modules import each other in a cycle."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
PARITY = ROOT / "parity"
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
LAYOUT = re.findall(r"^\| `(\w+)` \|", PAGE.partition("## Layout")[2].partition("\n## ")[0], re.MULTILINE)
"""The packages from the bottom up, as the table lists them."""

WITHOUT_MODULES = {"include", "template"}
LOOSE = {"__init__", "__main__", "errors", "op", "pytest_plugin"}
"""The modules that are not in a package."""


def modules() -> dict[str, Path]:
    """Map the dotted name of every module of parity to its file."""
    found = {}
    for path in PARITY.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts[1] not in WITHOUT_MODULES:
            found[".".join(parts).removesuffix(".__init__")] = path
    return found


MODULES = modules()


def imports(path: Path) -> Iterator[str]:
    """Return the modules of parity that a module imports, including imports in functions and for type checkers."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "parity":
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                yield submodule if submodule in MODULES else str(node.module)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.partition(".")[0] == "parity")


GRAPH = {name: {other for other in imports(path) if other != name} for name, path in MODULES.items()}


def package(module: str) -> str:
    """Return the row of the layout table that a module belongs to."""
    return module.split(".")[1] if "." in module else "__init__"


def upward(graph: Mapping[str, set[str]], layout: list[str]) -> list[str]:
    """Return the imports that point up the layout table."""
    depth = {name: number for number, name in enumerate(layout)}
    edges = ((module, other) for module, others in graph.items() for other in others)
    return sorted(f"{one} imports {two}" for one, two in edges if depth[package(two)] > depth[package(one)])


def cycle(graph: Mapping[str, set[str]]) -> list[str]:
    """Return the modules of one import cycle, or an empty list."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_layout_table_lists_every_package_once():
    assert len(LAYOUT) == len(set(LAYOUT))
    assert {package(module) for module in MODULES} == set(LAYOUT)


def test_imports_only_go_down_the_layout_table():
    assert not upward(GRAPH, LAYOUT)


def test_upward_import_is_reported():
    graph = {"parity.model.case": {"parity.engine.plan"}, "parity.engine.plan": set[str]()}
    assert upward(graph, LAYOUT) == ["parity.model.case imports parity.engine.plan"]


def test_no_modules_import_each_other_in_a_cycle():
    assert not cycle(GRAPH)


def test_import_cycle_of_three_modules_is_reported():
    assert set(cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})) == {"a", "b", "c"}


def test_imports_in_functions_and_for_type_checkers_count(tmp_path):
    source = tmp_path / "module.py"
    source.write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from parity.op import Op\n"
        "def f():\n    from parity.engine import plan\n    import parity.model.case\n"
    )
    assert set(imports(source)) == {"parity.op", "parity.engine.plan", "parity.model.case"}


def test_porting_does_not_import_ops_or_runs():
    allowed = {"errors", "platform", "model", "compilers", "porting"}
    others = {other for module, others in GRAPH.items() if package(module) == "porting" for other in others}
    assert {package(other) for other in others} <= allowed


def test_porting_is_imported_through_its_entry_point():
    outside = {module: others for module, others in GRAPH.items() if package(module) != "porting"}
    assert not {module for module, others in outside.items() if any(o.startswith("parity.porting.") for o in others)}


def test_few_modules_are_outside_packages():
    assert {path.stem for path in PARITY.glob("*.py")} <= LOOSE


def strings(path: Path) -> Iterator[ast.Constant]:
    """Yield the string literals of a module that are not docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in texts)


def test_target_names_appear_only_in_target_table():
    name = re.compile(r"(--offload-arch=)?gfx[0-9a-f]{3,}|sm_[0-9]+[a-z]?")
    files = (PARITY.parent / "noxfile.py", *PARITY.rglob("*.py"))
    found = {(path.name, each.value) for path in files for each in strings(path)}
    assert not [(file, value) for file, value in found if isinstance(value, str) and name.fullmatch(value)]


def test_only_columns_compare_kinds_of_evidence():
    allowed = {"runners", "case_records.py"}
    asked = [
        (path.name, node.lineno)
        for path in PARITY.rglob("*.py")
        if not allowed & {path.name, *path.parts}
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Compare) and any("Evidence." in ast.unparse(each) for each in node.comparators)
    ]
    assert not asked


def test_engine_import_does_not_import_hypothesis_or_rendering():
    heavy = "{'hypothesis', 'jinja2', 'packaging', 'rich', 'yaml'}"
    program = f"import sys, parity.engine.execution, parity.engine.plan; print(*{heavy} & sys.modules.keys())"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert not found.split()
