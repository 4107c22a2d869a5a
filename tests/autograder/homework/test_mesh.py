"""The second homework, `train_a_mesh`: what its judges say of every folder of the bank, and of what no folder shows."""

from __future__ import annotations

import hashlib
import io
import json
import math
import random
import threading
import zipfile
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from bank_mesh.folders import FINISHED, FOLDERS, PERSON, SCRIPT, Folder
from machine import full, needs, some

from autograder.exercise import seed_of
from autograder.grading import isolation
from autograder.homework import judge_files
from autograder.homework.folder import Homework, collect
from autograder.homework.mesh import figures, measured, plan, runs, script, sizes, table
from autograder.homework.mesh.altered import Altered
from autograder.homework.mesh.cases import trials
from autograder.homework.mesh.entry import TRAIN_A_MESH, role_of
from autograder.homework.mesh.lines import RUBRIC
from autograder.homework.mesh.parts import Scaling, drawn
from autograder.homework.mesh.runs import Ran, RunTrouble
from autograder.homework.mesh.summed import Summed
from autograder.homework.page import part_html, part_text
from autograder.homework.rubric import ONE_CAUSE, Flag, LineResult, PartResult, ended
from labkit.launch.launcher import Launcher
from labkit.meshrun import TASKS, Alive, Settings, read
from labkit.relay.matcher import exchange
from labkit.relay.operation import Group, Operation
from labkit.relay.wire import Tensor
from labkit.scale import Mesh
from probes.figure import figure as pdf_figure
from probes.mesh import in_all_threads
from probes.mesh_noise import Noise
from probes.mesh_sums import Sums

FILES = ("measured", "figures", "plan")
DATA, TENSOR = "data", "tensor"


def handed_in(folder: Folder, place: Path) -> Homework:
    folder.make(place / "handed in")
    (place / "copies").mkdir()
    return collect(place / "handed in", place / "copies", TRAIN_A_MESH.files)


_figures: dict[str, object] = {}


def read_once(path: Path):
    """Many folders share their figures: the same bytes are read once."""
    mark = hashlib.sha256(path.read_bytes()).hexdigest()
    if mark not in _figures:
        _figures[mark] = pdf_figure.read(path)
    return _figures[mark]


def compare(folder: Folder, findings: list[LineResult]) -> list[str]:
    """What was said otherwise than it should have been."""
    wrong = []
    for finding in findings:
        name, got = finding.line.name, PERSON if finding.earned is None else finding.diagnosis
        said = f"{name}: {finding.earned} of {finding.line.points:g}, {finding.diagnosis}: {finding.sentence}"
        if name not in folder.expected:
            if finding.verdict != "passed":
                wrong.append(f"should have full marks. {said}")
            continue
        expected = folder.expected[name]
        if got not in (expected if isinstance(expected, tuple) else (expected,)) or finding.verdict == "passed":
            wrong.append(f"should be {expected or 'left to a person'}. {said}")
        elif finding.earned is not None and not (finding.teach and finding.sentence):
            wrong.append(f"does not teach. {said}")
    return wrong


def judged(homework: Homework, launcher: Launcher | None) -> tuple[list[LineResult], list[Flag]]:
    """What is said of the files."""
    path = homework.files.get("plan")
    parts = [
        measured.judge(homework, "", launcher),
        figures.judge(homework, read_once),
        plan.judge(path, homework.absent("plan", "plan.toml")),
    ]
    return [finding for part in parts for finding in part.findings], [flag for part in parts for flag in part.flags]


@pytest.mark.parametrize("name", [name for name, folder in FOLDERS.items() if not folder.scripted])
def test_logs_tables_figures_and_plans(name, tmp_path, warm):
    folder = FOLDERS[name]
    findings, flags = judged(handed_in(folder, tmp_path), warm)
    assert [finding.line.name for finding in findings] == [
        line.name for part in FILES for line in RUBRIC.lines_of(part)
    ]
    assert not compare(folder, findings)
    assert {flag.kind for flag in flags} == folder.flags, [flag.sentence for flag in flags]


def run_ranks(name: str, place: Path, launcher: Launcher) -> None:
    folder = FOLDERS[name]
    result = script.judge(handed_in(folder, place).files["script"], "public", launcher)
    bonus = result.findings.pop()
    assert [finding.line for finding in result.findings] == RUBRIC.lines_of("script")
    assert not compare(folder, result.findings)
    assert bonus.line.name == "context" and (bonus.verdict == "passed") == folder.bonus, bonus.sentence


def test_the_finished_script(tmp_path, warm):
    run_ranks("right_reference", tmp_path, warm)


@pytest.fixture(scope="module")
def jailed():
    """As the grader does: some of these scripts could be out to harm."""
    with Launcher(isolation=isolation.spec(weak=True)) as launcher:
        yield launcher


