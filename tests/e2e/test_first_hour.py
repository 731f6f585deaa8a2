"""From "my training does not fit" to a request that passes, as a newcomer types it."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from traingate.cli import cli
from traingate.commands.new import MODEL, OWNER

POLICY = """\
backend: local
single_node: {gpu_memory_gib: 80}
targets:
  gpu-cluster:
    size: Standard_NC48ads_A100_v4
    max_nodes: 2
    secrets: ["keyvault://vault/*"]
"""
ROOT = Path(__file__).resolve().parents[2]
#: Owner, need, target, nodes, processes, hours, runs, days, model; empty takes what is offered.
ANSWERS = ["@contoso/vision", "time", "", "", "", "0.5", "2", "60", ""]


@pytest.fixture
def template(repository):
    repository.write("platform.yml", POLICY)
    return repository


def test_new_asks_at_most_twelve_questions(template):
    result = CliRunner().invoke(cli, ["new", "vision-ddp"], input="\n".join(ANSWERS) + "\n")
    assert result.exit_code == 0, result.output
    assert len(ANSWERS) <= 12
    assert result.output.count("wrote ") == 4


def test_what_new_writes_lacks_only_reasons_and_evidence(template, traingate):
    CliRunner().invoke(cli, ["new", "vision-ddp"], input="\n".join(ANSWERS) + "\n")
    told = json.loads(traingate("check", "--format", "json").output)
    errors = [one for one in told["findings"] if one["severity"] == "error"]
    assert sorted(one["name"] for one in errors) == ["left-to-write"] * 3 + ["no-evidence"]


def test_a_teams_code_is_not_held_to_this_repositorys_style(template, traingate):
    traingate("new", *GIVEN)
    (template.path / "jobs/ok-slug/src/train.py").write_text("import os,sys\ndef f( x ):print(x)\n")
    for check in (["check"], ["format", "--check"]):
        ours = ["--config", str(ROOT / "pyproject.toml")]
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *check, *ours, "."],
            cwd=template.path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout


def test_new_takes_options_instead_of_answers(template, traingate):
    given = "--owner @a/b --need memory --target gpu-cluster --nodes 1 --processes 1 --hours 2"
    more = "--runs 1 --days 30 --model m"
    result = traingate("new", "lone-ddp", *given.split(), *more.split())
    assert result.exit_code == 0, result.output
    job = (template.path / "jobs/lone-ddp/job.yml").read_text()
    assert "distribution" not in job  # a lone process needs none


def test_new_never_overwrites(template):
    template.write("jobs/vision-ddp/src/train.py", "mine = 1\n")
    result = CliRunner().invoke(cli, ["new", "vision-ddp"], input="\n".join(ANSWERS) + "\n")
    assert result.exit_code != 0
    assert (template.path / "jobs/vision-ddp/src/train.py").read_text() == "mine = 1\n"
    assert not (template.path / "admissions/vision-ddp.md").exists()


GIVEN = shlex.split(
    "ok-slug --owner @a/b --need time --target gpu-cluster --nodes 1 --processes 2 --hours 2 "
    "--runs 1 --days 30 --model m"
)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["Not_A_Slug"], "lower-case letters, digits and hyphens"),
        (["ok-slug", "--owner", "a@b", "--need", "time", "--target", "moon"], "Choose one of"),
        (["ok-slug", "--owner", "contoso"], "write @organisation/team, @person or an address"),
        (["ok-slug", "--model", "x: {y}"], "is no model name"),
        ([*GIVEN, "--days", "99999999999"], "holds for 180 days at most"),
        ([*GIVEN, "--hours", "nan"], "hours are a number"),
        ([*GIVEN, "--nodes", "999"], "gpu-cluster has"),
    ],
)
def test_bad_answers_say_what_to_do(template, traingate, arguments, told):
    result = traingate("new", *arguments)
    assert result.exit_code == 2
    assert told in result.output


def test_new_takes_what_the_admissions_schema_takes():
    known = json.loads((ROOT / "schemas/admission.schema.json").read_text())["properties"]
    assert known["owner"]["pattern"] == f"^({OWNER.pattern.pattern})$"
    assert known["model"]["properties"]["name"]["pattern"] == f"^{MODEL.pattern.pattern}$"


def test_a_wrong_answer_is_asked_again(template):
    slips = ["contoso", *ANSWERS[:2], "moon", *ANSWERS[2:]]
    result = CliRunner().invoke(cli, ["new", "vision-ddp"], input="\n".join(slips) + "\n")
    assert result.exit_code == 0, result.output
    assert "'contoso' is no owner" in result.output
    assert "'moon' is not 'gpu-cluster'" in result.output


def test_input_that_ends_early_writes_nothing_and_says_so(template, traingate):
    result = traingate("new", "vision-ddp", "--owner", "@contoso/vision")
    assert result.exit_code == 2
    assert "give --need and the other options" in result.output
    assert not (template.path / "admissions/vision-ddp.md").exists()


def test_the_requesters_page_leads_to_a_clean_request(template, traingate, command_blocks):
    told = []
    for block in command_blocks("docs/requester.md"):
        assert block.tag == "run"
        result = traingate(*shlex.split(block.text)[1:])
        assert result.exit_code == 0, f"{block.text}{result.output}"
        told.append(result.output)
    written, rehearsed, _ = told
    assert written.count("wrote ") == 4
    assert rehearsed.endswith("rehearsed on 2 × CPU: 20 steps\n")

    admission = template.path / "admissions/vision-ddp.md"
    after = admission.read_text()
    assert "evidence:\n  run: " in after
    kept = json.loads((template.path / "jobs/vision-ddp/evidence.json").read_text())
    assert kept["evidence"]["hours"] > 0
    assert kept["outcome"]["training_backend"] == "single-node"

    # A small model is no reason for a second GPU, and the gate says so.
    told = traingate("check", "vision-ddp")
    assert "evidence-too-weak" in told.output

    # With a need that is real, and the reasons written, nothing is left.
    admission.write_text(
        after.replace("TODO:", "Because").replace("wanted_hours: 0.5", "wanted_hours: 0.00001")
    )
    tampered = traingate("check", "vision-ddp")
    assert "evidence-not-measured" in tampered.output
    evidence = template.path / "jobs/vision-ddp/evidence.json"
    evidence.write_text(
        evidence.read_text().replace('"wanted_hours": 0.5', '"wanted_hours": 0.00001')
    )
    result = traingate("check", "vision-ddp")
    assert result.exit_code == 0, result.output
    assert traingate("plan", "vision-ddp").exit_code == 0


def test_the_script_that_new_writes_is_the_one_in_the_package(template):
    CliRunner().invoke(cli, ["new", "vision-ddp"], input="\n".join(ANSWERS) + "\n")
    script = template.path / "jobs/vision-ddp/src/train.py"
    done = subprocess.run([sys.executable, "-m", "py_compile", str(script)], check=False)
    assert done.returncode == 0
    packaged = Path(__file__).resolve().parents[2] / "src/traingate/templates/train.py"
    assert script.read_text() == packaged.read_text()
