"""The port's judge: what the probe sees, and what each line of the rubric makes of it."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from autograder.homework.mnist_rubric import lines_of
from autograder.homework.port import evidence, metrics, words
from autograder.homework.port import judge as port
from autograder.homework.port import source as port_source
from autograder.homework.port.runs import (
    BATCH,
    DDP,
    ObservedRank,
    ObservedRun,
    RecordedUpdate,
    RunSetting,
    draw,
    seen_by,
)
from labkit.launch.launcher import Launcher
from labkit.relay.outcome import Outcome, RankOutcome
from labkit.watch.hang import HangReport
from probes import life as script_probe

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.timeout(600)  # a script is run on one, two and three ranks
REFERENCE = ROOT / "solutions" / "scaling_mnist" / "tensorflow2_mnist_hvd.py"


# -- images that know their number -------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(-1, 28, 28, 1), (-1, 28, 28), (-1, 784)])
def test_the_number_of_an_image_is_read_back_however_it_is_scaled(shape):
    images = np.random.default_rng(0).integers(0, 256, (50, 28, 28)).astype(np.uint8)
    for scaled in (lambda x: x, lambda x: x / 255, lambda x: (x - 33.3) / 78.6, lambda x: 1 - x / 255):
        batch = scaled(script_probe.mark(images)[[3, 49, 0]].astype(np.float32)).reshape(shape)
        found = script_probe.numbers(batch)
        assert found == [3, 49, 0] or found is None and batch.reshape(-1, 784)[0, 0] > batch.reshape(-1, 784)[0, 1]
    test = script_probe.numbers(script_probe.mark(images, test=True)[5:7])
    assert test == [script_probe.TEST + 5, script_probe.TEST + 6]


def test_what_is_no_marked_image_has_no_number():
    random = np.random.default_rng(1)
    for batch in (
        random.random((4, 28, 28, 1)),
        random.random((4, 128)),
        np.zeros((4, 784)),
        np.full((2, 784), np.nan),
        np.ones(784),
    ):
        assert script_probe.numbers(batch) is None


def test_the_data_come_from_the_key():
    one, same, other = (draw(key, RunSetting(2, 64)) for key in ("a", "a", "b"))
    assert all(np.array_equal(one[name], same[name]) for name in one)
    assert not np.array_equal(one["y_train"], other["y_train"])
    assert script_probe.numbers(one["x_train"]) == list(range(64))


# -- what is read from the source --------------------------------------------------------------------------------------

PINS = {
    "gpus = tf.config.list_physical_devices('GPU')\ntf.config.set_visible_devices(gpus[hvd.local_rank()], 'GPU')": "local_rank",
    "local = hvd.local_rank()\nos.environ['CUDA_VISIBLE_DEVICES'] = str(local)": "local_rank",
    "os.environ['CUDA_VISIBLE_DEVICES'] = os.environ['OMPI_COMM_WORLD_LOCAL_RANK']": "local_rank",
    "def pin(k):\n    tf.config.set_visible_devices(gpus[k], 'GPU')\npin(hvd.local_rank())": "local_rank",
    "me, here = hvd.rank(), hvd.local_rank()\ntf.config.experimental.set_visible_devices(gpus[here], 'GPU')": "local_rank",
    "def mine():\n    return gpus[hvd.local_rank()]\ntf.config.set_visible_devices(mine(), 'GPU')": "local_rank",
    "tf.config.set_visible_devices(gpus[hvd.rank()], 'GPU')": "rank",
    "tf.config.set_visible_devices(gpus[0], 'GPU')": "same",
    "tf.config.set_visible_devices([], 'GPU')": "",
    "def pin():\n    tf.config.set_visible_devices(gpus[hvd.local_rank()], 'GPU')": "",
    "# tf.config.set_visible_devices(gpus[hvd.local_rank()], 'GPU')": "",
    "if False:\n    tf.config.set_visible_devices(gpus[hvd.local_rank()], 'GPU')": "",
}


@pytest.mark.parametrize("text", PINS)
def test_how_a_gpu_is_chosen_is_read_from_the_source(text):
    assert port_source.read(text).pinned == PINS[text]


def test_growth_horovod_and_errors_are_read_from_the_source():
    assert port_source.read("for g in gpus:\n    tf.config.experimental.set_memory_growth(g, True)").growth
    assert port_source.read("os.environ['TF_FORCE_GPU_ALLOW_GROWTH'] = 'true'").growth
    assert not port_source.read("tf.config.experimental.set_memory_growth(g, False)").growth
    assert port_source.read("from horovod import tensorflow as hvd").uses_horovod
    assert not port_source.read("hvd = None").uses_horovod
    assert port_source.read("x = 1\nfor\n").line == 2
    assert port_source.read("(" * 500 + ")" * 500).error
    assert port_source.read("x\0").error


# -- what the ranks tell is not believed -------------------------------------------------------------------------------


def test_notes_that_no_probe_would_write_are_left_out():
    setting = RunSetting(2, 64)
    bad = [
        {},
        {"saw": "batch"},
        {"saw": "batch", "numbers": "x", "tape": 1},
        {"saw": "update", "rate": "nan?"},
        {"saw": "end"},
    ]
    bad += [
        {"saw": "optimizer", "shapes": [[10**9, 10**9]], "name": "SGD", "config": {}},
        {"saw": "collective", "what": "x", "size": None},
    ]
    bad += [{"saw": "batch", "numbers": [10**6], "tape": True}, {"saw": "batch", "numbers": [], "tape": True}]
    rank = seen_by([(meta, b"123") for meta in bad], setting)
    assert rank.steps == [] and rank.shapes == [] and rank.ended == "" and rank.batches == 0


# -- lines, from what was seen -----------------------------------------------------------------------------------------


def seen(setting: RunSetting, numbers, rates=None, **more) -> ObservedRun:
    """numbers: per rank a list of steps, each the numbers of its images. rates: per rank."""
    p = setting.world_size
    ranks = []
    for r in range(p):
        rate = (rates or [0.01 * p] * p)[r]
        steps = [RecordedUpdate(list(one), [len(one)], rate) for one in numbers[r]]
        ranks.append(ObservedRank(steps=steps, ended="returned", batches=len(steps), initialised=True, size=p))
    for name, values in more.items():
        for rank, value in zip(ranks, values, strict=True):
            setattr(rank, name, value)
    outcome = Outcome([RankOutcome("returned") for _ in range(p)], [], [], None, False)
    return ObservedRun(setting, {}, 0.01, "", ranks, outcome, [{}] * p, "script.py")


def batches(images) -> list[list[int]]:
    images = list(images)
    return [images[k : k + BATCH] for k in range(0, len(images), BATCH)]


ONE_EPOCH = RunSetting(3, 97, epochs=1, ranks_per_node=2)
SHARDS = {
    "": [range(r, 96, 3) for r in range(3)],
    "same_data": [range(32)] * 3,
    "sharded_by_local_rank": [range(0, 64, 2), range(1, 64, 2), range(0, 64, 2)],
    "overlap": [range(40), range(30, 70), range(60, 96)],
    "own_shuffle": [np.random.default_rng(r).permutation(97)[:32].tolist() for r in range(3)],
}


@pytest.mark.parametrize("name", SHARDS)
def test_shards(name):
    assert port._shards_of(seen(ONE_EPOCH, [batches(images) for images in SHARDS[name]]))[0] == name


def test_padding_the_last_step_is_no_overlap():
    padded = [*range(97), *range(23)]
    assert port._shards_of(seen(ONE_EPOCH, [batches(padded[r::3]) for r in range(3)]))[0] == ""


@pytest.mark.parametrize(
    "steps, name",
    [
        ((4, 4, 4), ""),
        ((5, 5, 5), ""),
        ((12, 12, 12), "steps_not_divided"),
        ((2, 2, 2), "too_few_steps"),
        ((5, 4, 4), "unequal_steps"),
    ],
)
def test_steps(steps, name):
    assert port._steps_of(seen(ONE_EPOCH, [[range(BATCH)] * count for count in steps]))[0] == name


def test_a_local_batch_of_another_size_is_named():
    assert port._steps_of(seen(ONE_EPOCH, [[range(BATCH // 2)] * 8] * 3))[0] == "wrong_batch_size"


@pytest.mark.parametrize(
    "rates, name",
    [
        ((0.03, 0.03, 0.03), ""),
        ((0.01, 0.01, 0.01), "rate_not_scaled"),
        ((0.09, 0.09, 0.09), "rate_scaled_twice"),
        ((0.01 * 3**0.5,) * 3, "rate_square_root"),
        ((0.01 / 3,) * 3, "rate_divided"),
        ((0.02, 0.02, 0.01), "scaled_by_local_size"),
        ((0.03, 0.02, 0.03), "rates_differ"),
        ((0.05, 0.05, 0.05), "wrong_rate"),
    ],
)
def test_learning_rates(rates, name):
    assert port._rate_of(seen(ONE_EPOCH, [[range(8)]] * 3, rates))[0] == name


def with_arrays(gradients, weights, reduced=10) -> ObservedRun:
    """gradients, weights: per rank, per step."""
    one = seen(ONE_EPOCH, [[range(8)] * len(gradients[0])] * 3, shapes=[[(4,)]] * 3)
    for rank, gs, ws in zip(one.ranks, gradients, weights, strict=True):
        for step, g, w in zip(rank.steps, gs, ws, strict=True):
            step.gradient, step.weights, step.reduced = np.asarray(g, float), np.asarray(w, float), reduced
    return one


OWN = np.random.default_rng(3).normal(size=(3, 2, 4))  # rank, step, element
GRADIENTS = {
    "": np.stack([OWN.mean(0)] * 3),
    "gradients_apart": OWN,
    "gradients_summed": np.stack([OWN.sum(0)] * 3),
    "gradients_divided_again": np.stack([OWN.mean(0) / 3] * 3),
    "gradients_of_rank_0": np.stack([OWN[0]] * 3),
    "averaged_first_only": np.stack([[OWN[:, 0].mean(0), OWN[r, 1]] for r in range(3)]),
    "wrong_gradients": np.ones((3, 2, 4)),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name):
    computed = {"steps": [[(OWN[r, k], 0.0, 0, 8) for r in range(3)] for k in range(2)]}
    assert port._gradients_of(with_arrays(GRADIENTS[name], np.zeros((3, 2, 4))), computed)[0] == name


def test_with_the_same_images_everywhere_what_was_sent_tells_whether_gradients_were_averaged():
    same = np.stack([OWN[0]] * 3)
    computed = {"steps": [[(OWN[0, k], 0.0, 0, 8) for _ in range(3)] for k in range(2)]}
    assert port._gradients_of(with_arrays(same, np.zeros((3, 2, 4))), computed)[0] == ""
    assert port._gradients_of(with_arrays(same, np.zeros((3, 2, 4)), reduced=0), computed)[0] == "gradients_apart"


APART, TOGETHER = np.arange(12.0).reshape(3, 4) + 1, np.ones((3, 4))
BROADCASTS = {  # (weights before the first step and the second, broadcasts before them)
    "": (TOGETHER, TOGETHER, [(0, 4, True)], []),
    "after": (APART, TOGETHER, [], [(0, 4, True)]),
    "no_broadcast": (APART, APART, [], []),
    "model_not_broadcast": (APART, APART, [], [(0, 4, True)]),
    "wrong_root": (APART, TOGETHER, [], [(1, 4, True)]),
}


@pytest.mark.parametrize("name", BROADCASTS)
def test_broadcasts(name):
    first, second, before, after = BROADCASTS[name]
    one = with_arrays(np.zeros((3, 2, 4)), np.stack([first, second], axis=1), reduced=4)
    for rank in one.ranks:
        rank.steps[0].broadcasts, rank.steps[1].broadcasts = before, after
    assert port._broadcast_of(one)[0] == ("" if name == "after" else name)


CHOICES = {  # what a script does on three ranks of two machines: the GPUs that they take
    "torch.cuda.set_device(local)\nmodel.cuda()": [0, 1, 0],
    "model.cuda(local)": [0, 1, 0],
    "model.to(local)": [0, 1, 0],
    "model.to(device=torch.device('cuda', local))": [0, 1, 0],
    "torch.zeros(3, device=f'cuda:{local}')": [0, 1, 0],
    "os.environ['CUDA_VISIBLE_DEVICES'] = str(local)\nmodel.to('cuda')": [0, 1, 0],
    "torch.set_default_device(f'cuda:{local}')": [0, 1, 0],
    "torch.cuda.set_device(dist.get_rank() % torch.cuda.device_count())\nmodel.to('cuda')": [0, 1, 0],
    "model.to(f'cuda:{local}' if torch.cuda.is_available() else 'cpu')": [0, 1, 0],
    "model.to(dist.get_rank())": [0, 1, 2],
    "if local > 99:\n    torch.cuda.set_device(local)\nmodel.cuda()": [0, 0, 0],
    "torch.cuda.set_device(local)": [None] * 3,
}


def test_which_gpu_a_rank_takes_is_seen_in_a_run_without_any():
    begin = "import os, torch, torch.distributed as dist\nfrom labkit.models import cnn\n"
    begin += "local, model = int(os.environ['LOCAL_RANK']), cnn()\ndist.init_process_group('nccl')\n"
    with Launcher() as launcher:
        for text, taken in CHOICES.items():
            run = evidence.ScriptRuns("ddp.py", f"{begin}{text}\n", "key", launcher, ddp=True).once(evidence.GPUS)
            assert [rank.device for rank in run.ranks] == taken, text


@pytest.mark.parametrize("sent, name", [(3200, ""), (1600, ""), (160, "gradients_not_sent")])
def test_right_gradients_must_have_been_sent(sent, name):
    """Bytes of a rank, by the relay's count, for 2 steps of 400 gradients; half of them where they are compressed."""
    one = replace(seen(ONE_EPOCH, [[range(8)] * 2] * 3, shapes=[[(400,)]] * 3), means=DDP)
    for rank in one.outcome.ranks:
        rank.collective_bytes = sent
    assert port._sent_for(one)[0] == name


