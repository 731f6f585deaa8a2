"""Figures as people say them."""

from traingate.documents.admission import Envelope
from traingate.plan import CostCeiling, Topology


def topology(of: Topology) -> str:
    """`2 nodes x 8 processes = world size 16 (pytorch)`."""
    if of.world_size == 1:
        return "1 process"
    nodes = _count(of.nodes, "node")
    processes = _count(of.processes_per_node, "process", "processes")
    how = f" ({of.distribution})" if of.distribution else ""
    return f"{nodes} × {processes} = world size {of.world_size}{how}"


def cost(of: CostCeiling | None) -> str:
    """The ceiling with what it rests on, or why there is none."""
    if of is None:
        return "unknown: the size has no known price, or the job has no timeout"
    price = f"${of.usd_per_hour_and_node:,.2f} an hour and node"
    source = of.price_source + (f", {of.price_date}" if of.price_date else "")
    again = "; a preempted run starts again and can cost it again" if of.can_repeat else ""
    return f"${of.usd:,.2f} at most ({of.billed_hours:.2f} h billed, {price}; {source}){again}"


def envelope(of: Envelope) -> str:
    """The most that is admitted, one run and all of them."""
    size = f"{_count(of.nodes, 'node')}, {_count(of.gpus, 'GPU')}, {of.hours:g} h a run"
    return f"{size}, {_count(of.runs, 'run')}, ${of.cost_usd:,.2f} in all"


def duration(seconds: float) -> str:
    """`1 h 02 min`, `3 min 20 s` or `12 s`."""
    whole = round(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {whole % 60:02d} s" if minutes else f"{whole} s"


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
