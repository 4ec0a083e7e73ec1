"""Parts of wheels, downloaded with range requests from an index on this machine."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from test_headers import forgotten, index  # noqa: F401 - fixtures

from parity.compilers import headers
from parity.compilers.headers import Wheel, content_digest

pytest.importorskip("pip")
LARGE = 300_000


class Index(BaseHTTPRequestHandler):
    """Serves one wheel; ``ranges`` tells whether requests for a part of it are answered."""

    wheel: Wheel
    data: bytes
    ranges: bool
    sent = 0

    def do_HEAD(self):
        self.answer(b"", {"Content-Length": str(len(self.data)), **({"Accept-Ranges": "bytes"} if self.ranges else {})})

    def do_GET(self):
        if not self.path.endswith(".whl"):
            page = f'<a href="/big-1.0-py3-none-any.whl#sha256={self.wheel.sha256}">big-1.0-py3-none-any.whl</a>'
            self.answer(page.encode(), {"Content-Type": "text/html"})
            return
        part = self.data
        if asked := re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", "") if self.ranges else ""):
            part = part[int(asked[1]) : int(asked[2]) + 1]
        type(self).sent += len(part)
        self.answer(part, {"Content-Length": str(len(part))}, 206 if asked else 200)

    def answer(self, body, fields, code=200):
        self.send_response(code)
        for name, value in fields.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Print nothing."""


@pytest.fixture
def served(index, monkeypatch):  # noqa: F811
    """Return the class of an index that serves the wheel, which has a large file that is not needed."""
    with zipfile.ZipFile(index, "a") as archive:
        archive.writestr("big/large.so", bytes(LARGE), zipfile.ZIP_STORED)
    old = headers.WHEELS[0]
    wheel = Wheel(**{**vars(old), "sha256": hashlib.sha256(index.read_bytes()).hexdigest(), "content": "unknown"})
    kind = type("Served", (Index,), {"wheel": wheel, "data": index.read_bytes(), "ranges": True})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name in ("PIP_NO_INDEX", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple")
    yield kind
    server.shutdown()
    server.server_close()


def install(monkeypatch, wheel):
    monkeypatch.setattr(headers, "WHEELS", (wheel,))
    found = headers.available_headers()
    assert found is not None
    return sorted(path.name for path in found.folder.rglob("*.h"))


def with_content(wheel, content):
    return Wheel(**{**vars(wheel), "content": content})


def part_digest(served, tmp_path):
    file = tmp_path / "part.zip"
    headers._download_part(served.wheel, file)
    with zipfile.ZipFile(file) as archive:
        assert sorted(archive.namelist()) == ["big/include/hip/hip_version.h", "big/include/hip/sub/a.h"]
    return content_digest(file)


def test_only_needed_part_of_wheel_is_downloaded(served, tmp_path, monkeypatch):
    digest = part_digest(served, tmp_path)
    assert 0 < served.sent < LARGE
    served.sent = 0
    assert install(monkeypatch, with_content(served.wheel, digest)) == ["a.h", "hip_version.h"]
    assert 0 < served.sent < LARGE


def test_environment_without_pip_downloads_part_with_uv(served, tmp_path, monkeypatch):
    digest = part_digest(served, tmp_path)
    uv = tmp_path / "bin" / "uv"
    uv.parent.mkdir()
    uv.write_text(f'#!/bin/sh\nwhile [ "$1" != pip ]; do shift; done; shift 2; exec {sys.executable} "$@"\n')
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", str(uv.parent), prepend=os.pathsep)
    monkeypatch.setattr(headers.importlib.util, "find_spec", lambda name: None)
    served.sent = 0
    assert install(monkeypatch, with_content(served.wheel, digest)) == ["a.h", "hip_version.h"]
    assert 0 < served.sent < LARGE


def test_part_with_other_content_is_replaced_by_whole_wheel(served, monkeypatch):
    assert install(monkeypatch, served.wheel) == ["a.h", "hip_version.h"]
    assert served.sent > LARGE


def test_index_without_ranges_sends_whole_wheel(served, tmp_path, monkeypatch):
    digest = part_digest(served, tmp_path)
    served.ranges, served.sent = False, 0
    assert install(monkeypatch, with_content(served.wheel, digest)) == ["a.h", "hip_version.h"]
    assert served.sent >= len(served.data)


def test_index_with_other_digest_gives_no_part(served, tmp_path):
    other = Wheel(**{**vars(served.wheel), "sha256": "0" * 64})
    assert not headers._download_part(other, tmp_path / "part.zip")
    assert not (tmp_path / "part.zip").exists()
