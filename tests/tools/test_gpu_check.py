"""`make gpu-check` where there is no GPU: the whole command on a CPU, and the judgement behind each kind of row."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from gpu_check import (
    cli,
    collectives,
    devices,
    lessons,
    loading,
    memory,
    models,
    precision,
    programs,
    replicas,
    table,
    workers,
)
from gpu_check.setting import Setting

from labkit.cells.slicing import execute, slice_cells

ROOT = Path(__file__).resolve().parents[2]
CPU = Setting("cpu", small=True)
BARRED = ("mpi4py", "matplotlib", "IPython", "pytest", "psutil", "tensorflow", "horovod", "torchvision", "autograder")


def barred(folder: Path) -> dict[str, str]:
    """An environment for a Python that has torch and numpy, and none of `BARRED`."""
    for name in BARRED:
        (folder / f"{name}.py").write_text("raise ImportError('only torch and numpy may be needed')\n")
    return {**os.environ, "PYTHONPATH": str(folder), "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}


# ------------------------------------------------------------------------------------------------- the whole command


def test_all_checks_run_on_a_cpu_with_torch_and_numpy_alone(tmp_path):
    found = tmp_path / "found.json"
    options = ["--device", "cpu", "--small", "--peak", "1", "--seconds", "120", "--json", str(found)]
    command = [sys.executable, str(ROOT / "tools" / "gpu_check"), *options]
    ran = subprocess.run(command, env=barred(tmp_path), cwd=tmp_path, capture_output=True, text=True, timeout=150)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    record = json.loads(found.read_text())
    assert record["failed"] == 0 and record["machine"]["device"] == "cpu"
    assert {row["check"] for row in record["rows"]} == {check.title for check in cli.CHECKS.values()}
    assert all(title in ran.stdout for title in (check.title for check in cli.CHECKS.values()))
    assert f"{len(record['rows'])} rows, 0 failed" in ran.stdout
    values = {row["what"]: row["value"] for row in record["rows"]}
    assert 0 < values["GPT, bfloat16: MFU"] < 1 and values["GPT, float32: MFU"] is None
    assert values["float32, Adam"] == pytest.approx(16, rel=0.02)
    judged = [row["what"] for row in record["rows"] if row["verdict"] == "ok"]
    assert sum(what.startswith("unit 0") for what in judged) >= 5, "cells of lessons were run"


PROGRAM = """
import json, sys
from dataclasses import asdict
from gpu_check import workers
from gpu_check.setting import Setting

if __name__ == "__main__":
    workers.IMPORTS = ["torch"]
    raised = workers.run("collectives", Setting("cpu", True, seconds=30), 2)  # no process group
    late = workers.run("precision", Setting("cpu", False, seconds=0.05), 1)
    print(json.dumps([[asdict(row) for row in rows] for rows in (raised, late)]))
"""


def test_a_rank_that_raises_and_one_that_does_not_end_are_rows_that_failed(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    environ = {**os.environ, "PYTHONPATH": f"{ROOT / 'tools'}:{ROOT}"}
    command = [sys.executable, str(tmp_path / "program.py")]
    ran = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    raised, late = json.loads(ran.stdout)
    assert {row["verdict"] for row in raised + late} == {"FAILED"}
    assert sorted(row["what"] for row in raised) == ["rank 0", "rank 1"] and len(late) == 1
    assert all(row["measured"].startswith("ValueError (distributed_c10d.py") for row in raised)
    assert late[0]["what"] == "rank 0 at its end" and late[0]["measured"] == "not there"


def answers(monkeypatch, **found) -> list[Setting]:
    """The modules' rows as given, instead of processes. Returns the settings that the checks were told."""
    told = []

    def run(module, setting, world, backend=""):
        told.append(setting)
        yield from found.get(module, [table.measured(module, 1.0, "s", "")])

    monkeypatch.setattr(workers, "run", run)
    return told


