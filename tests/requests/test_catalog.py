"""The catalogue: one spelling in, the facts of one size out."""

import csv
import re
from pathlib import Path

import pytest

from traingate import catalog
from traingate.catalog import size_named

DATA = Path(catalog.__file__).with_name("sizes.csv")
ROWS = list(csv.DictReader(DATA.read_text(encoding="utf-8").splitlines()))


@pytest.mark.parametrize(
    "spelling",
    [
        "Standard_ND96isr_H100_v5",
        "STANDARD_ND96ISR_H100_V5",
        "nd96isr_h100_v5",
        "ND96isr H100 v5",
        " standard_nd96isr_h100_v5 ",
    ],
)
def test_every_spelling_finds_the_size(spelling):
    assert size_named(spelling).name == "Standard_ND96isr_H100_v5"


def test_unknown_sizes_are_unknown():
    assert size_named("Standard_ND96isr_H100_v6") is None
    assert size_named("") is None


@pytest.mark.parametrize(
    ("name", "gpus", "whole", "infiniband"),
    [
        ("Standard_NC24s_v3", 4, 4, False),
        ("Standard_NC24rs_v3", 4, 4, True),
        ("Standard_NC24r", 4, 4, False),
        ("Standard_NC24r_Promo", 4, 4, False),
        ("Standard_NC64as_T4_v3", 4, 4, False),
        ("Standard_ND96is_H100_v5", 8, 8, False),
        ("Standard_ND96asr_v4", 8, 8, True),
        ("Standard_NV6ads_A10_v5", pytest.approx(1 / 6), 0, False),
        ("Standard_HB120-16rs_v3", 0, 0, True),
        ("Standard_NC32ads_A10_v4", 2, 2, None),
    ],
)
def test_facts_that_names_do_not_tell(name, gpus, whole, infiniband):
    size = size_named(name)

    assert size.gpus == gpus
    assert size.whole_gpus == whole
    assert size.has_infiniband is infiniband


def test_each_row_has_its_source_and_dates():
    assert len(ROWS) == 126
    for row in ROWS:
        assert row["source"], row["size"]
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", row["facts_date"])
        assert bool(row["usd_per_hour"]) == bool(row["price_date"]) == bool(row["price_region"])
        assert "UNSOURCED" not in "".join(row.values())


def test_rdma_is_where_the_documented_letter_is():
    """The catalogue's own names agree with Azure's rule, applied where names have a version."""
    letters = re.compile(r"standard_[a-z]+?\d+(?:-\d+)?([a-z]*)(?=_|\d|$)", re.IGNORECASE)
    for row in ROWS:
        if row["rdma"] != "unknown":
            has_letter = "r" in letters.match(row["size"])[1].lower()
            assert has_letter == (row["rdma"] == "yes"), row["size"]
