"""JupyterHub for the course (job_scripts/jupyterhub/): a hub to try out on this machine, and the shared course of a
real one.

    make hub                           on loopback, with an instructor and two students; Ctrl-C ends and removes it
    make hub SPAWNER=slurm             the same, servers are jobs of a throw-away Slurm (tools/slurm_cluster.py)
    python tools/hub.py publish CLASS SHARED      the students' course with its environment where everybody can read it

`make hub` changes nothing on this machine: accounts, homes, the class, the exchange and the grades exist only in mounts
of its own, which go with its last process, however it ends. Needs root, because a hub starts servers as their users.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import pwd
import secrets
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "job_scripts" / "jupyterhub")]

COURSE = "dl"
GRADER, INSTRUCTOR = "hub-grader", "hub-instructor"
FIRST_UID = 59000
START_LIMIT = 240.0  # s until the hub answers; most of it is building the class
PROXY = "configurable-http-proxy"


class HubError(Exception):
    """An error that the reader of the terminal can mend."""


# -- from outside ------------------------------------------------------------------------------------------------------


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="hub.py", description="A JupyterHub for the course.")
    commands = parser.add_subparsers(required=True, metavar="try | publish")
    one = commands.add_parser("try", help="a throw-away hub on this machine (make hub)")
    one.add_argument("--spawner", choices=("local", "slurm"), default="local", help="how servers are started (local)")
    one.add_argument("--port", type=int, default=8000, help="of the hub's page on 127.0.0.1 (8000; 0: any free one)")
    one.add_argument("--students", type=int, default=2, help="how many (2)")
    one.add_argument("--units", nargs="+", metavar="UNIT", help="of the class (default: all)")
    one.add_argument(
        "--assign", nargs="+", metavar="UNIT", default=["01_mpi_pi"], help="released to be fetched (01_mpi_pi)"
    )
    one.add_argument(
        "--ready", type=Path, metavar="FILE", help="write address and passwords there as JSON when it can be used"
    )
    one.add_argument("--log", type=Path, metavar="FILE", help="keep the hub's log there")
    one.set_defaults(action=try_out)
    one = commands.add_parser("publish", help="bring the shared course up to date with a class's student/")
    one.add_argument("class_root", type=Path, metavar="CLASS", help="made by make course-release DIR=CLASS")
    one.add_argument("shared", type=Path, metavar="SHARED", help="a folder that everybody, on every node, can read")
    one.add_argument(
        "--python", default="/usr/bin/python3", help="a Python 3.11 that everybody can run (/usr/bin/python3)"
    )
    one.add_argument("--files-only", action="store_true", help="leave the environment as it is")
    one.set_defaults(action=publish)
    one = commands.add_parser("inside")
    one.set_defaults(action=inside)
    options = parser.parse_args(arguments)
    try:
        return options.action(options)
    except HubError as trouble:
        print(f"hub: {trouble}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def missing(spawner: str) -> str:
    """Why a hub cannot be tried out here, and what to do; "" when it can."""
    if not sys.platform.startswith("linux"):
        return "this needs Linux"
    if os.geteuid() != 0:
        return "a hub starts servers as their users, so it must run as root: sudo make hub"
    for program, package in (
        (PROXY, "node-configurable-http-proxy"),
        ("unshare", "util-linux"),
        ("setpriv", "util-linux"),
    ):
        if not shutil.which(program):
            return f"{program} is not installed: apt install {package}"
    for module in ("jupyterhub", "batchspawner", "jupyterhub_idle_culler"):
        if not (Path(sys.prefix) / "lib" / f"python3.{sys.version_info[1]}" / "site-packages" / module).is_dir():
            return f"the environment {sys.prefix} has no {module}: make doctor installs what is missing"
    taken = [name for name in account_names(99) if has_account(name)]
    if taken:
        return (
            f"this machine has an account {taken[0]!r}, a name that the throw-away hub uses: it would not touch a"
            " real one"
        )
    if spawner == "slurm":
        from slurm_cluster import missing as missing_for_slurm

        return missing_for_slurm()
    return ""


def account_names(students: int) -> list[str]:
    return [GRADER, INSTRUCTOR, *(f"hub-student{number}" for number in range(1, students + 1))]


def has_account(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def try_out(options: argparse.Namespace) -> int:
    """Starts a hub, prints how to log in, and ends it on Ctrl-C or SIGTERM."""
    if reason := missing(options.spawner):
        raise HubError(reason)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    start = time.monotonic()
    print(f"Making a class and starting a hub with the {options.spawner} spawner ...", flush=True)
    with throw_away_hub(
        options.spawner, options.port, options.students, options.units, options.assign, options.log
    ) as hub:
        print(f"ready after {time.monotonic() - start:.0f} s: {hub['address']}\n")
        for name, password in hub["passwords"].items():
            print(f"    {name:16} {password}")
        print(
            f"\nThe instructor finds the class under Services > {COURSE}. Ctrl-C ends the hub and removes all of it.",
            flush=True,
        )
        if options.ready:
            part = options.ready.with_name(f"{options.ready.name}.part")
            part.write_text(json.dumps(hub))
            part.replace(options.ready)
        with contextlib.suppress(KeyboardInterrupt):
            wait_for(hub["pid"])
            raise HubError(f"the hub has ended by itself. The end of its log:\n{tail(Path(hub['log']))}")
    print("The hub, its accounts and its files are gone.")
    return 0


def _started_inside(log: Path) -> subprocess.Popen:
    """This program's `inside`, which is told on stdin what to do, in namespaces that end with it."""
    namespaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child=KILL", "--propagation=private"]
    with log.open("wb") as output:
        return subprocess.Popen(
            ["setpriv", "--pdeathsig=KILL", *namespaces, sys.executable, __file__, "inside"],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


@contextlib.contextmanager
def throw_away_hub(spawner: str, port: int, students: int, units, assign, log: Path | None = None):
    """{"address", "passwords", "pid" of its first process, "log", "base"} of a running hub. Raises Trouble."""
    scratch = Path(tempfile.mkdtemp(prefix="hub-"))
    log = log or scratch / "log.txt"
    ports = dict(zip(("web", "hub", "proxy", "grader"), free_ports(port), strict=True))
    told = {
        "spawner": spawner,
        "ports": ports,
        "passwords": {name: secrets.token_hex(4) for name in account_names(students)[1:]},
        "units": units,
        "assign": assign,
        "base": str(base_folder()),
    }
    process, first = _started_inside(log), None
    try:
        process.stdin.write(json.dumps(told).encode())
        process.stdin.close()
        address = f"http://127.0.0.1:{ports['web']}"
        deadline = time.monotonic() + START_LIMIT
        while not answers(f"{address}/hub/api/"):
            if process.poll() is not None or time.monotonic() > deadline:
                raise HubError(f"it does not start. The end of its log:\n{tail(log)}")
            time.sleep(0.3)
        first = int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0])
        yield {"address": address, "passwords": told["passwords"], "pid": first, "log": str(log), "base": told["base"]}
    finally:
        handle = os.pidfd_open(first) if first and Path(f"/proc/{first}").exists() else None
        process.kill()  # the kernel then ends the first process inside, and with it all others
        process.wait()
        if handle is not None:
            select.select([handle], [], [], 30)
            os.close(handle)
        end_groups(ports["hub"])
        shutil.rmtree(scratch, ignore_errors=True)


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5):
            return True
    except (OSError, ValueError):
        return False


