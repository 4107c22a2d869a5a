"""`python as_ordinary_user.py COMMAND...`, started by root: runs a command as a user without any rights, who can read Python, the course
and nothing that root keeps to itself, with a /dev/shm of its own for home and temporary files. It replaces itself by the command."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from labkit import jail

UID = 12345
ROOT = Path(__file__).resolve().parents[1]


def make_reachable(paths: list[Path]) -> None:
    """In a mount namespace of our own: a folder that only root may enter (its home) shows these paths, to everybody, and nothing else."""
    shut = {path: first_shut_folder(path) for path in paths}
    shown = {path: os.open(path, os.O_PATH) for path in paths if shut[path]}
    for folder in {folder for folder in shut.values() if folder}:
        jail._mount("tmpfs", str(folder), "tmpfs", 0, "mode=0755")
    for path, handle in shown.items():
        path.mkdir(parents=True, exist_ok=True)
        jail._mount(f"/proc/self/fd/{handle}", str(path), None, jail._BIND | jail._REC)
        os.close(handle)


def first_shut_folder(path: Path) -> Path | None:
    return next((folder for folder in reversed(path.parents) if not folder.stat().st_mode & 0o001), None)


def main() -> None:
    jail._call("unshare", jail._NEWNS)
    jail._mount(None, "/", None, jail._PRIVATE | jail._REC)
    make_reachable([Path(sys.base_prefix).resolve(), Path(sys.prefix).resolve(), ROOT])
    jail._mount("tmpfs", "/dev/shm", "tmpfs", 0, "mode=1777")
    home = Path("/dev/shm/home")
    home.mkdir(mode=0o700)
    (home / "secret").write_text("the instructor's")
    for path in (home, home / "secret"):
        os.chown(path, UID, UID)
    os.environ.update(HOME=str(home), TMPDIR="/dev/shm", PYTHONDONTWRITEBYTECODE="1")
    os.chdir("/")
    jail._become(UID)
    os.execv(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
