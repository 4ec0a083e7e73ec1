"""Adds to the site other pages of the repository, and reference sections generated from the program.

A file that a page links to becomes part of the site, wherever it is in the repository; a program is shown as text. A
line that ends with a comment such as ``<!-- options of every command -->`` is replaced by the section of that name.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import parity
from parity.cli.shared.parser import build_parser, commands
from parity.platform.files import read_table

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
HOME = ROOT / "README.md"
CODE = re.compile(r"(^```.*?^```$|`[^`]*`|^ {4}[^\n]*$)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?\)")
NAMED = re.compile(r"^.*<!-- ([\w .]+) -->$", re.MULTILINE)
ELSEWHERE = re.compile(r"<(?!a\b)\w+\b[^>]*\s(?:src|href|data|srcset)=[\"']?(?:https?:)?//[^>]*>")
INTERFACE = tuple(f"parity.{name}" for name in parity.__all__)
DECLARING = (
    *(
        "parity.ops.declaration.Declaration",
        "parity.ops.declaration.NamedCase",
        "parity.ops.launch_rules.Step",
        "parity.ops.case_view.CaseView",
    ),
    *(f"parity.reference.{name}" for name in ("within", "Expected", "Bounds", "Limits")),
)
RUNNING = tuple(f"parity.runners.{name}" for name in ("Runner", "Session", "OpRunner", "Probe"))


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add linked files outside of docs/, found by following links from the home page and the pages of docs/."""
    ahead = [HOME, *sorted(DOCS.glob("*.md"))]
    for path in ahead:  # the list grows during the loop
        if not path.is_relative_to(DOCS):
            files.append(File.generated(config, _uri(path), content=_content(path)))
        if path.suffix == ".md":
            found = (_target(path, match[1]) for match in LINK.finditer(CODE.sub("", path.read_text())))
            ahead += dict.fromkeys(each for each in found if each.exists() and each not in ahead)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrite links to the addresses of the site, and insert the generated sections."""
    here = _source(page.file.src_uri)
    if here.suffix == ".md":
        parts = CODE.split(markdown)
        parts[::2] = [LINK.sub(lambda match: _link(here, match), part) for part in parts[::2]]
        markdown = "".join(parts)
    if "\n## " not in markdown:
        page.meta["hide"] = ["toc"]  # wide tables need the space
    return NAMED.sub(lambda match: "\n\n".join(CONTENTS[match[1]]()), markdown)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Refuse a page that loads anything from another host."""
    if found := ELSEWHERE.search(output):
        raise PluginError(f"{page.file.src_uri} loads something from another host: {found[0]}")
    return output


def _target(page: Path, link: str) -> Path:
    """The file that a link of a page leads to; for a folder, its README.md."""
    path = Path(os.path.normpath(page.parent / link))
    return path / "README.md" if path.is_dir() else path


def _uri(path: Path) -> str:
    """The path of a file in the site's sources."""
    if path == HOME:
        return "index.md"
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS).as_posix()
    return path.relative_to(ROOT).as_posix() + ("" if path.suffix == ".md" else ".md")


def _source(uri: str) -> Path:
    """The file for a path in the site's sources."""
    places = (HOME if uri == "index.md" else DOCS / uri, ROOT / uri, ROOT / uri.removesuffix(".md"))
    return next(path for path in places if path.is_file())


def _link(page: Path, match: re.Match[str]) -> str:
    uri = os.path.relpath(_uri(_target(page, match[1])), Path(_uri(page)).parent)
    return f"]({uri}{match[2] or ''})"


def _content(path: Path) -> str:
    text = path.read_text()
    if path.suffix == ".md":
        return text
    return f"# {path.relative_to(ROOT)}\n\n```{path.suffix[1:].replace('py', 'python')}\n{text}```\n"


def _plain(text: str) -> str:
    """Escape Markdown in a text."""
    return re.sub(r"([\\`*_<>|\[\]])", r"\\\1", text)


def _options() -> Iterator[str]:
    """The options of every command, from its parser."""
    for name in commands():
        (parsers,) = (a for a in build_parser([name])._actions if isinstance(a, argparse._SubParsersAction))
        command = parsers.choices[name]
        yield f"### parity {name}"
        yield from (
            part if part.startswith("    ") else _plain(part) for part in (command.description or "").split("\n\n")
        )
        rows = []
        for action in command._actions[1:]:  # without --help
            names = [*action.option_strings, *filter(None, [action.metavar])] or [action.dest]
            choices = "" if action.metavar else " ".join(f"`{each}`" for each in action.choices or ())
            meaning = _plain(action.help or "")
            rows.append(f"| {' '.join(f'`{name}`' for name in names)} | {meaning}{choices and f' ({choices})'} |")
        yield "\n".join(["| option | meaning |", "| --- | --- |", *rows])


