"""The gate card as people read it, and the annotations beside it."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from github.fake.requests import OWNERS, request
from github.fake.stage import Stage
from traingate.findings import Finding, Location, Severity
from traingate.github.text import units
from traingate.loop.gate import Assessment, assess
from traingate.loop.submit import submit_push
from traingate.report.gate_card import gate_card

GOLDEN = Path(__file__).parent / "golden"
POINTER = "All of it: https://github.example/run/1"


def assessed(stage: Stage, files: dict[str, Any]) -> Assessment:
    pull = stage.open(files)
    (of,) = assess(stage.world(), pull.head, pull.number)
    return of


def golden(name: str, text: str) -> None:
    """Compare with the file; TRAINGATE_GOLDEN=write makes it anew, for a person to read."""
    path = GOLDEN / name
    if os.environ.get("TRAINGATE_GOLDEN") == "write":
        path.write_text(text)
    assert path.read_text() == text


def findings(count: int, message: str = "The key is not known.") -> tuple[Finding, ...]:
    return tuple(
        Finding(
            rule="TG106",
            name="launcher-in-command",
            severity=Severity.ERROR,
            location=Location(file="jobs/seg/job.yml", line=line + 1),
            message=message,
            fix="Remove it.",
        )
        for line in range(count)
    )


def test_a_new_request(stage: Stage) -> None:
    golden("gate-new.md", gate_card(assessed(stage, request()), pointer=POINTER))


def test_a_changed_request_with_runs_used(stage: Stage) -> None:
    _, push = stage.merged(request())
    submit_push(stage.world(), push)
    files = {"jobs/seg/job.yml": request(lr=0.5, timeout=7_200)["jobs/seg/job.yml"]}
    of = assessed(stage, files)
    assert len(of.used) == 1
    golden("gate-changed.md", gate_card(of, pointer=POINTER, rehearsed="ok | `2` processes"))


def test_a_request_with_errors(stage: Stage) -> None:
    files = request()
    files["jobs/seg/job.yml"] = files["jobs/seg/job.yml"].replace(":gpu-cluster", ":nowhere")
    golden("gate-errors.md", gate_card(assessed(stage, files), pointer=POINTER))


def test_a_removed_request(stage: Stage) -> None:
    stage.merged(request())
    of = assessed(stage, dict.fromkeys(request()))
    golden("gate-removed.md", gate_card(of, pointer=POINTER))


def test_an_exhausted_admission_says_so_before_the_merge(stage: Stage) -> None:
    _, push = stage.merged(request(runs=1))
    submit_push(stage.world(), push)
    of = assessed(stage, {"jobs/seg/job.yml": request(lr=0.5)["jobs/seg/job.yml"]})
    card = gate_card(of, pointer=POINTER)
    assert "0 of 1" in card
    assert "A merge would submit nothing: the admission's 1 runs are used up." in card


def test_owners_are_the_base_s(stage: Stage) -> None:
    of = assessed(stage, request() | {".github/CODEOWNERS": "* @mallory\n"})
    card = gate_card(of, pointer=POINTER)
    assert "`@olga` or `@otto`" in card
    assert "mallory" not in card
    assert "Make it two pull requests" in card
    assert not of.is_ready


def test_nobody_owns_it(stage: Stage) -> None:
    stage.merged({".github/CODEOWNERS": OWNERS.replace("/jobs/ @olga @otto", "/jobs/")})
    assert "nobody: add an owner" in gate_card(assessed(stage, request()), pointer=POINTER)


def test_three_thousand_findings_are_folded_and_cut(stage: Stage) -> None:
    of = replace(assessed(stage, request()), plan=None, findings=findings(3_000))
    card = gate_card(of, pointer=POINTER)
    assert units(card) <= 65_536
    assert "3000 errors" in card
    assert "3,000 findings" in card
    assert "**Who must approve**" in card
    assert card.rstrip().endswith(f"{POINTER}_")
    assert card.count("<details>") == card.count("</details>") == 1


def test_hostile_findings_stay_text(stage: Stage) -> None:
    hostile = "@lead </details> <!-- traingate:run x {} --> | `` \u202e \x1b[31m ::error::x"
    of = replace(assessed(stage, request()), findings=findings(1, hostile))
    card = gate_card(of, pointer=POINTER)
    assert "@lead" not in card
    assert "</details>" not in card
    assert card.count("<!--") == 1
    assert "\u202e" not in card


def test_a_symbolic_link_is_a_finding_and_is_not_read(stage: Stage) -> None:
    pull = stage.open(request())
    stage.git("checkout", "--quiet", f"pr-{pull.number}")
    (stage.path / "admissions/other.md").symlink_to("/proc/self/environ")
    head = stage.commit("link")
    found = assess(stage.world(), head, pull.number)
    assert ["symbolic link" in str(one.findings) for one in found] == [True, True]
    assert all(one.request is None for one in found)
