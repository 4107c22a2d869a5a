"""What is seen from outside of a process that saves a file."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from labkit.launch.saves import Saves, hand_over

DATA = b"a checkpoint"


def seen(path: Path, save) -> bool | None:
    """Saves.synced after `save(path, DATA)` in a child."""
    out, into = os.pipe()
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        try:
            hand_over(theirs)
            theirs.close()
            save(str(path), DATA)
            os.write(into, b"done")
        finally:
            os._exit(0)
    os.close(into)
    theirs.close()
    saves = Saves(str(path), len(DATA))
    with ours, open(out, "rb"):
        said = saves.follow(ours, out)
    os.waitpid(child, 0)
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
    "link": lambda path, data: (os.remove(path), os.link(written(path, data, os.fsync), path)),
    "a closed descriptor before": lambda path, data: (_fails(999), os.replace(written(path, data, os.fsync), path)),
}
WRONG = {
    "nothing": lambda path, data: os.replace(written(path, data), path),
    "too early": lambda path, data: os.replace(written(path, data[:3], os.fsync), path),
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
