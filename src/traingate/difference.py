"""What a plan changes against another: the card's "since the base commit"."""

from collections.abc import Iterator
from dataclasses import dataclass

from traingate.plan import Plan

_NONE = "-"


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One thing that is no longer the same, in words a reviewer reads; `-` where there was none."""

    what: str
    before: str
    after: str


def difference(base: Plan, now: Plan) -> tuple[Change, ...]:
    """What `now` changes against `base`, in the plan's order; empty for the same work."""
    if base.digest == now.digest and base.cost == now.cost and base.model == now.model:
        return ()
    before, after = _facts(base), _facts(now)
    changes = [
        Change(what=what, before=before.get(what, _NONE), after=after.get(what, _NONE))
        for what in after | before
        if before.get(what) != after.get(what)
    ]
    return (*changes, *_files(base, now))


def _facts(plan: Plan) -> dict[str, str]:
    """Everything of the plan that can be said in a line, by its name."""
    job, placed = plan.job, plan.topology
    facts = {
        "nodes": str(placed.nodes),
        "processes a node": str(placed.processes_per_node),
        "world size": str(placed.world_size),
        "distribution": placed.distribution or _NONE,
        "target": plan.target.name if plan.target else job.compute or "serverless",
        "size": placed.size or _NONE,
        "timeout": f"{job.timeout_seconds} s" if job.timeout_seconds else _NONE,
        "cost ceiling": f"${plan.cost.usd:,.2f}" if plan.cost else "unknown",
        "model": plan.model.name,
        "image": job.environment.image or job.environment.reference or _NONE,
        "command": " ".join(job.command.split()),
    }
    given = {name: it.value if it.path is None else it.path for name, it in job.inputs.items()}
    facts |= {f"input {name}": value or _NONE for name, value in given.items()}
    facts |= {f"output {name}": it.path or "made for the run" for name, it in job.outputs.items()}
    # A variable's value can be what nobody should print; that it changed is enough.
    return facts | {
        f"variable {name}": _shown(value) for name, value in job.environment_variables.items()
    }


def _shown(value: str) -> str:
    return (
        value if value.startswith("keyvault://") or len(value) <= _SHORT else f"{value[:_SHORT]}…"
    )


_SHORT = 40


def _files(base: Plan, now: Plan) -> Iterator[Change]:
    added = now.files.keys() - base.files.keys()
    removed = base.files.keys() - now.files.keys()
    kept = now.files.keys() & base.files.keys()
    edited = {path for path in kept if base.files[path] != now.files[path]}
    for what, paths in (("added", added), ("removed", removed), ("edited", edited)):
        if paths:
            yield Change(what=f"files {what}", before=_NONE, after=_named(sorted(paths)))


def _named(paths: list[str]) -> str:
    rest = f" and {len(paths) - _MOST_NAMED} more" if len(paths) > _MOST_NAMED else ""
    return f"{len(paths)}: {', '.join(paths[:_MOST_NAMED])}{rest}"


_MOST_NAMED = 3
