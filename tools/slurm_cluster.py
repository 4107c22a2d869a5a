"""A throw-away Slurm on this one machine: a login host and nodes with addresses and host names of their own.

    make cluster-up N=4 RATE=1gbit             4 nodes, every link limited to 1 Gbit/s; without RATE as fast as memory
    make cluster-run CMD="sbatch --wait x.sh"  on the login host; without CMD a shell
    make cluster-down                          ends everything that runs on it and removes its files

It takes root and the Debian packages slurmctld, slurmd, slurm-client, munge and libpmix-dev. Its hosts are those of
virtual_hosts.py: nothing of it can be reached from elsewhere. Nodes share this machine's cores, however many they claim
to have: it teaches and tests how jobs behave, not how fast they are; the limit on the links is real.

    with SlurmCluster(nodes=4, folder=path) as cluster:
        cluster.run(["sbatch", "--wait", "pi.sh"], user="student", cwd=folder)
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from virtual_hosts import ROOT, HostsError, VirtualHosts
from virtual_hosts import missing as missing_for_hosts

FOLDER = ROOT / "var" / "cluster"
LOGIN = "login"
READY_LIMIT = 60.0  # s until all nodes are idle
_PROGRAMS = {
    **{name: "iproute2" for name in ("ip", "tc")},
    **{name: "util-linux" for name in ("nsenter", "unshare", "setpriv")},
    **{name: "slurm-client" for name in ("sbatch", "srun", "sinfo")},
    **{"slurmctld": "slurmctld", "slurmd": "slurmd", "munged": "munge"},
}
_UNFINISHED = ("PENDING", "CONFIGURING", "RUNNING", "SUSPENDED", "COMPLETING", "REQUEUED")
# /run is every host's own and short: paths of sockets have at most 107 characters. What is mounted there comes from the
# cluster's folder.
_MUNGE = "/run/munge"
_CONFIG = "/run/slurm"


def missing() -> str:
    """Why Slurm cannot be started on this machine, and what to do; "" when it can."""
    pmix = {} if any(Path("/usr/lib").glob("*/libpmix.so")) else {"libpmix.so": "libpmix-dev"}  # for srun --mpi=pmix
    return missing_for_hosts(_PROGRAMS | pmix)


def _first_job() -> int:
    """The number of the first job. Where each cluster began with 1, a job would take over the folder of an older
    cluster's job, and go on from its checkpoint: one every 10 s, by the clock, is more than are submitted."""
    return int(time.time() / 10) % 10_000_000


