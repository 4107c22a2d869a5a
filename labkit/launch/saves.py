"""Looks from outside at how a process saves a file: whether the bytes were on the disk before the name was changed.

The kernel stops the process, and all that it starts, at each system call that brings bytes to the disk or changes a
name, and lets it go on when its parent has looked (seccomp_unotify(2), Linux 5.5 or later, no rights needed). What the
process says of itself does not count.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import platform
import select
import socket
import struct

# number on x86_64, on aarch64 (None: not there)
_SYNC = {"fsync": (74, 82), "fdatasync": (75, 83)}
_SYNC_ALL = {"sync": (162, 81), "syncfs": (306, 267)}
_RENAME = {
    "rename": (82, None),
    "renameat": (264, 38),
    "renameat2": (316, 276),
    "link": (86, None),
    "linkat": (265, 37),
}
_OPEN = {"open": (2, None), "openat": (257, 56)}  # which of its arguments are the flags: the second, the third
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_LOAD, _JUMP_EQUAL, _JUMP_ANY, _RETURN, _ALLOW, _NOTIFY = 0x20, 0x15, 0x45, 0x06, 0x7FFF0000, 0x7FC00000
_NO_NEW_PRIVS, _SET_MODE_FILTER, _NEW_LISTENER = 38, 1, 8
_RECEIVE, _ANSWER, _GO_ON = 0xC0502100, 0xC0182101, 1
_ASKED = struct.Struct("=QIIiIQ6Q")  # id, process, flags, number of the call, architecture, place, arguments
_LONGEST = 4096  # bytes of a path
_AT_FDCWD = -100


def _program(machine: str) -> bytes:
    """The filter, as BPF instructions. Raises KeyError for a machine whose system calls are not in the tables."""
    arch, column = _AUDIT_ARCH[machine], list(_AUDIT_ARCH).index(machine)

    def instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
        return struct.pack("=HBBI", code, if_true, if_false, value)

    allow, notify = instruction(_RETURN, _ALLOW), instruction(_RETURN, _NOTIFY)
    program = [instruction(_LOAD, 4), instruction(_JUMP_EQUAL, arch, 1, 0), allow, instruction(_LOAD, 0)]
    for numbers in (_SYNC | _SYNC_ALL | _RENAME).values():
        if numbers[column] is not None:
            program += [instruction(_JUMP_EQUAL, numbers[column], 0, 1), notify]
    for at, numbers in enumerate(_OPEN.values()):
        if numbers[column] is not None:  # with O_SYNC or O_DSYNC alone
            flags = [instruction(_LOAD, 24 + 8 * at), instruction(_JUMP_ANY, os.O_DSYNC, 0, 1), notify, allow]
            program += [instruction(_JUMP_EQUAL, numbers[column], 0, len(flags)), *flags]
    return b"".join([*program, allow])


def hand_over(sock: socket.socket) -> None:
    """For the process that is looked at: from here on it is, by whoever receives from the other end of `sock`. Where
    the kernel cannot, nothing is handed over."""
    try:
        program = _program(platform.machine())
    except KeyError:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(program, len(program))
    description = struct.pack("=H6xQ", len(program) // 8, ctypes.addressof(buffer))
    libc.prctl(_NO_NEW_PRIVS, *map(ctypes.c_ulong, (1, 0, 0, 0)))
    number = ctypes.c_long(_SECCOMP[platform.machine()])
    listener = libc.syscall(number, _SET_MODE_FILTER, _NEW_LISTENER, ctypes.c_char_p(description))
    if listener >= 0:
        socket.send_fds(sock, [b"l"], [listener])
        os.close(listener)


class Saves:
    """The view of a process that writes `path`, `size` bytes. synced: True if the file that has got this name was
    on the disk before it got it; None where the kernel cannot say."""

    def __init__(self, path: str, size: int):
        self.path, self.size = path, size
        self.synced: bool | None = None
        self._on_disk: set[int] = set()
        self._opened: list[str] = []  # paths of files opened so that every write reaches the disk
        self._before: set[int] | None = None  # what was on the disk before the last change of a name
        self._inode: int | None = None

    def follow(self, sock: socket.socket, out: int) -> bytes:
        """All that the process writes into the pipe `out`, while it is looked at. sock: the end of that which it has
        given `hand_over`."""
        _, handles, _, _ = socket.recv_fds(sock, 1, 1)
        self._inode = _inode(self.path)
        said = b""
        watched = select.poll()
        watched.register(out, select.POLLIN)
        for listener in handles:
            self.synced = False
            watched.register(listener, select.POLLIN)
        while True:
            for handle, event in watched.poll():
                if handle == out:
                    piece = os.read(out, 1 << 16)
                    said += piece
                    if not piece or len(said) > 1 << 20:
                        self._look()
                        for listener in handles:
                            os.close(listener)
                        return said
                elif event & select.POLLIN:
                    self._answer(handle)
                else:  # all that it was about have ended
                    watched.unregister(handle)

    def _answer(self, listener: int) -> None:
        """Look at a call that waits, then let it go on."""
        asked = bytearray(_ASKED.size)
        try:
            fcntl.ioctl(listener, _RECEIVE, asked)
        except OSError:  # whoever called has been killed
            return
        number, pid, _, call, _, _, *arguments = _ASKED.unpack(asked)
        try:
            self._note(call, pid, arguments)
        except (OSError, ValueError):
            pass  # of a file that is not there, or not open: the call will say so
        try:
            fcntl.ioctl(listener, _ANSWER, struct.pack("=QqiI", number, 0, 0, _GO_ON))
        except OSError:
            pass

    def _note(self, call: int, pid: int, arguments: list[int]) -> None:
        self._look()
        column = list(_AUDIT_ARCH).index(platform.machine())
        name = next(name for name, numbers in _NAMED.items() if numbers[column] == call)
        if name in _SYNC:
            about = os.stat(f"/proc/{pid}/fd/{arguments[0] & 0xFFFFFFFF}")
            if about.st_size == self.size:
                self._on_disk.add(about.st_ino)
        elif name in _SYNC_ALL:
            self._on_disk.update(entry.inode() for entry in os.scandir(os.path.dirname(self.path)))
        elif name in _OPEN:
            self._opened.append(_path_of(pid, arguments, at=list(_OPEN).index(name)))
        else:
            self._before = set(self._on_disk)

    def _look(self) -> None:
        """Find out what has become of the last call: which file has the name now, and which opened ones there are."""
        self._on_disk.update(inode for inode in map(_inode, self._opened) if inode is not None)
        inode = _inode(self.path)
        if self._before is not None and inode != self._inode and self.synced is not None:
            self.synced = inode in self._before
        self._inode, self._before = inode, None


_NAMED = _SYNC | _SYNC_ALL | _RENAME | _OPEN


def _inode(path: str) -> int | None:
    try:
        return os.stat(path).st_ino
    except (OSError, ValueError):
        return None


def _path_of(pid: int, arguments: list[int], at: int) -> str:
    """The path that a process opens. at: which of its arguments it is, behind the folder that it is relative to."""
    folder = ctypes.c_int(arguments[0] & 0xFFFFFFFF).value if at else _AT_FDCWD
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        memory.seek(arguments[at])
        path = os.fsdecode(memory.read(_LONGEST).split(b"\0")[0])
    return os.path.join(os.readlink(f"/proc/{pid}/{'cwd' if folder == _AT_FDCWD else f'fd/{folder}'}"), path)
