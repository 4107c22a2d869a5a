"""The record of a run: what is written is what is read, by whom it is written, and files that nobody should trust."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from machine import needs

from labkit import runlog, runlog_reading
from labkit.environment import mpi_environment, mpiexec
from labkit.scaling import throughput

ROOT = Path(__file__).resolve().parents[2]


def write(path, *, epochs=3, steps=4, close=True, **options) -> runlog.Writer:
    """A run of one rank with made-up metrics: epoch k has loss 1 / k and accuracy 1 - 1 / (k + 1)."""
    log = runlog.Writer(path, **{"batch_size": 8, "arguments": {"lr": 0.1}, "seed": 3, **options})
    for k in range(1, epochs + 1):
        log.begin_epoch()
        for _ in range(steps):
            log.step(learning_rate=0.1 / k)
        log.end_epoch(loss=1 / k, accuracy=1 - 1 / (k + 1), val_loss=2 / k, val_accuracy=1 - 1 / (k + 2))
    if close:
        log.close()
    return log


@pytest.fixture
def path(tmp_path) -> Path:
    write(tmp_path / "run_1.jsonl", program=__file__, nonce="abc", data={"name": "digits", "train_images": 32})
    return tmp_path / "run_1.jsonl"


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines()


def test_what_was_written_is_read(path):
    run = runlog.read(path)
    assert run.problems == [] and run.altered == [] and run.complete
    assert (run.world_size, run.batch_size, run.global_batch_size, run.seed, run.nonce) == (1, 8, 8, 3, "abc")
    assert run.arguments == {"lr": 0.1} and run.data == {"name": "digits", "train_images": 32}
    assert run.program == "test_runlog.py" and len(run.source_sha256) == 64
    assert len(run.hosts) == 1 and run.hardware["cores"] >= 1 and run.environment["packages"]["numpy"] == np.__version__
    assert run.curve("loss") == ([1, 2, 3], [1, 1 / 2, 1 / 3])
    assert run.curve("val_accuracy") == ([1, 2, 3], [1 - 1 / 3, 1 - 1 / 4, 1 - 1 / 5])
    for k, epoch in enumerate(run.epochs, 1):
        assert epoch.samples_per_rank == [32] and len(epoch.step_seconds) == 4
        assert epoch.learning_rates == pytest.approx([0.1 / k] * 4)
        assert epoch.seconds == pytest.approx(epoch.step_seconds.sum(), abs=1e-6)
    ended = [epoch.ended for epoch in run.epochs]
    assert ended == sorted(ended) and ended[-1] <= run.seconds
    assert sum(epoch.seconds + epoch.validation_seconds for epoch in run.epochs) <= run.seconds + 1e-5


def test_a_run_that_is_killed_leaves_what_it_had_done(tmp_path):
    log = write(tmp_path / "run_1.jsonl", epochs=2, close=False)
    run = runlog.read(tmp_path / "run_1.jsonl")
    assert len(run.epochs) == 2 and not run.complete
    assert run.problems == ["The log has no last line: the run did not come to its end, or the file was cut off."]
    log.close()
    assert runlog.read(tmp_path / "run_1.jsonl").complete


def test_metrics_that_are_no_numbers(tmp_path):
    log = runlog.Writer(tmp_path / "log.jsonl", batch_size=1)
    log.begin_epoch()
    log.step()
    log.end_epoch(loss=np.float32("inf"), accuracy=np.float32(0.5), val_loss=math.nan)
    log.close()
    [epoch] = runlog.read(tmp_path / "log.jsonl").epochs
    assert (
        math.isnan(epoch.loss)
        and math.isnan(epoch.val_loss)
        and math.isnan(epoch.val_accuracy)
        and epoch.accuracy == 0.5
    )


def test_without_a_path_nothing_is_written_and_ranks_above_0_write_nothing(tmp_path):
    write(None)
    write(tmp_path / "log.jsonl", rank=1, world_size=2, gather=lambda value: [value, value])
    assert list(tmp_path.iterdir()) == []


def test_the_code_that_came_with_the_assignment_is_found_beside_the_program(tmp_path):
    (tmp_path / "script.py").write_text("pass\n")
    (tmp_path / runlog.NONCE_FILE).write_text("7f3a\n")
    write(tmp_path / "log.jsonl", program=tmp_path / "script.py")
    assert runlog.read(tmp_path / "log.jsonl").nonce == "7f3a"
    write(tmp_path / "log.jsonl", program=tmp_path / "script.py", nonce="given")
    assert runlog.read(tmp_path / "log.jsonl").nonce == "given"


PROGRAM = """
import sys
from mpi4py import MPI
from labkit import runlog
comm = MPI.COMM_WORLD
log = runlog.Writer(sys.argv[1], rank=comm.rank, world_size=comm.size, gather=comm.allgather, batch_size=4)
for epoch in range(2):
    log.begin_epoch()
    for step in range(3):
        log.step(samples=4 if step < 2 else comm.rank)
    log.end_epoch(loss=1.0)
