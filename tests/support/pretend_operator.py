"""What the MPI operator and a cluster make of an MPIJob, made with hosts on this machine: pods that are not containers, but have network
addresses, host names, processes, /tmp and /dev/shm of their own, and the image's files where the image has them.

Real are: the manifests as rendered, the Dockerfile's own files and variables, sshd and ssh with their settings, the job's keys in the
format and with the owner that the operator gives them, the host file, mpiexec and the ranks. Not real: Docker, Kubernetes, its network,
its limits on memory and processors.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import dockerfile  # noqa: E402
from virtual_hosts import VirtualHosts, missing  # noqa: E402

PROGRAMS = {"ip": "iproute2", "nsenter": "util-linux", "sshd": "openssh-server", "ssh": "openssh-client"}
START_LIMIT = 60.0  # s, for a worker to be ready
USER = "student"


class PretendOperator:
    """The pods of one MPIJob.

    with PretendOperator(job, image, folder) as pods:
        pods.launch(timeout=60)

    job: the manifest. image: the Dockerfile's last stage. folder: made, and gone afterwards. Needs root.
    """

    def __init__(self, job: dict, image: dockerfile.Stage, folder: Path):
        self.job, self.image, self.folder = job, image, folder
        self.name, self.spec = job["metadata"]["name"], job["spec"]
        self.launcher = f"{self.name}-launcher"
        self.workers = [f"{self.name}-worker-{number}" for number in range(self._pods("Worker")["replicas"])]
        self.outputs = {worker: folder / f"{worker}.log" for worker in self.workers}
        self._sshd: list[subprocess.Popen] = []

    def __enter__(self) -> PretendOperator:
        # Mounted, not linked: Open MPI and Python must both find themselves where the image has them.
        mounts = {"/etc": self.folder / "etc", "/opt": self.folder / "opt", "/opt/course/.venv": sys.prefix}
        self._lay_out_image()
        self.hosts = VirtualHosts([self.launcher, *self.workers], self.folder / "hosts", mounts=mounts, users=[USER])
        self.hosts.start()
        try:
            self._give_names()
            self._mount_keys()
            for worker in self.workers:
                self._start_worker(worker)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        for process in self._sshd:
            process.kill()
            process.wait()
        self.hosts.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def launch(self, timeout: float, more: list[str] = ()) -> subprocess.CompletedProcess:
        """The launcher's command and arguments, and `more` arguments; to its end."""
        container = self._pods("Launcher")["template"]["spec"]["containers"][0]
        told = {variable["name"]: variable["value"] for variable in container.get("env", [])}
        from_operator = {
            "K_MPI_JOB_ROLE": "launcher",
            "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
            "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile",
            "OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10",
            "OMPI_MCA_orte_set_default_slots": str(self.spec["slotsPerWorker"]),
        }
        command = [*container["command"], *container["args"], *more]
        return self.run(self.launcher, command, timeout, {**told, **from_operator})

    def _pods(self, role: str) -> dict:
        return self.spec["mpiReplicaSpecs"][role]

    def _restricted(self, argv: list[str]) -> list[str]:
        """As in a container of ours: an ordinary user who can never become more (allowPrivilegeEscalation: false)."""
        return ["setpriv", "--no-new-privs", *argv]

    def run(self, host: str, argv: list[str], timeout: float, env: dict[str, str] | None = None) -> subprocess.CompletedProcess:
        """A command in a pod, as its user and with the image's environment; to its end."""
        variables = {**dockerfile.environment(self.image), **(env or {})}
        return self.hosts.run(host, self._restricted(argv), user=USER, env=variables, timeout=timeout)

    def _start_worker(self, worker: str) -> None:
        container = self._pods("Worker")["template"]["spec"]["containers"][0]
        with open(self.outputs[worker], "w") as output:
            argv = self._restricted([*container["command"], *container.get("args", [])])
            command = self.hosts.command(worker, argv, user=USER, env=dockerfile.environment(self.image))
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        self._sshd.append(process)
        probe = container["readinessProbe"]["exec"]["command"]
        deadline = time.monotonic() + START_LIMIT
        while self.run(worker, probe, START_LIMIT).returncode:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{worker} does not get ready: {self.outputs[worker].read_text()}")
            time.sleep(0.02)  # as Kubernetes does, at longer intervals

    # --- files

    def _lay_out_image(self) -> None:
        """/etc with what the Dockerfile puts there, /opt with the course and its environment, as far as the image holds them."""
        shutil.copytree("/etc", self.folder / "etc", symlinks=True)
        course = self.folder / "opt" / "course"
        course.mkdir(parents=True)
        ignored = dockerfile.ignore_patterns(ROOT / ".dockerignore")
        for entry in ROOT.iterdir():
            if not dockerfile.is_ignored(entry.name, ignored):
                (course / entry.name).symlink_to(entry)
        (course / ".venv").mkdir()
        for sources, destination in dockerfile.copies(self.image):
            if destination.startswith("/etc/"):
                place = self.folder / destination.strip("/")
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / sources[0], place)
        (self.folder / "etc" / "mpi").mkdir(exist_ok=True)
        slots = self.spec["slotsPerWorker"]
        lines = [f"{worker}.{self.name}.default.svc slots={slots}\n" for worker in self.workers]
        (self.folder / "etc" / "mpi" / "hostfile").write_text("".join(lines))

    def _give_names(self) -> None:
        """What the cluster's name service knows: the workers by the names of the host file."""
        with open(self.hosts.folder / "hosts", "a") as names:
            for host in self.workers:
                names.write(f"{self.hosts.addresses[host]} {host}.{self.name}.default.svc\n")

    def _mount_keys(self) -> None:
        """An elliptic pair of keys in a folder that belongs to root, readable by all, behind links, as a secret is mounted."""
        place = Path(self.spec["sshAuthMountPath"]).relative_to(f"/home/{USER}")
        keys = self.hosts.folder / "home" / USER / place
        data = keys / "..data"
        data.mkdir(parents=True)
        make = ["ssh-keygen", "-q", "-t", "ecdsa", "-b", "521", "-m", "PEM", "-N", "", "-C", "", "-f", str(data / "id_rsa")]
        subprocess.run(make, check=True)
        shutil.copyfile(data / "id_rsa.pub", data / "authorized_keys")
        for file in data.iterdir():
            file.chmod(0o644)
            (keys / file.name).symlink_to(f"..data/{file.name}")
        keys.chmod(0o1777)


def missing_here() -> str:
    """What this machine lacks for pretending; "" when nothing."""
    return missing(PROGRAMS)
