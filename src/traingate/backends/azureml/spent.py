"""What an admission has used up: runs and dollars, counted from the backend."""

from dataclasses import dataclass
from typing import Any, cast

from azure.ai.ml import MLClient
from azure.ai.ml.constants import ListViewType

from traingate.backends.azureml.payload import ADMISSION, COST, WORKLOAD
from traingate.errors import Refusal
from traingate.plan import Plan


@dataclass(frozen=True, kw_only=True, slots=True)
class Spent:
    """Runs submitted under an admission and the sum of their cost ceilings, in US dollars.

    A ceiling is what a run can have cost at most, so `usd` is an upper bound. `unpriced` runs
    carry no ceiling and add nothing to it.
    """

    runs: int
    usd: float
    unpriced: int = 0


def spent(client: MLClient, admission: str) -> Spent:
    """Count the runs of `admission`, archived ones included."""
    jobs = client.jobs.list(list_view_type=ListViewType.ALL, properties=f"{ADMISSION}={admission}")
    known = [cast("Any", job) for job in jobs]
    # None is a job azure-ai-ml could not parse. The service filtered by our property, so it is
    # one of ours all the same; leaving it out would admit a run too many.
    counted = [job for job in known if job is None or job.properties.get(ADMISSION) == admission]
    ceilings = [job.properties.get(COST) if job is not None else None for job in counted]
    return Spent(
        runs=len(counted),
        usd=sum(float(ceiling) for ceiling in ceilings if ceiling is not None),
        unpriced=ceilings.count(None),
    )


def names(client: MLClient, workload: str | None) -> tuple[str, ...]:
    """The jobs we made for `workload` (or for any), oldest first, archived ones included."""
    asked = WORKLOAD if workload is None else f"{WORKLOAD}={workload}"
    jobs = client.jobs.list(list_view_type=ListViewType.ALL, properties=asked)
    made: dict[str, str] = {}
    for job in (cast("Any", one) for one in jobs):
        # None is a job azure-ai-ml could not parse: it has no name we could show.
        if job is not None and workload in {None, job.properties.get(WORKLOAD)}:
            context = job.creation_context
            made[job.name] = str(context.created_at) if context else ""
    return tuple(sorted(made, key=lambda name: made[name]))


def refuse_overspending(plan: Plan, used: Spent) -> None:
    """Hold one more run against the admission's envelope.

    Raises:
        Refusal: no run, or not enough money, is left.
    """
    envelope = plan.envelope
    if used.runs >= envelope.runs:
        raise Refusal(
            f"Admission {plan.admission} allows {envelope.runs} runs and {used.runs} exist.",
            todo="Ask for more `runs` in the admission, by a pull request.",
        )
    ceiling = plan.cost.usd if plan.cost else 0.0
    if used.usd + ceiling > envelope.cost_usd:
        raise Refusal(
            f"Admission {plan.admission} allows {envelope.cost_usd:.2f} USD in total; earlier runs "
            f"can have cost {used.usd:.2f} and this one can cost {ceiling:.2f}.",
            todo="Ask for more `cost_usd` in the admission, or shorten `limits.timeout`.",
        )