def test_equal_weights_must_have_been_sent():
    one = with_arrays(np.zeros((3, 2, 4)), np.ones((3, 2, 4)), reduced=4)
    assert port._broadcast_of(one)[0] == "no_broadcast"
    assert port._broadcast_of(replace(one, setting=replace(one.setting, shared=True)))[0] == "", "through a file"
    for rank in one.ranks:
        rank.steps[0].broadcasts = [(0, 400, False)]  # packed, as bytes
    assert port._broadcast_of(one)[0] == ""


@pytest.mark.parametrize(
    "files, name",
    [
        ((["run.jsonl"], [], []), ""),
        (([], [], []), ""),
        ((["a"], ["a"], ["a"]), "all_ranks_write"),
        (([], ["a"], ["a"]), "wrong_rank_writes"),
        ((["a"], [], ["a"]), "one_rank_per_machine_writes"),
    ],
)
def test_files(files, name):
    assert port._writes_of(seen(ONE_EPOCH, [[range(8)]] * 3, files=files))[0] == name


def test_prints_of_all_ranks_are_named_and_a_greeting_is_not():
    one = seen(ONE_EPOCH, [[range(8)]] * 3)
    one.outcome.printed.extend([(r, f"rank {r} of 3") for r in range(3)] + [(0, f"epoch {k}") for k in range(5)])
    assert port._writes_of(one)[0] == ""
    one.outcome.printed.extend((r, f"epoch {k}") for r in (1, 2) for k in range(5))
    assert port._writes_of(one)[0] == "all_ranks_print"


