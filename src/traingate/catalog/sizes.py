"""Look-up of an Azure VM size by any spelling of its name.

The facts stand in `sizes.csv` beside this file, each row with its source and dates. What no
source states is `unknown` there and None here, so that no rule can refuse a job on a guess.
"""

import csv
from dataclasses import dataclass
from datetime import date
from functools import cache, lru_cache
from pathlib import Path

_DATA = Path(__file__).with_name("sizes.csv")


@dataclass(frozen=True, kw_only=True, slots=True)
class Size:
    """One VM size.

    `gpus` is a fraction below 1 where a node gets a slice of a card; `gpus_sourced` is False
    where that number is inferred from the price. `gpu_memory_gib` is what one process sees: a
    GPU's memory, or the slice's. `rdma` and `nvlink` are None where no source says; `sriov` is
    False for RDMA hardware that NCCL cannot use. `usd_per_hour` is pay-as-you-go Linux in
    `price_region` on `price_date`; `retires_on` may lie in the future.
    """

    name: str
    gpus: float
    gpus_sourced: bool = True
    gpu_model: str | None = None
    gpu_memory_gib: float | None = None
    rdma: bool | None = False
    rdma_gbps: int | None = None
    sriov: bool = True
    nvlink: bool | None = None
    retires_on: date | None = None
    successor: str | None = None
    usd_per_hour: float | None = None
    price_region: str | None = None
    price_date: str | None = None
    facts_date: str | None = None
    source: str = ""

    @property
    def whole_gpus(self) -> int:
        """How many processes can have a GPU of their own: a slice counts as none."""
        return int(self.gpus)

    @property
    def is_fractional(self) -> bool:
        return 0 < self.gpus < 1

    @property
    def has_infiniband(self) -> bool | None:
        """Whether NCCL can use RDMA between two nodes; None where no source says."""
        return self.sriov if self.rdma else self.rdma


@lru_cache(maxsize=1024)
def size_named(name: str) -> Size | None:
    """The size of that name, or None when the catalogue does not know it.

    Any case, with or without `Standard_`, blanks for underscores, and `_Promo` all find it:
    Azure itself prints `STANDARD_ND96ISR_H100_V5` and `Standard_ND96isr_H100_v5`.
    """
    return _sizes().get(_normal(name))


def _normal(name: str) -> str:
    plain = "_".join(name.lower().replace("_", " ").split())
    return plain.removeprefix("standard_").removesuffix("_promo")


@cache
def _sizes() -> dict[str, Size]:
    with _DATA.open(encoding="utf-8", newline="") as file:
        return {_normal(row["size"]): _size(row) for row in csv.DictReader(file)}


def _size(row: dict[str, str]) -> Size:
    return Size(
        name=row["size"],
        gpus=_share(row["gpus"]),
        gpus_sourced=row["gpus_sourced"] == "yes",
        gpu_model=row["gpu_model"] or None,
        gpu_memory_gib=float(row["gpu_memory_gib"]) if row["gpu_memory_gib"] else None,
        rdma=_told(row["rdma"]),
        rdma_gbps=int(row["rdma_gbps"]) if row["rdma_gbps"] else None,
        sriov=row["sriov"] != "no",
        nvlink=_told(row["nvlink"]),
        retires_on=date.fromisoformat(row["retires_on"]) if row["retires_on"] else None,
        successor=row["successor"] or None,
        usd_per_hour=float(row["usd_per_hour"]) if row["usd_per_hour"] else None,
        price_region=row["price_region"] or None,
        price_date=row["price_date"] or None,
        facts_date=row["facts_date"] or None,
        source=row["source"],
    )


def _told(word: str) -> bool | None:
    return {"yes": True, "no": False}.get(word)


def _share(text: str) -> float:
    """`8`, or `1/6` where a node has a slice of a card."""
    whole, _, parts = text.partition("/")
    return int(whole) / int(parts or 1)
