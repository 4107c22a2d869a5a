"""Ranks of a notebook that are forked: in what a program sees of itself, and in how they end, they are what mpiexec
started.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from labkit.launch import launcher
from labkit.ranks import engine, forker
from labkit.ranks.cluster import Cluster, StartFailed

STUB = Path(forker.__file__).with_name("stub.py")


def describe() -> dict:
    """Runs on a rank."""
    import os
    import random
    import signal
    import sys

    import numpy
    import torch

    own = ("COURSE_HINT", "OMP_NUM_THREADS", "MPLBACKEND", "CUDA_VISIBLE_DEVICES")
    return {
        "environment": {name: os.environ.get(name) for name in own},
        "from mpiexec": {name: value for name, value in os.environ.items() if name.startswith("OMPI_COMM_WORLD_")},
        "folder": os.getcwd(),
        "cores": sorted(os.sched_getaffinity(0)),
        "threads": torch.get_num_threads(),
        "interrupt": signal.getsignal(signal.SIGINT) is signal.default_int_handler,
        "child": str(signal.getsignal(signal.SIGCHLD)),
        "arguments": len(sys.argv),
        "sigpipe": str(signal.getsignal(signal.SIGPIPE)),
        "chance": [float(numpy.random.rand()), random.random(), torch.initial_seed(), torch.rand(1).item()],
        "blocked": sorted(int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    }


def private_megabytes() -> float:
    """Runs on a rank."""
    import psutil
    import torch  # noqa: F401

    return psutil.Process().memory_full_info().uss / 2**20


def tensorflows_chance() -> list[float]:
    """Runs on a rank."""
    import sys

    assert {"tensorflow", "horovod.tensorflow"} <= sys.modules.keys(), "they came with the fork"
    import keras
    import tensorflow

    layer = keras.layers.Dense(1)
    layer.build((1, 1))
    made = tensorflow.random.Generator.from_non_deterministic_state()
    return [float(tensorflow.random.uniform(())), float(layer.kernel[0, 0]), float(made.uniform(()))]


for function in (describe, tensorflows_chance, private_megabytes):
    function.__module__ = "__main__"  # they travel as what they are: ranks do not find the tests


@contextlib.contextmanager
def cluster_of(ranks: int, warm, forked: bool = True):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COURSE_HINT", "from the notebook's environment")
        patch.setattr(launcher, "for_notebook", lambda: warm)
        if not forked:
            patch.setattr(forker, "is_possible", lambda folder, nodes: False)
        made = Cluster(ranks, torch=False)
        try:
            made.wait_until_ready()
            yield made
        finally:
            made.close()


@pytest.mark.skipif(os.path.exists("/dev/nvidiactl"), reason="where there is a GPU ranks are not forked")
def test_a_forked_rank_is_as_one_that_was_started(warm):
    """The same environment, folder, cores, streams and signals; chance of its own; and a fraction of the memory."""
    with cluster_of(2, warm, forked=False) as started:
        expected, alone = started.call(describe), started.call(private_megabytes)
    with cluster_of(2, warm) as forked:
        found, shared = forked.call(describe), forked.call(private_megabytes)
        parents = {psutil.Process(member.pid).parent().name() for member in forked.members}
        names = {psutil.Process(member.pid).name() for member in forked.members}
    assert parents == {"forker"} and names == {"rank 0", "rank 1"}
    chances = [*expected[0].pop("chance"), *expected[1].pop("chance"), *found[0].pop("chance"), *found[1].pop("chance")]
    assert len(set(chances)) == len(chances), "every rank has random numbers of its own"
    assert found == expected
    assert max(shared.values()) < 0.6 * min(alone.values()), (shared, alone)


def test_tensorflow_was_imported_once_and_rolls_its_own_dice(warm_horovod):
    with cluster_of(2, warm_horovod) as cluster:
        numbers = [number for rank in cluster.call(tensorflows_chance).values() for number in rank]
    assert len(set(numbers)) == len(numbers), numbers


def test_fresh_ranks_come_from_the_same_forker(warm):
    with cluster_of(2, warm) as cluster:
        before = {member.pid: psutil.Process(member.pid) for member in cluster.members}
        parents = {process.ppid() for process in before.values()}
        cluster.renew()
        cluster.wait_until_ready()
        after = {psutil.Process(member.pid) for member in cluster.members}
        assert (
            not {process.pid for process in after} & before.keys() and {process.ppid() for process in after} == parents
        )
        gone, alive = psutil.wait_procs(list(before.values()), timeout=10)
        assert not alive
        hosts = cluster.call(engine.identify)
        assert sorted(rank for rank, *_ in hosts.values()) == [0, 1]
    nurseries = [process for process in psutil.process_iter() if process.pid in parents]
    assert not nurseries and not any(process.is_running() for process in after), "`close` returns when they are gone"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT], ids=lambda number: number.name)
def test_a_rank_that_dies_takes_the_others_with_it(warm, number):
    with cluster_of(2, warm) as cluster:
        victim, other = (psutil.Process(member.pid) for member in cluster.members)
        victim.send_signal(number)
        psutil.wait_procs([victim, other], timeout=20)
        assert cluster.cause_of_death([0]) == {0: number.name}
        assert not other.is_running()


def test_a_rank_whose_stub_is_gone_ends(warm):
    with cluster_of(1, warm) as cluster:
        rank = psutil.Process(cluster.members[0].pid)
        stub = [str(STUB), str(cluster.folder / "forker")]
        stubs = [process for process in psutil.process_iter(["cmdline"]) if (process.info["cmdline"] or [])[3:] == stub]
        assert len(stubs) == 1
        stubs[0].kill()
        assert not psutil.wait_procs([rank], timeout=10)[1]


def test_ranks_that_cannot_be_forked_are_said(warm, monkeypatch):
    """The forker is gone before a rank: the student is told at once, not after the limit."""

    def gone(lifeline, listener):
        pass

    monkeypatch.setattr(warm, "fork_ranks", gone)
    began = time.monotonic()
    with pytest.raises(StartFailed, match="the process that forks the ranks is gone"), cluster_of(1, warm):
        pass
    assert time.monotonic() - began < 60


def test_where_ranks_cannot_be_forked(monkeypatch):
    """Without room for the socket, on several nodes, beside a GPU each is a program of its own."""
    here = Path("/dev/shm/labkit-ranks-x")
    monkeypatch.setattr(forker.os.path, "exists", lambda path: False)
    assert forker.is_possible(here, 1)
    assert not forker.is_possible(here / ("x" * 120), 1)
    assert not forker.is_possible(here, 2), "on another node there is nobody to fork them"
    monkeypatch.setattr(forker.os.path, "exists", lambda path: path == "/dev/nvidiactl")
    assert not forker.is_possible(here, 1)


def test_what_a_cell_has_freed_is_given_back(warm):
    """120 MB in pieces that the C library would keep, as the last of them stays."""
    cell = "pieces = [bytes(60_000) for _ in range(2000)]\nlast = bytes(60_000)\ndel pieces"
    with cluster_of(1, warm) as cluster:
        warm_up = cluster.call(engine.run_cell, "1", "cell", 1, engine.pack({}, [], {}), 60.0)
        before = cluster.call(private_megabytes)[0]
        done = cluster.call(engine.run_cell, cell, "cell", 1, engine.pack({}, [], {}), 60.0)
        after = cluster.call(private_megabytes)[0]
    assert warm_up[0] == done[0] == {"state": "returned"}
    assert after - before < 40, (before, after)


# -- the stub by itself, with a test as its forker


@pytest.fixture
def stub(tmp_path):
    """start(environment) -> (process, what it asked for, the streams it passed, the connection)."""
    started = []

    def start(environment):
        path = str(tmp_path / "n")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()
            listener.settimeout(30)
            command = [sys.executable, "-I", "-S", str(STUB), path]
            process = subprocess.Popen(
                command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path
            )
            started.append(process)
            connection, _ = listener.accept()
        request, streams = forker._receive(connection)
        started.extend([connection, *(os.fdopen(stream, "wb", 0) for stream in streams[1:])])
        os.close(streams[0])
        return process, request, started[-2:], connection

    yield start
    for each in started:
        if isinstance(each, subprocess.Popen):
            each.kill()
            each.wait()
            each.stdout.close()
            each.stderr.close()
        else:
            each.close()


def test_the_stub_hands_on_what_it_was_given(stub, tmp_path):
    environment = {"COURSE_HINT": "n\udcc3\n", "LONG": "x" * 100_000}
    process, request, (out, _), connection = stub(environment)
    assert {name: request["environment"][name] for name in environment} == environment
    assert request["folder"] == str(tmp_path) and request["cores"] == sorted(os.sched_getaffinity(process.pid))
    out.write(b"from the rank")
    out.close()
    connection.sendall(b"0")
    connection.shutdown(socket.SHUT_WR)
    assert process.wait(30) == 0
    assert process.stdout.read() == b"from the rank"


@pytest.mark.parametrize("status", [0, 3, 255, -signal.SIGKILL, -signal.SIGSEGV, -signal.SIGABRT, -signal.SIGTERM])
def test_the_stub_ends_as_its_rank_ended(stub, status):
    process, *_, connection = stub({})
    connection.sendall(json.dumps(int(status)).encode())
    connection.shutdown(socket.SHUT_WR)
    assert process.wait(30) == status


def test_the_stub_says_it_when_nobody_forks(stub):
    process, *_, (_, err), connection = [*stub({})]
    connection.close()
    err.close()
    assert process.wait(30) == 1
    assert b"the process that forks the ranks is gone" in process.stderr.read()
