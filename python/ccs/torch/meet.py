"""How the processes of a group meet: on one host over shared memory, on several by MPI, if mpirun
has started them.

    store: the place of each --on one host--> Comm.procs
                             --on several---> Comm.members of the job, which Comm.mpi opens once
"""

import ctypes
import os
import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, List, NoReturn, Optional

from ..comm import ABORTED, Comm
from ..errors import CcsError, Status
from ..native import check, library

_BOOT = "/proc/sys/kernel/random/boot_id"
_SECONDS_MAX = 4294966  # what libccs takes
_TAGS = 32768  # of Comm.members
# What the mpirun of Open MPI, and of MPICH and its kin, puts into the environment.
_LAUNCHERS = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
)

_job: Optional[Comm] = None
"""All processes that mpirun has started; while it is open MPI is."""


def _forget() -> None:
    """In a process that has forked, where MPI is not."""
    global _job  # pylint: disable=global-statement
    _job = None


os.register_at_fork(after_in_child=_forget)


def seconds_of(timeout: timedelta) -> int:
    """For libccs."""
    return min(_SECONDS_MAX, max(1, int(timeout.total_seconds())))


# ---- where a process is ----------------------------------------------------------------------


def host() -> str:
    """The host, and the container: processes of two have no memory in common."""
    try:
        with open(_BOOT, encoding="ascii") as file:
            return f"{file.read().strip()}/{os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return "unknown"


@dataclass(frozen=True)
class Place:
    """A process: its host, and its rank of `size` processes that mpirun has started; -1: it was
    started otherwise."""

    host: str
    rank: int = -1
    size: int = 0

    @classmethod
    def here(cls) -> "Place":
        """This process's."""
        for rank, size in _LAUNCHERS:
            numbers = [os.environ.get(name, "") for name in (rank, size)]
            if all(number.isdecimal() for number in numbers):
                return cls(host(), *map(int, numbers))
        return cls(host())

    def text(self) -> str:
        """For the store."""
        return f"{self.rank} {self.size} {self.host}"

    @classmethod
    def read(cls, text: str) -> "Place":
        """The place that a text() is of."""
        rank, size, where = text.split(" ", 2)
        return cls(where, int(rank), int(size))


def _all(store: Any, what: str, rank: int, size: int, mine: str) -> List[str]:
    """The texts of all ranks."""
    store.set(f"ccs/{what}/{rank}", f"={mine}")  # never empty
    return [store.get(f"ccs/{what}/{other}").decode()[1:] for other in range(size)]


# ---- several hosts ---------------------------------------------------------------------------


def _refuse(places: List[Place], why: str) -> NoReturn:
    far = next(r for r, place in enumerate(places) if place.host != places[0].host)
    raise CcsError(
        Status.EUNSUPPORTED,
        f"ranks 0 and {far} are on different hosts, which the back end ccs connects by MPI: {why}; "
        "gloo's groups, such as new_group(backend='gloo'), need no MPI",
    )


def _without_mpi() -> str:
    """Why this process cannot start MPI; "": it can."""
    try:
        check(library().ccs_mpi_library(ctypes.byref(ctypes.c_void_p())))
    except CcsError as error:
        return str(error)
    return ""


def _open_job(store: Any, rank: int, places: List[Place]) -> Comm:
    """All processes that mpirun has started, which call it together."""
    size = places[0].size
    if len(places) < size:
        _refuse(
            places,
            f"the first such group must have all {size} processes that mpirun has started, and it "
            f"has {len(places)}: make the default group with ccs, and this one after it",
        )
    for other, why in enumerate(_all(store, "mpi", rank, len(places), _without_mpi())):
        if why:
            _refuse(places, f"rank {other}: {why}")
    job = Comm.mpi(threads=True)
    job.set_timeout(ABORTED)  # for ranks at the end of MPI, after a failure
    if (job.rank, job.size) != (places[rank].rank, size):
        job.close()
        _refuse(
            places,
            f"mpirun has started rank {places[rank].rank} of {size}, which is rank {job.rank} of "
            f"{job.size} there: use the mpirun of the MPI that libccs_mpi.so was built with",
        )
    return job


def _by_mpi(store: Any, rank: int, places: List[Place], tag: int) -> Comm:
    global _job  # pylint: disable=global-statement
    for other, place in enumerate(places):
        if place.rank < 0:
            _refuse(places, f"start all ranks with mpirun, as rank {other} was not")
    ranks = [place.rank for place in places]
    if len(set(ranks)) < len(ranks) or len({place.size for place in places}) > 1:
        _refuse(places, "start all ranks with one mpirun")
    if _job is None:
        _job = _open_job(store, rank, places)
    return _job.members(ranks, tag)


# ---- all ---------------------------------------------------------------------------------------


def meet(store: Any, rank: int, size: int, timeout: timedelta) -> Comm:
    """A communicator of the group's processes. By the store they exchange where they are, and the
    name by which they meet."""
    if rank == 0:
        store.set("ccs/job", uuid.uuid4().hex)
    places = [Place.read(text) for text in _all(store, "place", rank, size, Place.here().text())]
    job = store.get("ccs/job").decode()
    if len({place.host for place in places}) > 1:
        comm = _by_mpi(store, rank, places, int(job, 16) % _TAGS)
    else:
        comm = Comm.procs(rank, size, job=f"torch-{job}", seconds=seconds_of(timeout))
    comm.set_timeout(seconds_of(timeout))
    return comm


def all_of(comm: Comm, timeout: timedelta) -> Comm:
    """Another communicator of all its ranks."""
    other = comm.split(0)
    assert isinstance(other, Comm)
    other.set_timeout(seconds_of(timeout))
    return other
