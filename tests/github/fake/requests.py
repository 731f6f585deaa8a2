"""A clean request for Azure ML, as text."""

PLATFORM = """\
backend: azureml
azure:
  subscription_id: 00000000-0000-0000-0000-000000000000
  resource_group: ml
  workspace: training
  location: eastus
  tenant_id: 00000000-0000-0000-0000-000000000000
single_node:
  gpu_memory_gib: 80
targets:
  gpu-cluster:
    size: Standard_ND96isr_H100_v5
    max_nodes: 4
    secrets: ["keyvault://acme-kv/*"]
"""

OWNERS = """\
* @lead
/admissions/ @olga @otto
/jobs/ @olga @otto
"""

JOB = """\
type: command
display_name: {workload}
code: ./src
command: python train.py --lr ${{{{inputs.lr}}}}
environment:
  image: acme.azurecr.io/train-aml@sha256:{image}
compute: azureml:gpu-cluster
identity:
  type: managed
distribution:
  type: pytorch
  process_count_per_instance: 8
resources:
  instance_count: 2
  shm_size: 64g
limits:
  timeout: {timeout}
inputs:
  lr: {lr}
environment_variables:
  NCCL_DEBUG: WARN
  TRAINGATE_TRACKING_URI: keyvault://acme-kv/mlflow-uri
  TRAINGATE_RESULTS_URL: keyvault://acme-kv/results-url
"""

ADMISSION = """\
---
workload: {workload}
owner: "@acme/vision"
model: {{name: {workload}}}
need: memory
evidence:
  run: {workload}-single-7
  size: Standard_NC24ads_A100_v4
  peak_gpu_memory_gib: 74.1
  required_gpu_memory_gib: 132
envelope: {{targets: [gpu-cluster], nodes: 2, gpus: 16, hours: 12, runs: {runs}, cost_usd: {usd}}}
expires: {expires}
---

# {workload} on sixteen GPUs

## Why one node is not enough

The model with its optimizer needs 132 GiB a GPU; one A100 has 80.

## What was measured

One process on one A100 peaked at 74.1 GiB with half the layers.

## What was tried first

Mixed precision and gradient checkpointing.
"""


def request(
    workload: str = "seg",
    *,
    lr: float = 0.01,
    runs: int = 3,
    usd: int = 90_000,
    expires: str = "2027-03-31",
    timeout: int = 3_600,
) -> dict[str, str]:
    """The files of a clean request, by path."""
    image = "6a2f9c0d1b3e5f7a8c9d0e1f2a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d"
    return {
        f"admissions/{workload}.md": ADMISSION.format(
            workload=workload, runs=runs, usd=usd, expires=expires
        ),
        f"jobs/{workload}/job.yml": JOB.format(
            workload=workload, lr=lr, timeout=timeout, image=image
        ),
        f"jobs/{workload}/src/train.py": 'import train_aml\n\nprint("trains")\n',
    }
