"""Time that passes when somebody waits for it."""

from dataclasses import dataclass

#: Monday, 30 November 2026, 12:00 UTC.
START = 1_796_040_000.0


@dataclass
class VirtualClock:
    """Seconds since the epoch; `sleep` moves it on at once."""

    seconds: float = START

    def now(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        assert seconds >= 0
        self.seconds += seconds
