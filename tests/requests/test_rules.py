"""Each rule against its cases: a bad one it must find, a good one it must not."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from traingate.documents.request import Request
from traingate.findings import Finding, Severity
from traingate.rules import RULES, AnyRule, rule_named

Case = Mapping[str, Any]
Findings = Callable[[Case], tuple[Finding, ...]]
Build = Callable[[Case], Request]
TextAt = Callable[[Request, Finding], str]

TABLES = sorted((Path(__file__).parent / "cases").glob("*.yml"))
CASES: dict[str, Case] = {
    name: cases
    for table in TABLES
    for name, cases in yaml.safe_load(table.read_text(encoding="utf-8")).items()
}
PARTS = ("What it does: ", "Why it is bad: ", "Example: ", "Fix: ", "Source: ")


def _cases(kind: str) -> list[Any]:
    return [
        pytest.param(name, case, id=f"{name}-{index}")
        for name, cases in CASES.items()
        for index, case in enumerate(cases.get(kind, ()))
    ]


def test_base_request_is_clean(findings: Findings) -> None:
    assert findings({}) == ()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_rule_has_a_bad_case_an_ok_case_and_a_page(rule: AnyRule) -> None:
    assert CASES[rule.name]["bad"]
    assert CASES[rule.name]["ok"]
    for part in PARTS:
        assert f"\n\n{part}" in rule.page, f"{rule.name}'s page lacks {part!r}"


def test_cases_are_of_rules_that_exist() -> None:
    assert set(CASES) == {rule.name for rule in RULES}


def test_ids_and_names_are_unique_and_in_order() -> None:
    assert len({rule.id for rule in RULES}) == len({rule.name for rule in RULES}) == len(RULES)
    assert all(rule_named(rule.id.lower()) is rule_named(rule.name) is rule for rule in RULES)


@pytest.mark.parametrize(("name", "case"), _cases("bad"))
def test_bad_case_is_found_where_it_is(
    name: str, case: Case, findings: Findings, build: Build, text_at: TextAt
) -> None:
    found = [finding for finding in findings(case) if finding.name == name]

    assert found, f"{name} found nothing"
    finding = found[0]
    assert case.get("says", "") in finding.message
    assert finding.message.endswith((".", "?"))
    assert finding.fix is not None
    assert finding.severity == Severity(case.get("severity", rule_named(name).severity))
    if "at" in case:
        assert text_at(build(case), finding).startswith(case["at"])
    if "count" in case:
        assert len(found) == case["count"]


@pytest.mark.parametrize(("name", "case"), _cases("bad"))
def test_bad_case_has_no_other_error(name: str, case: Case, findings: Findings) -> None:
    """One cause is told once: only what the case lists under `also` may be found beside it."""
    others = {it.name for it in findings(case) if it.severity is Severity.ERROR} - {name}

    assert others == set(case.get("also", ()))


@pytest.mark.parametrize(("name", "case"), _cases("ok"))
def test_ok_case_is_not_found(name: str, case: Case, findings: Findings) -> None:
    assert [finding for finding in findings(case) if finding.name == name] == []


def test_a_message_stays_readable_whatever_the_file_says(findings: Findings) -> None:
    long = "x" * 5000
    job = {
        "code": f"https://{long}",
        "compute": f"azureml:{long}",
        "environment": {"image": long},
        "inputs.data": {"path": f"/{long}"},
        "outputs.checkpoints": {"path": f"/{long}"},
        "command": f"python {long}.py ${{{{inputs.{long[:200]}}}}}",
    }
    found = findings({"job": job})
    assert len(found) > 4
    assert all(len(it.message) <= 360 and it.message.endswith((".", "?")) for it in found)
    assert all(it.fix is not None and len(it.fix) <= 360 for it in found)
