"""Show, install or remove the AMD headers that the wheels' compiler uses.

Without an installed ROCm, parity compiles with the headers of HIP 6.2 from a wheel. For a newer version, download
Debian's package libamdhip64-dev (AMD: hip-dev) and install it here; neither ROCm nor root rights are needed:

    parity headers --install libamdhip64-dev.deb

parity run --rocm compares versions with each other. Exit code: 0 done; 2 the path has no HIP headers.
"""

from __future__ import annotations

import argparse

from parity.cli.shared.terminal import output
from parity.compilers.header_folders import headers_of, installed_headers, remove_installed
from parity.compilers.headers import NEWER, cached_headers, kept_headers


def main(arguments: argparse.Namespace) -> int:
    """Print the headers in the cache, after a change if one is requested."""
    console = output()
    if arguments.remove:
        removed = remove_installed()
        console.print(f"removed {', '.join(map(str, removed))}" if removed else "no headers were installed")
    if arguments.install:
        headers = headers_of(arguments.install, install=True)
        console.print(f"installed {headers} from {arguments.install}")
    for line in described_headers():
        console.print(line)
    return 0


def described_headers() -> tuple[str, ...]:
    """Return one line for each version of AMD's headers in the cache; the first says what the wheels' compiler uses."""
    used = installed_headers() or cached_headers()
    if used is None:
        return (f"none yet: the first build extracts HIP 6.2 from a wheel; {NEWER}",)
    advice = "" if installed_headers() else f", from a wheel; {NEWER}"
    others = (f"kept: {each}, {each.folder}" for each in kept_headers() if each.folder != used.folder)
    return (f"used: {used}, {used.folder}{advice}", *others)