def test_a_script_that_sleeps_is_waited_for_once(tmp_path, warm, monkeypatch):
    """Each trial would have its own deadline: a script that rests in all of them would hold a grader for a quarter of an
    hour. The rest get little time, after one that was too slow, or when all trials together have taken long."""
    script = tmp_path / runs.FILE
    script.write_text("import time\n\n\ndef train(*anything, **more):\n    time.sleep(100)\n")
    asked = trials("public")[0]
    monkeypatch.setattr(runs, "LIMITS", replace(runs.LIMITS, deadline=2.0))
    monkeypatch.setattr(runs, "HURRIED", replace(runs.HURRIED, deadline=1.0))
    run = runs.Runs(warm, script, "a key")
    assert [run.run(asked).trouble.said for _ in range(3)] == [f"it was not done after {n} s" for n in (2, 1, 1)]
    run.close()
    script.write_text("def train(*anything, **more):\n    return 1\n")
    monkeypatch.setattr(runs, "PATIENT_S", 0.0)
    run = runs.Runs(warm, script, "a key")
    assert run.run(asked).trouble.kind != "too_slow" and run._limits is runs.HURRIED
    run.close()


def scripts() -> list:
    """The folders with a script of their own: 8 to 20 s of computing for each. `make test-cluster` takes every ninth
    right one, and the first one of every fifth diagnosis."""
    scripted = [folder for folder in FOLDERS.values() if folder.scripted]
    right = [folder.name for folder in scripted if folder.right]
    first = {str(diagnosis): folder.name for folder in scripted[::-1] for diagnosis in folder.expected.values()}
    chosen = {*some(right, 9), *some(sorted(set(first.values())), 5)}
    names = [folder.name for folder in scripted]
    return ["right_reference", *(name if name in chosen else pytest.param(name, marks=full) for name in names)]


@needs("root")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", scripts())
def test_scripts_in_the_jail(name, tmp_path, jailed):
    run_ranks(name, tmp_path, jailed)


def test_every_line_is_lost_by_some_folder():
    assert {line.name for line in RUBRIC.lines if line.part != "bonus"} == {
        name for folder in FOLDERS.values() for name in folder.expected
    }
    assert len(FOLDERS) >= 30 and sum(folder.right for folder in FOLDERS.values()) >= 8
    assert any(folder.right and not folder.bonus for folder in FOLDERS.values())


def test_points():
    points = {part: RUBRIC.points_of(part) for part in RUBRIC.parts}
    assert points == {"script": 50, "measured": 20, "figures": 15, "plan": 15, "bonus": 5}
    assert len({line.name for line in RUBRIC.lines}) == len(RUBRIC.lines)


# -- one reason for several lines --------------------------------------------------------------------------------------

ROWS = (
    "rank 0  send to 1, float64[6, 16]   mesh_training.py, line 214",
    "rank 1  send to 0, float64[6, 16]   mesh_training.py, line 221",
)
HANG = RunTrouble(
    "hung", "the ranks stood still. Every rank sends first.", ROWS, "unsafe_send", frozenset({"line 214", "line 221"})
)


def troubled(*causes: RunTrouble) -> script.View:
    """All trials with several stages ended in this way, by turns."""
    asked = [trial for trial in trials("public") if trial.mesh.pipeline > 1]
    found = {trial.name: Ran(trial, trouble=causes[k % len(causes)]) for k, trial in enumerate(asked)}
    return script.View({"one": Ran(trials("public")[0])} | found, {})


def test_lines_that_end_by_one_hang_follow_from_the_first_of_them():
    view = troubled(HANG, HANG._replace(rows=ROWS[:1], places=frozenset({"line 214"})))
    first, *others = (view.line(name) for name in ("pipeline", "mixed", "traffic"))
    assert first.rows == list(ROWS) and first.sentence.endswith("stood still. Every rank sends first.")
    assert [one.diagnosis for one in (first, *others)] == ["hung"] * 3 and not any(one.earned for one in others)
    assert all(one.sentence.startswith("This follows from `Stages`. On data x tensor") for one in others)
    (flag,) = view.flags()
    assert flag.kind == ONE_CAUSE and "at most 12 points" in flag.sentence, "7 of several axes, 5 of the bytes"
    result = PartResult("script", [first, *others], [flag], {}, "train_a_mesh")
    assert PartResult.from_json(json.loads(json.dumps(result.to_json()))) == result
    text, page = part_text(result), part_html(result)
    assert [line.strip() for line in text.splitlines() if line.strip().startswith("rank ")] == list(ROWS)
    assert "\n".join(ROWS) in page and "It has cost no points" not in page


@pytest.mark.parametrize("other", [HANG._replace(what="deadlock"), HANG._replace(places=frozenset({"line 9"})),
                                   HANG._replace(kind="raised"), HANG._replace(places=frozenset())])  # fmt: skip
def test_what_ends_in_another_way_follows_from_nothing(other):
    view = troubled(other)
    view.causes["data"] = HANG
    assert "follows" not in view.line("pipeline").sentence and not view.flags()


