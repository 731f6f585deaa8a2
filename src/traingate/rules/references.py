"""TG023 and TG024: what the command refers to is declared, and what is declared is used."""

import difflib
import re
from collections.abc import Iterator

from traingate.documents.job import Job
from traingate.documents.request import Request
from traingate.findings import Severity
from traingate.rules.places import within
from traingate.rules.rule import Broken, rule

#: Bounded, so that a megabyte of opening braces costs no more than a megabyte of text.
_REFERENCE = re.compile(
    r"\$\{\{\s{0,9}(?P<kind>[A-Za-z_]{1,30})\.(?P<name>[\w-]{1,255})[^}]{0,255}\}\}", re.ASCII
)
_BY_VARIABLE = re.compile(r"AZURE_ML_(?P<kind>INPUT|OUTPUT)_(?P<name>\w{1,255})", re.ASCII)
_MOST = 20
_KINDS = ("inputs", "outputs")


@rule("TG023", "undeclared-reference", Severity.ERROR)
def undeclared_reference(request: Request) -> Iterator[Broken]:
    """Every `${{inputs.x}}` and `${{outputs.x}}` of the command is declared.

    What it does: compares the command's references with `inputs` and `outputs`, letter case
    included, and refuses roots that do not exist (`${{input.x}}`).

    Why it is bad: Azure ML finds it only when the job is sent, after the code was uploaded and
    the environment registered.

    Example: `--lr ${{inputs.LR}}` where `inputs` has `lr`.

    Fix: declare it, or correct the spelling.

    Source: azure-ai-ml 1.35.2 raises "Inputs to job does not contain ..." in `_to_rest_object`.
    """
    job = request.job
    if job is None:
        return
    told: set[str] = set()
    for match in _REFERENCE.finditer(job.command):
        kind, name = match["kind"], match["name"]
        declared = _declared(job).get(kind)
        written = f"{kind}.{name}"
        if len(told) == _MOST:
            return
        if written in told or (declared is not None and name in declared):
            continue
        told.add(written)
        yield Broken(
            at=within(job.document, ("command",), match[0]),
            message=f"The command uses `${{{{{written}}}}}`, which the job does not declare.",
            fix=_advice(kind, name, job),
        )


@rule("TG024", "unused-declaration", Severity.WARNING)
def unused_declaration(request: Request) -> Iterator[Broken]:
    """Every declared input and output is used.

    What it does: looks for each declared name in the command's references, and in the command,
    the variables and the request's scripts by the variables Azure ML sets for it
    (`AZURE_ML_INPUT_x`, `AZURE_ML_OUTPUT_x`).

    Why it is bad: a value that never reaches the script is a run with other settings than the
    reviewer read.

    Example: `inputs: {lr: 0.1}` and a command without `${{inputs.lr}}`.

    Fix: pass it, or delete it.

    Source: azure-ai-ml 1.35.2 accepts unused inputs silently (tried).
    """
    job = request.job
    if job is None:
        return
    used = {(match["kind"], match["name"]) for match in _REFERENCE.finditer(_texts(job))}
    for text in (job.command, *request.sources.values()):
        used |= {(f"{it['kind'].lower()}s", it["name"]) for it in _BY_VARIABLE.finditer(text)}
    for kind, names in _declared(job).items():
        for name in names:
            if (kind, name) not in used and name != "default":
                yield Broken(
                    at=job.document.key(kind, name),
                    message=f"`{name}` is declared and never used.",
                    fix=f"Pass `${{{{{kind}.{name}}}}}` in the command, or delete it.",
                )


def _declared(job: Job) -> dict[str, tuple[str, ...]]:
    return {"inputs": tuple(job.inputs), "outputs": tuple(job.outputs)}


def _texts(job: Job) -> str:
    return "\n".join((job.command, *job.environment_variables.values()))


def _advice(kind: str, name: str, job: Job) -> str:
    if kind not in _KINDS:
        near = difflib.get_close_matches(kind, _KINDS, n=1)
        root = near[0] if near else "inputs"
        return f"Only `inputs` and `outputs` exist: write `${{{{{root}.{name}}}}}`."
    names = {one.lower(): one for one in _declared(job)[kind]}
    near = difflib.get_close_matches(name.lower(), names, n=1)
    if near:
        return f"Did you mean `{names[near[0]]}`?"
    return f"Declare `{name}` under `{kind}`."
