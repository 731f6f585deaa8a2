"""Key Vault locations, read by the real client from a vault on loopback."""

from __future__ import annotations

import os
import socket
import sys
from typing import TYPE_CHECKING

import pytest
from vault import CLIENT_ID, TOKEN, Vault, serve

from train_aml import locations, secrets
from train_aml.locations import Server
from train_aml.problems import StoreProblem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECRET = "https://trainer:p%40ss-w0rd@mlflow.example.com"


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Vault]:
    with serve(tmp_path) as running:
        running.secrets["tracking"] = SECRET
        for name, value in running.variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(secrets, "_known", set())
        monkeypatch.setattr(secrets, "RETRIES", 0)
        yield running


def refused(location: str) -> str:
    with pytest.raises(StoreProblem) as caught:
        locations.resolve(location)
    return str(caught.value)


def test_a_secret_is_read_by_the_managed_identity(vault: Vault):
    before = dict(os.environ)
    assert locations.resolve("keyvault://contoso/tracking") == SECRET
    assert vault.requests == [("/secrets/tracking/", ""), ("/secrets/tracking/", f"Bearer {TOKEN}")]
    assert dict(os.environ) == before


def test_a_version_is_asked_for_by_name(vault: Vault):
    version = "0123456789abcdef" * 2
    locations.resolve(f"keyvault://contoso/tracking/{version}")
    assert {path for path, _ in vault.requests} == {f"/secrets/tracking/{version}"}


def test_white_space_around_a_value_is_no_part_of_it(vault: Vault):
    vault.secrets["tracking"] = f"{SECRET}\n"
    assert locations.resolve("keyvault://contoso/tracking") == SECRET


def test_any_other_location_is_its_own_address_and_asks_nobody(vault: Vault):
    assert locations.resolve("sqlite:///results.db") == "sqlite:///results.db"
    assert vault.connects == []


@pytest.mark.parametrize(
    ("status", "code", "told"),
    [
        (403, "ForbiddenByRbac", "Grant it the role Key Vault Secrets User on the vault 'contoso'"),
        (403, "AccessDenied", f"managed identity {CLIENT_ID} has no right to it"),
        (403, "ForbiddenByFirewall", "Allow its subnet"),
        (403, "SecretDisabled", "Enable it"),
        (404, "", "az keyvault secret set --vault-name contoso --name tracking"),
        (500, "", "ask the vault's owner"),
    ],
)
def test_a_refusal_says_what_to_grant(vault: Vault, status: int, code: str, told: str):
    vault.refusals["tracking"] = (status, code)
    said = refused("keyvault://contoso/tracking")
    assert said.startswith(f"keyvault://contoso/tracking cannot be read: {status}")
    assert told in said
    assert TOKEN not in said


def test_a_missing_secret_is_named(vault: Vault):
    assert "the vault 'contoso' has no such secret" in refused("keyvault://contoso/tracknig")


def test_an_empty_secret_is_no_location(vault: Vault):
    vault.secrets["tracking"] = " "
    assert "keyvault://contoso/tracking is empty" in refused("keyvault://contoso/tracking")


def test_a_vault_that_does_not_exist_is_named(vault: Vault, monkeypatch: pytest.MonkeyPatch):
    def unknown(*_arguments: object, **_options: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.delenv("HTTPS_PROXY")
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    said = refused("keyvault://contosso/tracking")
    assert "https://contosso.vault.azure.net does not answer" in said
    assert "Check the vault's name 'contosso'" in said


def test_no_identity_on_this_machine(vault: Vault, monkeypatch: pytest.MonkeyPatch):
    # Where nothing else is set the client asks the virtual machine's own endpoint, which is not
    # there; its address is moved to a closed port of this machine.
    monkeypatch.delenv("MSI_ENDPOINT")
    monkeypatch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", "http://127.0.0.1:9")
    said = refused("keyvault://contoso/tracking")
    assert "no token for the managed identity" in said
    assert "identity: {type: managed}" in said


def test_an_identity_that_the_cluster_does_not_have(vault: Vault, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DEFAULT_IDENTITY_CLIENT_ID", "99999999-0000-0000-0000-000000000000")
    said = refused("keyvault://contoso/tracking")
    assert "managed identity" in said
    assert vault.secrets["tracking"] not in said


@pytest.mark.parametrize(
    "location",
    [
        "keyvault://contoso",
        "keyvault://contoso/",
        "keyvault://contoso.evil.example/tracking",
        "keyvault://contoso@evil/tracking",
        "keyvault://evil.example#/tracking",
        "keyvault://contoso/track ing",
        "keyvault://contoso/tracking/latest",
        "keyvault://con--toso/tracking",
    ],
)
def test_a_malformed_location_reaches_no_host(vault: Vault, location: str):
    assert "write keyvault://VAULT/SECRET" in refused(location)
    assert vault.connects == []


def test_the_cloud_comes_from_a_closed_list(vault: Vault, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AZUREML_CURRENT_CLOUD", "vault.evil.example")
    assert "is none of AzureCloud" in refused("keyvault://contoso/tracking")
    monkeypatch.setenv("AZUREML_CURRENT_CLOUD", "AzureChinaCloud")
    refused("keyvault://contoso/tracking")
    assert vault.connects == ["contoso.vault.azure.cn"]


def test_an_image_without_the_client_says_what_to_add(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "azure.keyvault.secrets", None)
    assert "azure-keyvault-secrets" in refused("keyvault://contoso/tracking")


def test_what_was_read_is_masked(vault: Vault):
    locations.resolve("keyvault://contoso/tracking")
    text = f"cannot reach {SECRET}: user trainer, password p@ss-w0rd or p%40ss-w0rd"
    assert secrets.redact(text) == (
        "cannot reach [secret]: user trainer, password [secret] or [secret]"
    )


def test_credentials_are_taken_out_of_an_address():
    server = Server.at(f"{SECRET}:8443/prefix")
    assert server.address == "https://mlflow.example.com:8443/prefix"
    assert (server.username, server.password) == ("trainer", "p@ss-w0rd")
    assert "w0rd" not in repr(server)


def test_an_address_without_credentials_stays_as_it_is():
    for uri in ("http://127.0.0.1:5000", "sqlite:///a@b.db", "postgresql://u:p@host/db"):
        assert Server.at(uri) == Server(address=uri)