def test_what_was_never_written_is_nobodys_to_give():
    unwritten = RunTrouble(
        "raised", "rank 0 raised NotImplementedError", (), "NotImplementedError", frozenset({"line 3"})
    )
    view = troubled(unwritten)
    assert [view.line(name).earned for name in ("pipeline", "mixed")] == [0, 0] and not view.flags()


def test_a_script_that_fails_alone_was_tried_nowhere_else():
    view = troubled(HANG)
    view.found["one"].trouble = HANG
    first, second = view.line("one_rank"), view.line("pipeline")
    assert (
        first.rows
        and second.sentence == "This follows from `On one rank it is the sequential training`. It was not tried."
    )


@pytest.mark.parametrize("text", ["it hangs", "it hangs.", "it hangs ...", "does it?"])
def test_a_sentence_ends_once(text):
    assert ended(text) == (text if text[-1] in ".?" else f"{text}.")


def test_settings_that_take_more_than_a_check_has_are_a_person_s(tmp_path, monkeypatch):
    def too_much(launcher, asked):
        raise RuntimeError("the sequential training could not be run (dead, )")

    homework = handed_in(FOLDERS["right_reference"], tmp_path)
    monkeypatch.setattr(measured, "expected", too_much)
    found = {finding.line.name: finding for finding in measured.judge(homework, "", object()).findings}
    assert found["losses"].earned is None and "could not be run again here" in found["losses"].sentence
    assert all(finding.verdict == "passed" for name, finding in found.items() if name != "losses")


# -- the trials --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["public", *(f"key {k}" for k in range(12))])
def test_what_is_drawn_comes_out_even(key):
    names = set()
    for trial in trials(key):
        mesh, s = trial.mesh, trial.settings
        assert mesh.size <= 8 and s.batch % (mesh.data * s.micro_batches) == 0 and s.context % mesh.context == 0
        assert s.layers % mesh.pipeline == 0 and s.heads % mesh.tensor == 0 and s.width % s.heads == 0
        assert not trial.after or trial.after in names
        names.add(trial.name)
    assert trials(key) == trials(key)
    saved, resumed = (next(t for t in trials(key) if t.name == name) for name in ("saved", "resumed"))
    assert saved.mesh.size != resumed.mesh.size


def test_keys_draw_different_meshes():
    drawn = {tuple((t.mesh, t.settings) for t in trials(f"key {k}")) for k in range(20)}
    assert len(drawn) == 20


@pytest.mark.parametrize(("tensor", "width"), [(1, 16), (2, 16), (4, 20)])
def test_parameters_are_the_models(tensor, width):
    settings = Settings(layers=3, width=width, heads=4, context=12)
    cut = ("attention.q", "attention.k", "attention.v", "mlp.up", "attention.out.weight", "mlp.down.weight")
    whole = sum(
        p.numel() // (tensor if any(c in name for c in cut) else 1) for name, p in settings.model().named_parameters()
    )
    assert sizes.parameters(settings, tensor) == whole


# -- what is altered on its way ----------------------------------------------------------------------------------------


def handed_over(rank: int, kind: str, members: tuple[int, ...], count: int, peer: int | None = None, reduce: str = ""):
    payload = np.linspace(1, 2, count).tobytes()
    group = Group("g", members)
    return Operation(rank, 1, kind, group, peer, 0, "float64", (count,), None, reduce, [], "", payload)


