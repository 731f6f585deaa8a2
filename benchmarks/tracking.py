# ruff: noqa: PLC0415 - a way to log imports what it needs, and nothing of another way
"""What logging costs a training loop: ours, MLflow's own ways, Lightning's logger, side by side.

`python benchmarks/tracking.py [--steps N] [--repeats N]`

The loop is a small network trained on the CPU, with two metrics a step. It runs without logging;
again so, while another process sends the same points to the server on loopback, which shares this
machine's cores with the training, unlike anybody's server ("fed": it includes making and sending
them, on those cores too);
with this repository's pump against a tracking server on loopback, against one that takes 700 ms a
call, and against one that is down; and with MLflow's synchronous calls, its asynchronous ones, and
Lightning's MLFlowLogger where it is installed. Every way gets a process of its own, in turn,
several times; the table shows medians, and the ratio to the loop without logging of the same round.
The time to send what is left at the end is a column of its own, and so are the processor's time of
the training process a step (all its threads, to the end) and what became of the points.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

SLOW_SECONDS = 0.7
METRICS_A_STEP = 2
BATCH_POINTS = 1_000
#: A server takes its time to import MLflow, more so on a busy machine.
START_SECONDS = 120.0
ROOT = Path(__file__).resolve().parents[1]

Log = Callable[[dict[str, float], int], None]
#: Logs a step's metrics; sends the rest and says in words what did not arrive.
Way = tuple[Log, Callable[[], str]]


def none(_uri: str) -> Way:
    return (lambda _metrics, _step: None), (lambda: "")


def ours(uri: str) -> Way:
    from train_aml import environment
    from train_aml.pump import Pump

    environment.clean(os.environ)
    stores: Future[Any] = Future()
    stores.set_result(Opened(uri))
    pump = Pump(stores, Path("metrics.jsonl"))
    return pump.put, lambda: "; ".join(pump.close())


class Opened:
    """The part of the stores that a pump needs, for a run that was made beforehand."""

    def __init__(self, uri: str) -> None:
        from train_aml.locations import Server
        from train_aml.rest import Rest

        self._rest = Rest(Server.at(uri))

    def log(self, points: Any) -> None:
        self._rest.log_points(os.environ["BENCHMARK_RUN"], points)


def mlflow_synchronous(uri: str) -> Way:
    import mlflow

    mlflow.set_tracking_uri(uri)
    mlflow.start_run(run_id=os.environ["BENCHMARK_RUN"])

    def log(metrics: dict[str, float], step: int) -> None:
        for name, value in metrics.items():
            mlflow.log_metric(name, value, step=step)

    return log, lambda: ""


def mlflow_asynchronous(uri: str) -> Way:
    import mlflow

    mlflow.set_tracking_uri(uri)
    mlflow.start_run(run_id=os.environ["BENCHMARK_RUN"])

    def close() -> str:
        mlflow.flush_async_logging()
        return ""

    return (lambda metrics, step: mlflow.log_metrics(metrics, step, synchronous=False)), close


def lightning(uri: str) -> Way:
    from lightning.pytorch.loggers import MLFlowLogger

    logger = MLFlowLogger(tracking_uri=uri, run_id=os.environ["BENCHMARK_RUN"])
    return logger.log_metrics, lambda: ""


WAYS: dict[str, Callable[[str], Way]] = {
    "none": none,
    "ours": ours,
    "log_metric": mlflow_synchronous,
    "mlflow async": mlflow_asynchronous,
    "Lightning": lightning,
}
#: Ways that send in the step take milliseconds for each; they need no more to be measured.
FEW_STEPS = {"log_metric": 300, "mlflow async": 600, "Lightning": 300}
#: (way, server), in the order of the table.
ROWS = [
    ("none", "none"),
    ("none", "fed"),
    ("ours", "loopback"),
    ("ours", "700 ms a call"),
    ("ours", "down"),
    ("log_metric", "loopback"),
    ("mlflow async", "loopback"),
    ("Lightning", "loopback"),
]


def measure(way: str, uri: str, steps: int) -> dict[str, Any]:
    """One process's measurement: seconds a step, seconds to close, what was said."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    torch.set_num_threads(1)
    network = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(),
                            nn.Linear(256, 10))  # fmt: skip
    optimizer = torch.optim.AdamW(network.parameters(), fused=True)
    images, labels = torch.randn(64, 64), torch.randint(10, (64,))
    log, close = WAYS[way](uri)

    def run(first: int, count: int) -> None:
        for step in range(first, first + count):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(network(images), labels)
            loss.backward()
            optimizer.step()
            value = loss.item()
            log({"train_loss": value, "perplexity": 2.0**value}, step)

    warm = max(1, steps // 10)
    run(0, warm)
    began, cpu_from = time.perf_counter(), time.process_time()
    run(warm, steps)
    trained = time.perf_counter()
    said = close()
    return {
        "cpu_seconds": (time.process_time() - cpu_from) / steps,
        "step_seconds": (trained - began) / steps,
        "close_seconds": time.perf_counter() - trained,
        "logged": METRICS_A_STEP * (warm + steps),
        "said": said,
    }


def feed(uri: str, points_a_second: float) -> None:
    """Give the server the work that a training makes for it, until this process is ended."""
    stores, began, sent = Opened(uri), time.monotonic(), 0
    while True:
        time.sleep(1.0)
        due = int(points_a_second * (time.monotonic() - began))
        for first in range(sent, due, BATCH_POINTS):
            steps = range(first, min(first + BATCH_POINTS, due))
            stores.log([("fed", 0.5, each, 1_000 + each) for each in steps])
        sent = due


def cost_of_a_point(uri: str) -> str:
    """This thread's time to make and send a point: MLflow's client beside plain JSON."""
    from mlflow import MlflowClient
    from mlflow.entities import Metric

    client, own = MlflowClient(uri), Opened(uri)
    run = os.environ["BENCHMARK_RUN"] = client.create_run("0").info.run_id
    points = [("loss", 1.0 / (step + 1), step, 1_000 + step) for step in range(BATCH_POINTS)]
    ways: dict[str, Callable[[], object]] = {
        "MLflow's client": lambda: client.log_batch(
            run, metrics=[Metric(name, value, at, step) for name, value, step, at in points]
        ),
        "ours": lambda: own.log(points),
    }
    told = []
    for name, send in ways.items():
        send()
        began = time.thread_time()
        for _ in range(10):
            send()
        spent = (time.thread_time() - began) / 10 / BATCH_POINTS
        told.append(f"{name} {1e6 * spent:.1f}")
    return f"microseconds of the sending thread a point, 1,000 a call: {', '.join(told)}"


class Slow(BaseHTTPRequestHandler):
    """Passes each request on after a pause."""

    port = 0
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.forward()

    def do_POST(self) -> None:
        self.forward()

    def forward(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        time.sleep(SLOW_SECONDS)
        upstream = HTTPConnection("127.0.0.1", self.port, timeout=60)
        upstream.request(self.command, self.path, body, dict(self.headers))
        answer = upstream.getresponse()
        content = answer.read()
        upstream.close()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.getheader("Content-Type", "application/json"))
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_arguments: object) -> None:
        """Say nothing: the table is the output."""


