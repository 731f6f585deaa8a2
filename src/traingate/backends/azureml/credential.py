"""The identity this tool signs in with: GitHub's own in a workflow, the person's on a laptop."""

import shutil
from collections.abc import Mapping
from typing import Any, Literal

from azure.core.credentials import (
    AccessToken,
    AccessTokenInfo,
    TokenCredential,
    TokenRequestOptions,
)
from azure.core.exceptions import ClientAuthenticationError
from azure.identity import (
    AzureCliCredential,
    ClientAssertionCredential,
    CredentialUnavailableError,
    DefaultAzureCredential,
)

from traingate.backends.azureml.github_token import GitHubToken
from traingate.backends.azureml.sign_in import explain
from traingate.documents.platform import Azure
from traingate.errors import TraingateError

Role = Literal["submitter", "reader"]


class WorkflowCredential:
    """A federated identity: each sign-in carries a token GitHub issued a moment before.

    azure-identity has no credential for GitHub; `ClientAssertionCredential` with a callback is
    what never meets an expired assertion.
    """

    def __init__(self, tenant_id: str, client_id: str, github_token: GitHubToken) -> None:
        self._client_id = client_id
        self._github_token = github_token
        self._inner = ClientAssertionCredential(tenant_id, client_id, github_token)

    def get_token(self, *scopes: str, **kwargs: Any) -> AccessToken:
        """As azure-core asks for it.

        Raises:
            TraingateError: the sign-in was refused; the message says what to change.
        """
        try:
            return self._inner.get_token(*scopes, **kwargs)
        except ClientAuthenticationError as error:
            raise explain(error, self._client_id, self._github_token.claims) from None

    def get_token_info(
        self, *scopes: str, options: TokenRequestOptions | None = None
    ) -> AccessTokenInfo:
        """As newer azure-core asks for it; otherwise like `get_token`."""
        try:
            return self._inner.get_token_info(*scopes, options=options)
        except ClientAuthenticationError as error:
            raise explain(error, self._client_id, self._github_token.claims) from None


class PersonalCredential:
    """The person at the keyboard: the Azure CLI's sign-in, or else azure-identity's chain."""

    def __init__(self, tenant_id: str) -> None:
        self._inner: TokenCredential = (
            AzureCliCredential(tenant_id=tenant_id)
            if shutil.which("az")
            else DefaultAzureCredential(exclude_managed_identity_credential=True)
        )

    def get_token(self, *scopes: str, **kwargs: Any) -> AccessToken:
        """As azure-core asks for it.

        Raises:
            TraingateError: nobody is signed in.
        """
        try:
            return self._inner.get_token(*scopes, **kwargs)
        except (CredentialUnavailableError, ClientAuthenticationError) as error:
            first_line = str(error).partition("\n")[0]
            raise TraingateError(
                f"You are not signed in to Azure: {first_line}",
                todo="Run `az login` (with `--tenant` of platform.yml) and retry.",
            ) from error


def credential(azure: Azure, role: Role, environ: Mapping[str, str]) -> TokenCredential:
    """The identity for `role`, from where the command runs.

    Raises:
        TraingateError: this is a workflow and it has no identity for the role.
    """
    if environ.get("GITHUB_ACTIONS") != "true":
        return PersonalCredential(azure.tenant_id)
    client_id = azure.submitter_client_id if role == "submitter" else azure.reader_client_id
    if client_id is None:
        raise TraingateError(
            f"platform.yml names no {role} identity for Azure.",
            todo=f"Write its client id as `azure: {role}_client_id`.",
        )
    return WorkflowCredential(azure.tenant_id, client_id, GitHubToken(environ))
