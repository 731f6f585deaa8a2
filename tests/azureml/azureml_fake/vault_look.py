"""The doctor's look at vaults, for a job and a policy of a test's own."""

from types import SimpleNamespace

from azureml_fake.neighbours import VAULTS, Neighbours
from azureml_fake.scene import PLATFORM
from traingate.doctor.arm import Arm
from traingate.doctor.diagnosis import Diagnosis, examined
from traingate.doctor.grants import Grants
from traingate.doctor.looking import AREA
from traingate.doctor.secrets import reads
from traingate.doctor.tokens import Tokens
from traingate.doctor.vaults import Vaults
from traingate.documents.platform import Azure, Target

AZURE = Azure(**PLATFORM["azure"])
SECRET = "keyvault://kv-vision/mlflow"
ASSIGN = (
    "az role assignment create --role 'Key Vault Secrets User' --assignee-object-id p-gpu "
    f"--assignee-principal-type ServicePrincipal --scope {VAULTS}/kv-vision"
)


def platform(*patterns: str, tracking_uri: str = "sqlite:///x") -> SimpleNamespace:
    target = Target(name="gpu-cluster", size="s", max_nodes=1, secrets=patterns)
    return SimpleNamespace(
        targets={"gpu-cluster": target}, tracking_uri=tracking_uri, results_url="sqlite:///y"
    )


def job(*locations: str, compute: str | None = "gpu-cluster", **identity: str) -> SimpleNamespace:
    return SimpleNamespace(
        compute=compute,
        environment_variables={f"V{number}": it for number, it in enumerate(locations)},
        document=SimpleNamespace(value={"identity": {"type": "managed"} | identity}),
    )


def look(world: Neighbours, *jobs: SimpleNamespace, policy=None) -> dict[str, Diagnosis]:
    named = {f"w{number}": it for number, it in enumerate(jobs)}
    with world.client() as client:
        tokens = Tokens(world.token)
        arm = Arm(client, tokens)
        vaults = Vaults(
            client=client, tokens=tokens, arm=arm, grants=Grants(arm=arm, azure=AZURE), azure=AZURE
        )
        probes = list(vaults.probes(reads(policy or platform(), named)))
        found = [one for line, probe in probes for one in examined(AREA, line, probe)]
    assert len({one.subject for one in found}) == len(found)
    return {one.subject: one for one in found}


def secret(world: Neighbours, location: str = SECRET) -> Diagnosis:
    return look(world, job(location))[f"secret {location}"]


def for_target(world: Neighbours, location: str = SECRET, **identity: str) -> Diagnosis:
    return look(world, job(location, **identity))[f"secret {location} for gpu-cluster"]
