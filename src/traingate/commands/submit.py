"""`traingate submit WORKLOAD`."""

from itertools import count

import click

from traingate import pipeline
from traingate.backends.base import Backend, Provenance, Submission
from traingate.commands import world
from traingate.commands.card import show_card
from traingate.commands.ending import raise_unless_well
from traingate.documents import git
from traingate.documents.platform import Platform
from traingate.errors import UsageProblem
from traingate.plan import Plan


@click.command("submit")
@click.argument("workload")
@click.option("--rerun", is_flag=True, help="Run the same digest again, under the next name.")
@click.option("--resume", metavar="RUN", help="Go on with a local run that failed or was stopped.")
@click.option("--what-if", is_flag=True, help="Azure ML: read everything, send nothing, show it.")
def command(workload: str, *, rerun: bool, resume: str | None, what_if: bool) -> None:
    """Run a request on the platform's backend and report what became of it."""
    request = world.clean_request(workload)
    planned, platform = pipeline.plan(request), request.context.platform
    if what_if:
        _what_if(planned, platform, rerun=rerun)
        return
    if resume:
        submission = _resume(planned, platform, resume)
    else:
        backend = world.backend(platform)
        provenance = _provenance(backend, planned, rerun=rerun)
        submission = pipeline.submit(backend, planned, provenance)
    if not (submission.is_new or resume):
        click.echo(f"already submitted: {submission.run_name}; `--rerun` runs it once more")
    _report(platform, submission)


def _report(platform: Platform, submission: Submission) -> None:
    """The card of a run that is over; where to look for one that goes on elsewhere."""
    seen = pipeline.observe(world.backend(platform), submission.run_name)
    if seen.is_over:
        click.echo()
        show_card(platform, seen)
        raise_unless_well(seen)
    else:
        click.echo(f"{submission.run_name} is {seen.state}: {seen.url or submission.url or '-'}")
        click.echo(f"`traingate watch {submission.run_name}` follows it.")


def next_provenance(backend: Backend, planned: Plan) -> Provenance:
    """Of a run that is always a new one."""
    return _provenance(backend, planned, rerun=True)


def _provenance(backend: Backend, planned: Plan, *, rerun: bool) -> Provenance:
    """Where this run comes from: the last name of this digest, or the next one."""
    known = backend.run_names(planned.workload)
    last = next(n for n in count(1) if planned.run_name(f"l{n}") not in known) - 1
    return Provenance(
        origin=f"l{last + 1 if rerun or not last else last}",
        attempt=len(known) + 1,
        commit=git.commit(world.repository()),
    )


def _resume(planned: Plan, platform: Platform, run_name: str) -> Submission:
    prefix = planned.run_name("")
    if platform.backend != "local":
        raise UsageProblem(
            "Only local runs are resumed by hand.",
            todo="On Azure ML rerun it: the checkpoints lie in the job's mounted output.",
        )
    if not run_name.startswith(prefix):
        raise UsageProblem(
            f"{run_name} is no run of the request as it stands now ({prefix}...).",
            todo="Bring back the files of that run, or submit a new one.",
        )
    backend = world.local_backend(platform)
    facts = backend.facts(run_name)
    kept = {name: facts[name] for name in ("origin", "attempt", "commit", "pull_request")}
    return backend.resume(planned, Provenance(**kept))


def _what_if(planned: Plan, platform: Platform, *, rerun: bool) -> None:
    if platform.backend != "azureml":
        raise UsageProblem(
            "`--what-if` shows what Azure ML would be sent, and this platform's backend is "
            f"{platform.backend}.",
            todo=f"`traingate plan {planned.workload}` shows what would run here.",
        )
    backend = world.azureml_backend(platform)
    provenance = _provenance(backend, planned, rerun=rerun)
    click.echo(str(backend.what_if(planned, provenance)))
