"""Which schedule runs a collective: by CCS_SCHEDULES, and the defaults.

    CCS_SCHEDULES --parse--> Parts --choose(call)--> Choice: a module, or gloo

The text is a tuning in its short form (ccs-tuning(5)), which the library reads. Sizes are those of a
block in bytes, as in CCS_MPI (libccs-mpi(7)). A part's file is a module that ccc has made, a `.ccs`,
which is compiled for the group's number of ranks, with the `-D NAME=NUMBER` that follow it, or
`gloo`; of a tuning, the sections for processes count. The first part that holds a call runs it; if it
cannot, the call fails: no other part replaces it. The defaults run the calls that no part of
CCS_SCHEDULES holds.

All ranks choose alike without asking one another: a choice depends on the text, the number of
ranks, the block's size, and the tensors' device. On GPUs a `.ccs` is compiled with kernels. With
CCS_DEBUG=INFO rank 0 of a group prints, for each size, the part that runs its calls.
"""

import os
import re
import sys
import threading
from dataclasses import dataclass, field, replace
from typing import Dict, List, Optional, Set, Tuple

from ..compiler import compile as compile_schedule
from ..compiler import library_schedule
from ..errors import ArgumentError, CcsError, Status
from ..module import Module
from ..native import RunOptions
from ..tuning import Tuning, tuning_parts

VARIABLE = "CCS_SCHEDULES"
DEBUG = "CCS_DEBUG"
GLOO = "gloo"
P2P = "p2p"  # send and recv, which no schedule runs: ccs_send and ccs_recv, or gloo

# Collective: its contract, and the blocks of a rank's send and receive buffers (-1: N).
CONTRACTS = {
    "allreduce": ("allreduce", (1, 1)),
    "reduce_scatter": ("reduce_scatter", (-1, 1)),
    "allgather": ("allgather", (1, -1)),
    "broadcast": ("broadcast", (1, 1)),
    "reduce": ("reduce", (1, 1)),
    "alltoall": ("all_to_all", (-1, -1)),
    "alltoallv": ("all_to_all", (-1, -1)),  # with separate sizes
    "gather": ("gather", (1, -1)),
    "scatter": ("scatter", (-1, 1)),
    "barrier": ("barrier", (0, 0)),
}
_ROOTED = {"broadcast", "reduce", "gather", "scatter"}
_ALIASES = {"reduce_scatter_block": "reduce_scatter"}  # CCS_MPI's name

DEFAULTS = (
    "allreduce:recursive_doubling_allreduce.ccs@-16K,allreduce:ring_allreduce.ccs,"
    "reduce_scatter:ring_reduce_scatter.ccs,"
    "allgather:bruck_allgather.ccs@-4K,allgather:ring_allgather.ccs,"
    "broadcast:binomial_broadcast.ccs,reduce:binomial_reduce.ccs,"
    "alltoall:pairwise_all_to_all.ccs,alltoallv:uneven_all_to_all.ccs,"
    "gather:binomial_gather.ccs,scatter:binomial_scatter.ccs,"
    "barrier:dissemination_barrier.ccs"
)

_ENGINES = {"procs": "cpu", "mpi": "cpu", "cuda": "cuda"}  # and what ccc compiles for
_SIZE_MAX = 2**64 - 1


@dataclass(frozen=True)
class Part:
    """The part that runs a collective's calls with blocks of `least` to `most` bytes."""

    collective: str
    file: str
    least: int = 0
    most: int = _SIZE_MAX
    default: bool = False
    tuning: bool = False  # `file` is one, for any collective
    defines: Tuple[str, ...] = ()  # NAME=NUMBER, for the schedule's parameters
    text: str = field(default="", compare=False)  # as it was written

    @property
    def label(self) -> str:
        """For people, before it was loaded."""
        if self.by_gloo:
            return f"{GLOO}, as {VARIABLE} says"
        return " -D ".join([self.file, *self.defines])

    @property
    def by_gloo(self) -> bool:
        return self.file == GLOO

    @property
    def why(self) -> str:
        """For people: which part this is."""
        return f"{'default' if self.default else VARIABLE} {self.text}"

    def holds(self, collective: str, block: int) -> bool:
        return self.collective == collective and self.least <= block <= self.most


