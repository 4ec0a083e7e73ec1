"""Which statements of a file are executed. Triton is not needed."""

from __future__ import annotations

import copy
import sys
import types

from parity.triton_kernels.loading import Loader, Placeholder, functions

MAIN = """import missing_package
from missing_package import decorate
from .helpers import *
from .helpers import scaled as renamed
raise_if_executed = 1 / 0

FACTOR = 2 * BASE

@decorate(number=1)
@jit
def kernel(x):
    return renamed(x) * FACTOR

if missing_package.version < 3:
    @jit
    def conditional(x):
        return x
"""
PARTS = """from xml.etree import ElementTree as part
tree = part.Element
"""
HELPERS = """import nothing_like_this
BASE = 21
def jit(function):
    return function
def scaled(x):
    return x + 1
"""


def loaded(folder, name):
    package = folder / "package"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('the package itself is not needed')\n")
    (package / "main.py").write_text(MAIN)
    (package / "helpers.py").write_text(HELPERS)
    (package / "parts.py").write_text(PARTS)
    loader = Loader([])
    return loader.function(package / "main.py", name), loader


def test_function_gets_constants_and_functions_of_other_files(tmp_path):
    kernel, loader = loaded(tmp_path, "kernel")
    assert kernel(1) == 2 * 42
    assert [path.name for path in loader.files] == ["main.py", "helpers.py"]


def test_module_in_use_can_be_copied(tmp_path):
    _, loader = loaded(tmp_path, "kernel")
    module = loader.module(loader.files[0])
    assert copy.deepcopy(module) is module
    assert type(module) is types.ModuleType  # Triton compares the type of a global name


def test_failing_statement_gives_placeholder(tmp_path):
    value, _ = loaded(tmp_path, "raise_if_executed")
    assert isinstance(value, Placeholder) and not value and not list(value)


def test_function_below_condition_that_cannot_be_computed_is_defined(tmp_path):
    kernel, _ = loaded(tmp_path, "conditional")
    assert kernel(3) == 3


def test_function_after_failing_statement_of_same_condition_is_defined(tmp_path):
    kernel = "    @jit\n    def kernel(x):\n        return x\n"
    source = f"if True:\n    def jit(function):\n        return function\n    jit.register_fake()\n{kernel}"
    (tmp_path / "main.py").write_text(source)
    assert Loader([]).function(tmp_path / "main.py", "kernel")(4) == 4


def test_functions_lists_decorated_functions_below_conditions(tmp_path):
    _, loader = loaded(tmp_path, "kernel")
    assert [each.name for each in functions(loader.files[0])] == ["kernel", "conditional"]


def test_functions_inside_functions_and_classes_are_loaded(tmp_path):
    source = """
def jit(function):
    return function
@jit
def kernel(x):
    return x
class Operator(Missing):
    @jit
    def kernel(x):
        return -x
    @jit
    def inner(x):
        return x * FACTOR
FACTOR = 3
def host(x):
    @jit
    def innermost(x):
        return inner(x) + around
    around = 1
    return innermost(x)
"""
    path = tmp_path / "main.py"
    path.write_text(source)
    assert [each.name for each in functions(path)] == ["kernel", "inner", "innermost"]
    loader = Loader([])
    assert loader.function(path, "kernel")(2) == 2 and loader.function(path, "inner")(2) == 6
    assert loader.function(path, "innermost").__name__ == "innermost"


def test_statements_that_fill_a_list_or_table_are_executed(tmp_path):
    path = tmp_path / "main.py"
    path.write_text("found, table = [], {}\nfor i in range(2):\n    found.append(i)\n    table[i] = -i\n")
    assert Loader([]).function(path, "found") == [0, 1] and Loader([]).function(path, "table") == {0: 0, 1: -1}


def test_import_of_submodule_from_installed_package(tmp_path, monkeypatch):
    _, loader = loaded(tmp_path, "kernel")
    for name in ("xml.etree.ElementTree", "xml.etree"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert loader.function(tmp_path / "package/parts.py", "tree")("name").tag == "name"


def test_import_of_missing_submodule_leaves_its_package(tmp_path):
    (tmp_path / "main.py").write_text("import json\nimport json.no_such_part\n\nvalue = json.loads('[1]')\n")
    assert Loader([]).function(tmp_path / "main.py", "value") == [1]
