"""Runs parity's checks in a Debian root with a current ROCm: ``nox -s rocm-root``.

mmdebstrap makes a root of Debian sid, and apt installs hipcc and AMD's header libraries from experimental: 0.5 GB of
downloads and 3.5 GB on disk, once. Needs root privileges, mmdebstrap and a network. Nothing is mounted after the run.
With ``--here``, everything is installed into this system, which must be a container of debian:sid.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

MIRROR = "http://deb.debian.org/debian"
PACKAGES = (
    *("hipcc", "libamdhip64-dev", "librocprim-dev", "libhipcub-dev", "librocthrust-dev", "libhiprand-dev"),
    *("python3-venv", "python3-dev", "g++", "make", "ca-certificates"),
)
APT = """\
Acquire::Check-Valid-Until "false";
Acquire::Check-Date "false";
APT::Install-Recommends "false";
"""
COPIED = ("/etc/resolv.conf", "/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt")
"""Files that pip and apt need to reach the network as this machine does."""
TESTS = "tests/compilers tests/porting tests/emulator"
with Path(__file__).parents[1].joinpath("parity", "compilers", "targets.csv").open() as table:
    TARGETS = tuple(row["name"] for row in csv.DictReader(table) if row["isa"])  # AMD targets
CHECKS = {
    "suite": (
        "parity doctor",
        *(
            f"parity run --toolchain rocm --examples 3 --target {name} --output parity-out/rocm-root/{name}"
            for name in TARGETS
        ),
    ),
    **{
        name: (f"env PARITY_TOOLCHAIN={name} python -m pytest -q -n auto --dist loadfile {TESTS}",)
        for name in ("rocm", "auto", "wheels")
    },
}
"""The checks by name: the suite with ROCm on each target, and the tests of the compiler with each toolchain."""
HERE = Path("/")
READY = "ready"
"""The file in the root that the last step of its installation writes."""


def make(root: Path) -> None:
    """Install Debian sid, ROCm and parity's dependencies below ``root``; Debian is there already if that is ``/``."""
    sources = (f"deb {MIRROR} sid main", f"deb {MIRROR} experimental main")
    if root == HERE:
        (root / "etc/apt/sources.list.d/experimental.list").write_text(f"{sources[1]}\n")
    else:
        root.parent.mkdir(parents=True, exist_ok=True)
        options = [part for line in APT.splitlines() for part in ("--aptopt", line.rstrip(";"))]
        subprocess.run(["mmdebstrap", "--variant=apt", *options, "sid", str(root), *sources], check=True)
    (root / "etc/apt/apt.conf.d/90parity").write_text(APT)
    install(root, PACKAGES)
    inside(root, "python3 -m venv /opt/parity && pip install -e '.[emulated,nvcc,rocm]' --group test --group thorough")
    (root / READY).touch()


def install(root: Path, packages: Sequence[str]) -> None:
    """Install packages of Debian in the root, unless all of them are installed."""
    names = " ".join(packages)
    installed = f"dpkg -s {names} >/dev/null 2>&1"
    inside(root, f"{installed} || {{ apt-get update && apt-get install -y -t experimental {names}; }}")


def inside(root: Path, command: str) -> None:
    """Run a shell command in the root, in this checkout. All mounts belong to a namespace of the command.

    Raises:
        CalledProcessError: the command failed.
    """
    checkout = Path.cwd()
    # A root may have been made in another checkout, whose package its Python finds otherwise.
    common = {"PATH": "/opt/parity/bin:/usr/sbin:/usr/bin:/sbin:/bin", "PYTHONPATH": str(checkout)}
    if root == HERE:
        subprocess.run(["sh", "-c", command], check=True, env={**os.environ, **common})
        return
    (root / checkout.relative_to("/")).mkdir(parents=True, exist_ok=True)
    for file in filter(os.path.exists, COPIED):
        copy = root / file.lstrip("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    settings = {"LANG": "C.UTF-8", "HOME": "/root", **common}
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
    parser.add_argument("--here", dest="root", action="store_const", const=HERE, help="use this system as the root")
    parser.add_argument("--check", choices=tuple(CHECKS), help="run only these checks (default: all)")
    parser.add_argument("--install", type=str.split, default=(), metavar="PACKAGES", help="install these first")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="command to run in the root (default: the checks)")
    arguments = parser.parse_args()
    if os.geteuid():
        parser.error("a root can only be mounted with root privileges; use sudo, or a container of debian:sid")
    if arguments.root != HERE and not shutil.which("mmdebstrap"):
        parser.error("mmdebstrap is not installed; apt install mmdebstrap")
    try:
        if not arguments.root.exists() or (arguments.root == HERE and not (HERE / READY).exists()):
            make(arguments.root)
        if not (arguments.root / READY).exists():
            parser.error(f"the installation of {arguments.root} is incomplete; remove the folder and start again")
        if arguments.install:
            install(arguments.root, arguments.install)
    except subprocess.CalledProcessError as error:
        return error.returncode
    checks = [CHECKS[arguments.check]] if arguments.check else CHECKS.values()
    commands = [shlex.join(arguments.command)] if arguments.command else list(itertools.chain(*checks))
    return run_all(arguments.root, commands)


def run_all(root: Path, commands: Sequence[str]) -> int:
    """Run commands in the root, also after a failure; return the first exit status that is not 0.

    If there are several, print what each returned and how long it took.
    """
    lines, status = [], 0
    for command in commands:
        print(f"$ {command}", flush=True)
        start = time.monotonic()
        try:
            inside(root, command)
            code = 0
        except subprocess.CalledProcessError as error:
            code = error.returncode
        status = status or code
        lines.append(f"{'FAILED' if code else 'ok':6} {time.monotonic() - start:7.0f} s  {command}")
    if len(lines) > 1:
        print("\n".join(lines))
    return status


if __name__ == "__main__":
    sys.exit(main())
