"""Compiles schedules by calling ccc, and keeps the modules.

A module is kept under a name made of its inputs: the schedule's text, the options, and ccc itself.
A schedule that imports others follows from their texts, too, so that it is compiled at every call.
The cache's own folder holds at most CACHED modules: the oldest go.
"""

import atexit
import functools
import hashlib
import os
import shutil
import stat
import subprocess
import tempfile
import warnings
from typing import Iterable, List, Optional, Sequence, Union

from .errors import ArgumentError, CcsError, CompileError, Status
from .native import library_path
from .module import Module

CACHED = 256
_TEXT_MAX = 256 << 20  # bytes; ccc reads no more, either

Path = Union[str, "os.PathLike[str]"]


class CompileWarning(UserWarning):
    """A warning of ccc about a schedule that it compiles."""


def _ccc() -> str:
    """$CCS_CCC; next to the library, as built or installed; PATH."""
    named = os.environ.get("CCS_CCC")
    beside = os.path.join(os.path.dirname(library_path()), os.pardir, "bin", "ccc")
    if named:
        found = shutil.which(named)
    else:
        found = shutil.which(beside) if os.path.dirname(library_path()) else None
        found = found or shutil.which("ccc")
    if found:
        return os.path.realpath(found)
    raise CcsError(
        Status.EUNSUPPORTED,
        f"CCS_CCC={named} is no program that can be run"
        if named
        else "ccc was not found next to libccs or in PATH: install it (make install), "
        "or set CCS_CCC to its path",
    )


def schedule_folders() -> List[str]:
    """Where the library's schedules are, if they are there: with an installed ccc, and in a built
    tree. CcsError: there is no ccc."""
    binaries = os.path.dirname(_ccc())
    tails = (("share", "ccs", "schedules"), (os.pardir, "schedules"))
    return [os.path.normpath(os.path.join(binaries, os.pardir, *tail)) for tail in tails]


def library_schedule(name: str, *also: str) -> str:
    """The library's schedule of that name, with or without `.ccs`, or the one in a folder of `also`.
    CcsError: there is none."""
    file = name if name.endswith(".ccs") else f"{name}.ccs"
    folders = [*schedule_folders(), *also]
    for folder in folders:
        path = os.path.join(folder, file)
        if os.path.exists(path):
            return path
    raise CcsError(
        Status.EFILE,
        f"no such file: '{name}'; the library's are looked for in {' and '.join(folders)}",
    )


def _ranks_option(ranks: Union[int, str, Iterable[int], None]) -> List[str]:
    if ranks is None:
        return []
    if isinstance(ranks, (int, str)):
        return [f"-n{ranks}"]
    listed = ",".join(str(n) for n in ranks)
    if not listed:
        raise ArgumentError("ranks= is empty: give a number, several, or None for ccc's default")
    return [f"-n{listed}"]


def _is_yours(path: str) -> bool:
    """Whether it is a folder that only you can write, and no link."""
    have = os.lstat(path)
    return stat.S_ISDIR(have.st_mode) and have.st_uid == os.geteuid() and not have.st_mode & 0o022


