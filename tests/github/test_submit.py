"""What a push and a dispatch submit, and every way they do not."""

import os
from dataclasses import replace
from typing import Any

import pytest

from github.fake.requests import OWNERS, PLATFORM, request
from github.fake.stage import Stage
from traingate.errors import Refusal
from traingate.github.labels import REFUSED, RUNNING
from traingate.loop.submit import Decision, submit_push


def submit(stage: Stage, push: Any) -> tuple[Decision, ...]:
    return submit_push(stage.world(), push)


def refused(stage: Stage, push: Any, expected: str, number: int | None = 7) -> None:
    """Exactly one refusal, which is also on the pull request, and no job."""
    (decision,) = submit(stage, push)
    assert decision.error is None
    assert expected in " ".join(map(str, decision.reasons))
    assert stage.backend.jobs == {}
    if number is not None:
        (body,) = stage.bodies(number)
        assert "Nothing was submitted for `seg`" in body
        assert stage.fake.repository.pulls[number].labels == [REFUSED]


def test_a_reviewed_merge_is_announced_labelled_and_sent(stage: Stage) -> None:
    pull, push = stage.merged(request())
    (decision,) = submit(stage, push)
    assert decision.record is not None
    assert list(stage.backend.jobs) == [decision.record.run]
    assert decision.record.run.startswith("seg-")
    assert decision.record.run.endswith("-p7")
    assert pull.labels == [RUNNING]
    (body,) = stage.bodies(7)
    assert "is `Submitted`" in body
    assert "Approved by | olga" in body
    assert "2 nodes × 8 processes = world size 16" in body
    job = stage.backend.jobs[decision.record.run]
    assert (job.provenance.commit, job.provenance.pull_request) == (push.after, 7)


def test_the_order_is_comment_label_job(stage: Stage) -> None:
    _, push = stage.merged(request())
    seen: list[str] = []
    stage.backend.call = seen.append  # type: ignore[method-assign]
    stage.fake.interference = lambda method, path: (
        seen.append(f"{method} {path.rpartition('/')[2]}") if method != "GET" else None
    )
    submit(stage, push)
    writes = [one for one in seen if one != "POST graphql"]
    assert [one.split(" ")[0] + one.split(" ")[1][:3] for one in writes] == [
        "POSTcom",
        "POSTlab",
        "PUTseg",
        "PATCH300",
    ]


def test_nothing_is_asked_when_no_request_changed(stage: Stage) -> None:
    _, push = stage.merged({"README.md": "y\n"})
    assert submit(stage, push) == ()
    assert stage.fake.log == []


def test_again_does_nothing(stage: Stage) -> None:
    _, push = stage.merged(request())
    first, second = submit(stage, push), submit(stage, push)
    assert first[0].record == second[0].record
    assert len(stage.backend.jobs) == 1
    assert len(stage.bodies(7)) == 1


def test_several_workloads_in_one_push(stage: Stage) -> None:
    pull, push = stage.merged(request("seg") | request("det"))
    decisions = submit(stage, push)
    assert sorted(one.workload for one in decisions if one.record) == ["det", "seg"]
    assert len(stage.backend.jobs) == len(stage.bodies(7)) == 2
    assert pull.labels == [RUNNING]


def test_a_merge_queue_brings_several_pull_requests_in_one_push(stage: Stage) -> None:
    before = stage.tip
    pulls = [stage.open(request(name)) for name in ("seg", "det")]
    for pull in pulls:
        stage.approve(pull)
        stage.merge(pull)
    decisions = submit(stage, stage.push(before, stage.tip))
    assert [(one.workload, one.pull_request) for one in decisions] == [("seg", 7), ("det", 8)]
    assert len(stage.backend.jobs) == 2


def test_one_bad_request_does_not_keep_back_the_other(stage: Stage) -> None:
    stage.merged(request("det", runs=1))
    before = stage.tip
    pull = stage.open(request("seg"))
    stage.merge(pull)  # Nobody approved it.
    _, last = stage.merged(request("det", lr=0.02))
    decisions = submit(stage, stage.push(before, last.after))
    assert [bool(one.record) for one in decisions] == [False, True]


def test_a_direct_push_submits_nothing_and_says_so(stage: Stage) -> None:
    before = stage.tip
    stage.write(request())
    after = stage.commit("direct")
    refused(stage, stage.push(before, after), "is no pull request's merge commit", None)


def test_commits_that_reached_main_with_another_pull_request(stage: Stage) -> None:
    before = stage.tip
    stage.fake.repository.pulls[7] = stage.open({"README.md": "y\n"})
    stage.write(request())
    after = stage.commit("indirect")
    # GitHub links the commit with a pull request that was merged by another commit.
    stage.fake.repository.merge(7, "f" * 40, stage.fake.clock.now())
    stage.fake.repository.commit_pulls[after] = [7]
    refused(stage, stage.push(before, after), "is no pull request's merge commit")


