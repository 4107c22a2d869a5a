"""For a rank of an MPI job where no namespaces can be had: a process gives up files, connections and signals by itself.

landlock(7), from Linux 5.13 on, needs no rights. It holds for the thread that asks for it and for what that starts:
weaker than a cell (`labkit.launch.mpi_cells`), but a file that ranks have in common is out of reach.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

_NO_NEW_PRIVS = 38
_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same on all machines
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_READ = _EXECUTE | _READ_FILE | _READ_DIR
# by version: all there is to be done to files, to TCP, and to sockets with abstract names and processes outside
_FILES = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
_TCP, _OUTSIDE = {4: 3}, {6: 3}
_SHOWN = ("/usr", "/bin", "/lib", "/lib32", "/lib64", "/etc", "/opt", "/proc", "/sys")
_DEVICES = {"/dev/null": _READ_FILE | _WRITE_FILE, "/dev/urandom": _READ_FILE, "/dev/zero": _READ_FILE}
_OF_A_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE
_libc = ctypes.CDLL(None, use_errno=True)


def version() -> int:
    """The version of Landlock here; 0 where there is none, or where a filter of system calls forbids it."""
    return max(0, _libc.syscall(_CREATE, None, ctypes.c_size_t(0), 1))


def shut_in(folder: str) -> bool:
    """From here on this thread reads what Python and the system consist of, and reads and writes below `folder`, an
    absolute path; no more connections, and no signals to others. False where that cannot be had: nothing has changed
    then."""
    here = version()
    if not here:
        return False
    files, tcp, outside = (_latest(table, here) for table in (_FILES, _TCP, _OUTSIDE))
    about = struct.pack("=QQQ", files, tcp, outside)[: 8 if here < 4 else 16 if here < 6 else 24]
    rules = _libc.syscall(_CREATE, ctypes.c_char_p(about), ctypes.c_size_t(len(about)), 0)
    if rules < 0:
        return False
    try:
        for path in {*_SHOWN, sys.prefix, sys.base_prefix, *filter(os.path.isabs, sys.path)}:
            if os.path.commonpath([path, folder]) != path:  # a program's first folder may be that which all work in
                _allow(rules, path, _READ)
        for path, rights in _DEVICES.items():
            _allow(rules, path, rights)
        _allow(rules, folder, files)
        _libc.prctl(_NO_NEW_PRIVS, *map(ctypes.c_ulong, (1, 0, 0, 0)))  # else only root may
        return _libc.syscall(_RESTRICT, rules, 0) == 0
    finally:
        os.close(rules)


def _latest(table: dict[int, int], here: int) -> int:
    """The entry of the newest version up to `here`; 0 where there is none."""
    return next((table[number] for number in sorted(table, reverse=True) if number <= here), 0)


def _allow(rules: int, path: str, rights: int) -> None:
    """Allow `rights` to what is below `path`, if there is such a thing."""
    try:
        handle = os.open(path, os.O_PATH)
    except OSError:
        return
    try:
        rights = rights if os.path.isdir(path) else rights & _OF_A_FILE
        _libc.syscall(_ADD, rules, 1, ctypes.c_char_p(struct.pack("=Qi", rights, handle)), 0)
    finally:
        os.close(handle)
