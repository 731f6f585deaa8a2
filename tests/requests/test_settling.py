"""Waivers and severities: applied once, and never to what is binding."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from traingate.documents.reading import read_job
from traingate.documents.request import Request
from traingate.findings import Finding, Severity
from traingate.rules import RULES, judge, judge_context

Case = Mapping[str, Any]
Findings = Callable[[Case], tuple[Finding, ...]]

ETHERNET = {"compute": "azureml:a100", "distribution.process_count_per_instance": 4}
WAIVER = {"rule": "TG203", "target": "a100", "reason": "Scales 1.9 of 2.", "expires": "2027-01-31"}

#: What DESIGN says can be neither waived nor downgraded, by the rules that say it.
BINDING = {
    "envelope": ["outside-envelope"],
    "expiry": ["expiry"],
    "need": ["no-evidence", "evidence-too-weak", "demonstration-on-azure"],
    "secrets": ["secret-in-request", "secret-not-granted"],
    "paths": ["path-outside-request", "symlink-in-request"],
    "image digest": ["image-not-pinned"],
    "identity": ["keyvault-without-identity", "key-not-allowed"],
    "model ownership": ["model-of-another"],
}


def _named(findings: tuple[Finding, ...], name: str) -> list[Finding]:
    return [finding for finding in findings if finding.name == name]


@pytest.mark.parametrize("names", BINDING.values(), ids=BINDING)
def test_what_the_design_binds_is_binding(names):
    by_name = {rule.name: rule for rule in RULES}
    assert all(by_name[name].binding for name in names)


def test_a_sound_waiver_sets_its_rule_aside_on_its_target(findings: Findings):
    assert _named(findings({"job": ETHERNET}), "ethernet-between-nodes")
    assert findings({"job": ETHERNET, "admission": {"waivers": [WAIVER]}}) == ()


@pytest.mark.parametrize(
    "change",
    [
        {"target": "h100"},
        {"target": None},
        {"reason": "  "},
        {"reason": None},
        {"expires": None},
        {"expires": "2026-11-29"},
        {"rule": "TG207"},
    ],
)
def test_a_waiver_that_lacks_something_waives_nothing(findings: Findings, change):
    waiver = {key: value for key, value in (WAIVER | change).items() if value is not None}
    told = findings({"job": ETHERNET, "admission": {"waivers": [waiver]}})

    assert _named(told, "ethernet-between-nodes")


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.binding], ids=lambda it: it.name)
def test_no_binding_rule_can_be_made_lighter(findings: Findings, rule):
    told = findings({"platform": {"severities": {rule.name: "note"}}})

    assert _named(told, "severity-not-allowed")


def test_a_binding_finding_survives_waiver_and_severity(findings: Findings):
    told = findings(
        {
            "admission": {
                "envelope.nodes": 1,
                "waivers": [WAIVER | {"rule": "outside-envelope", "target": "h100"}],
            },
            "platform": {"severities": {"outside-envelope": "note"}},
        }
    )

    (finding,) = _named(told, "outside-envelope")
    assert finding.severity is Severity.ERROR


@pytest.mark.parametrize("key", ["TG203", "ethernet-between-nodes"])
def test_a_severity_holds_by_id_and_by_name(findings: Findings, key):
    told = findings({"job": ETHERNET, "platform": {"severities": {key: "warning"}}})

    (finding,) = _named(told, "ethernet-between-nodes")
    assert finding.severity is Severity.WARNING


def test_a_heavier_severity_leaves_the_lighter_places_light(findings: Findings):
    case = {"platform": {"targets.h100.size": "Standard_HC44rs", "severities": {"TG207": "error"}}}
    (retiring,) = _named(findings(case), "retired-size")
    case = {"job": {"inputs.lr": 1}, "platform": {"severities": {"TG024": "error"}}}
    (unused,) = _named(findings(case), "unused-declaration")

    assert retiring.severity is Severity.WARNING
    assert unused.severity is Severity.ERROR


SCALARS = st.one_of(
    st.integers(-3, 10**12),
    st.sampled_from(
        ["", "spot", "../..", "keyvault://x", "torchrun x", "${{inputs.x}}", "'", "serverless"]
    ),
    st.text("aB1 _-/:.@$'\"é✓#;&|", max_size=30),
)
PATHS = st.sampled_from(
    [
        *("command", "code", "compute", "name", "distribution", "distribution.type"),
        *("distribution.process_count_per_instance", "distribution.worker_count"),
        *("resources.instance_count", "resources.instance_type", "resources.shm_size"),
        *("limits.timeout", "environment.image", "environment.conda_file", "identity.type"),
        *("environment_variables.X", "environment_variables.API_KEY", "inputs.data.path"),
        *("inputs.x", "outputs.checkpoints.path", "queue_settings.job_tier"),
    ]
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.dictionaries(PATHS, st.one_of(st.none(), SCALARS), max_size=4))
def test_rules_never_raise_and_point_into_the_files(build: Callable[[Case], Request], changes):
    try:
        request = build({"job": changes})
    except (AssertionError, AttributeError, TypeError):
        return  # The change makes no readable job, or not even a mapping: not the rules' matter.
    documents = {it.document.file: it.document for it in (request.job, request.admission) if it}
    for finding in (*judge(request), *judge_context(request.context)):
        lines = documents[finding.location.file].text.split("\n")
        assert 1 <= finding.location.line <= len(lines)
        assert 1 <= finding.location.column <= len(lines[finding.location.line - 1]) + 1


def test_a_secret_behind_escapes_is_found(build: Callable[[Case], Request]):
    request = build({"job": {"tags": {"x": "a"}}})
    assert request.job is not None
    text = request.job.document.text.replace(
        "x: a", 'x: "ghp\\x5fabcdefghijklmnopqrstuvwxyz0123456789"'
    )
    job, _ = read_job(text.encode(), request.job.file)
    (finding,) = judge(replace(request, job=job))
    assert (finding.name, finding.severity) == ("secret-in-request", Severity.ERROR)
    assert "Behind its escapes" in finding.message
