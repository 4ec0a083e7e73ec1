"""Downloads the JavaScript libraries of the report from npm and writes their digests to ``vendor.csv``.

``python -m benchmarks.vendor`` needs npm and a network. To update a library, change its version in the table.
Programs are stored compressed, as in a report; the digests belong to the uncompressed text.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import subprocess
import tarfile
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "parity" / "report" / "html" / "vendor"
_MAP = (b"//# sourceMappingURL", b"/*# sourceMappingURL")


def main() -> None:
    """Replace the files and the digests."""
    table = FOLDER / "vendor.csv"
    with table.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    with tempfile.TemporaryDirectory() as scratch:
        for row in rows:
            package = f"{row['package']}@{row['version']}"
            packed = subprocess.run(
                ["npm", "pack", package, "--silent"], cwd=scratch, check=True, capture_output=True, text=True
            ).stdout.strip()
            with tarfile.open(Path(scratch, packed)) as archive:
                text = _without_map(_read(archive, row["member"]))
                (FOLDER / row["notice"]).write_bytes(_read(archive, "LICENSE"))
            packs = row["file"].endswith(".gz")
            (FOLDER / row["file"]).write_bytes(gzip.compress(text, 9, mtime=0) if packs else text)
            row["sha256"] = hashlib.sha256(text).hexdigest()
            print(package, row["file"], row["sha256"][:12])
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _read(archive: tarfile.TarFile, member: str) -> bytes:
    found = archive.extractfile(f"package/{member}")
    assert found is not None, member
    return found.read()


def _without_map(text: bytes) -> bytes:
    """A file without the line that names one which is not there."""
    return b"".join(line for line in text.splitlines(keepends=True) if not line.startswith(_MAP))


if __name__ == "__main__":
    main()
