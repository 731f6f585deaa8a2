"""Which secrets jobs read, and as whom."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from traingate.documents.job import Job
from traingate.documents.platform import Platform

SCHEME = "keyvault://"
_LOCATION = re.compile(
    r"keyvault://(?P<vault>[A-Za-z0-9-]{3,24})/"
    r"(?:(?P<name>[A-Za-z0-9-]{1,127})(?:/(?P<version>[0-9a-f]{32}))?|.*[*?\[].*)"
)


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Secret:
    """A secret in a vault, or with `name` empty the vault: what `keyvault://VAULT/*` grants.

    `version` is empty for the newest.
    """

    vault: str
    name: str = ""
    version: str = ""

    @property
    def location(self) -> str:
        """As job files and platform.yml write it."""
        tail = "/".join(filter(None, (self.name or "*", self.version)))
        return f"{SCHEME}{self.vault}/{tail}"


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Reader:
    """Who reads: the identity of a target, by one of its ids where a job chooses among several."""

    target: str
    client_id: str = ""
    object_id: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Read:
    """A secret, and who reads it; None for a store that only people's commands open."""

    secret: Secret
    reader: Reader | None = None


def secret(location: str) -> Secret | None:
    """The secret at `keyvault://VAULT/NAME[/VERSION]`, the vault of a pattern, else None.

    Vault names become host names, so nothing else may pass here.
    """
    found = _LOCATION.fullmatch(location)
    if found is None:
        return None
    return Secret(
        vault=found["vault"].lower(), name=found["name"] or "", version=found["version"] or ""
    )


def reads(platform: Platform, jobs: Mapping[str, Job]) -> Iterator[Read]:
    """Every read that a job or platform.yml names. What is no location is the gate's to refuse."""
    named = tuple(read for job in jobs.values() for read in _of_job(platform, job))
    yield from named
    read_there = {(it.secret.vault, it.reader.target) for it in named if it.reader}
    for target in platform.targets.values():
        for found in filter(None, map(secret, target.secrets)):
            # A right to the secrets that jobs read is enough, and tighter than one to the vault.
            is_known = not found.name and (found.vault, target.name) in read_there
            yield Read(secret=found, reader=None if is_known else Reader(target=target.name))
    for found in filter(None, map(secret, (platform.tracking_uri, platform.results_url))):
        yield Read(secret=found)


def _of_job(platform: Platform, job: Job) -> Iterator[Read]:
    identity = job.document.value.get("identity") or {}
    reader = None
    if job.compute is not None and job.compute in platform.targets:
        ids = {name: str(identity.get(name) or "") for name in ("client_id", "object_id")}
        reader = Reader(target=job.compute, **ids)
    for found in filter(None, map(secret, job.environment_variables.values())):
        yield Read(secret=found, reader=reader)
