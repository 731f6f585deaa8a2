"""TG501 to TG503: the platform's own files, judged once whatever is checked."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from traingate.documents.admission import Admission
from traingate.documents.request import Context, Request
from traingate.findings import Location, Severity
from traingate.rules.order import ADMISSION_RULES, REQUEST_RULES
from traingate.rules.rule import AnyRule, Broken, ContextRule, context_rule
from traingate.rules.waivers import WAIVER_RULES, waiver_incomplete, waiver_of_a_binding_rule

if TYPE_CHECKING:
    from traingate.documents.terraform import ModuleCall

_MODULE = "aml"


@context_rule("TG501", "contradictory-target", Severity.ERROR)
def contradictory_target(context: Context) -> Iterator[Broken]:
    """The platform's targets do not contradict each other or themselves.

    What it does: refuses a target whose `min_nodes` is above its `max_nodes`, and two targets
    whose names differ in letter case only.

    Why it is bad: the first admits no job anybody could run; of the second, Azure ML knows one,
    and which of the two sets of rules holds would depend on the spelling.

    Example: `GPU-cluster` and `gpu-cluster`, of different sizes.

    Fix: correct the numbers; delete one of the two.

    Source: Azure resource names ignore case; Azure ML, "Create compute clusters".
    """
    document = context.platform.document
    spellings: dict[str, list[str]] = defaultdict(list)
    for name, target in context.platform.targets.items():
        spellings[name.lower()].append(name)
        if target.min_nodes > target.max_nodes:
            yield Broken(
                at=document.at("targets", name, "min_nodes"),
                message=f"Target {name} has at least {target.min_nodes} nodes and at most "
                f"{target.max_nodes}.",
                fix="Correct `min_nodes` or `max_nodes`.",
            )
    for names in spellings.values():
        for name in names[1:]:
            yield Broken(
                at=document.key("targets", name),
                message=f"Targets {names[0]} and {name} are one compute to Azure.",
                fix="Delete one of them.",
            )


@context_rule("TG502", "module-before-admission", Severity.ERROR)
def module_before_admission(context: Context) -> Iterator[Broken]:
    """The platform is deployed only while somebody is admitted to it.

    What it does: where the root Terraform configuration calls the `aml` module, looks for an
    admission that is valid: unexpired, without a finding of its own, with a job beside it, and
    no demonstration.

    Why it is bad: a workspace and a cluster that nobody may use cost money, hold quota, and are
    a standing invitation to use them without a reason.

    Example: `module "aml" { source = "./modules/aml" }` and only `need: demonstration`.

    Fix: put the call and the first admission in one pull request; remove the call with the last.

    Source: this repository's purpose: the exception is built when it is admitted.
    """
    calls = [
        (file, call)
        for file, text in sorted(context.terraform.items())
        for call in _calls(file, text)
        if _is_module(call)
    ]
    if not calls or any(is_valid(one, context) for one in context.admissions):
        return
    for file, call in calls:
        yield Broken(
            at=Location(file=file, line=call.line, column=call.column),
            message=f"`module.{call.name}` deploys the platform, and no admission is valid.",
            fix="Remove the call, or add it together with an admission.",
        )


@context_rule("TG503", "severity-not-allowed", Severity.ERROR)
def severity_not_allowed(context: Context) -> Iterator[Broken]:
    """The platform's severities name rules that may be changed.

    What it does: checks `severities` of platform.yml: each key is a rule's id or name, and a
    rule about envelope, expiry, need, secrets, paths, image digest, identity or model ownership
    is not made lighter.

    Why it is bad: a typo changes nothing and looks as if it did; and what cannot be waived with
    a reason must not be switched off without one.

    Example: `severities: {secret-in-request: note}`.

    Fix: delete the line.

    Source: this repository's design, "waiver".
    """
    every: tuple[AnyRule, ...] = (*REQUEST_RULES, *WAIVER_RULES, *CONTEXT_RULES)
    known = {one.id: one for one in every}
    known |= {one.name: one for one in known.values()}
    for name, asked in context.platform.severities.items():
        place = context.platform.document.at("severities", name)
        named = known.get(name)
        if named is None:
            yield Broken(
                at=place,
                message=f"There is no rule `{name}` to weigh.",
                fix="Write a rule's id or name.",
            )
        elif named.binding and asked != Severity.ERROR:
            yield Broken(
                at=place,
                message=f"{named.name} cannot be made lighter than an error.",
                fix="Delete the line.",
            )


CONTEXT_RULES: tuple[ContextRule, ...] = (
    contradictory_target,
    module_before_admission,
    severity_not_allowed,
)


def is_valid(admission: Admission, context: Context) -> bool:
    """Whether the admission is one to deploy for: clean by itself, dated, no demonstration."""
    if admission.need == "demonstration" or admission.expires is None:
        return False
    workload = PurePosixPath(admission.file).stem
    request = Request(workload=workload, job=None, admission=admission, context=context)
    if admission.workload != workload or request.job_file not in context.tree.blobs:
        return False
    rules = (*ADMISSION_RULES, waiver_incomplete, waiver_of_a_binding_rule)
    return not any(True for one in rules for _ in one.findings(request))


def _calls(file: str, text: str) -> "list[ModuleCall]":
    from traingate.documents.terraform import (  # noqa: PLC0415 (only where there is Terraform)
        module_calls,
        module_calls_json,
    )

    return module_calls_json(text) if file.endswith(".json") else module_calls(text)


def _is_module(call: "ModuleCall") -> bool:
    """Whether the call is of the platform's module, by its folder or, without one, its name."""
    if call.source is None:
        return call.name == _MODULE
    path = call.source.partition("?")[0].rstrip("/")
    return PurePosixPath(path).name == _MODULE
