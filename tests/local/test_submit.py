"""Runs of the local backend, with small scripts in place of training."""

import json
import os
import signal
import time
from pathlib import Path

import pytest
from probing import OUTCOME, WELL, log_of_rank_zero, processes_of, start, wait_for


def states(run: Path) -> list[str]:
    lines = (run / "state.jsonl").read_text().splitlines()
    return [json.loads(line)["state"] for line in lines]


def test_every_rank_gets_the_variables_of_azure_ml(repository, traingate):
    script = OUTCOME + (
        "print({k: os.environ[k] for k in ('MASTER_ADDR', 'WORLD_SIZE', 'NODE_RANK', 'RANK',"
        " 'LOCAL_RANK')})\nsucceed()\n"
    )
    repository.request(script, nodes=2)

    result = traingate("submit", "probe")

    assert result.exit_code == 0, result.output
    (run,) = repository.runs()
    told = [(run / "user_logs" / f"std_log_process_{rank}.txt").read_text() for rank in range(4)]
    assert [line.strip() for line in told] == [
        str(
            {
                "MASTER_ADDR": "127.0.0.1",
                "WORLD_SIZE": "4",
                "NODE_RANK": str(rank // 2),
                "RANK": str(rank),
                "LOCAL_RANK": str(rank % 2),
            }
        )
        for rank in range(4)
    ]
    assert states(run) == ["Preparing", "Running", "Completed"]
    assert "models:/probe/1" in (run / "card.md").read_text()


def test_a_job_without_distribution_is_one_process_without_rank_variables(repository, traingate):
    repository.request(OUTCOME + "assert 'RANK' not in os.environ\nsucceed()\n", processes=None)

    assert traingate("submit", "probe").exit_code == 0


def test_the_same_digest_twice_is_already_submitted_and_rerun_is_the_next_name(
    repository, traingate
):
    repository.request(WELL)
    traingate("submit", "probe")

    again = traingate("submit", "probe")
    assert again.exit_code == 0
    assert "already submitted" in again.output
    assert "models:/probe/1" in again.output
    assert len(repository.runs()) == 1

    assert traingate("submit", "probe", "--rerun").exit_code == 0
    assert [run.name[-3:] for run in repository.runs()] == ["-l1", "-l2"]


def test_other_code_is_another_digest(repository, traingate):
    repository.request(WELL)
    traingate("submit", "probe")
    repository.request(WELL + "# changed\n")
    traingate("submit", "probe")

    digests = {run.name.rsplit("-", 2)[1] for run in repository.runs()}
    assert len(digests) == 2


def test_a_rank_that_raises_is_named_with_its_own_traceback(repository, traingate):
    script = OUTCOME + (
        "import time\n"
        "if os.environ['RANK'] == '1': raise ValueError('shard 7 is empty')\n"
        "time.sleep(60)\n"
    )
    repository.request(script, nodes=2)
    began = time.monotonic()

    result = traingate("submit", "probe")

    assert time.monotonic() - began < 30  # not the 60 s that the others would have taken
    assert result.exit_code == 4, result.output
    assert (
        "rank 1 (node 0, local rank 1) exited with status 1: ValueError: shard 7 is empty"
        in result.output
    )
    assert "Traceback (most recent call last):" in result.output
    assert states(repository.runs()[0])[-1] == "Failed"


def test_the_first_cause_is_told_even_when_a_consequence_ends_first(repository, traingate):
    """Rank 1 says at once what is wrong and then takes long to end; rank 0 ends before it."""
    script = OUTCOME + (
        "import time\n"
        "if os.environ['RANK'] == '1':\n"
        "    record = {'time_unix_seconds': time.time(), 'error': 'ValueError: the cause',\n"
        "              'traceback': 'T', 'exit_code': 65}\n"
        "    pathlib.Path(os.environ['TRAINGATE_FAILURE_FILE']).write_text(json.dumps(record))\n"
        "    time.sleep(0.7); os._exit(65)\n"
        "while not (pathlib.Path('../failures') / '1.json').exists(): time.sleep(0.01)\n"
        "raise RuntimeError('Connection closed by peer')\n"
    )
    repository.request(script)

    result = traingate("submit", "probe")

    assert result.exit_code == 4
    assert "rank 1 (node 0, local rank 1) exited with status 65: ValueError: the cause" in (
        result.output
    )
    assert "Look at the data" in result.output


def test_a_killed_rank_is_named_with_its_signal(repository, traingate):
    script = OUTCOME + (
        "import signal, time\n"
        "if os.environ['RANK'] == '1': os.kill(os.getpid(), signal.SIGKILL)\n"
        "time.sleep(60)\n"
    )
    repository.request(script)

    result = traingate("submit", "probe")

    assert result.exit_code == 4
    assert "rank 1 (node 0, local rank 1) was killed by SIGKILL" in result.output


def test_a_run_past_its_timeout_is_stopped(repository, traingate):
    repository.request("import time\ntime.sleep(60)\n", timeout=1)

    result = traingate("submit", "probe")

    assert result.exit_code == 5, result.output
    assert "timed out after 1 s (limits.timeout)" in result.output
    assert processes_of(repository) == []


def test_without_an_outcome_file_a_run_has_failed(repository, traingate):
    repository.request("print('all is well')\n")

    result = traingate("submit", "probe")

    assert result.exit_code == 4
    assert "rank zero wrote no outcome file" in result.output
    assert "all is well" in result.output  # rank zero's log is shown


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{", "is no JSON"),
        ('{"schema_version": 1}', "not of its schema"),
        ('{"a": NaN}', "NaN is no JSON number"),
        ('"' + "x" * 70_000 + '"', "larger than 65536 bytes"),
    ],
)
def test_an_unusable_outcome_is_a_failure(repository, traingate, content, complaint):
    script = OUTCOME + (
        "pathlib.Path('outputs/traingate').mkdir(parents=True, exist_ok=True)\n"
        f"pathlib.Path('outputs/traingate/outcome.json').write_text({content!r})\n"
    )
    repository.request(script, processes=None)

    result = traingate("submit", "probe")

    assert result.exit_code == 4
    assert complaint in result.output


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopping_signal_leaves_no_process_and_the_run_can_be_done_again(
    repository, number, code
):
    script = OUTCOME + (
        "import time\n"
        "print('started', flush=True)\n"
        "if not pathlib.Path('/tmp').joinpath(os.environ['GO']).exists(): time.sleep(60)\n"
        "succeed()\n"
    )
    go = repository.path.parent / "go"
    repository.request(script)
    running = start(repository, "submit", "probe", GO=str(go))
    wait_for(lambda: "started" in log_of_rank_zero(repository))

    running.send_signal(number)
    output, _ = running.communicate(timeout=30)

    assert running.returncode == code, output
    assert "`traingate submit probe --rerun` starts anew" in output
    assert processes_of(repository) == []
    assert states(repository.runs()[0])[-1] == "Canceled"

    go.touch()
    again = start(repository, "submit", "probe", "--rerun", GO=str(go))
    output, _ = again.communicate(timeout=60)
    assert again.returncode == 0, output


