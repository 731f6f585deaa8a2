"""TG420 to TG422: waivers, and the one place where they and the severities take effect."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from traingate.documents.admission import Waiver
from traingate.documents.request import Request
from traingate.findings import Finding, Severity
from traingate.rules.order import REQUEST_RULES
from traingate.rules.rule import AnyRule, Broken, Rule, rule

_WEIGHT = {Severity.NOTE: 0, Severity.WARNING: 1, Severity.ERROR: 2}


@rule("TG420", "waiver-incomplete", Severity.ERROR, binding=True)
def waiver_incomplete(request: Request) -> Iterator[Broken]:
    """A waiver names a rule and a target, has a reason, and ends.

    What it does: checks each waiver for a rule that exists, a target of the platform, a reason
    and an expiry that lies ahead.

    Why it is bad: a waiver without a reason cannot be reviewed, one without an end is a rule
    switched off, and one with a typo waives nothing.

    Example: `waivers: [{rule: ethernet-between-nodes}]`.

    Fix: `{rule: ..., target: ..., reason: "...", expires: 2027-01-31}`.

    Source: this repository's form of an admission.
    """
    admission = request.admission
    if admission is None:
        return
    for index, waiver in enumerate(admission.waivers):
        problem = _problem(waiver, request)
        if problem is not None:
            key, message, fix = problem
            yield Broken(at=admission.document.at("waivers", index, key), message=message, fix=fix)


@rule("TG421", "waiver-of-a-binding-rule", Severity.ERROR, binding=True)
def waiver_of_a_binding_rule(request: Request) -> Iterator[Broken]:
    """Some rules cannot be waived.

    What it does: refuses waivers of the rules about envelope, expiry, need, secrets, paths, image
    digest, identity and model ownership.

    Why it is bad: these are what the admission is. Setting one aside for a reason would set the
    review itself aside.

    Example: `{rule: outside-envelope, target: gpu-cluster, ...}`.

    Fix: change the envelope, the date or the job.

    Source: this repository's design, "waiver".
    """
    admission = request.admission
    if admission is None:
        return
    for index, waiver in enumerate(admission.waivers):
        named = _named(waiver.rule)
        if named is not None and named.binding:
            yield Broken(
                at=admission.document.at("waivers", index, "rule"),
                message=f"{named.name} cannot be waived.",
                fix="Mend what it says.",
            )


@rule("TG422", "unused-waiver", Severity.WARNING)
def unused_waiver(request: Request) -> Iterator[Broken]:
    """A waiver sets something aside.

    What it does: warns of a waiver whose rule finds nothing on its target, or whose target the
    envelope does not list. A target the job does not use at the moment is not judged.

    Why it is bad: it would silently cover the next mistake of that kind.

    Example: a waiver of ethernet-between-nodes for a job on one node.

    Fix: delete it.

    Source: this repository's form of an admission.
    """
    admission, job = request.admission, request.job
    if admission is None or job is None:
        return
    for index, waiver in enumerate(admission.waivers):
        named = _named(waiver.rule)
        if named is None or named.binding or _problem(waiver, request) is not None:
            continue
        used = waiver.target in admission.envelope.targets and named is not unused_waiver
        if used and _applies(waiver, request):
            used = any(True for _ in named.findings(request))
        if not used:
            yield Broken(
                at=admission.document.at("waivers", index),
                message=f"The waiver of {named.name} sets nothing aside.",
                fix="Delete it.",
            )


def settle(findings: Iterable[Finding], request: Request) -> tuple[Finding, ...]:
    """What is left of the rules' findings once waivers and the platform's severities are applied.

    A binding rule's findings pass unchanged, or heavier where the platform wants that.
    """
    return tuple(
        _weighed(finding, request) for finding in findings if not _is_waived(finding, request)
    )


def weigh(finding: Finding, broken_rule: AnyRule, asked: str | None) -> Finding:
    """`finding` with the platform's severity for its rule.

    A place that weighs less than its rule usually does stays at least as light. Nothing makes a
    binding rule lighter.
    """
    if asked not in set(Severity):
        return finding
    wanted, usual = Severity(asked), broken_rule.severity
    if _WEIGHT[wanted] > _WEIGHT[usual]:
        return replace(finding, severity=wanted) if finding.severity is usual else finding
    if broken_rule.binding or _WEIGHT[finding.severity] <= _WEIGHT[wanted]:
        return finding
    return replace(finding, severity=wanted)


def _weighed(finding: Finding, request: Request) -> Finding:
    known = _BY_ID.get(finding.rule)
    severities = request.context.platform.severities
    if known is None:
        return finding
    return weigh(finding, known, severities.get(known.id, severities.get(known.name)))


def _is_waived(finding: Finding, request: Request) -> bool:
    admission = request.admission
    known = _BY_ID.get(finding.rule)
    if admission is None or known is None or known.binding or known in WAIVER_RULES:
        return False
    return any(
        _named(waiver.rule) is known
        and _applies(waiver, request)
        and _problem(waiver, request) is None
        for waiver in admission.waivers
    )


def _applies(waiver: Waiver, request: Request) -> bool:
    return request.job is not None and waiver.target == (request.job.compute or "serverless")


def _problem(waiver: Waiver, request: Request) -> tuple[str, str, str] | None:
    """The first thing that makes a waiver void: the key it concerns, what is wrong, what to do."""
    return next(_problems(waiver, request), None)


def _problems(waiver: Waiver, request: Request) -> Iterator[tuple[str, str, str]]:
    today, name = request.context.today, waiver.rule
    if _named(name) is None:
        yield "rule", f"There is no rule `{name}` to waive.", "Write the rule's name or id."
    if not waiver.target:
        yield "rule", f"The waiver of {name} names no target.", "Add `target: ...`."
    elif waiver.target not in request.context.platform.targets:
        yield "target", f"The platform offers no target `{waiver.target}`.", "Correct the name."
    if not (waiver.reason or "").strip():
        yield "rule", f"The waiver of {name} gives no reason.", "Add `reason: ...`."
    if waiver.expires is None:
        yield "rule", f"The waiver of {name} never ends.", "Add `expires: <day>`."
    elif waiver.expires < today:
        yield "expires", f"The waiver ended on {waiver.expires}; today is {today}.", "Renew it."


WAIVER_RULES: tuple[Rule, ...] = (waiver_incomplete, waiver_of_a_binding_rule, unused_waiver)
_BY_ID: dict[str, Rule] = {one.id: one for one in (*REQUEST_RULES, *WAIVER_RULES)}
_BY_NAME = _BY_ID | {one.name: one for one in _BY_ID.values()}


def _named(name: str) -> Rule | None:
    return _BY_NAME.get(name)