PARTS = [[(1.0, 4, 8), (2.0, 6, 8)], [(3.0, 2, 8), (2.0, 2, 8)]]


@pytest.mark.parametrize(
    ("step", "says"),
    [
        (2.0, ""),
        (1.4, ""),  # what is left out between the epochs
        (0.5, "took 1.00 s from the first step to the last. It was 4.00 s"),
        (6.0, "its epochs took 20.5 s"),
        (math.nan, ""),  # a log that was cut off
    ],
)
def test_a_log_by_another_clock(monkeypatch, step, says):
    one = seen(RunSetting(1, 16), [[[0]]], updated=[(10.0, 14.0)])
    one.wall = 20.0
    first = SimpleNamespace(seconds=step + 2.0, validation_seconds=0.0, step_seconds=[2.0, step])
    second = SimpleNamespace(seconds=step, validation_seconds=6.5 if step > 2 else 1.0, step_seconds=[step])
    monkeypatch.setattr(ObservedRun, "run_log", lambda self: (SimpleNamespace(epochs=[first, second]), ""))
    said = metrics._by_our_clock(one, 0.2)
    assert says in said and bool(said) == bool(says)


@pytest.mark.parametrize(
    "value, which, whose",
    [(2.0, "loss", "global"), (1.5, "loss", "own"), (4.0, "loss", "summed"), (0.7, "loss", "unknown")],
)
def test_whose_loss_it_is(value, which, whose):
    assert metrics._whose(value, PARTS, which, seen(ONE_EPOCH, [[range(8)]] * 3)) == whose


