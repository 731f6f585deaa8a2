"""Observing and canceling: states over time, reasons, outcomes."""

import pytest
from azureml_fake import Fake
from azureml_fake.scene import PROVENANCE, Scene

from traingate.backends.azureml.backend import AzureMLBackend
from traingate.backends.azureml.observe import MOST_OUTCOME_BYTES
from traingate.errors import TraingateError, UsageProblem

PLACE = "azureml/ExperimentRun/dcid.{run}/outputs/traingate/outcome.json"


@pytest.fixture
def run(backend: AzureMLBackend, scene: Scene) -> str:
    return backend.submit(scene.plan(), PROVENANCE).run_name


def leave_outcome(fake: Fake, run: str, text: bytes, place: str = PLACE) -> None:
    fake.state.blobs[place.format(run=run)] = text


def test_a_run_is_followed_through_every_state_to_its_outcome(
    backend: AzureMLBackend, fake: Fake, run: str
) -> None:
    states = ["Queued", "Provisioning", "Running", "NotResponding", "Hibernating", "Completed"]
    fake.state.states[run] = list(states)
    leave_outcome(fake, run, b'{"model": "x"}')

    seen = [backend.observe(run) for _ in states]

    assert [one.state for one in seen] == states
    assert [one.is_over for one in seen] == [False] * 5 + [True]
    last = seen[-1]
    assert last.outcome == '{"model": "x"}'
    assert last.reason is None
    assert last.started_at is not None
    assert last.finished_at == last.started_at + 1800
    assert last.properties["traingate.workload"] == "seg"
    assert last.url is not None


def test_an_open_run_costs_one_request(backend: AzureMLBackend, fake: Fake, run: str) -> None:
    fake.state.states[run] = ["Running"]
    before = len(fake.requests)
    backend.observe(run)
    assert fake.requests[before:] == [f"GET jobs/{run}"]


def test_a_failed_run_tells_the_reason_of_run_history_and_its_own_record(
    backend: AzureMLBackend, fake: Fake, run: str
) -> None:
    fake.state.states[run] = ["Failed"]
    fake.state.errors[run] = {"code": "UserError", "message": "process exited with status code 65"}
    leave_outcome(fake, run, b'{"failure": {}}')

    seen = backend.observe(run)

    assert seen.reason == "UserError: process exited with status code 65"
    assert seen.outcome == '{"failure": {}}'


def test_a_run_that_completed_without_outcome_says_so(
    backend: AzureMLBackend, fake: Fake, run: str
) -> None:
    fake.state.states[run] = ["Completed"]
    seen = backend.observe(run)
    assert seen.outcome is None
    assert seen.reason is not None
    assert "without outputs/traingate/outcome.json" in seen.reason


def test_the_place_the_service_names_is_the_one_that_is_read(
    backend: AzureMLBackend, fake: Fake, run: str
) -> None:
    fake.state.states[run] = ["Completed"]
    fake.state.jobs[run]["properties"]["outputs"] = {
        "default": {
            "jobOutputType": "uri_folder",
            "uri": "azureml://datastores/workspaceblobstore/paths/elsewhere/x/",
        }
    }
    leave_outcome(fake, run, b"{}", "data1/elsewhere/x/outputs/traingate/outcome.json")
    assert backend.observe(run).outcome == "{}"


@pytest.mark.parametrize(
    ("size", "is_read"), [(MOST_OUTCOME_BYTES, True), (MOST_OUTCOME_BYTES + 1, False)]
)
def test_an_outcome_beyond_the_limit_is_none(
    backend: AzureMLBackend, fake: Fake, run: str, *, size: int, is_read: bool
) -> None:
    fake.state.states[run] = ["Completed"]
    leave_outcome(fake, run, b" " * size)
    assert (backend.observe(run).outcome is not None) is is_read


def test_an_outcome_that_is_not_text_is_still_shown(
    backend: AzureMLBackend, fake: Fake, run: str
) -> None:
    fake.state.states[run] = ["Completed"]
    leave_outcome(fake, run, b"\xff{}")
    assert backend.observe(run).outcome == "\ufffd{}"


def test_a_reader_without_the_blob_role_is_told_which(
    backend: AzureMLBackend, fake: Fake, run: str
) -> None:
    fake.state.states[run] = ["Completed"]
    fake.state.forbidden = {"outcome.json"}
    with pytest.raises(TraingateError, match="role Storage Blob Data Reader"):
        backend.observe(run)


def test_no_secret_of_a_datastore_is_asked_for(
    backend: AzureMLBackend, fake: Fake, run: str
) -> None:
    fake.state.states[run] = ["Completed"]
    backend.observe(run)
    assert not [one for one in fake.requests if "listSecrets" in one]


def test_a_run_that_nobody_made_is_a_usage_problem(backend: AzureMLBackend) -> None:
    with pytest.raises(UsageProblem, match="no run named 'nobody-l1'"):
        backend.observe("nobody-l1")
    with pytest.raises(UsageProblem):
        backend.cancel("nobody-l1")


def test_a_run_is_canceled_by_name(backend: AzureMLBackend, fake: Fake, run: str) -> None:
    backend.cancel(run)
    assert fake.requests[-1] == f"POST jobs/{run}/cancel"
    assert backend.observe(run).state == "CancelRequested"


def test_a_run_that_is_over_stays_as_it_ended(
    backend: AzureMLBackend, fake: Fake, run: str
) -> None:
    fake.state.states[run] = ["Completed"]
    backend.cancel(run)
    assert fake.requests[-1] == f"GET jobs/{run}"
