"""How many requests are under way, and how fast they follow, found out from what the server says.

As TCP does: the number of requests under way doubles until the server first says that there are
too many, is halved then, and grows by one with each round of successes after that. Where one at a
time is too fast and the server does not say how long to wait, requests are spaced, too. While it
says so, no request is begun.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

# Seconds between requests where one at a time was too fast: at first, at most, and when none.
_SPACING, _MOST_SPACING, _LEAST_SPACING = 0.1, 10.0, 0.01
# What is left of the spacing after a success: half after 14.
_RECOVERY = 0.95


class Pace:
    """The pace at which a server is asked, with the limits that are known beforehand."""

    def __init__(
        self,
        most: int,
        *,
        per_minute: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = most
        self._width = 1.0
        self._finding = True
        self._known = 60.0 / per_minute if per_minute else 0.0
        self._spacing = 0.0
        self._clock = clock
        self._not_before = 0.0
        self._next = 0.0
        self._slowed = -1.0
        self._active = 0
        self._changed = asyncio.Condition()

    @property
    def width(self) -> int:
        """How many requests may be under way now."""
        return int(self._width)

    @property
    def spacing(self) -> float:
        """Seconds from the beginning of one request to that of the next."""
        return max(self._spacing, self._known)

    def delay(self) -> float:
        """Return for how many seconds no request may be begun."""
        return max(self._not_before, self._next) - self._clock()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[float]:
        """Wait for one's turn, and hold it while the block runs; gives the time it began."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._active < self.width)
            self._active += 1
        try:
            while (left := self.delay()) > 0:
                await asyncio.sleep(left)
            begun = self._clock()
            self._next = begun + self.spacing
            yield begun
        finally:
            self._active -= 1
            async with self._changed:
                self._changed.notify_all()

    def pause(self, seconds: float) -> None:
        """Begin no request for so long."""
        self._not_before = max(self._not_before, self._clock() + seconds)

    def too_fast(self, begun: float, wait: float | None = None) -> None:
        """Slow down, once for all requests that were begun before that."""
        if begun <= self._slowed:
            return
        self._slowed = self._clock()
        self._finding = False
        if self._width < 2 and wait is None:
            self._spacing = min(max(2 * self._spacing, _SPACING), _MOST_SPACING)
        self._width = max(1.0, self._width / 2)

    def worked(self) -> None:
        """Go a little faster: a request was answered."""
        growth = 1.0 if self._finding else 1.0 / self._width
        self._width = min(self._width + growth, float(self._most))
        self._spacing *= _RECOVERY
        if self._spacing < _LEAST_SPACING:
            self._spacing = 0.0
