"""`traingate check [WORKLOAD|FILE]...`."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import click

from traingate import fixes, pipeline
from traingate.commands import world
from traingate.documents import git
from traingate.documents.files import Files
from traingate.documents.reading import read_admission, read_job, workloads
from traingate.errors import UsageProblem
from traingate.findings import Finding, Severity, has_errors
from traingate.report import text

FORMATS = ("text", "github", "json")


@click.command("check")
@click.argument("names", metavar="[WORKLOAD|FILE]...", nargs=-1)
@click.option("--changed-since", metavar="REV", help="Only requests that differ from this commit.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True)
@click.option("--strict", is_flag=True, help="Let warnings fail too.")
@click.option("--fix", is_flag=True, help="Mend what is certain, in place.")
@click.option("--diff", is_flag=True, help="Show what --fix would change, and change nothing.")
def command(
    names: tuple[str, ...], *, changed_since: str | None, form: str, strict: bool, fix: bool,
    diff: bool,
) -> int:  # fmt: skip
    """Find every mistake in the requests named, or in all of them."""
    top = world.repository()
    chosen, lone = _chosen(top, names, changed_since)
    if fix or diff:
        _mend(top, chosen, write=fix)
    findings = pipeline.check_each(pipeline.read_each(top, chosen, world.today()))
    findings += _shapes(top, lone)
    _REPORTS[form](findings)
    weighs = has_errors(findings) or (strict and _has_warnings(findings))
    return 1 if weighs else 0


def _chosen(
    top: Path, names: tuple[str, ...], changed_since: str | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The workloads asked for, and the files asked for that belong to none."""
    every = workloads(top)
    if changed_since is not None:
        return tuple(name for name in every if name in _changed(top, changed_since)), ()
    if not names:
        return every, ()
    found: list[str] = []
    lone: list[str] = []
    for name in names:
        if name in every:
            found.append(name)
        elif (path := Path(name).resolve()).is_relative_to(top) and (file := _file(top, path)):
            owner = _workload_of(file)
            (found if owner in every else lone).append(owner if owner in every else file)
        else:
            raise UsageProblem(
                f"There is no request and no file `{name}` here.",
                todo=f"Name one of: {', '.join(every) or 'none yet, `traingate new` makes one'}.",
            )
    return tuple(dict.fromkeys(found)), tuple(dict.fromkeys(lone))


def _file(top: Path, path: Path) -> str | None:
    """The file meant by `path`, relative to the top; for a request's folder its job file."""
    if path.parent == top / "jobs" and path.is_dir():
        path /= "job.yml"
    return path.relative_to(top).as_posix() if path.is_file() else None


def _changed(top: Path, revision: str) -> set[str]:
    """Workloads with a file that differs from `revision`; all of them if the policy does."""
    places = ("jobs", "admissions", "platform.yml")
    before, now = git.tree_at(top, revision, *places).blobs, git.work_tree(top, *places).blobs
    differing = {path for path in before.keys() | now.keys() if before.get(path) != now.get(path)}
    if "platform.yml" in differing:
        return set(workloads(top))
    return {_workload_of(path) for path in differing}


def _workload_of(file: str) -> str:
    """The workload a file belongs to, by its place; empty for a file of none."""
    parts = PurePosixPath(file).parts
    if parts[0] == "jobs" and len(parts) > 2:  # noqa: PLR2004 - jobs/<workload>/<file>
        return parts[1]
    return PurePosixPath(file).stem if parts[0] == "admissions" else ""


def _shapes(top: Path, files: Iterable[str]) -> tuple[Finding, ...]:
    """What is wrong with the shape of files outside any request: no rule knows their context."""
    found: list[Finding] = []
    for file in files:
        data, unreadable = Files(root=top).read(file)
        read = read_admission if file.endswith(".md") else read_job
        found += unreadable if data is None else read(data, file)[1]
    return tuple(found)


def _mend(top: Path, chosen: tuple[str, ...], *, write: bool) -> None:
    def present(file: str) -> bytes:
        return (top / file).read_bytes()

    def find(instead: fixes.Texts) -> tuple[Finding, ...]:
        return pipeline.check_each(pipeline.read_each(top, chosen, world.today(), instead=instead))

    mended = fixes.mended(present, find)
    if not write:
        click.echo(fixes.diff(present, mended), nl=False)
        return
    for file, data in mended.items():
        (top / file).write_bytes(data)
        click.echo(f"mended {file}", err=True)


def _has_warnings(findings: tuple[Finding, ...]) -> bool:
    return any(finding.severity is Severity.WARNING for finding in findings)


def _text(findings: tuple[Finding, ...]) -> None:
    for line in text.lines(findings, colour=text.wants_colour(sys.stdout)):
        click.echo(line)


def _github(findings: tuple[Finding, ...]) -> None:
    from traingate.report import github  # noqa: PLC0415 (only for its form)

    told = github.annotations(findings)
    for line in told.commands:
        click.echo(line)
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary and told.summary:
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(told.summary)
    click.echo(text.summary(findings))


def _json(findings: tuple[Finding, ...]) -> None:
    from traingate.report import json  # noqa: PLC0415 (only for its form)

    click.echo(json.render(findings))


_REPORTS = {"text": _text, "github": _github, "json": _json}
