"""TG203 to TG205: what lies between the nodes."""

from collections.abc import Iterator

from traingate.cost import is_preemptible
from traingate.documents.request import Request
from traingate.findings import Location, Severity
from traingate.rules.rule import Broken, rule
from traingate.rules.subject import Subject, subject

_COUNT = ("resources", "instance_count")


@rule("TG203", "ethernet-between-nodes", Severity.ERROR)
def ethernet_between_nodes(request: Request) -> Iterator[Broken]:
    """Several nodes are joined by InfiniBand.

    What it does: looks the size up in the catalogue; several nodes of a size without RDMA are an
    error. The letters of the name are no test: `Standard_NC64as_T4_v3` has no r, `_Promo` has
    one, and `ND96is_H100_v5` looks like its InfiniBand sister. Where no source says, a warning.

    Why it is bad: gradients of every step cross the network. On Ethernet the GPUs wait for it,
    and two nodes are often slower than one.

    Example: two nodes `Standard_NC24s_v3`.

    Fix: one node with more GPUs, or a size with RDMA, such as `Standard_ND96isr_H100_v5`; or a
    waiver with the measured scaling as its reason.

    Source: Azure, "Set up InfiniBand"; Azure ML, "Distributed GPU training".
    """
    it = subject(request)
    if it is None or it.nodes <= 1 or it.size is None or it.size.rdma:
        return
    known = it.size.rdma is False
    yield Broken(
        at=it.job.document.at(*_COUNT),
        message=f"{it.nodes} nodes of {it.size.name} are joined by Ethernet: it has no InfiniBand."
        if known
        else f"No source says whether {it.size.name} has InfiniBand between its nodes.",
        fix="Use one node, a size with RDMA, or ask for a waiver with the measured scaling.",
        severity=None if known else Severity.WARNING,
    )


@rule("TG204", "spot-is-no-fabric", Severity.WARNING)
def spot_is_no_fabric(request: Request) -> Iterator[Broken]:
    """A low price does not stand in for InfiniBand.

    What it does: warns of several Spot or low-priority nodes on a size without InfiniBand, also
    where ethernet-between-nodes is waived.

    Why it is bad: the run is slower by the network, so each hour saved is spent again, and the
    loss of any one node restarts all of them.

    Example: `queue_settings: {job_tier: spot}` with four `Standard_NC24ads_A100_v4` nodes.

    Fix: fewer, larger nodes; Spot for runs on one node.

    Source: Azure ML, "Manage and optimize costs": low-priority nodes can be taken away at any
    time.
    """
    it = subject(request)
    if it is None or it.nodes <= 1 or not is_preemptible(it.job, it.target):
        return
    if it.size is not None and it.size.rdma is False:
        yield Broken(
            at=_tier(it),
            message=f"Spot does not make up for Ethernet: {it.nodes} nodes wait for the network, "
            "and losing one restarts all.",
            fix="Use one larger node, or a size with RDMA.",
        )


@rule("TG205", "rdma-without-sriov", Severity.ERROR)
def rdma_without_sriov(request: Request) -> Iterator[Broken]:
    """The InfiniBand of a size is one NCCL can use.

    What it does: refuses several nodes of the RDMA sizes without SR-IOV: `Standard_NC24r`,
    `Standard_H16r`, `Standard_H16mr` and their `_Promo` twins.

    Why it is bad: the adapter is there and NCCL fails on it, or needs `NCCL_IB_DISABLE=1` and is
    back on Ethernet.

    Example: two nodes `Standard_NC24r`.

    Fix: a size with SR-IOV, such as `Standard_ND40rs_v2` or later.

    Source: Azure, "Set up InfiniBand"; Azure ML, "Distributed GPU training"; AzureML-BERT#34.
    """
    it = subject(request)
    if it is not None and it.nodes > 1 and it.size and it.size.rdma and not it.size.sriov:
        yield Broken(
            at=it.job.document.at(*_COUNT),
            message=f"{it.size.name} has InfiniBand without SR-IOV, which NCCL cannot use.",
            fix="Choose a size with SR-IOV, such as Standard_ND40rs_v2 or later.",
        )


def _tier(it: Subject) -> Location:
    if it.job.job_tier:
        return it.job.document.at("queue_settings", "job_tier")
    return it.job.document.at("compute")
