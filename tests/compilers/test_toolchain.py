"""Toolchains of several versions of HIP: which one compiles a target, and headers from folders and Debian packages."""

import io
import shutil
import tarfile

import pytest

from parity.compilers import header_folders, toolchain
from parity.compilers.header_folders import headers_of, installed_headers, remove_installed
from parity.compilers.headers import available_headers
from parity.compilers.targets import target
from parity.errors import UsageError

VERSION = "#define HIP_VERSION_MAJOR {}\n#define HIP_VERSION_MINOR {}\n#define HIP_VERSION_PATCH {}\n"


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """An empty cache, into which clang's wrappers are not downloaded."""
    wrappers = available_headers().folder
    monkeypatch.setenv("PARITY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(header_folders, "clang_wrappers", lambda: wrappers)
    monkeypatch.delenv("PARITY_TOOLCHAIN", raising=False)


def headers(folder, *numbers):
    """A folder with the beginning of HIP headers of a version, and one file next to them that must not be taken."""
    (folder / "hip").mkdir(parents=True)
    (folder / "hip" / "hip_version.h").write_text(VERSION.format(*numbers))
    (folder / "stdio.h").write_text("#error not AMD's\n")
    return folder


def package(folder, *numbers, suffix="xz"):
    """A Debian package with these headers, without dpkg."""
    headers(folder / "usr" / "include", *numbers)
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=f"w:{suffix}") as archive:
        archive.add(folder / "usr", "usr")
    members = {"debian-binary": b"2.0\n", "control.tar.xz": b"odd", f"data.tar.{suffix}": data.getvalue()}
    path = folder / "hip.deb"
    text = b"!<arch>\n"
    for name, content in members.items():
        text += f"{name:16}{0:<12}{0:<6}{0:<6}{644:<8}{len(content):<10}`\n".encode() + content
        text += b"\n" * (len(content) % 2)
    path.write_bytes(text)
    return path


@pytest.mark.parametrize("place", [".", "include", "usr/include", "opt/rocm/include", "opt/rocm-7.1.0/include"])
def test_headers_of_folder_takes_only_amds_headers(tmp_path, place):
    headers(tmp_path / "root" / place, 7, 1, 5)
    found = headers_of(tmp_path / "root")
    assert found.version == "7.1.5" and not (found.folder / "stdio.h").exists()
    assert (found.folder / "clang" / "__clang_hip_runtime_wrapper.h").is_file()
    assert installed_headers() is None


@pytest.mark.parametrize("with_dpkg", [True, False], ids=["dpkg-deb", "tarfile"])
def test_headers_of_package_are_unpacked(tmp_path, monkeypatch, with_dpkg):
    path = package(tmp_path / "package", 7, 2, 4)
    if with_dpkg and not shutil.which("dpkg-deb"):
        pytest.skip("dpkg-deb is not installed")
    if not with_dpkg:
        monkeypatch.setattr(header_folders.shutil, "which", lambda name: None)
    assert headers_of(path).version == "7.2.4"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.mkdir(), "has no hip/hip_version.h, neither directly nor below include, usr/include"),
        (lambda path: path.write_text("no package"), "is not a Debian package"),
        (lambda path: None, "does not exist; name a folder with HIP headers, or a .deb"),
    ],
    ids=["empty folder", "not a package", "nothing"],
)
def test_headers_of_other_paths_are_an_error(tmp_path, make, message):
    make(tmp_path / "given")
    with pytest.raises(UsageError, match=message.replace(".", r"\.")):
        headers_of(tmp_path / "given")


def test_newest_installed_headers_become_the_default_until_removed(tmp_path):
    for minor in (2, 10, 1):
        headers_of(headers(tmp_path / str(minor), 7, minor, 0), install=True)
    assert installed_headers().version == "7.10.0"
    assert toolchain.wheels().version == (7, 10, 0)
    assert [each.version for each in remove_installed()] == ["7.10.0", "7.2.0", "7.1.0"]
    assert installed_headers() is None and toolchain.wheels().headers == available_headers()


@pytest.fixture
def two(tmp_path, monkeypatch):
    paths = [str(headers(tmp_path / name, *numbers)) for name, numbers in {"new": (7, 2, 4), "old": (7, 1, 1)}.items()]
    monkeypatch.setenv(toolchain.ROCM, toolchain.as_variable(paths))
    return paths


def test_versions_expand_targets_of_amd_oldest_first(two):
    assert toolchain.versions_of(["gfx90a", "sm_90", "gfx1100@7.2"]) == (
        "gfx90a@7.1", "gfx90a@7.2", "sm_90", "gfx1100@7.2"
    )  # fmt: skip


def test_target_with_version_selects_its_toolchain(two):
    old, new = target("gfx90a@7.1"), target("gfx90a@7.2")
    assert toolchain.chosen(old).version == (7, 1, 1) and toolchain.chosen(new).version == (7, 2, 4)
    assert toolchain.chosen(old).fingerprint(old) != toolchain.chosen(new).fingerprint(new)
    assert (new.gpu, new.wavefront, str(new)) == ("gfx90a", 64, "gfx90a@7.2")
    with pytest.raises(UsageError, match=r"no HIP 6\.9 for target gfx90a@6\.9: --rocm has 7\.1 7\.2"):
        toolchain.chosen(target("gfx90a@6.9"))


def test_one_version_needs_no_names(two, monkeypatch):
    monkeypatch.setenv(toolchain.ROCM, two[0])
    assert toolchain.versions_of(["gfx90a"]) == ("gfx90a",)
    assert toolchain.chosen(target("gfx90a")).version == (7, 2, 4)


def test_version_without_rocm_is_an_error(monkeypatch):
    monkeypatch.delenv(toolchain.ROCM, raising=False)
    with pytest.raises(UsageError, match="name it with --rocm PATH"):
        toolchain.chosen(target("gfx90a@7.2"))


def test_versions_with_equal_minor_are_named_in_full(tmp_path, monkeypatch):
    paths = [headers(tmp_path / str(patch), 7, 2, patch) for patch in (4, 3)]
    monkeypatch.setenv(toolchain.ROCM, toolchain.as_variable(map(str, paths)))
    assert tuple(toolchain.versions()) == ("7.2.3", "7.2.4")
    monkeypatch.setenv(toolchain.ROCM, toolchain.as_variable([str(paths[0])] * 2))
    with pytest.raises(UsageError, match="versions must differ"):
        toolchain.versions()


def test_word_wheels_is_not_a_path(monkeypatch):
    monkeypatch.setenv(toolchain.ROCM, toolchain.as_variable(["wheels"]))
    assert toolchain.chosen(target("gfx90a")).version[:2] == (6, 2)
