"""The throw-away Slurm: real jobs on hosts with addresses of their own, links as fast as was asked for, and nothing of
it outside.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import leaks
import ordinary_user
import psutil
import pytest
from machine import needs

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import slurm_cluster  # noqa: E402
import virtual_hosts  # noqa: E402
from virtual_hosts import HostsError, VirtualHosts  # noqa: E402

# Written in one piece: mpiexec passes on what it gets, and two ranks' pieces may meet in one line.
SUM = (
    "from mpi4py import MPI; import os; c = MPI.COMM_WORLD; "
    "os.write(1, f'{os.uname().nodename} {c.rank} {c.size} {c.allreduce(c.rank)}\\n'.encode())"
)
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def ours() -> list[int]:
    """This process and what it has started: other tests may run beside these."""
    return [os.getpid(), *(pid for pid, _ in leaks.our_processes())]


def links(pid: int, folder: str) -> set[str]:
    """What the links in a folder of /proc/PID lead to."""
    found = set()
    with contextlib.suppress(OSError):
        for entry in os.scandir(f"/proc/{pid}/{folder}"):
            with contextlib.suppress(OSError):
                found.add(os.readlink(entry.path))
    return found


def listening() -> set[str]:
    """Our sockets in this machine's network that wait for connections: addresses and ports, names in the abstract
    space.
    """
    held = set().union(*(links(pid, "fd") for pid in ours()))
    found = set()
    for name, state in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")):
        lines = [line.split() for line in Path("/proc/net", name).read_text().splitlines()[1:]]
        found |= {f"{name} {fields[1]}" for fields in lines if fields[3] == state and f"socket:[{fields[9]}]" in held}
    unix = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()[1:]]
    waiting = [fields for fields in unix if len(fields) > 7 and fields[3] == "00010000"]
    return found | {f"unix {fields[7]}" for fields in waiting if f"socket:[{fields[6]}]" in held}


def namespaces() -> set[str]:
    """The network namespaces in which anything of ours runs."""
    return set().union(*({link for link in links(pid, "ns") if link.startswith("net:")} for pid in ours()))


# --- jobs


def test_jobs_run_on_the_nodes_as_root_and_as_users(slurm):
    for user in (None, "student", "nobody"):
        done = slurm.run(
            ["srun", "--nodes=4", "bash", "-c", 'echo "$(hostname) $(id -un) $SLURM_PROCID"'], user=user, cwd="/"
        )
        assert done.returncode == 0, done.stderr
        assert sorted(done.stdout.split("\n")[:-1]) == [f"node{i + 1} {user or 'root'} {i}" for i in range(4)]


@pytest.mark.parametrize("user", [None, "student"])
@pytest.mark.parametrize(
    ("launcher", "tries"), [("mpiexec", 1), ("srun --mpi=pmix", 3)]
)  # why three: job_scripts/site.sh, setting 3
def test_mpi_over_two_nodes(slurm, user, launcher, tries):
    environment = {} if user else AS_ROOT
    nodes = ["--nodelist=node1,node2", "--ntasks-per-node=2"]
    words = ["salloc", "--quiet", *nodes, *launcher.split(), sys.executable, "-c", SUM]
    for _ in range(tries):
        done = slurm.run(words, user=user, env=environment)
        if done.returncode == 0:
            break
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split("\n")[:-1]) == [f"node{1 + k // 2} {k} 4 6" for k in range(4)]


def test_the_exit_status_of_a_job(slurm):
    submitted = slurm.run(["sbatch", "--parsable", "--output=/dev/null", "--wrap=exit 3"])
    job = slurm.wait(submitted.stdout.strip())
    assert (job["JobState"], job["ExitCode"]) == ("FAILED", "3:0")


def test_pretended_gpus_are_shared_out(slurm):
    words = [
        "srun",
        "--nodelist=node1,node2",
        "--ntasks-per-node=2",
        "--gpus-per-task=1",
        "bash",
        "-c",
        'echo "$(hostname) $CUDA_VISIBLE_DEVICES"',
    ]
    seen = sorted(slurm.run(words).stdout.split("\n")[:-1])
    assert len(seen) == 4 and {line.split()[0] for line in seen} == {"node1", "node2"}
    assert all(re.fullmatch(r"node\d [01](,[01])?", line) for line in seen), seen


def test_hosts_share_the_course_and_have_their_own_temporary_files(slurm):
    for folder in ("/tmp", "/dev/shm", "/run"):
        assert slurm.run(["touch", f"{folder}/mine"], host="node1").returncode == 0
        assert slurm.run(["ls", f"{folder}/mine"], host="node1").returncode == 0
        assert slurm.run(["ls", f"{folder}/mine"], host="node2").returncode != 0
        assert not Path(folder, "mine").exists()
        slurm.run(["rm", f"{folder}/mine"], host="node1")
    read = slurm.run(
        ["srun", "--nodes=2", sys.executable, "-c", f"print(len(open({__file__!r}).read()))"], user="student"
    )
    assert read.stdout.split() == [str(len(Path(__file__).read_text()))] * 2, read.stderr


def test_a_user_cannot_read_what_is_root_s(slurm):
    """The munge key, the controller's state, another user's home."""
    for path in ("/run/munge/key", f"{slurm.folder}/state", "/home/classmate"):
        assert slurm.run(["ls", "-d", path]).returncode == 0, path
        assert slurm.run(["sh", "-c", f"cat {path} || ls {path}/"], user="student").returncode != 0, path


def test_what_listens_there_does_not_listen_here(slurm):
    assert slurm.run(["sh", "-c", "grep -c ' 0A ' /proc/net/tcp"]).stdout.strip() != "0", (
        "the controller listens on the login host"
    )
    ours = {f"tcp 00000000:{port:04X}" for port in (6817, 6818)}
    assert not ours & {line for line in listening() if line.startswith("tcp ")}
    assert not any("munge" in line for line in listening())
    assert not any("10.77." in str(address) for found in psutil.net_if_addrs().values() for address in found)


def test_a_host_reaches_the_other_hosts_and_nothing_else(slurm):
    program = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 5)"
    assert slurm.run([sys.executable, "-c", program, "login", "6817"], host="node1").returncode == 0
    outside = slurm.run([sys.executable, "-c", program, "192.0.2.1", "80"], host="node1")  # an address that nobody has
    assert "Network is unreachable" in outside.stderr


def test_a_command_that_takes_too_long_is_ended_with_its_children(slurm):
    with pytest.raises(subprocess.TimeoutExpired):
        slurm.run(["sh", "-c", "sleep 987 & sleep 987"], timeout=0.5)
    deadline = time.monotonic() + 5
    while "sleep 987" in (left := slurm.run(["ps", "-eo", "args"]).stdout) and time.monotonic() < deadline:
        pass
    assert "sleep 987" not in left


# --- links


SEND = """
import socket, sys, time
size = int(sys.argv[2])
with socket.create_connection((sys.argv[1], 5001)) as link:
    began = time.monotonic()
    link.sendall(bytes(size))
    link.shutdown(socket.SHUT_WR)
    link.recv(1)
    print(size * 8 / (time.monotonic() - began) / 1e6)
