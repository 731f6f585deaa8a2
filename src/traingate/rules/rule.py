"""A rule: a pure function from a request to the places where it is broken."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from traingate.documents.request import Context, Request
from traingate.findings import Edit, Finding, Location, Severity, readable


@dataclass(frozen=True, kw_only=True, slots=True)
class Broken:
    """One place where a rule is broken, before the rule's name is put on it.

    `severity` is given only where this place weighs less (or more) than the rule usually does.
    """

    at: Location
    message: str
    fix: str | None = None
    edits: tuple[Edit, ...] = ()
    severity: Severity | None = None


Check = Callable[[Request], Iterator[Broken]]
ContextCheck = Callable[[Context], Iterator[Broken]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """A rule's stable id (`TG106`), its name, its usual severity and its check.

    The check's docstring is the rule's page: what it does, why it is bad, an example, the fix,
    the source. A `binding` rule can be neither waived by an admission nor downgraded by the
    platform.
    """

    id: str
    name: str
    severity: Severity
    binding: bool = False
    check: Check

    @property
    def page(self) -> str:
        return inspect.cleandoc(self.check.__doc__ or "")

    def findings(self, request: Request) -> Iterator[Finding]:
        """The places where `request` breaks this rule."""
        for broken in self.check(request):
            yield found(self, broken)


@dataclass(frozen=True, kw_only=True, slots=True)
class ContextRule:
    """A rule about the repository as a whole, told once however many requests are checked."""

    id: str
    name: str
    severity: Severity
    binding: bool = True
    check: ContextCheck

    @property
    def page(self) -> str:
        return inspect.cleandoc(self.check.__doc__ or "")

    def findings(self, context: Context) -> Iterator[Finding]:
        """The places where the repository breaks this rule."""
        for broken in self.check(context):
            yield found(self, broken)


AnyRule = Rule | ContextRule


def rule(
    rule_id: str, name: str, severity: Severity, *, binding: bool = False
) -> Callable[[Check], Rule]:
    """Make a check a `Rule`: `@rule("TG106", "launcher-in-command", Severity.ERROR)`."""

    def decorate(check: Check) -> Rule:
        return Rule(id=rule_id, name=name, severity=severity, binding=binding, check=check)

    return decorate


def context_rule(
    rule_id: str, name: str, severity: Severity
) -> Callable[[ContextCheck], ContextRule]:
    """Make a check of the repository's context a `ContextRule`."""

    def decorate(check: ContextCheck) -> ContextRule:
        return ContextRule(id=rule_id, name=name, severity=severity, check=check)

    return decorate


def found(broken_rule: AnyRule, broken: Broken) -> Finding:
    """The finding of a broken rule at one place."""
    return Finding(
        rule=broken_rule.id,
        name=broken_rule.name,
        severity=broken.severity or broken_rule.severity,
        location=broken.at,
        message=readable(broken.message),
        fix=readable(broken.fix) if broken.fix else None,
        edits=broken.edits,
    )
