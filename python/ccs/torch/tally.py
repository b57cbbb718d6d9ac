"""Which schedule ran which operation, and which calls were not run, and why: for report(), and the
end."""

import os
import sys
import threading
from typing import Dict, List, Optional, Tuple

REPORT = "CCS_SCHEDULES_REPORT"
_REASONS = 64  # kept of an operation; more are one line


class Tally:
    """Calls of this process's groups, counted."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ran: Dict[Tuple[str, str], int] = {}
        self._refused: Dict[Tuple[str, str], int] = {}
        self.rank: Optional[int] = None  # of the first group

    def ran(self, operation: str, by: str, calls: int = 1) -> None:
        with self._lock:
            self._ran[(operation, by)] = self._ran.get((operation, by), 0) + calls

    def refused(self, operation: str, why: str) -> None:
        with self._lock:
            if len(self._refused) >= _REASONS and (operation, why) not in self._refused:
                why = "other reasons"
            self._refused[(operation, why)] = self._refused.get((operation, why), 0) + 1

    def lines(self) -> List[str]:
        with self._lock:
            ran, refused = sorted(self._ran.items()), sorted(self._refused.items())
        return [
            *(f"{operation}: {_calls(n)} by {by}" for (operation, by), n in ran),
            *(f"{operation}: {_calls(n)} not run: {why}" for (operation, why), n in refused),
        ]

    def text(self) -> str:
        lines = self.lines() or ["no calls"]
        return "".join(f"ccs.torch: {line}\n" for line in lines)


def _calls(number: int) -> str:
    return f"{number} call" if number == 1 else f"{number} calls"


def print_at_end(tally: Tally) -> None:
    """To stderr, by rank 0; or where CCS_SCHEDULES_REPORT says: a file, by every rank if its name
    has %r for the rank; 0: nowhere."""
    where = os.environ.get(REPORT, "")
    if where == "0" or tally.rank is None or (tally.rank and "%r" not in where):
        return
    if not where:
        sys.stderr.write(tally.text())
        return
    try:
        with open(where.replace("%r", str(tally.rank)), "w", encoding="utf-8") as file:
            file.write(tally.text())
    except OSError as error:
        sys.stderr.write(f"ccs.torch: {REPORT}: {where}: {error.strerror}\n{tally.text()}")