MACHINE = {"device": "NVIDIA X", "torch": "2.10.0+cu128", "gpus": 1}


def test_a_check_that_fails_decides_the_exit_status_and_stops_no_other(monkeypatch, tmp_path, capsys):
    wrong = collectives.values_row("all_reduce of int64 on 2 ranks", 3, 2)
    told = answers(monkeypatch, devices=[MACHINE], collectives=[wrong])
    assert cli.main(["--json", str(tmp_path / "found.json"), "--seconds", "70"]) == 1
    record = json.loads((tmp_path / "found.json").read_text())
    assert record["failed"] == 1 and len(record["rows"]) == len(cli.CHECKS)
    assert {"what": wrong.what, "verdict": "FAILED", "value": 3}.items() <= record["rows"][0].items()
    assert "3 numbers wrong" in capsys.readouterr().out
    assert told[1].gpus == 1 and told[1].seconds == pytest.approx(10, abs=1), "a seventh of the time"
    assert told[-1].seconds == pytest.approx(70, abs=1), "all that is left"


@pytest.mark.parametrize(
    "found, said",
    [
        ({"problem": "no GPU here"}, "no GPU here"),
        ({"torch": "2.9.1"}, "torch 2.9.1 is too old"),
        (table.judged("rank 0", False, "ModuleNotFoundError: No module named 'torch'", ""), "PYTHON=python3"),
    ],
)
def test_without_a_gpu_or_a_torch_the_exit_status_is_2(monkeypatch, capsys, found, said):
    answers(monkeypatch, devices=[found])
    assert cli.main([]) == 2
    assert said in capsys.readouterr().err


