"""The jail: what code in it can see, reach, use up and leave behind, as root and as an ordinary user; and that honest
code runs in it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import struct
import subprocess
import sys
import time
from pathlib import Path

import ordinary_user
import pytest
from machine import needs
from typer.testing import CliRunner

from autograder import cli
from autograder.answers import BANK
from autograder.grading import isolation
from labkit.launch import jail
from labkit.watch import recorder

ROOT = Path(__file__).resolve().parents[3]
TRIALS = str(ROOT / "tests" / "support" / "isolation_trials.py")
DEADLINE = 300


def command_of(account: str, *command: str) -> list[str]:
    """A Python program as root or as an ordinary user: whoever runs the tests, where that is one."""
    if account == "ordinary user" and os.geteuid() == 0:
        return ordinary_user.command([sys.executable, *command])
    return [sys.executable, *command]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.fixture(scope="module", params=[pytest.param("root", marks=needs("root")), "ordinary user"])
def account(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def came_out(account) -> dict:
    """What came out of every trial, all run by one program in one jail."""
    result = subprocess.run(
        command_of(account, TRIALS), env=environment(), cwd="/", capture_output=True, text=True, timeout=DEADLINE
    )
    assert result.returncode == 0, result.stderr[-3000:]
    return json.loads(result.stdout.splitlines()[-1])


# -- what is there ----------------------------------------------------------------------------------------------------


def test_nothing_of_the_grader_or_the_instructor_exists_inside(came_out):
    look = came_out["look"]
    assert look["seen"] == []
    assert look["imported"] == []
    assert look["course"] == ["labkit", "probes"]
    assert look["token"] == []
    assert look["written"] == []


def test_no_other_process_can_be_seen_or_looked_into(came_out):
    look = came_out["look"]
    assert look["pids"] == [1, 2]  # what keeps the compartment, and the rank itself
    assert look["leader"] == look["handles"] == []


def test_a_rank_has_no_rights_and_cannot_get_any(came_out):
    look = came_out["look"]
    user = look["user"][0]
    alone = (
        jail.RANKS_UID + 3990 * jail.RANKS_OF_A_SLOT
    )  # where root builds the jail and has such users to give: each rank is one
    assert user in (isolation.FIRST_UID + 3990, *range(alone, alone + jail.RANKS_OF_A_SLOT))
    assert look["user"][:3] == [user, user, user]
    assert set(look["user"][3]) <= {user, 65534}  # groups that cannot be given up in a user namespace are nobody's
    assert look["capabilities"] == [0, 0, 0, 0, 0]
    assert look["no_new_privs"] == "1"
    assert set(look["calls"].values()) == {"EPERM"}


def test_a_rank_holds_nothing_open_but_its_socket(came_out):
    assert len(came_out["look"]["open"]) == 1
    assert came_out["look"]["devices"] == ["lo"]  # which is down: the attacks try it


def test_ranks_on_the_relay_hear_of_each_other_over_the_relay_alone(came_out):
    assert came_out["apart"] == [[], []]


# -- what it may use --------------------------------------------------------------------------------------------------


def test_processes_memory_and_disk_are_limited(came_out):
    processes, memory, tmp, shm, raised = came_out["greedy"]
    assert 16 <= processes <= 96
    assert memory == "refused"
    assert (tmp, shm) == (isolation.TMP_BYTES >> 20, isolation.SHM_BYTES >> 20)
    assert raised == []


def test_memory_that_no_limit_of_a_process_counts_ends_the_case(came_out):
    assert came_out["memory_that_no_limit_counts"] == ["dead", "memory"]


# -- when it is over --------------------------------------------------------------------------------------------------


def test_what_a_case_started_ends_with_it(came_out):
    assert came_out["background"] == [["left"], 0]


def test_nothing_outlives_a_launcher_that_was_killed(came_out):
    assert came_out["killed_launcher"] == [True, 0]


@needs("jail")
def test_nothing_outlives_a_grader_that_was_killed(account):
    program = f"""
