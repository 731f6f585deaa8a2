"""The plan of a rehearsal: the request's own, with less of everything."""

from dataclasses import replace

from traingate.documents.job import Distribution, Input, Job
from traingate.documents.rehearsal import Rehearsal
from traingate.documents.request import Blob, Request
from traingate.errors import Refusal
from traingate.plan import Plan
from traingate.topology import topology

#: Read by `train_aml`'s loop; a script with a loop of its own may honour the first.
MAX_STEPS_VARIABLE = "TRAINGATE_MAX_STEPS"
HOLD_VARIABLE = "TRAINGATE_HOLD_AT_STEP"


def scale(plan: Plan, request: Request, rehearsal: Rehearsal, *, hold_at: int | None) -> Plan:
    """`plan` with the topology, inputs, steps and time of `rehearsal`.

    Args:
        plan: the request's plan.
        request: where local inputs of the rehearsal are looked up.
        rehearsal: what to scale to.
        hold_at: the step, counted from 1, at which the ranks wait to be killed.

    Raises:
        Refusal: the rehearsal names an input that the job has not, or files that are not there.
    """
    job = plan.job
    steps = {MAX_STEPS_VARIABLE: str(rehearsal.steps)}
    hold = {} if hold_at is None else {HOLD_VARIABLE: str(hold_at)}
    small = replace(
        job,
        inputs={**job.inputs, **{name: _input(job, name, rehearsal) for name in rehearsal.inputs}},
        distribution=_distribution(job.distribution, rehearsal),
        instance_count=rehearsal.nodes if job.distribution else 1,
        environment_variables={
            **job.environment_variables,
            **rehearsal.environment_variables,
            **steps,
            **hold,
        },
        timeout_seconds=rehearsal.timeout_seconds,
    )
    return replace(
        plan,
        job=small,
        topology=topology(small, plan.target),
        cost=None,
        files={**plan.files, **_files(request, small)},
    )


def _distribution(given: Distribution | None, rehearsal: Rehearsal) -> Distribution | None:
    if given is None or given.type in {"tensorflow", "ray"}:
        return given and replace(given, worker_count=None)
    return replace(given, process_count_per_instance=rehearsal.processes_per_node)


def _input(job: Job, name: str, rehearsal: Rehearsal) -> Input:
    """The rehearsal's value, as a literal or a path: whichever the job's own input is."""
    given = job.inputs.get(name)
    if given is None:
        raise Refusal(
            f"rehearsal.yml has an input `{name}` that the job has not.",
            todo=f"Use one of the job's inputs ({', '.join(job.inputs) or 'it has none'}).",
        )
    value = rehearsal.inputs[name]
    return replace(given, value=value) if given.path is None else replace(given, path=value)


def _files(request: Request, job: Job) -> dict[str, Blob]:
    """The files of the local inputs, some of which the plan may not know."""
    files: dict[str, Blob] = {}
    for given in job.inputs.values():
        if given.is_local and given.path and (place := request.path(given.path)) is not None:
            files |= request.context.tree.under(place)
    return files