def wait_for(pid: int) -> None:
    """Return when this process, no child of ours, has ended."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        select.select([handle], [], [])
    finally:
        os.close(handle)


def tail(log: Path, lines: int = 25) -> str:
    try:
        return "\n".join(f"    {line}" for line in log.read_text(errors="replace").splitlines()[-lines:])
    except OSError:
        return "    (there is none)"


def free_ports(first: int) -> list[int]:
    """Four ports on 127.0.0.1, the first one as asked for. Raises Trouble where that one is taken."""
    with contextlib.ExitStack() as stack:
        found = []
        for wanted in (first, 0, 0, 0):
            sock = stack.enter_context(socket.socket())
            try:
                sock.bind(("127.0.0.1", wanted))
            except OSError:
                raise HubError(f"port {wanted} is taken: make hub PORT={wanted + 1}") from None
            found.append(sock.getsockname()[1])
        return found


def base_folder() -> Path:
    """An empty place that every Linux has and where nothing lies that the hub needs: it is covered by a mount of the
    hub's own."""
    needed = [Path(path).resolve() for path in (ROOT, sys.prefix, sys.base_prefix)]
    for name in ("/srv", "/mnt", "/media", "/opt"):
        if Path(name).is_dir() and not any(path.is_relative_to(name) for path in needed):
            return Path(name)
    raise HubError("/srv, /mnt, /media and /opt are all in use or missing: make one of them")


def end_groups(port: int) -> None:
    """The control groups of servers that were killed with their hub."""
    from course_hub.limits import end

    for group in Path("/sys/fs/cgroup").glob(f"**/course-hub-{port}-*"):
        end(group)