def serve(stack: ExitStack, folder: Path) -> dict[str, str]:
    """Start the servers; the address of each by its name in the table."""
    port = free_port()
    arguments = ["server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    arguments += ["--backend-store-uri", f"sqlite:///{folder}/mlflow.db"]
    log = stack.enter_context((folder / "server.log").open("wb"))
    process = subprocess.Popen(
        [sys.executable, "-m", "mlflow", *arguments],
        cwd=folder,
        env=os.environ | {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"},
        stdout=log,
        stderr=log,
    )
    stack.callback(process.wait)
    stack.callback(process.terminate)
    address = f"http://127.0.0.1:{port}"
    await_up(port)
    slow = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Slow,), {"port": port}))
    slow.daemon_threads = True
    threading.Thread(target=slow.serve_forever, daemon=True).start()
    stack.callback(slow.shutdown)
    return {
        "none": address,
        "fed": address,
        "loopback": address,
        "700 ms a call": f"http://127.0.0.1:{slow.server_port}",
        "down": f"http://127.0.0.1:{free_port()}",
    }


def await_up(port: int) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        connection = HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:  # noqa: PLR2004 - HTTP's OK
                return
        except OSError:
            time.sleep(0.2)
        finally:
            connection.close()
    sys.exit("mlflow server did not come up; is the `train` extra installed?")


