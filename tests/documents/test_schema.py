"""Schema errors: one clear finding at the right line, and the certain mends."""

from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from traingate.documents.reading import read_admission, read_job, read_platform
from traingate.documents.schema import schema_of
from traingate.findings import Finding, Severity
from traingate.fixes import apply

SCHEMAS = ("job", "admission", "platform", "rehearsal", "findings")
JOB = "command: python train.py\nenvironment: azureml:pt:3\n"
ADMISSION = """\
workload: probe
owner: "@contoso/vision"
need: time
envelope: {targets: [gpu], nodes: 1, gpus: 2, hours: 1, runs: 1, cost_usd: 10}
"""


def of_job(text: str) -> tuple[Finding, ...]:
    return read_job((JOB + text).encode(), "job.yml")[1]


def of_admission(text: str) -> tuple[Finding, ...]:
    return read_admission(f"---\n{ADMISSION}{text}---\n".encode(), "a.md")[1]


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_one_and_describes_every_property(name: str):
    schema = schema_of(name)
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"https://traingate.dev/schemas/{name}.schema.json"
    undescribed = [path for path, below in described(schema, name) if not below.get("description")]
    assert undescribed == []


def described(schema: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every mapping that a property or a free name leads to, by path."""
    below = dict(schema.get("properties", {}))
    for name in ("additionalProperties", "items"):
        if isinstance(schema.get(name), dict):
            below[name] = schema[name]
    for name, sub in below.items():
        if isinstance(sub, dict):
            yield f"{path}.{name}", sub
            yield from described(sub, f"{path}.{name}")


@pytest.mark.parametrize(
    ("text", "line", "told", "fix"),
    [
        ("retries: 3\n", 3, "`retries` is not a key of this file", "Remove it."),
        ("comput: azureml:x\n", 3, "`comput` is not a key", "Did you mean `compute`?"),
        (
            "instance_count: 2\n",
            3,
            "`instance_count` is not a key",
            "It belongs under `resources`.",
        ),
        ("resources: {nodes: 2}\n", 3, "`nodes` is not a key of `resources`", "`instance_count`"),
        ("distribution: {}\n", 3, "`type` is missing in `distribution`", "Add `type:`."),
        ("distribution: pytorch\n", 3, "must be a mapping", "Write a mapping with `type:`"),
        ("distribution: {type: fsdp}\n", 3, "FSDP is code inside", "Write `pytorch` or `mpi`."),
        ("distribution: {type: pytroch}\n", 3, "cannot be `pytroch`", "Did you mean `pytorch`?"),
        ("limits:\n  timeout: -5\n", 4, "`timeout` is -5", "Write 0 or more."),
        ("limits:\n  timeout: PT1H\n", 4, "must be a whole number", "Write a whole number here."),
        ("limits:\n", 3, "`limits` is empty", "Give it a value, or remove the key."),
        ("inputs:\n  a-b: 1\n", 4, "`a-b` cannot be a name", "Write `a_b` here"),
        ("inputs: {a: [1]}\n", 3, "this is a list", "Write a plain value such as `lr: 0.01`"),
        ("inputs: {a: }\n", 3, "`a` is empty", "Write a plain value such as `lr: 0.01`"),
        ("inputs: {a: {type: uri_folder, mode: eval_mount}}\n", 3, "`a.mode`", "`type: mltable`"),
        ("inputs: {a: {value: 1, path: x}}\n", 3, "an input with a plain `value`", "It takes"),
        ("outputs: {a: {version: 1}}\n", 3, "`version` needs `name`", "Add `name:`"),
        ("services: {a: {type: ssh, log_dir: x}}\n", 3, "of an ssh endpoint", "It takes"),
        ("services: {a: {type: bogus}}\n", 3, "`a.type` cannot be `bogus`", "Write ssh, vs_code"),
        ("services: {a: {nodes: '0,1'}}\n", 3, "`nodes` cannot be `0,1`", "Write `all`."),
        ("queue_settings: {job_tier: dedicated}\n", 3, "cannot be `dedicated`", "Write spot"),
        ("code: [./src]\n", 3, "`code` must be text", "Write text here."),
        ("type: pipeline\n", 3, "`type` cannot be `pipeline`", "Write `command`."),
        ("resources: {shm_size: 16}\n", 3, "`shm_size` must be text", 'Write `"16"`.'),
    ],
)
def test_one_error_is_one_finding(text: str, line: int, told: str, fix: str):
    (finding,) = of_job(text)
    assert finding.location.line == line
    assert told in finding.message
    assert finding.fix is not None
    assert fix in finding.fix


def test_every_unknown_key_is_told_at_its_own_line():
    assert [it.location.line for it in of_job("retries: 3\nfoo: 1\nresources: {gpu: 1}\n")] == [
        3,
        4,
        5,
    ]


def test_missing_keys_are_told_once():
    _, findings = read_job(b"code: ./src\n", "job.yml")
    assert [it.message for it in findings] == ["`command` is missing.", "`environment` is missing."]


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("compute: {target: azureml:gpu}\n", "Write `compute: azureml:gpu`."),
        ("code: {local_path: ./src}\n", "Write `code: ./src`."),
        ("inputs: {a: {data: azureml:d:1, mode: mount}}\n", "Write `path:` instead"),
        ("inputs: {lr: {type: number, default: 0.01}}\n", "Write `lr: 0.01`."),
        ("inputs: {lr: {type: number}}\n", "Write `lr: 0.01`."),
        ("inputs: {flag: {optional: true}}\n", "Write `flag: 0.01`."),
    ],
)
def test_other_syntax_is_told_once_with_what_to_write(text: str, fix: str):
    (finding,) = of_job(text)
    assert finding.rule == "TG008"
    assert finding.fix is not None
    assert fix in finding.fix


def test_single_braces_are_mended_where_they_stand():
    text = "command: >-\n  python a.py {inputs.x} ${{inputs.x}} {outputs.y} ${inputs.z}\n"
    text += "environment: azureml:pt:3\n"
    _, findings = read_job(text.encode(), "job.yml")
    assert [it.location.column for it in findings] == [15, 40]
    assert "python a.py ${{inputs.x}} ${{inputs.x}} ${{outputs.y}} ${inputs.z}" in apply(
        text, [edit for finding in findings for edit in finding.edits]
    )


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        ("environment_variables: {X: yes}\n", 'X: "yes"'),
        ("environment_variables: {X: 1.10}\n", 'X: "1.10"'),
        ("environment_variables: {X: 010}\n", 'X: "010"'),
        ("environment_variables: {X: 2026-11-30}\n", 'X: "2026-11-30"'),
        ("experiment_name: no\n", 'experiment_name: "no"'),
        ("tags: {a: 1}\n", 'a: "1"'),
        ("inputs: {lr: 1e-4}\n", 'lr: "1e-4"'),
        ("inputs: {lr: 1_000}\n", "lr: 1000"),
        ("inputs: {day: 2026-11-30}\n", 'day: "2026-11-30"'),
        ("resources: {instance_count: '2'}\n", "instance_count: 2"),
        ("resources: {instance_count: 2.0}\n", "instance_count: 2"),
        ("resources: {instance_count: +2}\n", "instance_count: 2"),
        ("resources: {instance_count: 0o10}\n", "instance_count: 8"),
        ("resources: {instance_count: 8e0}\n", "instance_count: 8"),
        ('distribution: {type: "PyTorch "}\n', "type: pytorch"),
        ("distribution: {type: ray, include_dashboard: 'true'}\n", "include_dashboard: true"),
    ],
)
def test_a_certain_mend_is_an_edit(text: str, mended: str):
    (finding,) = of_job(text)
    whole = apply(JOB + text, finding.edits)
    assert mended in whole
    assert read_job(whole.encode(), "job.yml")[1] == ()


@pytest.mark.parametrize(
    "text",
    [
        "inputs: {flag: NO}\n",
        "inputs: {time: 1:30}\n",
        "inputs: {code: 010}\n",
        "inputs: {x: .nan}\n",
        "resources: {instance_count: 010}\n",
        "resources: {instance_count: 1:30}\n",
        "resources: {instance_count: 2.5}\n",
        "resources: {instance_count: 8.5e0}\n",
        "environment_variables: {X: }\n",
        "environment_variables: {X: [a]}\n",
        "type: no\n",
    ],
)
def test_where_only_the_author_knows_nothing_is_edited(text: str):
    (finding,) = of_job(text)
    assert finding.severity is Severity.ERROR
    assert finding.fix
    assert finding.edits == ()


@pytest.mark.parametrize(
    "text",
    [
        "distribution: {type: ray, include_dashboard: yes}\n",
        "tags: {lr: 1e-4, day: '2026-11-30'}\n",
        "environment_variables: {OMP: '010', X: 0o10, Y: v1}\n",
        "distribution: {type: PyTorch, process_count_per_instance: 8}\n",
        "identity: {type: UserIdentity}\n",
        "outputs: {a: , b: {}}\n",
        "inputs: {a: 1, b: true, c: text, d: {value: 0.5}, e: {path: azureml:x:1}}\n",
        "tags: {a: }\n",
        "resources: {docker_args: [--ipc=host], properties: {a: {b: 1}}}\n",
    ],
)
def test_what_is_right_stays_silent(text: str):
    assert of_job(text) == ()


def test_a_number_read_as_text_is_a_warning_where_inputs_take_both():
    job, findings = read_job((JOB + "inputs: {lr: 1e-4}\n").encode(), "job.yml")
    assert job is not None
    assert job.inputs["lr"].value == "1e-4"
    assert [it.severity for it in findings] == [Severity.WARNING]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("approved: true\n", "`approved` is not a key of an admission."),
        ("expires: 2027-03-31T00:00:00Z\n", "is a point in time, and a day belongs here."),
        ("expires: '2027-02-31'\n", "`2027-02-31` is no day of the calendar."),
        ("expires: 2027-02-31\n", "YAML reads `2027-02-31` as nothing that exists."),
        ("expires: soon\n", "`soon` is no day of the calendar."),
        ("model: {name: m, existing: 1}\n", "`existing` must be true or false"),
        ("evidence: {run: r, size: s, hours: 1e2}\n", "YAML reads `1e2` as text"),
        ("evidence: {run: r, size: s, hours: .nan}\n", "YAML reads `.nan` as the number nan."),
        ("evidence: {run: r, size: s, hours: 0}\n", "`hours` is 0; it must be above 0."),
        ("waivers: [{target: gpu}]\n", "`rule` is missing in `waivers[0]`."),
    ],
)
def test_admissions(text: str, told: str):
    (finding,) = of_admission(text)
    assert told in finding.message
    assert finding.location.line == 6


@pytest.mark.parametrize("day", ["2027-03-31", '"2027-03-31"'])
def test_a_day_may_be_quoted(day: str):
    admission, findings = read_admission(
        f"---\n{ADMISSION}expires: {day}\nwaivers: [{{rule: x, expires: {day}}}]\n---\n".encode(),
        "a.md",
    )
    assert findings == ()
    assert admission is not None
    assert str(admission.expires) == str(admission.waivers[0].expires) == "2027-03-31"


def test_a_team_without_quotes_is_told_what_to_write():
    data = f"---\n{ADMISSION}---\n".replace('"@contoso/vision"', "@contoso/vision").encode()
    _, (finding,) = read_admission(data, "a.md")
    assert finding.location.line == 3
    assert finding.fix is not None
    assert "quote a value that begins with `@`" in finding.fix


def test_platform():
    text = b"targets:\n  gpu: {size: S, max_node: 2}\n  'a b': {size: S, max_nodes: 1}\n"
    _, findings = read_platform(text)
    assert [(it.location.line, it.message) for it in findings] == [
        (2, "`max_nodes` is missing in `gpu`."),
        (2, "`max_node` is not a key of `gpu`."),
        (3, "`a b` cannot be a name under `targets`."),
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('model: {name: "probe\\n"}\n', "`model.name` cannot be `probe·`."),
        ("model: {name: models:/probe}\n", "`model.name` cannot be"),
        ('model: {name: "probe "}\n', "`model.name` cannot be"),
        ("model: {name: \u0440robe}\n", "`model.name` cannot be"),
        ('evidence: {run: " ", size: s}\n', "`run` cannot be"),
    ],
)
def test_names_that_only_look_right_are_refused(text: str, told: str):
    (finding,) = of_admission(text)
    assert told in finding.message


def test_the_end_of_a_pattern_is_the_end_of_the_text():
    (finding,) = of_job('distribution: {type: "pytorch\\n"}\n')
    assert "`distribution.type` cannot be" in finding.message
