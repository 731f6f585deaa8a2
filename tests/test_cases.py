"""A folder is a case.

How to add one:

`tests/cases/{ok,bad}/<name>/` is laid over `tests/cases/_base/`, which is a clean request:
`job.yml`, `rehearsal.yml`, `evidence.json` and `src/` go to `jobs/segmentation-ddp/`,
`admission.md` to `admissions/segmentation-ddp.md`, `infra.tf` to `infra/main.tf`, anything else
to the same path.
A file `absent.txt` names, a line each, the base's files that the case does without. A case in
`bad` has `expected.txt`: the findings exactly as `report.text.entries` prints them, an error
among them. A case in `ok` has none, or one with notes and warnings only.

`tests/cases/{accept,refuse}/<name>/job.yml` are variations of `tests/cases/verdict_base/job.yml`,
a job file alone, which itself breaks rules; what counts is what a variation adds. `accept` adds
no error of another rule; `refuse` adds the errors in `expected.txt`.

`python tests/test_cases.py` writes every `expected.txt` anew; read the difference before you
commit it.
"""

import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from datetime import date
from pathlib import Path

import pytest

from traingate import pipeline
from traingate.documents.reading import read_requests
from traingate.findings import Finding, Severity
from traingate.fixes import mended
from traingate.report import text

CASES = Path(__file__).parent / "cases"
TODAY = date(2026, 11, 30)
WORKLOAD = "segmentation-ddp"
PLACES = {
    "job.yml": f"jobs/{WORKLOAD}/job.yml",
    "rehearsal.yml": f"jobs/{WORKLOAD}/rehearsal.yml",
    "evidence.json": f"jobs/{WORKLOAD}/evidence.json",
    "admission.md": f"admissions/{WORKLOAD}.md",
    "infra.tf": "infra/main.tf",
}
NOT_LAID = {"expected.txt", "absent.txt"}


def folders(*kinds: str) -> list[Path]:
    return sorted(path for kind in kinds for path in (CASES / kind).iterdir() if path.is_dir())


def name_of(folder: Path) -> str:
    return f"{folder.parent.name}/{folder.name}"


@pytest.mark.parametrize("folder", folders("ok", "bad"), ids=name_of)
def test_case(folder: Path, tmp_path: Path):
    findings = findings_of(tmp_path, CASES / "_base", folder)
    assert told(findings) == expected(folder)
    has_error = any(finding.severity is Severity.ERROR for finding in findings)
    assert has_error == (folder.parent.name == "bad")


def test_the_base_is_clean(tmp_path: Path):
    assert told(findings_of(tmp_path, CASES / "_base")) == ""


@pytest.mark.parametrize("folder", folders("accept", "refuse"), ids=name_of)
def test_verdict(folder: Path, tmp_path: Path):
    assert told(added_errors(tmp_path, folder)) == expected(folder)
    assert bool(expected(folder)) == (folder.parent.name == "refuse")


@pytest.mark.parametrize("folder", folders("ok", "bad", "accept", "refuse"), ids=name_of)
def test_mending_once_is_enough_and_leaves_fewer_findings(folder: Path, tmp_path: Path):
    is_variation = folder.parent.name in {"accept", "refuse"}
    before = findings_of(
        tmp_path, CASES / "_base", *([CASES / "verdict_base"] * is_variation), folder
    )

    def read(file: str) -> bytes:
        return (tmp_path / file).read_bytes()

    def find(texts: Mapping[str, bytes]) -> tuple[Finding, ...]:
        return pipeline.check(read_requests(tmp_path, (WORKLOAD,), TODAY, instead=texts))

    changed = mended(read, find)
    assert bool(changed) == any(finding.edits for finding in before)
    after = find(changed)
    assert not any(finding.edits for finding in after)
    assert len(after) < len(before) or not changed


def added_errors(tmp_path: Path, folder: Path) -> tuple[Finding, ...]:
    """The errors of rules that the unchanged verdict base does not break."""
    before = findings_of(tmp_path / "base", CASES / "_base", CASES / "verdict_base")
    after = findings_of(tmp_path / "case", CASES / "_base", CASES / "verdict_base", folder)
    known = {finding.rule for finding in before if finding.severity is Severity.ERROR}
    return tuple(f for f in after if f.severity is Severity.ERROR and f.rule not in known)


def findings_of(repository: Path, *layers: Path) -> tuple[Finding, ...]:
    """What the gate says of the request that the layers make, the later ones on top."""
    for layer in layers:
        lay(layer, repository)
    subprocess.run(["git", "init", "--quiet", str(repository)], check=True)
    return pipeline.check(pipeline.read(repository, (WORKLOAD,), TODAY))


def lay(layer: Path, repository: Path) -> None:
    for source in sorted(layer.rglob("*")):
        name = source.relative_to(layer).as_posix()
        if name in NOT_LAID or (source.is_dir() and not source.is_symlink()):
            continue
        target = repository / place(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        shutil.copy2(source, target, follow_symlinks=False)
    absent = layer / "absent.txt"
    for name in absent.read_text().split() if absent.is_file() else ():
        (repository / place(name)).unlink()


def place(name: str) -> str:
    return f"jobs/{WORKLOAD}/{name}" if name.startswith("src/") else PLACES.get(name, name)


def told(findings: tuple[Finding, ...]) -> str:
    return "".join(f"{line}\n" for line in text.entries(findings))


def expected(folder: Path) -> str:
    file = folder / "expected.txt"
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def rewrite() -> None:
    for folder in folders("ok", "bad", "refuse"):
        with tempfile.TemporaryDirectory() as temporary:
            if folder.parent.name == "refuse":
                now = told(added_errors(Path(temporary), folder))
            else:
                now = told(findings_of(Path(temporary), CASES / "_base", folder))
        if now != expected(folder):
            print(f"changed: {name_of(folder)}")  # noqa: T201 (a script when run by hand)
            (folder / "expected.txt").write_text(now, encoding="utf-8")


if __name__ == "__main__":
    rewrite()
