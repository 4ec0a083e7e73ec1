"""Fixtures for sources that are built as one module."""

import pytest

from parity.build.modules import build
from parity.platform.cache import Cache


@pytest.fixture
def built(tmp_path):
    """Return a function that builds one module from texts, for gfx1100 by default."""

    def run(source, target="gfx1100", **files):
        folder = tmp_path / "kernels"
        folder.mkdir(exist_ok=True)
        (folder / "m.cu").write_text(source)
        for name, text in files.items():
            (folder / name.replace("_h", ".h")).write_text(text)
        (one,) = build(folder, targets=[target], cache=Cache(tmp_path / "cache"))
        return one

    return run
