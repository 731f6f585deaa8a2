"""Commands taken apart: what a shell would run, and nothing it would not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traingate.rules.command import read_command
from traingate.rules.shell import simple_commands


@pytest.mark.parametrize(
    ("command", "launchers"),
    [
        ("torchrun --nproc_per_node 4 train.py", ["torchrun"]),
        ("cd x && /opt/conda/bin/torchrun train.py", ["torchrun"]),
        ("A=1 B='2 3' deepspeed train.py", ["deepspeed"]),
        ("env -u X A=1 nohup timeout -k 5 60 mpirun -np 4 python t.py", ["mpirun"]),
        ("conda run -n env accelerate launch t.py", ["accelerate launch"]),
        ('bash -c "torchrun t.py; horovodrun x"', ["torchrun", "horovodrun"]),
        ("bash -lc 'bash -c \"torchrun t.py\"'", ["torchrun"]),
        ("bash <<EOF\ntorchrun t.py\nEOF", ["torchrun"]),
        ("(torchrun t.py) | tee log", ["torchrun"]),
        ("python -m torch.distributed.run t.py", ["python -m torch.distributed.run"]),
        ("x || ray start --head", ["ray start"]),
        ("if a; then\n  torchrun t.py\nfi", ["torchrun"]),
        ("python prepare.py \\\n && torchrun t.py", ["torchrun"]),
        ("python -mtorch.distributed.run t.py", ["python -m torch.distributed.run"]),
        ("python -um torch.distributed.launch t.py", ["python -m torch.distributed.launch"]),
        ("python -m deepspeed.launcher.launch t.py", ["python -m deepspeed.launcher.launch"]),
        ("eval torchrun t.py", ["torchrun"]),
        ('eval "torchrun t.py"', ["torchrun"]),
        ("echo t.py | xargs -n 1 torchrun", ["torchrun"]),
        ("setsid strace -f torchrun t.py", ["torchrun"]),
        ("nsys profile -o x --trace=cuda torchrun t.py", ["torchrun"]),
        ("accelerate-launch t.py", ["accelerate-launch"]),
        ("L=torchrun && $L t.py", ["torchrun"]),
        (
            "export L='python -m torch.distributed.run'; ${L} t.py",
            ["python -m torch.distributed.run"],
        ),
        ("eval echo torchrun", []),
        ("L=torchrun && echo $L", []),
        ("nsys profile python t.py", []),
        ("echo torchrun", []),
        ("pip install torchrun accelerate deepspeed", []),
        ("python deepspeed.py", []),
        ("./deepspeed.sh", []),
        ("python t.py --launcher torchrun", []),
        ("echo '; torchrun t.py'", []),
        ("# torchrun t.py", []),
        ("cat <<EOF > f\ntorchrun t.py\nEOF\necho", []),
        ("which torchrun && command -v mpirun && torchrun --help", []),
        ("accelerate config default && ray status", []),
        ("python -c 'import torchrun'", []),
        ("export LAUNCHER=torchrun", []),
        ("python t.py > torchrun", []),
        ("${{inputs.launcher}} torchrun", []),
    ],
)
def test_launchers(command, launchers):
    assert list(read_command(command).launchers) == launchers


@pytest.mark.parametrize(
    ("command", "scripts"),
    [
        ("python train.py", ["train.py"]),
        ("python -u -W ignore sub/../train.py --x y.py", ["train.py"]),
        ("cd a && cd b && python c.py", ["a/b/c.py"]),
        ("torchrun --nnodes 2 train.py --config x.py", ["train.py"]),
        ("./run.sh && bash other.sh", ["run.sh", "other.sh"]),
        ("python a.py 2>&1 | tee log.txt", ["a.py"]),
        ("python ${{inputs.script}}", []),
        ("python $HOME/train.py", []),
        ("python /train.py", []),
        ("cd /x && python train.py", []),
        ("git clone x && python x/train.py", []),
        ("python -m pytest train.py", []),
    ],
)
def test_scripts(command, scripts):
    assert list(read_command(command).scripts) == scripts


def test_unbalanced_quotes_are_no_shell_and_say_nothing():
    line = read_command("torchrun 'train.py")

    assert not line.is_clear
    assert line.launchers == ()


def test_what_is_too_long_to_be_a_command_says_nothing():
    assert not read_command("true;" * 100_000).is_clear


@given(st.text(alphabet=st.sampled_from("ab \n\t'\"\\;&|()<>#$={}EOF12-`"), max_size=200))
def test_any_text_has_commands_or_none(text):
    commands = simple_commands(text)

    assert commands is None or all(words for words in commands)
    read_command(text)


@given(st.lists(st.sampled_from(["echo", "torchrun", "a b", "x;y", "'", "$(x)"]), min_size=1))
def test_quoted_words_stay_words(words):
    import shlex

    assert simple_commands(shlex.join(words)) == (tuple(words),)
