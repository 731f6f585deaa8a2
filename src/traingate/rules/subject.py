"""What most rules ask of a request: its job, where it would run, and on what."""

from dataclasses import dataclass

from traingate.catalog import Size, size_named
from traingate.documents.job import Job
from traingate.documents.platform import Target
from traingate.documents.request import Request
from traingate.rules.command import read_command
from traingate.topology import Topology, size_name, topology


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """A readable job with its place. `size` is None for one the catalogue does not know."""

    job: Job
    target: Target | None
    topology: Topology
    size: Size | None

    @property
    def nodes(self) -> int:
        return self.topology.nodes

    @property
    def kind(self) -> str | None:
        """The distribution's type: pytorch, tensorflow, mpi, ray or None."""
        return self.topology.distribution

    @property
    def processes(self) -> int | None:
        """`process_count_per_instance` as written."""
        distribution = self.job.distribution
        return distribution.process_count_per_instance if distribution else None


def subject(request: Request) -> Subject | None:
    """The request's subject, or None while its job cannot be read."""
    if request.job is None:
        return None
    name = size_name(request.job, request.target)
    return Subject(
        job=request.job,
        target=request.target,
        topology=topology(request.job, request.target),
        size=size_named(name) if name else None,
    )


def launchers(request: Request) -> tuple[tuple[str, str], ...]:
    """The launchers the command starts, in it or in shell scripts of the request that it runs.

    Each with the file it stands in: the job's, or the script's.
    """
    if request.job is None:
        return ()
    folder = request.path(request.job.code or ".")
    texts = {request.job.file: request.job.command}
    found: list[tuple[str, str]] = []
    for file in (reading := list(texts)):
        line = read_command(texts[file])
        found += [(file, name) for name in dict.fromkeys(line.launchers)]
        for script in (f"{folder}/{name}" for name in line.shell_scripts):
            if script in request.sources and script not in texts:
                texts[script] = request.sources[script]
                reading.append(script)
    return tuple(found)


def plural(count: int, noun: str) -> str:
    """`1 node`, `2 nodes`; `process` becomes `processes`."""
    if count == 1:
        return f"1 {noun}"
    return f"{count} {noun}{'es' if noun.endswith('s') else 's'}"