def test_messages_are_altered_by_the_axis_along_which_they_go():
    trial = next(one for one in trials("public") if one.name == "mixed, altered")
    altered, width, at = Altered(trial, b"secret"), trial.settings.width, trial.mesh.rank
    hop = sizes.hop(trial.settings, trial.mesh) // sizes.FLOAT
    one, other, replica, stage = at(), at(tensor=1), at(data=1), at(pipeline=1)
    given, noise = np.linspace(1, 2, hop), {axis: Noise(seed, width) for axis, seed in altered.seeds.items()}
    sent = handed_over(one, "send", tuple(range(8)), hop, peer=stage)
    assert np.array_equal(np.frombuffer(altered.handed(sent)), noise["pipeline"](given))
    assert np.array_equal(arrived(altered, "all_reduce", (one, other), hop), noise["tensor"](2 * given))
    factors = []
    for kind in ("reduce_scatter", "all_reduce", "all_reduce", "all_to_all"):
        found = arrived(altered, kind, (one, replica), hop)
        factors.append(found[0] / (1 if kind == "all_to_all" else 2))
        plain = np.tile(given[: hop // 2], 2) if kind == "all_to_all" else 2 * given[: len(found)]
        assert np.allclose(found, factors[-1] * plain), kind
    assert len(set(factors)) == len(factors), "each sum has another one"
    values, by = altered.sums()
    assert len(values) == len(by) == 4 * hop and set(np.round(by, 9)) == set(np.round(factors, 9))
    for op in (sent, handed_over(one, "all_gather", (one, replica), hop)):
        assert altered.handed(replace(op, peer=other)) is op.payload
    for op in (
        handed_over(one, "all_reduce", tuple(range(8)), 2, reduce="sum"),
        handed_over(one, "all_gather", (one, replica), hop),
        handed_over(one, "all_reduce", (one, other), width, reduce="sum"),
        handed_over(one, "send", tuple(range(8)), width + 1, peer=stage),
        handed_over(one, "recv", tuple(range(8)), hop, peer=stage),
    ):
        assert altered.handed(op) is op.payload, op.kind
        op.data = op.payload
        altered.arrives([op])
        assert op.data is op.payload, op.kind


def arrived(altered: Altered, kind: str, members: tuple[int, ...], count: int) -> np.ndarray:
    """What the first rank gets of a collective to which all hand over the same."""
    ops = [handed_over(rank, kind, members, count, reduce="" if kind == "all_to_all" else "sum") for rank in members]
    for op in ops:
        op.group, op.sizes = ops[0].group, [len(op.payload) // len(ops)] * len(ops)
        op.elements //= 2 if kind == "reduce_scatter" else 1
    exchange(ops)
    altered.arrives(ops)
    return np.frombuffer(ops[0].data)


def test_the_same_sum_of_another_tensor_rank_gets_the_same_number():
    trial = next(one for one in trials("public") if one.name == "mixed, altered")
    altered, at = Altered(trial, b"secret"), trial.mesh.rank
    pairs = [(at(tensor=t, pipeline=p), at(tensor=t, pipeline=p, data=1)) for t, p in ((0, 0), (1, 0), (0, 1))]
    first, twin, stage = (arrived(altered, "all_reduce", pair, 40)[0] for pair in pairs)
    again, other = (arrived(altered, "all_reduce", pairs[0], 40)[0], arrived(altered, "all_reduce", pairs[1], 48)[0])
    assert first == twin and len({first, stage, again, other}) == 4


def test_right_losses_with_next_to_nothing_altered_wait_for_a_person():
    """Sums of eight numbers travel as they are: whoever sends gradients in such pieces need not use what arrives."""
    trial = next(one for one in trials("public") if one.name == "data, altered")
    ran = Ran(trial, altered=Altered(trial, b"secret"))
    view = script.View({trial.name: ran}, {}, used={trial.name: ("data",)})
    line = view.line("data")
    assert (line.earned, line.diagnosis) == (None, "not_altered") and "data" in line.sentence
    ran.altered.bytes["data"] = 1 << 30
    assert view.line("data").verdict == "passed"


TWO = "key 3"  # draws a tensor group of two ranks


def summed_by(launcher: Launcher, place: Path, axis: str, *changes: tuple[str, str]) -> Ran:
    """The trial of one axis, of the finished script with some text replaced."""
    text = (FINISHED / SCRIPT).read_text(encoding="utf-8")
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (place / SCRIPT).write_text(text, encoding="utf-8")
    run = runs.Runs(launcher, place / SCRIPT, TWO)
    ran = run.run(next(trial for trial in trials(TWO) if trial.name == axis))
    run.close()
    assert ran.trouble is None, ran.trouble
    return ran


@pytest.fixture(scope="module")
def shares(warm):
    return script._shares({trial.name: Ran(trial) for trial in trials(TWO)}, warm)


WHOLE = "        whole = self._padded(torch.cat([w.grad.flatten() for w in self.named.values()]))\n"
OWN_ROWS = 'tokens.chunk(axes.mesh.data)[axes.at["data"]]'
COPIED = "            w.copy_(values.view_as(w))\n"
ONE_BY_ONE = (
    "        return mine / self.p\n",
    "        return mine / self.p\n\n    def _each(self, whole):\n        for w in whole[: self.n].split(self._sizes()):\n"
    "            dist.all_reduce(w, group=self.axes.replicas)\n"
    "            dist.all_reduce(torch.arange(20.0, dtype=w.dtype) * w[0] * (1 + self.axes.replica),"
    " group=self.axes.replicas)\n",
)
CUT = "    weight = linear.weight.detach().chunk(p, dimension)[rank].clone()\n"
HEADS = """    def own(x, dimension=0):
        return torch.cat(x.detach().chunk(4, dimension)[rank::p], dimension)

    weight = own(linear.weight, dimension)
"""
OWN_BIAS = "SumOut.apply(F.linear(x, self.weight), self.group) + self.bias"
DIVIDED = {
    "rows in a row": (DATA, []),
    "rows one by one": (DATA, [(OWN_ROWS, 'tokens[axes.at["data"] :: axes.mesh.data]')]),
    "rows shuffled": (DATA, [(OWN_ROWS, 'tokens[[*range(0, 12, 5), *range(1, 12, 5), *range(2, 12, 5), *range(3, 12, 5),'
                                        ' *range(4, 12, 5)]].chunk(axes.mesh.data)[axes.at["data"]]')]),
    "gradients one by one, and a few numbers": (DATA, [ONE_BY_ONE, (WHOLE, WHOLE + "        self._each(whole.clone())\n")]),
    "weights made equal": (DATA, [("        self.k = -(-self.n", "        for w in self.named.values():\n"
        "            dist.all_reduce(w.detach(), group=axes.replicas)\n            w.data /= self.p\n        self.k = -(-self.n")]),
    "equal weights made equal in each step": (DATA, [(COPIED, COPIED + "            if self.p > 1:\n"
        "                dist.all_reduce(w, group=self.axes.replicas)\n                w /= self.p\n")]),
    "heads in a row": (TENSOR, []),
    "biases of the first": (TENSOR, [(OWN_BIAS, "SumOut.apply(F.linear(x, self.weight, self.bias * (dist.get_rank("
                                                "self.group) == 0)), self.group)")]),
    "heads one by one": (TENSOR, [(CUT, HEADS), ("linear.bias.detach().chunk(p)[rank] if", "own(linear.bias) if")]),
    "each of q, k, v": (TENSOR, [("(block.attention, block.mlp)", "(block.attention.q, block.attention.k, block.attention.v,"
                                                                  " block.mlp)")]),
    "a loss that is a sum": (TENSOR, [("ys[k].flatten()) / m", "ys[k].flatten(), reduction='sum')"),
                                      ("        return mine / self.p\n", "        return mine / self.p\n"),
                                      ("            return whole\n", "            return whole / self.settings.tokens\n"),
                                      ("        mine = loss / self.p if", "        mine = loss / self.settings.tokens if")]),
}  # fmt: skip


@pytest.mark.parametrize("name", DIVIDED)
def test_what_parts_of_the_work_add_is_known_however_it_is_divided(name, tmp_path, warm, shares):
    axis, changes = DIVIDED[name]
    ran = summed_by(warm, tmp_path, axis, *changes)
    assert ran.summed.of_parts(axis, shares) and not ran.summed.few(axis) and not ran.summed.undivided(axis)
    losses = {round(float(loss), 9) for loss in ran.steps[:, -1, 0]}
    (expected,) = runs.expected(warm, [(vars(ran.trial.settings), ran.trial.steps)])
    assert losses == {round(float(expected[-1, 0]), 9)}


def added(trial, place: dict[str, int], *summands: np.ndarray) -> Summed:
    """What is known of one sum. place: of its members, but for the axis along which they differ."""
    summed, (axis,) = Summed(trial), [axis for axis, n in place.items() if n < 0]
    members = tuple(trial.mesh.rank(**{**place, axis: k}) for k in range(len(summands)))
    group = Group("g", members)
    ops = [Operation(rank, 1, "all_reduce", group, None, 0, "float64", one.shape, None, "sum", [], "", one.tobytes())
           for rank, one in zip(members, summands, strict=True)]  # fmt: skip
    summed.arrives(ops)
    return summed


@pytest.mark.parametrize("axis", ["data", "tensor", "context"])
def test_summands_that_are_multiples_of_each_other_are_told_from_parts(axis):
    mesh = Mesh(tensor=2) if axis == "tensor" else Mesh(**{axis: 2})
    trial = replace(trials("public")[1], mesh=mesh)
    n = sizes.hop(trial.settings, mesh) // sizes.FLOAT
    x, y = np.random.default_rng(2).normal(size=(2, n))
    for one, other, alike in (
        (x, y, False), (x, x + y, False), (x, x + 0.1 * y, False), (x, x + 0.01 * y, True), (x / 2, x / 2, True),
        (x, -3 * x, True), (x, 1e-12 * y, axis != "context"), (x, np.zeros(n), None),
        (np.append(x[: n // 2], np.zeros(n - n // 2)), np.append(np.zeros(n // 2), y[n // 2 :]), None),
    ):  # fmt: skip
        summed = added(trial, {axis: -1}, one, other)
        found = bool(summed.alike[axis]), bool(summed.others[axis])
        assert found == ((alike, not alike) if alike is not None else (False, False))


def test_tensors_of_another_thread_count():
    kept: list = []
    with Alive() as alive, in_all_threads(alive):
        torch.ones(100)
        thread = threading.Thread(target=lambda: kept.append(torch.ones(1000)))
        thread.start()
        thread.join()
        assert alive.now() == 4000
    again = threading.Thread(target=lambda: kept.append(torch.ones(1000)))
    again.start()
    again.join()
    assert alive.now() == 4000, "it was counted while the mode was on"


def test_noise_looks_at_the_direction_alone_and_has_no_jumps():
    random = np.random.default_rng(5)
    noise, x = Noise([1, 2], 16), random.normal(size=(3, 50, 16))
    found = noise(x)
    assert np.allclose(noise(x[:, ::-1] / 6), found[:, ::-1] / 6, rtol=1e-12)
    assert np.array_equal(noise(x.reshape(-1)), found.reshape(-1)) and not noise(np.zeros(16)).any()
    assert np.isnan(noise(np.full(16, np.nan))).all() and noise(np.full(16, 1e300)).shape == (16,)
    line = np.linspace(x[0, 0], x[0, 1], 20_000)
    assert np.abs(np.diff(noise(line), axis=0)).max() < 1e-3 and np.ptp(found / x, axis=(0, 1)).min() > 0.1
    assert np.abs(noise(x * (1 + 1e-14 * random.normal(size=x.shape))) / found - 1).max() < 1e-12


def test_sums_are_found_by_their_values_whatever_they_were_divided_by():
    random = np.random.default_rng(5)
    first, second = random.normal(size=(2, 300))
    values = 3 * np.concatenate([first, second])
    sums = Sums(random.permutation(values), np.ones(600), [1.0, 2.0, 3.0])
    assert sums([first[:100].reshape(4, 25), first[100:]])[0].shape == (4, 25) and sums.scales == [3.0]
    assert (sums.asked, sums.found) == (300, 300)
    sums = Sums(values, np.repeat([1.5, 0.5], 300), [1.0, 3.0])
    assert np.allclose(sums([first * (1 + 1e-13), second])[0], 1.5 * first)
    assert np.allclose(sums([second, random.normal(size=300)])[0], 0.5 * second) and sums.found == 900
    nothing = Sums(np.zeros(0), np.zeros(0), [1.0, 3.0])
    assert np.array_equal(nothing([first])[0], first) and nothing.found == 0


def test_no_rank_is_handed_what_the_altering_is_drawn_from(tmp_path, warm):
    """The seed of a rank was 32 bits of the key's hash, and the factors were drawn from it: a script could draw them."""
    script = tmp_path / runs.FILE
    script.write_text(
        "import random\n\ndef train(mesh, settings, steps, log, parts=None):\n"
        "    for _ in range(steps):\n        log.step(1.0, 1.0)\n    return [random.random()]\n"
    )
    run = runs.Runs(warm, script, "a key")
    ran = run.run(next(one for one in trials("a key") if one.altered))
    run.close()
    own = seed_of("a key", "train_a_mesh", "ranks")
    assert ran.parts == [[random.Random(own + 7919 * rank).random()] for rank in range(ran.trial.mesh.size)]
    handed = {own, run.seed, int.from_bytes(hashlib.sha256(b"a key").digest()[:4], "big")}
    for seed in handed:
        for text in (f"{ran.trial.name} {seed}".encode(), str(seed).encode() + ran.trial.name.encode()):
            guess = Altered(ran.trial, text), Altered(ran.trial, hashlib.sha256(text).digest())
            assert not {str(one.seeds) for one in guess} & {str(ran.altered.seeds)}
    assert own.bit_length() > 64


def test_a_known_way_to_train_is_named_once():
    for trial in (one for one in trials("public") if one.altered):
        altered = Altered(trial, b"secret")
        ways = [(way.axes, json.dumps(way.how)) for way in (altered.usual(), *altered.others())]
        assert ways[0][0] == altered.axes and {axes for axes, _ in ways[1:]} >= {()}, trial.name
        assert len(set(ways)) == len(ways), trial.name


FACTOR = 1.25


@pytest.mark.parametrize("kind", ["tensors", "lists", "arrays", "file", "bytes", "none"])
def test_the_weights_in_a_checkpoint_are_found_by_their_values(kind):
    head, moments = np.random.default_rng(3).normal(0, 0.02, (2, 40))
    both = np.concatenate([moments[:10], head, moments[10:]])
    parts = {
        "tensors": [{"w": Tensor(half, "float64"), "step": 2} for half in (both[:30], both[30:])],
        "lists": [{"w": both.tolist(), "step": 2}],
        "arrays": [(both[::-1], "name", None)],
        "file": [{"w": Tensor(np.frombuffer(b"head" + both.tobytes(), np.uint8), "uint8")}],
        "bytes": [b"head" + both.tobytes()],
        "none": [{"w": Tensor(moments, "float64")}],
    }[kind]
    scaling = Scaling(head, np.zeros(2), FACTOR)
    found = scaling.of(parts)
    assert scaling.everywhere == (kind == "none")
    scaled = np.concatenate([moments[:10], FACTOR * head, moments[10:]])
    values = {
        "tensors": lambda: np.concatenate([part["w"].values for part in found]),
        "lists": lambda: np.array(found[0]["w"]),
        "arrays": lambda: found[0][0][::-1],
        "file": lambda: np.frombuffer(found[0]["w"].values.tobytes()[4:]),
        "bytes": lambda: np.frombuffer(found[0][4:]),
    }
    if kind in values:
        assert np.array_equal(values[kind](), scaled)
    elif kind == "none":
        assert np.array_equal(found[0]["w"].values, FACTOR * moments)


@pytest.mark.parametrize("kind", ["torch", "numpy"])
def test_a_file_in_memory_whose_weights_were_scaled_can_be_read(kind):
    head = np.random.default_rng(3).normal(0, 0.02, 40)
    file = io.BytesIO()
    torch.save({"w": torch.from_numpy(head)}, file) if kind == "torch" else np.savez(file, w=head)
    (found,) = Scaling(head, np.zeros(2), FACTOR).of([file.getvalue()])
    assert zipfile.ZipFile(io.BytesIO(found)).testzip() is None
    read = torch.load(io.BytesIO(found)) if kind == "torch" else np.load(io.BytesIO(found))
    assert np.array_equal(np.asarray(read["w"]), FACTOR * head)


def test_keys_scale_different_weights():
    settings = trials("public")[0].settings
    named = dict(settings.model().named_parameters())
    found = [drawn(hashlib.sha256(bytes([k])).digest(), settings) for k in range(40)]
    assert {name for names, _ in found for name in names} <= set(named) and len(
        {tuple(names) for names, _ in found}
    ) > 20
    assert len({factor for _, factor in found}) > 2


# -- plans -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gpus", list(TASKS))
def test_nothing_is_faster_than_the_best(gpus):
    seconds, choice = plan.search(TASKS[gpus])
    assert seconds == pytest.approx(plan.BEST[gpus], rel=1e-4), choice


def test_another_machine_asks_for_another_mesh():
    """On NVL72 machines neither the mesh of 1,024 GPUs will do nor what a search up to tensor groups of 8 finds."""
    task, best = TASKS[576], plan.BEST[576]
    assert task.domain == 72 and TASKS[1024].domain == 8
    _, there = plan.search(TASKS[1024])
    assert not task.plan(**there | {"data": 9}).fits
    eights = task.plan(data=72, tensor=8, pipeline=1, micro_batch=2, recompute="full")
    assert eights.fits and eights.estimate().seconds > 1.05 * best
    near = task.plan(data=8, tensor=12, pipeline=6, chunks=8, recompute="selective")
    assert near.fits and near.estimate().seconds < 1.05 * best


@pytest.mark.parametrize(
    "line", ["pipeline = 0", "data = true", "tensor = 1.5", 'data = "many"', "chunks = 99999999999", "zero = 7"]
)
def test_odd_numbers_are_no_plan_and_no_error(line, tmp_path):
    name = line.split()[0]
    given = {"data": 32, "tensor": 4, "pipeline": 8}
    text = "\n".join(["[gpus_1024]", line, *(f"{axis} = {n}" for axis, n in given.items() if axis != name)])
    (tmp_path / "plan.toml").write_text(text)
    found = plan.judge(tmp_path / "plan.toml", "")
    assert [finding.diagnosis for finding in found.findings] == [*["not_possible"] * 3, "no_interval"]


@pytest.mark.parametrize("odd", ["1" + "0" * 400, "0x" + "f" * 9000, "[0x" + "f" * 9000 + "]", "nan", "inf", "1e15"])
@pytest.mark.parametrize("name", ["checkpoint_interval", "data", "recompute"])
def test_numbers_that_no_float_holds_are_no_error(name, odd, tmp_path):
    given = {"data": 32, "tensor": 4, "pipeline": 8} | {name: odd}
    (tmp_path / "plan.toml").write_text("\n".join(["[gpus_1024]", *(f"{n} = {value}" for n, value in given.items())]))
    found = {finding.line.name: finding.diagnosis for finding in plan.judge(tmp_path / "plan.toml", "").findings}
    assert found["plan_saving"] == "no_interval" and (name == "checkpoint_interval" or found["plan_1024"])


# -- logs and names ----------------------------------------------------------------------------------------------------


def test_the_finished_logs_are_of_the_finished_script():
    mark = hashlib.sha256((FINISHED / SCRIPT).read_bytes()).hexdigest()
    for path in FINISHED.glob("run_d*.jsonl"):
        run = read(path)
        assert run.complete and run.source_sha256 == mark and set(run.hosts) == {"laptop"}, path.name


@pytest.mark.parametrize(
    "text",
    ["", "no json\n", "[]\n", "{}\n", '{"kind": "run", "format": 1, "digest": "x"}\n', '{"kind": "run"' + "[" * 9000],
)
def test_what_is_no_log_is_left_out(text, tmp_path):
    (tmp_path / "run.jsonl").write_text(text)
    homework = Homework(files={"mesh_d1_t1_p1_c1": tmp_path / "run.jsonl"}, names={"mesh_d1_t1_p1_c1": "run.jsonl"})
    runs, broken = measured.read_runs(homework)
    assert not runs and list(broken) == ["run.jsonl"]


def test_lines_of_any_kind_are_a_problem_and_no_error(tmp_path):
    good = (FINISHED / "run_d1_t1_p1.jsonl").read_text().splitlines()
    strange = ["7", "null", '{"digest": 5, "kind": "step"}', json.dumps({"digest": "", "kind": "rank", "sent": 5})]
    strange += [json.dumps({"digest": "", "kind": "step", "step": 5, "seconds": 10**400, "loss": 1, "norm": 1})]
    (tmp_path / "run.jsonl").write_text("\n".join([*good[:5], *strange, *good[5:]]))
    run = read(tmp_path / "run.jsonl")
    assert len(run.losses) == 30 and len(run.problems) >= 4 and not run.complete


@pytest.mark.parametrize(
    "name, role",
    [
        ("run_d2_t1_p4.jsonl", "mesh_d2_t1_p4_c1"),
        ("logs/Run-2x2x1.JSONL", "mesh_d2_t2_p1_c1"),
        ("run_data2_tensor1_pipeline4_context2.log", "mesh_d2_t1_p4_c2"),
        ("Meshes.csv", "meshes.csv"),
        ("Step-Time.PDF", "step_time.pdf"),
        ("loss.png", "not:losses.pdf"),
        ("plan.json", "plan"),
        ("mesh_training.py", "script"),
        ("mesh_training_starter.py", ""),
        ("run_2.jsonl", ""),
    ],
)
def test_names_as_people_vary_them(name, role):
    assert role_of(name)[0] == role


def test_a_table_as_people_write_it(tmp_path):
    (tmp_path / "t.csv").write_text(
        "Mesh\tStep [ms]\tTokens per second\tPeak (MiB)\nd2 t2 p1\t12.5\t1,234,567\t3.5\n(1, 1, 1)\t7\t10\t\n"
    )
    found = table.read(tmp_path / "t.csv")
    assert found.rows[2, 2, 1, 1] == {"seconds": 0.0125, "tokens": 1234567, "memory": 3.5 * 2**20}
    assert found.rows[1, 1, 1, 1] == {"seconds": 0.007, "tokens": 10}
    for text in ("", "no columns", "a,b\n1,2\n"):
        (tmp_path / "t.csv").write_text(text)
        with pytest.raises(table.TableError):
            table.read(tmp_path / "t.csv")


def test_an_empty_folder_is_a_report_and_no_error(tmp_path):
    report = judge_files(Homework(assignment="train_a_mesh"), launcher=object())
    assert (report.score, report.max_score, report.needs_person) == (0, 100, False)
    assert {finding.line for finding in report.findings} == set(RUBRIC.lines)


def test_sizes_are_what_the_relay_counts(warm):
    """The formulas' bytes, for the finished script, on a mesh that no trial has."""
    from autograder.homework.mesh.cases import Trial
    from autograder.homework.mesh.runs import Runs

    settings = Settings(layers=2, width=8, heads=2, context=6, batch=8, micro_batches=2, seed=4)
    trial = Trial("here", "mixed", Mesh(data=2, tensor=2, pipeline=2), settings, 1)
    runs = Runs(warm, FINISHED / SCRIPT, "a key")
    ran = runs.run(trial)
    runs.close()
    assert ran.trouble is None and np.isfinite(ran.steps).all() and asdict(settings)["seed"] == 4
    needed = sizes.traffic(settings, trial.mesh)
    assert {axis: ran.sent[axis] for axis in ("tensor", "pipeline")} == {
        axis: needed[axis] for axis in ("tensor", "pipeline")
    }
    assert needed["data"] <= ran.sent["data"] <= 1.02 * needed["data"]


def test_a_training_that_holds_nothing_after_a_step_is_told_as_that():
    """Nothing can be divided by what nobody holds: the line was lost to the grader, and so was all of its part."""
    found = {t.name: Ran(t, held=[0] * t.mesh.size, peaks=[1] * t.mesh.size) for t in trials("public")}
    line = script.View(found, {}).line("memory")
    assert (line.earned, line.diagnosis) == (0, "nothing_held"), line.sentence


def test_a_judge_that_fails_costs_one_line_its_verdict(monkeypatch):
    found = {trial.name: Ran(trial) for trial in trials("public")}
    line = script.View(found, {}).line("one_rank")  # there is nothing to compare with
    assert (line.earned, line.diagnosis) == (None, "fault") and "KeyError" in line.sentence
    monkeypatch.setattr(measured, "_times", lambda *anything: 1 / 0)
    lines = measured.judge(Homework(assignment="train_a_mesh"), "", None).findings
    assert [line.line.name for line in lines if line.diagnosis == "fault"] == ["times"] and len(lines) == 4


@pytest.mark.parametrize("field, number", [("seconds", 1e308), ("seconds", 1e-300), ("loss", -1e308), ("norm", 1e101)])
def test_a_number_that_no_step_can_have_is_not_read(tmp_path, field, number):
    log = tmp_path / "run_d1_t1_p1.jsonl"
    first = {"kind": "run", "format": 1, "mesh": dict.fromkeys(("data", "tensor", "pipeline", "context"), 1), "hosts": [],
             "settings": asdict(Settings()), "hardware": {}, "source_sha256": "", "nonce": "", "started": ""}  # fmt: skip
    step = {"kind": "step", "step": 1, "seconds": 1.0, "loss": 1.0, "norm": 1.0, field: number}
    sent = {"kind": "rank", "rank": 0, "held": 1, "peak": 1, "sent": {"data": math.inf}}
    log.write_text("".join(json.dumps({**one, "digest": ""}) + "\n" for one in (first, step, sent)))
    run = read(log)
    assert run.problems[:2] == ["Line 2 cannot be read.", "Line 3 cannot be read."] and not run.step_seconds