def test_no_gpu_is_a_problem(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert "--device cpu --small" in devices.describe(Setting("cuda"))["problem"]


@pytest.mark.parametrize("wrong", [["--only", "ddp,dpp"], ["--seconds", "0"], ["--peak", "-1"]])
def test_options_that_mean_nothing_are_refused(wrong):
    with pytest.raises(SystemExit):
        cli.parse(wrong)


@pytest.mark.parametrize(
    "gpus, ranks, backends",
    [
        (1, [1, 2, 2], ["nccl", "gloo", "gloo"]),
        (2, [2, 2, 2], ["nccl", "gloo", "cpu:gloo,cuda:nccl"]),
        (8, [8, 2, 4], ["nccl", "gloo", "cpu:gloo,cuda:nccl"]),
    ],
)
def test_ranks_and_backends_by_the_number_of_gpus(gpus, ranks, backends):
    setting = Setting("cuda", gpus=gpus)
    checks = [cli.CHECKS[name] for name in ("collectives", "ddp", "lessons")]
    assert [check.ranks(setting) for check in checks] == ranks
    assert [check.backend(setting) for check in checks] == backends


# -------------------------------------------------------------------------------------------------------- the table


def test_long_cells_go_on_in_the_next_line_and_nothing_is_lost():
    row = table.not_run("what", "one two three four five six seven eight nine ten")
    lines = table.text([row], {"device": "cpu"}).splitlines()
    assert lines[0] == "device:    cpu"
    assert lines[-2].split() == "what - one two three four five six seven not run".split()
    assert lines[-1].split() == "eight nine ten".split()
    assert table.failed([row]) == []


# ------------------------------------------------------------------------------------------------------ collectives


@pytest.mark.parametrize("factor, right", [(6, True), (5, False)])
def test_a_wrong_sum_is_seen(monkeypatch, factor, right):
    """Of three ranks' 1, 2 and 3 times the numbers rank 0 sees six times the numbers, or something else."""
    ours = SimpleNamespace(get_rank=lambda: 0, get_world_size=lambda: 3, all_reduce=lambda t: t.mul_(factor))
    monkeypatch.setattr(collectives, "dist", ours)
    for dtype in (torch.int64, torch.float32, torch.bfloat16):
        wrong = collectives._all_reduce_off(torch.device("cpu"), dtype)
        assert (wrong == 0) is right
        assert collectives.values_row("sum", wrong, 3).verdict == (table.OK if right else table.FAILED)


def test_bus_bandwidth_is_what_a_ring_sends():
    assert collectives.bus_bandwidth(10**9, 0.5, 4) == pytest.approx(3e9)
    assert collectives.bandwidth_row(1 << 20, 1e-3, 1).unit == "us", "one rank has no link"
    assert collectives.bandwidth_row(1 << 20, 1e-3, 2).value == pytest.approx(1.048576)


# --------------------------------------------------------------------------------------------------------- replicas


def test_replicas_that_are_apart_are_seen():
    alone = torch.arange(3, dtype=torch.float64)
    verdicts = [row.verdict for row in replicas.replica_rows([alone, alone.clone()], alone)]
    assert verdicts == ["ok", "ok"]
    verdicts = [row.verdict for row in replicas.replica_rows([alone, alone + 1e-15], alone)]
    assert verdicts == ["FAILED", "ok"]
    verdicts = [row.verdict for row in replicas.replica_rows([alone + 1e-9] * 2, alone)]
    assert verdicts == ["ok", "FAILED"]


# -------------------------------------------------------------------------------------------------------- precision


def test_resnet_50_is_the_published_one():
    with torch.device("meta"):
        model = models.resnet50()
        assert sum(p.numel() for p in model.parameters()) == 25_557_032
        assert model.eval()(torch.empty(2, 3, 224, 224)).shape == (2, 1000)


def test_mfu_is_six_n_t_over_the_peak():
    h, layers, vocabulary = 768, 12, 50_304
    n = layers * (12 * h * h + 13 * h) + 2 * h + vocabulary * h  # gpt's docstring, without the tables
    work = precision.gpt_work(False)
    assert work.flops == 6 * n
    assert precision.mfu(work.flops, 100_000.0, 312e12) == pytest.approx(6 * n * 1e5 / 312e12)
    assert precision.mfu(work.flops, 1.0, None) is None
    assert precision.use_row(work, "bfloat16", 1e5, None, "16 bits").measured == "unknown"
    assert "wrong" in precision.use_row(work, "bfloat16", 1e9, 312e12, "16 bits").expected, (
        "nothing is faster than the peak"
    )


def test_the_flops_of_resnet_50():
    assert precision.resnet_work(False).flops == pytest.approx(3 * 2 * 4.09e9, rel=0.01)


@pytest.mark.parametrize(
    "name, products, told, expected",
    [
        ("NVIDIA A100-SXM4-80GB", "16 bits", None, 312e12),
        ("NVIDIA A100-SXM4-80GB", "float32", None, 19.5e12),
        ("NVIDIA A100-SXM4-80GB", "TF32", None, 156e12),
        ("NVIDIA H100 PCIe", "16 bits", None, 756e12),
        ("NVIDIA H100 80GB HBM3", "16 bits", None, 989.4e12),
        ("NVIDIA H200", "16 bits", None, 989.4e12),
        ("NVIDIA H200 NVL", "16 bits", None, None),
        ("NVIDIA GB200", "16 bits", None, None),
        ("NVIDIA RTX A1000 Laptop GPU", "16 bits", None, None),
        ("NVIDIA GeForce RTX 3090", "16 bits", None, None),
        ("NVIDIA GeForce RTX 3090", "16 bits", 71.0, 71e12),
        ("NVIDIA GeForce RTX 3090", "TF32", 71.0, 35.5e12),
        ("NVIDIA GeForce RTX 3090", "float32", 71.0, None),
    ],
)
def test_peaks_are_those_of_the_table_or_told(name, products, told, expected):
    assert devices.peak(name, products, told) == (None if expected is None else pytest.approx(expected))


def test_images_lie_in_the_layout_that_is_asked_for():
    seen = []

    class Looks(torch.nn.Conv2d):
        def forward(self, images):
            layouts = torch.contiguous_format, torch.channels_last
            seen.append([x.is_contiguous(memory_format=one) for x in (images, self.weight) for one in layouts])
            return super().forward(images).mean((2, 3))

    def batch(count, device):
        return torch.rand(count, 3, 4, 4), torch.randint(2, (count,))

    work = precision.Work("small", "image", 1, 2, lambda: Looks(3, 2, 2), batch, 1.0, torch.channels_last)
    for layout, expected in ((torch.channels_last, [False, True] * 2), (torch.contiguous_format, [True, False] * 2)):
        seen.clear()
        precision.timed(precision.replace(work, layout=layout), "float32", torch.device("cpu"), CPU, 2)
        assert seen and all(one == expected for one in seen)
    assert precision.resnet_work(True).layout == torch.channels_last
    assert precision.layout_row(work, "bfloat16", 0.52).measured == "0.52 times NHWC's rate"


def test_products_of_convolutions_are_held_against_tf32(monkeypatch):
    monkeypatch.setattr(precision, "timed", lambda *asked: (7.0, 1.0))
    monkeypatch.setattr(precision, "name_of", lambda setting: "NVIDIA H200")
    rows = {row.what: row for row in precision.work_rows(precision.resnet_work(True), CPU)}
    assert rows["ResNet-50, float32: MFU"].measured.endswith("of 494.7 TFLOP/s, TF32")
    assert rows["ResNet-50, bfloat16: gain"].expected == "at most 2.0, as the peaks"
    assert "ResNet-50, bfloat16: NCHW" in rows


@pytest.mark.parametrize("loss, verdict", [(7.1, "ok"), (7.6, "FAILED"), (float("nan"), "FAILED")])
def test_a_loss_far_from_that_of_float32_fails(loss, verdict):
    assert precision.loss_row(precision.gpt_work(True), "float16", loss, 7.0, precision.NEAR).verdict == verdict


def test_a_batch_that_does_not_fit_is_halved():
    def measure(batch: int) -> str:
        if batch > 16:
            raise torch.OutOfMemoryError("too large")
        return "fits"

    assert devices.fitting(64, measure) == (16, "fits")
    with pytest.raises(torch.OutOfMemoryError):
        devices.fitting(4, lambda batch: measure(17))


def test_the_clock_takes_the_median(monkeypatch):
    clock = iter([0, 1, 10, 13, 20, 22, 30, 39, 40, 44])
    monkeypatch.setattr(devices.time, "perf_counter", lambda: next(clock))
    calls = []
    assert devices.seconds_of(lambda: calls.append(1), torch.device("cpu"), warmup=2) == 3
    assert len(calls) == 2 + devices.RUNS


# ----------------------------------------------------------------------------------------------------------- memory


@pytest.mark.parametrize("mixed", [False, True])
def test_bytes_of_a_parameter_are_those_of_unit_15(mixed):
    lesson = lessons.lesson_of("15", (ROOT / "units/15_sharding/sharding.py").read_text())
    namespace: dict = {}
    execute(slice_cells(lesson.cells, ["memory_per_rank"]), namespace)
    of_unit = namespace["memory_per_rank"](1000, 1, 0, "adam", mixed)
    assert memory.bytes_per_parameter(mixed) * 1000 == of_unit == 16_000


def test_bytes_beside_the_arithmetic():
    assert memory.state_row(True, 1000, 16_100).verdict == "ok"
    assert memory.state_row(True, 1000, 18_000).verdict == "FAILED", "two bytes more: gradients were kept"
    sizes = {"context": 10, "width": 4, "layers": 2, "heads": 2}
    assert memory.inputs_bytes(sizes, 3) == 4 * 3 * 10 * 4 * 2
    good = {"said": 5000, "kept": 5000, "peak": 9000, "kept_less": 960, "peak_less": 6000, "same": True}
    assert not table.failed(list(memory.activation_rows(sizes, 3, **good)))
    for name, wrong in (("kept", 6000), ("kept_less", 5000), ("peak_less", 9500), ("same", False)):
        assert len(table.failed(list(memory.activation_rows(sizes, 3, **{**good, name: wrong})))) == 1, name


def test_on_a_gpu_its_allocator_is_asked(monkeypatch):
    alive, peak = iter([100, 350]), iter([900])
    for name in ("synchronize", "reset_peak_memory_stats"):
        monkeypatch.setattr(torch.cuda, name, lambda: None)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda: next(alive))
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: next(peak))
    with memory.Allocated() as counted:
        assert (counted.now(), counted.peak()) == (250, 800)


