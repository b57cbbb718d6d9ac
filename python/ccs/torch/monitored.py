"""The barrier that names the missing ranks: by torch's store, so that it works when calls hang.

    every rank: "I am there" --store--> rank 0, which waits for each until the timeout
    rank 0: all are there, or the missing ranks --store--> every rank

The texts begin as gloo's do: programs look for them.
"""

import time
from datetime import timedelta
from typing import Any, List

from ..errors import CcsError, Status

_LEAST = timedelta(milliseconds=1)  # that a store waits


def _milliseconds(timeout: timedelta) -> int:
    return int(timeout.total_seconds() * 1000)


class MonitoredBarrier:
    """Of a group's processes. One thread calls it at a time."""

    def __init__(self, store: Any, rank: int, size: int) -> None:
        self._store, self._rank, self._size = store, rank, size
        self._round = 0

    def wait(self, timeout: timedelta, all_ranks: bool) -> None:
        """Returns when all ranks have called it. CcsError: rank 0's names the first rank that has
        not within the timeout, or all such ranks; the other ranks' errors say so, too."""
        self._round += 1
        if self._rank:
            self._follow(timeout)
        else:
            self._lead(timeout, all_ranks)
            self._forget()

    def _key(self, what: object, number: int) -> str:
        return f"{number}/{what}"

    def _forget(self) -> None:
        """The round before: all have left it."""
        if self._round > 1:
            for what in ("end", *range(1, self._size)):
                self._store.delete_key(self._key(what, self._round - 1))

    def _comes(self, what: object, end: float) -> bool:
        left = max(_LEAST, timedelta(seconds=end - time.monotonic()))
        try:
            self._store.wait([self._key(what, self._round)], left)
        except RuntimeError:
            return False
        return True

    def _lead(self, timeout: timedelta, all_ranks: bool) -> None:
        end = time.monotonic() + timeout.total_seconds()
        missing: List[int] = []
        if timeout <= timedelta(0):
            raise CcsError(Status.ETIMEOUT, "Rank 0 timed out in monitoredBarrier after 0 ms")
        for rank in range(1, self._size):
            if not self._comes(rank, end):
                missing.append(rank)
                if not all_ranks:
                    break
        text = ""
        if missing:
            ranks = ", ".join(str(rank) for rank in missing)
            text = (
                f"Rank{'s' if len(missing) > 1 else ''} {ranks} failed to pass monitoredBarrier in "
                f"{_milliseconds(timeout)} ms"
            )
        self._store.set(self._key("end", self._round), f"'{text}'")
        if text:
            raise CcsError(Status.ETIMEOUT, text)

    def _follow(self, timeout: timedelta) -> None:
        self._store.set(self._key(self._rank, self._round), "there")
        why = f"nothing within {_milliseconds(timeout)} ms"
        if self._comes("end", time.monotonic() + timeout.total_seconds()):
            why = self._store.get(self._key("end", self._round)).decode()[1:-1]
        if why:
            raise CcsError(
                Status.ETIMEOUT,
                f"Rank {self._rank} successfully reached monitoredBarrier, but received errors "
                f"while waiting for send/recv from rank 0: {why}",
            )
