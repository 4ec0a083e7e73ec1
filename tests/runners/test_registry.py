"""The registry: what is installed, and what is said about a plug-in that cannot be used."""

from __future__ import annotations

import pytest

from parity.errors import NotAvailable, UsageError
from parity.runners import Evidence, Runner, available, runner, runners


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Installs a plug-in ``other`` with that source text."""

    def do(source: str, name: str = "other_runner") -> None:
        (tmp_path / f"{name}.py").write_text(source)
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[parity.runners]\nother = {name}:Other\n")
        monkeypatch.syspath_prepend(str(tmp_path))

    return do


def test_the_emulated_runner_is_there_and_is_a_runner():
    found = runner("emulated")
    assert isinstance(found, Runner)
    assert found.evidence is Evidence.EMULATED
    assert found.vendor == "amd"


def test_listing_runners_imports_nothing(install):
    install("raise RuntimeError('imported')", "explosive")
    assert runners()["other"] == "explosive:Other"


@pytest.mark.parametrize(
    ("source", "name", "says"),
    [
        ("raise RuntimeError('broken')", "breaks_on_import", "cannot be loaded: broken"),
        ("class Another: pass", "lacks_the_class", "cannot be loaded"),
        ("class Other:\n    name = 'other'\n", "lacks_methods", "is not a runner: it needs"),
    ],
)
def test_a_plugin_that_is_no_runner_is_explained(install, source, name, says):
    install(source, name)
    with pytest.raises(UsageError, match=says):
        runner("other")


def test_an_unknown_runner_is_answered_with_the_nearest():
    with pytest.raises(UsageError, match="did you mean emulated"):
        runner("emulate")


def test_a_runner_that_cannot_work_here_says_what_to_install(install):
    install(
        "from parity.runners import Evidence, Probe\n"
        "class Other:\n"
        "    name, evidence, vendor = 'other', Evidence.HARDWARE, 'cuda'\n"
        "    def probe(self): return Probe(False, 'no GPU', 'buy one')\n"
        "    def targets(self): return ()\n"
        "    def open(self, target, *, checked=True): raise AssertionError\n",
        "needs_a_gpu",
    )
    with pytest.raises(NotAvailable, match="no GPU; buy one"):
        available("other")
