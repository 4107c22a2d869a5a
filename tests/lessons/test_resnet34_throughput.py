"""The two ResNet-34 throughput scripts, tiny: on 1 and 2 ranks, on the three kinds of data, and what Horovod adds in
between.
"""

from __future__ import annotations

import difflib
import importlib.util
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from machine import needs
from PIL import Image

from labkit.environment import mpi_environment, mpiexec

FOLDER = Path(__file__).resolve().parents[2] / "solutions" / "07_horovod"
SEQUENTIAL, PARALLEL = FOLDER / "resnet34_throughput.py", FOLDER / "resnet34_throughput_hvd.py"
TINY = "--num-steps 2 --warmup-steps 1 --batch-size 2 --image-size 32 --width 8 --device cpu --threads 1".split()
PARAMETERS = 400_464  # of ResNet-34 with 1000 classes and an eighth of the width

# Runs the parallel script on each rank and, from rank 0, writes what each rank trained on and with what it ended.
WATCHED = """
import json, sys
sys.path.insert(0, sys.argv.pop(1))
import numpy as np
import resnet34_throughput_hvd as script
seen, models = [], []
make_batches, resnet34 = script.make_batches, script.resnet34
script.make_batches = lambda *arguments: map(watch, make_batches(*arguments))
script.resnet34 = lambda **arguments: models.append(resnet34(**arguments)) or models[-1]
def watch(batch):
    images, labels = batch
    seen.append(labels.tolist())
    return images, labels
script.main()
parameters = [parameter.detach().numpy() for parameter in models[0].parameters()]
first = script.hvd.allgather_object(parameters[0])
total = script.hvd.allgather_object([float(np.abs(parameter).sum()) for parameter in parameters])
seen = script.hvd.allgather_object(seen[:3])
if script.hvd.rank() == 0:
    equal = all(np.array_equal(first[0], other) for other in first) and all(total[0] == other for other in total)
    print(json.dumps({"equal": equal, "seen": seen}))
"""


@pytest.fixture(scope="module")
def pictures(tmp_path_factory) -> Path:
    """Four pictures in two class folders, as ImageNet lies on disk, and beside them the list of three of them."""
    folder = tmp_path_factory.mktemp("imagenet")
    random = np.random.default_rng(0)
    for number, name in enumerate(("n01440764/a.JPEG", "n01440764/b b.JPEG", "n01443537/c.JPEG", "n01443537/d.jpeg")):
        path = folder / "train" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        mode, shape = ("L", (40, 50)) if number == 1 else ("RGB", (40 + number, 36, 3))  # some of ImageNet are grey
        Image.fromarray(random.integers(0, 255, shape, dtype=np.uint8), mode).save(path, "JPEG")
    (folder / "train" / "LICENSE.txt").write_text("not a picture")
    lines = ("n01440764/a.JPEG 10", "n01440764/b b.JPEG 11", "n01443537/c.JPEG 12", "")
    (folder / "train" / "train.txt").write_text("\n".join(lines))
    return folder / "train"


def run(*command: object, ranks: int = 1) -> list[str]:
    """The lines that the command printed."""
    environment = {**os.environ, **mpi_environment(ranks), "PYTHONWARNINGS": "ignore"}
    words = [str(word) for word in command]
    finished = subprocess.run(
        words, env=environment, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout.splitlines()


def check_record(record: dict, world_size: int) -> None:
    assert (record["world_size"], record["local_batch_size"], record["global_batch_size"]) == (
        world_size,
        2,
        2 * world_size,
    )
    assert (record["num_steps"], record["parameters"], record["device"]) == (2, PARAMETERS, "cpu")
    rates = [2 * world_size / seconds for seconds in record["seconds_per_step"]]
    assert len(rates) == 2
    assert record["images_per_second"] == pytest.approx(statistics.mean(rates))
    assert record["images_per_second_sd"] == pytest.approx(statistics.stdev(rates))


def test_one_process_on_a_folder_of_class_folders(pictures, tmp_path):
    lines = run(
        sys.executable, SEQUENTIAL, *TINY, "--data", pictures, "--workers", 1, "--json", tmp_path / "record.json"
    )
    record = json.loads(lines[-1])
    check_record(record, 1)
    assert json.loads((tmp_path / "record.json").read_text()) == record
    assert f"images/s: mean {record['images_per_second']:.2f}, standard deviation" in lines[-2]


@needs("horovod")
def test_one_rank_on_synthetic_images():
    check_record(json.loads(run(*mpiexec(), "-n", 1, sys.executable, PARALLEL, *TINY)[-1]), 1)


@needs("horovod")
def test_two_ranks_share_a_list_of_pictures_and_end_with_equal_parameters(pictures, tmp_path):
    watched = [*mpiexec(), "-n", 2, sys.executable, "-c", WATCHED, FOLDER]
    lines = run(*watched, *TINY, "--data", pictures / "train.txt", "--json", tmp_path / "record.json", ranks=2)
    record, found = json.loads(lines[-2]), json.loads(lines[-1])
    check_record(record, 2)
    assert json.loads((tmp_path / "record.json").read_text()) == record
    assert sum(line.startswith("images/s") for line in lines) == 1, "one rank reports for all"
    assert found["equal"]
    # The ranks take turns: what they took, one after the other, is every picture once, then every picture once again,
    # and so on.
    taken = [[label for batch in rank for label in batch] for rank in found["seen"]]
    together = [label for turn in zip(*taken, strict=True) for label in turn]
    assert len(together) == 12
    assert all(sorted(together[i : i + 3]) == [10, 11, 12] for i in range(0, 12, 3)), taken


# --- without running them


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("resnet34_throughput", SEQUENTIAL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_paths_and_labels(script, pictures):
    names = [
        str(pictures / name)
        for name in ("n01440764/a.JPEG", "n01440764/b b.JPEG", "n01443537/c.JPEG", "n01443537/d.jpeg")
    ]
    assert script.list_pictures(str(pictures)) == (names, [0, 0, 1, 1])
    assert script.list_pictures(str(pictures / "train.txt")) == (names[:3], [10, 11, 12])


def test_a_picture_becomes_numbers(script, pictures, tmp_path):
    Image.new("L", (9, 5), 255).save(tmp_path / "white.png")
    images = script.Pictures([str(tmp_path / "white.png"), str(pictures / "n01443537" / "c.JPEG")], [3, 4], size=16)
    (white, label), (noise, _) = images[0], images[1]
    assert label == 3
    assert white.shape == noise.shape == (3, 16, 16)
    assert white.dtype == noise.dtype
    assert white.eq(1.0).all()
    assert -1 <= noise.min() < noise.max() <= 1


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a.JPEG\n", "a path, a space and a label"),
        ("a.JPEG 1000\n", "labels must be below 1000"),
        ("\n", "no pictures"),
    ],
)
def test_a_bad_list_is_explained(script, tmp_path, text, complaint):
    (tmp_path / "train.txt").write_text(text)
    with pytest.raises(SystemExit, match=complaint):
        script.list_pictures(str(tmp_path / "train.txt"))


def test_the_two_scripts_differ_by_horovod_alone():
    before, after = (path.read_text().split('"""\n', 1)[1].splitlines() for path in (SEQUENTIAL, PARALLEL))
    for kind, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            assert any("hvd." in line or "Horovod" in line or "horovod" in line for line in after[c:d]), before[a:b]
