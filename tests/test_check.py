"""`traingate check` as its users call it."""

import json
import os
import re
import subprocess
import sys

import pytest

#: A size the catalogue knows: two GPUs a node.
SIZE = "Standard_NC48ads_A100_v4"
SCRIPT = "print('training')\n"


@pytest.fixture(autouse=True)
def known_size(repository):
    policy = (repository.path / "platform.yml").read_text()
    repository.write("platform.yml", policy.replace("Standard_LAPTOP_v1", SIZE))


def commit(repository):
    author = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    for arguments in (("add", "--all"), (*author, "commit", "--quiet", "--message", "x")):
        subprocess.run(["git", "-C", str(repository.path), *arguments], check=True)


def test_a_clean_request_is_exit_zero(repository, traingate):
    repository.request(SCRIPT)
    result = traingate("check")
    assert result.exit_code == 0, result.output
    assert result.output == "No findings.\n"


def test_a_job_that_cannot_be_understood_is_a_located_finding(repository, traingate):
    repository.request(SCRIPT)
    repository.write("jobs/probe/job.yml", "command: [unclosed\n")

    result = traingate("check", "probe")

    assert result.exit_code == 1
    assert "jobs/probe/job.yml:2:1: " in result.output
    assert "[TG001 unreadable-file]" in result.output


def test_a_request_with_errors_is_neither_planned_nor_submitted(repository, traingate):
    repository.request(SCRIPT)
    repository.write("jobs/probe/job.yml", "command: [unclosed\n")
    for verb in ("plan", "submit"):
        result = traingate(verb, "probe")
        assert result.exit_code == 1
        assert "[TG001 unreadable-file]" in result.output
    assert not repository.runs()


def test_files_and_workloads_name_the_same_request_once(repository, traingate):
    repository.request(SCRIPT, processes=3)
    by_name = traingate("check", "probe")
    by_files = traingate("check", "jobs/probe/job.yml", "admissions/probe.md", "probe")
    assert by_name.exit_code == 1
    assert by_files.output == by_name.output
    assert traingate("check", "jobs/probe/").output == by_name.output


def test_a_request_that_is_not_there_names_the_nearest(repository, traingate):
    repository.request(SCRIPT)
    for verb in ("plan", "submit", "rehearse", "measure"):
        near = traingate(verb, "prob")
        assert near.exit_code == 2
        assert near.output.endswith("There is no request `prob` here. Did you mean `probe`?\n")
    far = traingate("plan", "vision")
    assert "Name one of: probe; or write a new one with `traingate new vision`." in far.output


def test_a_refused_request_is_told_its_errors_alone(repository, traingate):
    repository.request(SCRIPT, processes=3)
    job = (repository.path / "jobs/probe/job.yml").read_text()
    repository.write("jobs/probe/job.yml", re.sub("sha256:.*", "sha256:" + "0" * 64, job))
    assert "[TG301 image-not-pinned]" in traingate("check", "probe").output

    refused = traingate("plan", "probe").output

    assert "[TG102 more-processes-than-gpus]\nMend them, then repeat." in refused
    assert "TG301" not in refused


def test_a_mistyped_rule_names_the_nearest(traingate):
    result = traingate("explain", "launcher-in-comand")
    assert result.exit_code == 2
    assert "Did you mean `launcher-in-command`?" in result.output


def test_a_pipe_that_is_not_utf8_gets_the_text_all_the_same(repository):
    repository.request(SCRIPT)
    result = subprocess.run(
        [sys.executable, "-c", "from traingate.cli import main; main(['plan', 'probe'])"],
        cwd=repository.path,
        env=os.environ | {"PYTHONIOENCODING": "koi8-r", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert "1 node ? 2 processes" in result.stdout


def test_a_lone_job_file_is_held_to_its_shape(repository, traingate):
    repository.write("draft.yml", "command: python train.py\nenvironment: azureml:e:1\ntypo: 1\n")
    result = traingate("check", "draft.yml")
    assert result.exit_code == 1
    assert "draft.yml:3:1: " in result.output


def test_what_is_not_there_is_a_usage_error(repository, traingate):
    result = traingate("check", "nothing")
    assert result.exit_code == 2
    assert "no request and no file `nothing`" in result.output


def test_changed_since_leaves_out_what_did_not_change(repository, traingate):
    repository.request(SCRIPT, workload="old", processes=3)
    commit(repository)
    repository.request(SCRIPT, workload="new", processes=3)

    result = traingate("check", "--changed-since", "HEAD")

    assert "jobs/new/job.yml" in result.output
    assert "jobs/old/job.yml" not in result.output


def test_a_changed_policy_changes_every_request(repository, traingate):
    repository.request(SCRIPT, workload="old", processes=3)
    commit(repository)
    policy = repository.path / "platform.yml"
    policy.write_text(policy.read_text() + "# a comment\n")

    assert "jobs/old/job.yml" in traingate("check", "--changed-since", "HEAD").output


def test_json_has_the_documented_shape(repository, traingate):
    repository.request(SCRIPT, processes=3)
    told = json.loads(traingate("check", "--format", "json").output)
    assert told["version"] == 1
    assert told["summary"]["errors"] == len(told["findings"])
    assert told["findings"][0]["file"] == "jobs/probe/job.yml"


def test_github_annotations_go_to_the_step_and_the_rest_to_the_summary(
    repository, traingate, tmp_path, monkeypatch
):
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    for number in range(12):
        repository.request(SCRIPT, workload=f"w{number}", processes=3)

    result = traingate("check", "--format", "github")

    assert sum(line.startswith("::error ") for line in result.output.splitlines()) == 10
    assert "w9" in summary.read_text()


def test_diff_shows_what_fix_writes(repository, traingate):
    repository.request(SCRIPT)
    job = repository.path / "jobs/probe/job.yml"
    right = job.read_text()
    job.write_text(right.replace("shm_size: 4g", "shm_size: 4GB"))
    wrong = job.read_text()

    shown = traingate("check", "--diff", "probe")
    assert "-  shm_size: 4GB\n+  shm_size: 4g\n" in shown.output
    assert job.read_text() == wrong

    assert traingate("check", "--fix", "probe").exit_code == 0
    assert job.read_text() == right


def test_warnings_fail_only_under_strict(repository, traingate):
    repository.request(SCRIPT)
    job = repository.path / "jobs/probe/job.yml"
    job.write_text(job.read_text() + "inputs:\n  unused: 1\n")
    assert traingate("check", "probe").exit_code == 0
    assert traingate("check", "--strict", "probe").exit_code == 1


def test_the_platform_is_judged_even_where_there_is_no_request(repository, traingate):
    repository.write("infra/main.tf", 'module "aml" {\n  source = "./modules/aml"\n}\n')
    result = traingate("check")
    assert result.exit_code == 1
    assert "infra/main.tf:1:" in result.output
    assert "module-before-admission" in result.output


def test_a_rehearsal_that_is_none_is_found(repository, traingate):
    repository.request(SCRIPT)
    repository.write("jobs/probe/rehearsal.yml", "process_per_node: 2\n")
    result = traingate("check", "probe")
    assert result.exit_code == 1
    assert "jobs/probe/rehearsal.yml:1:1: " in result.output
    assert "processes_per_node" in result.output
