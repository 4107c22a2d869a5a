"""Looks from outside at how a process saves a file: whether at every moment the old file or the new one had the name,
and whether the bytes were on the disk before the name was changed.

The kernel stops the process, and all that it starts, at each system call that writes into a file, brings bytes to the
disk or changes a name, and lets it go on when its parent has looked (seccomp_unotify(2), Linux 5.5 or later, no rights
needed). What the process says of itself does not count. At such a stop the parent can upset the save as well, which the
process cannot foresee: no limit tells of it.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import resource
import select
import signal
import socket
import stat
import struct
from dataclasses import dataclass

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
_WRITE = {
    "write": (1, 64),
    "pwrite64": (18, 68),
    "writev": (20, 66),
    "pwritev": (296, 70),
    "pwritev2": (328, 287),
    "sendfile": (40, 71),
    "copy_file_range": (326, 285),
    "splice": (275, 76),
    "fallocate": (285, 47),
    "ftruncate": (77, 46),
}
_WRITE_THROUGH = {*_WRITE} - {"fallocate", "ftruncate"}  # what O_DSYNC holds for
_TRUNCATE = {"truncate": (76, 45)}
_NAMED = _SYNC | _SYNC_ALL | _RENAME | _WRITE | _TRUNCATE
_WRITTEN_TO = {"copy_file_range": 2, "splice": 2}  # which argument is the file; else the first
_FLAGS_OF_ONE_WRITE = 0x2 | 0x4  # RWF_DSYNC, RWF_SYNC
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_LOAD, _JUMP_EQUAL, _RETURN, _ALLOW, _NOTIFY = 0x20, 0x15, 0x06, 0x7FFF0000, 0x7FC00000
_NO_NEW_PRIVS, _SET_MODE_FILTER, _NEW_LISTENER = 38, 1, 8
_RECEIVE, _ANSWER, _GO_ON = 0xC0502100, 0xC0182101, 1
_ASKED = struct.Struct("=QIIiIQ6Q")  # id, process, flags, number of the call, architecture, place, arguments


def _program(machine: str) -> bytes:
    """The filter, as BPF instructions. Raises KeyError for a machine whose system calls are not in the tables."""
    arch, column = _AUDIT_ARCH[machine], list(_AUDIT_ARCH).index(machine)

    def instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
        return struct.pack("=HBBI", code, if_true, if_false, value)

    allow, notify = instruction(_RETURN, _ALLOW), instruction(_RETURN, _NOTIFY)
    program = [instruction(_LOAD, 4), instruction(_JUMP_EQUAL, arch, 1, 0), allow, instruction(_LOAD, 0)]
    for numbers in _NAMED.values():
        if numbers[column] is not None:
            program += [instruction(_JUMP_EQUAL, numbers[column], 0, 1), notify]
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


@dataclass
class _OnDisk:
    """A file that is open here. content: what of it is on the disk; None: not known before the call has ended."""

    handle: int
    content: bytes | None


Inode = tuple[int, int]  # device, number


class Saves:
    """The view of a process that writes the file `path`, which held `old` (b"": it was not there), so that it holds
    `new`.

    synced: True if the file that has got this name held `new`, and had it on the disk, before it got it; None where the
    kernel cannot say. states: "old", "new", "none" or "half", which the file was whenever the process was stopped.
    upset: what happens to the process. "dies": it is killed before its first change of a name; "full": nothing more can
    be written; "cut": every write takes half of what it is given.
    """

    def __init__(self, path: str, old: bytes, new: bytes, upset: str = ""):
        self.path, self.old, self.new, self.upset = path, old, new, upset
        self.synced: bool | None = None
        self.states: list[str] = []
        self._on_disk: dict[Inode, _OnDisk] = {}
        self._before: set[Inode] | None = None  # what was whole and on the disk before the last change of a name
        self._inode: Inode | None = None
        self._limited: tuple[int, tuple[int, int]] | None = None  # a process, and its limits before a write was cut

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
                        self._end(handles)
                        return said
                elif event & select.POLLIN:
                    self._answer(handle)
                else:  # all that it was about have ended
                    watched.unregister(handle)

    def _end(self, handles: list[int]) -> None:
        self._look()
        for handle in [*handles, *(file.handle for file in self._on_disk.values())]:
            os.close(handle)
        self._on_disk.clear()

    def _answer(self, listener: int) -> None:
        """Look at a call that waits, then let it go on, or fail."""
        asked = bytearray(_ASKED.size)
        try:
            fcntl.ioctl(listener, _RECEIVE, asked)
        except OSError:  # whoever called has been killed
            return
        number, pid, _, call, _, _, *arguments = _ASKED.unpack(asked)
        fails = 0
        try:
            fails = self._note(call, pid, arguments)
        except (OSError, ValueError):
            pass  # of a file that is not there, or not open: the call will say so
        try:
            fcntl.ioctl(listener, _ANSWER, struct.pack("=QqiI", number, 0, -fails, 0 if fails else _GO_ON))
        except OSError:
            pass

    def _note(self, call: int, pid: int, arguments: list[int]) -> int:
        """Note a call; the number of the error with which it is to fail, or 0."""
        self._look()
        column = list(_AUDIT_ARCH).index(platform.machine())
        name = next(name for name, numbers in _NAMED.items() if numbers[column] == call)
        if name in _WRITE:
            return self._note_write(name, pid, arguments)
        if name in _SYNC:
            self._keep(f"/proc/{pid}/fd/{arguments[0] & 0xFFFFFFFF}")
        elif name in _SYNC_ALL:
            for folder, _, files in os.walk(os.path.dirname(self.path)):
                for file in filter(os.path.isfile, (os.path.join(folder, file) for file in files)):
                    self._keep(file)
        elif name in _TRUNCATE:
            for inode in list(self._on_disk):
                self._forget(inode)
        else:
            whole = (inode for inode, file in self._on_disk.items() if file.content == self.new)
            self._before = {inode for inode in whole if self._read(self._on_disk[inode].handle) == self.new}
            if self.upset == "dies":
                os.kill(pid, signal.SIGKILL)
                return errno.EINTR  # else the call would still be done
        return 0

    def _note_write(self, name: str, pid: int, arguments: list[int]) -> int:
        """Notes that what is written is not on the disk, unless the file is open so that every write reaches it, and
        all that was there before is."""
        fd = arguments[_WRITTEN_TO.get(name, 0)] & 0xFFFFFFFF
        place = f"/proc/{pid}/fd/{fd}"
        about, count = os.stat(place), arguments[2]
        nothing = (name in ("write", "pwrite64") and not count) or (
            name == "ftruncate" and about.st_size == arguments[1]
        )
        if not stat.S_ISREG(about.st_mode) or nothing:
            return 0
        if self.upset == "full" and name != "ftruncate":
            return errno.ENOSPC
        inode, (at, flags) = (about.st_dev, about.st_ino), _position(pid, fd)
        at = about.st_size if flags & os.O_APPEND else arguments[3] if name == "pwrite64" else at
        if name == "pwritev2" and arguments[5] & _FLAGS_OF_ONE_WRITE:
            flags |= os.O_DSYNC
        covers = name in ("write", "pwrite64") and at == 0 and count >= about.st_size
        if flags & os.O_DSYNC and name in _WRITE_THROUGH and (covers or self._is_on_disk(inode, about.st_size)):
            self._keep(place, ended=False)
        else:
            self._forget(inode)
            self.synced = False if inode == self._inode else self.synced
        if self.upset == "cut" and name == "write" and count > 1:
            self._limit(pid, at + count // 2)
        return 0

    def _limit(self, pid: int, size: int) -> None:
        """Let the call that waits write no further than that."""
        soft, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        self._limited = pid, (soft, hard)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, hard))

    def _look(self) -> None:
        """Find out what has become of the last call: which file has the name now, and what is on the disk."""
        if self._limited is not None:
            (pid, limits), self._limited = self._limited, None
            try:
                resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)
            except OSError:  # it has ended
                pass
        for file in self._on_disk.values():
            file.content = self._read(file.handle) if file.content is None else file.content
        self.states.append(self._state())
        inode = _inode(self.path)
        if self._before is not None and inode != self._inode and self.synced is not None:
            self.synced = inode in self._before
        self._inode, self._before = inode, None

    def _state(self) -> str:
        try:
            handle = _opened(self.path)
        except (OSError, ValueError):
            return "half" if os.path.lexists(self.path) else "none"
        try:
            found = self._read(handle)
        finally:
            os.close(handle)
        return "old" if found == self.old and self.old else "new" if found == self.new else "half"

    def _read(self, handle: int) -> bytes:
        """The content of a file that is open here, as far as it tells what it is."""
        return os.pread(handle, max(len(self.old), len(self.new)) + 1, 0)

    def _keep(self, place: str, ended: bool = True) -> None:
        """Note that all of a file's bytes are on the disk, now or, unless `ended`, after the call that waits."""
        handle = _opened(place)
        about = os.fstat(handle)
        self._forget((about.st_dev, about.st_ino))
        self._on_disk[about.st_dev, about.st_ino] = _OnDisk(handle, self._read(handle) if ended else None)

    def _forget(self, inode: Inode) -> None:
        file = self._on_disk.pop(inode, None)
        if file is not None:
            os.close(file.handle)

    def _is_on_disk(self, inode: Inode, size: int) -> bool:
        file = self._on_disk.get(inode)
        return size == 0 or (file is not None and file.content == self._read(file.handle))


def _inode(path: str) -> Inode | None:
    try:
        about = os.stat(path)
    except (OSError, ValueError):
        return None
    return about.st_dev, about.st_ino


def _opened(place: str) -> int:
    """A handle of a plain file. Raises ValueError where it is something else, such as a pipe, which might have to be
    waited for."""
    handle = os.open(place, os.O_RDONLY | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise ValueError(f"{place} is no plain file")
    return handle


def _position(pid: int, fd: int) -> tuple[int, int]:
    """The place to which the next write of a process' descriptor goes, and the flags with which it is open."""
    with open(f"/proc/{pid}/fdinfo/{fd}") as file:
        told = dict(line.split(":", 1) for line in file if ":" in line)
    return int(told["pos"]), int(told["flags"], 8)
