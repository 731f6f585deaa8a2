"""GitHub's limits on GITHUB_TOKEN, on the test's own clock."""

from collections import deque
from dataclasses import dataclass, field

from github.fake.clock import VirtualClock

#: Most requests or writes in so many seconds.
REQUESTS = (1_000, 3_600)
WRITES = ((80, 60), (500, 3_600))


@dataclass
class Limits:
    """Counts requests; says how a request is refused, or None."""

    clock: VirtualClock
    window_ends: float = 0.0
    used: int = 0
    writes: deque[float] = field(default_factory=deque)

    def refusal(self, *, is_write: bool) -> tuple[int, dict[str, str], str] | None:
        now = self.clock.now()
        if now >= self.window_ends:
            self.window_ends, self.used = now + REQUESTS[1], 0
        if self.used >= REQUESTS[0]:
            return 403, {}, "API rate limit exceeded for installation."
        self.used += 1
        if is_write:
            while self.writes and self.writes[0] <= now - 3_600:
                self.writes.popleft()
            for most, seconds in WRITES:
                recent = [at for at in self.writes if at > now - seconds]
                if len(recent) >= most:
                    wait = str(int(recent[0] + seconds - now) + 1)
                    message = "You have exceeded a secondary rate limit."
                    return 403, {"retry-after": wait}, message
            self.writes.append(now)
        return None

    def headers(self) -> dict[str, str]:
        return {
            "x-ratelimit-limit": str(REQUESTS[0]),
            "x-ratelimit-remaining": str(REQUESTS[0] - self.used),
            "x-ratelimit-reset": str(int(self.window_ends)),
        }
