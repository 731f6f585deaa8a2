"""Symbolic links in a commit, found before anything of it is read."""

from traingate.findings import Finding, Location, Severity
from traingate.loop.history import History, paths_of


def link_findings(history: History, commit: str, workload: str) -> tuple[Finding, ...]:
    """Symbolic links where files are read: what they point to is the runner's, not the request's.

    A link below another workload counts too, because all admissions are read together.
    """
    return tuple(
        Finding(
            rule="TG001",
            name="unreadable-file",
            severity=Severity.ERROR,
            location=Location(file=path),
            message="This is a symbolic link, and none is followed.",
            fix="Commit the file itself.",
        )
        for path in history.links(
            commit, "platform.yml", "admissions", "infra", *paths_of(workload)
        )
    )
