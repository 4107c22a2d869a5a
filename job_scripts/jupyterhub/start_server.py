#!/usr/bin/env python3
"""The program that a hub starts as a server: run as the user, on this machine or on a node, it sets the place up
and becomes Jupyter.

A student's: the course's files come into ~/COURSE, where nothing that was changed is ever overwritten. The grader's
(`--grader`): the class's root, as it is. Both: files of others' are closed, temporary files go into a folder of one's
own, MPI knows this machine.
"""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main(arguments: list[str]) -> None:
    shared, course = Path(os.environ["COURSE_SHARED"]), os.environ["COURSE_ID"]
    user = pwd.getpwuid(os.getuid())
    os.environ.update(HOME=user.pw_dir, USER=user.pw_name, LOGNAME=user.pw_name)
    os.umask(0o077)
    close_to_others(Path(user.pw_dir))
    os.environ["TMPDIR"] = own_folder(Path(os.environ.get("COURSE_SCRATCH", "/tmp")) / f"{course}-{user.pw_name}")
    sys.path.insert(0, str(shared))
    from labkit.environment import mpi_environment

    os.environ.update(mpi_environment(None))
    role = "grader" if "--grader" in arguments else "student"
    settings = [str(HERE / role), str(shared / "tools" / "lab_settings")]
    if role == "student":  # the course's start page, in place of Lab's launcher
        settings.append(str(shared / "tools" / "start_page"))
        os.environ["JUPYTER_PATH"] = settings[-1]
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(settings)
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    if role == "student":
        work = Path(user.pw_dir) / course
        deliver(shared, work, Path(os.environ["COURSE_EXCHANGE"]) / course / "outbound")
        os.chdir(work)
    root = os.getcwd()
    options = [word for word in arguments if word != "--grader"]
    os.execv(sys.executable, [sys.executable, "-m", "jupyterhub.singleuser", f"--ServerApp.root_dir={root}", *options])


def close_to_others(home: Path) -> None:
    """Many machines make homes that everybody may read: a notebook with answers in it would be open to the class."""
    if home.exists() and home.stat().st_uid == os.getuid() and home.stat().st_mode & 0o077:
        home.chmod(0o700)


def own_folder(folder: Path) -> str:
    """A folder that only this user may enter. Somebody who has made one of that name before gets in nobody's way."""
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        about = folder.lstat()
        if folder.is_symlink() or about.st_uid != os.getuid() or about.st_mode & 0o077:
            folder = folder.with_name(f"{folder.name}-{os.getpid()}")
            folder.mkdir(mode=0o700)
    return str(folder)


def deliver(shared: Path, work: Path, outbound: Path) -> None:
    """Bring the student's folder up to date. What is handed out as an assignment is fetched in Jupyter, not delivered
    here. A full disk keeps nobody from getting at the files that are there.
    """
    work.mkdir(mode=0o700, exist_ok=True)
    try:
        assignments = sorted(os.listdir(outbound))
    except OSError:
        assignments = []
    not_here = [name for name in assignments if not (work / name).exists()]
    command = [sys.executable, str(shared / "tools" / "update_work.py"), f"--course={shared}"]
    subprocess.run([*command, *(f"--without={name}" for name in not_here), str(work)], check=False)


if __name__ == "__main__":
    main(sys.argv[1:])
