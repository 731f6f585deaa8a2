"""`traingate image set`: pin the training image in job files."""

from pathlib import Path

import click

from traingate.commands import world
from traingate.image import ImageError, check_reference, find_image, set_image


def _reference(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    try:
        check_reference(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
    return value


def _job_files(top: Path, workloads: tuple[str, ...]) -> list[Path]:
    """The job files of the named workloads, or of all, from the repository's top."""
    if not workloads:
        return sorted(path.relative_to(top) for path in top.glob("jobs/*/job.yml"))
    paths = [Path("jobs") / workload / "job.yml" for workload in workloads]
    missing = [str(path) for path in paths if not (top / path).is_file()]
    if missing:
        raise click.BadParameter(
            f"there is no {', '.join(missing)}: name folders of jobs/", param_hint="WORKLOAD"
        )
    return paths


def _read(path: Path) -> str:
    # Bytes, because reading as text would change CRLF to LF and the diff would be the whole file.
    return path.read_bytes().decode("utf-8")


@click.group("image")
def command() -> None:
    """The training image that jobs run in."""


@command.command("set", short_help="Write an image's digest into job files.")
@click.argument("reference", metavar="REF@sha256:DIGEST", callback=_reference)
@click.argument("workloads", metavar="[WORKLOAD]...", nargs=-1)
@click.pass_context
def set_command(context: click.Context, reference: str, workloads: tuple[str, ...]) -> None:
    """Write an image's digest into job files, keeping their layout and comments.

    Without WORKLOAD: into every job file that names a build of the same image, or the all-zero
    placeholder. A job with an image of its own is changed only when it is named.
    """
    changes: list[tuple[Path, str]] = []
    failed = False
    top = world.repository()
    for path in _job_files(top, workloads):
        try:
            text = _read(top / path)
            old = find_image(text)
            if workloads or old.is_placeholder or old.same_repository(reference):
                changes.append((path, set_image(text, reference)))
            else:
                click.echo(f"{path}: left as it is, another image: {old.reference}")
        except UnicodeDecodeError:
            failed = True
            click.echo(f"{path}:1:1: not UTF-8: save it as UTF-8", err=True)
        except ImageError as error:
            failed = True
            click.echo(f"{path}:{error.line}:{error.column}: {error}", err=True)
    if failed:
        click.echo("Nothing was written.", err=True)
        context.exit(1)
    if not changes:
        click.echo("No job file names this image: give the workload to change.", err=True)
        context.exit(1)
    for path, text in changes:
        (top / path).write_bytes(text.encode("utf-8"))
        click.echo(f"{path}: {reference}")
