"""Hints name the place that parity was installed from."""

import json
import shlex
from importlib import metadata
from pathlib import Path

import pytest

from parity.platform import installation
from parity.platform.version import PACKAGE


class Recorded:
    """A distribution whose direct_url.json is given."""

    def __init__(self, origin):
        self.origin = origin

    def read_text(self, name):
        assert name == "direct_url.json"
        return None if self.origin is None else json.dumps(self.origin)


def absent(name):
    raise metadata.PackageNotFoundError(name)


ORIGINS = {
    "index": (None, ["parity-harness[nvcc]"]),
    "git": (
        {"url": "https://host/parity.git", "vcs_info": {"vcs": "git", "commit_id": "4188dce"}},
        ["parity-harness[nvcc] @ git+https://host/parity.git@4188dce"],
    ),
    "checkout": ({"url": "file:///src/my%20parity", "dir_info": {}}, ["/src/my parity[nvcc]"]),
    "editable checkout": ({"url": "file:///src/parity", "dir_info": {"editable": True}}, ["-e", "/src/parity[nvcc]"]),
    "wheel": ({"url": "file:///tmp/parity.whl", "archive_info": {}}, ["/tmp/parity.whl[nvcc]"]),
    "archive": (
        {"url": "https://host/parity.whl", "archive_info": {}},
        ["parity-harness[nvcc] @ https://host/parity.whl"],
    ),
}


@pytest.fixture(autouse=True)
def nothing_is_remembered():
    installation.origin.cache_clear()
    yield
    installation.origin.cache_clear()


@pytest.mark.parametrize(("recorded", "expected"), ORIGINS.values(), ids=ORIGINS)
def test_install_command_names_origin(monkeypatch, recorded, expected):
    monkeypatch.setattr(metadata, "distribution", lambda name: Recorded(recorded))
    assert shlex.split(installation.install_command("nvcc")) == ["python", "-m", "pip", "install", *expected]


def test_install_command_without_installation_names_checkout(monkeypatch):
    monkeypatch.setattr(metadata, "distribution", absent)
    monkeypatch.chdir("/")
    assert installation.install_command("nvcc") == f"python -m pip install -e '{PACKAGE.parent}[nvcc]'"


def test_install_command_in_checkout_is_relative(monkeypatch):
    monkeypatch.setattr(metadata, "distribution", absent)
    monkeypatch.chdir(PACKAGE.parent)
    assert installation.install_command("watch") == "python -m pip install -e '.[watch]'"


def test_requirement_of_index_is_not_local():
    assert not installation.Origin().is_local and installation.Origin(Path("/src")).is_local
