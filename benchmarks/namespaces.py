"""Runs a cluster whose machines are network namespaces: ``python -m benchmarks.namespaces``, as root.

Scheduler, client and each worker have a separate network, host name and cache; TLS is set up as in
``docs/cluster.md``. The same kernels run on one machine, on the cluster, on the cluster while a worker is killed, and
again after a client was killed. The records must be the same each time. Exit code: 0 if they are, else 1.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil

PARITY = [sys.executable, "-m", "parity"]
PREFIX = "parity-"
"""Of the names of namespaces."""

CERTIFICATES = """
openssl req -x509 -newkey rsa:4096 -nodes -days 365 -subj /CN=parity-ca -keyout ca-key.pem -out ca.pem
openssl req -newkey rsa:4096 -nodes -subj /CN=parity -keyout key.pem -out request.pem
openssl x509 -req -in request.pem -CA ca.pem -CAkey ca-key.pem -CAcreateserial -days 365 -out cert.pem
"""

CONFIGURATION = """
scheduler-address: tls://10.213.0.1:8786
distributed:
  comm:
    require-encryption: true
    tls:
      ca-file: {0}/ca.pem
      scheduler: {{ cert: {0}/cert.pem, key: {0}/key.pem }}
      worker: {{ cert: {0}/cert.pem, key: {0}/key.pem }}
      client: {{ cert: {0}/cert.pem, key: {0}/key.pem }}
"""


def main() -> int:
    """Run it all, and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("select", nargs="*", default=["sort", "affine"])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kill", type=float, default=15.0, metavar="SECONDS", help="after which one is killed")
    parser.add_argument("--recorded", default="reports/h200.zip", help="a recording to replay in the same runs")
    arguments = parser.parse_args()
    runners = ["--runner", "emulated", "--runner", f"recorded={arguments.recorded}"]
    command = [*PARITY, "run", *arguments.select, *runners]
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        for line in CERTIFICATES.strip().splitlines():
            subprocess.run(line.split(), cwd=folder, check=True, capture_output=True)
        config = folder / "dask.yaml"
        config.write_text(CONFIGURATION.format(folder))
        for number, each in enumerate(["scheduler", *(f"worker{i}" for i in range(arguments.workers)), "client"], 1):
            stack.enter_context(namespace(each, number))
        options = ["--protocol", "tls", "--port", "8786", "--dashboard-address", "127.0.0.1:8787"]
        dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", *options]
        stack.enter_context(running("scheduler", dask, folder, {"DASK_CONFIG": str(config)}))
        workers = [
            stack.enter_context(running(f"worker{i}", [*PARITY, "worker", str(config), "-j", "1"], folder))
            for i in range(arguments.workers)
        ]
        time.sleep(10)
        same = True
        wanted = records(folder / "alone", [*command, "--output", str(folder / "alone")])
        for turn in ("cluster", "worker killed", "client killed"):
            output = folder / turn.replace(" ", "-")
            there = inside("client", [*command, "--cluster", str(config), "--output", str(output)])
            if turn == "client killed":
                client = subprocess.Popen(there, start_new_session=True, stdout=subprocess.DEVNULL)
                time.sleep(arguments.kill)
                os.killpg(client.pid, signal.SIGKILL)
                print(f"the client was killed, {'too late' if client.wait() == 0 else 'and is started again'}")
            if turn == "worker killed":
                client = subprocess.Popen(there, stdout=subprocess.DEVNULL)
                time.sleep(arguments.kill)
                print(
                    f"killed: {killed(workers[0].pid)}, {'too late' if client.poll() is not None else 'in the middle'}"
                )
                client.wait()
                there = []
            start = time.perf_counter()
            found = records(output, there)
            same &= found == wanted
            print(
                f"{turn}: {len(found)} records, {'the same' if found == wanted else 'OTHERS'} as on one machine; "
                f"{machines(output)}; {time.perf_counter() - start:.1f} s",
                flush=True,
            )
    return 0 if same else 1


def records(output: Path, command: Sequence[str]) -> list[str]:
    """The records of a run, sorted."""
    if command and (code := subprocess.run(command, stdout=subprocess.DEVNULL).returncode):
        print(f"exit code {code}: {' '.join(command)}", flush=True)
    with (output / "record.jsonl").open(encoding="utf-8") as file:
        return sorted(list(file)[1:])


def machines(output: Path) -> str:
    """The machines that executed a run."""
    return " ".join(json.loads((output / "matrix.json").read_text())["machines"])


def killed(process: int) -> int:
    """Kill the Dask worker below a ``parity worker``, but not its nanny; the number of the process."""
    every = psutil.Process(process).children(recursive=True)
    (one,) = (each for each in every if "spawn_main" in " ".join(each.cmdline()))
    one.kill()
    return one.pid


def inside(name: str, command: Sequence[str]) -> list[str]:
    """A command in a network namespace with a separate host name."""
    named = 'hostname "$0" && exec "$@"'
    return ["ip", "netns", "exec", PREFIX + name, "unshare", "--uts", "sh", "-c", named, name, *command]


@contextlib.contextmanager
def namespace(name: str, number: int) -> Iterator[None]:
    """A network namespace with an address: the first one is a switch for the others as well."""
    where, switch = PREFIX + name, f"{PREFIX}scheduler"
    ip("netns", "add", where)
    try:
        ip("-n", where, "link", "set", "lo", "up")
        if number == 1:
            ip("-n", where, "link", "add", "net0", "type", "bridge")
        else:
            ip("-n", where, "link", "add", "net0", "type", "veth", "peer", "name", f"port{number}", "netns", switch)
            ip("-n", switch, "link", "set", f"port{number}", "master", "net0", "up")
        ip("-n", where, "address", "add", f"10.213.0.{number}/24", "dev", "net0")
        ip("-n", where, "link", "set", "net0", "up")
        yield
    finally:
        ip("netns", "delete", where)


def ip(*words: str) -> None:
    """Call iproute2."""
    subprocess.run(["ip", *words], check=True)


@contextlib.contextmanager
def running(
    name: str, command: Sequence[str], folder: Path, variables: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a namespace with a separate cache; it ends with the block."""
    cache = folder / f"cache-{name}"
    environment = {**os.environ, "PARITY_CACHE": str(cache), **(variables or {})}
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(inside(name, command), env=environment, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(cache, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
