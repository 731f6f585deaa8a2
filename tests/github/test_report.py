"""What a reporter tells, when, and how often."""

import re
from typing import Any

import pytest

from github.fake.backend import failure, outcome
from github.fake.requests import request
from github.fake.stage import Stage
from github.fake.state import BOT
from traingate.github.labels import DONE, FAILED, REFUSED, RUNNING
from traingate.loop.report import report
from traingate.loop.submit import submit_dispatch, submit_push


def submitted(stage: Stage, files: dict[str, Any] | None = None) -> str:
    """A merged and submitted request; the run's name."""
    _, push = stage.merged(files or request())
    (decision,) = submit_push(stage.world(), push)
    assert decision.record is not None
    return decision.record.run


def look(stage: Stage) -> None:
    failures = report(stage.world(), stage.backend)
    assert failures == ()


def finish(stage: Stage, run: str, state: str = "Completed", **changes: Any) -> None:
    job = stage.backend.jobs[run]
    job.state, job.started_at = state, stage.fake.clock.now()
    stage.fake.clock.sleep(3_300)
    job.finished_at = stage.fake.clock.now()
    if state == "Completed" or changes:
        job.outcome = outcome(run, **changes)


def test_one_request_when_nothing_is_open(stage: Stage) -> None:
    look(stage)
    assert stage.fake.log == ["POST /graphql"]
    finish(stage, submitted(stage))
    look(stage)
    stage.fake.log.clear()
    look(stage)
    assert stage.fake.log == ["POST /graphql"], "a finished run costs nothing any more"


def test_writes_only_when_the_state_changes(stage: Stage) -> None:
    run = submitted(stage)
    states = ["Queued", "Queued", "Running", "Running", "Finalizing"]
    written = []
    for state in states:
        stage.backend.jobs[run].state = state
        stage.fake.log.clear()
        look(stage)
        written.append(sum(not line.endswith("/graphql") for line in stage.fake.log))
    assert written == [1, 0, 1, 0, 1]
    assert "is `Finalizing`" in stage.bodies(7)[0]
    assert stage.fake.repository.pulls[7].labels == [RUNNING]


def test_the_end_is_a_new_comment_with_everything_people_wait_for(stage: Stage) -> None:
    run = submitted(stage)
    finish(stage, run)
    look(stage)
    told, card = stage.bodies(7)
    assert "is `Completed`" in told
    assert "✅ seg is trained: `models:/seg/3`" in card
    assert "0.973" in card
    assert "xychart-beta" in card
    assert "Approved by olga" in card
    assert re.search(r"Cost: about \$\d+\.\d\d so far, \$\d+\.\d\d at most", card)
    assert "55 min" in card
    assert stage.fake.repository.pulls[7].labels == [DONE]


@pytest.mark.parametrize(
    ("exit_code", "status", "advice"),
    [
        (1, "failed", "Mend the code"),
        (65, "failed", "Look at the data"),
        (69, "failed", "The platform failed"),
        (75, "preempted", "resumes from its checkpoint"),
    ],
)
def test_a_failure_names_rank_reason_and_advice(
    stage: Stage, exit_code: int, status: str, advice: str
) -> None:
    run = submitted(stage)
    record = failure("ValueError: no column", exit_code=exit_code)
    finish(stage, run, "Failed", status=status, model=None, failure=record)
    look(stage)
    card = stage.bodies(7)[1]
    assert "rank 3 failed first: ValueError: no column" in card
    assert advice in card
    assert stage.fake.repository.pulls[7].labels == [FAILED]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "without an outcome file"),
        ("{", "no JSON"),
        ("x" * 70_000, "larger than"),
        ("other run", "of another run, other"),
        ("other model", "names the model evil"),
    ],
)
def test_completed_without_a_usable_outcome_is_failed(
    stage: Stage, text: str | None, why: str
) -> None:
    run = submitted(stage)
    finish(stage, run)
    evil = {"name": "evil", "version": "1", "uri": "models:/evil/1"}
    texts = {"other run": outcome("other"), "other model": outcome(run, model=evil)}
    stage.backend.jobs[run].outcome = texts.get(text or "", text)
    look(stage)
    assert why in stage.bodies(7)[0]
    assert stage.fake.repository.pulls[7].labels == [FAILED]


