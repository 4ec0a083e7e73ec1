"""Settings of a project: the table ``[tool.parity]`` of pyproject.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from msgspec import Meta, Struct

from parity.compilers.compile_options import CompileOptions, Sides
from parity.errors import UsageError
from parity.platform.files import read_text
from parity.platform.serialization import checked
from parity.platform.version import PACKAGE

Launches = Literal["any", "host"]
LAUNCHES = get_args(Launches)
"""Which launches drawn cases have: any, or only launches by the rule of the op, as the host makes them."""

SHIPPED = PACKAGE / "_suite" if (PACKAGE / "_suite").is_dir() else PACKAGE.parent
"""The suite that an installed parity contains; for an editable installation, the suite of the checkout."""

SHIPPED_ARCH = 890
"""``__CUDA_ARCH__`` for kernels that run the cases of the shipped suite. Kernels for bfloat16 and f8 require it."""


class ProjectSettings(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The keys of ``[tool.parity]``; names may use ``_`` in place of ``-``. ``docs/formats.md`` explains them."""

    kernels: str | None = None
    hip: str | None = None
    cases: str = "cases"
    known_issues: str | None = None
    """Default: ``known-issues.toml``, if it exists."""
    launches: Launches = "any"
    allow_vacuous: list[str] = []
    cuda_arch: Annotated[int, Meta(ge=1, le=9999, description="a number such as 890, which is sm_89")] | None = None
    include: list[str] = []
    flags: list[str] = []
    force_include: list[str] = []
    cuda_include: list[str] = []
    cuda_flags: list[str] = []
    cuda_force_include: list[str] = []
    hip_include: list[str] = []
    hip_flags: list[str] = []
    hip_force_include: list[str] = []


@dataclass(frozen=True)
class Project:
    """The folders, the file of known issues, and the compile options that ``[tool.parity]`` describes."""

    kernels: Path
    cases: Path
    known: Path | None = None
    sides: Sides = field(default_factory=Sides)
    launches: str = "any"
    allow_vacuous: tuple[str, ...] = ()


def find_project(
    start: Path | None = None,
    kernels: Path | None = None,
    cases: Path | None = None,
    known: Path | None = None,
    hip: Path | None = None,
) -> Project:
    """Find the project around ``start`` (default: the working folder), or else the suite shipped with parity.

    ``kernels``, ``cases``, ``known`` and ``hip`` override the project. Overriding ``cases`` drops the project's known
    issues, overriding ``kernels`` its ported sources. The folders need not exist yet.

    Raises:
        UsageError: the configuration is wrong.
    """
    place = (start or Path.cwd()).resolve()
    found = Project(SHIPPED / "kernels", SHIPPED / "cases", sides=Sides(cuda_arch=SHIPPED_ARCH))
    for folder in (place, *place.parents):
        config = folder / "pyproject.toml"
        table = read_settings(config)
        if table is not None:
            found = _project(folder, _checked(config, table))
            break
    port = hip or (found.sides.ported if not kernels else None)
    return replace(
        found,
        kernels=kernels or found.kernels,
        cases=cases or found.cases,
        known=known or (None if cases else found.known),
        sides=replace(found.sides, ported=port),
    )


def _project(folder: Path, settings: ProjectSettings) -> Project:
    """The project in a folder with these settings."""
    issues = folder / (settings.known_issues or "known-issues.toml")
    ported = folder / settings.hip if settings.hip is not None else None
    kernels = None if settings.kernels is None else folder / settings.kernels
    return Project(
        kernels or ported or folder / "kernels",  # a project may consist of HIP sources alone
        folder / settings.cases,
        issues if settings.known_issues is not None or issues.is_file() else None,
        Sides(
            _compile_options(folder, settings, "cuda_"),
            _compile_options(folder, settings, "hip_"),
            ported if kernels else None,
            settings.cuda_arch,
        ),
        settings.launches,
        tuple(settings.allow_vacuous),
    )


def _compile_options(folder: Path, settings: ProjectSettings, prefix: str) -> CompileOptions:
    """The compile options of one side: the common settings, then the settings with the prefix."""
    include, flags, forced = (
        [*getattr(settings, what), *getattr(settings, prefix + what)] for what in ("include", "flags", "force_include")
    )
    for name in include:
        if not (folder / name).is_dir():
            raise UsageError(
                f"{folder / 'pyproject.toml'}: [tool.parity]: include has {name!r}, which is not a folder there"
            )
    return CompileOptions.from_settings(folder, include, flags, forced)


def read_settings(config: Path) -> dict[str, Any] | None:
    """Read the table ``[tool.parity]`` of a file. Return None if the file or the table does not exist.

    Raises:
        UsageError: the file is not valid TOML, or ``tool.parity`` is misspelled or not a table.
    """
    try:
        if not config.is_file():
            return None
        document = tomllib.loads(read_text(config))
    except OSError:
        return None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{config} is not valid TOML: {error}") from error
    tools = document.get("tool", {})
    if not isinstance(tools, dict):
        raise UsageError(f"{config}: tool = {tools!r}; it must be a table, whose parts begin with [tool.NAME]")
    table = tools.get("parity")
    if table is not None and not isinstance(table, dict):
        raise UsageError(f"{config}: tool.parity must be a table with the folders kernels and cases")
    if table is None:
        for name in (*document, *(f"tool.{each}" for each in tools)):
            if sorted(name.removeprefix("tool.").lower()) == sorted("parity"):
                raise UsageError(f"{config}: [{name}] is not read; write [tool.parity]")
    return table


def _checked(config: Path, table: Mapping[str, object]) -> ProjectSettings:
    place = f"{config}: [tool.parity]"
    for name, value in table.items():
        if any("\0" in each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)):
            raise UsageError(f"{place}: {name} is {value!r}, which contains a NUL; no path or option can contain one")
    return checked({name.replace("_", "-"): value for name, value in table.items()}, ProjectSettings, place)
