"""Where the running parity was installed from: messages say how to add an extra, and CI files how to install parity."""

from __future__ import annotations

import functools
import importlib.util
import json
import shlex
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from urllib.parse import unquote, urlsplit

from parity.platform.version import PACKAGE

NAME = "parity-harness"
"""The name of parity's distribution package."""


@dataclass(frozen=True)
class Origin:
    """Where pip got parity: a folder or file of this machine, or a URL; neither for a package index."""

    path: Path | None = None
    url: str = ""
    editable: bool = False

    @property
    def is_local(self) -> bool:
        """True if only this machine can install parity from there."""
        return self.path is not None

    def requirement(self, extras: str) -> str:
        """Return the requirement for pip that names parity with these extras, separated by commas."""
        if self.path:
            return f"{'.' if self.path == Path.cwd() else self.path}[{extras}]"
        return f"{NAME}[{extras}]" + (f" @ {self.url}" if self.url else "")


@functools.cache
def origin() -> Origin:
    """Return where this parity was installed from. Source: PEP 610, "Recording the Direct URL Origin"."""
    try:
        recorded = metadata.distribution(NAME).read_text("direct_url.json")
    except metadata.PackageNotFoundError:  # used from a checkout without installation
        return Origin(PACKAGE.parent, editable=True)
    if not recorded:
        return Origin()
    found = json.loads(recorded)
    if "vcs_info" in found:
        return Origin(url=f"{found['vcs_info']['vcs']}+{found['url']}@{found['vcs_info']['commit_id']}")
    if found["url"].startswith("file:"):
        path = Path(unquote(urlsplit(found["url"]).path))
        return Origin(path, editable=found.get("dir_info", {}).get("editable", False))
    return Origin(url=found["url"])


def install_command(extras: str) -> str:
    """Return the command that installs these extras of parity from where it came from."""
    edit = ["-e"] if origin().editable else []
    return shlex.join(["python", "-m", "pip", "install", *edit, origin().requirement(extras)])


def package_folders(name: str) -> tuple[Path, ...]:
    """Return the folders of a Python package without importing it; nothing if it is not installed."""
    spec = importlib.util.find_spec(name)
    return tuple(map(Path, (spec.submodule_search_locations or ()) if spec else ()))
