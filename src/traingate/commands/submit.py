"""`traingate submit WORKLOAD`."""

import signal

import click

from traingate import pipeline
from traingate.backends.base import Observation, Provenance, Submission
from traingate.backends.local import LocalBackend
from traingate.backends.local.folder import runs
from traingate.backends.local.running import TIMED_OUT
from traingate.commands import world
from traingate.commands.card import local_card
from traingate.documents import git
from traingate.errors import Interrupted, RunFailed, RunTimedOut, UsageProblem
from traingate.plan import Plan


@click.command("submit")
@click.argument("workload")
@click.option("--rerun", is_flag=True, help="Run the same digest again, under the next name.")
@click.option("--resume", metavar="RUN", help="Go on with a run that failed or was stopped.")
def command(workload: str, *, rerun: bool, resume: str | None) -> None:
    """Run a request on the platform's backend and report what became of it."""
    request = world.clean_request(workload)
    planned = pipeline.plan(request)
    backend = world.local_backend(request.context.platform)
    if resume:
        submission = _resume(backend, planned, resume)
    else:
        provenance = _provenance(backend, planned, rerun=rerun)
        submission = pipeline.submit(backend, planned, provenance)
    observation = pipeline.observe(backend, submission.run_name)
    if not (submission.is_new or resume):
        click.echo(f"already submitted: {submission.run_name}; `--rerun` runs it once more")
    click.echo()
    click.echo(local_card(backend, submission.run_name))
    _raise_unless_well(observation)


def _provenance(backend: LocalBackend, planned: Plan, *, rerun: bool) -> Provenance:
    """Where this run comes from: the last name of this digest, or the next one."""
    made = runs(backend.repository)
    prefix = planned.run_name("l")
    names = [folder.path.name for folder in made if folder.path.name.startswith(prefix)]
    last = max((int(name.removeprefix(prefix)) for name in names), default=0)
    attempts = sum(folder.facts()["workload"] == planned.workload for folder in made)
    return Provenance(
        origin=f"l{last + 1 if rerun or not last else last}",
        attempt=attempts + 1,
        commit=git.commit(backend.repository),
    )


def _resume(backend: LocalBackend, planned: Plan, run_name: str) -> Submission:
    prefix = planned.run_name("")
    if not run_name.startswith(prefix):
        raise UsageProblem(
            f"{run_name} is no run of the request as it stands now ({prefix}...).",
            todo="Bring back the files of that run, or submit a new one.",
        )
    facts = next(f.facts() for f in runs(backend.repository) if f.path.name == run_name)
    kept = {name: facts[name] for name in ("origin", "attempt", "commit", "pull_request")}
    return backend.resume(planned, Provenance(**kept))


def _raise_unless_well(observation: Observation) -> None:
    name, reason = observation.run_name, observation.reason or ""
    if observation.state == "Canceled":
        number = signal.SIGTERM if "SIGTERM" in reason else signal.SIGINT
        raise Interrupted(
            f"{name} was {reason}.",
            todo=f"`--resume {name}` goes on from its checkpoint, `--rerun` starts anew.",
            signal_number=number,
        )
    if observation.state == "Failed" and reason.startswith(TIMED_OUT):
        raise RunTimedOut(f"{name} {reason}.", todo="Raise limits.timeout, or do less in one run.")
    if observation.state == "Failed":
        raise RunFailed(f"{name} failed: {reason}.", todo=f"Read the logs in {observation.url}.")