class SlurmCluster:
    """`nodes` nodes (node1, node2, ...) of `cpus` slots each, and a login host with the controller.

    folder: for its state and logs. rate: of every link, like "1gbit". gpus: how many pretended GPUs a node has
    (`--gres=gpu:1` then sets CUDA_VISIBLE_DEVICES; there is nothing behind it). users: names of users that exist on its
    hosts only; any user of this machine may run jobs, too. detached: it outlives this process.
    """

    def __init__(
        self,
        nodes: int = 4,
        cpus: int = 4,
        folder: str | os.PathLike = FOLDER,
        rate: str | None = None,
        gpus: int = 0,
        *,
        users: Iterable[str] = (),
        detached: bool = False,
    ):
        if not 1 <= nodes <= 64:
            raise HostsError(f"a cluster has 1 to 64 nodes here, not {nodes}")
        self.folder = Path(folder).resolve()
        self.cpus, self.gpus = cpus, gpus
        self.nodes = [f"node{number}" for number in range(1, nodes + 1)]
        places = {_MUNGE: self.folder / "munge", _CONFIG: self.folder / "slurm"}
        if Path("/etc/slurm").is_dir():  # where Slurm looks when sudo has dropped SLURM_CONF
            places["/etc/slurm"] = self.folder / "slurm"
        self.hosts = VirtualHosts(
            [*self.nodes, LOGIN], self.folder, rate, mounts=places, users=users, detached=detached
        )

    @classmethod
    def attach(cls, folder: str | os.PathLike = FOLDER) -> SlurmCluster:
        """The cluster that another process has started with this folder. Raises HostsError where there is none."""
        hosts = VirtualHosts.attach(folder)
        cluster = cls(max(1, len(hosts.addresses) - 1), folder=folder)
        cluster.hosts = hosts
        return cluster

    def __enter__(self) -> SlurmCluster:
        self.start()
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def start(self) -> None:
        """Starts the cluster; returns when all nodes are idle. Raises HostsError, and then leaves nothing running."""
        if reason := missing():
            raise HostsError(f"The throw-away Slurm cannot be started: {reason}.")
        try:
            self._write_files()
            self.hosts.start()
            self._start_daemons()
            self._wait_until_idle()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End all jobs, daemons and hosts, and remove the cluster's files."""
        self.hosts.close()

    def command(
        self,
        argv: Sequence[str],
        user: str | None = None,
        cwd: str | os.PathLike | None = None,
        env: Mapping[str, str] | None = None,
        host: str = LOGIN,
    ) -> list[str]:
        """The command that runs `argv` on the login host (or another); see VirtualHosts.command."""
        return self.hosts.command(host, argv, user, cwd, _settings(env))

    def run(
        self,
        argv: Sequence[str],
        user: str | None = None,
        cwd: str | os.PathLike | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float = 120.0,
        host: str = LOGIN,
    ) -> subprocess.CompletedProcess:
        """Runs `argv` to its end on the login host (or another); see VirtualHosts.run."""
        return self.hosts.run(host, argv, timeout=timeout, user=user, cwd=cwd, env=_settings(env))

    def job(self, number: int | str) -> dict[str, str]:
        """The facts that Slurm says about a job: {"JobState": "COMPLETED", "ExitCode": "0:0", "NodeList": "node[1-2]"
        ...}.
        """
        shown = self.run(["scontrol", "show", "job", "--oneliner", str(number)])
        if shown.returncode:
            raise HostsError(shown.stderr.strip())
        return dict(field.partition("=")[::2] for field in shown.stdout.split() if "=" in field)

    def wait(self, number: int | str, timeout: float = 120.0) -> dict[str, str]:
        """Wait for the end of a job, and say what Slurm says about it; notices at once what `sbatch --wait` notices
        after up to 30 s.

        Raises TimeoutError.
        """
        deadline = time.monotonic() + timeout
        while (job := self.job(number))["JobState"] in _UNFINISHED:
            if time.monotonic() > deadline:
                raise TimeoutError(f"job {number} is still {job['JobState']} after {timeout:g} s")
            time.sleep(0.1)
        return job

    # -- starting

    def _write_files(self) -> None:
        munge, slurm = self.folder / "munge", self.folder / "slurm"
        for folder in (munge, slurm, self.folder / "state", self.folder / "log"):
            folder.mkdir(parents=True, exist_ok=True)
        key = munge / "key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(1024))
        for path in (munge, key):
            shutil.chown(path, "munge", "munge")
        (slurm / "slurm.conf").write_text(self._configuration())
        (slurm / "gres.conf").write_text("".join(f"Name=gpu File=/run/gpu{number}\n" for number in range(self.gpus)))

    def _configuration(self) -> str:
        """slurm.conf. All that a site would do by cgroups is off: these hosts share the machine's."""
        node = (
            f"CPUs={self.cpus} Boards=1 SocketsPerBoard=1 CoresPerSocket={self.cpus} ThreadsPerCore=1 RealMemory=8192"
        )
        node += f" Gres=gpu:{self.gpus}" if self.gpus else ""
        addresses = self.hosts.addresses
        lines = [
            "ClusterName=course",
            f"FirstJobId={_first_job()}",
            f"SlurmctldHost={LOGIN}({addresses[LOGIN]})",
            "SlurmUser=root",
            "SlurmdUser=root",
            "AuthType=auth/munge",
            f"AuthInfo=socket={_MUNGE}/socket,cred_expire=20",  # s; for so long a requeued job waits, by default 120
            f"StateSaveLocation={self.folder}/state",
            "SlurmdSpoolDir=/run/slurmd",
            "SlurmctldPidFile=/run/slurmctld.pid",
            "SlurmdPidFile=/run/slurmd.pid",
            f"SlurmctldLogFile={self.folder}/log/slurmctld.log",
            f"SlurmdLogFile={self.folder}/log/slurmd-%n.log",
            "ProctrackType=proctrack/linuxproc",
            "TaskPlugin=task/none",
            "JobAcctGatherType=jobacct_gather/none",
            "JobCompType=jobcomp/none",
            "AccountingStorageType=accounting_storage/none",
            "MpiDefault=none",
            "ReturnToService=2",
            "PropagateResourceLimits=NONE",
            "SelectType=select/cons_tres",
            "SelectTypeParameters=CR_Core",
            "SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0",
            "KillWait=5",
            "MinJobAge=7200",  # s for which it remembers a job that has ended: there is no accounting to ask
            "SlurmdParameters=config_overrides",  # a node may claim more cores than the machine has
            *(["GresTypes=gpu"] if self.gpus else []),
            *(f"NodeName={name} NodeAddr={addresses[name]} {node} State=UNKNOWN" for name in self.nodes),
            "PartitionName=course Nodes=ALL Default=YES MaxTime=01:00:00 DefaultTime=00:10:00 State=UP",
        ]
        return "\n".join(lines) + "\n"

    def _start_daemons(self) -> None:
        munged = [
            "setpriv",
            "--reuid=munge",
            "--regid=munge",
            "--clear-groups",
            "munged",
            "--force",
            f"--socket={_MUNGE}/socket",
        ]
        munged += [f"--{name}-file={_MUNGE}/{name}" for name in ("key", "pid", "log", "seed")]
        self._daemon(LOGIN, munged)
        self._daemon(LOGIN, ["slurmctld", "-i"])
        for name in self.nodes:
            for number in range(self.gpus):
                self._daemon(name, ["ln", "-s", "/dev/null", f"/run/gpu{number}"])
            self._daemon(name, ["slurmd", "-N", name])

    def _daemon(self, host: str, argv: list[str]) -> None:
        done = self.hosts.run(host, argv, env=_settings({"PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"}))
        if done.returncode:
            raise HostsError(
                f"{argv[0]} does not start on {host}: {(done.stderr or done.stdout).strip() or 'it gives no reason'}"
            )

    def _wait_until_idle(self) -> None:
        deadline = time.monotonic() + READY_LIMIT
        while True:
            idle = self.run(["sinfo", "--noheader", "--states=idle", "--format=%D"])
            if idle.stdout.strip() == str(len(self.nodes)):
                return
            if time.monotonic() > deadline:
                shown = self.run(["sinfo", "--Node", "--long"])
                log = (self.folder / "log" / "slurmctld.log").read_text(errors="replace").splitlines()[-10:]
                raise HostsError("\n".join(["The nodes are not ready:", shown.stdout + shown.stderr, *log]))
            time.sleep(0.05)


