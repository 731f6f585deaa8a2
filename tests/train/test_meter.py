"""The figures of a training's speed and use, on a clock that the test turns."""

from __future__ import annotations

import pytest
import torch

from train_aml import meter as module
from train_aml.meter import Meter


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(module.time, "perf_counter", lambda: now[0])
    return now


def test_speed_and_the_share_of_time_spent_waiting_for_data(clock: list[float]):
    meter = Meter(torch.device("cpu"))

    def slow():
        for number in range(3):
            clock[0] += 0.5
            yield number

    for _ in meter.batches(slow()):
        clock[0] += 1.5

    assert meter.read(steps=3, samples=96) == {
        "samples_per_second": pytest.approx(16.0),
        "step_seconds": pytest.approx(2.0),
        "data_wait_share": pytest.approx(0.25),
    }


def test_a_reading_starts_anew(clock: list[float]):
    meter = Meter(torch.device("cpu"))
    clock[0] += 10
    meter.read(steps=1, samples=1)
    clock[0] += 2
    assert meter.read(steps=4, samples=8)["samples_per_second"] == pytest.approx(4.0)
    assert meter.read(steps=0, samples=0)["samples_per_second"] == 0


def test_an_error_of_the_data_passes_through():
    def broken():
        yield 1
        raise ValueError("shard 7")

    with pytest.raises(ValueError, match="shard 7"):
        list(Meter(torch.device("cpu")).batches(broken()))


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Meter:
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda _device: 3 << 30)
    return Meter(torch.device("cuda", 0))


def test_a_gpu_adds_its_memory_and_utilisation(gpu: Meter, clock, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "utilization", lambda _device: 87)
    figures = gpu.read(steps=1, samples=1)
    assert figures["gpu_memory_peak_gib"] == 3.0
    assert figures["gpu_utilisation_percent"] == 87.0
    clock[0] += 0.5  # too soon to ask the driver again
    assert "gpu_utilisation_percent" not in gpu.read(steps=1, samples=1)
    clock[0] += 1.0
    assert "gpu_utilisation_percent" in gpu.read(steps=1, samples=1)


@pytest.mark.parametrize("error", [ModuleNotFoundError("pynvml"), RuntimeError("not supported")])
def test_without_a_driver_that_tells_utilisation_is_left_out(
    gpu: Meter, clock, monkeypatch: pytest.MonkeyPatch, error: Exception
):
    calls = []

    def refuse(_device: torch.device) -> int:
        calls.append(1)
        raise error

    monkeypatch.setattr(torch.cuda, "utilization", refuse)
    for _ in range(3):
        clock[0] += 2.0
        assert "gpu_utilisation_percent" not in gpu.read(steps=1, samples=1)
    assert len(calls) == 1
