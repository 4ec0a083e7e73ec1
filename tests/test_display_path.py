"""How messages name files."""

from parity.errors import display_path


def test_display_path_is_relative_inside_working_folder_only(tmp_path, monkeypatch):
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    assert display_path(tmp_path / "project/kernels/a.cu") == "kernels/a.cu"
    assert display_path("../kernels/a.cu") == display_path(tmp_path / "kernels/a.cu") == str(tmp_path / "kernels/a.cu")


def test_display_path_keeps_relative_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert display_path("kernels/a.cu") == "kernels/a.cu"