def test_where_ranks_stand_still_says_which_step_is_at_fault():
    one = seen(ONE_EPOCH, [[range(8)] * 4] * 3)
    one.outcome.hang = HangReport("missing_rank", "", ("rank 0  allreduce", "rank 1  allreduce", "rank 2  allreduce"))
    one.ranks[0].after.numbers = [1, 2]
    assert evidence.stuck_in(one) == "steps"
    one.ranks[0].tests = [(4, [1])]  # it has evaluated already: it is in the next epoch
    assert evidence.stuck_in(one) == "metrics"
    one.outcome.hang = HangReport("missing_rank", "", ("rank 0  broadcast",))
    assert evidence.stuck_in(one) == "broadcast"


def test_a_script_that_sleeps_in_every_run_gets_little_time_in_the_later_ones(monkeypatch):
    clock, given = [0.0], []

    def watch(*arguments, **how):
        given.append(arguments[5].deadline)
        clock[0] += 2 * arguments[5].deadline - 1  # on a machine of half the usual pace
        return SimpleNamespace(failure="", ends=True, counts=[1], outcome=SimpleNamespace(slowed=2.0))

    monkeypatch.setattr(evidence, "watch", watch)
    monkeypatch.setattr(evidence.time, "monotonic", lambda: clock[0])
    runs = evidence.ScriptRuns("script.py", "", "a key", launcher=None)
    for setting in (evidence.TWO, evidence.THREE, evidence.ONE, evidence.LONG):
        runs(setting)
    assert given == [150.0, 150.0, 40.0, 40.0]


