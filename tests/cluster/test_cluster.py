"""Runs on the workers of a Dask cluster produce the records of a local run."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import zlib

import pytest
from negating import FRAGILE, IDLE, NEGATING, STEADY, plan_for

from parity.cluster import bundle, connection, messages, pool, remote
from parity.cluster.connection import Cluster, Site, WorkerSpec, local_cluster, need_dask
from parity.cluster.messages import Answer, Request, RunnerOffer, WorkerOffer
from parity.cluster.worker_node import WorkerNode
from parity.cluster.workers import local_workers
from parity.compare.verdict import Status
from parity.engine import worker
from parity.engine.calls import CallTimeout, NoWorker
from parity.engine.case_records import Column
from parity.engine.execution import execute_plan
from parity.engine.outcomes import outcome_journal, record_outcomes
from parity.engine.plan import Plan
from parity.engine.pool import Workers
from parity.errors import NotAvailable, UsageError
from parity.platform.cache import Cache
from parity.platform.serialization import packed, unpacked
from parity.runners import Evidence
from parity.suite.loading import load_suite

pytest.importorskip("distributed")

PLUGIN = (
    NEGATING
    + '''
from parity.model.coverage import Reached
from parity.model.launch import Arithmetic, Shadows

class Fragile(Negating):
    """Negates; dies of 3 elements, hangs on 4, needs time for 6, is wrong for 7."""
    name, wrong = "fragile", (7,)
    def meet(self, numel):
        if numel == 3: os._exit(7)
        if numel == 4: time.sleep(3600)
        if numel == 6: time.sleep(2)

class Leaving(Negating):
    """Has lost its device where a file says so."""
    name = "leaving"
    def open(self, target, *, checked=True):
        from parity.errors import DeviceLost
        if os.path.exists(os.environ["LOST"]): raise DeviceLost("the device cannot be opened: it fell off the bus")
        return self

class Rounding(Negating):
    """Returns results that only runs with kept subnormal numbers explain, and reports coverage."""
    name = "rounding"
    def execute(self, code, launch, buffers): return self.outcome(buffers, 0.25)
    def arithmetic(self, code, launch): return Arithmetic.ROUNDS
    def shadows(self, code, launch, buffers):
        plain, kept = self.outcome(buffers, 0.0), self.outcome(buffers, 0.5)
        return Shadows(plain, (plain, plain), (plain,), (kept,))
    def outcome(self, buffers, more):
        out = -buffers["x"].data + buffers["x"].dtype.convert(more)
        after = {**{n: b.data.copy() for n, b in buffers.items()}, "out": out}
        return Outcome(after, instructions=12, printed="hello", reached=Reached(2, 2, "f"))
'''
)

LEAVING = Column("leaving", "gfx1100", Evidence.NOT_RUN, "amd", "leaving")
ROUNDING = Column("rounding", "gfx1100", Evidence.NOT_RUN, "amd", "rounding")
SIZES = (1, 3, 7)

UNREFERENCED = """
from parity.op import Op
neg = Op("unary.neg", kernel="uneg_{T}", types=("f32",), args="numel num_dims info x out", inputs={"x": "T"})
"""


@pytest.fixture
def plugin(installed, tmp_path, monkeypatch):
    """Install the test runners, and use an empty cache."""
    installed(
        "elsewhere", PLUGIN, fragile="Fragile", leaving="Leaving", steady="Steady", idle="Idle", rounding="Rounding"
    )
    monkeypatch.setenv("PARITY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LOST", str(tmp_path / "lost"))
    monkeypatch.setenv("PARITY_HIPIFY", "helpful")  # avoids compiling the module in this style after a failure
    messages.local_offer.cache_clear()


@contextlib.contextmanager
def cluster_of(*workers: WorkerSpec):
    need_dask()
    found = Cluster(Site(), lambda where: local_cluster(workers))
    try:
        found.open()
        yield found
    finally:
        found.close()


def executed(cluster: Cluster, plan: Plan, suite) -> list:
    return list(execute_plan(plan, suite, Workers(pools=lambda plan, jobs: cluster.pool(suite, plan))))


def by_case(records) -> list:
    return sorted(records, key=lambda record: (record.case, record.runner))


@pytest.mark.usefixtures("plugin")
def test_cluster_records_equal_local_records(suite):
    """The plan includes cases that end their process."""
    plan = plan_for(suite, *SIZES)
    here = by_case(execute_plan(plan, suite, Workers(1)))
    resources = {"fragile gfx1100": 1}
    with cluster_of(
        WorkerSpec("one", 1, resources), WorkerSpec("two", 1, resources), WorkerSpec("other", 1, {})
    ) as cluster:
        there = by_case(executed(cluster, plan, suite))
        assert set(cluster.machines) <= {"one", "two"}
    assert there == here
    assert {record.verdict.status for record in there} >= {Status.PASS, Status.CRASH, Status.FAIL}


@pytest.mark.thorough
@pytest.mark.usefixtures("plugin")
def test_large_answer_is_fetched_as_task_result(suite, monkeypatch):
    plan = plan_for(suite, 1, 7)
    monkeypatch.setattr(remote, "SMALL", 0)
    with cluster_of(WorkerSpec("one", 1, {"fragile gfx1100": 1})) as cluster:
        assert by_case(executed(cluster, plan, suite)) == by_case(execute_plan(plan, suite, Workers(1)))


@pytest.mark.usefixtures("plugin")
def test_worker_without_resources_hands_call_to_another(suite, monkeypatch):
    """The scheduler may assign a call to a worker that connected after it checked the resources."""
    plan = plan_for(suite, 1, 2, 5, dtypes=("f32", "f64"))
    monkeypatch.setattr(pool.DaskPool, "_everybody_has", lambda self, resources: True)
    with cluster_of(WorkerSpec("one", 1, {"fragile gfx1100": 1}), WorkerSpec("bare", 1, {})) as cluster:
        assert by_case(executed(cluster, plan, suite)) == by_case(execute_plan(plan, suite, Workers(1)))
        assert set(cluster.machines) == {"one", "bare"}


@pytest.mark.thorough
@pytest.mark.usefixtures("plugin")
def test_exclusive_call_takes_whole_resource(suite):
    plan = plan_for(suite, 1)
    with cluster_of(
        WorkerSpec("one", 2, {"fragile gfx1100": 2}), WorkerSpec("two", 1, {"fragile gfx1100": 1})
    ) as cluster:
        with cluster.pool(suite, plan, alone=True) as found:
            assert found._share("fragile gfx1100") == 2
            assert run_of(found, plan.tasks[0])
        assert set(cluster.machines) == {"one"}
        with cluster.pool(suite, plan) as found:
            assert found._share("fragile gfx1100") == 1


def run_of(found: pool.DaskPool, task) -> list:
    return found.schedule(worker.perform, [task], seconds=60.0, columns=task.columns).result()


def test_ended_run_refuses_calls(suite, monkeypatch, tmp_path):
    monkeypatch.setenv("PARITY_CACHE", str(tmp_path / "cache"))
    sent, digest, contents = bundle.pack_plan(plan_for(suite, 1))
    host = WorkerNode(1, "one")
    request = Request(messages.versions(), "a run", digest, (sent.suite,), pickle.dumps((print, ())), 60.0)
    assert host.answer(request, contents.__getitem__).how == "returned"
    host.release("a run")
    answer = host.answer(request, contents.__getitem__)
    assert (answer.how, answer.text) == ("refused", "the run was ended")
    other = dataclasses.replace(request, run="another")
    assert host.answer(other, contents.__getitem__).how == "returned"
    host.release("another")


@pytest.mark.usefixtures("plugin")
def test_crash_on_one_worker_keeps_other_column_judged(suite):
    plan = plan_for(suite, 1, 3, columns=(STEADY, FRAGILE))
    with cluster_of(
        WorkerSpec("cuda", 1, {"steady sm_90": 1}), WorkerSpec("amd", 1, {"fragile gfx1100": 1})
    ) as cluster:
        records = executed(cluster, plan, suite)
        assert set(cluster.machines) == {"cuda", "amd"}
    found = {(record.runner, record.case.partition("~")[0][-1]): record for record in records}
    assert len(found) == 4
    assert all(record.verdict.passed for (runner, _), record in found.items() if runner == "steady")
    crashed = found["fragile", "3"]
    assert (crashed.verdict.status, "exit code 7" in crashed.verdict.detail) == (Status.CRASH, True)


@pytest.mark.usefixtures("plugin")
def test_columns_on_different_workers_equal_local_records(suite):
    """The plan includes a failure that is shrunk on one side and compared on both."""
    plan = plan_for(suite, 1, 7, columns=(STEADY, IDLE))
    with cluster_of(WorkerSpec("cuda", 1, {"steady sm_90": 1}), WorkerSpec("amd", 1, {"idle gfx1100": 1})) as cluster:
        there = executed(cluster, plan, suite)
    assert by_case(there) == by_case(execute_plan(plan, suite, Workers(1)))
    (small,) = (record.minimal for record in there if record.minimal)
    assert (small.runner, small.against.conclusion) == ("idle", "AMD is wrong")


@pytest.mark.usefixtures("plugin")
def test_columns_on_different_workers_without_reference_equal_local_records(tmp_path):
    for name, text in (("kernels/unary.cu", ""), ("cases/unary.py", UNREFERENCED)):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    suite = load_suite(tmp_path / "kernels", tmp_path / "cases")
    plan = plan_for(suite, 5, columns=(STEADY, ROUNDING))
    here = by_case(execute_plan(plan, suite, Workers(1)))
    with cluster_of(
        WorkerSpec("cuda", 1, {"steady sm_90": 1}), WorkerSpec("amd", 1, {"rounding gfx1100": 1})
    ) as cluster:
        there = by_case(executed(cluster, plan, suite))
    assert [record.verdict.status for record in here] == [Status.PASS, Status.BASELINE]
    assert here[0].verdict.budget > 0 and here[0].reached and here[0].printed
    assert there == here


@pytest.mark.usefixtures("plugin")
def test_lost_device_leaves_its_cases_not_run(suite, tmp_path, monkeypatch):
    monkeypatch.setattr(pool, "PATIENCE", 0.0)
    monkeypatch.setattr(pool, "WATCH", 0.2)
    plan = plan_for(suite, 1, columns=(LEAVING,))
    with cluster_of(WorkerSpec("gpu", 1, {"leaving gfx1100": 1})) as cluster:
        assert {record.verdict.status for record in executed(cluster, plan, suite)} == {Status.PASS}
        (tmp_path / "lost").touch()
        records = executed(cluster, plan, suite)
    assert {(record.verdict.status, record.verdict.kind) for record in records} == {(Status.NOT_JUDGED, "not run")}
    assert "leaving gfx1100" in records[0].verdict.detail or "fell off the bus" in records[0].verdict.detail


@pytest.mark.usefixtures("plugin")
def test_cluster_recording_resumes_from_journal(suite, tmp_path):
    plan = plan_for(suite, 1, 2, dtypes=("f32", "f64"))
    with cluster_of(WorkerSpec("one", 1, {"fragile gfx1100": 1})) as cluster:
        pools = lambda plan, jobs: cluster.pool(suite, plan)  # noqa: E731
        with outcome_journal(tmp_path / "partial", {}) as journal:
            cases = list(record_outcomes(plan, suite, journal, Workers(pools=pools)))
        with outcome_journal(tmp_path / "partial", {}) as journal:
            assert len(journal.entries) == 2
            assert list(record_outcomes(plan, suite, journal, Workers(pools=pools))) == cases
    with outcome_journal(tmp_path / "other", {}) as journal:
        assert list(record_outcomes(plan, suite, journal, Workers(1))) == cases


def test_corpus_files_are_in_suite_bundle(suite):
    sent, _, contents = bundle.pack_plan(plan_for(suite, 1))
    names = unpacked(zlib.decompress(contents[sent.suite]), dict[str, bytes], "the suite")
    there = {path.relative_to(suite.cases.parent).as_posix() for path in suite.cases.iterdir() if path.is_file()}
    assert "cases/reduce.found" in there and there <= set(names)


def test_bundle_is_cached_by_digest_and_mismatch_is_refused(tmp_path, monkeypatch, suite):
    monkeypatch.setenv("PARITY_CACHE", str(tmp_path / "cache"))
    plan = plan_for(suite, 1)
    sent, digest, contents = bundle.pack_plan(plan)
    asked: list[str] = []

    def fetch(digest: str) -> bytes:
        asked.append(digest)
        return contents[digest]

    needed = [digest, *sent.bundles("unary", (FRAGILE,))]
    for each in needed * 2:
        bundle.cached_bundle(each, fetch)
    assert asked == needed
    there = bundle.load_plan(digest)
    assert there.kernels != plan.kernels and there.suite().op("unary.neg").name == "unary.neg"
    assert there.code["unary", FRAGILE] == plan.code["unary", FRAGILE]
    with pytest.raises(NotAvailable, match="arrived and was discarded"):
        bundle.cached_bundle("0" * 64, lambda digest: contents[needed[0]])
    assert not Cache(tmp_path / "cache").folder("0" * 64).exists()


def test_bundle_with_path_outside_its_folder_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("PARITY_CACHE", str(tmp_path / "cache"))
    data = zlib.compress(packed({"../../evil": b"x"}))
    with pytest.raises(NotAvailable, match="outside of its folder"):
        bundle.cached_bundle(bundle.bundle_digest(data), lambda digest: data)


def test_answer_with_wrong_type_is_refused():
    with pytest.raises(UsageError, match="the value that gpu1 returned does not fit its type"):
        Answer("gpu1", "returned", packed([{"case": 7}])).result(worker.perform_or_lose_device)
    with pytest.raises(UsageError, match="is malformed"):
        Answer("gpu1", "returned", b"\xc1").result(worker.perform_or_lose_device)
    with pytest.raises(NoWorker, match="gpu1: lost"):
        Answer("gpu1", "unable", text="lost").result(worker.perform_or_lose_device)
    with pytest.raises(NotAvailable, match="gpu1: no"):
        Answer("gpu1", "raised", error="NotAvailable", text="no").result(worker.perform_or_lose_device)
    with pytest.raises(CallTimeout) as late:
        Answer("gpu1", "timeout", in_callback=True).result(worker.perform_or_lose_device)
    assert late.value.in_callback


def test_different_versions_are_refused_by_worker_and_client(monkeypatch):
    there = dict(messages.versions(), parity="9.9")
    request = Request(there, "run", "0" * 64, (), b"", 1.0)
    answer = WorkerNode(1, "gpu1").answer(request, lambda digest: b"")
    assert answer.how == "refused" and "parity is 0.1" in answer.text and "9.9 at the client" in answer.text
    found = Cluster(Site(), lambda where: local_cluster([]))
    monkeypatch.setattr(found, "_thread", threading.Thread())
    offer = WorkerOffer("gpu1", there, 1, (), {})
    monkeypatch.setattr(found, "_open", lambda: None)
    monkeypatch.setattr(found, "_call", lambda coroutine, seconds=None: (offer,))
    with pytest.raises(NotAvailable, match=r"parity is 0\.1.* here and 9\.9 at gpu1"):
        found.open()


def test_cluster_runners_come_from_worker_offers():
    h200 = RunnerOffer("cuda", Evidence.HARDWARE, "cuda", ("sm_90",), ("sm_90",), {"gpu": "NVIDIA H200"})
    cluster = Cluster(Site(), lambda where: local_cluster([]))
    cluster.offers = (WorkerOffer("gpu1", {}, 1, (h200,), {}), WorkerOffer("gpu2", {}, 1, (h200,), {}))
    found = cluster.available("cuda")
    assert (found.targets(), cluster.describe("cuda")) == (("sm_90",), {"gpu": "NVIDIA H200"})
    with pytest.raises(NotAvailable, match=r"no worker has the runner 'rocm'; available: cuda"):
        cluster.available("rocm")


@pytest.mark.parametrize(
    ("text", "address", "jobs"),
    [
        ("local:3", "", 3),
        ("tcp://127.0.0.1:8786", "tcp://127.0.0.1:8786", 0),
        ("tls://scheduler:8786", "tls://scheduler:8786", 0),
        ("localhost:8786", "tcp://localhost:8786", 0),
    ],
)
def test_site_text_gives_address_or_jobs(text, address, jobs):
    found = connection.parse_site(text)
    assert (found.address, found.jobs) == (address, jobs)
    connection.require_trusted(found, insecure=False)


def test_site_reads_dask_configuration_file(tmp_path):
    path = tmp_path / "dask.yaml"
    path.write_text("scheduler-address: tls://a:1\ndistributed:\n  comm:\n    require-encryption: true\n")
    found = connection.parse_site(str(path))
    assert (found.address, found.settings["distributed"]["comm"]["require-encryption"]) == ("tls://a:1", True)
    path.write_text('{"type": "Scheduler", "address": "tcp://127.0.0.1:1"}')
    assert connection.parse_site(str(path)).address == "tcp://127.0.0.1:1"
    path.write_text("a: b")
    with pytest.raises(UsageError, match="names no scheduler"):
        connection.parse_site(str(path))
    with pytest.raises(UsageError, match="neither the address of a scheduler nor a file"):
        connection.parse_site("nowhere")


@pytest.mark.parametrize("address", ["tcp://10.0.0.5:8786", "tcp://scheduler:8786", "ws://10.1.1.1:80"])
def test_remote_scheduler_without_tls_is_refused(address):
    where = Site(address)
    with pytest.raises(UsageError, match=r"can run any code.*--insecure-cluster"):
        connection.require_trusted(where, insecure=False)
    connection.require_trusted(where, insecure=True)
    connection.require_trusted(dataclasses.replace(where, address="tls://10.0.0.5:8786"), insecure=False)


def test_unreachable_scheduler_raises_not_available(monkeypatch):
    monkeypatch.setattr(connection, "CONNECT", 0.5)
    with (
        pytest.raises(NotAvailable, match="no scheduler of Dask answers at"),
        connection.connected("tcp://127.0.0.1:9"),
    ):
        pass


WORKER = """
import asyncio, sys
from distributed import Worker
async def main():
    async with Worker(sys.argv[1], nthreads=1, resources={"fragile gfx1100": 1}, name=sys.argv[2], memory_limit=0,
                      dashboard=False) as worker:
        print("ready", flush=True)
        await worker.finished()
