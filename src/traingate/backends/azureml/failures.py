"""Azure's refusals and silences as this tool's errors: what happened, and what to do."""

import contextlib
import re
from collections.abc import Iterator

from azure.ai.ml.exceptions import MlException
from azure.core.exceptions import (
    AzureError,
    HttpResponseError,
    ServiceRequestError,
    ServiceResponseError,
)

from traingate.errors import TraingateError

#: Who may do what; docs/setup-azure.md grants exactly these.
READER = "Reader on the workspace"
SUBMITTER = "AzureML Data Scientist on the workspace"
UPLOADER = "Storage Blob Data Contributor on the workspace's storage account"
BLOB_READER = "Storage Blob Data Reader on the workspace's storage account"

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_LONGEST = 500

_FORBIDDEN = frozenset({401, 403})
_TRY_LATER = frozenset({408, 429, 500, 502, 503, 504})


@contextlib.contextmanager
def explained(doing: str, *, role: str) -> Iterator[None]:
    """Turn what azure raises while `doing` ("read the job") into a `TraingateError`.

    Args:
        doing: the act, as an infinitive without "to".
        role: the Azure role that permits it, named when the service says no.
    """
    try:
        yield
    except HttpResponseError as error:
        raise _answer(error, doing, role) from error
    except (ServiceRequestError, ServiceResponseError) as error:
        raise TraingateError(
            f"Azure did not answer when asked to {doing} ({type(error).__name__}).",
            todo="Check the network and run the command again; repeating it is safe.",
        ) from error
    except (AzureError, MlException) as error:
        raise TraingateError(
            f"azure-ai-ml could not {doing}: {_said(error)}",
            todo="Mend what it names and run the command again; repeating it is safe.",
        ) from error


def is_forbidden(error: HttpResponseError) -> bool:
    return error.status_code in _FORBIDDEN


def _answer(error: HttpResponseError, doing: str, role: str) -> TraingateError:
    status = error.status_code
    if is_forbidden(error):
        return TraingateError(
            f"This identity may not {doing} (HTTP {status}).",
            todo=f"Give it the role {role}; a new assignment takes minutes to be seen.",
        )
    if status in _TRY_LATER:
        return TraingateError(
            f"Azure was asked to {doing} and kept answering HTTP {status}.",
            todo="Run the command again in some minutes; repeating it is safe.",
        )
    return TraingateError(
        f"Azure refused to {doing} (HTTP {status}): {_said(error)}",
        todo="Mend what it names, or compare the coordinates in platform.yml, and retry.",
    )


def _said(error: Exception) -> str:
    """What the error says, without the SDK's colours, resolutions and links."""
    text = _COLOUR.sub("", str(getattr(error, "message", "") or error))
    text = " ".join(text.partition("Resolutions:")[0].split())[:_LONGEST]
    return text if text.endswith(".") else f"{text}."