def test_a_killed_launcher_takes_its_ranks_along_and_the_run_has_failed(repository, traingate):
    repository.request("import time\nprint('started', flush=True)\ntime.sleep(60)\n")
    running = start(repository, "submit", "probe")
    wait_for(lambda: "started" in log_of_rank_zero(repository))

    running.kill()
    running.communicate(timeout=30)

    wait_for(lambda: processes_of(repository) == [])
    status = traingate("status")
    assert "Failed" in status.output
    assert "its launcher ended without a word" in status.output
    card = traingate("card", "probe").output
    assert "rerun it" in card
    assert "Duration" not in card


def test_two_submits_at_the_same_moment_make_one_run(repository):
    repository.request(OUTCOME + "import time\ntime.sleep(1)\nsucceed()\n")

    both = [start(repository, "submit", "probe") for _ in range(2)]
    outputs = [one.communicate(timeout=60)[0] for one in both]

    assert [one.returncode for one in both] == [0, 0], outputs
    assert len(repository.runs()) == 1
    assert sum("already submitted" in output for output in outputs) == 1
    assert states(repository.runs()[0]) == ["Preparing", "Running", "Completed"]


def test_resume_goes_on_in_the_same_run(repository, traingate):
    script = OUTCOME + (
        "marker = pathlib.Path('outputs/checkpoint')\n"
        "if not marker.exists():\n"
        "    marker.touch(); raise SystemExit(75)\n"
        "succeed()\n"
    )
    repository.request(script, processes=None)
    first = traingate("submit", "probe")
    assert first.exit_code == 4
    assert "resumes from its checkpoint" in first.output
    (run,) = repository.runs()

    resumed = traingate("submit", "probe", "--resume", run.name)

    assert resumed.exit_code == 0, resumed.output
    assert states(run) == ["Preparing", "Running", "Failed", "Running", "Completed"]
    refused = traingate("submit", "probe", "--resume", run.name)
    assert refused.exit_code == 1
    assert "nothing to resume" in refused.output


