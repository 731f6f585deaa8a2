"""What every step of the loop works with; made by the command line, by hand in tests."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from traingate.backends.base import Backend
from traingate.documents.platform import Platform
from traingate.github.api import GitHub
from traingate.github.approvals import IsMember, members_of
from traingate.github.clock import Clock
from traingate.github.problems import NotThere
from traingate.loop.history import History

#: Opens the backend a platform names, for requests in the work tree at a path.
OpenBackend = Callable[[Platform, Path], Backend]


@dataclass(frozen=True, kw_only=True, slots=True)
class World:
    """GitHub, the clone, the clock and the way to a backend.

    Args:
        github: the client under the workflow's own token.
        teams: a client that may read team membership (an App token), None without one.
        history: the full clone, at the default branch's tip.
        branch: the default branch.
        tip: its newest commit.
        today: the day requests are judged on, as `TRAINGATE_TODAY` may fix it.
        clock: for everything finer than a day.
        run_url: the page of this workflow run, where whole texts stand.
        open_backend: see `OpenBackend`.
    """

    github: GitHub
    teams: GitHub | None = None
    history: History
    branch: str
    tip: str
    today: date
    clock: Clock
    run_url: str
    open_backend: OpenBackend

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.clock.now(), tz=UTC)

    def membership(self, platform: Platform) -> IsMember:
        """Team membership by `approvers`, else by the App token, else unknown."""
        listed = members_of(platform.approvers)

        def is_member(team: str, person: str) -> bool | None:
            if team in listed:
                return person.lower() in listed[team]
            if self.teams is None:
                return None
            organisation, _, slug = team.removeprefix("@").partition("/")
            try:
                return self.teams.team_has(organisation, slug, person)
            except NotThere:
                return False

        return is_member
