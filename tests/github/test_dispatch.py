"""Running a workload of main's tip again: from where, by whom, and how often."""

from typing import Any

import pytest

from github.fake.requests import request
from github.fake.stage import Stage
from traingate.errors import Refusal
from traingate.loop.submit import Decision, submit_dispatch, submit_push


def run(stage: Stage, run_id: str = "99", **changes: Any) -> Decision:
    return submit_dispatch(stage.world(), stage.dispatch(**changes), run_id)


def refused(stage: Stage, expected: str, **changes: Any) -> None:
    before = dict(stage.backend.jobs)
    decision = run(stage, **changes)
    assert expected in " ".join(map(str, decision.reasons))
    assert stage.backend.jobs == before


def test_runs_the_tip_again_on_the_newest_pull_request(stage: Stage) -> None:
    _, push = stage.merged(request())
    submit_push(stage.world(), push)
    stage.merged({"README.md": "y\n"})
    decision = run(stage)
    assert decision.record is not None
    assert decision.record.run.endswith("-r99")
    assert (decision.record.pull_request, decision.record.attempt) == (7, 2)
    assert len(stage.backend.jobs) == 2


def test_the_same_workflow_run_again_is_the_same_run(stage: Stage) -> None:
    stage.merged(request())
    run(stage)
    run(stage)
    assert len(stage.backend.jobs) == 1


def test_from_another_branch(stage: Stage) -> None:
    stage.merged(request())
    with pytest.raises(Refusal, match="Start it on main"):
        run(stage, ref="refs/heads/next")


@pytest.mark.parametrize("workload", ["nothing", "../etc", "", "Seg", "seg; id"])
def test_of_no_workload(stage: Stage, workload: str) -> None:
    with pytest.raises(Refusal, match="There is no request"):
        run(stage, workload=workload)


@pytest.mark.parametrize(
    ("person", "expected"),
    [("ada", "is the author"), ("zoe", "does not own"), ("lead", "does not own")],
)
def test_by_somebody_who_could_not_have_approved(stage: Stage, person: str, expected: str) -> None:
    stage.merged(request())
    refused(stage, expected, person=person)


def test_by_a_bot(stage: Stage) -> None:
    stage.merged(request())
    refused(stage, "no human", is_human=False)


def test_laundering_a_direct_push_of_a_file(stage: Stage) -> None:
    stage.merged(request())
    stage.write({"jobs/seg/src/train.py": "import os\n"})
    stage.commit("direct")
    refused(stage, "is no pull request's merge commit")
    # A pull request that touches another file afterwards does not wash it clean.
    stage.merged({"jobs/seg/job.yml": request(lr=0.5)["jobs/seg/job.yml"]})
    refused(stage, "which is no pull request's merge")


def test_laundering_a_direct_removal(stage: Stage) -> None:
    stage.merged(request() | {"jobs/seg/.amlignore": "data\n"})
    stage.write({"jobs/seg/.amlignore": None})
    stage.commit("direct")
    refused(stage, "is no pull request's merge commit")


@pytest.mark.parametrize("name", ["?.py", "[a-z]*.py", "tr*.py"])
def test_laundering_a_direct_push_by_a_name_that_is_a_pattern(stage: Stage, name: str) -> None:
    """Git must not take the name for a pattern and find the last merge of another file."""
    stage.merged(request() | {"jobs/seg/src/a.py": "a = 1\n"})
    stage.write({f"jobs/seg/src/{name}": "import os\n"})
    stage.commit("direct")
    files = {"jobs/seg/src/a.py": "a = 2\n", "jobs/seg/src/train.py": "import train_aml\n"}
    stage.merged(files)
    refused(stage, "which is no pull request's merge")


def test_an_unverified_pull_request(stage: Stage) -> None:
    pull = stage.open(request())
    stage.merge(pull)
    refused(stage, "REVIEW_REQUIRED")


def test_an_admission_without_runs_left(stage: Stage) -> None:
    _, push = stage.merged(request(runs=1))
    submit_push(stage.world(), push)
    refused(stage, "1 runs are used up")


def test_an_expired_admission(stage: Stage) -> None:
    stage.merged(request(expires="2026-12-01"))
    stage.today = stage.today.replace(month=12, day=2)
    refused(stage, "expired on")


def test_two_at_once_for_the_last_run(stage: Stage) -> None:
    stage.merged(request(runs=1))
    inner: list[Decision] = []

    def second(method: str, path: str) -> None:
        # The other one starts when this one has counted and is about to announce itself.
        if method == "POST" and path.endswith("/comments") and not inner:
            stage.fake.interference = None
            inner.append(_unlocked(stage, lambda: run(stage, run_id="100")))

    stage.fake.interference = second
    outer = run(stage, run_id="99")
    assert len(stage.backend.jobs) == 1
    assert [bool(one.record) for one in (outer, *inner)] == [False, True]
    assert any("is `Withdrawn`" in body for body in stage.bodies(7))


def _unlocked(stage: Stage, act: Any) -> Any:
    """Let a request made while another one is answered through."""
    stage.fake._lock.release()
    try:
        return act()
    finally:
        stage.fake._lock.acquire()
