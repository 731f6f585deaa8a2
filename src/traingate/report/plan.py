"""A plan as people and machines read it: a terminal's table, markdown, JSON."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from traingate.catalog import size_named
from traingate.difference import difference
from traingate.plan import Plan
from traingate.report import words
from traingate.report.markdown import code, table
from traingate.report.text import printable
from traingate.topology import Rank

#: Of the JSON's shape; raised when a key changes its meaning or goes away.
VERSION = 1

_MOST_NODES = 8


def text(plan: Plan, base: Plan | None = None) -> str:
    """The plan as a table for a terminal; with `base`, what changed since."""
    rows = list(_rows(plan))
    lines = [f"{plan.workload}  {plan.digest[:12]}", "", *_aligned(rows)]
    if nodes := list(_nodes(plan)):
        lines += ["", *_aligned(nodes)]
    if base is not None:
        changes = [(it.what, f"{it.before} -> {it.after}") for it in difference(base, plan)]
        lines += ["", "Since the base:", *(_aligned(changes) or ["  nothing changed"])]
    return "\n".join(map(printable, lines)) + "\n"


def markdown(plan: Plan, base: Plan | None = None) -> str:
    """The plan for a comment; every value a stranger wrote is inline code."""
    rows = ((name, value if name in _OURS else code(value)) for name, value in _rows(plan))
    parts = [f"#### Plan of {code(plan.workload)}", table(rows)]
    if nodes := list(_nodes(plan)):
        parts.append(_folded("What each node's processes are told", nodes))
    if base is not None:
        changes = difference(base, plan)
        told = [(it.what, f"{code(it.before)} → {code(it.after)}") for it in changes]
        parts += ["Since the base commit:", table(told) if told else "Nothing changed."]
    return "\n\n".join(parts) + "\n"


def as_json(plan: Plan, base: Plan | None = None) -> str:
    """The plan for programs, one object.

    `version` is that of the shape; `gpus`, `cost` and `changes` are null where unknown (no
    catalogue entry, no price or timeout, no base); `ranks` has at most 1,024 entries and
    `ranks_left_out` counts the rest; `files` maps paths to git blob ids; `payload` is the job.
    """
    placed = plan.topology
    ranks = [asdict(rank) | {"variables": dict(rank.variables)} for rank in plan.ranks]
    document: dict[str, Any] = {
        "version": VERSION,
        "workload": plan.workload,
        "repository": plan.repository,
        "digest": plan.digest,
        "target": plan.target.name if plan.target else None,
        "topology": asdict(placed) | {"world_size": placed.world_size},
        "gpus": {"paid": placed.gpus_paid, "used": placed.gpus_used},
        "ranks": ranks,
        "ranks_left_out": placed.world_size - len(ranks),
        "timeout_seconds": plan.job.timeout_seconds,
        "cost": asdict(plan.cost) if plan.cost else None,
        "model": asdict(plan.model),
        "training_backend": placed.backend_tag,
        "files": {path: blob.object_id for path, blob in plan.files.items()},
        "payload": plan.payload,
        "changes": [asdict(it) for it in difference(base, plan)] if base else None,
    }
    return json.dumps(document, indent=2, default=str) + "\n"


#: Rows whose text is made here and holds nothing of the request's own.
_OURS = frozenset({"processes", "GPUs", "time", "cost"})


def _rows(plan: Plan) -> Iterator[tuple[str, str]]:
    placed, job = plan.topology, plan.job
    target = plan.target.name if plan.target else job.compute or "serverless"
    yield "target", f"{target}, {placed.nodes} × {placed.size or 'unknown size'}"
    if node := _node(placed.size, placed.nodes):
        yield "node", node
    yield "processes", words.topology(placed)
    if placed.gpus_paid:
        yield "GPUs", f"{placed.gpus_used} of {placed.gpus_paid} paid for have a process"
    seconds = job.timeout_seconds
    yield "time", f"{words.duration(seconds)} at most" if seconds else "no limit"
    yield "cost", words.cost(plan.cost)
    yield "model", plan.model.name + (" (another workload's)" if plan.model.existing else "")
    yield "image", job.environment.image or job.environment.reference or "built from the request"
    count = len(plan.files)
    yield "files", f"{count} file{'' if count == 1 else 's'} of this repository"
    yield "digest", plan.digest


def _node(name: str | None, nodes: int) -> str | None:
    """What one node of a size has, or None for a size nobody knows."""
    size = size_named(name) if name else None
    if size is None:
        return None
    if not size.gpus:
        return "no GPU"
    count = f"{size.whole_gpus} ×" if size.whole_gpus else f"1/{round(1 / size.gpus)} of"
    memory = f" ({size.gpu_memory_gib:g} GiB)" if size.gpu_memory_gib else ""
    links = ["NVLink"] if size.nvlink else []
    if nodes > 1 and size.has_infiniband is not None:
        speed = f" {size.rdma_gbps:,} Gb/s" if size.rdma_gbps else ""
        links.append(f"InfiniBand{speed}" if size.has_infiniband else "Ethernet between nodes")
    return ", ".join([f"{count} {size.gpu_model}{memory}", *links])


def _nodes(plan: Plan) -> Iterator[tuple[str, str]]:
    """A row a node: its variables, a range where its processes differ; first what all share."""
    per_node = plan.topology.processes_per_node
    ranks = plan.ranks
    shared = set(ranks[0].variables).intersection(*(rank.variables for rank in ranks))
    if not any(rank.variables for rank in ranks):
        return
    if shared:
        yield "all", " ".join(f"{k}={v}" for k, v in ranks[0].variables if (k, v) in shared)
    nodes = [ranks[start : start + per_node] for start in range(0, len(ranks), per_node)]
    for node in nodes[:_MOST_NODES]:
        told = (pair for pair in _ranges(node, plan.topology.nodes) if pair not in shared)
        yield f"node {node[0].node}", " ".join(f"{k}={v}" for k, v in told)
    if plan.topology.nodes > _MOST_NODES:
        yield "...", f"and {plan.topology.nodes - _MOST_NODES} more nodes"


def _ranges(node: tuple[Rank, ...], nodes: int) -> Iterator[tuple[str, str]]:
    for (name, first), (_, last) in zip(node[0].variables, node[-1].variables, strict=True):
        if name == "TF_CONFIG":
            yield name, f"<worker {node[0].node} of {nodes}>"
        else:
            yield name, first if first == last else f"{first}..{last}"


def _aligned(rows: list[tuple[str, str]]) -> list[str]:
    width = max((len(name) for name, _ in rows), default=0)
    return [f"  {name:<{width}}  {value}" for name, value in rows]


def _folded(summary: str, rows: list[tuple[str, str]]) -> str:
    body = table((name, code(value)) for name, value in rows)
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"
