"""`traingate rehearse WORKLOAD`."""

import sys
from pathlib import Path

import click

from traingate import pipeline
from traingate.commands import world
from traingate.documents.reading import read_rehearsal
from traingate.documents.rehearsal import Rehearsal, default_rehearsal


@click.command("rehearse")
@click.argument("workload")
@click.option("--preempt", is_flag=True, help="Kill all ranks in the middle, and resume.")
def command(workload: str, *, preempt: bool) -> None:
    """Run a request's own command on this machine, scaled down, on throw-away stores.

    jobs/WORKLOAD/rehearsal.yml says how far down. The result is one line; it proves nothing to the
    gate.
    """
    from traingate.rehearsal.rehearse import rehearse  # noqa: PLC0415 - not for `--help`

    request = world.clean_request(workload, but_for=world.UNFINISHED)
    top = world.repository()
    rehearsed = rehearse(
        pipeline.plan(request),
        request,
        _rehearsal(top, f"{request.folder}/rehearsal.yml"),
        top=top,
        out=sys.stdout,
        preempt=preempt,
    )
    click.echo(str(rehearsed))


def _rehearsal(top: Path, file: str) -> Rehearsal:
    path = top / file
    if not path.is_file():
        return default_rehearsal()
    read, findings = read_rehearsal(path.read_bytes(), file)
    if read is None:
        raise world.Refused(findings)
    return read
