"""`traingate doctor --github`."""

from pathlib import Path

import click

from traingate.commands import loop
from traingate.documents import git
from traingate.documents.reading import platform_of
from traingate.errors import UsageProblem
from traingate.github.doctor import shortcomings


@click.command("doctor")
@click.option("--github", "of_github", is_flag=True, help="Read the live repository on GitHub.")
def command(*, of_github: bool) -> int:
    """Say what of the set-up is missing or too weak; exit 1 when something is."""
    if not of_github:
        raise UsageProblem("Nothing to look at.", todo="Use `traingate doctor --github`.")
    top = git.root(Path.cwd())
    platform = platform_of(top)
    found = shortcomings(
        loop.client(git.repository_name(top)), with_azure=platform.backend == "azureml"
    )
    for reason in found:
        click.echo(f"- {reason}")
    click.echo(f"{len(found)} to mend." if found else "Everything of docs/setup-github.md is set.")
    return 1 if found else 0
