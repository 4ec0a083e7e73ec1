"""Runs parity's checks in a Debian root with a current ROCm: ``nox -s rocm-root``.

mmdebstrap makes a root of Debian sid, and apt installs hipcc and AMD's header libraries from experimental: 360 MB of
downloads and 2.2 GB on disk, once. Needs root privileges, mmdebstrap and a network. Nothing is mounted after the run.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

MIRROR = "http://deb.debian.org/debian"
PACKAGES = (
    *("hipcc", "libamdhip64-dev", "librocprim-dev", "libhipcub-dev", "librocthrust-dev", "libhiprand-dev"),
    *("python3-venv", "python3-dev", "g++", "ca-certificates"),
)
APT = """\
Acquire::Check-Valid-Until "false";
Acquire::Check-Date "false";
APT::Install-Recommends "false";
"""
COPIED = ("/etc/resolv.conf", "/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt")
"""Files that pip and apt need to reach the network as this machine does."""
CHECKS = (
    "parity doctor",
    "parity run --toolchain rocm --examples 5 --target gfx90a,gfx1100 --output parity-out/rocm-root",
    "python -m pytest -q -n 2 --dist loadfile tests/compilers tests/porting tests/emulator",
)
READY = "ready"
"""The file in the root that the last step of its installation writes."""


def make(root: Path) -> None:
    """Install Debian sid, ROCm and parity's dependencies below ``root``."""
    root.parent.mkdir(parents=True, exist_ok=True)
    sources = (f"deb {MIRROR} sid main", f"deb {MIRROR} experimental main")
    options = [part for line in APT.splitlines() for part in ("--aptopt", line.rstrip(";"))]
    subprocess.run(["mmdebstrap", "--variant=apt", *options, "sid", str(root), *sources], check=True)
    (root / "etc/apt/apt.conf.d/90parity").write_text(APT)
    inside(root, f"apt-get update && apt-get install -y -t experimental {' '.join(PACKAGES)}")
    tools = "pytest pytest-xdist pandas gguf jsonschema"
    inside(root, f"python3 -m venv /opt/parity && pip install -e '.[emulated,nvcc,rocm]' {tools}")
    (root / READY).touch()


def inside(root: Path, command: str) -> None:
    """Run a shell command in the root, in this checkout. All mounts belong to a namespace of the command."""
    checkout = Path.cwd()
    (root / checkout.relative_to("/")).mkdir(parents=True, exist_ok=True)
    for file in filter(os.path.exists, COPIED):
        copy = root / file.lstrip("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    settings = {"LANG": "C.UTF-8", "HOME": "/root", "PATH": "/opt/parity/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    settings |= {
        name: value for name, value in os.environ.items() if name.startswith("PIP_") or name.endswith("_proxy")
    }
    words = [f"{name}={value}" for name, value in settings.items()]
    steps = (
        ("mount", "-t", "proc", "proc", f"{root}/proc"),
        ("mount", "--rbind", "/dev", f"{root}/dev"),
        ("mount", "--bind", str(checkout), f"{root}{checkout}"),
        ("exec", "chroot", str(root), "env", "-i", *words, "sh", "-c", f"cd {shlex.quote(str(checkout))} && {command}"),
    )
    script = "\n".join(map(shlex.join, steps))
    subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-ec", script], check=True)


def main() -> int:
    """Make the root if it does not exist, and run the checks or the given command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--root", type=Path, default=Path.home() / ".cache" / "parity-rocm-root", help="folder of the root"
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, help="command to run in the root (default: the checks)")
    arguments = parser.parse_args()
    if os.geteuid():
        parser.error("a root can only be mounted with root privileges; use sudo, or a container of debian:sid")
    if not shutil.which("mmdebstrap"):
        parser.error("mmdebstrap is not installed; apt install mmdebstrap")
    try:
        if not arguments.root.exists():
            make(arguments.root)
        if not (arguments.root / READY).exists():
            parser.error(f"the installation of {arguments.root} is incomplete; remove the folder and start again")
        for command in [shlex.join(arguments.command)] if arguments.command else CHECKS:
            print(f"$ {command}", flush=True)
            inside(arguments.root, command)
    except subprocess.CalledProcessError as error:
        return error.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
