"""What is seen from outside of a process that saves a file."""

from __future__ import annotations

import mmap
import os
import resource
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from labkit.launch.saves import Saves, hand_over

DATA = b"a checkpoint"


def followed(path: Path, save, upset: str = "") -> tuple[Saves, bytes]:
    """What was seen of `save(path, DATA)` in a child, and what that has said."""
    out, into = os.pipe()
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        try:
            os.close(out)
            ours.close()
            hand_over(theirs)
            theirs.close()
            save(str(path), DATA)
            os.write(into, b"done")
        finally:
            os._exit(0)
    os.close(into)
    theirs.close()
    saves = Saves(str(path), b"old", DATA, upset)
    with ours, open(out, "rb"):
        said = saves.follow(ours, out)
    os.waitpid(child, 0)
    return saves, said


def seen(path: Path, save) -> bool | None:
    """Saves.synced after `save(path, DATA)` in a child."""
    saves, said = followed(path, save)
    assert said == b"done"
    return saves.synced


def written(path: str, data: bytes, sync=None, flags: int = 0) -> str:
    """The name of a new file, beside `path`, after `sync` of its descriptor."""
    fd = os.open(path + ".new", os.O_WRONLY | os.O_CREAT | flags)
    os.write(fd, data)
    if sync is not None:
        sync(fd)
    os.close(fd)
    return path + ".new"


RIGHT = {
    "fsync": lambda path, data: os.replace(written(path, data, os.fsync), path),
    "fdatasync": lambda path, data: os.replace(written(path, data, os.fdatasync), path),
    "sync": lambda path, data: os.replace(written(path, data, lambda _: os.sync()), path),
    "O_SYNC": lambda path, data: os.replace(written(path, data, flags=os.O_SYNC), path),
    "another program's sync": lambda path, data: (
        written(path, data),
        subprocess.run(["sync", path + ".new"], check=True),
        os.replace(path + ".new", path),
    ),
    "O_SYNC, byte by byte": lambda path, data: (
        fd := os.open(path + ".new", os.O_WRONLY | os.O_CREAT | os.O_DSYNC),
        [os.write(fd, data[k : k + 1]) for k in range(len(data))],
        os.replace(path + ".new", path),
    ),
    "O_SYNC in reserved space": lambda path, data: (
        fd := os.open(path + ".new", os.O_WRONLY | os.O_CREAT | os.O_SYNC),
        os.posix_fallocate(fd, 0, len(data)),
        os.write(fd, data),
        os.replace(path + ".new", path),
    ),
    "space reserved first": lambda path, data: (
        fd := os.open(path + ".new", os.O_WRONLY | os.O_CREAT),
        os.ftruncate(fd, len(data)),
        os.pwrite(fd, data, 0),
        os.fsync(fd),
        os.ftruncate(fd, len(data)),
        os.replace(path + ".new", path),
    ),
    "a copy": lambda path, data: (
        written(path, data),
        shutil.copyfile(path + ".new", path + ".2"),
        os.fsync(os.open(path + ".2", os.O_RDONLY)),
        os.replace(path + ".2", path),
    ),
    "in memory": lambda path, data: (
        fd := os.open(path + ".new", os.O_RDWR | os.O_CREAT),
        os.ftruncate(fd, len(data)),
        mapped(fd, data),
        os.fsync(fd),
        os.replace(path + ".new", path),
    ),
    "sync with a pipe in the folder": lambda path, data: (
        os.mkfifo(path + ".pipe"),
        os.replace(written(path, data, lambda _: os.sync()), path),
    ),
    "link": lambda path, data: (os.remove(path), os.link(written(path, data, os.fsync), path)),
    "a closed descriptor before": lambda path, data: (_fails(999), os.replace(written(path, data, os.fsync), path)),
}
WRONG = {
    "nothing": lambda path, data: os.replace(written(path, data), path),
    "too early": lambda path, data: os.replace(written(path, data[:3], os.fsync), path),
    "of a file of the right length": lambda path, data: (
        fd := os.open(path + ".new", os.O_WRONLY | os.O_CREAT),
        os.ftruncate(fd, len(data)),
        os.fsync(fd),
        os.write(fd, data),
        os.replace(path + ".new", path),
    ),
    "of an empty file": lambda path, data: (
        fd := os.open(path + ".new", os.O_WRONLY | os.O_CREAT),
        os.sync(),
        os.writev(fd, [data]),
        os.replace(path + ".new", path),
    ),
    "the name before the bytes": lambda path, data: (
        fd := os.open(path + ".new", os.O_WRONLY | os.O_CREAT),
        os.sync(),
        os.replace(path + ".new", path),
        os.write(fd, data),
    ),
    "written again": lambda path, data: (
        written(path, data, os.fsync),
        os.truncate(path + ".new", 0),
        os.replace(written(path, data), path),
    ),
    "half of it with O_SYNC": lambda path, data: (
        written(path, data[:5]),
        os.write(os.open(path + ".new", os.O_WRONLY | os.O_APPEND | os.O_SYNC), data[5:]),
        os.replace(path + ".new", path),
    ),
    "in memory afterwards": lambda path, data: (
        fd := os.open(path + ".new", os.O_RDWR | os.O_CREAT),
        os.ftruncate(fd, len(data)),
        os.fsync(fd),
        mapped(fd, data),
        os.replace(path + ".new", path),
    ),
    "once more in place": lambda path, data: (
        os.replace(written(path, data, os.fsync), path),
        Path(path).write_bytes(data),
    ),
    "too late": lambda path, data: (
        os.replace(written(path, data), path),
        os.fsync(os.open(path, os.O_RDONLY)),
    ),
    "another file": lambda path, data: (
        written(path + ".other", data, os.fsync),
        os.replace(written(path, data), path),
    ),
    "in place": lambda path, data: Path(path).write_bytes(data),
    "twice, first synced": lambda path, data: (
        os.replace(written(path, data, os.fsync), path),
        os.replace(written(path, data), path),
    ),
}