"""
RECEIVE = """
import socket
with socket.create_server(("", 5001)) as server:
    print("ready", flush=True)
    link, _ = server.accept()
    while link.recv(1 << 20):
        pass
    link.sendall(b"x")
"""


@needs("hosts")
def test_a_link_carries_what_was_asked_for_and_no_more(tmp_path):
    """A limit from above is a fact on a busy machine too; what a link without a limit carries is more than that."""
    seen = {}
    for rate in ("100mbit", None):
        with VirtualHosts(["a", "b"], folder=tmp_path / "hosts", rate=rate) as hosts:
            receiver = subprocess.Popen(
                hosts.command("b", [sys.executable, "-c", RECEIVE]), stdout=subprocess.PIPE, text=True
            )
            assert receiver.stdout.readline() == "ready\n"
            sent = hosts.run("a", [sys.executable, "-c", SEND, "b", str(5_000_000)])
            assert receiver.wait(10) == 0
            receiver.stdout.close()
            seen[rate] = float(sent.stdout)
    assert seen["100mbit"] < 105 < seen[None], seen


@pytest.mark.parametrize(
    ("rate", "bytes_"), [("100mbit", 65536), ("1gbit", 125000), ("10gbit", 1250000), ("2.5gbit", 312500)]
)
def test_burst(rate, bytes_):
    assert virtual_hosts.burst(rate) == bytes_


# --- side by side, interrupted, killed


@needs("hosts")
def test_several_live_side_by_side_and_leave_nothing(tmp_path):
    before, heard = namespaces(), listening()
    with (
        VirtualHosts(["node1"], folder=tmp_path / "one") as one,
        VirtualHosts(["node1"], folder=tmp_path / "two") as two,
    ):
        assert len(namespaces() - before) == 4, "a host and a switch each"
        assert listening() - heard == set()
        one.run("node1", ["touch", "/tmp/here"])
        assert two.run("node1", ["ls", "/tmp/here"]).returncode != 0
        assert one.run("node1", ["hostname"]).stdout == two.run("node1", ["hostname"]).stdout == "node1\n"
    assert namespaces() <= before
    assert list(tmp_path.iterdir()) == []


def start_up(folder: Path, *words: str) -> subprocess.Popen:
    """`slurm_cluster.py up` in another process, with its state in this folder."""
    program = "import signal, sys; from pathlib import Path; import slurm_cluster\n"
    program += "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored in a shell's background
    program += "slurm_cluster.FOLDER = Path(sys.argv.pop(1)); sys.exit(slurm_cluster.main())"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tools")}
    words = [sys.executable, "-c", program, str(folder), *words]
    return subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def tell(folder: Path, *words: str) -> tuple[int, str, str]:
    process = start_up(folder, *words)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


@pytest.fixture
def folder(slurm, tmp_path):
    """For the command line; whatever a test does, its cluster ends."""
    place = tmp_path / "var" / "cluster"
    yield place
    assert tell(place, "down")[0] == 0


def test_up_run_status_down_from_different_processes(folder):
    before = namespaces()
    status, out, err = tell(folder, "up", "2", "1gbit", "--cpus", "2")
    assert status == 0 and "2 nodes with 2 slots each are ready, every link 1gbit." in out, err
    assert tell(folder, "run", "srun -N2 hostname | sort")[:2] == (0, "node1\nnode2\n")
    assert tell(folder, "run", "exit 7")[0] == 7
    assert tell(folder, "run", "id -un; pwd", "--user", "nobody")[:2] == (0, "nobody\n/\n")
    assert "idle" in tell(folder, "status")[1]
    assert tell(folder, "up") == (1, "", "A cluster is running already: make cluster-down ends it.\n")
    assert tell(folder, "down") == (0, "The cluster is gone.\n", "")
    assert namespaces() <= before and not folder.parent.exists()
    assert tell(folder, "down") == (0, "No cluster is running.\n", "")
    assert tell(folder, "run", "true") == (1, "", "No cluster is running: make cluster-up N=4 starts one.\n")


@pytest.mark.parametrize("hosts", [1, 3])
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_up_that_is_interrupted_or_killed(folder, how, hosts):
    """After so many of the hosts have been started."""
    before = namespaces()
    process = start_up(folder, "up", "3")
    while len(started(folder)) < hosts and process.poll() is None:
        pass
    process.send_signal(how)
    _, err = process.communicate(timeout=30)
    if how == signal.SIGKILL:
        assert process.returncode == -how
        assert tell(folder, "down")[:2] == (0, "The cluster is gone.\n")
    else:
        assert process.returncode == 130 and "Interrupted: nothing is left running." in err, err
        assert not folder.exists()
    deadline = time.monotonic() + 5  # a host that had not been told its duties notices by itself
    while namespaces() - before and time.monotonic() < deadline:
        pass
    assert namespaces() <= before


def started(folder: Path) -> dict:
    try:
        return json.loads((folder / "state.json").read_text())["processes"]
    except OSError:
        return {}


def test_down_ends_nobody_else_s_process(folder):
    """A number in the state that meanwhile belongs to another process."""
    with subprocess.Popen(["sleep", "60"]) as bystander:
        folder.mkdir(parents=True)
        state = {
            "addresses": {"node1": "10.77.0.1"},
            "users": {},
            "processes": {"node1": [bystander.pid, "another start 1"]},
        }
        (folder / "state.json").write_text(json.dumps(state))
        assert tell(folder, "down")[0] == 0
        assert bystander.poll() is None
        bystander.kill()


# --- errors


def test_what_is_missing_is_said_in_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr(
        virtual_hosts.shutil, "which", lambda name, path=None: None if name in ("slurmctld", "munged") else name
    )
    monkeypatch.setattr(virtual_hosts.os, "geteuid", lambda: 1000)
    with pytest.raises(HostsError) as caught:
        slurm_cluster.SlurmCluster(folder=tmp_path / "cluster").start()
    assert "only root" in str(caught.value) and "apt-get install munge slurmctld" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@needs("hosts")
@pytest.mark.parametrize("word", ["up", "run"])
def test_whoever_is_not_root_is_told_so(word):
    words = [sys.executable, str(ROOT / "tools" / "slurm_cluster.py"), word]
    done = subprocess.run(ordinary_user.command(words), capture_output=True, text=True, timeout=60)
    expected = {
        "up": "only root may make network namespaces",
        "run": "No cluster is running|Only root can enter its hosts",
    }
    assert done.returncode == 1 and re.search(expected[word], done.stderr) and "Traceback" not in done.stderr, (
        done.stderr
    )


@pytest.mark.parametrize("rate", ["fast", "1 gbit", "1gb", "-1gbit"])
def test_a_rate_that_is_none(rate, tmp_path):
    with pytest.raises(HostsError, match="1gbit or 100mbit"):
        VirtualHosts(["a"], folder=tmp_path, rate=rate)


def test_a_user_that_is_nobody(slurm):
    with pytest.raises(HostsError, match="no user 'nobody-here'"):
        slurm.run(["true"], user="nobody-here")
