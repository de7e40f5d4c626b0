"""The number and rate of concurrent requests, adapted to the server's replies.

As in TCP, the number of concurrent requests doubles until the server first reports too many, is
then halved, and grows by one with each round of successes. If one at a time is too fast and the
server does not say how long to wait, requests are spaced out, too. If it does, no request is sent
until then.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

# Seconds between requests if one at a time was too fast: at first, at most, and when none.
_SPACING, _MOST_SPACING, _LEAST_SPACING = 0.1, 10.0, 0.01
# Factor of the spacing after a success: half after 14.
_RECOVERY = 0.95


class Pace:
    """The pace at which a server is asked, within the limits known beforehand."""

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
        """How many concurrent requests are allowed now."""
        return int(self._width)

    @property
    def spacing(self) -> float:
        """Seconds from the start of one request to that of the next."""
        return max(self._spacing, self._known)

    def delay(self) -> float:
        """Return the number of seconds in which no request may start."""
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
        """Start no request for a number of seconds."""
        self._not_before = max(self._not_before, self._clock() + seconds)

    def too_fast(self, begun: float, wait: float | None = None) -> None:
        """Slow down, once for all requests that started before now."""
        if begun <= self._slowed:
            return
        self._slowed = self._clock()
        self._finding = False
        if self._width < 2 and wait is None:
            self._spacing = min(max(2 * self._spacing, _SPACING), _MOST_SPACING)
        self._width = max(1.0, self._width / 2)

    def worked(self) -> None:
        """Speed up a little after an answered request."""
        growth = 1.0 if self._finding else 1.0 / self._width
        self._width = min(self._width + growth, float(self._most))
        self._spacing *= _RECOVERY
        if self._spacing < _LEAST_SPACING:
            self._spacing = 0.0
