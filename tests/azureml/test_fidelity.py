"""Whatever job file is accepted: what reaches the service is the job file and the additions."""

from collections.abc import Mapping
from typing import Any

from azureml_fake import Fake
from azureml_fake.read_back import job_file
from azureml_fake.scene import IMAGE, PROVENANCE, Scene
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from traingate.backends.contract import contract
from traingate.plan import Plan

#: Text that a job file may hold; what `traingate check` refuses for its characters is no job.
TEXT = st.text(
    st.characters(categories=("L", "N", "P", "S", "Zs"), exclude_characters="${}"),
    min_size=1,
    max_size=20,
)
CLIENT_ID = "00000000-0000-0000-0000-000000000000"
NAME = st.from_regex(r"[a-z][a-z0-9_]{0,12}", fullmatch=True)
#: Names that no job file may use for its own.
KEY = NAME.filter(lambda key: not key.startswith("traingate"))


def some(**keys: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A mapping with any of `keys`."""
    return st.fixed_dictionaries({}, optional=keys)


COUNT = st.integers(1, 64)
DISTRIBUTION = st.one_of(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["pytorch", "PyTorch", "mpi", "Mpi"])},
        optional={"process_count_per_instance": COUNT},
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("tensorflow"),
            "worker_count": COUNT,
            "parameter_server_count": st.integers(0, 4),
        }
    ),
    st.fixed_dictionaries(
        {"type": st.just("ray")},
        optional={
            "port": COUNT,
            "include_dashboard": st.booleans(),
            "head_node_additional_args": TEXT,
        },
    ),
)
RESOURCES = st.fixed_dictionaries(
    {"instance_count": st.integers(1, 8)},
    optional={
        "shm_size": st.sampled_from(["2g", "16g"]),
        "instance_type": st.just("Standard_NC48ads_A100_v4"),
        "locations": st.lists(NAME, min_size=1, max_size=2),
        "docker_args": st.just("--ipc=host"),
    },
)
INPUT = st.one_of(
    st.integers(),
    st.booleans(),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXT,
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(
                [
                    "uri_folder",
                    "uri_file",
                    "mltable",
                    "custom_model",
                    "mlflow_model",
                    "triton_model",
                ]
            ),
            "path": st.sampled_from(
                [
                    "https://data.example/a/b",
                    "azureml://datastores/store/paths/a/b",
                    "abfss://c@account.example/a",
                ]
            ),
        },
        optional={"mode": st.sampled_from(["ro_mount", "download", "direct"])},
    ),
    st.fixed_dictionaries(
        {"type": st.just("uri_file"), "path": NAME.map(lambda name: f"azureml:{name}:2")}
    ),
)
OUTPUT = st.one_of(
    st.none(),
    some(
        type=st.sampled_from(["uri_folder", "uri_file", "mltable", "mlflow_model"]),
        mode=st.sampled_from(["rw_mount", "mount", "upload", "direct"]),
        path=st.just("azureml://datastores/store/paths/out"),
    ),
)
SERVICE = st.one_of(
    st.fixed_dictionaries(
        {"type": st.just("tensor_board"), "log_dir": TEXT}, optional={"nodes": st.just("all")}
    ),
    st.fixed_dictionaries({"type": st.sampled_from(["vs_code", "jupyter_lab"])}),
    st.fixed_dictionaries({"type": st.just("ssh"), "ssh_public_keys": TEXT}),
)
JOB = st.fixed_dictionaries(
    {
        "command": TEXT,
        "environment": st.sampled_from(
            [
                {"image": IMAGE},
                "azureml:base:7",
                "azureml://registries/azureml/environments/base/versions/3",
            ]
        ),
        "compute": st.just("azureml:gpu-cluster"),
        "resources": RESOURCES,
        "limits": st.fixed_dictionaries({"timeout": st.integers(1, 600)}),
    },
    optional={
        "type": st.just("command"),
        "display_name": TEXT,
        "experiment_name": NAME,
        "description": TEXT,
        "distribution": DISTRIBUTION,
        "inputs": st.dictionaries(NAME, INPUT, max_size=3),
        "outputs": st.dictionaries(NAME, OUTPUT, max_size=3),
        "environment_variables": st.dictionaries(NAME.map(str.upper), TEXT, max_size=3),
        "tags": st.dictionaries(KEY, TEXT, max_size=3),
        "properties": st.dictionaries(KEY, TEXT, max_size=3),
        "identity": st.sampled_from(
            [
                {"type": "managed"},
                {"type": "managed", "client_id": CLIENT_ID},
                {"type": "user_identity"},
                {"type": "aml_token"},
            ]
        ),
        "queue_settings": st.fixed_dictionaries(
            {"job_tier": st.sampled_from(["spot", "basic", "standard", "premium"])},
            optional={"priority": st.sampled_from(["low", "medium", "high"])},
        ),
        "services": st.dictionaries(NAME, SERVICE, max_size=2),
    },
)


def expected(job: Mapping[str, Any], plan: Plan) -> dict[str, Any]:
    """The job file with the additions of docs/azureml-backend.md, in Azure ML's canonical words."""
    name = plan.run_name("p7")
    ours = {
        "run": name,
        "workload": "seg",
        "repository": plan.repository,
        "pull_request": "7",
        "commit": PROVENANCE.commit,
        "attempt": "2",
        "admission": plan.admission,
        "digest": plan.digest,
    } | ({"cost_ceiling_usd": f"{plan.cost.usd:.2f}"} if plan.cost else {})
    properties = {f"traingate.{key}": value for key, value in ours.items()}
    tags = {
        k: v for k, v in properties.items() if k not in {"traingate.admission", "traingate.digest"}
    }
    wanted = {key: value for key, value in job.items() if key != "type" and value != {}}
    wanted["tags"] = job.get("tags", {}) | tags
    wanted["properties"] = (
        job.get("properties", {}) | properties | {"mlflow.source.git.commit": PROVENANCE.commit}
    )
    wanted["environment_variables"] = job.get("environment_variables", {}) | contract(
        plan, PROVENANCE
    )
    wanted.setdefault("display_name", name)
    wanted.setdefault("experiment_name", "seg")
    return wanted | {key: CANONICAL[key](wanted[key]) for key in CANONICAL if key in wanted}


def canonical_output(output: dict[str, Any] | None) -> dict[str, Any]:
    read = {"type": "uri_folder"} | (output or {})
    return read | ({"mode": "rw_mount"} if read.get("mode") == "mount" else {})


CANONICAL = {
    "compute": lambda value: value.removeprefix("azureml:"),
    "distribution": lambda value: value | {"type": value["type"].lower()},
    "inputs": lambda value: {k: v if isinstance(v, dict) else str(v) for k, v in value.items()},
    "outputs": lambda value: {k: canonical_output(v) for k, v in value.items()},
}


@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(job=JOB)
def test_the_body_read_back_is_the_job_file_and_the_additions(
    fake: Fake, scene: Scene, job: dict[str, Any]
) -> None:
    fake.reset()
    none = dict.fromkeys(scene.job)
    scene = scene.with_job(**(none | job))
    assume(scene.is_understood())
    plan = scene.plan()

    scene.backend(fake).submit(plan, PROVENANCE)

    (sent,) = fake.seen("PUT jobs")
    assert job_file(sent.json, fake) == expected(job, plan)
