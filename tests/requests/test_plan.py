"""The plan: topology, ranks, cost, digest, and how it is printed."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from traingate.difference import difference
from traingate.documents.admission import Model
from traingate.documents.request import Request
from traingate.plan import Plan, plan
from traingate.report import plan as report

Build = Callable[[Mapping[str, Any]], Request]
GOLDEN = Path(__file__).parent / "golden"
SMALL = {"resources.instance_count": 2, "distribution.process_count_per_instance": 2}


@pytest.fixture
def planned(build: Build) -> Callable[..., Plan]:
    return lambda **case: plan(build(case))


@pytest.mark.parametrize(
    ("job", "nodes", "processes", "variable"),
    [
        ({"distribution": None, "resources.instance_count": 1}, 1, 1, None),
        ({"distribution": {"type": "pytorch"}}, 2, 1, ("WORLD_SIZE", "2")),
        ({}, 2, 8, ("WORLD_SIZE", "16")),
        (
            {"distribution": {"type": "mpi", "process_count_per_instance": 8}},
            2,
            8,
            ("OMPI_COMM_WORLD_SIZE", "16"),
        ),
        ({"distribution": {"type": "tensorflow", "worker_count": 2}}, 2, 1, None),
        ({"distribution": {"type": "ray"}}, 2, 1, None),
    ],
)
def test_topology_is_what_azure_ml_starts(planned, job, nodes, processes, variable):
    it = planned(job=job)

    assert (it.topology.nodes, it.topology.processes_per_node) == (nodes, processes)
    assert len(it.ranks) == it.topology.world_size == nodes * processes
    if variable:
        assert variable in it.ranks[-1].variables


def test_ranks_count_through_the_nodes(planned):
    ranks = [dict(rank.variables) for rank in planned(job=SMALL).ranks]

    assert [(r["NODE_RANK"], r["RANK"], r["LOCAL_RANK"]) for r in ranks] == [
        ("0", "0", "0"),
        ("0", "1", "1"),
        ("1", "2", "0"),
        ("1", "3", "1"),
    ]


def test_tensorflow_worker_finds_itself_in_the_cluster(planned):
    (_, second) = planned(job={"distribution": {"type": "tensorflow"}}).ranks
    config = json.loads(dict(second.variables)["TF_CONFIG"])

    assert config["cluster"]["worker"] == ["<node 0>:2222", "<node 1>:2222"]
    assert config["task"] == {"type": "worker", "index": 1}


def test_a_count_no_machine_has_is_not_spelled_out(planned):
    it = planned(job={"distribution.process_count_per_instance": 2_000_000_000})

    assert len(it.ranks) == 1024
    assert json.loads(report.as_json(it))["ranks_left_out"] == 4_000_000_000 - 1024


def test_cost_is_every_billed_hour_of_every_node(planned):
    cost = planned().cost

    # 8 h timeout, 10 min start-up, 5 min idle; 2 nodes at 98.32 dollars.
    assert cost.billed_hours == pytest.approx(8.25)
    assert cost.usd == pytest.approx(2 * 8.25 * 98.32)
    assert (cost.price_source, cost.price_date) == ("pay-as-you-go, eastus", "2026-06-18")
    assert not cost.can_repeat


def test_the_platforms_price_wins_in_any_spelling(planned):
    cost = planned(platform={"prices_usd_per_hour": {"STANDARD_ND96ISR_H100_V5": 50}}).cost

    assert (cost.usd_per_hour_and_node, cost.price_source) == (50, "platform.yml")


@pytest.mark.parametrize(
    "case",
    [
        {"job": {"queue_settings": {"job_tier": "Spot"}}},
        {"platform": {"targets.h100.priority": "low_priority"}},
    ],
)
def test_a_run_that_can_be_preempted_can_cost_it_again(planned, case):
    assert planned(**case).cost.can_repeat
    assert "can cost it again" in report.text(planned(**case))


def test_no_timeout_or_no_price_is_no_ceiling(planned):
    assert planned(job={"limits": None}).cost is None
    assert planned(platform={"targets.h100.size": "Standard_ND999_v9"}).cost is None


def test_digest_is_of_the_work_and_of_nothing_else(planned):
    same = planned()
    assert same.digest == planned(admission={"expires": None}, runs_used=2).digest
    assert same.digest == planned(files={"jobs/segmentation-ddp/README.md": "x"}).digest
    assert same.digest == planned(files={"jobs/other/src/train.py": "x"}).digest


@pytest.mark.parametrize(
    "case",
    [
        {"job": {"inputs.epochs": 21}},
        {"files": {"jobs/segmentation-ddp/src/train.py": "import torch.nn\n"}},
        {"files": {"jobs/segmentation-ddp/src/more.py": ""}},
        {"platform": {"targets.h100.size": "Standard_ND96isr_H200_v5"}},
    ],
)
def test_other_work_has_another_digest(planned, case):
    assert planned(**case).digest != planned().digest


def test_local_inputs_are_part_of_the_work(planned):
    job = {"inputs.data.path": "./data"}
    before = planned(job=job, files={"jobs/segmentation-ddp/data/a": "1"})
    after = planned(job=job, files={"jobs/segmentation-ddp/data/a": "2"})

    assert list(before.files) == [
        "jobs/segmentation-ddp/data/a",
        "jobs/segmentation-ddp/src/train.py",
    ]
    assert before.digest != after.digest


def test_difference_names_what_changed_and_only_that(planned):
    base = planned()
    now = planned(
        job={"resources.instance_count": 1, "inputs.epochs": 21, "environment_variables.X": "1"},
        files={"jobs/segmentation-ddp/src/train.py": "new"},
    )

    assert difference(base, base) == ()
    assert [(it.what, it.before, it.after) for it in difference(base, now)] == [
        ("nodes", "2", "1"),
        ("world size", "16", "8"),
        ("cost ceiling", "$1,622.28", "$811.14"),
        ("input epochs", "20", "21"),
        ("variable X", "-", "1"),
        ("files edited", "-", "1: jobs/segmentation-ddp/src/train.py"),
    ]


def test_difference_tells_a_removed_variable(planned):
    now = planned(job={"environment_variables.NCCL_DEBUG": None})

    (change,) = difference(planned(), now)
    assert (change.what, change.before, change.after) == ("variable NCCL_DEBUG", "INFO", "-")


@pytest.mark.parametrize(
    ("name", "render"),
    [("plan.txt", report.text), ("plan.md", report.markdown), ("plan.json", report.as_json)],
)
def test_renderings_are_as_people_and_programs_know_them(planned, name, render):
    base = planned(job={**SMALL, "resources.instance_count": 1})

    # To renew a golden file, write what is printed here and read its difference.
    assert render(planned(job=SMALL), base) == (GOLDEN / name).read_text(encoding="utf-8")


def test_what_a_stranger_wrote_stays_text(planned):
    it = replace(planned(), model=Model(name="a|b `@here` <img src=x>"))

    assert r"`` a\|b `@here` <img src=x> ``" in report.markdown(it)