def _settings(env: Mapping[str, str] | None) -> dict[str, str]:
    return {"SLURM_CONF": f"{_CONFIG}/slurm.conf", **(env or {})}


# --- the command line


def up(options: argparse.Namespace) -> int:
    if reason := missing():
        raise HostsError(f"The throw-away Slurm cannot be started: {reason}.")
    with only_one():
        if FOLDER.exists():
            if (FOLDER / "state.json").exists() and VirtualHosts.attach(FOLDER).are_running():
                raise HostsError("A cluster is running already: make cluster-down ends it.")
            remove()
        cluster = SlurmCluster(options.nodes, options.cpus, FOLDER, options.rate, options.gpus, detached=True)
        cluster.start()
    print(cluster.run(["sinfo"]).stdout, end="")
    links = f"every link {options.rate}" if options.rate else "links without a limit"
    print(f"{len(cluster.nodes)} nodes with {options.cpus} slots each are ready, {links}.")
    print(
        'Next: make cluster-run CMD="srun -N2 hostname"; make cluster-run for a shell there; make cluster-down ends it.'
    )
    return 0


def down(_: argparse.Namespace) -> int:
    if not FOLDER.exists():
        print("No cluster is running.")
        return 0
    if os.geteuid() != 0:
        raise HostsError("Only root can end the cluster: sudo make cluster-down")
    with only_one():
        remove()
    with contextlib.suppress(OSError):
        FOLDER.parent.rmdir()
    print("The cluster is gone.")
    return 0


