"""Loads Triton functions from the source files of a project, without what only its host code needs.

A file of a project imports torch, its own package and more. ``Loader`` executes only the statements at the top of a
file that a function depends on. An import that fails gives a placeholder, so that no other package has to be installed.
``child.py`` runs this in a child process. This file imports nothing of parity.
"""

from __future__ import annotations

import ast
import builtins
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

_JIT, _TUNED = ("jit",), ("jit", "autotune", "heuristics")
"""Decorators that define a kernel, and those that ``describe`` can read."""
_FILLS = ("append", "extend", "update", "add", "insert", "setdefault")
"""Methods that fill a list, a set or a table."""


class Placeholder:
    """Stands for something that cannot be imported or computed. It is false, empty and callable.

    It is more than everything, because a version that is not known counts as new.
    """

    def __init__(self, name: str = "") -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Placeholder(f"{self.__name__}.{name}")

    def __call__(self, *values: Any, **named: Any) -> Any:
        """Return a decorated function unchanged, and a placeholder otherwise."""
        return values[0] if len(values) == 1 and not named and hasattr(values[0], "__name__") else self

    def __getitem__(self, key: Any) -> Placeholder:
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __bool__(self) -> bool:
        return False

    def __enter__(self) -> Placeholder:
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def __int__(self) -> int:
        return 0

    __index__ = __int__

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return (object,)

    def _is_less(self, other: Any) -> bool:
        return False

    def _is_more(self, other: Any) -> bool:
        return True

    __lt__ = __le__ = _is_less
    __gt__ = __ge__ = _is_more

    def _same(self, other: Any = None) -> Placeholder:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __floordiv__ = __or__ = __ror__ = __and__ = _same


def _lazy_module(loader: Loader, name: str, path: Path) -> types.ModuleType:
    """Return a module whose names are computed when they are used.

    It is a plain module, because Triton accepts no other type for a global name of a function.
    """
    module = types.ModuleType(name)
    module.__file__ = str(path)
    module.__package__ = name if path.name == "__init__.py" else name.rpartition(".")[0]
    if path.name == "__init__.py":
        module.__path__ = [str(path.parent)]
    tree = ast.parse(path.read_text(errors="replace"), str(path))

    def attribute(wanted: str) -> Any:
        if wanted.startswith("_parity") or (wanted.startswith("__") and wanted.endswith("__")):
            raise AttributeError(wanted)
        loader.execute(module, [wanted])
        if wanted in module.__dict__:
            return module.__dict__[wanted]
        if (part := loader.file(f"{name}.{wanted}")) is not None:
            return part
        raise AttributeError(wanted)

    module.__dict__.update(
        {
            "__builtins__": {**vars(builtins), "__import__": loader.importer(module)},
            "__getattr__": attribute,
            "__deepcopy__": lambda memo: module,  # Triton copies the global names that a function uses
            "_parity_statements": [(statement, _bound(statement)) for statement in (*tree.body, *_nested(tree))],
            "_parity_done": set[int](),
        }
    )
    return module


