"""An emulation of PBS for tests: it reads #PBS directives, lays chunks out on hosts and runs the script's body there.

It is no PBS. What it copies from OpenPBS 23.06, as a server of four nodes behaved, because scripts depend on it: chunks
may share a node without place=scatter; the job starts in the home folder of the first node with a bare environment and
umask 077; PBS_NODEFILE has mpiprocs lines for each chunk and lies on every node; OMP_NUM_THREADS and NCPUS are
ompthreads; qsub -v carries no quotes, $ and backslashes; pbs_tmrsh takes hosts of the job, and full paths or what is in
/bin and /usr/bin, passes on neither folder nor exported variables (only those of qsub -v), ends with the number of the
signal that killed its task, and its output goes to the job's file, NAME.oNUMBER; at the end of the walltime and after
qdel everything gets SIGTERM and, kill_delay later, SIGKILL; when the script ends, what it left running is killed.

    pbs = EmulatedPBS(hosts, folder, user="student")          hosts: tools/virtual_hosts.py
    job = pbs.qsub(script, "-l", "walltime=00:00:20", variables={"ARGS": "--epochs 1"})
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from labkit.jobs.pbs_script import SelectChunk, parse_select, read_script, seconds, split_resources

CORES = 8  # of each emulated node, for packing
KILL_DELAY = 10.0  # seconds between SIGTERM and SIGKILL
PATH = "/usr/local/bin:/usr/bin:/bin"  # of a fresh PBS job: what pbs_environment says
MARKER = "COURSE_TEST_SESSION"

# pbs_tmrsh: asks the emulation, by a socket that all hosts see, to start the task; prints nothing of it, ends with its
# status.
TMRSH = """#!{python} -ISE
import json, os, socket, sys
host, program = sys.argv[1:3]
if host not in open(os.environ["PBS_NODEFILE"]).read().split():
    sys.stderr.write('pbs_tmrsh: host "%s" is not a node in job <%s>\\n' % (host, os.environ["PBS_JOBID"]))
    sys.exit(255)
if not any(os.path.exists(os.path.join(place, program)) for place in ("/bin", "/usr/bin")):
    sys.stderr.write("pbs_tmrsh: tm_poll(obit): %s: no such file\\n" % program)
    sys.exit(255)
with socket.socket(socket.AF_UNIX) as channel:
    channel.connect({socket!r})
    channel.sendall(json.dumps(sys.argv[1:]).encode() + b"\\n")
    answer = b"".join(iter(lambda: channel.recv(100), b""))
sys.exit(int(answer or 255))
"""
QSTAT = """#!/bin/sh
echo "Job Id: $PBS_JOBID"
echo "    Resource_List.walltime = {walltime}"
"""


@dataclass
class Job:
    """number: "1.emulated". folder: where it was submitted. status: of the script, None if it was killed. hosts: lines
    of the node file."""

    number: str
    name: str
    folder: Path
    hosts: list[str]
    status: int | None = None
    output: str = ""
    output_name: str = ""  # of the file that holds it, in the folder of submission
    left_running: list[str] = field(default_factory=list)  # what the script had started and not ended
    tasks: list[tuple[str, list[str]]] = field(default_factory=list)  # started by pbs_tmrsh

    @property
    def run(self) -> Path:
        """The folder that the course's job scripts keep: jobs/NAME-NUMBER."""
        return self.folder / "jobs" / f"{self.name}-{self.number.split('.')[0]}"


def layout(chunks: list[SelectChunk], scatter: bool, nodes: list[str], cores: int = CORES) -> list[str]:
    """The lines of the node file. Without scatter a node is filled first, as place=free does it.

    Raises ValueError for what would stay queued.
    """
    lines, free = [], {node: cores for node in nodes}
    taken: set[str] = set()
    for chunk in chunks:
        for _ in range(chunk.count):
            wanted = chunk.number("ncpus", 1)
            node = next((node for node in nodes if free[node] >= wanted and not (scatter and node in taken)), None)
            if node is None:
                raise ValueError(f"no node for a chunk of {chunk.resources}: the job stays queued")
            free[node] -= wanted
            taken.add(node)
            lines += [node] * chunk.number("mpiprocs", 1)
    return lines