import json, sys
sys.path.insert(0, {str(ROOT / "tests" / "support")!r})
import isolation_trials as trials, psutil
from labkit.relay import wire
from labkit.launch.launcher import make_jobs
place = trials.Place(("numpy",))
case = place.launcher.case(2, trials.LIMITS)
job, payload = make_jobs([trials.Chunk("cell 1", 1, trials.BACKGROUND + "    time.sleep(300)")], "f", [()], runtime="plain")[0]
wire.send(case.sockets[0], wire.JOB, job, payload)
while len(psutil.Process().children(recursive=True)) < 8:
    pass
print(json.dumps([p.pid for p in psutil.Process().children(recursive=True)]), flush=True)
sys.stdin.read()
"""
    import psutil

    grader = subprocess.Popen(
        command_of(account, "-c", program),
        env=environment(),
        cwd="/",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    family = []
    try:
        for pid in json.loads(grader.stdout.readline()):
            with contextlib.suppress(psutil.NoSuchProcess):  # of the jail's short-lived ones
                family.append(psutil.Process(pid))
        assert len(family) >= 4, "the background process, its rank, the leader and the launcher"
    finally:
        grader.kill()
        grader.wait()
        grader.stdin.close()
        grader.stdout.close()
    _, alive = psutil.wait_procs(family, timeout=15)
    assert alive == []


def test_a_jail_that_cannot_be_built_is_no_verdict(came_out):
    without_root, without_case = came_out["failed_jails"]
    assert "/no/such/folder" in without_root
    assert "the jail of a case could not be built: " in without_case and "mount on /" in without_case


# -- honest code ------------------------------------------------------------------------------------------------------


def test_right_answers_of_every_runtime_pass_in_the_jail(came_out):
    assert came_out["right_answers"] == dict.fromkeys(
        ["strided_share", "train_ddp", "scaled_step", "save_checkpoint", "sum_counts", "keras_callbacks"], "passed"
    )


def test_workers_locks_queues_and_shared_memory_work_in_the_jail(came_out):
    assert came_out["workers"] == [28.0, [0, 2]]


def test_mpi_runs_in_the_jail(came_out):
    user = isolation.FIRST_UID + 3990
    assert came_out["mpi"] == [[2, user, True]] * 2


def test_messages_and_windows_of_mpi_work_between_cells(came_out):
    assert came_out["messages_of_mpi"] == [[["job", "note"]], [["job", "note"]], [["job", "note"]]]


def test_how_a_rank_of_mpi_has_ended_is_known(came_out):
    assert came_out["ends_of_mpi"] == ["dead", {"signal": 9, "exit": None}]


# -- what a rank says about itself is read with suspicion -------------------------------------------------------------


def test_forged_recordings_do_not_stop_the_grader(came_out):
    assert came_out["forged_recordings"] == ["returned", "returned"]


def test_what_is_no_recording_is_refused(tmp_path):
    paths = [tmp_path / f"rank{k}.flight" for k in range(5)]
    os.mkfifo(paths[0])
    os.symlink("/etc/passwd", paths[1])
    paths[2].write_bytes(b"labkit-flight-01")
    paths[3].write_bytes(b"labkit-flight-01" + bytes([255]) * 4096)
    with paths[4].open("wb") as file:
        file.truncate(1 << 40)  # a hole; reading all of it would end this process
    for path in paths:
        with pytest.raises((ValueError, OSError)):
            recorder.states(path)


def test_a_recording_that_claims_a_billion_ranks_is_refused(tmp_path):
    recorder.open(tmp_path, 0, 2)
    recorder.mark("running")
    recorder.close()
    path = tmp_path / "rank0.flight"
    data = bytearray(path.read_bytes())
    assert recorder.states(path)[0].rank == 0
    at = data.index(struct.pack("<i", 2), 16)
    data[at : at + 4] = struct.pack("<i", 1 << 30)
    path.write_bytes(data)
    with pytest.raises(ValueError, match="not a flight recording"):
        recorder.states(path)


# -- the root ---------------------------------------------------------------------------------------------------------


def run_in_jail(spec: dict, *command: str) -> subprocess.CompletedProcess:
    spec = spec | {"keep": [], "limits": {"file_bytes": 1 << 20, "memory_bytes": 1 << 30, "processes": 32}}
    return subprocess.run(
        [sys.executable, "-I", "-S", jail.__file__, json.dumps(spec), "run", *command],
        env=spec["environment"],
        cwd="/",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.fixture
def spec() -> dict:
    return isolation.spec(3991)


@needs("jail")
def test_what_is_shown_below_tmp_stays_in_sight_read_only(spec, tmp_path):
    """A course and its environment may lie in /tmp, where every case has a folder of its own."""
    (tmp_path / "shown").mkdir()
    (tmp_path / "shown" / "file").write_text("text")
    (tmp_path / "hidden").write_text("text")
    spec["binds"] = [*spec["binds"], str(tmp_path / "shown")]
    script = f"cat {tmp_path}/shown/file; ls {tmp_path}; touch {tmp_path}/shown/new /tmp/mine && echo written; ls /tmp"
    result = run_in_jail(spec, "/bin/sh", "-c", script)
    first, *others = result.stdout.splitlines()
    assert first == "textshown"
    assert "written" not in others and "mine" in others
    assert "Read-only file system" in result.stderr


def test_without_a_user_of_its_own_a_submission_has_its_processes_whatever_else_the_user_runs():
    """The kernel counts those of a user together. A grader's desktop must not decide what a submission may do."""
    others = [subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) for _ in range(40)]
    found = {"children": 0}
    try:
        for _ in range(3):  # tests beside this one start processes of the same user, too, while it counts
            found = found if found["children"] >= 8 else isolation._try("none", ("seccomp",))
    finally:
        for other in others:
            other.communicate()
    assert found["numpy"] and found["filter"] and found["children"] >= 8