log.close()
"""


def test_the_log_of_three_ranks(tmp_path):
    environment = {**os.environ, **mpi_environment(3), "PYTHONPATH": str(ROOT)}
    command = [*mpiexec(), "-n", "3", sys.executable, "-c", PROGRAM, str(tmp_path / "run_3.jsonl")]
    subprocess.run(command, env=environment, check=True, timeout=60, stdin=subprocess.DEVNULL)
    run = runlog.read(tmp_path / "run_3.jsonl")
    assert run.problems == [] and run.complete
    assert (run.world_size, run.global_batch_size, len(run.hosts)) == (3, 12, 3)
    assert [epoch.samples_per_rank for epoch in run.epochs] == [[8, 9, 10]] * 2


@needs("tensorflow")
def test_with_keras(tmp_path):
    """The callback stands last in the list, so it writes what the callbacks before it have left in the logs."""
    program = f"""
import numpy as np, tensorflow as tf
from labkit import runlog
log = runlog.Writer({str(tmp_path / "run_1.jsonl")!r}, batch_size=4)
model = tf.keras.Sequential([tf.keras.layers.Dense(3)])
loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(tf.keras.optimizers.SGD(0.25), loss, metrics=["accuracy"])
x, y = np.random.rand(20, 2).astype("float32"), np.zeros(20, "int64")
class Average(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        logs["loss"] = 0.5
model.fit(x, y, 4, epochs=2, validation_data=(x, y), verbose=0, callbacks=[Average(), log.keras_callback()])
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "2"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stderr
    run = runlog.read(tmp_path / "run_1.jsonl")
    assert run.problems == [] and run.complete and run.curve("loss") == ([1, 2], [0.5, 0.5])
    for epoch in run.epochs:
        assert (
            len(epoch.step_seconds) == 5 and epoch.samples_per_rank == [20] and list(epoch.learning_rates) == [0.25] * 5
        )
        assert all(0 <= value <= 1 for value in (epoch.accuracy, epoch.val_accuracy)) and epoch.val_loss > 0


TORCH = """
import sys, torch, torch.distributed as dist
from labkit import runlog
rank = int(sys.argv[2])
dist.init_process_group("gloo", init_method=f"file://{sys.argv[1]}/store", rank=rank, world_size=2)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
log = runlog.Writer(f"{sys.argv[1]}/run_2.jsonl", rank=rank, world_size=2, gather=runlog.torch_gather, batch_size=4)
log.begin_epoch()
for step in range(3):
    optimizer.zero_grad()
    loss = model(torch.ones(4 - rank, 2)).square().mean()
    loss.backward()
    optimizer.step()
    log.step(samples=4 - rank, learning_rate=optimizer.param_groups[0]["lr"])
log.end_epoch(loss=loss.item())
log.close()
dist.barrier()  # else gloo's thread may still hold the gathered tensors when the interpreter ends, and abort
dist.destroy_process_group()
"""


def test_with_pytorch(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    command = [sys.executable, "-c", TORCH, str(tmp_path)]
    ranks = [subprocess.Popen([*command, str(rank)], env=environment, stdin=subprocess.DEVNULL) for rank in range(2)]
    try:
        assert [rank.wait(timeout=120) for rank in ranks] == [0, 0]
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()
    run = runlog.read(tmp_path / "run_2.jsonl")
    assert run.problems == [] and run.complete and len(run.hosts) == 2
    [epoch] = run.epochs
    assert epoch.samples_per_rank == [12, 9] and list(epoch.learning_rates) == [0.5] * 3


# --- throughput


def with_times(*epochs: list[float]) -> runlog.RunLog:
    """A run on 2 ranks, 10 images per step on each."""
    made = [
        runlog.Epoch(k, seconds=sum(times), step_seconds=np.array(times), samples_per_rank=[10 * len(times)] * 2)
        for k, times in enumerate(epochs, 1)
    ]
    return runlog.RunLog(world_size=2, batch_size=10, epochs=made)


def test_throughput_leaves_the_first_epoch_out():
    run = with_times([9.0, 1.0], [0.1, 0.3], [0.2, 0.2], [0.3, 0.2])
    found = run.throughput()
    assert found.value == pytest.approx(6 * 20 / 1.3)
    assert found.error / found.value == pytest.approx(
        np.std([0.4, 0.4, 0.5], ddof=1) / math.sqrt(3) / np.mean([0.4, 0.4, 0.5])
    )
    assert run.throughput(skip_epochs=0).value == pytest.approx(8 * 20 / 11.3)


def test_throughput_of_two_epochs_takes_its_error_from_the_steps():
    run = with_times([9.0, 1.0], [0.1, 0.3, 0.2])
    assert (run.throughput().value, run.throughput().error) == pytest.approx(
        (throughput(20, [0.1, 0.3, 0.2]).value, throughput(20, [0.1, 0.3, 0.2]).error)
    )


@pytest.mark.parametrize("run", [with_times([1.0, 1.0]), runlog.RunLog(epochs=[runlog.Epoch(1), runlog.Epoch(2)])])
def test_throughput_says_when_there_is_none(run):
    with pytest.raises(ValueError, match="nothing is left|no times"):
        run.throughput()


# --- logs that were cut, changed, put together


def test_a_torn_last_line_is_left_out_and_told(path):
    whole = path.read_text()
    for cut in (20, 60, len(lines_of(path)[-1]) + 40):
        path.write_text(whole[:-cut])
        run = runlog.read(path)
        assert not run.complete and run.altered == []
        assert any("is cut off; it was left out" in problem for problem in run.problems), run.problems
        assert [epoch.number for epoch in run.epochs] in ([1, 2], [1, 2, 3])


def test_a_changed_value_is_noticed(path):
    lines = lines_of(path)
    record = json.loads(lines[2])
    record["val_accuracy"] = 0.99
    path.write_text("\n".join([*lines[:2], json.dumps(record), *lines[3:]]))
    run = runlog.read(path)
    assert run.altered == [3] and not run.complete
    assert "Changed after it was written, or put together from several logs: line 3." in run.problems


def test_a_log_that_was_only_written_down_differently_is_not_changed(path):
    records = [json.loads(line) for line in lines_of(path)]
    path.write_text("\n\n".join(json.dumps(dict(sorted(record.items())), separators=(",", ":")) for record in records))
    assert runlog.read(path).problems == []


def test_a_missing_epoch_is_noticed(path):
    lines = lines_of(path)
    path.write_text("\n".join(lines[:2] + lines[3:]))
    run = runlog.read(path)
    assert run.altered == [3]
    assert "The epochs are not numbered 1, 2, 3 ...: [1, 3]." in run.problems
    assert "The log ends after 3 epochs, but 2 are in it." in run.problems


def test_lines_of_another_run_are_noticed(path, tmp_path):
    write(tmp_path / "other.jsonl", seed=4)
    path.write_text("\n".join(lines_of(path)[:3] + lines_of(tmp_path / "other.jsonl")[3:]))
    assert runlog.read(path).altered == [4]


def test_the_number_of_ranks_may_be_asked_for(path):
    assert runlog.read(path, world_size=1).problems == []
    assert runlog.read(path, world_size=4).problems == ["It is the log of a run on 1 ranks, not on 4."]


def test_a_port_that_forgot_the_other_ranks(tmp_path):
    write(tmp_path / "run_4.jsonl", world_size=4, epochs=1)
    problems = runlog.read(tmp_path / "run_4.jsonl").problems
    assert problems == [
        "The log names 1 hosts for 4 ranks: give the writer a `gather`.",
        "Epoch 1: numbers of samples for 1 ranks, but there are 4.",
    ]


# --- tables of metrics, as older courses write them

FIVE = "1 0.9 0.61 1.1 0.55\n2 0.7 0.72 0.8 0.69\n"


@pytest.mark.parametrize(
    "text",
    [
        FIVE,
        FIVE.replace(" ", ", "),
        FIVE.replace(" ", ","),
        FIVE.replace(" ", "\t"),
        FIVE.replace(" ", ";").replace(".", ","),
        FIVE.replace(".", ","),
        "# epoch loss acc val_loss val_acc\n" + FIVE,
        "0 0.9 61 1.1 55\n1 0.7 72 0.8 69\n",
        "1.000000000000000000e+00 9.000e-01 6.1e-01 1.1e+00 5.5e-01\n2.0e+00 7.0e-01 7.2e-01 8.0e-01 6.9e-01\n",
        "epoch,accuracy,val_accuracy,loss,val_loss\n1,0.61,0.55,0.9,1.1\n2,0.72,0.69,0.7,0.8\n",
        "Epoch;Train Acc;Test Acc;Train Loss;Test Loss\n1;0,61;0,55;0,9;1,1\n2;0,72;0,69;0,7;0,8\n",
    ],
)
def test_a_table_of_five_columns(tmp_path, text):
    path = tmp_path / "metrics_4.dat"
    path.write_text(text)
    run = runlog.read(path)
    assert (run.format, run.world_size, run.complete) == ("metrics.dat", 4, True)
    assert run.curve("loss") == ([1, 2], pytest.approx([0.9, 0.7]))
    assert run.curve("accuracy")[1] == pytest.approx([0.61, 0.72])
    assert run.curve("val_loss")[1] == pytest.approx([1.1, 0.8])
    assert run.curve("val_accuracy")[1] == pytest.approx([0.55, 0.69])
    assert run.problems == ["It is a table of metrics: it holds no times, no samples and nothing on where it was made."]
    with pytest.raises(ValueError, match="no times"):
        run.throughput()


def test_a_table_that_does_not_say_its_ranks_or_is_torn(tmp_path):
    path = tmp_path / "metrics.dat"
    path.write_text(FIVE + "3 0.6 0.7")
    run = runlog.read(path)
    assert run.world_size == 0 and not run.complete and len(run.epochs) == 2
    assert "Line 3 is cut off; it was left out." in run.problems
    assert any("on how many ranks" in problem for problem in run.problems)
    assert runlog.read(path, world_size=8).world_size == 8


# --- files that are something else, or mean harm

RUN = '{"kind": "run", "format": 1, "world_size": 1, "batch_size": 1, "hosts": ["h"]}\n'


@pytest.mark.parametrize(
    "content, says",
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"\x89PNG\r\n\xff\xfe", "not text"),
        (b"hello world\n", "neither a run log nor a table"),
        (b"1 2 3\n4 5 6\n", "neither a run log nor a table"),
        (b"{}\n", "does not begin with the line"),
        (b'{"kind": "epoch", "epoch": 1}\n', "does not begin with the line"),
        (b'{"kind": "run", "format": 2}\n', "format 2"),
        (b'{"kind": "run", "format": 1, "world_size": "4", "batch_size": 8}\n', "how many ranks"),
        (b'{"kind": "run", "format": 1, "world_size": -4, "batch_size": 8}\n', "how many ranks"),
        (b'{"kind": "run", "format": 1, "world_size": true, "batch_size": 8}\n', "how many ranks"),
        (b'{"kind": "run"', "does not begin with the line"),
        (b"{" * 100_000, "does not begin with the line"),
        (b'{"a":' + b"[" * 100_000, "does not begin with the line"),
        (RUN.encode() * 20_000, "20,000 lines"),
        (b"1 1 1 1 1\n" * 20_000, "20,000 lines"),
        (b" " * (runlog_reading.LARGEST_FILE + 1), "larger than 32 MB"),
    ],
)
def test_what_is_no_log_is_refused_in_words(tmp_path, content, says):
    path = tmp_path / "run_1.jsonl"
    path.write_bytes(content)
    with pytest.raises(runlog.RunLogError, match=says):
        runlog.read(path)