def test_log_lines_appear_only_in_private_repositories_and_scrubbed(stage: Stage) -> None:
    traceback = "Traceback\n  token=hunter22\n@lead ::error::x\nRuntimeError: boom"
    record = failure("RuntimeError: boom", traceback=traceback)
    for is_private in (False, True):
        stage.fake.repository.is_private = is_private
        run = submitted(stage, request(lr=0.1 + is_private))
        finish(stage, run, "Failed", status="failed", model=None, failure=record)
        look(stage)
    public, private = stage.bodies(7)[1], stage.bodies(8)[1]
    assert "Traceback" not in public
    assert "Traceback" in private
    assert "hunter22" not in private


def test_a_pull_request_is_done_when_all_its_runs_are(stage: Stage) -> None:
    _, push = stage.merged(request("seg") | request("det"))
    runs = [one.record.run for one in submit_push(stage.world(), push) if one.record]
    finish(stage, runs[0], workload=runs[0].split("-")[0])
    look(stage)
    assert stage.fake.repository.pulls[7].labels == [RUNNING]
    finish(stage, runs[1], "Canceled")
    look(stage)
    assert stage.fake.repository.pulls[7].labels == [FAILED]
    assert len(stage.bodies(7)) == 4


def test_a_rerun_opens_the_pull_request_again(stage: Stage) -> None:
    finish(stage, submitted(stage))
    look(stage)
    submit_dispatch(stage.world(), stage.dispatch(), "99")
    assert stage.fake.repository.pulls[7].labels == [RUNNING]
    finish(stage, next(name for name in stage.backend.jobs if name.endswith("r99")))
    look(stage)
    assert stage.fake.repository.pulls[7].labels == [DONE]
    assert sum("is trained" in body for body in stage.bodies(7)) == 2


def test_a_run_the_backend_does_not_know_is_told_after_an_hour(stage: Stage) -> None:
    run = submitted(stage)
    del stage.backend.jobs[run]
    stage.fake.clock.sleep(3_000)
    look(stage)
    assert len(stage.bodies(7)) == 1
    stage.fake.clock.sleep(1_000)
    look(stage)
    told, lost = stage.bodies(7)
    assert "is `Lost`" in told
    assert f"Nobody knows run `{run}`" in lost
    assert stage.fake.repository.pulls[7].labels == [FAILED]


def test_a_lost_run_is_taken_up_by_running_the_workflow_again(stage: Stage) -> None:
    _, push = stage.merged(request())
    submit_push(stage.world(), push)
    stage.backend.jobs.clear()
    stage.fake.clock.sleep(4_000)
    look(stage)
    submit_push(stage.world(), push)
    assert len(stage.backend.jobs) == 1
    assert stage.fake.repository.pulls[7].labels == [RUNNING]


def test_a_merge_without_a_submit_is_told_for_two_days(stage: Stage) -> None:
    stage.merged(request())
    look(stage)
    assert stage.bodies(7) == [], "it may still be under way"
    stage.fake.clock.sleep(3_700)
    look(stage)
    (body,) = stage.bodies(7)
    assert "GITHUB_TOKEN" in body
    assert stage.fake.repository.pulls[7].labels == [REFUSED]
    stage.merged(request("det"))
    stage.fake.clock.sleep(49 * 3_600)
    look(stage)
    assert stage.bodies(8) == []


def test_merges_that_changed_no_request_are_not_spoken_about(stage: Stage) -> None:
    stage.merged({"README.md": "y\n"})
    stage.merged(request())
    finish(stage, submitted(stage, request(lr=0.5)))
    stage.fake.repository.pulls[8].labels = [DONE]
    stage.merged(dict.fromkeys(request()))
    stage.fake.clock.sleep(3_700)
    look(stage)
    assert stage.bodies(7) == stage.bodies(10) == []


def test_a_label_somebody_took_away_comes_back(stage: Stage) -> None:
    run = submitted(stage)
    stage.fake.repository.pulls[7].labels.clear()
    look(stage)
    assert stage.fake.repository.pulls[7].labels == [RUNNING]
    finish(stage, run)
    look(stage)
    assert stage.fake.repository.pulls[7].labels == [DONE]


def test_a_run_comment_somebody_deleted_comes_back(stage: Stage) -> None:
    run = submitted(stage)
    stage.fake.repository.pulls[7].comments.clear()
    look(stage)
    (body,) = stage.bodies(7)
    assert f"Run `{run}`" in body
    finish(stage, run)
    look(stage)
    assert stage.fake.repository.pulls[7].labels == [DONE]


def test_a_strangers_run_comment_is_not_followed(stage: Stage) -> None:
    run = submitted(stage)
    ours = stage.fake.repository.pulls[7].comments[0]
    forged = ours.body.replace(run, "seg-evil-p7")
    stage.fake.repository.comment(7, "eve", forged, 0)
    look(stage)
    assert not any("evil" in call for call in stage.backend.calls)