@needs("jail")
def test_an_environment_that_is_a_link_has_the_same_walls_and_nothing_is_left_in_it(tmp_path):
    """What tries the walls writes where it can: a file that stays would be somebody else's."""
    linked = tmp_path / "checkout" / ".venv"
    linked.parent.mkdir()
    linked.symlink_to(sys.prefix)
    before = [set(os.listdir(path)) for path in (sys.prefix, "/usr/lib")]
    program = """import sys; from autograder.grading import isolation
assert sys.prefix == sys.argv[1], sys.prefix
isolation._try("none", ())  # no walls at all
print(isolation.probe().mode, *[item.name for item in isolation.probe().missing])"""
    command = [str(linked / "bin" / "python"), "-c", program, str(linked)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=DEADLINE)
    assert done.stdout.split() == [isolation.probe().mode], done.stderr
    assert [set(os.listdir(path)) for path in (sys.prefix, "/usr/lib")] == before


def test_an_installed_copy_of_the_graders_is_hidden(monkeypatch, tmp_path):
    """`pip install .` puts autograder into site-packages, which programs in the jail must see."""
    packages = tmp_path / "lib" / "site-packages"
    (packages / "autograder").mkdir(parents=True)
    (packages / "numpy").mkdir()
    monkeypatch.syspath_prepend(str(packages))
    spec = isolation._spec("user", 0, isolation.ALL)
    assert str(packages) in spec["binds"] and str(packages) in spec["path"]
    assert spec["hidden"][-1:] == [str(packages / "autograder")] or str(packages / "autograder") in spec["hidden"]
    assert str(packages / "numpy") not in spec["hidden"]


def test_the_course_itself_is_not_among_what_is_shown():
    spec = isolation._spec("user", 0, isolation.ALL)
    for shown in (*spec["binds"], *spec["path"]):
        assert not (str(ROOT / "autograder") + "/").startswith(shown.rstrip("/") + "/"), shown
        assert not str(BANK).startswith(shown.rstrip("/") + "/"), shown


