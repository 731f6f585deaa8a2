"""`traingate new WORKLOAD`."""

import math
import re
from datetime import timedelta
from typing import Any

import click

from traingate.commands import world
from traingate.documents.platform import Platform, Target
from traingate.documents.reading import platform_of
from traingate.errors import UsageProblem
from traingate.new import Answers, gpus_of, request_files, write

_SLUG = re.compile(r"[a-z0-9][a-z0-9-]{1,62}")


class _Written(click.ParamType[str]):
    """Text as the admission's schema has it; `told` says how to write what does not match."""

    def __init__(self, name: str, pattern: str, told: str) -> None:
        self.name = name
        self.pattern = re.compile(pattern)
        self._told = told

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not self.pattern.fullmatch(value):
            self.fail(f"{value!r} is no {self._told}", param, ctx)
        return value


OWNER = _Written(
    "owner",
    r"@[A-Za-z0-9][A-Za-z0-9-]*(/[A-Za-z0-9._-]+)?|[^@\s]+@[^@\s]+",
    "owner: write @organisation/team, @person or an address",
)
MODEL = _Written(
    "model",
    r"[A-Za-z0-9_]([A-Za-z0-9_. -]*[A-Za-z0-9_])?",
    "model name: use letters, digits, `_`, `-`, `.` and inner blanks",
)


@click.command("new")
@click.argument("workload")
@click.option("--owner", type=OWNER, metavar="TEXT",
              help='Who answers for it, as CODEOWNERS writes it: "@contoso/vision".')  # fmt: skip
@click.option("--need", type=click.Choice(["memory", "time"]), help="Why one node will not do.")
@click.option("--target", help="The compute it is to run on.")
@click.option("--nodes", type=click.IntRange(1), help="Nodes of one run.")
@click.option("--processes", type=click.IntRange(1), help="Processes a node; usually its GPUs.")
@click.option("--hours", type=click.FloatRange(0.1, 504), help="The longest a run may take.")
@click.option("--runs", type=click.IntRange(1), help="How many runs are asked for.")
@click.option("--days", type=click.IntRange(1), help="How many days the admission is to hold.")
@click.option("--model", type=MODEL, metavar="TEXT", help="Name of the registered model.")
def command(workload: str, **given: object) -> None:
    """Write a new request; what is not given as an option is asked."""
    top = world.repository()
    platform = platform_of(top)
    request = request_files(_ask(workload, platform, given), platform)
    write(top, request)
    for path in request:
        click.echo(f"wrote {path}")
    click.echo(
        f"\nNext: put your training into jobs/{workload}/src/train.py, then\n"
        f"  traingate rehearse {workload}   run it small, on this machine\n"
        f"  traingate measure {workload}    measure one process: the evidence\n"
        f"  traingate check {workload}      see what is left to write (TODO)"
    )


def _ask(workload: str, platform: Platform, given: dict[str, object]) -> Answers:
    if not _SLUG.fullmatch(workload):
        raise UsageProblem(
            f"`{workload}` cannot name a workload.",
            todo="Use 2 to 63 lower-case letters, digits and hyphens.",
        )
    if not platform.targets:
        raise UsageProblem(
            "platform.yml offers no target.", todo="Have the platform's owner declare one."
        )
    ask = _Asker(given)
    owner = ask("owner", 'Who answers for it ("@organisation/team")', None)
    need = ask("need", "Why one node will not do", "memory")
    names = click.Choice(list(platform.targets))
    target = _target(platform, ask("target", "Target", next(iter(platform.targets)), names))
    nodes = ask("nodes", f"Nodes (of {target.size})", 1)
    processes = ask("processes", "Processes a node", gpus_of(target))
    hours = ask("hours", "Hours a run may take", 12.0)
    runs = ask("runs", "How many runs", 3)
    longest = platform.longest_admission_days
    days = ask("days", "For how many days", min(90, longest))
    _refuse(
        (nodes > target.max_nodes, f"{target.name} has {target.max_nodes} node(s), not {nodes}"),
        (not math.isfinite(hours), "a run's hours are a number"),
        (days > longest, f"an admission holds for {longest} days at most, not {days}"),
    )
    return Answers(
        workload=workload,
        owner=owner,
        need=need,
        target=target,
        nodes=nodes,
        processes_per_node=processes,
        hours=hours,
        runs=runs,
        expires=world.today() + timedelta(days=days),
        model=ask("model", "Name of the registered model", workload),
    )


def _refuse(*mistakes: tuple[bool, str]) -> None:
    """Refuse what the policy would refuse later, before a file is written."""
    told = [mistake for is_there, mistake in mistakes if is_there]
    if told:
        raise UsageProblem(
            f"Nothing was written: {'; '.join(told)}.",
            todo="Answer within platform.yml, or have its owner change it.",
        )


class _Asker:
    """Answers from options where they were given, else from the terminal."""

    def __init__(self, given: dict[str, object]) -> None:
        self._given = given
        parameters = click.get_current_context().command.params
        self._types = {parameter.name: parameter.type for parameter in parameters}

    def __call__(
        self, name: str, question: str, default: object, choice: click.Choice[str] | None = None
    ) -> Any:
        if self._given[name] is not None:
            return self._given[name]
        try:
            return click.prompt(question, default=default, type=choice or self._types[name])
        except click.Abort as stopped:
            if not isinstance(stopped.__context__, EOFError):
                raise
            click.echo()  # The question's line is still open.
            raise UsageProblem(
                "The input ended before every question was answered, so nothing was written.",
                todo=f"Answer on a terminal, or give --{name} and the other options.",
            ) from stopped


def _target(platform: Platform, name: object) -> Target:
    target = platform.targets.get(str(name))
    if target is None:
        raise UsageProblem(
            f"platform.yml has no target `{name}`.",
            todo=f"Choose one of {', '.join(platform.targets)}.",
        )
    return target
