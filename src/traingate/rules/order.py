"""The rules about one request, in the order they are told; the waivers' own rules come after."""

from traingate.rules.agreement import (
    code_not_found,
    fixed_name,
    input_not_in_repository,
    path_outside_request,
    script_not_in_code,
    symlink_in_request,
    workload_mismatch,
)
from traingate.rules.distribution import (
    launcher_in_command,
    legacy_parameter_server,
    nodes_without_distribution,
    single_process_library,
    workers_and_nodes_differ,
)
from traingate.rules.envelope import outside_envelope
from traingate.rules.evidence import (
    demonstration_on_azure,
    evidence_too_weak,
    missing_section,
    no_evidence,
)
from traingate.rules.images import image_not_pinned, latest_label
from traingate.rules.limits import shm_size, spot_without_checkpoint, timeout
from traingate.rules.measured import evidence_not_measured, left_to_write
from traingate.rules.network import ethernet_between_nodes, rdma_without_sriov, spot_is_no_fabric
from traingate.rules.permissions import key_not_allowed
from traingate.rules.processes import (
    distribution_for_one_process,
    idle_gpus,
    more_processes_than_gpus,
    mpi_without_process_count,
    nodes_to_spare,
    process_count_is_world_size,
)
from traingate.rules.references import undeclared_reference, unused_declaration
from traingate.rules.rule import Rule
from traingate.rules.secrets import secret_in_request
from traingate.rules.sizes import (
    fractional_gpu,
    gpu_code_on_cpu_size,
    retired_size,
    unknown_size,
)
from traingate.rules.stores import (
    keyvault_without_identity,
    mlflow_variable,
    output_outside_prefix,
    reserved_variable,
    secret_not_granted,
    store_missing,
)
from traingate.rules.targets import (
    node_to_node_blocked,
    serverless_incomplete,
    target_never_idle,
    too_many_nodes,
    unknown_target,
)
from traingate.rules.validity import expiry, model_of_another

#: Rules that judge the admission alone; an admission they find nothing wrong with is clean.
ADMISSION_RULES: tuple[Rule, ...] = (
    missing_section,
    no_evidence,
    evidence_too_weak,
    demonstration_on_azure,
    model_of_another,
    expiry,
)

REQUEST_RULES: tuple[Rule, ...] = (
    workload_mismatch,
    symlink_in_request,
    path_outside_request,
    undeclared_reference,
    unused_declaration,
    code_not_found,
    script_not_in_code,
    fixed_name,
    input_not_in_repository,
    idle_gpus,
    more_processes_than_gpus,
    process_count_is_world_size,
    nodes_without_distribution,
    launcher_in_command,
    legacy_parameter_server,
    workers_and_nodes_differ,
    mpi_without_process_count,
    distribution_for_one_process,
    nodes_to_spare,
    single_process_library,
    unknown_target,
    too_many_nodes,
    ethernet_between_nodes,
    spot_is_no_fabric,
    rdma_without_sriov,
    gpu_code_on_cpu_size,
    retired_size,
    fractional_gpu,
    target_never_idle,
    node_to_node_blocked,
    serverless_incomplete,
    spot_without_checkpoint,
    timeout,
    shm_size,
    unknown_size,
    image_not_pinned,
    latest_label,
    secret_in_request,
    mlflow_variable,
    keyvault_without_identity,
    secret_not_granted,
    store_missing,
    key_not_allowed,
    output_outside_prefix,
    reserved_variable,
    *ADMISSION_RULES[:4],
    evidence_not_measured,
    left_to_write,
    outside_envelope,
    *ADMISSION_RULES[4:],
)