def test_a_view_of_what_was_there_is_not_counted():
    weights = torch.zeros(1000)
    with memory.CountedBytes() as counted:
        view = weights[:500]
        made = view + 1
        assert counted.now() == made.nbytes == 2000
        del made
        assert counted.now() == 0 and counted.peak() == 2000


# ----------------------------------------------------------------------------------------------------------- loader


def test_a_starved_device_is_recognised():
    assert loading.utilisation([0.02] * 10, [0.01] * 10) == pytest.approx(1 / 3)
    starving = loading.utilisation_row(0, loading.utilisation([0.02] * 10, [0.01] * 10), 1 / 3)
    assert starving.measured == "33% busy: starving" and starving.expected == "33% at most: starving"
    fed = loading.utilisation_row(4, loading.utilisation([0.0005] * 10, [0.01] * 10), 1.0)
    assert fed.measured == "95% busy: fed" and fed.verdict == "measured", "nobody judges a time"


@pytest.mark.parametrize("workers, bound", [(0, 1 / 3), (1, 0.5), (2, 1.0), (4, 1.0)])
def test_the_bound_of_a_pipeline(workers, bound):
    assert loading.predicted(0.01, 0.02, workers) == pytest.approx(bound)


# ---------------------------------------------------------------------------------------------------------- lessons

