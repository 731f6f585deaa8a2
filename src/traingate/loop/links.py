"""What may not be read from a commit, found before anything of it is read."""

from traingate.findings import Finding, Location, Severity
from traingate.loop.history import History, paths_of

#: Such a name deceives who reads it, and ends the line where a list of names has one a line.
_UNPRINTABLE = "The file's name is not UTF-8 or has characters that nobody sees."


def link_findings(history: History, commit: str, workload: str) -> tuple[Finding, ...]:
    """Symbolic links where files are read: what they point to is the runner's, not the request's.

    A link below another workload counts too, because all admissions are read together.
    """
    links = history.links(commit, "platform.yml", "admissions", "infra", *paths_of(workload))
    names = [path for path in history.request_files(workload, commit) if not path.isprintable()]
    return (
        *(_finding(one, "This is a symbolic link, and none is followed.") for one in links),
        *(_finding(one, _UNPRINTABLE, "Rename it.") for one in names),
    )


def _finding(path: str, message: str, fix: str = "Commit the file itself.") -> Finding:
    return Finding(
        rule="TG001",
        name="unreadable-file",
        severity=Severity.ERROR,
        location=Location(file=path),
        message=message,
        fix=fix,
    )
