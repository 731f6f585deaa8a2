"""Azure as it is: the workspace, its clusters, and the identities, images and secrets of jobs."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Protocol

import httpx

from traingate.doctor import identities, images, secrets
from traingate.doctor.arm import HOST, Arm
from traingate.doctor.diagnosis import Diagnosis, Probe, examined
from traingate.doctor.github import Subjects
from traingate.doctor.grants import Grants
from traingate.doctor.looking import AREA
from traingate.doctor.registry import Registries
from traingate.doctor.side_by_side import side_by_side
from traingate.doctor.tokens import NotAsked, Tokens
from traingate.doctor.vaults import Vaults
from traingate.documents.job import Job
from traingate.documents.platform import Azure, Platform, Target
from traingate.errors import TraingateError


class Live(Protocol):
    """What the doctor asks of the Azure ML backend; each raises `TraingateError`."""

    def location(self) -> str: ...

    def refuse_drift(self, target: Target) -> None: ...

    def token(self, scope: str) -> str: ...


def everything(
    live: Live,
    platform: Platform,
    jobs: Mapping[str, Job],
    subjects: Subjects | str,
    client: httpx.Client,
) -> Iterator[Diagnosis]:
    """All lines about Azure.

    Args:
        live: the workspace, and the identity that asks.
        platform: the policy; nothing is asked where it names no workspace.
        jobs: the jobs whose images and secrets are looked up, by workload.
        subjects: what GitHub signs, or why that is not known.
        client: speaks to everything but the workspace.
    """
    azure = platform.azure
    if azure is None:
        return
    tokens = Tokens(live.token)
    arm = Arm(client, tokens)
    yield from _workspace_and_targets(live, azure, platform, arm)
    registries = Registries(client, tokens, azure.tenant_id)
    grants = Grants(arm=arm, azure=azure)
    vaults = Vaults(client=client, tokens=tokens, arm=arm, grants=grants, azure=azure)
    probes: dict[str, Probe] = {
        f"{role} identity": partial(identities.federation, arm, azure, role, subjects)
        for role in identities.ENVIRONMENTS
    }
    probes |= images.probes(jobs, registries)
    probes |= vaults.probes(secrets.reads(platform, jobs))
    yield from side_by_side(AREA, probes)


def workspace(live: Live, azure: Azure) -> Iterator[Diagnosis]:
    """The workspace exists, where platform.yml says."""
    found = live.location()
    if found.replace(" ", "").lower() != azure.location.replace(" ", "").lower():
        told = f"{azure.workspace} is in {found}, platform.yml says {azure.location}."
        yield AREA.wrong("workspace", told, "Correct `azure.location` in platform.yml.")
    else:
        yield AREA.well("workspace", f"{azure.workspace} in {found}")


def target(live: Live, wanted: Target) -> Iterator[Diagnosis]:
    """The cluster is what platform.yml promises, and idles at zero nodes."""
    live.refuse_drift(wanted)
    yield AREA.well(f"target {wanted.name}", f"{wanted.size}, 0 to {wanted.max_nodes} nodes")


def _workspace_and_targets(
    live: Live, azure: Azure, platform: Platform, arm: Arm
) -> Iterator[Diagnosis]:
    """What the SDK looks up: one after the other, since it is not made for several threads.

    It retries for half a minute each time, so it is not begun where Azure cannot be asked.
    """
    probes: dict[str, Probe] = {"workspace": partial(workspace, live, azure)}
    probes |= {f"target {it.name}": partial(target, live, it) for it in platform.targets.values()}
    try:
        arm.reach()
    except TraingateError as error:
        tell = AREA.skipped if isinstance(error, NotAsked) else AREA.wrong
        yield tell(HOST, error.problem, error.todo)
        yield from (AREA.skipped(subject, error.problem) for subject in probes)
        return
    for subject, probe in probes.items():
        yield from examined(AREA, subject, probe)
