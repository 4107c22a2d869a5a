"""The hub's folders: who may do what in each, made so when the hub starts, and said where that cannot be done."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

from course_hub.settings import HubSettings, SettingsError, account

_NOBODY = 65534


def prepare(settings: HubSettings) -> None:
    """Make and check what the hub needs. Must run as root. Raises SettingsError with what to do."""
    if os.geteuid() != 0:
        raise SettingsError("the hub starts servers as their users, so it must run as root: sudo, or a unit of systemd")
    grader = account(settings.grader)
    check_shared(settings)
    check_class(settings, grader.pw_uid)
    settings.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    settings.state.chmod(0o700)
    make_exchange(settings, grader.pw_uid, grader.pw_gid)


def check_shared(settings: HubSettings) -> None:
    """Raises SettingsError if an ordinary user cannot run the course's Python, such as one in somebody's home."""
    if (settings.shared / "solutions").exists():
        raise SettingsError(
            f"{settings.shared} holds solutions/: `shared` is the students' course ({settings.class_root}/student), "
            "never the clone"
        )
    for path in (settings.python, settings.here / "start_server.py"):
        if not path.exists():
            raise SettingsError(f"{path} is missing: tools/hub.py publish {settings.class_root} {settings.shared}")
    said = as_nobody(
        [str(settings.python), "-c", "import autograder, labkit, jupyterhub, numpy; print(labkit.__file__)"]
    )
    if said.returncode:
        raise SettingsError(
            f"an ordinary user cannot run {settings.python}: "
            f"{shut_folder(settings.python) or said.stderr.strip()[-300:]}\n"
            'README.md, "One environment for everybody", says how to make one that everybody can read'
        )
    if not Path(said.stdout.strip()).resolve().is_relative_to(settings.shared.resolve()):
        raise SettingsError(
            f"{settings.python} finds labkit in {said.stdout.strip()}, not in {settings.shared}: make doctor there"
        )


def as_nobody(command: list[str]) -> subprocess.CompletedProcess:
    """Run a command without any right; status 126 where it may not even be started."""
    bare = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1", "LANG": "C.UTF-8"}
    rights = {"user": _NOBODY, "group": _NOBODY, "extra_groups": []}
    try:
        return subprocess.run(command, **rights, cwd="/", env=bare, capture_output=True, text=True, timeout=120)
    except PermissionError as error:
        return subprocess.CompletedProcess(command, 126, "", str(error))


def shut_folder(path: Path) -> str:
    """In words, the first folder on the way to a program (and to what it links to) that others may not enter; "" if
    there is none.
    """
    for way in (path, path.resolve()):
        for folder in reversed(way.parents):
            if folder.exists() and not folder.stat().st_mode & stat.S_IXOTH:
                return f"nobody but its owner may enter {folder}"
    return ""


def check_class(settings: HubSettings, grader: int) -> None:
    """The class belongs to the grader and is closed to all others: in it are solutions, keys, grades and everybody's
    work.
    """
    root = settings.class_root
    if not (root / "nbgrader_config.py").exists():
        raise SettingsError(
            f"{root} is no root of a class: make course-release DIR={root}, then chown -R {settings.grader} {root}"
        )
    if root.stat().st_uid != grader:
        raise SettingsError(f"{root} does not belong to {settings.grader}: chown -R {settings.grader}: {root}")
    if root.stat().st_mode & 0o077:
        root.chmod(0o700)


def make_exchange(settings: HubSettings, grader: int, group: int) -> None:
    """nbgrader's exchange. nbgrader asks for a root in which everybody may write; sticky, so that nobody can move the
    course away and put another in its place. What is handed in cannot be listed, nor removed, by other students.
    """
    settings.exchange.mkdir(parents=True, exist_ok=True)
    settings.exchange.chmod(0o1777)
    for name, mode in (("", 0o755), ("outbound", 0o755), ("inbound", 0o1733), ("feedback", 0o711)):
        folder = settings.exchange / settings.course / name
        folder.mkdir(exist_ok=True)
        os.chown(folder, grader, group)
        folder.chmod(mode)
