"""Uploads against a real blob server: code by SAS, inputs by identity, an outcome read back."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from azure.core.credentials import AccessToken
from azure.storage.blob import BlobServiceClient, ContainerSasPermissions, generate_container_sas
from azureml_fake import Fake
from azureml_fake.scene import PROVENANCE, Scene
from azureml_fake.state import jwt

from traingate.backends.azureml.backend import AzureMLBackend

ACCOUNT = "devstoreaccount1"
#: The emulator's published key.
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
CONTAINERS = ("data1", "azureml", "code1")


class EmulatorCredential:
    """A token with the claims that the emulator's basic OAuth checks."""

    def get_token(self, *_: str, **__: Any) -> AccessToken:
        now = int(time.time())
        claims = {
            "aud": "https://storage.azure.com",
            "iss": "https://sts.windows.net/00000000-0000-0000-0000-000000000000/",
            "iat": now,
            "nbf": now - 60,
            "exp": now + 3600,
        }
        return AccessToken(jwt(claims), now + 3600)


@pytest.fixture(scope="module")
def azurite(one_fake: Fake, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The account's URL on a running emulator."""
    command = shutil.which("azurite-blob")
    if command is None:
        reason = "azurite-blob is not on PATH; `make test` installs it where npm can"
        assert os.environ.get("TRAINGATE_REQUIRE_AZURITE") != "1", reason
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("azurite")
    log = folder / "log"
    arguments = ["--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry"]
    arguments += ["--blobHost", "127.0.0.1", "--blobPort", "0", "--oauth", "basic"]
    arguments += ["--cert", str(one_fake.cert_file), "--key", str(one_fake.key_file)]
    with log.open("w") as output:
        process = subprocess.Popen([command, *arguments], cwd=folder, stdout=output, stderr=output)
    try:
        yield f"{_address(process, log)}/{ACCOUNT}"
    finally:
        process.terminate()
        process.wait(timeout=20)


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    """Wait until the emulator says where it listens."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        for word in log.read_text().split():
            if word.startswith("https://127.0.0.1:"):
                return word
        time.sleep(0.1)
    raise AssertionError(f"azurite did not start: {log.read_text()}")


@pytest.fixture
def storage(azurite: str, fake: Fake) -> Iterator[BlobServiceClient]:
    with BlobServiceClient(azurite, credential=KEY) as service:
        for name in CONTAINERS:
            service.create_container(name)
        yield service
        for name in CONTAINERS:
            service.delete_container(name)


def names(storage: BlobServiceClient, container: str) -> set[str]:
    return set(storage.get_container_client(container).list_blob_names())


@pytest.fixture
def backend(fake: Fake, scene: Scene, storage: BlobServiceClient, azurite: str) -> AzureMLBackend:
    sas = generate_container_sas(
        ACCOUNT,
        "code1",
        account_key=KEY,
        permission=ContainerSasPermissions(read=True, write=True, list=True, create=True),
        expiry=datetime.now(tz=UTC) + timedelta(hours=1),
    )
    fake.state.code_container = (f"{azurite}/code1", sas)
    return scene.backend(fake, EmulatorCredential(), blob_url=azurite)


def test_code_and_inputs_arrive_and_an_outcome_is_read(
    backend: AzureMLBackend, fake: Fake, scene: Scene, storage: BlobServiceClient
) -> None:
    run = backend.submit(scene.plan(), PROVENANCE).run_name

    assert names(storage, "code1") == {"src/train.py", "src/lib/model.py"}
    sent = fake.seen("PUT jobs")[0].json["properties"]["inputs"]["data"]["uri"]
    folder = sent.removeprefix("azureml://datastores/workspaceblobstore/paths/")
    assert names(storage, "data1") == {f"{folder}a.csv", f"{folder}deep/b.csv"}

    fake.state.states[run] = ["Completed"]
    assert backend.observe(run).outcome is None
    place = f"ExperimentRun/dcid.{run}/outputs/traingate/outcome.json"
    storage.get_blob_client("azureml", place).upload_blob(b"{}")
    assert backend.observe(run).outcome == "{}"


def test_an_upload_that_stopped_half_way_is_taken_up(
    backend: AzureMLBackend, fake: Fake, scene: Scene, storage: BlobServiceClient
) -> None:
    """The first file is the missing one, of the code and of the input."""
    backend.submit(scene.plan(), PROVENANCE)
    whole = {name: names(storage, name) for name in ("data1", "code1")}
    for container, blobs in whole.items():
        storage.get_blob_client(container, min(blobs)).delete_blob()
    fake.state.jobs.clear()
    fake.state.codes.clear()
    # What the first attempt confirmed, an attempt that stopped would not have.
    for blob in names(storage, "code1"):
        storage.get_blob_client("code1", blob).delete_blob()

    backend.submit(scene.plan(), PROVENANCE)

    assert {name: names(storage, name) for name in whole} == whole
    assert len(fake.state.jobs) == 1