def _remove(path: str, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(path, ignore_errors=True)


@functools.lru_cache(maxsize=None)
def _folder_of(process: int) -> str:
    """A folder that goes with the process, but not with one that is forked from it."""
    path = tempfile.mkdtemp(prefix="ccs-modules-")
    atexit.register(_remove, path, process)
    return path


def _user_folder() -> str:
    """A folder below XDG's folder for caches, if no other user can put a module there, or rename
    one; else a folder for this process."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".cache")
    outer = os.path.join(base, "ccs")
    inner = os.path.join(outer, "modules")
    try:
        for folder in (outer, inner):
            os.makedirs(folder, 0o700, exist_ok=True)
        if _is_yours(outer) and _is_yours(inner) and os.access(inner, os.W_OK):
            return inner
    except OSError:
        pass
    return _folder_of(os.getpid())


def _text(path: str) -> Optional[bytes]:
    """The schedule's text; None if it is no regular file, or cannot be read: ccc reports why."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            have = os.fstat(file.fileno())
            if not stat.S_ISREG(have.st_mode) or have.st_size > _TEXT_MAX:
                return None
            return file.read(_TEXT_MAX)
    except OSError:
        return None


def _key(text: bytes, ccc: str, arguments: Sequence[str]) -> str:
    have = os.stat(ccc)
    parts = [ccc, str(have.st_size), str(have.st_mtime_ns), *arguments]
    digest = hashlib.sha256("\0".join(parts).encode(errors="surrogateescape"))
    digest.update(b"\0\0" + text)
    return digest.hexdigest()[:40]


def _call(ccc: str, path: str, arguments: Sequence[str], out: str) -> None:
    """Runs ccc, which writes the whole module or none."""
    name = os.path.join(os.curdir, path) if path.startswith("-") else path
    try:
        done = subprocess.run(
            [ccc, name, *arguments, "-o", out],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
        )
    except (OSError, ValueError) as error:
        raise CcsError(Status.ESYSTEM, f"{ccc} cannot be run: {error}") from error
    text = done.stderr.decode(errors="replace").rstrip("\n")
    if done.returncode:
        how = f"ended by signal {-done.returncode}" if done.returncode < 0 else "failed"
        raise CompileError(text or f"{ccc} {how}", done.returncode)
    if text:
        warnings.warn(text, CompileWarning, stacklevel=3)


def _cached(file: str) -> Optional[Module]:
    """The kept module; None: there is none, or it is damaged, and is made anew."""
    try:
        module = Module(file)
        os.utime(file)
        return module
    except (CcsError, OSError):
        return None


def _trim(folder: str) -> None:
    """Removes the oldest modules. Others may do so at the same time."""
    kept = []
    for entry in os.scandir(folder):
        try:
            kept.append((entry.stat().st_mtime_ns, entry.path))
        except OSError:
            continue
    for _, path in sorted(kept)[:-CACHED]:
        try:
            os.unlink(path)
        except OSError:
            continue


def compile(
    path: Path,
    ranks: Union[int, str, Iterable[int], None] = None,
    *,
    target: str = "cpu",
    cache: Optional[Path] = None,
    options: Sequence[str] = (),
) -> Module:
    """Compiles a `.ccs`, or takes the module from the cache, and loads it.

    path: a file; or, where there is no such file, the name of a schedule of the library, such as
        "ring_allreduce".
    ranks: a number of ranks, several, or as ccc's -n has them ("2..16", "2,4,8"); None: ccc's
        default.
    target: where it is to run: "cpu", "cuda", or "cpu,cuda". Kernels need NVIDIA's NVRTC.
    cache: a folder for modules, which exists; None: $XDG_CACHE_HOME/ccs/modules (~/.cache), where at
        most 256 are kept; or, where that is not yours alone, one that goes with the process.
    options: more of ccc(1)'s, such as ("-D", "K=4") or ("--schedule", "ring").

    CompileError: the schedule is wrong, and str() is ccc's report. CcsError: the library has none
        of that name, or the module cannot be kept. A warning of ccc is a CompileWarning.
    """
    file = os.fsdecode(path)
    if not os.path.dirname(file) and not os.path.exists(file):
        file = library_schedule(file)
    arguments = [*_ranks_option(ranks), f"--target={target}", *options]
    ccc, text = _ccc(), _text(file)
    folder = _user_folder() if cache is None else os.fsdecode(cache)
    kept = text is not None and b"import" not in text
    key = _key(text or b"", ccc, arguments)
    final = os.path.join(folder, f"{key}.so")
    module = _cached(final) if kept else None
    if module is None:
        module = _make([ccc, file, *arguments], folder, final, text)
        if cache is None:
            _trim(folder)
    return module


def _make(command: Sequence[str], folder: str, final: str, text: Optional[bytes]) -> Module:
    """Compiles, and puts the module at `final`; or in the same folder under a name that is never
    looked up, if the schedule was changed meanwhile."""
    ccc, path, *arguments = command
    try:
        work = tempfile.mkdtemp(prefix=".ccs-", dir=folder)
    except OSError as error:
        raise CcsError(Status.ESYSTEM, f"{folder} cannot hold modules: {error}") from error
    try:
        out = os.path.join(work, "module.so")
        _call(ccc, path, arguments, out)
        if _text(path) != text:
            final += ".changed"
        os.replace(out, final)
        return Module(final)
    except OSError as error:
        raise CcsError(Status.ESYSTEM, f"{folder} cannot hold modules: {error}") from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