# -- inside: a mount namespace and a process namespace of its own ------------------------------------------------------


def inside(_: argparse.Namespace) -> int:
    """The first process of the namespaces. Told by JSON on standard input what to do."""
    told = json.loads(sys.stdin.read())
    base = Path(told["base"])
    jail = imported_jail()
    jail._mount("proc", "/proc", "proc", 0)
    jail._mount("tmpfs", str(base), "tmpfs", 0, "mode=0755")
    jail._mount("tmpfs", "/dev/shm", "tmpfs", 0, "mode=1777")
    make_accounts(base, told["passwords"])
    make_class(base, told["units"])
    shared = show_shared(base / "class" / "student")
    with contextlib.ExitStack() as stack:
        enter, web = lambda argv, env: ["env", *(f"{k}={v}" for k, v in env.items()), *argv], {}
        if told["spawner"] == "slurm":
            cluster = stack.enter_context(throw_away_slurm(base / "cluster"))
            enter, web = lambda argv, env: cluster.command(argv, env=env), {"hub_host": "login"}
            forward(told["ports"]["web"], cluster)
        settings = base / "hub.toml"
        settings.write_text(settings_text(base, shared, told, web))
        from course_hub import places
        from course_hub.settings import load

        places.prepare(load(settings))
        release(base, shared, told["assign"])
        hub = [
            str(shared / ".venv/bin/python"),
            "-m",
            "jupyterhub",
            "-f",
            str(shared / "job_scripts/jupyterhub/jupyterhub_config.py"),
        ]
        (base / "state").mkdir(mode=0o700, exist_ok=True)
        variables = {"COURSE_HUB": str(settings), "PATH": path_of(shared), "PYTHONDONTWRITEBYTECODE": "1"}
        os.environ.pop("PYTHONPATH", None)
        process = subprocess.Popen(enter(hub, variables), cwd=base / "state", stdin=subprocess.DEVNULL)
        return reap_until_end(process.pid)


def imported_jail():
    from labkit.launch import jail

    return jail


def path_of(shared: Path) -> str:
    return os.pathsep.join(
        [str(shared / ".venv" / "bin"), *os.environ.get("PATH", os.defpath).split(os.pathsep), "/usr/sbin", "/sbin"]
    )


def make_accounts(base: Path, passwords: dict[str, str]) -> None:
    """Accounts that exist here only: a copy of the machine's /etc with ours added, mounted over it. (A mount over the
    single files would be taken away by the kernel as soon as somebody outside adds an account.)"""
    folder = base / "etc"
    subprocess.run(["cp", "--archive", "/etc", str(folder)], check=True)
    texts = {name: (folder / name).read_text() for name in ("passwd", "group", "shadow")}
    uids = free_uids(len(passwords) + 1)
    for name, uid in zip((GRADER, *passwords), uids, strict=True):
        home = base / "home" / name
        home.mkdir(parents=True, mode=0o755)  # as many machines make them: the hub has to close it
        os.chown(home, uid, uid)
        secret = hashed(passwords[name]) if name in passwords else "!"
        texts["passwd"] += f"{name}:x:{uid}:{uid}::{home}:/bin/bash\n"
        texts["group"] += f"{name}:x:{uid}:\n"
        texts["shadow"] += f"{name}:{secret}:19700:0:99999:7:::\n"
    for name, text in texts.items():
        (folder / name).write_text(text)
    imported_jail()._mount(str(folder), "/etc", None, 4096)


