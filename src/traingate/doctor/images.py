"""The images that jobs name: each is where its job will pull it from."""

import shlex
from collections.abc import Iterator, Mapping
from functools import partial

import httpx

from traingate.doctor.diagnosis import Diagnosis, Probe
from traingate.doctor.looking import AREA
from traingate.doctor.registry import Manifest, Registries, is_manifest, manifest
from traingate.documents.job import Job
from traingate.image import PLACEHOLDER_DIGEST

_FORBIDDEN = frozenset({401, 403})
_NOT_FOUND = 404


def probes(jobs: Mapping[str, Job], registries: Registries) -> Iterator[tuple[str, Probe]]:
    """A probe for each image, by its line's name.

    Args:
        jobs: by their workloads.
        registries: who asks.
    """
    named: dict[str, list[str]] = {}
    for workload, job in jobs.items():
        if job.environment.image is not None:
            named.setdefault(job.environment.image, []).append(workload)
    for reference, workloads in sorted(named.items()):
        yield f"image {reference}", partial(_image, reference, tuple(workloads), registries)


def _image(
    reference: str, workloads: tuple[str, ...], registries: Registries
) -> Iterator[Diagnosis]:
    line = f"image {reference}"
    wanted = manifest(reference)
    if wanted is None or wanted.digest.endswith(PLACEHOLDER_DIGEST):
        told = "It pins no image that was ever pushed, so there is nothing to look up."
        yield AREA.skipped(line, told, shlex.join(("traingate", "check", *workloads)))
        return
    try:
        answer = registries.ask(wanted)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        told = f"{wanted.host} does not answer ({type(error).__name__})."
        yield AREA.wrong(line, told, _health(wanted, reference))
        return
    yield _judged(line, reference, workloads, wanted, answer)


def _judged(
    line: str,
    reference: str,
    workloads: tuple[str, ...],
    wanted: Manifest,
    answer: httpx.Response,
) -> Diagnosis:
    status = answer.status_code
    if answer.is_success and is_manifest(answer, wanted):
        return AREA.well(line, f"{wanted.host} has it.")
    if status == _NOT_FOUND:
        told = f"{wanted.host} has no such digest: it was deleted, or was pushed elsewhere."
        again = f"{reference.partition('@')[0]}@sha256:DIGEST"
        pin = shlex.join(("traingate", "image", "set", again, *workloads))
        return AREA.wrong(line, told, f"gh workflow run image.yml, and then {pin}")
    if status in _FORBIDDEN:
        who = "AcrPull on the registry" if wanted.is_azure else "the right to pull it"
        told = f"{wanted.host} does not let you look (HTTP {status}); it needs {who}."
        return AREA.skipped(line, told, _by_hand(wanted, reference))
    if answer.is_redirect:
        told = f"{wanted.host} sends elsewhere (HTTP {status}), where the doctor does not go."
        return AREA.skipped(line, told, _by_hand(wanted, reference))
    told = f"{wanted.host} does not answer as a registry (HTTP {status})."
    return AREA.wrong(line, told, _health(wanted, reference))


def _by_hand(wanted: Manifest, reference: str) -> str:
    """The command that looks the image up for somebody who may."""
    if wanted.is_azure:
        name = f"{wanted.host}/{wanted.repository}@{wanted.digest}"
        return shlex.join(("az", "acr", "manifest", "show", name))
    return shlex.join(("docker", "buildx", "imagetools", "inspect", reference))


def _health(wanted: Manifest, reference: str) -> str:
    """The command that says what is wrong with a registry that does not answer."""
    if wanted.is_azure:
        name = wanted.host.partition(".")[0]
        return shlex.join(("az", "acr", "check-health", "--name", name, "--yes"))
    return _by_hand(wanted, reference)
