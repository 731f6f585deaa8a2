"""A measurement as a job of one node on Azure ML: what is sent, and what comes back."""

from datetime import date

from azureml_fake import Fake
from azureml_fake.scene import PROVENANCE, Scene

from traingate.backends.azureml.backend import AzureMLBackend
from traingate.documents.reading import read_requests
from traingate.measure import Asked, evidence, one_process
from traingate.outcome import read_outcome

OUTCOME = """{
  "schema_version": 1, "status": "succeeded", "run_name": "seg-0-l1", "workload": "seg",
  "world_size": 1, "training_backend": "single-node", "dataset_digest": "", "mlflow_run_id": "r",
  "model": {"name": "segmentation-measurement", "version": "1",
            "uri": "models:/segmentation-measurement/1"},
  "metrics": {"gpu_memory_peak_gib": 60.0, "step_seconds": 1.0, "planned_steps": 36000},
  "curve": [], "durations_seconds": {}, "warnings": [], "failure": null
}"""


def test_one_process_is_sent_and_its_outcome_is_the_evidence(
    backend: AzureMLBackend, fake: Fake, scene: Scene
) -> None:
    request = read_requests(scene.root, ("seg",), date(2026, 11, 30)).requests[0]
    asked = Asked(steps=40, timeout_seconds=900, memory_scale=2.0)
    whole = scene.plan()
    small = one_process(whole, request, asked)

    run = backend.submit(small, PROVENANCE).run_name

    body = fake.state.jobs[run]["properties"]
    assert body["resources"]["instanceCount"] == 1
    assert body["distribution"]["processCountPerInstance"] == 1
    assert body["limits"]["timeout"] == "PT15M"
    assert body["environmentVariables"]["TRAINGATE_MAX_STEPS"] == "40"
    assert body["environmentVariables"]["TRAINGATE_MODEL"] == "segmentation-measurement"
    assert run != whole.run_name(PROVENANCE.origin)

    fake.state.states[run] = ["Running", "Completed"]
    place = f"azureml/ExperimentRun/dcid.{run}/outputs/traingate/outcome.json"
    fake.state.blobs[place] = OUTCOME.encode()
    assert not backend.observe(run).is_over
    seen = backend.observe(run)
    assert seen.outcome is not None
    assert request.admission is not None
    block = evidence(read_outcome(seen.outcome), request.admission, asked, size="Standard_X")
    assert block["peak_gpu_memory_gib"] == 60.0
    assert block["required_gpu_memory_gib"] == 120.0
