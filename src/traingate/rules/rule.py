"""A rule: a pure function from a request to the places where it is broken."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from traingate.documents.request import Request
from traingate.findings import Edit, Finding, Location, Severity


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


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """A rule's stable id (`TG106`), its name, its usual severity and its check.

    The check's docstring is the rule's page: what it does, why it is bad, an example, the fix,
    the source.
    """

    id: str
    name: str
    severity: Severity
    check: Check

    @property
    def page(self) -> str:
        return inspect.cleandoc(self.check.__doc__ or "")

    def findings(self, request: Request) -> Iterator[Finding]:
        """The places where `request` breaks this rule."""
        for broken in self.check(request):
            yield Finding(
                rule=self.id,
                name=self.name,
                severity=broken.severity or self.severity,
                location=broken.at,
                message=broken.message,
                fix=broken.fix,
                edits=broken.edits,
            )


def rule(rule_id: str, name: str, severity: Severity) -> Callable[[Check], Rule]:
    """Make a check a `Rule`: `@rule("TG106", "launcher-in-command", Severity.ERROR)`."""

    def decorate(check: Check) -> Rule:
        return Rule(id=rule_id, name=name, severity=severity, check=check)

    return decorate
