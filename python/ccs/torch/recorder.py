"""PyTorch's flight recorder for the calls of groups: when a rank does not arrive, every rank of this
host writes its last calls, and PyTorch's analyser names the missing rank.

    TORCH_FR_DUMP_TEMP_FILE=/tmp/trace/rank_ torchrun ...
    python -m torch.distributed.flight_recorder.fr_trace /tmp/trace

The variables are PyTorch's, also by their older names with NCCL: TORCH_FR_DUMP_TEMP_FILE, to which
the rank is added, turns it on; TORCH_FR_BUFFER_SIZE is the number of calls that it keeps (2000); 0
turns it off, as TORCH_FR_DUMP_ON_TIMEOUT=0 does.

    call --recorded--> ring of entries --a call's time-out--> file of this rank
                                       --another rank's file (a thread looks)--^

The missing rank itself is in no call, so it cannot see the time-out; the files are the signal. The
rank that saw it waits a moment for the other ranks' files, for launchers end all when one fails.
"""

import os
import pickle
import re
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from typing import Any, Callable, Deque, Dict, List, Optional, Sequence

import torch
import torch.distributed as dist

from ..ends import Living
from ..errors import CcsError, Status

Entry = Dict[str, Any]

_VERSION = "2.10"  # of the format
_LOOK, _WAIT = (
    0.2,
    3.0,
)  # seconds: how often for other ranks' files, and how long for all of them
_OFF = ("0", "n", "no", "f", "false")
_FRAMES = 20  # of a call's stack, at most
_INSIDE = tuple(
    os.path.dirname(os.path.abspath(file)) + os.sep for file in (__file__, torch.__file__)
)

# Our names for PyTorch's where they differ.
_NAMES = {"allreduce": "all_reduce", "allgather": "all_gather", "alltoall": "all_to_all"}


def _setting(*names: str) -> Optional[str]:
    """Of the first variable that is set."""
    return next((os.environ[name] for name in names if os.environ.get(name)), None)


def _stack() -> List[Entry]:
    """The caller's functions, the innermost first, without PyTorch's and ours."""
    frames: List[Entry] = []
    frame = sys._getframe(1)  # pylint: disable=protected-access
    while frame is not None and len(frames) < _FRAMES:
        code = frame.f_code
        if not code.co_filename.startswith(_INSIDE):
            frames.append(
                {"name": code.co_name, "filename": code.co_filename, "line": frame.f_lineno}
            )
        frame = frame.f_back  # type: ignore[assignment]
    return frames


def _sizes(tensors: Sequence[Any]) -> List[List[int]]:
    return [list(tensor.shape) for tensor in tensors]


def _types(tensors: Sequence[Any]) -> List[str]:
    return [str(tensor.dtype) for tensor in tensors]


