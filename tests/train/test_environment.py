from __future__ import annotations

import pytest

from train_aml.environment import Contract, clean
from train_aml.problems import EnvironmentProblem

FULL = {
    "TRAINGATE_RUN": "digits-ddp-0123456789ab-p7",
    "TRAINGATE_WORKLOAD": "digits-ddp",
    "TRAINGATE_MODEL": "digits",
    "TRAINGATE_MODEL_EXISTING": "true",
    "TRAINGATE_DIGEST": "0" * 64,
    "TRAINGATE_ATTEMPT": "3",
    "TRAINGATE_IMAGE": "registry.example.com/train@sha256:00",
    "TRAINGATE_COMMIT": "abc",
    "TRAINGATE_PULL_REQUEST": "7",
    "TRAINGATE_REPOSITORY": "contoso/training",
    "TRAINGATE_TRACKING_URI": "keyvault://vault/tracking",
    "TRAINGATE_RESULTS_URL": "keyvault://vault/results",
}


def test_reads_every_variable():
    contract = Contract.read(FULL)
    assert contract.run == "digits-ddp-0123456789ab-p7"
    assert contract.model_existing
    assert contract.attempt == 3
    assert contract.results_url == "keyvault://vault/results"


def test_a_laptop_has_no_pull_request():
    optional = ("MODEL_EXISTING", "IMAGE", "COMMIT", "PULL_REQUEST", "REPOSITORY")
    contract = Contract.read(
        {k: v for k, v in FULL.items() if k.removeprefix("TRAINGATE_") not in optional}
    )
    assert not contract.model_existing
    assert (contract.image, contract.pull_request) == ("", "")


def test_by_hand_says_how_to_set_what_is_missing():
    with pytest.raises(EnvironmentProblem) as caught:
        Contract.read({**FULL, "TRAINGATE_RUN": " ", "TRAINGATE_DIGEST": ""})
    message = str(caught.value)
    assert message.startswith(
        "not inside a traingate run: TRAINGATE_RUN, TRAINGATE_DIGEST missing or empty."
    )
    assert "TRAINGATE_TRACKING_URI=sqlite:///try.db" in message
    assert int(caught.value.exit_code) == 69


def test_the_command_in_that_message_is_complete():
    with pytest.raises(EnvironmentProblem) as caught:
        Contract.read({})
    command = str(caught.value).split("by hand: ")[1]
    pairs = [word.split("=", 1) for word in command.split() if word.startswith("TRAINGATE_")]
    assert Contract.read(dict(pairs)).attempt == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [("ATTEMPT", "0"), ("ATTEMPT", "first"), ("ATTEMPT", "-1"), ("MODEL_EXISTING", "yes")],
)
def test_refuses_what_it_cannot_read(name: str, value: str):
    with pytest.raises(EnvironmentProblem, match=f"TRAINGATE_{name}='{value}'"):
        Contract.read({**FULL, f"TRAINGATE_{name}": value})


def test_clean_removes_every_mlflow_variable():
    environ = {
        "MLFLOW_TRACKING_TOKEN": "planted",
        "MLFLOW_TRACKING_URI": "azureml://x",
        "MLFLOW_RUN_ID": "sincere_brush_123",
        "mlflow_experiment_name": "Default",
        "PATH": "/bin",
    }
    assert clean(environ) == "sincere_brush_123"
    assert environ == {
        "PATH": "/bin",
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "3",
        "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
    }


def test_clean_without_azure_ml():
    assert clean({"PATH": "/bin"}) == ""