LESSON = """# %% [markdown]
# DEVICE in a text

# %%
import time

import matplotlib.pyplot as plt
import torch
import torch.distributed as dist

DEVICE = "cpu"
SIZE = 3

# %%
# %%ranks
def ones(n):
    return torch.ones(n, device=DEVICE)

# %%
# %%ranks 0,1
mine = ones(SIZE) * (rank + 1)
dist.all_reduce(mine)

# %%
# %%ranks
dist.send(ones(2), dst=1)
start = time.perf_counter()

# %%
# %%ranks
plt.plot(ones(SIZE))

# %%
# %%ranks
print("no device")
"""


def test_cells_of_a_device_are_found_and_what_they_need():
    lesson = lessons.lesson_of("99", LESSON)
    targets = lessons.cells_of_devices(lesson)
    assert [cell.label for cell in targets] == ["line 14", "line 19", "line 24", "line 29"]
    assert lesson.real["line 19"] == (0, 1) and lesson.real["line 24"] == ()
    assert lessons._members("0:4") == (0, 1, 2, 3) and lessons._members("--deadline 20") == ()
    one, two = Setting("cuda", gpus=1), Setting("cuda", gpus=2)
    reasons = {
        (cell.label, setting): lessons.reason_against(cell, slice_cells([lesson.cells[0]], cell_names(cell)), setting)
        for cell in targets
        for setting in (one, two, CPU)
    }
    assert reasons["line 19", one] == reasons["line 19", two] == reasons["line 24", two] == ""
    assert "two GPUs" in reasons["line 24", one] and "timed" in reasons["line 24", CPU]
    assert reasons["line 29", one] == "needs matplotlib"


def cell_names(cell) -> set[str]:
    return lessons.free_names(cell.source)