class EmulatedPBS:
    """folder: seen by all hosts, with the programs pbs_tmrsh and qstat. user: whose jobs these are."""

    def __init__(self, hosts, folder: Path, user: str):
        self.hosts, self.user = hosts, user
        self.nodes = list(hosts.addresses)
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o755)
        self.home = Path(hosts._account(user)[2])
        self.count = 0

    def qsub(
        self,
        script: Path,
        *options: str,
        folder: Path,
        variables: Mapping[str, str] | None = None,
        limit: float = 180.0,
        on_start=None,
    ) -> Job:
        """Run a script to its end. folder: where qsub is called, as the hosts see it. limit: s, then the test has
        failed.

        on_start(run): called in a thread as soon as the job runs: run.job, run.processes(), run.qdel().
        """
        read = read_script(Path(script).read_text())
        assert set(options[::2]) <= {"-l"}, "the emulation knows no other option of qsub"
        asked = {name: value for _, name, value in reversed(read.requests)}
        asked |= dict(pair for value in options[1::2] for pair in split_resources(value))
        chunks = parse_select(asked.get("select", "1:ncpus=1"))
        lines = layout(chunks, "scatter" in asked.get("place", "free"), self.nodes)
        self.count += 1
        name = read.option("N").value if read.option("N") else Path(script).name
        # the same folder, as it is seen from outside of the hosts
        here = Path(self.hosts.mounts.get(str(folder), folder))
        for value in (variables or {}).values():
            if any(character in value for character in "'\"\\$`\n"):
                raise ValueError(f"qsub -v garbles {value!r}")
        job = Job(f"{self.count}.emulated", name, here, lines, output_name=f"{name}.o{self.count}")
        threads = chunks[0].number("ompthreads", chunks[0].number("ncpus", 1))
        own = {"PBS_O_WORKDIR": str(folder), **(variables or {})}
        with _Run(self, job, script, threads, asked.get("walltime"), own) as run:
            run.wait(limit, on_start)
        return job