asyncio.run(main())
"""


@pytest.mark.thorough  # Dask processes take seconds to start
@pytest.mark.usefixtures("plugin")
def test_killed_dask_worker_is_replaced_by_another(suite, tmp_path):
    """Kills one of two worker processes while it executes a task."""
    scheduler = subprocess.Popen(
        [
            *(sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"),
            *("--no-dashboard", "--scheduler-file", str(tmp_path / "scheduler.json")),
        ],
        stderr=subprocess.DEVNULL,
    )
    file = tmp_path / "scheduler.json"
    workers = []
    try:
        while not file.exists() or not file.read_text().endswith("}"):
            time.sleep(0.05)
        address = connection.parse_site(str(file)).address
        for name in ("one", "two"):
            command = [sys.executable, "-c", WORKER, address, name]
            workers.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL))
        for each in workers:
            assert each.stdout.readline() == b"ready\n"
        plan = plan_for(suite, 1, 6, 2, dtypes=("f32", "f64"))
        with connection.connected(address) as cluster:
            threading.Timer(1.0, lambda: os.kill(workers[0].pid, signal.SIGKILL)).start()
            records = executed(cluster, plan, suite)
        assert by_case(records) == by_case(execute_plan(plan, suite, Workers(1)))
        assert workers[0].wait() == -signal.SIGKILL
    finally:
        for each in [*workers, scheduler]:
            each.kill()
            each.wait()


def test_local_workers_see_one_gpu_each():
    gpus = ("cuda sm_90", "rocm gfx90a", "cuda sm_90")
    found = list(local_workers(6, gpus))
    assert [each.environment for each in found] == [
        {"CUDA_VISIBLE_DEVICES": "0"}, {"HIP_VISIBLE_DEVICES": "0"}, {"CUDA_VISIBLE_DEVICES": "1"},
    ]  # fmt: skip
    assert [each.slots for each in found] == [2, 2, 2]
    assert all("emulated" in each.resources for each in found)  # available on every machine
