"""Our training loop beside others, in one run with interleaved repeats.

Each contender trains as its users write it: ours indexes tensors and takes the fused AdamW, as
`train_distributed.py` does, and logs every step to a SQLite tracking store; the others take a
DataLoader and AdamW's default, and log nothing. Speeds leave out five seconds of warm-up, within
which ours imports MLflow; "trained" has all of it, from the launch.

`python benchmarks/train.py`; Lightning and Accelerate take part where they are installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

CONTENDERS_FOLDER = Path(__file__).parent / "contenders"
#: Models, and so many epochs that two cores train for about ten seconds.
EPOCHS = {"digits": 40, "mlp": 100, "transformer": 50}
LIMIT_SECONDS = 300.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Contender:
    """One way to train; `needs` is the package without which it cannot take part."""

    name: str
    script: str
    launcher: str = "plain"
    needs: str = "torch"


REFERENCE = Contender(name="bare DDP + DataLoader, torchrun", script="bare", launcher="torchrun")
CONTENDERS = (
    REFERENCE,
    Contender(name="the same, one process a rank", script="bare"),
    Contender(name="train_aml", script="ours"),
    Contender(
        name="Lightning Fabric, torchrun", script="fabric", launcher="torchrun", needs="lightning"
    ),
    Contender(
        name="Lightning Trainer, torchrun", script="trainer", launcher="torchrun", needs="lightning"
    ),
    Contender(
        name="Accelerate, torchrun", script="hf_accelerate", launcher="torchrun", needs="accelerate"
    ),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """One contender once, without the warm-up; times are from the launch on.

    `cpu_seconds` is rank zero's, per million samples. `trained_seconds` is the end of the last
    epoch, with all that came before it.
    """

    samples_per_second: float
    first_step_seconds: float
    trained_seconds: float
    cpu_seconds: float


def main() -> None:
    options = parse()
    asked = [c for c in CONTENDERS if c is REFERENCE or c.script in options.contenders]
    present = [c for c in asked if importlib.util.find_spec(c.needs)]
    for contender in asked:
        if contender not in present:
            print(f"left out: {contender.name} ({contender.needs} is not installed)")
    print(describe_machine(options.world_size))
    results: dict[tuple[str, str], list[Measured]] = {}
    for repeat in range(options.repeats):
        for model in options.models:
            for contender in present:
                measured = measure(contender, model, options)
                results.setdefault((model, contender.name), []).append(measured)
        print(f"repeat {repeat + 1} of {options.repeats} done", file=sys.stderr)
    print("ours: fused AdamW, no DataLoader, every step logged to SQLite; see the docstring")
    for model in options.models:
        print_table(model, [c.name for c in present], results)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--world-size", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--epochs", type=int, help=f"instead of {EPOCHS}")
    scripts = sorted({c.script for c in CONTENDERS})
    parser.add_argument("--contenders", nargs="+", choices=scripts, default=scripts)
    parser.add_argument("--models", nargs="+", choices=EPOCHS, default=list(EPOCHS))
    return parser.parse_args()


def describe_machine(world_size: int) -> str:
    import torch  # noqa: PLC0415 - not before the options are read

    device = f"{world_size} ranks on {os.cpu_count()} CPU cores, gloo"
    if torch.cuda.is_available():
        device = f"{world_size} ranks on {torch.cuda.get_device_name()}, nccl"
    load = " ".join(f"{number:.1f}" for number in os.getloadavg())
    return (
        f"{device}; torch {torch.__version__}, Python {platform.python_version()}, "
        f"load before {load}; medians, range in brackets"
    )


def measure(contender: Contender, model: str, options: argparse.Namespace) -> Measured:
    script = str(CONTENDERS_FOLDER / f"{contender.script}.py")
    with tempfile.TemporaryDirectory() as folder:
        common = {
            **os.environ,
            "PYTHONPATH": str(Path(__file__).parents[1] / "src"),
            "OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // options.world_size)),
            "BENCHMARK_MODEL": model,
            "BENCHMARK_EPOCHS": str(options.epochs or EPOCHS[model]),
            "TRAINGATE_RUN": "benchmark-l0",
            "TRAINGATE_WORKLOAD": "benchmark",
            "TRAINGATE_MODEL": "benchmark",
            "TRAINGATE_DIGEST": "none",
            "TRAINGATE_ATTEMPT": "1",
            "TRAINGATE_TRACKING_URI": f"sqlite:///{tracking_database(folder)}",
            "TRAINGATE_RESULTS_URL": f"sqlite:///{folder}/results.db",
            "BENCHMARK_LAUNCHED_AT": str(time.time()),
        }
        if contender.launcher == "torchrun":
            output = run_torchrun(script, common, options.world_size, folder)
        else:
            output = run_plain(script, common, options.world_size, folder)
    for line in output.splitlines():
        if line.startswith("MEASURED "):
            return Measured(**json.loads(line.removeprefix("MEASURED ")))
    raise SystemExit(f"{contender.name} measured nothing on {model}:\n{output}")


def run_torchrun(script: str, environ: dict[str, str], world_size: int, folder: str) -> str:
    launcher = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={world_size}"]
    address = [f"--master-port={free_port()}", "--master-addr=127.0.0.1"]
    done = subprocess.run(
        [*launcher, *address, script],
        env=environ,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    return done.stdout


def run_plain(script: str, environ: dict[str, str], world_size: int, folder: str) -> str:
    port = str(free_port())
    ranks = [
        subprocess.Popen(
            [sys.executable, script],
            env={
                **environ,
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": port,
                "WORLD_SIZE": str(world_size),
                "RANK": str(rank),
                "LOCAL_RANK": str(rank),
                "NODE_RANK": "0",
            },
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(world_size)
    ]
    return "".join(rank.communicate(timeout=LIMIT_SECONDS)[0] for rank in ranks)


def tracking_database(folder: str) -> Path:
    """A copy of an empty tracking database: making its tables is nobody's start-up."""
    template = Path(tempfile.gettempdir()) / f"traingate-benchmark-{os.getpid()}.db"
    if not template.exists():
        from mlflow import MlflowClient  # noqa: PLC0415 - needed once

        MlflowClient(f"sqlite:///{template}").search_experiments()
    copy = Path(folder) / "tracking.db"
    copy.write_bytes(template.read_bytes())
    return copy


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def print_table(
    model: str, names: list[str], results: dict[tuple[str, str], list[Measured]]
) -> None:
    reference = results[model, REFERENCE.name]
    base = statistics.median(m.samples_per_second for m in reference)
    print(
        f"\n{model:<34} {'samples/s':>24} {'ratio':>5} {'first step, s':>18} "
        f"{'trained, s':>10} {'CPU s/M':>8}"
    )
    for name in names:
        runs = results[model, name]
        speeds = sorted(run.samples_per_second for run in runs)
        starts = sorted(run.first_step_seconds for run in runs)
        speed, start = statistics.median(speeds), statistics.median(starts)
        shown = f"{speed:.0f} ({speeds[0]:.0f}-{speeds[-1]:.0f})"
        begun = f"{start:.2f} ({starts[0]:.2f}-{starts[-1]:.2f})"
        print(
            f"{name:<34} {shown:>24} {speed / base:>5.2f} {begun:>18} "
            f"{statistics.median(run.trained_seconds for run in runs):>10.1f} "
            f"{statistics.median(run.cpu_seconds for run in runs):>8.1f}"
        )


if __name__ == "__main__":
    main()