class Loader:
    """Loads functions below the folders ``roots``. ``files`` are the files that were read.

    ``imported`` returns the module of a name that begins with torch.
    """

    def __init__(self, roots: Sequence[Path], imported: Callable[[str], Any] | None = None) -> None:
        self._roots = list(roots)
        self._imported = imported
        self._modules: dict[str, types.ModuleType] = {}
        self._strict = False

    @property
    def files(self) -> list[Path]:
        """The files that were read."""
        return [Path(str(module.__file__)).resolve() for module in self._modules.values()]

    def function(self, path: Path, name: str) -> Any:
        """Return what a file calls ``name``.

        Raises:
            AttributeError: the file does not have it.
        """
        return getattr(self.module(path), name)

    def module(self, path: Path) -> types.ModuleType:
        """Return the module of a file."""
        folder, name = path.parent, path.stem
        while (folder / "__init__.py").is_file():
            folder, name = folder.parent, f"{folder.name}.{name}"
        if folder not in self._roots:
            self._roots.insert(0, folder)
        module = self.file(name.removesuffix(".__init__"))
        assert module
        return module

    def file(self, name: str) -> types.ModuleType | None:
        """Return the module of a dotted name; None if it does not belong to the project."""
        if name in self._modules:
            return self._modules[name]
        for root in self._roots:
            base = root.joinpath(*name.split("."))
            for path in (base / "__init__.py", base.with_suffix(".py")):
                if path.is_file():
                    module = self._modules[name] = _lazy_module(self, name, path)
                    sys.modules.setdefault(name, module)  # inspect needs it
                    return module
        return None

    def execute(self, module: types.ModuleType, names: Sequence[str]) -> None:
        """Execute the statements that define these names, and what they depend on, in the order of the file."""
        statements, done = module.__dict__["_parity_statements"], module.__dict__["_parity_done"]
        wanted, chosen = list(names), set[int]()
        seen = set(wanted)
        while wanted:
            name = wanted.pop()
            for number, (statement, bound) in enumerate(statements):
                if number not in chosen | done and (name in bound or _is_star(statement)):
                    if _is_star(statement):
                        self._star(module, statement, name)
                        continue
                    chosen.add(number)
                    used = {each.id for each in ast.walk(statement) if isinstance(each, ast.Name)} - seen
                    seen |= used
                    wanted += sorted(used)
        done |= chosen
        for number in sorted(chosen):
            self._run(module, *statements[number])

    def importer(self, module: types.ModuleType) -> Any:
        """Return the function that replaces ``__import__`` in a file."""

        def load(name: str, _globals: Any = None, _locals: Any = None, wanted: Any = (), level: int = 0) -> Any:
            full = name
            if level:
                parts = str(module.__package__).split(".")
                full = ".".join(filter(None, (*parts[: len(parts) - level + 1], name)))
            if (found := self.file(full)) is not None:
                return found if wanted or level else self.file(full.partition(".")[0]) or found
            if self._imported and name.partition(".")[0] == "torch":
                return self._imported(name if wanted else "torch")
            try:
                return __import__(name, fromlist=wanted or ())  # which imports submodules among them
            except Exception:
                if self._strict:
                    raise
                top = name.partition(".")[0]
                if not wanted and top != name and top in sys.modules:  # "import triton.missing" binds "triton"
                    return sys.modules[top]
                return Placeholder(name)

        return load

    def _run(self, module: types.ModuleType, statement: ast.stmt, bound: set[str]) -> None:
        """Execute a statement. Names whose values cannot be computed become placeholders."""
        attempts = [statement]
        if isinstance(statement, ast.FunctionDef) and statement.decorator_list:
            attempts += [_decorated(statement, kept) for kept in (_TUNED, _JIT)]
        before, self._strict = self._strict, isinstance(statement, ast.Try)
        try:
            for each in attempts:
                try:
                    code = compile(ast.Module([each], []), str(module.__file__), "exec", dont_inherit=True)
                    exec(code, module.__dict__)
                except Exception:
                    if not isinstance(each, ast.If):
                        continue
                for inner in _undefined(each, module.__dict__) if isinstance(each, ast.If) else ():
                    self._run(module, inner, _bound(inner))  # it failed, or a placeholder did not meet the condition
                defined = [module.__dict__.get(name) for name in bound]
                if not any(isinstance(value, Placeholder) for value in defined) or each is attempts[-1]:
                    return
        finally:
            self._strict = before
        for name in bound:
            module.__dict__.setdefault(name, Placeholder(name))

    def _star(self, module: types.ModuleType, statement: ast.stmt, name: str) -> None:
        """Take a name from ``from x import *``, if it is there."""
        assert isinstance(statement, ast.ImportFrom)
        source = self.importer(module)(statement.module or "", wanted=("*",), level=statement.level)
        if not isinstance(source, Placeholder) and hasattr(source, name):
            module.__dict__.setdefault(name, getattr(source, name))


def functions(path: Path) -> list[ast.FunctionDef]:
    """Return the Triton functions of a file: those at its top, also below ``if`` and ``try``, then nested ones."""
    tree = ast.parse(path.read_text(errors="replace"))
    top = (each for each in _flat(tree.body) if isinstance(each, ast.FunctionDef) and _has(each, _JIT))
    return [*top, *_nested(tree)]


def _nested(tree: ast.Module) -> list[ast.FunctionDef]:
    """Return the Triton functions inside functions and classes, which are loaded as if they were at the top.

    Variables of the function around them are not defined there. Of several with one name, the first one counts.
    """
    top = {*_flat(tree.body)}
    known = set[str]().union(*map(_bound, tree.body))
    found: dict[str, ast.FunctionDef] = {}
    for each in ast.walk(tree):
        if isinstance(each, ast.FunctionDef) and each not in top and _has(each, _JIT) and each.name not in known:
            found.setdefault(each.name, each)
    return [*found.values()]


def _flat(statements: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for each in statements:
        yield each
        if isinstance(each, ast.If | ast.Try):
            yield from _flat(each.body)
            yield from _flat(each.orelse)


def _undefined(statement: ast.If, names: Mapping[str, Any]) -> Iterator[ast.stmt]:
    """Yield the parts of an ``if`` whose names are not defined."""
    return (each for each in _flat([statement]) if each is not statement and not _bound(each) <= names.keys())


def _has(function: ast.FunctionDef, names: Sequence[str]) -> bool:
    return any(_name(each) in names for each in function.decorator_list)


def _decorated(function: ast.FunctionDef, kept: Sequence[str]) -> ast.FunctionDef:
    chosen = [each for each in function.decorator_list if _name(each) in kept]
    return ast.copy_location(ast.FunctionDef(**{**dict(ast.iter_fields(function)), "decorator_list": chosen}), function)


def _name(decorator: ast.expr) -> str:
    """The last part of a decorator's name."""
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _is_star(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and any(each.name == "*" for each in statement.names)


def _bound(statement: ast.stmt) -> set[str]:
    """The names that a statement defines, and the names of lists and tables that it fills."""
    found: set[str] = set()
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        match node:
            case ast.FunctionDef() | ast.ClassDef() | ast.AsyncFunctionDef():
                found.add(node.name)
                continue
            case ast.Import():
                found |= {each.asname or each.name.partition(".")[0] for each in node.names}
            case ast.ImportFrom():
                found |= {each.asname or each.name for each in node.names}
            case ast.Name(ctx=ast.Store()):
                found.add(node.id)
            case ast.Subscript(ctx=ast.Store(), value=ast.Name(id=name)):
                found.add(name)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if method in _FILLS:
                found.add(name)
            case ast.Lambda():
                continue
        pending += ast.iter_child_nodes(node)
    return found