@dataclass(frozen=True)
class Choice:
    """The choice for a call; module None: gloo."""

    module: Optional[Module]
    label: str
    options: Optional[RunOptions] = None
    why: str = ""


# ---- reading ---------------------------------------------------------------------------------


def _wrong(part: str, why: str) -> ArgumentError:
    return ArgumentError(f"{VARIABLE}: '{part}': {why}")


def _part(
    text: str, collective: Optional[str], file: str, least: int, most: int, default: bool
) -> Part:
    if collective is None:
        return Part("", file, tuning=True, text=text)
    collective = _ALIASES.get(collective, collective)
    if collective not in CONTRACTS and collective != P2P:
        raise _wrong(text, f"no such collective; there are {', '.join([*CONTRACTS, P2P])}")
    file, *defines = (word.strip() for word in re.split(r"\s-D", file))
    if defines and not file.endswith(".ccs"):
        raise _wrong(text, "-D is for a .ccs: a module has the numbers that it was compiled with")
    for define in defines:
        if not re.fullmatch(r"\w+=-?\w+", define):
            raise _wrong(text, f"'-D {define}': write -D NAME=NUMBER")
    if file != GLOO and not file.endswith((".so", ".ccs")):
        raise _wrong(text, "what runs it must be a .so of ccc's, a .ccs, or gloo")
    if collective == P2P and file != GLOO:
        raise _wrong(text, "sends and receives are no schedule's: p2p:gloo alone is possible, without it ccs runs them")
    return Part(collective, file, least, most, default, defines=tuple(defines), text=text)


def parse(text: str, default: bool = False) -> List[Part]:
    """The parts of such a text. ArgumentError: it names the part and the mistake."""
    return [_part(*part, default) for part in tuning_parts(VARIABLE, text)]


# ---- files -----------------------------------------------------------------------------------


def _find(part: Part) -> str:
    """The file as it is named; or, of a name without a folder, the library's. Defaults are the
    library's alone: any folder may have a file of that name."""
    named = not part.default and os.path.exists(part.file)
    if named or os.path.dirname(part.file):
        return part.file
    return library_schedule(part.file, os.path.dirname(__file__))


def _load(part: Part, nranks: int, engine: str) -> Module:
    path = _find(part)
    if not path.endswith(".ccs"):
        return Module(path)
    options = [f"-D{define}" for define in part.defines]
    return compile_schedule(path, nranks, target=_ENGINES[engine], options=options)


def _check(module: Module, part: Part, nranks: int) -> None:
    """The module is as the part requires. CcsError: why not."""
    contract, blocks = CONTRACTS[part.collective]
    if module.contract != contract:
        raise CcsError(
            Status.EINVAL, f"{part.file} implements {module.contract}, and not {contract}"
        )
    if not module.has(nranks):
        raise CcsError(Status.ENOPLAN, f"{part.file} has no plan for {nranks} ranks")
    if part.collective in _ROOTED and not module.rooted:
        raise CcsError(
            Status.ENOPLAN, f"{part.file} has one root only: compile it with a root parameter"
        )
    want = tuple(nranks if n < 0 else n for n in blocks)
    if module.sized != (part.collective == "alltoallv"):
        raise CcsError(
            Status.EINVAL,
            f"{part.file} is for {'uneven' if module.sized else 'even'} all-to-alls: name it for "
            f"{'alltoallv' if module.sized else 'alltoall'}",
        )
    if not module.sized and module.elements(nranks, 1) != want:
        raise CcsError(Status.EINVAL, f"{part.file}: its buffers are not those of {contract}")


# ---- choosing --------------------------------------------------------------------------------


