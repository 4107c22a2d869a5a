"""Hosts on one machine: each has a network address, a host name, a process table, /tmp, /run and /dev/shm of its own.

    with VirtualHosts(["node1", "node2"], folder=path, rate="1gbit") as hosts:
        hosts.run("node1", ["ping", "-c1", "node2"])

The hosts are plugged into a switch of their own, so they reach each other and nothing else, and nothing on this machine
reaches them: what a program on a host listens on is open to the other hosts only. `rate` limits every link in both
directions, as a network card of that speed would. All other files are this machine's: the course, the environment and
the homes are shared, as on a cluster.

A host is a process in new Linux namespaces that does nothing. When it is killed the kernel ends everything that runs on
the host, and with the last process its mounts and interfaces are gone: nothing is ever mounted or created outside.
`folder` holds a list of these processes (state.json), by which another process can find the hosts
(`VirtualHosts.attach`) and end them. Needs root.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
START_LIMIT = 20.0  # s for one host
_NETWORK = "10.77.0"  # every set of hosts has the same: no two of them meet
_FIRST_UID = 61300  # of the users that exist on the hosts only
_SWITCH = "switch"
_RATE = re.compile(r"\d+(\.\d+)?(kbit|mbit|gbit)")
_PROGRAMS = {
    "ip": "iproute2",
    "tc": "iproute2",
    "nsenter": "util-linux",
    "unshare": "util-linux",
    "setpriv": "util-linux",
}
_UNSHARE = ["unshare", "--net", "--uts", "--mount", "--ipc", "--pid", "--fork", "--kill-child=KILL"]
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# What a user's command takes over from the environment of whoever starts it; the last is how the tests know what they
# started.
_TAKEN_OVER = ("LANG", "LC_ALL", "TERM", "COURSE_TEST_SESSION")


class HostsError(RuntimeError):
    """A sentence on why there are no hosts, and what to do."""


def missing(programs: Mapping[str, str] = _PROGRAMS) -> str:
    """The programs missing on this machine, and what to do; "" when nothing. programs: {name: Debian package}."""
    found = {**os.environ, "PATH": f"{os.environ.get('PATH', '')}:{_PATH}"}["PATH"]
    packages = sorted({package for name, package in programs.items() if shutil.which(name, path=found) is None})
    problems = []
    if not sys.platform.startswith("linux"):
        problems.append("they are made of Linux namespaces, and this is not Linux")
    elif os.geteuid() != 0:
        problems.append("only root may make network namespaces (try the same command with sudo)")
    if packages:
        problems.append(f"these Debian packages are missing: apt-get install {' '.join(packages)}")
    if not problems and subprocess.run([*_UNSHARE, "true"], capture_output=True).returncode:
        problems.append("this container does not allow new namespaces (Docker, Podman: start it with --privileged)")
    return "; ".join(problems)


class VirtualHosts:
    """`names`: the hosts, with addresses 10.77.0.1, 10.77.0.2, ... in this order.

    folder: for their state and what they share. rate: like "1gbit" or "100mbit", None: no limit. mounts: {path on every
    host: folder or file here}. users: names of further users that exist on the hosts only, with homes in /home.
    detached: they outlive this process.
    """

    def __init__(
        self,
        names: Sequence[str],
        folder: str | os.PathLike,
        rate: str | None = None,
        *,
        mounts: Mapping[str, str | os.PathLike] | None = None,
        users: Iterable[str] = (),
        detached: bool = False,
    ):
        if rate is not None and not _RATE.fullmatch(rate):
            raise HostsError(f"a rate is written like 1gbit or 100mbit, not {rate!r}")
        self.folder = Path(folder).resolve()
        self.rate, self.mounts, self.detached = rate, dict(mounts or {}), detached
        self.addresses = {name: f"{_NETWORK}.{number}" for number, name in enumerate(names, start=1)}
        self.users = {name: _FIRST_UID + number for number, name in enumerate(users)}
        self._processes: dict[str, tuple[int, str]] = {}  # host -> process id, start time
        self._started: list[subprocess.Popen] = []

    # -- starting and ending

    def __enter__(self) -> VirtualHosts:
        self.start()
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def start(self) -> None:
        """Starts the hosts. Raises HostsError, and then leaves nothing running."""
        if reason := missing():
            raise HostsError(f"The hosts cannot be started: {reason}.")
        try:
            self._write_files()
            for name in (_SWITCH, *self.addresses):
                self._start_host(name)
            self._connect()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End everything that runs on the hosts and remove the files in their folder."""
        for process in self._processes.values():
            if started_at(process[0]) == process[1]:
                os.kill(process[0], signal.SIGKILL)
        for starter in self._started:
            with contextlib.suppress(OSError):
                starter.stdin.close()  # one that has no host's duties yet ends here
            starter.stdout.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                starter.wait(START_LIMIT)
        deadline = time.monotonic() + START_LIMIT
        while left := [pid for pid, start in self._processes.values() if started_at(pid) == start]:
            if time.monotonic() > deadline:
                raise HostsError(f"These processes do not end: {' '.join(map(str, left))}")
            time.sleep(0.01)
        self._processes, self._started = {}, []
        shutil.rmtree(self.folder, ignore_errors=True)

    @classmethod
    def attach(cls, folder: str | os.PathLike) -> VirtualHosts:
        """The hosts that another process has started with this folder. Raises HostsError where there are none."""
        try:
            state = json.loads((Path(folder) / "state.json").read_text())
        except (OSError, ValueError):
            raise HostsError(f"No hosts were started in {folder}.") from None
        hosts = cls((), folder)
        hosts.addresses, hosts.users = state["addresses"], state["users"]
        hosts._processes = {name: tuple(process) for name, process in state["processes"].items()}
        return hosts

    def are_running(self) -> bool:
        """True if all of them are there."""
        running = {name for name, (pid, start) in self._processes.items() if started_at(pid) == start}
        return running == {_SWITCH, *self.addresses}

    # -- using them

    def command(
        self,
        host: str,
        argv: Sequence[str],
        user: str | None = None,
        cwd: str | os.PathLike | None = None,
        env: Mapping[str, str] | None = None,
    ) -> list[str]:
        """The command to start here so that `argv` runs on that host.

        user: as whom (None: root), with an environment like that of a fresh login; cwd: None is the present folder, for
        a user the home; env: further variables. It ends with whoever starts it.
        """
        pid = self._processes[host][0]
        enter = [
            "nsenter",
            "--target",
            str(pid),
            "--net",
            "--uts",
            "--mount",
            "--ipc",
            "--pid",
            "--",
            "setpriv",
            "--pdeathsig=KILL",
        ]
        if user is None:
            folder, variables = os.getcwd(), ["TMPDIR=/tmp"]
        else:
            uid, gid, folder = self._account(user)
            enter += [f"--reuid={uid}", f"--regid={gid}", "--init-groups"]
            variables = ["-i", *(f"{name}={value}" for name, value in _login(user, folder).items())]
        variables += [f"{name}={value}" for name, value in (env or {}).items()]
        return [*enter, "env", f"--chdir={cwd or folder}", *variables, *map(str, argv)]

    def run(
        self,
        host: str,
        argv: Sequence[str],
        *,
        timeout: float = 60.0,
        user: str | None = None,
        cwd: str | os.PathLike | None = None,
        env: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess:
        """Run it there to its end; output as text. Raises subprocess.TimeoutExpired, and ends what it started, after
        `timeout` s."""
        command = self.command(host, argv, user, cwd, env)
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            stdout, stderr = process.communicate(timeout=timeout)
        except BaseException as error:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            stdout, stderr = process.communicate()
            if isinstance(error, subprocess.TimeoutExpired):
                raise subprocess.TimeoutExpired(command, timeout, stdout, stderr) from None
            raise
        return subprocess.CompletedProcess(list(argv), process.returncode, stdout, stderr)

    def _account(self, user: str) -> tuple[int, int, str]:
        if user in self.users:
            return self.users[user], self.users[user], f"/home/{user}"
        try:
            account = pwd.getpwnam(user)
        except KeyError:
            raise HostsError(f"this machine has no user {user!r}") from None
        return account.pw_uid, account.pw_gid, account.pw_dir if os.path.isdir(account.pw_dir) else "/"

    # -- one host

    def _write_files(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        lines = ["127.0.0.1 localhost", *(f"{address} {name}" for name, address in self.addresses.items())]
        (self.folder / "hosts").write_text("\n".join(lines) + "\n")
        self.mounts["/etc/hosts"] = self.folder / "hosts"
        for name, uid in self.users.items():
            home = self.folder / "home" / name
            home.mkdir(parents=True, mode=0o700, exist_ok=True)
            os.chown(home, uid, uid)
            self.mounts[f"/home/{name}"] = home
        if self.users:
            for file, line in (("passwd", "{0}:x:{1}:{1}::/home/{0}:/bin/bash\n"), ("group", "{0}:x:{1}:\n")):
                known = Path("/etc", file).read_text() + "".join(line.format(*user) for user in self.users.items())
                (self.folder / file).write_text(known)
                self.mounts[f"/etc/{file}"] = self.folder / file

    def _start_host(self, name: str) -> None:
        """A process in new namespaces. It takes up its duties when told so, after it has been written into the state:
        whoever is killed before that leaves nothing, whoever is killed later leaves what `attach` finds."""
        unshare = _UNSHARE if self.detached else ["setpriv", "--pdeathsig=KILL", *_UNSHARE]
        starter = subprocess.Popen(
            [*unshare, sys.executable, "-I", "-S", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._started.append(starter)
        pid = starter.stdout.readline().strip()
        if not pid.isdigit():
            raise HostsError(
                f"The hosts cannot be started: new namespaces are not allowed here ({pid or 'no reason was given'})."
            )
        self._processes[name] = (int(pid), started_at(int(pid)))
        self._write_state()
        duties = {
            "name": name,
            "covers": {} if name == _SWITCH else self._covers(),
            "mounts": {} if name == _SWITCH else {place: str(source) for place, source in self.mounts.items()},
        }
        starter.stdin.write(json.dumps(duties) + "\n")
        starter.stdin.close()
        if (said := starter.stdout.readline()) != "ready\n":
            raise HostsError(f"The host {name} does not start: {(said + starter.stdout.read()).strip()}")

    def _write_state(self) -> None:
        state = {"addresses": self.addresses, "users": self.users, "processes": self._processes}
        new = self.folder / "state.new"
        new.write_text(json.dumps(state, indent=1))
        new.replace(self.folder / "state.json")

    def _covers(self) -> dict[str, list[str]]:
        """{folder: what of it stays}: the folders of which every host has its own, and, so that users can run Python
        even where it lies in root's private home, that home with nothing else in it."""
        needed = [Path(path).resolve() for path in (ROOT, sys.prefix, sys.base_prefix)]
        covers: dict[str, set[str]] = {"/dev/shm": set(), "/run": set(), "/tmp": set()}
        for path in (*needed, self.folder, Path.cwd(), Path(tempfile.gettempdir()), Path.home()):
            if path.parts[:2] == ("/", "tmp") and len(path.parts) > 2:
                covers["/tmp"].add(f"/tmp/{path.parts[2]}")
        for path in needed:
            shut = next((folder for folder in reversed(path.parents) if not folder.stat().st_mode & 0o001), None)
            if shut is not None:
                covers.setdefault(str(shut), set()).add(str(path))
        if self.users:
            covers["/home"] = {str(entry) for entry in Path("/home").iterdir()}
        return {folder: sorted(kept) for folder, kept in covers.items()}

    # -- the network

    def _connect(self) -> None:
        lines = ["link add br0 type bridge", "link set br0 up"]
        for number, name in enumerate(self.addresses, start=1):
            lines.append(f"link add port{number} type veth peer name eth0 netns {self._processes[name][0]}")
            lines.append(f"link set port{number} master br0 up")
        self._network("ip", _SWITCH, lines)
        for name, address in self.addresses.items():
            self._network("ip", name, [f"addr add {address}/24 dev eth0", "link set lo up", "link set eth0 up"])
        if self.rate is not None:
            limit = f"root tbf rate {self.rate} burst {burst(self.rate)} latency 50ms"
            for name in self.addresses:
                self._network("tc", name, [f"qdisc add dev eth0 {limit}"])
            ports = range(1, len(self.addresses) + 1)
            self._network("tc", _SWITCH, [f"qdisc add dev port{number} {limit}" for number in ports])

    def _network(self, program: str, host: str, lines: list[str]) -> None:
        command = ["nsenter", "--target", str(self._processes[host][0]), "--net", program, "-batch", "-"]
        done = subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, text=True)
        if done.returncode:
            raise HostsError(f"The network of the hosts cannot be set up: {(done.stderr or done.stdout).strip()}")


def burst(rate: str) -> int:
    """The number of bytes that may follow each other at full speed: what the link carries in 1 ms, at least one packet
    of 64 KiB, which is how the kernel hands over many small ones at once."""
    number, unit = re.fullmatch(r"([\d.]+)(\w+)", rate).groups()
    bits_per_second = float(number) * {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}[unit]
    return max(64 << 10, int(bits_per_second / 8 * 1e-3))


def _login(user: str, home: str) -> dict[str, str]:
    taken_over = {name: os.environ[name] for name in _TAKEN_OVER if name in os.environ}
    own = {"USER": user, "LOGNAME": user, "HOME": home, "SHELL": "/bin/bash", "TMPDIR": "/tmp"}
    return {"LANG": "C.UTF-8", "TERM": "dumb"} | taken_over | own | {"PATH": f"{Path(sys.executable).parent}:{_PATH}"}


def started_at(pid: int) -> str:
    """The start time of a process in the kernel's count since boot, and the boot's id: together they tell it from a
    later process with the same number. "" if there is no such process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else f"{boot} {fields[19]}"


# --- what runs as the host: the first process in its namespaces

_BIND, _RECURSIVE = 4096, 16384
_libc = ctypes.CDLL(None, use_errno=True)


def be_a_host() -> None:
    # /proc is still that of the machine: this is our number there
    print(os.readlink("/proc/self"), flush=True)
    line = sys.stdin.readline()
    if not line:
        sys.exit("nobody is there any more")
    duties = json.loads(line)
    try:
        socket.sethostname(duties["name"])
        _set_up_files(duties["covers"], duties["mounts"])
    except OSError as error:
        sys.exit(str(error))
    print("ready", flush=True)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # orphans come to us, and nobody wants to know how they ended
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.chdir("/")
    os.execvp("sleep", ["sleep", "infinity"])


def _set_up_files(covers: dict[str, list[str]], mounts: dict[str, str]) -> None:
    """In this mount namespace: cover folders by empty ones in which only some entries are as before; then put `mounts`
    in place."""
    handles = {
        path: os.open(path, os.O_PATH)
        for path in {*mounts.values(), *(path for kept in covers.values() for path in kept)}
    }
    for folder, kept in sorted(covers.items()):
        mode = "1777" if folder in ("/tmp", "/dev/shm") else "0755"
        _mount("tmpfs", folder, "tmpfs", 0, f"mode={mode}")
        for path in kept:
            _show(handles[path], path)
    for place, source in sorted(mounts.items()):
        _show(handles[source], place)
    _mount("proc", "/proc", "proc", 0)


def _show(handle: int, place: str) -> None:
    """Binds the folder or file of the handle to this place, too."""
    if not os.path.lexists(place):
        if os.path.isdir(f"/proc/self/fd/{handle}"):
            os.makedirs(place)
        else:
            open(place, "w").close()
    _mount(f"/proc/self/fd/{handle}", place, None, _BIND | _RECURSIVE)


def _mount(source: str, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    texts = [None if text is None else text.encode() for text in (source, target, kind)]
    if _libc.mount(*texts, ctypes.c_ulong(flags), None if options is None else options.encode()) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"cannot mount {target}: {os.strerror(number)}")


if __name__ == "__main__":
    be_a_host()
