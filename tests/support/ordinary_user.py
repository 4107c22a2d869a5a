"""Running a command as an ordinary user, where the tests run as root.

    subprocess.run(ordinary_user.command([sys.executable, ...]), ...)

The user has no rights, can read Python, the course and nothing that root keeps to itself, even where these lie in a
private home, and has a /dev/shm of its own for home and temporary files, which goes with its last process. The process
that is started replaces itself by the command, so that whoever started it can wait for it and kill it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
UID = 61233
SECRET = "the instructor's"  # stands in ~/secret


def command(words: list[str], uid: int = UID) -> list[str]:
    """What root has to start for `words` to be run by the user `uid`. words[0]: the path of a program."""
    return [sys.executable, __file__, str(uid), *words]


def make_reachable(paths: list[Path]) -> None:
    """In a mount namespace of our own: a folder that only root may enter (its home) shows these paths, to everybody,
    and nothing else.
    """
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
    uid, words = int(sys.argv[1]), sys.argv[2:]
    jail._call("unshare", jail._NEWNS)
    jail._mount(None, "/", None, jail._PRIVATE | jail._REC)
    make_reachable([Path(sys.base_prefix).resolve(), Path(sys.prefix).resolve(), ROOT])
    jail._mount("tmpfs", "/dev/shm", "tmpfs", 0, "mode=1777")
    home = Path("/dev/shm/home")
    home.mkdir(mode=0o700)
    (home / "secret").write_text(SECRET)
    for path in (home, home / "secret"):
        os.chown(path, uid, uid)
    environment = {"HOME": str(home), "TMPDIR": "/dev/shm", "MPLCONFIGDIR": str(home / "matplotlib")}
    os.environ.update(environment, USER="student", LOGNAME="student")
    os.chdir("/")
    jail._become(uid)
    jail._prctl(jail._NO_NEW_PRIVS, 1)
    os.execv(words[0], words)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    from labkit.launch import jail

    main()