def _fields() -> Iterator[str]:
    """The fields of the JSON files, from their schemas."""
    for name in ("matrix", "record"):
        schema = json.loads((DOCS / "schema" / f"{name}.schema.json").read_text())
        title = schema["title"].removesuffix(" of parity run")
        yield f"### {title}"
        yield schema["description"].partition(" JSON has")[0]
        tops = [each["$ref"].rpartition("/")[2] for each in schema.get("anyOf", [schema])]
        for kind in (*tops, *(each for each in schema["$defs"] if each not in tops)):
            one = schema["$defs"][kind]
            yield f"#### {kind} {{ #{name}-{kind.lower()} }}"
            yield one.get("description", "")
            if "enum" in one:
                yield ", ".join(f"`{value}`" for value in one["enum"])
            if "properties" in one:
                rows = [f"| `{key}` | {_type(value, name)} |" for key, value in one["properties"].items()]
                yield "\n".join(["| field | type |", "| --- | --- |", *rows])


def _type(schema: dict[str, Any], file: str) -> str:
    """The type in a schema, in words."""
    if "$ref" in schema:
        kind = schema["$ref"].rpartition("/")[2]
        return f"[{kind}](#{file}-{kind.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type(each, file) for each in schema["anyOf"])
    kinds = schema.get("type", "anything")
    if isinstance(kinds, list):
        return " or ".join(_type({**schema, "type": kind}, file) for kind in kinds)
    if kinds == "array" and "items" in schema and schema["items"]:
        return f"list of {_type(schema['items'], file)}"
    if kinds == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object with values of {_type(schema['additionalProperties'], file)}"
    return {"array": "list"}.get(kinds, str(kinds))


def _documented(*names: str) -> Iterator[str]:
    yield from (f"::: {name}" for name in names)


def _words(table: str, column: str, where: str = "") -> Iterator[str]:
    """The distinct values of a column, sorted; ``where`` names a column that must be empty."""
    rows = read_table(ROOT / "parity" / table)
    yield " ".join(f"`{word}`" for word in sorted({row[column] for row in rows if not (where and row[where])}))


def _groups(table: str, column: str, value: str) -> Iterator[str]:
    """A list with the distinct values of a column for each value of another column."""
    found: dict[str, dict[str, None]] = {}
    for row in read_table(ROOT / "parity" / table):
        found.setdefault(row[column], {})[row[value]] = None
    yield "\n".join(f"* {name}: {' '.join(f'`{each}`' for each in values)}" for name, values in found.items())


def _kinds() -> Iterator[str]:
    """The number of names by category."""
    counts = Counter(row["category"] for row in read_table(ROOT / "parity" / "porting" / "cuda_to_hip.csv"))
    yield ", ".join(f"{number:,} {kind}" for kind, number in sorted(counts.items()))


def _inline() -> Iterator[str]:
    """The mnemonics of inline PTX, without operands."""
    rows = read_table(ROOT / "parity" / "porting" / "ptx_to_cpp.csv")
    yield " ".join(f"`{each}`" for each in sorted({row["ptx"].split()[0] for row in rows}))


CONTENTS = {
    "names of CUDA": _kinds,
    "names without an equivalent": lambda: _words("porting/cuda_to_hip.csv", "cuda", "hip"),
    "functions that parity adds": lambda: _words("porting/compat.csv", "name"),
    "functions that nvcc removed": lambda: _words("porting/removed_apis.csv", "name"),
    "libraries with stubs": lambda: _words("porting/libraries.csv", "name"),
    "instructions of PTX": lambda: _words("emulator/ptx/instruction_table.csv", "name"),
    "inline PTX": _inline,
    "instructions of AMD": lambda: _groups("emulator/amdgpu/isa.csv", "unit", "name"),
    "instructions of matrix cores": lambda: _groups("emulator/amdgpu/matrix.csv", "target", "instruction"),
    "options of every command": _options,
    "fields of matrix.json and record.jsonl": _fields,
    "the Python interface": lambda: _documented(*INTERFACE),
    "what declares an op": lambda: _documented(*DECLARING),
    "the protocol of runners": lambda: _documented(*RUNNING),
}