@contextlib.contextmanager
def only_one() -> Iterator[None]:
    """Holds a lock: only one process at a time starts or ends the cluster."""
    FOLDER.parent.mkdir(exist_ok=True)
    handle = os.open(FOLDER.parent, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise HostsError("Another `make cluster-up` or `make cluster-down` is at work: wait for its end.") from None
    finally:
        os.close(handle)


def remove() -> None:
    """Ends the cluster in FOLDER, also if it is half started or dead, and removes its files."""
    if (FOLDER / "state.json").exists():
        SlurmCluster.attach(FOLDER).close()
    shutil.rmtree(FOLDER, ignore_errors=True)


def run(options: argparse.Namespace) -> int:
    argv = ["bash", "-c", options.command] if options.command else ["bash", "-i"]
    folder = options.folder if options.folder or options.user else os.getcwd()
    return subprocess.run(running().command(argv, options.user, folder)).returncode


def status(_: argparse.Namespace) -> int:
    cluster = running()
    print(cluster.run(["sinfo", "--Node", "--long"]).stdout + cluster.run(["squeue"]).stdout, end="")
    return 0


def running() -> SlurmCluster:
    """The cluster, for root to use. Raises HostsError."""
    if not FOLDER.exists():
        raise HostsError("No cluster is running: make cluster-up N=4 starts one.")
    if os.geteuid() != 0:
        raise HostsError(
            "Only root can enter its hosts: try again with sudo; --user NAME then runs the command as that user."
        )
    cluster = SlurmCluster.attach(FOLDER)
    if not cluster.hosts.are_running():
        raise HostsError("Not all of its hosts are running any more: make cluster-down, then make cluster-up.")
    return cluster


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="slurm_cluster.py", description="A throw-away Slurm of several hosts on this machine."
    )
    commands = parser.add_subparsers(required=True, metavar="up | down | run | status")
    starting = commands.add_parser("up", help="start it; it runs until `down`")
    starting.add_argument("nodes", nargs="?", type=int, default=4)
    starting.add_argument("rate", nargs="?", help="of every link, like 1gbit; without: no limit")
    starting.add_argument("--cpus", type=int, default=4, help="slots per node (4)")
    starting.add_argument("--gpus", type=int, default=0, help="pretended GPUs per node (0)")
    starting.set_defaults(action=up)
    commands.add_parser("down", help="end it and remove its files").set_defaults(action=down)
    running = commands.add_parser("run", help="a command on the login host; without one a shell")
    running.add_argument("command", nargs="?", default="", help='one word of shell: "srun -N2 hostname"')
    running.add_argument("--user", help="as this user of the machine")
    running.add_argument("--folder", help="in this folder")
    running.set_defaults(action=run)
    commands.add_parser("status", help="its nodes and its queue").set_defaults(action=status)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # clean up as after Ctrl-C
    try:
        return options.action(options)
    except HostsError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Interrupted: nothing is left running." if options.action is up else "Interrupted.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
