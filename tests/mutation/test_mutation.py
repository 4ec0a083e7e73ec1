"""Mutation campaigns in a small project: caught faults, survivors with reasons, and resuming."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from parity.application.coverage_search import search_cases
from parity.application.measuring import measure
from parity.application.mutating import JOURNAL, plant_faults
from parity.application.run import Run, Settings
from parity.cli import main
from parity.cluster.connection import Cluster, Site, WorkerSpec, local_cluster, need_dask
from parity.mutation.campaign import CampaignSettings
from parity.mutation.mutant import MutantOutcome, Reason
from parity.mutation.recall import read_recall
from parity.suite.loading import find_suite

SETTINGS = CampaignSettings(count=1000, search=0)


@pytest.fixture(scope="module")
def prepared(project):
    return Run.of(suite=find_suite(project), targets=["gfx1100"], settings=Settings(examples=6, jobs=1)).build()


@pytest.fixture(scope="module")
def source(prepared, tmp_path_factory):
    """Run a campaign with some classes of source faults."""
    kinds = frozenset(("barrier", "statement", "condition", "argument", "boundary"))
    return plant_faults(
        prepared, replace(SETTINGS, levels=("source",), kinds=kinds), tmp_path_factory.mktemp("source")
    ).tried


@pytest.fixture(scope="module")
def instructions(prepared, tmp_path_factory):
    """Run a campaign with a sample of instruction faults; also return the folder of its journal."""
    folder = tmp_path_factory.mktemp("instructions")
    return plant_faults(prepared, replace(SETTINGS, count=12, levels=("instruction",)), folder).tried, folder


def outcome(tried, before, operator):
    (found,) = [each for each in tried if before in each.mutant.before and each.mutant.operator == operator]
    return found


def test_dropped_barrier_is_caught_as_data_race(source):
    found = outcome(source, "__syncthreads", "barrier dropped")
    assert (found.outcome, found.verdict) == (MutantOutcome.CAUGHT, "data race")
    assert found.mutant.place == "fold.cu:6" and found.case.startswith("fold.folded[i32](")


@pytest.mark.thorough
def test_dropped_bound_is_caught_as_out_of_bounds(source):
    assert outcome(source, "out[i]", "if always").verdict == "out-of-bounds write"
    assert outcome(source, "x[i]", "< to <=").verdict == "out-of-bounds read"


@pytest.mark.thorough
def test_unreached_source_is_never_executed_or_out_of_reach(source):
    found = outcome(source, "atomicAdd", "arguments swapped")
    assert found.outcome is MutantOutcome.UNCOMPILED and "atomicAdd" in found.detail
    boundary = outcome(source, "5000000", "> to >=")
    assert (boundary.outcome, boundary.reason) == (MutantOutcome.SURVIVED, Reason.EQUIVALENT)
    assert outcome(source, "5000000", "if never").reason is Reason.EQUIVALENT
    assert outcome(source, "5000000", "if always").outcome is MutantOutcome.CAUGHT


@pytest.mark.thorough
def test_source_faults_skip_host_code(source):
    assert source and not any("on_the_host" in each.mutant.before for each in source)


def test_unreached_instruction_is_never_executed(prepared, tmp_path):
    settings = replace(SETTINGS, levels=("instruction",), kinds=frozenset(("immediate", "offset")))
    tried = plant_faults(prepared, settings, tmp_path).tried
    assert {each.reason for each in tried if each.mutant.before == "s_mul_i32 s0, s0, 7"} == {Reason.NEVER_EXECUTED}
    assert {each.detail for each in tried if each.reason is Reason.NEVER_EXECUTED} == {"behind fold.cu:8"}
    (read,) = [each for each in tried if each.mutant.old == "252" and each.mutant.new == "256"]
    assert (read.outcome, read.verdict) == (MutantOutcome.CAUGHT, "out-of-bounds read")


def test_mutant_with_equal_code_is_not_counted(prepared, tmp_path):
    tried = plant_faults(prepared, replace(SETTINGS, levels=("source",), kinds=frozenset(("bits",))), tmp_path).tried
    assert [(each.mutant.operator, each.outcome) for each in tried] == [("| to &", MutantOutcome.EQUAL)]


def test_same_seed_draws_same_faults(prepared, instructions, tmp_path):
    tried, _ = instructions
    again = plant_faults(prepared, replace(SETTINGS, count=12, levels=("instruction",)), tmp_path).tried
    assert sorted(map(repr, again)) == sorted(map(repr, tried)) and len(tried) == 12
    other = plant_faults(prepared, replace(SETTINGS, count=12, seed=1, levels=("instruction",)), tmp_path).tried
    assert {each.mutant.key for each in other} != {each.mutant.key for each in tried}


def test_campaign_resumes_from_journal(prepared, instructions):
    tried, folder = instructions
    journal = folder / JOURNAL
    whole = journal.read_bytes()
    journal.write_bytes(b"".join(whole.splitlines(keepends=True)[:6]) + b'{"mutant": {"op"')
    met = []
    again = plant_faults(
        prepared, replace(SETTINGS, count=12, levels=("instruction",)), folder, each=lambda one: met.append(one)
    )
    assert again.resumed == 5 and sorted(map(repr, again.tried)) == sorted(map(repr, tried))
    assert sorted(journal.read_bytes().splitlines()) == sorted(whole.splitlines())


@pytest.mark.thorough
def test_cluster_campaign_equals_local_campaign(prepared, source, instructions, tmp_path):
    """Also checks the coverage-guided search and instruction counts on a cluster worker."""
    pytest.importorskip("distributed")
    need_dask()
    cluster = Cluster(Site("elsewhere"), lambda where: local_cluster([WorkerSpec("one", 1, {"emulated": 1})]))
    there = replace(prepared, run=replace(prepared.run, cluster=cluster))
    try:
        cluster.open()
        every = plant_faults(there, replace(SETTINGS, count=12, levels=("instruction",)), tmp_path).tried
        barriers = replace(SETTINGS, levels=("source",), kinds=frozenset(("barrier",)))
        dropped = plant_faults(there, barriers, tmp_path).tried
        assert search_cases(there, 5) == search_cases(prepared, 5)
        counted = measure(there).measurements
        assert counted == measure(prepared).measurements and all(each.instructions for each in counted)
    finally:
        cluster.close()
    assert by_key(every) == by_key(instructions[0])
    assert by_key(dropped) == by_key(each for each in source if each.mutant.kind == "barrier")


def by_key(tried) -> dict:
    return {each.mutant.key: each for each in tried}


def test_interrupt_keeps_finished_mutants(prepared, tmp_path):
    def interrupted(one):
        raise KeyboardInterrupt

    settings = replace(SETTINGS, count=8, levels=("instruction",))
    found = plant_faults(prepared, settings, tmp_path, each=interrupted)
    assert isinstance(found.stopped, KeyboardInterrupt) and len(found.tried) == 1 and not found.recall.complete
    assert plant_faults(prepared, settings, tmp_path).resumed == 1


def test_longer_search_finds_catching_case(project, tmp_path, capfd):
    few = ("fold.folded[i32](x=1~normal@0)", "--dir")[:1]
    command = ["mutate", *few, "--target", "gfx1100", "--count", "6", "--in", "instruction", "--search", "40"]
    folders = ["--kernels", str(project / "kernels"), "--cases", str(project / "cases"), "--output", str(tmp_path)]
    assert main([*command, *folders, "--json", "-j", "1"]) == 0
    data = json.loads(capfd.readouterr().out)
    survived = [each for each in data["mutants"] if each["outcome"] == "survived"]
    assert any(each["found"].startswith("fold.folded[i32](") for each in survived)
    assert read_recall(tmp_path / "recall.json").total.survived == len(survived)