@pytest.mark.parametrize(
    "line",
    [
        '{"kind": "epoch", "epoch": 1e999}',
        '{"kind": "epoch", "epoch": 1, "loss": NaN}',
        '{"kind": "epoch", "epoch": 1, "step_seconds": {"a": 1}, "samples_per_rank": 7, "learning_rates": "x"}',
        '{"kind": "epoch", "epoch": 1, "step_seconds": ["a", null, true, 1e400, [[]]], "loss": "0.1"}',
        '{"kind": "epoch", "epoch": 1, "seconds": ' + "9" * 5000 + "}",
        '{"kind": "epoch", "epoch": 1, "seconds": ' + "9" * 400 + "}",
        '{"kind": "epoch", "epoch": 1, "accuracy": 91.5}',
        '{"kind": ["epoch"]}',
        '{"kind": "end", "epochs": {"a": ' + "[" * 300 + "]" * 300 + "}}",
        "[1, 2, 3]",
        "null",
        '"text"',
        "\u2028",
        '{"kind": "epoch", "epoch": 1, "x": "' + "y" * (runlog_reading.LONGEST_LINE + 1) + '"}',
        "[" * 990 + "]" * 990,
        '{"kind": ' + "[" * 900 + "]" * 900 + "}",
    ],
)
def test_no_line_brings_the_reader_down(tmp_path, line):
    path = tmp_path / "run_1.jsonl"
    path.write_text(RUN + line + "\n" + '{"kind": "end", "epochs": 1, "seconds": 1.0}\n', encoding="utf-8")
    run = runlog.read(path)
    assert not run.complete and run.problems
    assert all(len(problem) < 500 for problem in run.problems)
    for epoch in run.epochs:
        assert isinstance(epoch.loss, float) and epoch.step_seconds.dtype == float
        assert all(isinstance(samples, int) for samples in epoch.samples_per_rank)


def test_texts_and_lists_in_the_first_line_are_cut(tmp_path):
    path = tmp_path / "run_1.jsonl"
    first = json.loads(RUN) | {
        "nonce": "n" * 10_000,
        "program": 7,
        "seed": 1.5,
        "arguments": {"a": "b" * 10_000, "c": [[[[1]]]]},
    }
    first |= {"hosts": ["h" * 10_000, 3], "hardware": [1], "data": {str(k): k for k in range(1000)}}
    path.write_text(json.dumps(first) + "\n")
    run = runlog.read(path)
    assert len(run.nonce) == len(run.arguments["a"]) == len(run.hosts[0]) == runlog.LONGEST_TEXT
    assert (run.program, run.seed, run.hardware, len(run.data)) == ("", None, {}, 200)