def mapped(fd: int, data: bytes) -> None:
    with mmap.mmap(fd, len(data)) as memory:
        memory[:] = data


def _fails(fd: int) -> None:
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fsync(fd)


@pytest.mark.parametrize("way", [*RIGHT, *WRONG])
def test_what_was_on_the_disk_before_the_name(tmp_path, way):
    path = tmp_path / "checkpoint"
    path.write_bytes(b"old")
    assert seen(path, (RIGHT | WRONG)[way]) is (way in RIGHT)


def test_where_the_kernel_cannot_say_nothing_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "s390x")
    path = tmp_path / "checkpoint"
    path.write_bytes(b"old")
    assert seen(path, RIGHT["fsync"]) is None


@pytest.mark.parametrize(
    "way, states",
    [
        ("fsync", {"old", "new"}),
        ("in place", {"half", "new"}),
        ("the name before the bytes", {"old", "half", "new"}),
        ("link", {"none", "new"}),
    ],
)
def test_what_the_file_is_at_every_moment(tmp_path, way, states):
    path = tmp_path / "checkpoint"
    path.write_bytes(b"old")
    assert set(followed(path, (RIGHT | WRONG)[way])[0].states) == states


def test_a_disk_that_is_full(tmp_path):
    path = tmp_path / "checkpoint"
    path.write_bytes(b"old")
    assert followed(path, RIGHT["fsync"], "full")[1] == b"" and path.read_bytes() == b"old"
    assert (tmp_path / "checkpoint.new").read_bytes() == b""


def test_every_write_takes_half(tmp_path):
    def save(path, data):
        fd = os.open(path, os.O_WRONLY)
        os.lseek(fd, 1, os.SEEK_SET)
        assert [os.write(fd, data), os.write(fd, data[6:]), os.write(fd, data[9:10])] == [6, 3, 1]
        os.fsync(fd)
        assert resource.getrlimit(resource.RLIMIT_FSIZE) == before
        assert os.write(fd, data[10:]) == 1

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    path = tmp_path / "checkpoint"
    path.write_bytes(b"old")
    assert followed(path, save, "cut")[1] == b"done" and path.read_bytes() == b"o" + DATA[:11]


def test_death_before_the_name_changes(tmp_path):
    path = tmp_path / "checkpoint"
    path.write_bytes(b"old")
    saves, said = followed(path, RIGHT["fsync"], "dies")
    assert said == b"" and set(saves.states) == {"old"}
    assert (tmp_path / "checkpoint.new").read_bytes() == DATA