class _Run:
    """One job while it runs."""

    def __init__(self, pbs: EmulatedPBS, job: Job, script: Path, threads: int, walltime: str | None, more: dict):
        self.pbs, self.job = pbs, job
        self.walltime = None if walltime is None else seconds(walltime)
        self.own = pbs.folder / job.number
        self.bin = self.own / "bin"
        self.bin.mkdir(parents=True)
        node_file = f"/run/pbs_{job.number}"
        self.environment = {
            "HOME": str(pbs.home),
            "LOGNAME": pbs.user,
            "USER": pbs.user,
            "SHELL": "/bin/bash",
            "PATH": f"{self.bin}:{PATH}",
            "TMPDIR": "/tmp",
            "LANG": "C.UTF-8",
            "NCPUS": str(threads),
            "OMP_NUM_THREADS": str(threads),
            "PBS_ENVIRONMENT": "PBS_BATCH",
            "PBS_JOBID": job.number,
            "PBS_JOBNAME": job.name,
            "PBS_NODEFILE": node_file,
            "PBS_O_HOST": pbs.nodes[0],
            "PBS_QUEUE": "workq",
            MARKER: os.environ.get(MARKER, ""),
            **more,
        }
        self._write_programs(node_file, script, walltime)

    def _write_programs(self, node_file: str, script: Path, walltime: str | None) -> None:
        self.socket = self.own / "tm"
        (self.bin / "pbs_tmrsh").write_text(TMRSH.format(python=sys.executable, socket=str(self.socket)))
        if walltime:
            (self.bin / "qstat").write_text(QSTAT.format(walltime=walltime))
        for program in self.bin.iterdir():
            program.chmod(0o755)
        self.script = self.own / "script"
        self.script.write_text(Path(script).read_text())
        self.script.chmod(0o644)
        lines = "".join(f"{host}\n" for host in self.job.hosts)
        for host in dict.fromkeys(self.job.hosts):
            wrote = self.pbs.hosts.run(host, ["/bin/sh", "-c", f"printf %s {shlex.quote(lines)} > {node_file}"])
            if wrote.returncode:
                raise RuntimeError(wrote.stderr)

    def __enter__(self) -> _Run:
        self.output = open(self.own / "output", "ab")
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(str(self.socket))
        self.socket.chmod(0o777)
        self.server.listen()
        threading.Thread(target=self._serve, daemon=True).start()
        self.process = self._start(self.job.hosts[0], ["/bin/bash", str(self.script)])
        return self

    def __exit__(self, *_) -> None:
        self.job.left_running = self._end_all()
        # a thread that waits in accept() is woken by shutdown, not by close
        with contextlib.suppress(OSError):
            self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()
        self.output.close()
        self.job.output = (self.own / "output").read_text(errors="replace")

    def _start(self, host: str, argv: list[str]) -> subprocess.Popen:
        variables = [f"{name}={value}" for name, value in self.environment.items()]
        private = ["/bin/sh", "-c", 'umask 077; exec "$@"', "task"]
        command = self.pbs.hosts.command(
            host, ["env", "-i", *variables, *private, *argv], user=self.pbs.user, cwd=str(self.pbs.home)
        )
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self.output, stderr=subprocess.STDOUT, start_new_session=True
        )

    def _serve(self) -> None:
        while True:
            try:
                channel, _ = self.server.accept()
            except OSError:
                return
            threading.Thread(target=self._task, args=(channel,), daemon=True).start()

    def _task(self, channel: socket.socket) -> None:
        with channel, channel.makefile("rb") as lines, contextlib.suppress(OSError):
            host, *argv = json.loads(lines.readline())
            self.job.tasks.append((host, argv))
            status = self._start(host, argv).wait()
            channel.sendall(str(abs(status)).encode())

    def wait(self, limit: float, on_start) -> None:
        """To the end of the script, of its walltime or of the test's patience."""
        if on_start is not None:
            threading.Thread(target=on_start, args=(self,), daemon=True).start()
        short = self.walltime is not None and self.walltime < limit
        try:
            self.job.status = self.process.wait(self.walltime if short else limit)
            return
        except subprocess.TimeoutExpired:
            if not short:
                self.output.flush()
                raise AssertionError(
                    f"the job has not ended within {limit} s:\n{(self.own / 'output').read_text()}"
                ) from None
        self.output.write(b"=>> PBS: job killed: walltime exceeded limit\n")
        self.output.flush()
        self.qdel()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.job.status = self.process.wait(KILL_DELAY)

    def qdel(self) -> None:
        """SIGTERM to every process of the job."""
        for process in self.processes():
            with contextlib.suppress(psutil.Error):
                process.send_signal(signal.SIGTERM)

    def processes(self, *variables: str) -> list[psutil.Process]:
        """All of the job's, on whatever host: those that inherited its variable, and hold these NAME=VALUE too."""
        needed = {f"PBS_JOBID={self.job.number}", f"{MARKER}={os.environ.get(MARKER, '')}", *variables}
        wanted, found = {text.encode() for text in needed}, []
        for process in psutil.process_iter():
            with contextlib.suppress(OSError, psutil.Error):
                held = Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")
                if wanted.issubset(held) and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found

    def _end_all(self) -> list[str]:
        """SIGKILL to what is left of the job, as PBS does when the script has ended; says what it was."""
        left = []
        deadline = time.monotonic() + 10
        while processes := self.processes():
            for process in processes:
                with contextlib.suppress(psutil.Error):
                    left.append(" ".join(process.cmdline()))
                    process.kill()
            if time.monotonic() > deadline:
                raise AssertionError(f"these do not end: {left}")
            time.sleep(0.02)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        return left