def hashed(password: str) -> str:
    """The password as a hash for /etc/shadow."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # gone in Python 3.13; the course is on 3.11
        import crypt
    return crypt.crypt(password, crypt.mksalt(crypt.METHOD_SHA512))


def free_uids(count: int) -> list[int]:
    taken = {entry.pw_uid for entry in pwd.getpwall()}
    return [uid for uid in range(FIRST_UID, FIRST_UID + 900) if uid not in taken][:count]


def make_class(base: Path, units: list[str] | None) -> None:
    """The class's root, in the grader's hands."""
    command = [sys.executable, str(ROOT / "tools" / "course_release.py"), str(base / "class")]
    subprocess.run(
        [*command, *(["--units", *units] if units else [])], check=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    grader = pwd.getpwnam(GRADER)
    for folder, folders, files in os.walk(base / "class"):
        for name in (".", *folders, *files):
            os.chown(os.path.join(folder, name), grader.pw_uid, grader.pw_gid, follow_symlinks=False)
    (base / "class").chmod(0o700)


def show_shared(student: Path) -> Path:
    """Let the clone look like a site's shared course to everybody in here, this process included: the students' files,
    with the environment as `.venv`, read-only; Python can be run even where it lies in somebody's private home. Returns
    its path.
    """
    jail = imported_jail()
    prefix, python = Path(sys.prefix), Path(sys.base_prefix).resolve()
    clone = prefix.parent if prefix.name == ".venv" and (prefix.parent / "labkit").is_dir() else ROOT
    shown = student.parent.parent / "shared"
    shutil.copytree(student, shown)
    (shown / ".venv").mkdir(exist_ok=True)
    for folder, folders, files in os.walk(shown):
        for name in (".", *folders, *files):
            os.chown(os.path.join(folder, name), 0, 0)
    handles = {path: os.open(path, os.O_PATH) for path in (shown, prefix, python)}
    shut = {folder for path in (clone, ROOT, prefix, python) if (folder := first_shut_folder(path))}
    for folder in shut:
        jail._mount("tmpfs", str(folder), "tmpfs", 0, "mode=0755")
    places = [(python, python)] if any(python.is_relative_to(folder) for folder in shut) else []
    places += [(shown, place) for place in dict.fromkeys((clone, ROOT))]
    places += [(prefix, place) for place in dict.fromkeys((clone / ".venv", prefix))]
    for source, place in places:
        jail._bind(f"/proc/self/fd/{handles[source]}", str(place))
    for handle in handles.values():
        os.close(handle)
    os.chdir("/")
    return clone


def first_shut_folder(path: Path) -> Path | None:
    """The first folder on the way to `path`, itself included, that others may not enter."""
    return next((folder for folder in (*reversed(path.parents), path) if not folder.stat().st_mode & 0o001), None)


def settings_text(base: Path, shared: Path, told: dict, web: dict[str, str]) -> str:
    """hub.toml of the throw-away hub."""
    ports, batch = told["ports"], told["spawner"] == "slurm"
    scratch = Path("/tmp") if batch else base / "scratch"
    if not batch:
        scratch.mkdir()
        scratch.chmod(0o1777)
    top = {
        "course": COURSE,
        "class_root": base / "class",
        "shared": shared,
        "exchange": base / "exchange",
        "state": base / "state",
    }
    top |= {"scratch": scratch, "grader": GRADER, "instructors": [INSTRUCTOR]}
    top["students"] = [name for name in told["passwords"] if name != INSTRUCTOR]
    cpu = {"title": "CPU", "about": "Enough for every unit of the course.", "cores": 4, "memory_gb": 4.0, "hours": 1}
    small = {"title": "Small", "about": "To read and write.", "cores": 1, "memory_gb": 2.0}
    gpu = {
        "title": "GPU",
        "about": "To measure on; give it back soon.",
        "cores": 4,
        "memory_gb": 4.0,
        "hours": 1,
        "gpus": 1,
    }
    parts = {
        "web": {f"{name}_port": ports[name] for name in ("hub", "proxy", "grader")} | web,
        "spawner": {"kind": told["spawner"]},
        "profiles.cpu": cpu,
        **({"profiles.gpu": gpu} if batch else {"profiles.small": small}),
    }
    parts["web"]["address"] = f"http://127.0.0.1:{ports['web']}"
    lines = [f"{name} = {toml(value)}" for name, value in top.items()]
    for name, values in parts.items():
        lines += ["", f"[{name}]", *(f"{key} = {toml(value)}" for key, value in values.items())]
    return "\n".join(lines) + "\n"


def toml(value) -> str:
    return json.dumps(str(value) if isinstance(value, Path) else value)


def release(base: Path, shared: Path, units: list[str]) -> None:
    """Releases the first units, as the Release button of the formgrader would."""
    program = """
import sys
from nbgrader.apps import NbGraderAPI
from traitlets.config import PyFileConfigLoader
config = PyFileConfigLoader("nbgrader_config.py").load_config()
config.CourseDirectory.course_id, config.Exchange.root = sys.argv[1:3]
api = NbGraderAPI(config=config)
for unit in sys.argv[3:]:
    told = api.release_assignment(unit)
    if not told["success"]:
        sys.exit(told.get("log") or told.get("error"))
