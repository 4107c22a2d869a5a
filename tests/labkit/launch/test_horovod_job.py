"""Cases on real Horovod: results, local ranks, hangs with the waiting rank's line, errors that count and errors that
only follow."""

import subprocess
import sys

import pytest
from machine import needs

from labkit.cells.slicing import Chunk
from labkit.launch import horovod_job
from labkit.launch.launcher import make_jobs

SOURCE = """
import os
import horovod.tensorflow as hvd
import horovod.torch as hvd_torch
import tensorflow as tf
import torch

def tensorflow_sum():
    hvd.init()
    total = hvd.allreduce(tf.constant([1.0 + hvd.rank(), 2.0]), op=hvd.Sum)
    return total.numpy(), hvd.local_rank(), hvd.local_size(), hvd.cross_rank()

def torch_mean():
    hvd_torch.init()
    return hvd_torch.allreduce(torch.full((3,), float(hvd_torch.rank())))

def broadcast_on_rank_0():
    hvd.init()
    v = tf.Variable([1.0])
    if hvd.rank() == 0:
        hvd.broadcast_variables([v], root_rank=0)
    return 1

def one_step_more():
    hvd_torch.init()
    for step in range(3 if hvd_torch.rank() else 2):
        hvd_torch.allreduce(torch.ones(2), name=f"step.{step}")
    return 1

def nothing_at_all():
    hvd_torch.init()
    return hvd_torch.rank()

def different_calls():
    hvd_torch.init()
    if hvd_torch.rank() == 0:
        hvd_torch.broadcast(torch.ones(2), root_rank=0, name="w")
    else:
        hvd_torch.allreduce(torch.ones(2), name="g")

def different_tensors():
    hvd_torch.init()
    hvd_torch.allreduce(torch.ones(2), name=f"mine.{hvd_torch.rank()}")

def objects_of_two_types():
    hvd_torch.init()
    hvd_torch.broadcast_object({"w": 1} if hvd_torch.rank() == 0 else None, root_rank=0)

def different_shapes():
    hvd.init()
    hvd.allreduce(tf.zeros(2 + hvd.rank()), name="x")

def one_raises():
    hvd.init()
    if hvd.rank() == 1:
        raise ValueError("boo")
    hvd.allreduce(tf.zeros(2))

def one_dies():
    hvd.init()
    if hvd.rank() == 1:
        os._exit(3)
    hvd.allreduce(tf.zeros(2))

def never_initialised():
    return hvd.rank()
"""


@pytest.fixture
def run(warm_horovod):
    def run(function, world_size=2, **named):
        jobs = make_jobs([Chunk("cell 7", 1, SOURCE)], function, [()] * world_size, runtime="horovod")
        outcome, _ = horovod_job.run(warm_horovod, jobs, **named)
        return outcome

    return run


def line_of(text):
    return f"cell 7, line {SOURCE[: SOURCE.index(text)].count(chr(10)) + 1}"


def test_results_come_back_and_nodes_have_their_own_local_ranks(run):
    ranks = run("tensorflow_sum", 4, ranks_per_node=2).ranks
    assert [list(r.value[0]) for r in ranks] == [[10.0, 8.0]] * 4
    assert [r.value[1:] for r in ranks] == [(0, 2, 0), (1, 2, 0), (0, 2, 1), (1, 2, 1)]
    assert [list(r.value.values) for r in run("torch_mean", 3).ranks] == [[1.0, 1.0, 1.0]] * 3


def test_what_a_rank_hands_to_horovod_is_counted(run):
    """By that a check sees whether the ranks have spoken at all."""
    assert [r.carried for r in run("tensorflow_sum", 2).ranks] == [8.0] * 2
    assert [r.carried for r in run("torch_mean", 2).ranks] == [12.0] * 2
    assert [r.carried for r in run("nothing_at_all", 2).ranks] == [0.0] * 2


@pytest.mark.parametrize(
    "function, kind, who, line",
    [
        ("broadcast_on_rank_0", "missing_rank", "Rank 0 waits in broadcast for rank 1", "hvd.broadcast_variables"),
        (
            "one_step_more",
            "missing_rank",
            "Rank 1 waits in allreduce for rank 0",
            'hvd_torch.allreduce(torch.ones(2), name=f"step',
        ),
        ("different_calls", "mismatched_collective", "different collectives", "hvd_torch.broadcast(torch.ones(2)"),
        (
            "different_tensors",
            "mismatched_collective",
            "same collectives",
            'hvd_torch.allreduce(torch.ones(2), name=f"mine',
        ),
        ("objects_of_two_types", "unnamed_objects", "the type of the object", 'hvd_torch.broadcast_object({"w"'),
    ],
)
def test_a_standstill_names_who_waits_where(run, function, kind, who, line):
    report = run(function).hang
    assert report.kind == kind and who in report.sentence
    assert line_of(line) in str(report)


def test_a_mismatch_is_named_at_once(run):
    report = run("different_shapes").hang
    assert report.kind == "mismatched_shape" and "[2]" in str(report) and "[3]" in str(report)


def test_only_the_cause_counts(run):
    ranks = run("one_raises").ranks
    assert [r.state for r in ranks] == ["running", "raised"] and ranks[1].error["text"] == "boo"
    assert [r.state for r in run("one_dies").ranks] == ["running", "dead"]
    assert all("hvd.init()" in r.error["text"] for r in run("never_initialised").ranks)


LOST = """
import ctypes
import socket
from labkit.launch import horovod_rendezvous

NEW_UTS, NEW_USER = 0x4000000, 0x10000000
libc = ctypes.CDLL(None)
assert libc.unshare(NEW_UTS) == 0 or libc.unshare(NEW_USER | NEW_UTS) == 0
socket.sethostname("a-name.that.nobody.knows.invalid")
before = horovod_rendezvous.name_is_known()
horovod_rendezvous._take_a_known_name()
print(before, socket.gethostname(), horovod_rendezvous.name_is_known())
"""


@needs("jail")  # whoever may make user namespaces can give a process another name of the machine
def test_ranks_do_without_the_name_of_the_machine():
    """Horovod's gloo crashes where the machine's own name cannot be looked up, as on a laptop that was given a
    new one."""
    said = subprocess.run([sys.executable, "-c", LOST], capture_output=True, text=True, timeout=60)
    assert said.stdout.split() == ["False", "localhost", "True"], said.stderr