class Schedules:
    """The parts of CCS_SCHEDULES, and the modules that were loaded so far."""

    def __init__(self, text: Optional[str]) -> None:
        self.parts = parse(text or "")
        self._all = self.parts + parse(DEFAULTS, default=True)
        self._lock = threading.Lock()
        self._choices: Dict[Tuple[Part, int, str], Choice] = {}
        self._tunings: Dict[str, Tuning] = {}
        self._informs = os.environ.get(DEBUG, "").upper() == "INFO"
        self._informed: Set[Tuple[str, int, int, str]] = set()

    @property
    def uses_gloo(self) -> bool:
        return any(part.by_gloo for part in self.parts)

    def choose(self, collective: str, nranks: int, block: int, engine: str = "procs") -> Choice:
        """The choice for a call by its block's bytes, on processes of a host ("procs") or
        several ("mpi"), or on their GPUs ("cuda"). CcsError: there is none, and why."""
        for part in self._all:
            if part.tuning:
                tuned = self._tuned(part, collective, nranks, block, engine)
                if tuned is not None:
                    return tuned
            elif part.holds(collective, block):
                return self._choice(part, nranks, engine)
        raise CcsError(Status.EUNSUPPORTED, f"{VARIABLE} names nothing for {collective}")

    def inform(self, collective: str, nranks: int, block: int, choice: Choice) -> None:
        """With CCS_DEBUG=INFO: prints the part that runs such calls, and why, once."""
        call = (collective, nranks, block, choice.label)
        with self._lock:
            if not self._informs or call in self._informed:
                return
            self._informed.add(call)
        sys.stderr.write(
            f"ccs.torch: INFO: {collective} on {nranks} ranks, {block} bytes: {choice.label} "
            f"({choice.why})\n"
        )

    def said(self, collective: str, nranks: int, block: int) -> Optional[Choice]:
        """choose() among the parts of CCS_SCHEDULES; None: no part holds the call."""
        for part in self.parts:
            if part.holds(collective, block):
                return self._choice(part, nranks, "procs")
        return None

    def _tuning(self, file: str) -> Tuning:
        """Loaded once. CcsError: it is none, or has nothing for any group."""
        with self._lock:
            if file not in self._tunings:
                tuning = Tuning(file)
                if not any(engine in _ENGINES for _, _, engine in tuning.sections()):
                    raise CcsError(
                        Status.EINVAL,
                        f"{file} has no section for processes: ccrun --procs --tune adds one",
                    )
                self._tunings[file] = tuning
            return self._tunings[file]

    def _tuned(
        self, part: Part, collective: str, nranks: int, block: int, engine: str
    ) -> Optional[Choice]:
        """A tuning's choice for a call; None: it has none. Its sizes are of the larger buffer."""
        if collective not in CONTRACTS or collective == "alltoallv":
            return None
        contract, blocks = CONTRACTS[collective]
        size = block * max(nranks if n < 0 else n for n in blocks)
        try:
            row = self._tuning(part.file).row(contract, nranks, engine, size)
            if row is None:
                return None
            _check(row[0], replace(part, collective=collective, file=row[0].path), nranks)
        except CcsError as error:
            raise CcsError(error.status, f"{VARIABLE}: @{part.file}: {error}") from error
        return Choice(row[0], row[2], row[1], part.why)

    def _choice(self, part: Part, nranks: int, engine: str) -> Choice:
        with self._lock:
            choice = self._choices.get((part, nranks, engine))
            if choice is None:
                choice = self._make(part, nranks, engine)
                self._choices[(part, nranks, engine)] = choice
            return choice

    @staticmethod
    def _make(part: Part, nranks: int, engine: str) -> Choice:
        if part.by_gloo:
            return Choice(None, part.label, why=part.why)
        try:
            module = _load(part, nranks, engine)
            _check(module, part, nranks)
        except CcsError as error:
            text = f"{part.collective}:{part.label}: {error}"
            raise CcsError(error.status, text if part.default else f"{VARIABLE}: {text}") from error
        return Choice(module, part.label, why=part.why)
