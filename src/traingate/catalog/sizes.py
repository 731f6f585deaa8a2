"""Look-up of an Azure VM size by any spelling of its name."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Size:
    """One VM size. Memory in GiB a GPU; `usd_per_hour` is pay-as-you-go Linux at `price_date`."""

    name: str
    gpus: float
    gpu_model: str | None = None
    gpu_memory_gib: float | None = None
    rdma: bool = False
    usd_per_hour: float | None = None
    price_date: str | None = None


def size_named(name: str) -> Size | None:
    """The size of that name (any case, with or without `Standard_`), or None when unknown."""
    return _SIZES.get(name.lower().removeprefix("standard_"))


_SIZES: dict[str, Size] = {
    size.name.lower().removeprefix("standard_"): size
    for size in (
        Size(
            name="Standard_NC48ads_A100_v4",
            gpus=2,
            gpu_model="NVIDIA A100 80GB",
            gpu_memory_gib=80,
            usd_per_hour=7.346,
            price_date="2026-06-18",
        ),
    )
}
