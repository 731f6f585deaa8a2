"""The real workflow files under act: who runs what, what is written where."""

import json
from pathlib import Path
from typing import Any

import pytest

from github.fake.acting import Runner, runner
from github.fake.backend import failure, outcome
from github.fake.requests import request
from github.fake.server import FakeGitHub
from github.fake.state import Pull
from traingate.github.labels import DONE, REFUSED

LOCAL = {
    "platform.yml": """\
backend: local
single_node: {gpu_memory_gib: 80}
targets:
  gpu-cluster: {size: Standard_NC48ads_A100_v4, max_nodes: 1, secrets: ["keyvault://acme-kv/*"]}
"""
}
SCRIPT = """\
import json, os, pathlib
if os.environ["RANK"] == "0":
    folder = pathlib.Path("outputs/traingate")
    folder.mkdir(parents=True, exist_ok=True)
    made = {outcome} | {{"run_name": os.environ["TRAINGATE_RUN"]}}
    (folder / "outcome.json").write_text(json.dumps(made))
"""


@pytest.fixture
def ci(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    fake = FakeGitHub()
    with runner(tmp_path, fake) as made:
        yield made
    assert fake.violations == []


def ran(outcome: Any, *names: tuple[str, str]) -> None:
    """Each of these steps succeeded; a label act does not know would be a silent pass."""
    steps = outcome.steps()
    assert {name: steps.get(name) for name in names} == dict.fromkeys(names, "success"), (
        outcome.log() + outcome.stderr
    )


def test_the_gate_on_a_good_request(ci: Runner) -> None:
    pull = ci.stage.open(request())
    outcome = ci.pull_request(pull)
    ran(outcome, ("check", "Check"), ("comment", "Comment"))
    assert outcome.returncode == 0
    assert ("rehearse", "Rehearse") not in outcome.steps()
    (body,) = ci.stage.bodies(7)
    assert "✅ `seg` may run once it is approved" in body
    assert "`@olga` or `@otto`" in body
    assert "may run once it is approved" in outcome.summary()
    assert "ghs_fake0001" not in outcome.log()
    ran(ci.pull_request(pull), ("comment", "Comment"))
    assert ci.stage.bodies(7) == [body], "a second run changes nothing"


def test_the_gate_on_a_bad_request(ci: Runner) -> None:
    files = request()
    files["jobs/seg/job.yml"] = files["jobs/seg/job.yml"].replace(":gpu-cluster", ":nowhere")
    outcome = ci.pull_request(ci.stage.open(files))
    assert outcome.returncode == 1
    assert outcome.steps()[("check", "Check")] == "failure"
    ran(outcome, ("comment", "Comment"))
    (error,) = outcome.commands("error")
    assert error["kvPairs"]["file"] == "jobs/seg/job.yml"
    line = files["jobs/seg/job.yml"].splitlines().index("compute: azureml:nowhere") + 1
    assert error["kvPairs"]["line"] == str(line)
    assert "nowhere" in error["arg"]
    assert "❌ `seg` may not run: 1 error" in ci.stage.bodies(7)[0]


def test_a_fork_gets_the_card_in_the_summary_only(ci: Runner) -> None:
    outcome = ci.pull_request(ci.stage.open(request()), head="eve/train")
    ran(outcome, ("check", "Check"))
    assert ("comment", "Comment") not in outcome.steps()
    assert "`seg` may run once it is approved" in outcome.summary()
    assert ci.stage.bodies(7) == []


def test_the_gate_takes_tool_and_policy_from_the_base(ci: Runner) -> None:
    """The pull request's own code would pass anything; its own policy would allow it."""
    evil = {
        "src/traingate/cli.py": "def main():\n    print('pwned')\n",
        "platform.yml": "backend: local\ntargets: {}\n",
    }
    files = request()
    files["jobs/seg/job.yml"] = files["jobs/seg/job.yml"].replace(":gpu-cluster", ":nowhere")
    outcome = ci.pull_request(ci.stage.open(files | evil))
    assert "pwned" not in outcome.log()
    assert outcome.steps()[("check", "Check")] == "failure"
    assert "two pull requests" in ci.stage.bodies(7)[0]


def test_a_pull_request_without_a_request_passes_at_once(ci: Runner) -> None:
    outcome = ci.pull_request(ci.stage.open({"README.md": "y\n"}))
    ran(outcome, ("check", "Check"), ("comment", "Comment"))
    assert ci.stage.bodies(7) == []
    assert "No request is changed" in outcome.summary()


def test_a_rehearsal_is_one_bounded_line_marked_as_reported(ci: Runner) -> None:
    ci.variables["TRAINGATE_REHEARSE"] = "true"
    files = request()
    tool = {"src/traingate/cli.py": "def main():\n    print('# **fine** @lead ' + 'x' * 999)\n"}
    outcome = ci.pull_request(ci.stage.open(files | tool))
    ran(outcome, ("rehearse", "Rehearse"), ("comment", "Comment"))
    (line,) = [line for line in ci.stage.bodies(7)[0].splitlines() if "Rehearsal" in line]
    assert "as reported by the pull request's own code: `# **fine** @lead xxx" in line
    assert len(line) < 300


def _local_request(**changes: Any) -> dict[str, str]:
    """A request the local backend trains in a second, without torch."""
    made = json.loads(outcome("x", workload="tiny", **changes))
    files = request("tiny", runs=9)
    job = files["jobs/tiny/job.yml"].replace("train.py --lr ${{inputs.lr}}", "train.py")
    job = job.replace("process_count_per_instance: 8", "process_count_per_instance: 2")
    job = job.replace("instance_count: 2", "instance_count: 1")
    job = job.replace("inputs:\n  lr: 0.01\n", "")
    return files | {
        "jobs/tiny/job.yml": job,
        "jobs/tiny/src/train.py": "import os\n" + SCRIPT.format(outcome=repr(made)),
    }


def _merged(ci: Runner, files: dict[str, Any]) -> tuple[Pull, Any]:
    ci.stage.merged(LOCAL)
    return ci.stage.merged(files)


def test_the_local_loop_trains_in_a_job_without_rights(ci: Runner) -> None:
    pull, push = _merged(ci, _local_request())
    outcome = ci.push(push.before, push.after)
    ran(outcome, ("submit", "Admit"), ("train", "Train"), ("tell", "Report"))
    assert outcome.returncode == 0
    run, card = ci.stage.bodies(pull.number)
    assert "is `Completed`" in run
    assert "`models:/tiny/3`" in card
    assert "xychart-beta" in card
    assert "Approved by olga" in card
    assert pull.labels == [DONE]
    (artifact,) = (ci.folder / "artifacts").iterdir()
    assert artifact.name.startswith("tiny-")
    ran(ci.push(push.before, push.after), ("submit", "Admit"))
    assert ci.stage.bodies(pull.number) == [run, card], "a re-run changes nothing"


def test_a_training_that_fails_is_told_with_its_advice(ci: Runner) -> None:
    record = failure("ValueError: no such column", exit_code=65)
    files = _local_request(status="failed", model=None, failure=record)
    files["jobs/tiny/src/train.py"] += "raise SystemExit(65)\n"
    pull, push = _merged(ci, files)
    outcome = ci.push(push.before, push.after)
    assert outcome.returncode == 1
    assert outcome.steps()[("train", "Train")] == "failure"
    ran(outcome, ("tell", "Report"))
    assert "rank 3 failed first: ValueError: no such column" in ci.stage.bodies(pull.number)[1]
    assert "Look at the data" in ci.stage.bodies(pull.number)[1]
    assert pull.labels == ["traingate:failed"]


def test_a_refusal_is_on_the_pull_request_and_in_the_annotations(ci: Runner) -> None:
    ci.stage.merged(LOCAL)
    pull = ci.stage.open(_local_request())
    push = ci.stage.merge(pull)
    outcome = ci.push(push.before, push.after)
    assert outcome.returncode == 1
    assert outcome.steps()[("submit", "Admit")] == "failure"
    assert ("train", "Train") not in outcome.steps()
    assert any("REVIEW_REQUIRED" in error["arg"] for error in outcome.commands("error"))
    assert "Nothing was submitted for `tiny`" in ci.stage.bodies(pull.number)[0]
    assert pull.labels == [REFUSED]


def test_a_dispatch_runs_the_tip_again(ci: Runner) -> None:
    pull, _ = _merged(ci, _local_request())
    outcome = ci.dispatch("tiny", "otto")
    ran(outcome, ("submit", "Admit"), ("train", "Train"))
    assert "-r4711" in ci.stage.bodies(pull.number)[0]
    assert "Approved by | otto" in ci.stage.bodies(pull.number)[0]


def test_a_re_run_of_an_owners_dispatch_counts_as_by_whoever_pressed_it(ci: Runner) -> None:
    """Its payload still names the owner, and it would run the branch as it is by now."""
    _merged(ci, _local_request())
    outcome = ci.dispatch("tiny", "otto", GITHUB_TRIGGERING_ACTOR="eve")
    assert outcome.steps()[("submit", "Admit")] == "failure"
    assert any("eve could not have approved" in error["arg"] for error in outcome.commands("error"))
    assert ("train", "Train") not in outcome.steps()


def test_the_scheduled_report_finds_nothing_open_in_one_request(ci: Runner) -> None:
    ci.stage.merged(LOCAL)
    outcome = ci.report()
    ran(outcome, ("report", "Report"))
    assert ci.fake.log == ["POST /graphql"]