# -- for real ----------------------------------------------------------------------------------------------------------


def verdicts(tmp_path, launcher, edits=()) -> dict:
    """line -> finding, of the reference with some of its text replaced."""
    text = REFERENCE.read_text(encoding="utf-8")
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    script = tmp_path / "tensorflow2_mnist_hvd.py"
    script.write_text(text, encoding="utf-8")
    result = port.judge(script, key="a key", launcher=launcher)
    return {finding.line.name: finding for finding in result.findings}


# In CI test_homework_grading.py has the same script, in a class: full marks and the bonus.
@pytest.mark.full
def test_the_reference_gets_full_marks_and_its_warm_up_is_found(tmp_path, warm_horovod):
    found = verdicts(tmp_path, warm_horovod)
    assert {name: finding.diagnosis for name, finding in found.items() if finding.verdict != "passed"} == {}
    assert list(found) == [line.name for line in (*lines_of("port"), *lines_of("bonus"))]


SIX_AT_ONCE = [
    ("gpus[hvd.local_rank()]", "gpus[hvd.rank()]"),
    ("    dataset = dataset.shard(hvd.size(), hvd.rank())", "    #"),
    ("scaled = base_rate * hvd.size()", "scaled = base_rate"),
    ("    hvd.broadcast_variables(model.variables + optimizer.variables, root_rank=0)\n", ""),
    ("        tape = hvd.DistributedGradientTape(tape)", "        #"),
    (
        "loss, accuracy = mean_over_ranks(loss_sum, correct, count)",
        "loss, accuracy = loss_sum / count, correct / count",
    ),
    ("    log.close()\n", '    log.close()\n    np.save("weights", model.get_weights()[0])\n'),
]


def test_each_of_many_mistakes_gets_its_own_name_and_costs_its_own_line(tmp_path, warm_horovod):
    found = verdicts(tmp_path, warm_horovod, SIX_AT_ONCE)
    assert {name: finding.diagnosis for name, finding in found.items() if finding.verdict != "passed"} == {
        "devices": "pinned_by_rank",
        "shards": "same_data",
        "learning_rate": "rate_not_scaled",
        "gradients": "gradients_apart",
        "broadcast": "no_broadcast",
        "rank_zero": "all_ranks_write",
        "global_metrics": "metrics_of_one_rank",
        "warmup": "no_warmup",
    }


def test_ranks_that_make_unequal_steps_lose_that_line_and_keep_those_that_were_seen(tmp_path, warm_horovod):
    found = verdicts(
        tmp_path, warm_horovod, [("* hvd.size())  # of an epoch", "* hvd.size()) + (hvd.rank() == 0)  # of an epoch")]
    )
    assert found["steps"].diagnosis == "unequal_steps" and "stand still" in found["steps"].sentence
    for name in ("init", "devices", "shards", "learning_rate", "gradients", "broadcast"):
        assert found[name].verdict == "passed", found[name]


