"""The gate card: what one changed request would run, why it may not, and who decides."""

from collections.abc import Iterator
from typing import Any

from traingate.findings import Finding, Severity
from traingate.github.body import LIMIT, Section, compose
from traingate.github.markers import Marker
from traingate.github.text import cell, code, prose
from traingate.loop.gate import Assessment
from traingate.plan import Plan
from traingate.report import words
from traingate.report.markdown import table

#: More findings than this are folded.
_FEW = 5
_LONGEST_REHEARSAL = 200


def gate_marker(workload: str) -> Marker:
    return Marker(kind="gate", key=workload)


def gate_card(
    of: Assessment, *, pointer: str, rehearsed: str | None = None, limit: int = LIMIT
) -> str:
    """The comment about one request.

    Args:
        of: the request as assessed.
        pointer: where the whole text stands.
        rehearsed: one line from the job that executes the pull request's own code, untrusted.
        limit: characters allowed.
    """
    sections = [section for section in _sections(of, rehearsed) if section is not None]
    return compose(str(gate_marker(of.workload)), sections, pointer=pointer, limit=limit)


def unchanged_card(workload: str) -> str:
    """The card of a request that the pull request no longer changes."""
    return (
        f"{gate_marker(workload)}\n### {code(workload)} is no longer changed\n\n"
        "A merge would submit nothing for it.\n"
    )


def _sections(of: Assessment, rehearsed: str | None) -> Iterator[Section | None]:
    yield Section(head=f"### {_verdict(of)}")
    if of.deciding:
        names = ", ".join(map(code, of.deciding[:5]))
        yield Section(
            head=f"The pull request also changes {names}, which decides about requests. "
            "**Make it two pull requests**: first that change, then the request."
        )
    yield _findings(of.findings)
    if of.plan is not None:
        yield Section(head=table(_facts(of, of.plan)))
        yield _difference(of.plan, of.base_plan)
    if rehearsed:
        line = code(rehearsed, _LONGEST_REHEARSAL)
        yield Section(head=f"Rehearsal, as reported by the pull request's own code: {line}")
    if not of.is_removed:
        yield _approvers(of)
    yield Section(head=_consequence(of))


def _verdict(of: Assessment) -> str:
    name = code(of.workload)
    if of.is_removed:
        return f"🗑️ {name} is removed"
    errors = sum(one.severity is Severity.ERROR for one in of.findings)
    if errors:
        return f"❌ {name} may not run: {errors} error{'s' if errors > 1 else ''}"
    if of.deciding:
        return f"❌ {name} may not run from this pull request"
    return f"✅ {name} may run once it is approved"


def _findings(findings: tuple[Finding, ...]) -> Section | None:
    if not findings:
        return None
    items = tuple(_finding(one) for one in findings)
    if len(items) <= _FEW:
        return Section(head="", items=items)
    summary = f"<details><summary>{len(items):,} findings</summary>\n"
    return Section(head=summary, items=items, tail="\n</details>")


def _finding(one: Finding) -> str:
    fix = f" {prose(one.fix, 500)}" if one.fix else ""
    where, rule = code(str(one.location)), f"{one.rule} {one.name}"
    return f"- **{one.severity}** {where}: {prose(one.message, 1_000)}{fix} {code(rule)}"


def _facts(of: Assessment, plan: Plan) -> Iterator[tuple[str, str]]:
    target = plan.target.name if plan.target else "-"
    yield "Topology", words.topology(plan.topology)
    yield "Target", f"{cell(target)}, {cell(plan.topology.size or 'size unknown')} nodes"
    yield "Cost ceiling", words.cost(plan.cost)
    if of.request is not None and of.request.admission is not None:
        envelope = of.request.admission.envelope
        left = max(envelope.runs - len(of.used), 0)
        yield "Envelope", words.envelope(envelope)
        yield "Runs left", f"{left} of {envelope.runs}"
        expires = of.request.admission.expires
        yield "Valid until", expires.isoformat() if expires else "no end (demonstration)"
    yield "Model", cell(f"models:/{plan.model.name}")
    yield "Digest", cell(plan.digest)


def _difference(plan: Plan, base: Plan | None) -> Section | None:
    if base is None:
        return Section(head="The base has no such request.")
    before, after = _flat(base), _flat(plan)
    keys = [key for key in sorted(before | after) if before.get(key) != after.get(key)]
    if not keys:
        return Section(head="What runs is the same as on the base.")
    rows = tuple(
        f"| {cell(key)} | {cell(before.get(key, '-'), 200)} | {cell(after.get(key, '-'), 200)} |"
        for key in keys
    )
    head = (
        f"<details><summary>{len(keys)} differences from the base</summary>\n\n"
        "| | base | now |\n|---|---|---|"
    )
    return Section(head=head, items=rows, tail="\n</details>")


def _flat(plan: Plan) -> dict[str, str]:
    """Everything that makes a digest, by dotted key."""
    flat = {f"file {path}": blob.object_id[:12] for path, blob in plan.files.items()}
    flat["cost ceiling"] = f"${plan.cost.usd:,.2f}" if plan.cost else "unknown"
    flat["model"] = plan.model.name
    todo: list[tuple[str, Any]] = [("", plan.payload)]
    while todo:
        key, value = todo.pop()
        if isinstance(value, dict):
            todo += [(f"{key}.{name}".lstrip("."), inner) for name, inner in value.items()]
        else:
            flat[key] = str(value)
    return flat


def _approvers(of: Assessment) -> Section:
    groups: dict[tuple[str, ...], list[str]] = {}
    for path, owners in of.owners.items():
        groups.setdefault(owners, []).append(path)
    items = tuple(
        f"- {' or '.join(map(code, owners)) or '**nobody: add an owner to CODEOWNERS**'} for "
        + ", ".join(map(code, paths[:10]))
        + (f" and {len(paths) - 10} more" if len(paths) > 10 else "")  # noqa: PLR2004 - as above
        for owners, paths in groups.items()
    )
    head = (
        "**Who must approve** (one person who owns all of it, not the author, nobody who pushed "
        "to the branch; by CODEOWNERS of the base):"
    )
    return Section(head=head, items=items)


def _consequence(of: Assessment) -> str:
    if of.is_removed:
        return "A merge submits nothing, and ends the admission."
    if of.plan is None or not of.is_ready:
        return "A merge would submit nothing."
    if of.request is not None and of.request.admission is not None:
        runs = of.request.admission.envelope.runs
        if len(of.used) >= runs:
            return f"A merge would submit nothing: the admission's {runs} runs are used up."
    name = code(of.plan.run_name(f"p{of.number}")) if of.number else "its run"
    return (
        f"**A merge submits {name}** to {_where(of, of.plan)}, and the model's URI comes back here."
    )


def _where(of: Assessment, plan: Plan) -> str:
    request = of.request
    if request is not None and request.context.platform.backend == "local":
        return "this repository's own runner, which costs nothing"
    target = code(plan.target.name) if plan.target else "its target"
    return f"target {target}, at most {_usd(plan)}"


def _usd(plan: Plan) -> str:
    return f"${plan.cost.usd:,.2f}" if plan.cost else "an unknown cost"