@needs("jail")
def test_exit_status_and_output_come_out_of_the_jail(spec):
    result = run_in_jail(spec, "/bin/sh", "-c", "echo said; exit 3")
    assert (result.returncode, result.stdout) == (3, "said\n")


@needs("jail")
def test_all_processes_of_a_command_together_may_use_so_much_memory(spec):
    spec["tmp_bytes"] = 1 << 20
    program = "import mmap, time; m = mmap.mmap(-1, 300 << 20); m.write(bytes(300 << 20)); time.sleep(30)"
    spec |= {"keep": [], "limits": {"file_bytes": 1 << 20, "memory_bytes": 64 << 20, "processes": 32}}
    start = time.monotonic()
    result = subprocess.run(
        [sys.executable, "-I", "-S", jail.__file__, json.dumps(spec), "run", sys.executable, "-I", "-S", "-c", program],
        env=spec["environment"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 128 + 9
    assert "too much memory" in result.stderr
    assert time.monotonic() - start < 30


# -- the filter of system calls ---------------------------------------------------------------------------------------

ALLOW, KILL = 0x7FFF0000, 0x80000000


def answer(program: bytes, number: int, arch: int, arguments: tuple[int, ...] = ()) -> int:
    """What a filter says to a system call: a small interpreter of the instructions it uses."""
    data = struct.pack("=IIQ6Q", number, arch, 0, *(tuple(arguments) + (0,) * 6)[:6])
    instructions = list(struct.iter_unpack("=HBBI", program))
    at = value = 0
    while True:
        code, if_true, if_false, operand = instructions[at]
        at += 1
        if code == 0x20:
            value = struct.unpack_from("=I", data, operand)[0]
        elif code == 0x06:
            return operand
        else:
            holds = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}[code]
            at += if_true if holds else if_false


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize(("apart", "landlock"), [(False, True), (True, True), (False, False)])
def test_the_filter_refuses_what_is_listed_and_nothing_else(machine, apart, landlock):
    column = ["x86_64", "aarch64"].index(machine)
    arch = [0xC000003E, 0xC00000B7][column]
    program = jail.filter_program(machine, apart, landlock)
    denied = jail.DENIED | (jail.LANDLOCK if landlock else {})
    refused = {numbers[column] for numbers in denied.values()} - {None}
    quiet = {numbers[column] for numbers in jail.DENIED_APART.values()} - {None}
    special = {numbers[column] for numbers in (jail._CLONE, jail._CLONE3, jail._SOCKET, jail._FCNTL, jail._SETSOCKOPT)}
    for number in set(range(480)) - special:
        denied = number in refused or (apart and number in quiet)
        assert answer(program, number, arch) == (0x50001 if denied else ALLOW), number
    clone, clone3, sock, fcntl_ = (n[column] for n in (jail._CLONE, jail._CLONE3, jail._SOCKET, jail._FCNTL))
    assert answer(program, clone, arch, (17,)) == ALLOW
    assert answer(program, clone, arch, (17 | 0x10000000,)) == 0x50001
    assert answer(program, clone3, arch) == 0x50026  # ENOSYS
    assert [answer(program, sock, arch, (family,)) == ALLOW for family in (1, 2, 10, 16, 17, 38, 40)] == [True] * 4 + [
        False
    ] * 3
    assert answer(program, fcntl_, arch, (3, 1)) == ALLOW  # F_GETFD
    assert answer(program, fcntl_, arch, (3, 6)) == (0x50025 if apart else ALLOW)  # F_SETLK
    for option, what in (
        (7, 0x50000),
        (8, 0x50000),
        (2, ALLOW),
        (9, ALLOW),
    ):  # sizes of buffers are not set, and nobody is told
        assert answer(program, jail._SETSOCKOPT[column], arch, (3, 1, option)) == what
    assert answer(program, 39, arch ^ 1) == KILL


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_a_closed_cell_has_no_sockets_and_no_locks(machine):
    column = ["x86_64", "aarch64"].index(machine)
    arch = [0xC000003E, 0xC00000B7][column]
    program = jail.sealing_program(machine)
    refused = {numbers[column] for numbers in (jail.DENIED_SEALED | jail.DENIED_APART).values()} - {None}
    for number in set(range(480)) - {jail._FCNTL[column]}:
        assert answer(program, number, arch) == (0x50001 if number in refused else ALLOW), number
    assert answer(program, jail._FCNTL[column], arch, (3, 6)) == 0x50025  # F_SETLK
    assert answer(program, 39, arch ^ 1) == KILL


def test_a_machine_whose_system_calls_are_not_known_has_no_filter():
    with pytest.raises(KeyError):
        jail.filter_program("s390x")


# -- where a machine offers less --------------------------------------------------------------------------------------

WEAK = """
import json
from labkit.launch import jail
jail._prctl(jail._NO_NEW_PRIVS, 1)
jail.install_filter()  # as in a container that forbids namespaces
from autograder.grading import isolation
from labkit.launch.launcher import Launcher, make_jobs
from labkit.cells.slicing import Chunk
try:
    isolation.spec()
    said = "nothing"
except isolation.WeakIsolation as error:
    said = str(error)
spec = isolation.spec(weak=True)
with Launcher(("numpy",), isolation=spec) as launcher:
    outcome, _ = launcher.run(make_jobs([Chunk("cell 1", 1, "def f():\\n    return 2")], "f", [()], runtime="plain"))
print(json.dumps([said, spec["level"], [i.name for i in isolation.probe().missing], outcome.ranks[0].value]))
"""


def test_a_machine_that_offers_less_says_so_and_asks_for_a_flag(account):
    result = subprocess.run(
        command_of(account, "-c", WEAK), env=environment(), cwd="/", capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 0, result.stderr[-2000:]
    said, level, missing, value = json.loads(result.stdout)
    assert "--allow-weak-isolation" in said and "autograder doctor" in said
    assert {"files", "processes", "network", "end"} <= set(missing) and all(name in said for name in missing)
    assert "namespaces" not in level and value == 2


def test_doctor_lists_every_protection():
    result = CliRunner().invoke(cli.app, ["doctor", "--json"])
    told = json.loads(result.stdout)
    assert result.exit_code == (0 if all(row["holds"] for row in told["protections"]) else 1)
    assert len(told["protections"]) == 13
    assert all(row["says"] and row["remedy"] for row in told["protections"])


# What the jail is made of, asked of the kernel itself: status 0 where this user may have it.
NAMESPACES = """
import ctypes, os, sys
libc, uid = ctypes.CDLL(None), os.getuid()
if libc.unshare(0x10000000 | 0x20000 | 0x20000000 | 0x40000000):  # of users, mounts, processes, network
    sys.exit(1)
open("/proc/self/setgroups", "w").write("deny")
open("/proc/self/uid_map", "w").write(f"0 {uid} 1")
if os.fork() == 0:
    made = not libc.mount(None, b"/", None, 0x44000, None) and not libc.mount(b"proc", b"/proc", b"proc", 0, None)
    os._exit(not made)
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
"""


def test_the_jail_has_every_wall_that_this_kernel_offers():
    """Else a jail that has lost one would look like a machine that has none, and the tests above would be left out."""
    namespaces = (
        subprocess.run([sys.executable, "-c", NAMESPACES], stderr=subprocess.DEVNULL, timeout=60).returncode == 0
    )
    filters = "Seccomp:" in Path("/proc/self/status").read_text() and os.uname().machine in ("x86_64", "aarch64")
    release = tuple(int(number) for number in re.findall(r"\d+", os.uname().release)[:2])
    if namespaces and filters and release >= (5, 14):
        assert [item.name for item in isolation.probe().missing] == []
