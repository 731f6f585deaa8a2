"""The five steps in order: read, check, plan, submit, observe. Nothing else happens here."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from traingate.documents.reading import Reading, read_each, read_requests
from traingate.findings import Finding
from traingate.rules import judge, judge_context

if TYPE_CHECKING:  # `check` ends before a plan is made, and is what people wait for.
    from traingate.backends.base import Backend, Observation, Provenance, Submission
    from traingate.documents.request import Request
    from traingate.plan import Plan

__all__ = ["check", "check_each", "observe", "plan", "read", "read_each", "submit"]

read = read_requests


def check(reading: Reading) -> tuple[Finding, ...]:
    """Every finding of the requests: what could not be read, then what the rules say."""
    return check_each((reading,))


def check_each(readings: Iterable[Reading]) -> tuple[Finding, ...]:
    """The findings of several readings in one context, of which only one is held at a time."""
    found: list[Finding] = []
    for number, reading in enumerate(readings):
        if number == 0:
            found += judge_context(reading.context)
        found += reading.findings
        for request in reading.requests:
            found += judge(request)
    return tuple(sorted(found, key=lambda finding: finding.location))


def plan(request: "Request") -> "Plan":
    """Derive the plan of a request that was understood."""
    from traingate.plan import plan as plan_of  # noqa: PLC0415 (not for `check`)

    return plan_of(request)


def submit(backend: "Backend", planned: "Plan", provenance: "Provenance") -> "Submission":
    """Make the planned run exist on `backend`, once."""
    return backend.submit(planned, provenance)


def observe(backend: "Backend", run_name: str) -> "Observation":
    """What `backend` knows of the run now."""
    return backend.observe(run_name)