def test_when_time_is_up_no_cell_begins_and_each_says_so(monkeypatch):
    """Else the check would be ended from outside, and what it had found would stand beside a row that failed."""
    monkeypatch.setattr(lessons, "anywhere", lambda words: words)
    monkeypatch.setattr(lessons, "attempt", lambda *asked: pytest.fail("a cell was begun"))
    lesson = next(one for one in lessons.lessons(ROOT / "units") if one.unit == "08")
    targets = lessons.cells_of_devices(lesson)
    rows = list(lessons.unit_rows(lesson, targets, Setting("cpu"), 0, 2, end=0.0))
    assert len(rows) == len(targets) > 3 and {row.verdict for row in rows} == {table.NOT_RUN}
    assert any("--seconds" in row.expected for row in rows)


def test_the_lessons_with_a_device_are_known():
    found = {lesson.unit: len(lessons.cells_of_devices(lesson)) for lesson in lessons.lessons(ROOT / "units")}
    assert found["02"] and found["03"] and found["08"], found


def test_what_unit_08_is_given_needs_torch_and_numpy_alone():
    lesson = next(one for one in lessons.lessons(ROOT / "units") if one.unit == "08")
    for cell in lessons.cells_of_devices(lesson):
        before = [one for one in lesson.cells[: lesson.cells.index(cell)] if not lessons.DRAWN.search(one.source)]
        needed = slice_cells(before, cell_names(cell), lessons.GIVEN)
        assert lessons.reason_against(cell, needed, Setting("cuda", gpus=2)) == ""
    program = "import sys, labkit.lessons.scaling_laws; print(*{name.split('.')[0] for name in sys.modules})"
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {"matplotlib", "IPython", "jupytext", "mpi4py"} & set(ran.stdout.split())


def test_what_a_cell_leaves_behind_is_compared():
    here = {"x": torch.arange(3), "d": {"a": [torch.ones(2)]}, "time": 0.1}
    assert lessons.different(here, {**here, "time": 0.2}, {"x", "d", "time", "nowhere"}) == []
    there = {"x": torch.arange(3) + 1, "d": {"a": [torch.ones(3)]}, "time": 0.1}
    assert lessons.different(here, there, {"x", "d", "time"}) == ["d", "x"]
    assert lessons.cell_row("cell", "", "x", True).verdict == "FAILED"
    assert lessons.cell_row("cell", "RuntimeError: no", "", True).verdict == "FAILED"
    assert lessons.cell_row("cell", "", "", False).measured == "runs"
    assert lessons.holds_tensors({"a": [torch.ones(1)]}) and not lessons.holds_tensors({"a": [1.0]})


# --------------------------------------------------------------------------------------------------------- programs


def test_a_program_that_fails_is_a_row_that_failed(tmp_path):
    record = tmp_path / "record.json"
    row = programs.result_row("ddp.py", 1, "Traceback\nRuntimeError: no NCCL\n\n", record, "accuracy")
    assert row.verdict == "FAILED" and "RuntimeError: no NCCL" in row.measured
    assert programs.result_row("ddp.py", 0, "", record, "accuracy").verdict == "FAILED", "it wrote nothing"
    record.write_text('{"accuracy": 0.5}\n')
    assert programs.result_row("ddp.py", 0, "", record, "accuracy").value == 0.5


def test_programs_are_there_and_take_as_many_ranks_as_gpus(tmp_path):
    for path, more, _ in programs.programs(Setting("cuda", gpus=3), str(tmp_path)):
        assert (ROOT / path).is_file()
        assert "3" in more or "gpu" in more


# ---------------------------------------------------------------------------------------------------------- the page


def test_the_page_explains_every_check_and_names_every_peak():
    page = (ROOT / "docs" / "gpu.md").read_text()
    assert all(f"`{name}`" in page for name in cli.CHECKS)
    for words, half, _ in devices.PEAKS:
        assert not half or f"| {' '.join(words)} | {half:g} |" in page