def test_two_reporters_at_once_end_with_one_outcome(stage: Stage) -> None:
    finish(stage, submitted(stage))
    inside: list[str] = []

    def other(method: str, path: str) -> None:
        # The other reporter has read the same thread and posts at the same moment.
        if method == "POST" and path.endswith("/comments") and not inside:
            inside.append(path)
            stage.fake._lock.release()
            look(stage)
            stage.fake._lock.acquire()

    stage.fake.interference = other
    look(stage)
    assert inside
    assert sum("is trained" in body for body in stage.bodies(7)) == 1
    assert len(stage.bodies(7)) == 2


def test_the_run_comment_is_found_among_130_others(stage: Stage) -> None:
    stage.fake.page_size = 30
    stage.merged(request())
    for number in range(125):
        stage.fake.repository.comment(7, "eve", f"{number}", 0)
    run = submitted(stage, request(lr=0.5))
    comment = stage.fake.repository.pulls[8].comments.pop()
    for number in range(125):
        stage.fake.repository.comment(8, "eve", f"{number}", 0)
    stage.fake.repository.comment(8, BOT, comment.body, 0)
    finish(stage, run)
    look(stage)
    assert "is `Completed`" in stage.bodies(8)[125]
    assert len(stage.bodies(8)) == 127


def test_one_broken_pull_request_does_not_silence_the_others(stage: Stage) -> None:
    first, second = submitted(stage), submitted(stage, request("det"))
    finish(stage, first)
    finish(stage, second, workload="det")

    def broken(method: str, path: str) -> Any:
        if method == "POST" and path.endswith("/7/comments"):
            return 500, {}, {"message": "oops"}
        return None

    stage.fake.interference = broken
    failures = report(stage.world(), stage.backend)
    assert len(failures) == 1
    assert stage.fake.repository.pulls[8].labels == [DONE]
    stage.fake.interference = None
    look(stage)
    assert stage.fake.repository.pulls[7].labels == [DONE]


HUGE = "9" * 400


@pytest.mark.parametrize(
    "changes",
    [
        {"metrics": {"accuracy": int(HUGE)}},
        {"curve": [{"step": 0, "loss": 1.0}, {"step": 1, "loss": int(HUGE)}]},
        {"curve": [{"step": 0, "loss": 1.0}, {"step": int(HUGE), "loss": 0.5}]},
    ],
    ids=["metric", "loss", "step"],
)
def test_an_outcome_with_a_number_no_float_holds_does_not_stop_the_reporter(
    stage: Stage, changes: dict[str, Any]
) -> None:
    run = submitted(stage)
    finish(stage, run, **changes)
    look(stage)
    assert "the outcome file is no JSON" in stage.bodies(7)[1]
    assert stage.fake.repository.pulls[7].labels == [FAILED]


def test_an_outcome_with_an_infinite_metric_is_unusable(stage: Stage) -> None:
    run = submitted(stage)
    finish(stage, run)
    stage.backend.jobs[run].outcome = outcome(run).replace("0.973", "1e999")
    look(stage)
    assert "the outcome file is no JSON" in stage.bodies(7)[1]


def test_a_property_the_job_gave_itself_does_not_choose_the_advice(stage: Stage) -> None:
    run = submitted(stage)
    finish(stage, run, "Failed")
    stage.backend.jobs[run].properties = {"kind": "free lunch"}
    look(stage)
    assert "Mend the code" in stage.bodies(7)[1]


def test_a_reason_longer_than_a_comment_is_cut(stage: Stage) -> None:
    run = submitted(stage)
    finish(stage, run, "Failed")
    stage.backend.jobs[run].reason = "\u00e9 > " * 30_000
    look(stage)
    told, card = stage.bodies(7)
    assert "is `Failed`" in told
    assert len(told) < 65_536
    assert "failed" in card


@pytest.mark.parametrize("labels", [[], [RUNNING]])
@pytest.mark.parametrize("is_gone", [True, False])
def test_a_merge_into_another_branch_is_no_business_of_ours(
    stage: Stage, labels: list[str], *, is_gone: bool
) -> None:
    """Anybody who may write can make one, and label it; its commit need not even be fetched."""
    pull = stage.open(request())
    commit = "f" * 40 if is_gone else pull.head
    stage.fake.repository.merge(7, commit, stage.fake.clock.now())
    pull.base_branch, pull.labels = "next", labels
    stage.fake.clock.sleep(7_200)
    look(stage)
    assert stage.bodies(7) == []
    assert stage.backend.calls == []
