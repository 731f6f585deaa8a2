"""TG206 to TG208, TG216: what a node is."""

import re
from collections.abc import Iterator
from datetime import date

from traingate.documents.request import Request
from traingate.findings import Location, Severity
from traingate.rules.places import within
from traingate.rules.rule import Broken, rule
from traingate.rules.subject import Subject, subject

_NCCL = re.compile(r"--?(?:dist[-_])?backend[= ]['\"]?nccl\b", re.IGNORECASE)
_CUDA_IMAGE = re.compile(
    r"(?:^|[/:_.-])(?:cuda|cu1[0-9]{2})(?:[/:_.\d@-]|$)|nvidia/", re.IGNORECASE
)
_SOON_DAYS = 365


@rule("TG206", "gpu-code-on-cpu-size", Severity.ERROR)
def gpu_code_on_cpu_size(request: Request) -> Iterator[Broken]:
    """Code that needs a GPU gets one.

    What it does: on a size without GPUs refuses `--backend nccl` in the command, and warns of a
    CUDA image.

    Why it is bad: NCCL has no CPU mode, so the process group fails after the nodes have started;
    a CUDA image is gigabytes pulled for nothing.

    Example: `--backend nccl` on `Standard_D16s_v3`.

    Fix: a GPU size, or `--backend gloo`.

    Source: PyTorch, "Distributed communication package": backends by device.
    """
    it = subject(request)
    if it is None or it.size is None or it.size.gpus > 0:
        return
    backend = _NCCL.search(it.job.command)
    image = it.job.environment.image or ""
    if backend:
        yield Broken(
            at=within(it.job.document, ("command",), backend[0]),
            message=f"NCCL needs GPUs; {it.size.name} has none.",
            fix="Choose a GPU size, or the gloo backend.",
        )
    elif _CUDA_IMAGE.search(image):
        yield Broken(
            at=it.job.document.at("environment", "image"),
            message=f"A CUDA image on {it.size.name}, which has no GPU.",
            fix="Choose a GPU size, or a CPU image.",
            severity=Severity.WARNING,
        )


@rule("TG207", "retired-size", Severity.ERROR)
def retired_size(request: Request) -> Iterator[Broken]:
    """The size still exists, and will while the admission is valid.

    What it does: compares the catalogue's retirement date with today: past is an error, within a
    year or before the admission's expiry a warning, later a note.

    Why it is bad: Azure deallocates retired sizes and sells no new ones. Prices of retired sizes
    are still listed, which proves nothing.

    Example: `Standard_NC24s_v3`, retired on 2025-09-30.

    Fix: the successor the message names.

    Source: Azure, "Retirements and capacity restrictions" (2026-09-24); the row's own source is
    in the catalogue.
    """
    it = subject(request)
    if it is None or it.size is None or it.size.retires_on is None:
        return
    today, day = request.context.today, it.size.retires_on
    past = day <= today
    successor = f" Its successor is {it.size.successor}." if it.size.successor else ""
    yield Broken(
        at=_place(it),
        message=f"{it.size.name} {'was retired' if past else 'retires'} on {day}.{successor}",
        fix="Choose a current size.",
        severity=None if past else _weight(request, today, day),
    )


@rule("TG208", "fractional-gpu", Severity.ERROR)
def fractional_gpu(request: Request) -> Iterator[Broken]:
    """A process gets a whole GPU.

    What it does: recognises sizes whose node holds a slice of a card. Several processes on a
    node are an error, several nodes or one process a warning.

    Why it is bad: a slice shares its card with strangers, has no peer access and no NCCL between
    processes; ARM lists it as one GPU and Azure ML as `1/6`, so counts taken from either fail.

    Example: `process_count_per_instance: 2` on `Standard_NV12ads_A10_v5` (a third of an A10).

    Fix: a size with whole GPUs.

    Source: Azure, NVadsA10_v5 and NVv4 size pages.
    """
    it = subject(request)
    if it is None or it.size is None or not it.size.is_fractional:
        return
    several = it.topology.processes_per_node > 1 and it.size.gpus_sourced
    share = round(1 / it.size.gpus)
    yield Broken(
        at=_place(it),
        message=f"A node of {it.size.name} has 1/{share} of a GPU"
        + (f" for {it.topology.processes_per_node} processes." if several else "."),
        fix="Choose a size with whole GPUs.",
        severity=None if several else Severity.WARNING,
    )


@rule("TG216", "unknown-size", Severity.NOTE)
def unknown_size(request: Request) -> Iterator[Broken]:
    """The catalogue knows the size.

    What it does: notes a size without an entry.

    Why it is bad: its GPUs, network, retirement and price are not checked. New sizes appear
    faster than any list, so this never stops a request.

    Example: `Standard_ND999xyz_v9`.

    Fix: correct a typo; else set its price in platform.yml under `prices_usd_per_hour`.

    Source: this repository's `catalog/sizes.csv`.
    """
    it = subject(request)
    if it is not None and it.size is None and it.topology.size:
        yield Broken(
            at=_place(it),
            message=f"The catalogue does not know {it.topology.size}: its GPUs, network and "
            "price are not checked.",
            fix="Correct the name, or give its price in platform.yml.",
        )


def _place(it: Subject) -> Location:
    if it.job.instance_type:
        return it.job.document.at("resources", "instance_type")
    return it.job.document.at("compute")


def _weight(request: Request, today: date, day: date) -> Severity:
    expires = request.admission.expires if request.admission else None
    soon = (day - today).days <= _SOON_DAYS or (expires is not None and expires >= day)
    return Severity.WARNING if soon else Severity.NOTE
