"""The five steps in order: read, check, plan, submit, observe. Nothing else happens here."""

from traingate.backends.base import Backend, Observation, Provenance, Submission
from traingate.documents.reading import Reading, read_requests
from traingate.findings import Finding
from traingate.plan import Plan, plan
from traingate.rules import judge, judge_context

__all__ = ["check", "observe", "plan", "read", "submit"]

read = read_requests


def check(reading: Reading) -> tuple[Finding, ...]:
    """Every finding of the requests: what could not be read, then what the rules say."""
    told = tuple(judge_context(reading.context))
    told += tuple(finding for request in reading.requests for finding in judge(request))
    return tuple(sorted(reading.findings + told, key=lambda finding: finding.location))


def submit(backend: Backend, planned: Plan, provenance: Provenance) -> Submission:
    """Make the planned run exist on `backend`, once."""
    return backend.submit(planned, provenance)


def observe(backend: Backend, run_name: str) -> Observation:
    """What `backend` knows of the run now."""
    return backend.observe(run_name)