def test_a_pull_request_into_another_branch(stage: Stage) -> None:
    pull, push = stage.merged(request())
    pull.base_branch = "next"
    refused(stage, push, "is no pull request's merge commit")


@pytest.mark.parametrize(
    "changes", [{"forced": True}, {"before": None}, {"deleted": True}, {"branch": "next"}]
)
def test_pushes_that_cannot_be_attributed(stage: Stage, changes: dict[str, Any]) -> None:
    _, push = stage.merged(request())
    with pytest.raises(Refusal):
        submit(stage, replace(push, **changes))
    assert stage.backend.jobs == {}


def test_history_rewritten_after_the_push(stage: Stage) -> None:
    _, push = stage.merged(request())
    stage.git("reset", "--quiet", "--hard", push.before or "")
    stage.commit("another history")
    with pytest.raises(Refusal, match="was rewritten"):
        submit(stage, push)


def test_a_revert_removes_the_request_and_a_re_merge_is_a_run_of_its_own(stage: Stage) -> None:
    files = request()
    _, push = stage.merged(files)
    submit(stage, push)
    _, revert = stage.merged(dict.fromkeys(files))
    (removed,) = submit(stage, revert)
    assert (removed.record, removed.reasons) == (None, ())
    _, again = stage.merged(files)
    (second,) = submit(stage, again)
    names = list(stage.backend.jobs)
    assert [name.rpartition("-")[2] for name in names] == ["p7", "p9"]
    assert names[0].rpartition("-")[0] == names[1].rpartition("-")[0]
    assert second.record is not None
    assert second.record.attempt == 2


@pytest.mark.parametrize(
    "path",
    [
        ".github/workflows/submit.yml",
        "src/traingate/plan.py",
        "schemas/job.schema.json",
        "platform.yml",
        ".github/CODEOWNERS",
        "pyproject.toml",
    ],
)
def test_a_request_that_changes_together_with_what_decides_about_it(
    stage: Stage, path: str
) -> None:
    text = {"platform.yml": PLATFORM + "# more\n", ".github/CODEOWNERS": OWNERS + "# more\n"}
    _, push = stage.merged(request() | {path: text.get(path, "x\n")})
    refused(stage, push, "Make it two pull requests")


def test_a_pull_request_that_makes_its_author_an_owner_is_judged_by_the_base(stage: Stage) -> None:
    pull = stage.open(request() | {".github/CODEOWNERS": "* @mallory\n"})
    stage.approve(pull, by="mallory")
    refused(stage, stage.merge(pull), "Make it two pull requests")
    # Even in two steps: the owner file of the commit before the merge counts, not the tip's.
    pull = stage.open(request(lr=0.5))
    stage.approve(pull, by="zoe")
    stage.git("checkout", "--quiet", "main")
    push = stage.merge(pull)
    stage.write({".github/CODEOWNERS": "* @zoe\n"})
    stage.commit("later")
    (decision,) = submit(stage, push)
    assert "zoe does not own" in str(decision.reasons[0])


def test_an_approval_by_a_team_listed_at_the_base(stage: Stage) -> None:
    owners = "* @acme/gpu\n"
    stage.merged({".github/CODEOWNERS": owners})
    pull = stage.open(request())
    stage.approve(pull, by="gil")
    push = stage.merge(pull)
    (decision,) = submit(stage, push)
    assert "cannot be verified with this token" in str(decision.reasons[0])
    stage.merged({"platform.yml": PLATFORM + 'approvers: {"@acme/gpu": [gil]}\n'})
    pull = stage.open(request(lr=0.2))
    stage.approve(pull, by="gil")
    (decision,) = submit(stage, stage.merge(pull))
    assert decision.record is not None
    assert decision.record.approver == "gil"


def test_an_approval_by_a_team_that_a_token_may_read(stage: Stage) -> None:
    stage.merged({".github/CODEOWNERS": "* @acme/gpu\n"})
    stage.has_teams_token = True
    stage.fake.repository.teams = {"acme/gpu": {"gil"}}
    for approver, expected in (("zoe", "zoe does not own"), ("Gil", None)):
        pull = stage.open(request(lr=0.1 if expected else 0.2))
        stage.approve(pull, by=approver)
        (decision,) = submit(stage, stage.merge(pull))
        assert (decision.record is not None) == (expected is None)
        assert expected is None or expected in str(decision.reasons[0])


