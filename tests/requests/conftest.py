"""Requests built in memory: a sound base, changed where a case says."""

import copy
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from traingate.documents.admission import Admission
from traingate.documents.reading import read_admission, read_job, read_platform
from traingate.documents.request import Blob, Context, Request, Tree
from traingate.documents.sources import evidence_file
from traingate.findings import Finding
from traingate.rules import judge, judge_context

WORKLOAD = "segmentation-ddp"
TODAY = date(2026, 11, 30)
BASE = yaml.safe_load((Path(__file__).parent / "base.yml").read_text(encoding="utf-8"))
PROSE = "\n".join(
    f"\n## {heading}\n\nIt is so.\n"
    for heading in ("Why one node is not enough", "What was measured", "What was tried first")
)

Case = Mapping[str, Any]


@pytest.fixture
def build() -> Callable[[Case], Request]:
    """Build a request from a case's changes; see `base.yml` for what is changed."""
    return built


@pytest.fixture
def text_at() -> Callable[[Request, Finding], str]:
    """The text a finding points at, up to the end of its line."""
    return pointed_at


@pytest.fixture
def findings() -> Callable[[Case], tuple[Finding, ...]]:
    """Every finding of a case."""

    def judged(case: Case) -> tuple[Finding, ...]:
        request = built(case)
        return judge_context(request.context) + judge(request)

    return judged


def built(case: Case) -> Request:
    """The request of a case: its changes are dotted paths and new values, null deletes."""
    workload = case.get("workload", WORKLOAD)
    job = None
    if case.get("job", {}) is not None:
        job = _typed(read_job, _yaml(BASE["job"], case.get("job")), f"jobs/{workload}/job.yml")
    policy = _typed(read_platform, _yaml(BASE["platform"], case.get("platform")), "platform.yml")
    admission = None
    if case.get("admission", {}) is not None:
        front = _yaml(BASE["admission"], case.get("admission"))
        text = f"---\n{front}---\n{case.get('prose', PROSE)}"
        admission = _typed(read_admission, text, f"admissions/{workload}.md")
    sources = {f"jobs/{workload}/job.yml": "", **BASE["files"]}
    # Whatever the case admits was measured so, unless the case brings a file of its own.
    sources[evidence_file(workload)] = _measured(admission)
    sources |= case.get("files", {})
    others = tuple(_other(other) for other in case.get("others", ()))
    context = Context(
        repository="contoso/training",
        today=TODAY,
        platform=policy,
        tree=Tree(blobs={path: _blob(text) for path, text in sources.items() if text is not None}),
        admissions=(*others, *((admission,) if admission else ())),
        terraform=case.get("terraform", {}),
        runs_used={workload: case.get("runs_used", 0)},
    )
    return Request(
        workload=workload,
        job=job,
        admission=admission,
        context=context,
        sources={path: text for path, text in sources.items() if text is not None},
    )


def _measured(admission: Admission | None) -> str | None:
    if admission is None or admission.evidence is None:
        return None
    return json.dumps({"evidence": asdict(admission.evidence)})


def pointed_at(request: Request, finding: Finding) -> str:
    documents = [it.document for it in (request.job, request.admission) if it]
    texts = {**request.sources, **request.context.terraform}
    texts |= {one.file: one.text for one in (*documents, request.context.platform.document)}
    line = texts[finding.location.file].split("\n")[finding.location.line - 1]
    return line[finding.location.column - 1 :]


def _other(changes: Mapping[str, Any]) -> Any:
    text = f"---\n{_yaml(BASE['admission'], changes)}---\n{PROSE}"
    return _typed(read_admission, text, f"admissions/{changes['workload']}.md")


def _typed(read: Callable[..., Any], text: str, file: str) -> Any:
    typed, problems = read(text.encode(), file)
    assert typed is not None, problems
    return typed


def _yaml(base: dict[str, Any], changes: Mapping[str, Any] | None) -> str:
    document = copy.deepcopy(base)
    for path, value in (changes or {}).items():
        *parents, last = path.split(".")
        place = document
        for parent in parents:
            place = place.setdefault(parent, {})
        if value is None:
            place.pop(last, None)
        else:
            place[last] = value
    return yaml.safe_dump(document, sort_keys=False, width=1000)


def _blob(text: str) -> Blob:
    mode = {"-> ": "120000", "=> ": "160000"}.get(text[:3], "100644")
    return Blob(mode=mode, object_id=hashlib.sha256(text.encode()).hexdigest())