def free_port() -> int:
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    server.server_close()
    return server.server_port


def one(
    way: str, server: str, addresses: dict[str, str], steps: int, feed_points_a_second: float
) -> dict[str, Any]:
    """Measure in a process of its own, on a run of its own, and count what arrived."""
    from mlflow import MlflowClient

    client = MlflowClient(addresses["loopback"])
    run = client.create_run("0").info.run_id
    variables = {
        "BENCHMARK_RUN": run,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT / "src"), *sys.path])),
        "OMP_NUM_THREADS": "1",
    }
    arguments = ["--measure", way, "--uri", addresses[server], "--steps", str(steps)]
    environment = os.environ | variables
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        if server == "fed":
            rate = ["--feed", str(feed_points_a_second), "--uri", addresses[server]]
            feeder = subprocess.Popen([sys.executable, __file__, *rate], env=environment)
            stack.callback(feeder.wait)
            stack.callback(feeder.kill)
        done = subprocess.run(
            [sys.executable, __file__, *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        sys.exit(f"{way}, {server}:\n{done.stderr}")
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    histories = [client.get_metric_history(run, name) for name in ("train_loss", "perplexity")]
    told["arrived"] = sum(len(history) for history in histories)
    return told


def table(found: dict[tuple[str, str], list[dict[str, Any]]]) -> None:
    print(
        f"{'way':<14}{'server':<15}{'ms/step':>9}{'ratio':>8}{'range':>13}{'CPU ms':>8}"
        f"{'close s':>9}{'arrived':>16}  said"
    )
    for (way, server), rounds in found.items():
        bare = [each["step_seconds"] for each in found["none", "none"]]
        ratios = sorted(each["step_seconds"] / b for each, b in zip(rounds, bare, strict=True))
        spread = f"{ratios[0]:.2f}-{ratios[-1]:.2f}"
        last = rounds[-1]
        arrived = f"{last['arrived']:,}/{last['logged']:,}" if way != "none" else "-"
        print(
            f"{way:<14}{server:<15}"
            f"{1000 * statistics.median(each['step_seconds'] for each in rounds):>9.3f}"
            f"{statistics.median(ratios):>8.3f}{spread:>13}"
            f"{1000 * statistics.median(each['cpu_seconds'] for each in rounds):>8.3f}"
            f"{statistics.median(each['close_seconds'] for each in rounds):>9.2f}"
            f"{arrived:>16}  {last['said'][:90]}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=6_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--points", action="store_true", help="measure what a point costs, only")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--measure", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--uri", default="", help=argparse.SUPPRESS)
    parser.add_argument("--feed", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.feed:
        feed(options.uri, options.feed)
    if options.measure:
        print(json.dumps(measure(options.measure, options.uri, options.steps)))
        os._exit(0)  # A logger with a dead server would otherwise go on trying at exit.
    has_lightning = importlib.util.find_spec("lightning") is not None
    ways = {"none", *options.ways} - (set() if has_lightning else {"Lightning"})
    rows = [row for row in ROWS if row[0] in ways]
    found: dict[tuple[str, str], list[dict[str, Any]]] = {row: [] for row in rows}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        addresses = serve(stack, folder)
        if options.points:
            print(cost_of_a_point(addresses["loopback"]))
            return
        for _ in range(options.repeats):
            for row in rows:
                steps = min(options.steps, FEW_STEPS.get(row[0], options.steps))
                bare = found["none", "none"]
                rate = METRICS_A_STEP / bare[-1]["step_seconds"] if bare else 0.0
                found[row].append(one(*row, addresses, steps, rate))
    print(f"{os.cpu_count()} cores, {options.steps:,} steps, {options.repeats} rounds, "
          f"{METRICS_A_STEP} metrics a step; load {os.getloadavg()[0]:.1f}")  # fmt: skip
    table(found)
    if not has_lightning:
        print("Lightning is not installed, so its logger was left out: pip install lightning")


if __name__ == "__main__":
    main()