def test_a_script_that_is_no_program_or_no_port_is_not_even_run(tmp_path):
    for text, name in (("for\n", "script_failed"), ("import tensorflow as tf\n", "not_ported")):
        script = tmp_path / "script.py"
        script.write_text(text)
        result = port.judge(script, launcher=None)
        assert {finding.diagnosis for finding in result.findings} == {name} and result.score == 0


# -- ports to torch.distributed ----------------------------------------------------------------------------------------

TORCH_PINS = {
    "torch.cuda.set_device(int(os.environ['LOCAL_RANK']))\ndevice = torch.device('cuda')": "local_rank",
    "local_rank = int(os.environ.get('LOCAL_RANK', 0))\nmodel = model.to(local_rank)": "local_rank",
    "here = int(os.environ['LOCAL_RANK'])\ndevice = torch.device(f'cuda:{here}')": "local_rank",
    "d = DistributedDataParallel(model, device_ids=[int(os.environ['LOCAL_RANK'])])": "local_rank",
    "torch.cuda.set_device(dist.get_rank())": "rank",
    "number = int(os.environ['RANK'])\nmodel.cuda(number)": "rank",
    "device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')": "same",
    "device = torch.device('cpu')\nmodel.to(device)": "",
}


@pytest.mark.parametrize("text", TORCH_PINS)
def test_how_pytorch_chooses_a_gpu_is_read_from_the_source(text):
    found = port_source.read("import torch\n" + text)
    assert found.pinned == TORCH_PINS[text] and found.growth and not found.uses_horovod


@pytest.mark.parametrize(
    ("text", "distributed"),
    [
        ("import torch.distributed as dist", True),
        ("from torch import distributed", True),
        ("from torch.distributed import all_reduce", True),
        ("from torch.nn.parallel import DistributedDataParallel", True),
        ("import torch\ntorch.distributed.init_process_group()", True),
        ("import torch", False),
        ("import horovod.torch as hvd", False),
    ],
)
def test_whether_a_script_uses_torch_distributed(text, distributed):
    assert port_source.read(text).uses_distributed == distributed


def test_horovod_for_pytorch_is_read_by_a_person(tmp_path):
    (tmp_path / "mnist_hvd.py").write_text("import torch\nimport horovod.torch as hvd\nhvd.init()\n")
    result = port.judge(tmp_path / "mnist_hvd.py", launcher=None)
    assert {finding.earned for finding in result.findings} == {None} and len(result.findings) == 11


def test_every_mistake_is_taught_in_the_words_of_both_frameworks():
    assert set(words.HOROVOD.teach) == set(words.DDP.teach)
    for diagnosis, sentence in words.DDP.teach.items():
        assert "hvd" not in sentence and "Horovod" not in sentence and "tf." not in sentence, diagnosis
    for diagnosis, sentence in words.HOROVOD.teach.items():
        assert "torch" not in sentence and "dist." not in sentence, diagnosis


NO_HOROVOD = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("horovod", "tensorflow", "keras"):
            raise ImportError(f"{name} is not installed here")

sys.meta_path.insert(0, Blocker())
import math
import os
import subprocess
import sys
from pathlib import Path
from autograder.homework import judge
report = judge(Path(sys.argv[1]), assignment="scaling_mnist", parts=("port",))
assert not {"horovod", "tensorflow"} & set(sys.modules)
print(report.score)
"""


def test_without_horovod_and_tensorflow_nothing_is_lost(tmp_path):
    """No process of the judge's imports them: they cannot be, in a process started with PYTHONPATH at a blocker."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "blocked").mkdir()
    for name in ("horovod", "tensorflow", "keras"):
        (tmp_path / "blocked" / f"{name}.py").write_text(f"raise ImportError('{name} is not installed here')\n")
    (tmp_path / "mine" / "torch_mnist_ddp.py").write_text(REFERENCE.with_name("torch_mnist_ddp.py").read_text())
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path / 'blocked'}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-c", NO_HOROVOD, str(tmp_path / "mine")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=170, env=environment, cwd=tmp_path)
    assert done.stdout == "55.0\n", done.stdout + done.stderr