def test_files_that_differ_from_what_was_approved(stage: Stage) -> None:
    pull = stage.open(request())
    stage.approve(pull)
    stage.git("checkout", "--quiet", f"pr-{pull.number}")
    stage.write({"jobs/seg/src/train.py": "import os\n"})
    stage.commit("slipped in")
    stage.git("checkout", "--quiet", "main")
    refused(stage, stage.merge(pull), "differ from those at the approved commit")


def test_a_bypassed_rule(stage: Stage) -> None:
    pull = stage.open(request())
    refused(stage, stage.merge(pull), "review decision is REVIEW_REQUIRED")


def test_an_unprotected_branch(stage: Stage) -> None:
    _, push = stage.merged(request())
    stage.fake.repository.rules.clear()
    refused(stage, push, "docs/setup-github.md")


def test_lines_of_codeowners_that_github_skips(stage: Stage) -> None:
    _, push = stage.merged(request())
    stage.fake.repository.codeowners_errors = [{"line": 2, "kind": "Unknown owner"}]
    refused(stage, push, "line 2: Unknown owner")


def test_a_review_after_the_merge(stage: Stage) -> None:
    pull = stage.open(request())
    push = stage.merge(pull)
    stage.approve(pull)
    refused(stage, push, "came after the merge")


def test_an_admission_that_expired_between_merge_and_submit(stage: Stage) -> None:
    _, push = stage.merged(request(expires="2026-12-01"))
    stage.today = stage.today.replace(month=12, day=2)
    refused(stage, push, "expired on 2026-12-01")


def test_an_admission_whose_runs_are_used_up(stage: Stage) -> None:
    for lr in (0.1, 0.2):
        _, push = stage.merged(
            request(runs=2) | {"jobs/seg/job.yml": request(lr=lr)["jobs/seg/job.yml"]}
        )
        assert submit(stage, push)[0].record is not None
    _, push = stage.merged({"jobs/seg/job.yml": request(lr=0.3)["jobs/seg/job.yml"]})
    (decision,) = submit(stage, push)
    assert "2 runs are used up" in str(decision.reasons[0])
    assert len(stage.backend.jobs) == 2
    _, push = stage.merged(request(runs=3, lr=0.3))
    assert submit(stage, push)[0].record is not None, "a renewed admission counts anew"


def test_an_admission_whose_dollars_are_used_up(stage: Stage) -> None:
    _, push = stage.merged(request(usd=300))
    assert submit(stage, push)[0].record is not None
    _, push = stage.merged({"jobs/seg/job.yml": request(lr=0.3)["jobs/seg/job.yml"]})
    (decision,) = submit(stage, push)
    assert "of the $300.00 admitted" in str(decision.reasons[0])


def test_an_old_workflow_run_after_the_admission_was_withdrawn(stage: Stage) -> None:
    _, push = stage.merged(request())
    stage.merged(dict.fromkeys(request()))
    refused(stage, push, "was withdrawn or replaced")


def test_a_symbolic_link_is_not_followed(stage: Stage) -> None:
    stage.git("checkout", "--quiet", "-b", "pr-7")
    stage.write(request())
    (stage.path / "jobs/seg/job.yml").unlink()
    (stage.path / "jobs/seg/job.yml").symlink_to("/etc/hostname")
    head = stage.commit("link")
    stage.git("checkout", "--quiet", "main")
    stage.git("branch", "--quiet", "-D", "pr-7")
    pull = stage.open({})
    pull.head = head
    stage.git("branch", "--force", "pr-7", head)
    stage.approve(pull)
    refused(stage, stage.merge(pull), "symbolic link")


def test_the_backend_refuses(stage: Stage) -> None:
    _, push = stage.merged(request())

    def no(*_: object) -> Any:
        raise Refusal("The compute drifted.", todo="Apply infra/ again.")

    stage.backend.submit = no  # type: ignore[method-assign]
    (decision,) = submit(stage, push)
    assert "The compute drifted. Apply infra/ again." in str(decision.reasons[0])
    run, refusal = stage.bodies(7)
    assert "is `Withdrawn`" in run
    assert "The compute drifted." in refusal


@pytest.mark.parametrize("name", [b"a\nb", b"\xe2\x80\xaeyp.x", b"\x1b[2J"])
def test_a_name_nobody_can_read_is_refused(stage: Stage, name: bytes) -> None:
    path = f"jobs/seg/src/{os.fsdecode(name)}"
    _, push = stage.merged(request() | {path: "x = 1\n"})
    refused(stage, push, "characters that nobody sees")


def test_an_admission_whose_name_is_no_text_stops_no_other_request(stage: Stage) -> None:
    stage.merged({os.fsdecode(b"admissions/\xff.md"): "x\n"})
    _, push = stage.merged(request())
    (decision,) = submit(stage, push)
    assert decision.error is None
    assert decision.record is not None


