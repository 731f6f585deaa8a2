"""`traingate explain RULE`."""

import click

from traingate.errors import UsageProblem
from traingate.report import pages


@click.command("explain")
@click.argument("rule", metavar="RULE|NAME")
def command(rule: str) -> None:
    """Print a rule's page: what it does, why, an example, the fix and its source."""
    page = pages.named(rule)
    if page is None:
        raise UsageProblem(
            f"There is no rule `{rule}`.", todo="docs/rules.md lists them by id and name."
        )
    click.echo(pages.explained(page), nl=False)
