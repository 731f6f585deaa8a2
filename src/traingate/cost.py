"""The most one run can cost, from the longest it may last."""

from dataclasses import dataclass

from traingate.catalog import size_named
from traingate.documents.job import Job
from traingate.documents.platform import Platform, Target
from traingate.topology import Topology

#: Minutes a node is billed before the job itself: it starts and pulls the image. An assumption,
#: said on the card; the idle minutes after the job come from the target.
STARTUP_MINUTES = 10

#: The tier whose nodes can be taken away and the run started again, by the key that says it.
_PREEMPTIBLE = {"spot", "low_priority", "lowpriority"}


@dataclass(frozen=True, kw_only=True, slots=True)
class CostCeiling:
    """The most one run can cost: nodes x (start-up + timeout + idle) x price, in US dollars.

    `can_repeat` is set where a preempted run starts again and the ceiling with it. The price is
    always pay-as-you-go: what Spot saves changes by the hour.
    """

    usd: float
    usd_per_hour_and_node: float
    billed_hours: float
    price_source: str
    price_date: str | None
    can_repeat: bool = False


def cost_ceiling(
    job: Job, topology: Topology, target: Target | None, platform: Platform
) -> CostCeiling | None:
    """The ceiling of one run; None without a timeout or without a price."""
    if topology.size is None or not job.timeout_seconds:
        return None
    price = _price(topology.size, platform)
    if price is None:
        return None
    usd, source, day = price
    idle_seconds = target.idle_seconds if target else 0
    hours = (job.timeout_seconds + STARTUP_MINUTES * 60 + idle_seconds) / 3600
    return CostCeiling(
        usd=round(topology.nodes * hours * usd, 2),
        usd_per_hour_and_node=usd,
        billed_hours=hours,
        price_source=source,
        price_date=day,
        can_repeat=is_preemptible(job, target),
    )


def is_preemptible(job: Job, target: Target | None) -> bool:
    """Whether the run's nodes can be taken away: Spot serverless, or a low-priority cluster."""
    tier = (job.job_tier or "").lower()
    return tier in _PREEMPTIBLE or (target is not None and target.priority in _PREEMPTIBLE)


def _price(size_name: str, platform: Platform) -> tuple[float, str, str | None] | None:
    """Dollars an hour and node, where they are from and of which day."""
    for name, usd in platform.prices_usd_per_hour.items():
        if _same_size(name, size_name):
            return usd, "platform.yml", None
    size = size_named(size_name)
    if size is None or size.usd_per_hour is None:
        return None
    return size.usd_per_hour, f"pay-as-you-go, {size.price_region}", size.price_date


def _same_size(name: str, other: str) -> bool:
    known = size_named(name)
    return name.lower() == other.lower() or (known is not None and known == size_named(other))