def test_a_name_that_is_no_text_stops_neither_its_own_nor_another_request(stage: Stage) -> None:
    """A file's name may be any bytes; one of them must not end the workflow run."""
    before = stage.tip
    bad = stage.open(request("det"))
    stage.git("checkout", "--quiet", f"pr-{bad.number}")
    (stage.path / "jobs" / "det" / os.fsdecode(b"\xff.py")).write_text("x = 1\n")
    bad.head = stage.commit("any bytes")
    stage.git("checkout", "--quiet", "main")
    stage.approve(bad)
    stage.merge(bad)
    _, push = stage.merged(request("seg"))
    decisions = {one.workload: one for one in submit(stage, stage.push(before, push.after))}
    assert decisions["seg"].record is not None
    assert decisions["det"].record is None


def test_a_rebase_of_several_commits_submits_nothing(stage: Stage) -> None:
    """Its last commit is the merge commit, and what came before it would stand for the base."""
    before = stage.tip
    pull = stage.open({"src/traingate/tool.py": "x = 1\n"})
    stage.git("checkout", "--quiet", f"pr-{pull.number}")
    stage.write(request())
    pull.head = stage.commit("and the request")
    stage.git("checkout", "--quiet", "main")
    stage.approve(pull)
    stage.git("merge", "--quiet", "--ff-only", f"pr-{pull.number}")
    stage.git("commit", "--quiet", "--amend", "--no-edit", "--date", "2026-01-01T00:00:00Z")
    stage.fake.repository.merge(pull.number, stage.tip, stage.fake.clock.now())
    # GitHub links the other rebased commits with the pull request too.
    stage.fake.repository.commit_pulls[stage.git("rev-parse", "main^")] = [pull.number]
    refused(stage, stage.push(before, stage.tip), "the one before it belongs to #7 as well")


def test_a_run_comment_somebody_edited_is_not_believed(stage: Stage) -> None:
    """Whoever may write here can edit our comments; the marker in one then proves nothing."""
    _, push = stage.merged(request())
    submit(stage, push)
    (comment,) = stage.fake.repository.pulls[7].comments
    comment.body = comment.body.replace('"state": "Submitted"', '"state": "Completed"')
    comment.editor = "eve"
    submit(stage, push)
    assert len(stage.backend.jobs) == 1
    assert len(stage.bodies(7)) == 2
    assert "is `Submitted`" in stage.bodies(7)[1]


def test_what_is_sent_comes_from_the_merge_and_not_from_a_comment(stage: Stage) -> None:
    """Any workflow of the repository writes as our own identity, markers included."""
    _, push = stage.merged(request())
    submit(stage, push)
    (comment,) = stage.fake.repository.pulls[7].comments
    for true, false in (
        ('"state": "Submitted"', '"state": "Lost"'),
        ('"origin": "p7"', '"origin": "p999"'),
        (f'"commit": "{push.after}"', f'"commit": "{push.before}"'),
        ('"pull_request": 7', '"pull_request": 5'),
        ('"approver": "olga"', '"approver": "eve"'),
    ):
        assert true in comment.body
        comment.body = comment.body.replace(true, false)
    stage.backend.jobs.clear()
    (decision,) = submit(stage, push)
    (job,) = stage.backend.jobs.values()
    assert (job.provenance.commit, job.provenance.pull_request) == (push.after, 7)
    assert job.provenance.origin == "p7"
    assert decision.record is not None
    assert (decision.record.commit, decision.record.approver) == (push.after, "olga")


def test_a_forged_open_run_hands_no_other_commit_on(stage: Stage) -> None:
    _, push = stage.merged(request())
    submit(stage, push)
    (comment,) = stage.fake.repository.pulls[7].comments
    comment.body = comment.body.replace(push.after, push.before)
    (decision,) = submit(stage, push)
    assert decision.record is not None
    assert decision.record.commit == push.after


def test_a_copy_of_the_branch_that_the_same_merge_closes_stops_nothing(stage: Stage) -> None:
    """GitHub gives the merge commit to every pull request whose head it brings."""
    copy, pull = stage.open({"README.md": "y\n"}, author="eve"), stage.open(request())
    copy.head = pull.head
    stage.approve(pull)
    before = stage.tip
    stage.git("merge", "--quiet", "--no-ff", "--no-edit", f"pr-{pull.number}")
    for one in (copy, pull):
        stage.fake.repository.merge(one.number, stage.tip, stage.fake.clock.now())
    (decision,) = submit(stage, stage.push(before, stage.tip))
    assert decision.record is not None
    assert decision.record.pull_request == pull.number
    assert stage.bodies(copy.number) == []
