"""How messages name files."""

import pytest

from parity.errors import display_path


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("work/project/kernels/a.cu", "kernels/a.cu"),
        ("work/kernels/a.cu", "../kernels/a.cu"),
        ("a.cu", "/a.cu"),
    ],
)
def test_display_path_is_relative_unless_absolute_is_shorter(path, shown, tmp_path, monkeypatch):
    (tmp_path / "work/project").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work/project")
    root = tmp_path if shown != "/a.cu" else tmp_path.parents[-1]
    assert display_path(root / path) == shown
    assert display_path(str(root / path)) == shown


def test_display_path_keeps_relative_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert display_path("kernels/a.cu") == "kernels/a.cu"
