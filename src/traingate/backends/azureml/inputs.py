"""Local inputs: where they go in the workspace's blob store, and putting them there.

The place is named by content, so an upload that stopped half-way is taken up again, and the
same data is sent once. (The SDK's own upload cannot be repeated when its first file is the one
that is missing: it then refuses to overwrite the others.) A block blob exists only once it is
whole, so a name that is there needs no second look.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from azure.ai.ml import MLClient
from azure.core.exceptions import ResourceExistsError
from azure.storage.blob import ContainerClient

from traingate.backends.azureml.workspace import DATA_STORE, Workspace
from traingate.documents.request import Blob, Tree
from traingate.errors import Refusal
from traingate.plan import Plan


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalInput:
    """One input whose data is files of the request; `root` is its path in the repository."""

    name: str
    root: str
    files: Mapping[str, Blob]

    @property
    def is_folder(self) -> bool:
        return self.root not in self.files

    @property
    def folder(self) -> str:
        """Where it lies in the container: named by the paths and git ids of its files."""
        about = "".join(f"{path}\0{blob.object_id}\0" for path, blob in self._relative())
        return f"traingate/{hashlib.sha256(about.encode()).hexdigest()[:32]}"

    @property
    def uri(self) -> str:
        name = PurePosixPath(self.root).name
        slash = "/" if self.is_folder else ""
        return f"azureml://datastores/{DATA_STORE}/paths/{self.folder}/{name}{slash}"

    def blobs(self) -> Iterator[tuple[str, str]]:
        """Each file's path in the repository and its name in the container."""
        name = PurePosixPath(self.root).name
        for path in self.files:
            below = "" if path == self.root else path.removeprefix(self.root)
            yield path, f"{self.folder}/{name}{below}"

    def _relative(self) -> Iterator[tuple[str, Blob]]:
        for path, blob in sorted(self.files.items()):
            yield path.removeprefix(self.root), blob


def local_inputs(plan: Plan) -> tuple[LocalInput, ...]:
    """The job's inputs that name files of the request.

    Raises:
        Refusal: such an input names no file that git knows.
    """
    return tuple(
        _local_input(plan, name, one.path or "")
        for name, one in plan.job.inputs.items()
        if one.is_local
    )


def redirected(job: Mapping[str, Any], inputs: tuple[LocalInput, ...]) -> dict[str, Any]:
    """The job with its local inputs pointing at where they are uploaded to."""
    if not inputs:
        return dict(job)
    remote = {one.name: {**job["inputs"][one.name], "path": one.uri} for one in inputs}
    return {**job, "inputs": {**job["inputs"], **remote}}


def upload(
    workspace: Workspace, client: MLClient, inputs: tuple[LocalInput, ...], export: Path
) -> None:
    """Send what is not there yet, from the exported files."""
    if not inputs:
        return
    account_url, container_name = workspace.store(client, DATA_STORE)
    with ContainerClient(
        account_url,
        container_name,
        credential=workspace.credential,
        **workspace.storage_retry_settings,
    ) as container:
        for one in inputs:
            _upload(container, one, export)


def _upload(container: ContainerClient, one: LocalInput, export: Path) -> None:
    present = set(container.list_blob_names(name_starts_with=f"{one.folder}/"))
    for path, blob_name in one.blobs():
        if blob_name in present:
            continue
        with (export / path).open("rb") as data:
            try:
                container.upload_blob(blob_name, data, overwrite=False)
            except ResourceExistsError:
                # Another submission of the same content was faster, or the answer to our own
                # first attempt was lost: the content is in the name, so this is it.
                continue


def _local_input(plan: Plan, name: str, path: str) -> LocalInput:
    root = _resolved(PurePosixPath("jobs", plan.workload), path)
    files = Tree(blobs=plan.files).under(root)
    if not files:
        raise Refusal(
            f"Input {name!r} names {root}, where git knows no file.",
            todo="Add the data to the job's folder, or name data that Azure ML knows.",
        )
    return LocalInput(name=name, root=root, files=files)


def _resolved(folder: PurePosixPath, path: str) -> str:
    parts: list[str] = list(folder.parts)
    for part in PurePosixPath(path).parts:
        if part == "..":
            del parts[-1:]
        else:
            parts.append(part)
    return str(PurePosixPath(*parts))
