"""Azure as it is: the workspace, its clusters, the registries and vaults that jobs name."""

from collections.abc import Iterable, Iterator
from typing import Protocol

import httpx

from traingate.doctor.diagnosis import Area, Diagnosis
from traingate.documents.platform import Azure, Target

AREA = Area(name="azure")
_TIMEOUT_SECONDS = 10.0


class Live(Protocol):
    """What the doctor asks of the Azure ML backend; each raises `TraingateError`."""

    def location(self) -> str: ...

    def refuse_drift(self, target: Target) -> None: ...


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


def federation(azure: Azure) -> Iterator[Diagnosis]:
    """The federated credentials: only an owner of the identities may list them."""
    for name, client_id in (
        ("submitter", azure.submitter_client_id),
        ("reader", azure.reader_client_id),
    ):
        subject = f"{name} identity"
        if client_id is None:
            told = f"platform.yml has no `{name}_client_id`."
            yield AREA.wrong(subject, told, "terraform -chdir=infra output -raw platform_yml")
        else:
            command = (
                f"az identity federated-credential list --resource-group {azure.resource_group}"
            )
            told = f"{client_id}: compare its subjects with those of the `subject` line: {command}"
            yield AREA.skipped(subject, told)


def registries(images: Iterable[str], client: httpx.Client) -> Iterator[Diagnosis]:
    """Each registry that a job's image lies in answers; digests need a pull token to look up."""
    hosts = sorted({image.partition("/")[0] for image in images if "/" in image})
    for host in hosts:
        subject = f"registry {host}"
        answer = _status(client, f"https://{host}/v2/")
        if answer in {200, 401}:
            yield AREA.well(subject, "It answers.")
        else:
            told = f"https://{host}/v2/ does not answer as a registry ({answer})."
            yield AREA.wrong(subject, told, "az acr check-health --name REGISTRY --yes")


def vaults(locations: Iterable[str], client: httpx.Client) -> Iterator[Diagnosis]:
    """Each vault that a job names exists; what is in it is for the job's identity to read."""
    names = sorted({it.removeprefix("keyvault://").partition("/")[0] for it in locations})
    for name in names:
        answer = _status(client, f"https://{name}.vault.azure.net/secrets?api-version=7.4")
        subject = f"vault {name}"
        if isinstance(answer, int):
            told = "It exists. Whether a job may read it shows in `az role assignment list`."
            yield AREA.well(subject, told)
        else:
            told = f"https://{name}.vault.azure.net does not answer ({answer})."
            yield AREA.wrong(subject, told, f"az keyvault show --name {name}")


def _status(client: httpx.Client, url: str) -> int | str:
    try:
        return client.get(url, timeout=_TIMEOUT_SECONDS).status_code
    except httpx.HTTPError as error:
        return type(error).__name__