def test_status_watch_and_cancel_follow_a_run(repository, traingate):
    repository.request("import time\nprint('started', flush=True)\ntime.sleep(60)\n")
    running = start(repository, "submit", "probe")
    wait_for(lambda: "started" in log_of_rank_zero(repository))
    (run,) = repository.runs()
    assert f"{run.name}  Running" in traingate("status", "probe").output
    watching = start(repository, "watch", run.name, "--every", "0.1")

    assert traingate("cancel", run.name).exit_code == 0
    running.communicate(timeout=30)
    watched, _ = watching.communicate(timeout=30)

    assert running.returncode == 143
    assert watching.returncode == 143, watched
    assert f"{run.name}  Canceled" in watched
    assert "was stopped before it was trained" in watched
    assert "stopped by SIGTERM" in traingate("status", run.name).output
    assert traingate("cancel", run.name).output == f"{run.name} is Canceled\n"


def test_a_workload_without_runs_has_none_yet(repository, traingate):
    repository.request("")
    assert traingate("status", "probe").output == "No runs of probe yet.\n"


def test_a_run_that_is_not_there_is_a_usage_error(repository, traingate):
    for verb in ("status", "watch", "cancel", "card"):
        result = traingate(verb, "nothing-l1")
        assert result.exit_code == 2
        assert "There is no run nothing-l1 here." in result.output


def test_threads_are_divided_among_the_ranks(repository, traingate, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    repository.request(OUTCOME + "print('threads', os.environ['OMP_NUM_THREADS'])\nsucceed()\n")

    traingate("submit", "probe")

    expected = max(1, len(os.sched_getaffinity(0)) // 2)
    assert f"threads {expected}" in log_of_rank_zero(repository)


def test_what_another_launcher_left_in_the_environment_reaches_no_rank(
    repository, traingate, monkeypatch
):
    monkeypatch.setenv("RANK", "7")
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "7")
    monkeypatch.setenv("TRAINGATE_RESULTS_URL", "postgresql://elsewhere")
    script = OUTCOME + (
        "assert not [k for k in os.environ if k.startswith('OMPI_')]\n"
        "assert 'RANK' not in os.environ\n"
        "assert os.environ['TRAINGATE_RESULTS_URL'].startswith('sqlite:////')\nsucceed()\n"
    )
    repository.request(script, processes=None)

    assert traingate("submit", "probe").exit_code == 0


def test_the_snapshot_has_what_git_would_track_and_nothing_else(repository, traingate):
    repository.write("jobs/probe/.gitignore", "secret.txt\n")
    repository.write("jobs/probe/src/secret.txt", "s3cret")
    repository.write("jobs/probe/src/part/helper.py", "X = 1\n")
    repository.request(
        OUTCOME + "print(sorted(map(str, pathlib.Path('.').rglob('*'))))\nsucceed()\n"
    )

    assert traingate("submit", "probe").exit_code == 0
    assert "'part/helper.py'" in log_of_rank_zero(repository)
    assert "secret.txt" not in log_of_rank_zero(repository)


def test_a_command_longer_than_an_argument_may_be_runs(repository, traingate):
    repository.request(WELL, command=f"{'true && ' * 20_000}python train.py")

    assert traingate("submit", "probe").exit_code == 0


def test_what_a_shell_ran_may_finish_its_checkpoint_after_sigterm(repository):
    script = (
        "import pathlib, signal, sys, time\n"
        "def checkpoint(*_):\n"
        "    time.sleep(0.5); pathlib.Path('outputs/checkpoint').touch(); sys.exit(75)\n"
        "signal.signal(signal.SIGTERM, checkpoint)\n"
        "print('started', flush=True)\ntime.sleep(60)\n"
    )
    repository.request(script, processes=None, command="python train.py && echo done")
    running = start(repository, "submit", "probe")
    wait_for(lambda: "started" in log_of_rank_zero(repository))

    running.send_signal(signal.SIGINT)
    running.communicate(timeout=30)

    assert (repository.runs()[0] / "outputs" / "checkpoint").exists()
    assert processes_of(repository) == []


def test_the_whole_log_is_shown_to_its_last_line(repository, traingate):
    script = OUTCOME + (
        "[print('x' * 99) for _ in range(2000)]\nsucceed()\nprint('the end', end='')\n"
    )
    repository.request(script, processes=None)

    assert "the end" in traingate("submit", "probe").output


def test_a_link_out_of_the_folder_is_refused(repository, traingate):
    repository.request(WELL)
    (repository.path / "jobs/probe/src/passwd").symlink_to("/etc/passwd")

    result = traingate("submit", "probe")

    assert result.exit_code != 0
    assert "symbolic link" in result.output