class Recorder:
    """Of a process; `rank` and `world` are of the whole job."""

    def __init__(self, prefix: str, size: int, rank: int, world: int) -> None:
        self._prefix, self._rank = prefix, rank
        self._entries: Deque[Entry] = deque(maxlen=size)
        self._groups: Dict[str, Entry] = {}  # by name: its configuration, as the file has it
        self._living: Living[Any] = Living()  # groups
        self._count = 0
        self._lock = threading.Lock()
        self._written = self._failed = False
        # Other ranks' files of an earlier job.
        self._before = {other: self._stamp(other) for other in range(world) if other != rank}
        threading.Thread(target=self._look, name="ccs.torch recorder", daemon=True).start()

    @staticmethod
    def wanted(rank: int, size: int) -> Optional["Recorder"]:
        """As the environment says. The numbers are those of the process's first group, which may be
        that of the whole job."""
        prefix = _setting("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE")
        dumps = _setting("TORCH_FR_DUMP_ON_TIMEOUT", "TORCH_NCCL_DUMP_ON_TIMEOUT") or "1"
        kept = _setting("TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE") or "2000"
        if not prefix or dumps.lower() in _OFF or not kept.isdigit() or int(kept) == 0:
            return None
        if dist.is_initialized():
            rank, size = dist.get_rank(), dist.get_world_size()
        return Recorder(prefix, int(kept), rank, size)

    # ---- calls --------------------------------------------------------------------------------

    def join(self, group: Any) -> None:
        """A new group. It gets its name later."""
        self._living.add(group)

    def _config(self, group: Any) -> Entry:
        name, desc = group.group_name, group.group_desc
        ranks: Sequence[int] = range(group.size())
        with suppress(Exception):  # PyTorch's numbers in the whole job, if it has them
            ranks = dist.get_process_group_ranks(group)
        return {"name": name, "desc": desc, "ranks": str(list(ranks))}

    def recorded(
        self,
        group: Any,
        operation: str,
        function: Callable[[], None],
        like: Optional[torch.Tensor],
        outputs: Sequence[torch.Tensor],
    ) -> Callable[[], None]:
        """The function of a call that is about to be put in its place, recorded. PyTorch's analyser
        compares the sizes of ranks: blocks for all ranks are one tensor in them."""
        config = self._config(group)
        inputs = [] if like is None else [like]
        took, gave = _sizes(inputs), _sizes(outputs)
        if operation in ("allreduce", "broadcast", "reduce"):
            took = gave
        elif operation == "reduce_scatter":
            took = [[tensor.numel() * group.size()] for tensor in inputs]
        elif operation == "allgather":
            gave = [[tensor.numel() * group.size()] for tensor in inputs]
        sequence = group._get_sequence_number_for_group()
        entry: Entry = {
            "pg_id": 0,
            "process_group": (config["name"], config["desc"]),
            "collective_seq_id": sequence,
            "p2p_seq_id": 0,
            "op_id": sequence,
            "profiling_name": f"c10d:{_NAMES.get(operation, operation)}",
            "time_created_ns": time.time_ns(),
            "input_sizes": took,
            "input_dtypes": _types(inputs),
            "output_sizes": gave,
            "output_dtypes": _types(outputs),
            "state": "scheduled",
            "time_discovered_started_ns": None,
            "time_discovered_completed_ns": None,
            "retired": False,
            "timeout_ms": int(group._timeout.total_seconds() * 1000),
            "is_p2p": False,
            "frames": _stack(),
        }
        with self._lock:
            self._groups[config["name"]] = config
            entry["record_id"] = self._count
            self._count += 1
            self._entries.append(entry)
        rank = group.rank()
        return lambda: self._run(entry, function, rank)

    def _run(self, entry: Entry, function: Callable[[], None], rank: int) -> None:
        """The call, by a rank of its group."""
        entry["state"], entry["time_discovered_started_ns"] = "started", time.time_ns()
        try:
            function()
        except CcsError as error:
            entry["retired"] = True
            if error.status == Status.ETIMEOUT:
                self._timed_out(entry, str(error), rank)
            raise
        entry["state"], entry["time_discovered_completed_ns"] = "completed", time.time_ns()
        entry["retired"] = True

    def _timed_out(self, entry: Entry, text: str, rank: int) -> None:
        """Its text has the ranks that had not called, and where the first of the waiting ranks wait."""
        waits = re.findall(r"\brank (\d+) waits at ([^;]*?):(\d+) ([^;]*)", text)
        waits.sort(key=lambda wait: int(wait[0]) != rank)
        with self._lock:
            entry["frames"][:0] = [
                {"name": f"rank {who} waits {why}", "filename": file, "line": int(line)}
                for who, file, line, why in waits
            ]
            # It came after the other ranks had given up.
            if re.search(rf"\brank {rank} has not called", text) and entry in self._entries:
                self._entries.remove(entry)
            # The thread may have written the call already, without this.
            self._written, self._failed = self._failed, True
        self._write()
        end = time.monotonic() + _WAIT
        while not all(map(self._is_new, list(self._before))) and time.monotonic() < end:
            time.sleep(_LOOK / 4)

    # ---- files --------------------------------------------------------------------------------

    def _stamp(self, rank: int) -> Optional[int]:
        try:
            return os.stat(f"{self._prefix}{rank}").st_mtime_ns
        except OSError:
            return None

    def _is_new(self, rank: int) -> bool:
        return self._stamp(rank) not in (None, self._before[rank])

    def _look(self) -> None:
        """By the thread. It calls nothing of PyTorch's, so the interpreter may end meanwhile."""
        while not self._written:
            time.sleep(_LOOK)
            if any(map(self._is_new, list(self._before))):
                self._write()

    def _write(self) -> None:
        """Once: the first stall is the one to look at. If it cannot write, the calls' errors remain."""
        with self._lock, suppress(OSError):
            if self._written:
                return
            self._written = True
            for group in self._living:
                config = self._config(group)
                self._groups[config["name"]] = config
            path = f"{self._prefix}{self._rank}"
            whole = {
                "version": _VERSION,
                "entries": list(self._entries),
                "pg_config": self._groups,
                "pg_status": {},
            }
            os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
            # A name that the analyser does not read.
            part = os.path.join(os.path.dirname(path), f".ccs-{os.getpid()}.part")
            with open(part, "wb") as file:
                pickle.dump(whole, file)
            os.replace(part, path)
