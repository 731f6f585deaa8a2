"""The command line: the only place that reads argv and the environment, prints and exits."""

import gc
import importlib
import io
import sys
from collections.abc import Sequence
from types import ModuleType

import click

from traingate.errors import TraingateError

#: Each command lives in `traingate.commands.<name>` and is imported when it is asked for, so
#: that `check` never pays for the others.
COMMANDS = {
    "new": "Write a new request.",
    "check": "Find every mistake in requests, at its line.",
    "explain": "Print a rule's page.",
    "plan": "Show what a request would run, and what it costs at most.",
    "rehearse": "Run a request on this machine, scaled down, on throw-away stores.",
    "measure": "Measure one process: the evidence of an admission.",
    "submit": "Run a request on the platform's backend.",
    "status": "List runs, or show one.",
    "watch": "Follow a run to its end.",
    "cancel": "Ask for a run's end.",
    "card": "Print the card of a run.",
    "image": "Pin the training image in job files.",
    "doctor": "Say what is missing, too weak or drifted, and how to mend it.",
    "gate": "In CI: assess the requests a pull request changes.",
    "admit": "In CI: submit what a merge or a dispatch admits.",
    "train": "In CI: train one admitted run on this machine.",
    "report": "In CI: tell what became of open runs.",
}


class LazyGroup(click.Group):
    """A group whose commands are imported one at a time."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = _imported(f"traingate.commands.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """The list in `--help`, without importing what it lists."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="traingate")
def cli() -> None:
    """Admit, check, run and report distributed training on Azure Machine Learning."""


def _imported(name: str) -> ModuleType:
    """A module. What is imported stays for good, so looking for garbage in it is lost time."""
    gc.disable()
    try:
        return importlib.import_module(name)
    finally:
        gc.freeze()
        gc.enable()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with the code that `traingate.errors` documents."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal or pipe that is not UTF-8 gets `?` for what it cannot show.
            stream.reconfigure(errors="replace")
    sys.exit(_run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    try:
        code = cli.main(arguments, prog_name="traingate", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        return 130
    except TraingateError as error:
        from traingate.github.text import console  # noqa: PLC0415 - only when there is an error

        # It may quote a file, a log or a service: neither a terminal nor a runner obeys it.
        click.echo(console(f"traingate: {error}"), err=True)
        return error.exit_code
    return code if isinstance(code, int) else 0
