"""Tunings: which module runs a collective, and how, by the size of a call (ccs-tuning(5)), as
`ccrun --tune` measures them."""

import ctypes
import os
from typing import Iterator, List, Optional, Tuple, Union

from .ends import freed_with
from .errors import ArgumentError, Status
from .module import Module
from .native import RunOptions, TuningPart, TuningRow, TuningSection, check, last_error, library

_OPTIONS_TEXT = 32  # CCS_OPTIONS_TEXT


def tuning_parts(variable: str, text: str) -> List[Tuple[str, Optional[str], str, int, int]]:
    """The parts of a tuning in its short form (ccs-tuning(5)), from a variable of that name: each
    part's text, its collective, its file, and its smallest and largest size. Without a collective
    the file is a tuning. ArgumentError: it has the wrong part."""
    parts, number = ctypes.POINTER(TuningPart)(), ctypes.c_int()
    status = library().ccs_tuning_parts(
        ctypes.byref(parts), ctypes.byref(number), variable.encode(), os.fsencode(text)
    )
    if status == Status.EINVAL:
        raise ArgumentError(last_error(status).text)
    check(status)
    try:
        return [
            (
                os.fsdecode(part.text),
                part.collective and os.fsdecode(part.collective),
                os.fsdecode(part.file),
                part.least,
                part.most,
            )
            for part in parts[: number.value]
        ]
    finally:
        library().ccs_tuning_parts_free(parts)


class Tuning:
    """A tuning, with all its modules loaded. It does not change."""

    def __init__(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """CcsError: it is no tuning, or a module of it cannot be loaded."""
        handle = ctypes.c_void_p()
        check(library().ccs_tuning_load(ctypes.byref(handle), os.fsencode(path)))
        self._handle = handle
        freed_with(self, library().ccs_tuning_free, handle)
        self.path: str = os.fsdecode(path)
        """The file that was loaded."""

    def sections(self) -> Iterator[Tuple[str, int, str]]:
        """Collective, number of ranks and engine of each section."""
        section, number = TuningSection(), 0
        while not library().ccs_tuning_section(self._handle, number, ctypes.byref(section)):
            yield section.collective.decode(), section.nranks, section.engine.decode()
            number += 1

    def row(
        self, collective: str, nranks: int, engine: str, size: int
    ) -> Optional[Tuple[Module, RunOptions, str]]:
        """The choice for a call, by the bytes of its larger buffer: a module, its options, and both
        in words. None: there is no section for it."""
        lib, row = library(), TuningRow()
        section = lib.ccs_tuning_find(self._handle, collective.encode(), nranks, engine.encode())
        if section < 0:
            return None
        number = lib.ccs_tuning_row_of(self._handle, section, size)
        check(lib.ccs_tuning_row(self._handle, section, number, ctypes.byref(row)))
        text = ctypes.create_string_buffer(_OPTIONS_TEXT)
        lib.ccs_run_options_text(ctypes.byref(row.options), text, _OPTIONS_TEXT)
        options = RunOptions.from_buffer_copy(row.options)
        file = os.fsdecode(row.file)
        module = Module.borrowed(ctypes.c_void_p(row.module), file, self)
        return module, options, f"{os.path.basename(file)}, tile {text.value.decode()}"
