"""The workspace: its coordinates, the identity that talks to it, and how patiently."""

import contextlib
import io
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from azure.ai.ml import MLClient
from azure.core.credentials import TokenCredential
from azure.core.pipeline.transport import HttpTransport

from traingate.documents.platform import Azure

#: The datastores every workspace is born with: one for data, one for what runs leave behind.
DATA_STORE = "workspaceblobstore"
ARTIFACT_STORE = "workspaceartifactstore"

# It tells of every "experimental class" on the way, on stderr, as a warning. A job file that
# names queue_settings is no reason to worry anyone.
for _teller in ("azure.ai.ml._utils._experimental", "azure.ai.ml._schema.core.fields"):
    logging.getLogger(_teller).setLevel(logging.ERROR)


@dataclass(frozen=True, kw_only=True, slots=True)
class Workspace:
    """Where to talk to and as whom.

    `retries` and `backoff_seconds` are azure-core's: a failed request is sent again after
    backoff x 2^(n-1) seconds, or after what the service asked for. `blob_url` is how a storage
    account is reached, from `{protocol}`, `{account}` and `{endpoint}` of a datastore.
    """

    azure: Azure
    credential: TokenCredential
    retries: int = 5
    backoff_seconds: float = 0.8
    blob_url: str = "{protocol}://{account}.blob.{endpoint}"

    @property
    def arm_id(self) -> str:
        return (
            f"/subscriptions/{self.azure.subscription_id}"
            f"/resourceGroups/{self.azure.resource_group}"
            "/providers/Microsoft.MachineLearningServices"
            f"/workspaces/{self.azure.workspace}"
        )

    @property
    def retry_settings(self) -> dict[str, Any]:
        return {"retry_total": self.retries, "retry_backoff_factor": self.backoff_seconds}

    @property
    def storage_retry_settings(self) -> dict[str, Any]:
        """The same patience, in the storage client's words (its own starts at 15 seconds)."""
        return {
            "retry_total": self.retries,
            "initial_backoff": self.backoff_seconds,
            "increment_base": 2,
        }

    def client(self, transport: HttpTransport[Any, Any] | None = None) -> MLClient:
        """The SDK's client.

        Progress stays on: with it off, azure-ai-ml 1.35.2 waits for ever after a failed upload
        (azure-sdk-for-python#48269). `quiet` keeps the bars off the terminal.
        """
        extra: dict[str, Any] = {} if transport is None else {"transport": transport}
        return MLClient(
            self.credential,
            self.azure.subscription_id,
            self.azure.resource_group,
            self.azure.workspace,
            show_progress=True,
            enable_telemetry=False,
            **self.retry_settings,
            **extra,
        )

    def store(self, client: MLClient, name: str) -> tuple[str, str]:
        """The account URL and the container of a blob datastore. Needs no secret of it."""
        datastore = cast("Any", client.datastores.get(name))
        account_url = self.blob_url.format(
            protocol=datastore.protocol or "https",
            account=datastore.account_name,
            endpoint=datastore.endpoint or "core.windows.net",
        )
        return account_url, datastore.container_name


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep the SDK's progress bars off stderr."""
    with contextlib.redirect_stderr(io.StringIO()):
        yield