"""
    grader = pwd.getpwnam(GRADER)
    subprocess.run(
        [str(shared / ".venv/bin/python"), "-c", program, COURSE, str(base / "exchange"), *units],
        cwd=base / "class",
        env={"HOME": grader.pw_dir, "USER": GRADER, "PATH": path_of(shared)},
        user=grader.pw_uid,
        group=grader.pw_gid,
        extra_groups=[],
        check=True,
    )


def throw_away_slurm(folder: Path):
    from slurm_cluster import SlurmCluster

    return SlurmCluster(nodes=2, cpus=4, folder=folder, gpus=1)


def forward(port: int, cluster) -> None:
    """A browser on this machine reaches the hub on the login host, whose network is its own: a process listens here and
    connects there."""
    listening = socket.create_server(("127.0.0.1", port))
    login = int(cluster.command(["true"])[2])
    if os.fork() == 0:
        with contextlib.suppress(BaseException):
            imported_jail()._prctl(1, signal.SIGKILL)
            with open(f"/proc/{login}/ns/net") as network:
                imported_jail()._call("setns", network.fileno(), 0)
            asyncio.run(carry(listening, port))
        os._exit(1)
    listening.close()


async def carry(listening: socket.socket, port: int) -> None:
    async def one_way(reader, writer) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
        with contextlib.suppress(OSError):
            writer.close()

    async def both(reader, writer) -> None:
        try:
            there, back = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            writer.close()  # the hub is not up yet
            return
        await asyncio.gather(one_way(reader, back), one_way(there, writer))

    async with await asyncio.start_server(both, sock=listening) as server:
        await server.serve_forever()


def reap_until_end(pid: int) -> int:
    """Wait for the hub; on the way, bury what has lost its parent: that is the first process's duty."""
    while True:
        ended, status = os.wait()
        if ended == pid:
            return os.waitstatus_to_exitcode(status)


# -- a real site: the shared course ------------------------------------------------------------------------------------

_RECORD = ".published.json"


def publish(options: argparse.Namespace) -> int:
    """Bring SHARED up to date with the class's student/, make its environment, and try that with the rights of
    nobody."""
    student, shared = options.class_root.resolve() / "student", options.shared.resolve()
    if not (student / "requirements.lock.txt").is_file():
        raise HubError(f"{options.class_root} is no root of a class: make course-release DIR={options.class_root}")
    if (shared / "solutions").exists():
        raise HubError(f"{shared} holds solutions/: a clone is not for students; choose another folder")
    changed, removed = copy_course(student, shared)
    print(f"{shared}: {changed} files new or changed, {removed} removed")
    if not options.files_only:
        environment = {"PATH": f"{Path(options.python).parent}:/usr/bin:/bin", "HOME": os.environ.get("HOME", "/root")}
        kept = {
            name: value
            for name, value in os.environ.items()
            if name.startswith(("PIP_", "LANG", "LC_")) or "proxy" in name.lower()
        }
        command = [options.python, str(shared / "tools" / "bootstrap.py"), "setup", "--wait-horovod"]
        if subprocess.run(command, cwd=shared, env={**environment, **kept}, umask=0o022).returncode:
            raise HubError(f"the environment could not be made: see above, and {shared}/.cache/setup")
    if os.geteuid() == 0 and not options.files_only:
        from course_hub.places import as_nobody, shut_folder

        python = shared / ".venv" / "bin" / "python"
        said = as_nobody([str(python), "-c", "import autograder, labkit, jupyterhub, torch"])
        if said.returncode:
            raise HubError(f"an ordinary user cannot use {python}: {shut_folder(python) or said.stderr.strip()[-400:]}")
        print(f"An ordinary user can run {python}.")
    return 0


def copy_course(student: Path, shared: Path) -> tuple[int, int]:
    """(files new or changed, files removed): only what was published before is ever removed; .venv and .cache are not
    the course's."""
    record = shared / _RECORD
    before = set(json.loads(record.read_text())) if record.exists() else set()
    now = {path.relative_to(student).as_posix(): path for path in sorted(student.rglob("*")) if path.is_file()}
    changed = 0
    for name, path in now.items():
        target = shared / name
        mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
        if target.is_file() and target.read_bytes() == path.read_bytes() and target.stat().st_mode & 0o777 == mode:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f".{target.name}.part")
        part.write_bytes(path.read_bytes())
        part.chmod(mode)
        part.replace(target)
        changed += 1
    gone = [name for name in before - now.keys() if (shared / name).is_file()]
    for name in gone:
        (shared / name).unlink()
    for folder in {shared, *(shared / parent for name in now for parent in Path(name).parents)}:
        folder.chmod(0o755)
    record.write_text(json.dumps(sorted(now)))
    return changed, len(gone)


if __name__ == "__main__":
    sys.exit(main())
