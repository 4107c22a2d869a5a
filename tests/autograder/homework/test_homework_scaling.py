"""The scaling test of the homework: right tables in all shapes, named mistakes, and flags that honest runs must not
raise.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bank_homework.runs import Run, records, rewrite

from autograder.homework import folder
from autograder.homework.mnist import SCALING_MNIST
from autograder.homework.mnist_rubric import SIZES
from autograder.homework.rubric import PartResult, Report
from autograder.homework.scaling import figure as scaling_figure
from autograder.homework.scaling import judge as scaling
from autograder.homework.scaling import rerun, table
from autograder.homework.scaling.measured import Range, speed, speedup
from autograder.homework.shared_runs import FACT, shared_runs, trace
from labkit import runlog
from probes.figure.types import Axis, Curve, Figure, Panel

LAPTOP = {"processor": "a laptop's", "cores": 2, "machine_cores": 2, "memory_bytes": 8_000_000_000, "gpus": []}
SCRIPT = "tensorflow2_mnist_hvd.py"


def axis(label: str, percent: bool = False) -> Axis:
    return Axis("left", label, "linear", 0.0, 1.0, percent=percent)


def figure_of(*curves, x: str = "ranks", **more) -> Figure:
    """curves: (label of the y axis, name, points)."""
    panels = []
    for label, name, points in curves:
        at, values = np.array(list(points), float), np.array(list(points.values()), float)
        drawn = Curve(at, values, at, values, name=name, cut=np.zeros(len(at), bool))
        panels.append(Panel(0, (0, 0, 100, 100), axis(x), axis(label, **more), curves=[drawn]))
    return Figure("scaling.pdf", [(100, 100)], panels)


def usual_rate(path: Path) -> float:
    run = runlog.read(path)
    return run.throughput(min(1, len(run.epochs) - 1)).value


class Submission:
    """A folder of made-up runs, whose files can be changed before it is judged."""

    def __init__(self, root: Path, sizes=SIZES, make=lambda run: run):
        self.root = root / "in"
        self.copies = root / "copies"
        self.root.mkdir()
        (self.root / SCRIPT).write_text("print('hello')\n")
        for p in sizes:
            make(Run(p, epochs=4, images=6400)).write(self.log(p), self.root / SCRIPT)
        self.sizes = sizes
        self.rates = {p: usual_rate(self.log(p)) for p in sizes}
        self.write_table(
            {p: (r, r / self.rates[1], r / self.rates[1] / p) for p, r in self.rates.items()} if 1 in sizes else {}
        )
        self.figure = figure_of(("speedup", "measured", {p: r / self.rates[min(sizes)] for p, r in self.rates.items()}))
        (self.root / "scaling.pdf").write_bytes(b"%PDF-")

    def log(self, p: int) -> Path:
        return self.root / f"run_{p}.jsonl"

    def write_table(self, rows: dict, form: str = "{p},{0:.2f},{1:.4f},{2:.4f}") -> None:
        lines = [form.format(*values, p=p) for p, values in rows.items()]
        self.write("ranks,images_per_second,speedup,efficiency", *lines)

    def write(self, *lines: str) -> None:
        (self.root / "scaling.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def change(self, p: int, what) -> None:
        found = records(self.log(p))
        what(found)
        rewrite(self.log(p), found)

    def judge(self, **more):
        self.copies.mkdir(exist_ok=True)
        homework = folder.collect(self.root, self.copies, SCALING_MNIST.files)
        logs, broken = {}, {}
        for p in homework.sizes:
            try:
                logs[p] = runlog.read(homework.files[f"run_{p}"], p)
            except runlog.RunLogError as error:
                broken[p] = str(error)
        return scaling.judge(homework, logs, self.read, broken=broken, **more)

    def read(self, path: Path) -> Figure:
        if isinstance(self.figure, Exception):
            raise self.figure
        return self.figure

    def lost(self, **more) -> dict[str, tuple[str, float | None]]:
        return {f.line.name: (f.diagnosis, f.earned) for f in self.judge(**more).findings if f.verdict != "passed"}

    def flags(self, **more) -> set[str]:
        return {flag.kind for flag in self.judge(**more).flags}


@pytest.fixture
def honest(tmp_path) -> Submission:
    return Submission(tmp_path)


@pytest.fixture
def two_cores(tmp_path) -> Submission:
    """2 cores: four and eight ranks take twice and four times as long for a step."""
    return Submission(
        tmp_path, make=lambda run: replace(run, step_seconds=0.02 * max(1, run.ranks / 2), noise=0.3, hardware=LAPTOP)
    )


# -- right ones --------------------------------------------------------------------------------------------------------


def test_an_honest_table_earns_everything_and_raises_no_flag(honest):
    found = honest.judge()
    assert found.score == found.max_score == 25 and not found.flags
    assert [row["ranks"] for row in found.facts["rows"]] == [1, 2, 4, 8]
    assert json.loads(json.dumps(found.to_json())) == found.to_json()


def test_poor_scaling_and_noise_are_right_answers(two_cores):
    """30 % on 2 cores with 8 ranks, measured on a machine that is busy with other things."""
    assert two_cores.rates[8] / two_cores.rates[1] / 8 < 0.35
    found = two_cores.judge()
    assert found.score == 25 and not found.flags


@pytest.mark.parametrize("seed", range(12))
def test_no_run_of_bad_luck_is_flagged(tmp_path, seed):
    """Efficiencies that rise by chance, within their error, on a machine with 30 % scatter from step to step."""
    submission = Submission(tmp_path, make=lambda run: replace(run, seed=seed, noise=0.3, all_reduce=0.0))
    found = submission.judge()
    assert not found.flags and found.score == 25


@pytest.mark.parametrize("skip", [0, 1, 2, 3])
@pytest.mark.parametrize("validation", [False, True])
def test_every_sensible_way_to_compute_throughput_is_right(honest, skip, validation):
    rates = {}
    for p in SIZES:
        epochs = runlog.read(honest.log(p)).epochs[skip:]
        seconds = sum(e.seconds + (e.validation_seconds if validation else 0) for e in epochs)
        rates[p] = sum(sum(e.samples_per_rank) for e in epochs) / seconds
    honest.write_table({p: (r, r / rates[1], r / rates[1] / p) for p, r in rates.items()})
    assert honest.lost() == {}


@pytest.mark.parametrize(
    "header, form",
    [
        ("ranks;images_per_second;speedup;efficiency", "{p};{0:.1f};{1:.2f};{2:.3f}"),
        ("ranks,images_per_second,speedup,efficiency", "{p},{0:.0f},{1:.2f},{3:.0f} %"),
        ("Number of GPUs\tThroughput [img/s]\tSpeed-up\tEfficiency (%)", "{p}\t{0:.0f}\t{1:.2f}\t{3:.1f}"),
        ("| p | images / s | speedup | efficiency |\n|---|:-:|---|---|", "| {p} | {0:,.1f} ± 20 | {1:.2f} | {2:.2f} |"),
        ("ranks,img_per_s,S,validation,epochs,speedup,eff", "{p},{0:.1f},7,0.9,4,{1:.3f},{2:.3f}"),
        ("efficiency,speedup,ranks,seconds per epoch,images/s", "{2:.3f},{1:.3f},{p},1.0,{0:.3e}"),
        ("# ranks images_per_second speedup efficiency", "{p} {0:.0f} {1:.2f} {2:.2f}"),
    ],
)
def test_tables_as_people_write_them(honest, header, form):
    rows = {p: (r, r / honest.rates[1], r / honest.rates[1] / p) for p, r in honest.rates.items()}
    honest.write(header, *(form.format(*row, 100 * row[2], p=p) for p, row in rows.items()))
    assert honest.lost() == {}


def test_decimal_commas(honest):
    rows = [
        f"{p};{r:.2f};{r / honest.rates[1]:.3f};{r / honest.rates[1] / p:.3f}".replace(".", ",")
        for p, r in honest.rates.items()
    ]
    honest.write("ranks;images_per_second;speedup;efficiency", *rows)
    assert honest.lost() == {}


def test_sixteen_ranks_count_where_they_are_handed_in(tmp_path):
    submission = Submission(tmp_path, sizes=(1, 2, 4, 8, 16))
    assert submission.lost() == {}
    rates = submission.rates | {16: 2 * submission.rates[16]}
    submission.write_table({p: (r, r / rates[1], r / rates[1] / p) for p, r in rates.items()})
    assert submission.lost()["throughput"] == ("not_from_the_logs", 4.0)


# -- wrong ones --------------------------------------------------------------------------------------------------------


def columns(submission: Submission, rate=None, gain=None, share=None) -> None:
    """Write the table with some columns computed otherwise; each takes (p, right value)."""
    rows = {}
    for p, r in submission.rates.items():
        s = r / submission.rates[1]
        said = (r, s, s / p)
        rows[p] = tuple(
            change(p, value) if change else value for change, value in zip((rate, gain, share), said, strict=True)
        )
    submission.write_table(rows)


@pytest.mark.parametrize(
    "changes, line, diagnosis",
    [
        ({"rate": lambda p, r: r / p}, "throughput", "rate_of_one_rank"),
        ({"rate": lambda p, r: r * p}, "throughput", "multiplied_twice"),
        ({"rate": lambda p, r: 6400 // (64 * p) * 64 * p / r}, "throughput", "seconds_not_rate"),
        ({"rate": lambda p, r: r / 64 / p}, "throughput", "steps_not_images"),
        ({"rate": lambda p, r: 1.4 * r}, "throughput", "not_from_the_logs"),
        ({"gain": lambda p, s: 1 / s}, "speedup", "inverse_speedup"),
        ({"gain": lambda p, s: s / p}, "speedup", "divided_by_ranks"),
        ({"gain": lambda p, s: s * p}, "speedup", "multiplied_by_ranks"),
        ({"gain": lambda p, s: p}, "speedup", "perfect_scaling_assumed"),
        ({"share": lambda p, e: e * p}, "efficiency", "not_divided"),
        ({"share": lambda p, e: 1 / e}, "efficiency", "inverse_efficiency"),
        ({"share": lambda p, e: 1}, "efficiency", "perfect_scaling_assumed"),
        ({"share": lambda p, e: 1 - e}, "efficiency", "complement"),
        ({"gain": lambda p, s: math.log2(s)}, "speedup", "logarithm"),
        ({"gain": lambda p, s: math.log(s)}, "speedup", "logarithm"),
        ({"gain": lambda p, s: math.log10(s)}, "speedup", "logarithm"),
        ({"rate": lambda p, r: math.log10(r)}, "throughput", "logarithm"),
    ],
)
def test_mistakes_are_named(two_cores, changes, line, diagnosis):
    columns(two_cores, **changes)
    found = two_cores.judge()
    lost = {f.line.name: f for f in found.findings if f.verdict != "passed"}
    assert set(lost) == {line} and lost[line].diagnosis == diagnosis
    assert "the run logs give" in lost[line].sentence and lost[line].teach


def test_efficiency_that_follows_from_a_wrong_speedup_is_not_punished_again(two_cores):
    columns(two_cores, gain=lambda p, s: s * p, share=lambda p, e: e * p)
    assert set(two_cores.lost()) == {"speedup"}


def test_a_fabricated_table_earns_nothing_for_its_consistency(two_cores):
    rate = two_cores.rates[1]
    two_cores.write_table({p: (p * rate, p, 1) for p in SIZES})
    two_cores.figure = figure_of(("speedup", "measured", {p: p for p in SIZES}))
    two_cores.change(2, times(1.6))
    assert two_cores.lost() == {
        "throughput": ("not_from_the_logs", 1.25),
        "speedup": ("perfect_scaling_assumed", 0.0),
        "efficiency": ("perfect_scaling_assumed", 0.0),
        "figure": ("only_perfect", 0.0),
    }


def test_one_wrong_number_costs_its_share(honest):
    columns(honest, rate=lambda p, r: 2 * r if p == 8 else r)
    assert honest.lost() == {"throughput": ("not_from_the_logs", 3.75)}


def test_a_percent_sign_beside_fractions(honest):
    rows = {p: (r, r / honest.rates[1], r / honest.rates[1] / p) for p, r in honest.rates.items()}
    honest.write_table(rows, "{p},{0:.2f},{1:.4f},{2:.4f} %")
    assert honest.lost() == {"efficiency": ("percent_beside_fractions", 4.0)}


def test_a_missing_line_and_a_missing_column(honest):
    columns(honest)
    lines = (honest.root / "scaling.csv").read_text().splitlines()
    honest.write(*lines[:-1])
    assert {name: kind for name, (kind, _) in honest.lost().items()} == dict.fromkeys(
        ("throughput", "speedup", "efficiency"), "missing_value"
    )
    honest.write(*(",".join(line.split(",")[:3]) for line in lines))
    assert honest.lost() == {"efficiency": ("missing_value", 0.0)}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\x03\x04\0\0",
        b"hello\n",
        b"1,1000,5,1,0,1,0\n",
        b"a,b\n" * 1000,
        b"speedup\n",
        b"\xff\xfe\x00",
        b'"' * 9,
    ],
)
def test_what_is_no_table_is_said_in_a_sentence(honest, content):
    (honest.root / "scaling.csv").write_bytes(content)
    assert {honest.lost()[name] for name in ("throughput", "speedup", "efficiency")} == {("unreadable_table", 0.0)}


# -- the runs ----------------------------------------------------------------------------------------------------------


def test_missing_cut_off_and_unreadable_logs(honest):
    honest.log(2).unlink()
    lines = honest.log(4).read_bytes().splitlines(keepends=True)
    honest.log(4).write_bytes(b"".join(lines[:3]) + lines[3][:100])
    honest.log(8).write_bytes(b"\x00\x01")
    found = honest.judge()
    runs = found.findings[0]
    assert runs.earned == 1.25
    assert (
        "There is no run log for 2 ranks" in runs.sentence
        and "no last line" in runs.sentence
        and "could not be read" in runs.sentence
    )
    assert found.findings[1].diagnosis == "missing_run", "numbers without a run earn nothing"
    assert found.findings[1].earned == 2.5


def test_a_log_of_another_number_of_ranks(honest):
    honest.log(4).write_bytes(honest.log(2).read_bytes())
    found = honest.judge()
    assert found.findings[0].diagnosis == "wrong_world_size" and found.findings[0].earned == 3.75
    assert found.findings[1].diagnosis == "missing_run"


@pytest.mark.parametrize(
    "make, diagnosis",
    [
        (lambda run: replace(run, batch_size=128) if run.ranks == 4 else run, "batch_sizes_differ"),
        (lambda run: replace(run, images=6400 * run.ranks), "every_rank_all_data"),
        (lambda run: replace(run, images=3000) if run.ranks == 2 else run, "different_data"),
        (lambda run: replace(run, epochs=1) if run.ranks == 8 else run, "too_few_epochs"),
    ],
)
def test_runs_of_other_work(tmp_path, make, diagnosis):
    found = Submission(tmp_path, make=make).judge().findings[0]
    assert found.diagnosis == diagnosis and 0 < found.earned < 5 and found.teach


def test_a_batch_size_that_is_not_the_logs(honest):
    def twice(found):
        for record in found[1:-1]:
            record["samples_per_rank"] = [2 * n for n in record["samples_per_rank"]]

    honest.change(1, twice)
    assert honest.lost()["runs"][0] == "batch_size_not_as_said"


@pytest.mark.parametrize("images", [6400, 6500, 6333])
def test_dropping_or_padding_a_remainder_is_the_same_work(tmp_path, images):
    assert Submission(tmp_path, make=lambda run: replace(run, images=images)).judge().findings[0].verdict == "passed"


def test_old_tables_of_metrics_wait_for_a_person(honest):
    for p in SIZES:
        run = runlog.read(honest.log(p))
        rows = [f"{e.number} {e.loss} {e.accuracy} {e.val_loss} {e.val_accuracy}" for e in run.epochs]
        (honest.root / f"metrics_{p}.dat").write_text("\n".join(rows) + "\n")
        honest.log(p).unlink()
    found = honest.judge()
    assert {finding.diagnosis for finding in found.findings} == {"no_times"} and all(
        f.earned is None for f in found.findings
    )


def test_nothing_at_all(tmp_path):
    submission = Submission(tmp_path)
    for path in submission.root.iterdir():
        path.unlink()
    found = submission.judge()
    assert found.score == 0 and not found.needs_person and {f.diagnosis for f in found.findings} == {"missing_file"}


# -- the figure --------------------------------------------------------------------------------------------------------


def test_every_quantity_may_be_drawn(two_cores):
    rates = two_cores.rates
    gains = {p: r / rates[1] for p, r in rates.items()}
    right = [
        figure_of(("images/s", "", rates)),
        figure_of(("speedup", "run", gains), ("speedup", "ideal", {p: p for p in SIZES})),
        figure_of(("Efficiency", "", {p: s / p for p, s in gains.items()})),
        figure_of(("Efficiency [%]", "", {p: 100 * s / p for p, s in gains.items()})),
        figure_of(("Efficiency", "", {p: 100 * s / p for p, s in gains.items()}), percent=True),
        figure_of(("time per epoch (s)", "", {p: 6400 / r for p, r in rates.items()})),
        figure_of(("", "", gains)),
    ]
    for figure in right:
        two_cores.figure = figure
        assert two_cores.lost() == {}, figure.panels[0].y.label


def test_what_a_figure_can_get_wrong(two_cores):
    gains = {p: r / two_cores.rates[1] for p, r in two_cores.rates.items()}
    wrong = {
        ("figure_of_other_runs", 0.0): figure_of(("speedup", "", {p: p**0.7 for p in SIZES})),
        ("figure_of_other_runs", 2.5): figure_of(
            ("speedup", "", gains), ("efficiency", "", {p: 0.95**p for p in SIZES})
        ),
        ("only_perfect", 0.0): figure_of(("speedup", "perfect", {p: p for p in SIZES})),
        ("missing_sizes", 3.75): figure_of(("speedup", "", {p: gains[p] for p in (1, 2, 4)})),
        ("wrong_quantity", 0.0): figure_of(("accuracy", "", {1: 0.8, 2: 0.9, 3: 0.95}), x="epoch"),
        ("no_curve", None): figure_of(),
        ("unknown_quantity", None): figure_of(("cost", "", {p: 7.0 * p**2 for p in SIZES})),
        ("image", None): Figure("scaling.pdf").needs_person("image", "The plot is a picture."),
    }
    for said, figure in wrong.items():
        two_cores.figure = figure
        assert two_cores.lost() == {"figure": said}


def test_a_curve_that_comes_back_with_other_values_is_for_a_person(two_cores):
    figure = figure_of(("speedup", "", {p: r / two_cores.rates[1] for p, r in two_cores.rates.items()}))
    (curve,) = figure.panels[0].curves
    curve.x, curve.y = np.r_[curve.x, curve.x[::-1]], np.r_[curve.y, curve.x[::-1]]
    curve.cut, curve.visible = np.zeros(len(curve.x), bool), np.ones(len(curve.x), bool)
    two_cores.figure = figure
    assert two_cores.lost() == {"figure": ("several_values", None)}


def test_points_outside_of_the_logs_are_no_figure_of_these_runs(two_cores):
    logs = {p: runlog.read(two_cores.log(p), p) for p in SIZES}
    gains = {p: r / two_cores.rates[1] for p, r in two_cores.rates.items()}
    shown = {
        True: [figure_of(("speedup", "", gains)), figure_of(("speedup", "", {p: 1 / g for p, g in gains.items()}))],
        False: [figure_of(("speedup", "", {p: p**0.8 for p in SIZES}))],
        None: [figure_of(("cost", "", {p: 7.0 * p**2 for p in SIZES}))],
    }
    for whose, figures in shown.items():
        for figure in figures:
            assert scaling_figure.shows_runs(figure, logs) is whose


def test_a_point_outside_of_the_limits_is_not_drawn(two_cores):
    figure = figure_of(("speedup", "", {p: r / two_cores.rates[1] for p, r in two_cores.rates.items()}))
    (curve,) = figure.panels[0].curves
    curve.cut, curve.visible = np.zeros(len(curve.x), bool), np.abs(curve.x - 8) > 0.1
    two_cores.figure = figure
    assert two_cores.lost() == {"figure": ("missing_sizes", 3.75)}


@pytest.fixture
def noisy(tmp_path) -> Submission:
    """Runs that tell so little that their 95 % interval holds nearly everything."""
    return Submission(
        tmp_path, make=lambda run: replace(run, step_seconds=0.02 * max(1, run.ranks / 2), noise=0.9, hardware=LAPTOP)
    )


def test_numbers_that_noisy_logs_cannot_tell_from_a_guess_are_for_a_person(noisy):
    assert noisy.lost() == {}, "what was computed from these logs is right, however noisy they are"
    factors = {1: 0.93, 2: 1.11, 4: 0.88, 8: 1.14}
    columns(noisy, *(lambda p, value, of=of: value * factors[p] / of for of in (1, 0.93, 0.93)))
    gains = {p: r * factors[p] / noisy.rates[1] / 0.93 for p, r in noisy.rates.items()}
    noisy.figure = figure_of(("speedup", "measured", gains))
    found = noisy.judge()
    waiting = {one.line.name: one for one in found.findings if one.verdict != "passed"}
    assert set(waiting) == {"throughput", "speedup", "efficiency", "figure"}
    for one in waiting.values():
        assert one.verdict == "needs_person" and one.diagnosis == "interval_too_wide"
        assert "Run again" in one.sentence and " to " in one.sentence
    assert found.score == 5, "the runs alone"


def test_a_perfect_table_beside_noisy_logs_is_named(noisy):
    columns(noisy, gain=lambda p, s: p, share=lambda p, e: 1)
    assert {name: said[0] for name, said in noisy.lost().items()} == dict.fromkeys(
        ("speedup", "efficiency"), "perfect_scaling_assumed"
    )


def test_figures_as_people_label_them(two_cores):
    rates, gains = two_cores.rates, {p: r / two_cores.rates[1] for p, r in two_cores.rates.items()}
    for figure in (
        figure_of(("training speed [images/s]", "measured", rates)),
        figure_of(("speed", "measured", rates)),
        figure_of(
            ("speedup", "optimised port", gains), ("speedup", "Amdahl's law", {p: 1 / (0.2 + 0.8 / p) for p in SIZES})
        ),
        figure_of(("log2(speedup)", "measured", {p: math.log2(s) for p, s in gains.items()})),
    ):
        two_cores.figure = figure
        assert two_cores.lost() == {}, figure.panels[0].y.label
    two_cores.figure = figure_of(("speedup", "measured", {p: math.log(s) for p, s in gains.items()}))
    assert two_cores.lost() == {"figure": ("logarithm", 0.0)}
    two_cores.figure = figure_of(("speedup", "ideal", {p: p for p in SIZES}))
    two_cores.figure.panels[0].shapes = 4
    assert two_cores.lost() == {"figure": ("shapes_unread", None)}


def test_a_reader_that_fails_costs_nobody_anything(honest):
    honest.figure = RuntimeError("no such thing")
    assert honest.lost() == {"figure": ("unreadable_figure", None)}


# -- flags -------------------------------------------------------------------------------------------------------------


def epochs(found: list[dict]) -> list[dict]:
    return [record for record in found if record["kind"] == "epoch"]


def times(factor: float):
    """Multiply all times of a log, consistently."""

    def change(found: list[dict]) -> None:
        for record in epochs(found):
            record["step_seconds"] = [round(t * factor, 7) for t in record["step_seconds"]]
            for name in ("validation_seconds", "ended"):
                record[name] = round(record[name] * factor, 7)
            record["seconds"] = round(sum(record["step_seconds"]), 7)
        found[-1]["seconds"] *= factor

    return change


def test_more_speedup_than_ranks(honest):
    honest.change(4, times(0.5))
    found = honest.judge()
    assert {flag.kind for flag in found.flags} == {"negative_karp_flatt", "rising_efficiency"}
    assert "Karp and Flatt" in found.flags[0].sentence


def test_more_speedup_than_cores(two_cores):
    two_cores.change(8, times(0.25))
    assert "faster_than_the_cores" not in two_cores.flags(), "its log says that it ran on a GPU"
    two_cores.change(8, lambda found: found[0]["arguments"].update(device="cpu"))
    assert "faster_than_the_cores" in two_cores.flags()


def test_cores_that_each_rank_is_bound_to_say_nothing_about_the_machine(tmp_path):
    bound = {**LAPTOP, "cores": 1, "machine_cores": 64}
    assert not Submission(tmp_path, make=lambda run: replace(run, hardware=bound)).flags()


def test_edited_and_impossible_times(honest):
    found = records(honest.log(2))
    epochs(found)[1]["seconds"] /= 2
    rewrite(honest.log(2), found, digests=False)
    assert honest.flags() == {"altered_log", "times_do_not_add_up"}


def test_an_epoch_that_ends_before_its_steps(honest):
    honest.change(2, lambda found: epochs(found)[2].update(ended=epochs(found)[1]["ended"]))
    assert honest.flags() == {"times_do_not_add_up"}


def test_times_without_scatter(honest):
    def smooth(found):
        for record in epochs(found):
            record["step_seconds"] = [0.02] * len(record["step_seconds"])
            record["seconds"] = round(sum(record["step_seconds"]), 7)

    honest.change(2, smooth)
    assert "too_regular" in honest.flags()


def test_a_long_run_on_a_steady_machine_is_not_too_regular(honest):
    """Steps of 5 ms with 5 us of scatter, rounded to 0.1 us: many are equal by chance."""
    chance = np.random.default_rng(0)

    def steady(found):
        for record in epochs(found):
            n = 2000
            record["step_seconds"] = [round(0.005 + t, 7) for t in chance.normal(0, 5e-6, n).tolist()]
            record["seconds"] = round(sum(record["step_seconds"]), 7)
            record["samples_per_rank"], record["learning_rates"] = [64 * n] * 2, []

    honest.change(2, steady)
    assert "too_regular" not in honest.flags()


def test_a_run_that_is_another_one_multiplied(honest):
    def copied(found):
        source = epochs(records(honest.log(2)))
        for record, other in zip(epochs(found), source, strict=True):
            n = len(record["step_seconds"])
            record["step_seconds"] = [round(0.9 * t, 7) for t in other["step_seconds"][:n]]
            record["seconds"] = round(sum(record["step_seconds"]), 7)

    honest.change(4, copied)
    assert "copied_times" in honest.flags()


def test_one_run_handed_in_twice(honest):
    found = records(honest.log(4))
    found[0].update(world_size=8, hosts=found[0]["hosts"] * 2)
    rewrite(honest.log(8), found)
    assert "identical_runs" in honest.flags()


def test_codes_of_students(tmp_path):
    submission = Submission(tmp_path, make=lambda run: replace(run, nonce="mine"))
    assert submission.flags(nonce="mine") == set() == submission.flags()
    assert submission.flags(nonce="another") == {"another_nonce"}
    submission.change(2, lambda found: found[0].update(nonce=""))
    assert submission.flags(nonce="mine") == {"no_nonce"} and submission.flags() == set()
    submission.change(2, lambda found: found[0].update(nonce="x" * 1000))
    found = submission.judge()
    assert [flag.kind for flag in found.flags] == ["mixed_nonces"]


def test_logs_of_another_script_and_of_another_machine(honest):
    (honest.root / SCRIPT).write_text("print('changed since')\n")
    honest.change(8, lambda found: found[0]["hardware"].update(gpus=["NVIDIA H100"]))
    found = honest.judge()
    assert {flag.kind for flag in found.flags} == {"another_script", "different_hardware"} and found.score == 25


def test_runs_of_two_students_that_are_one(tmp_path):
    reports = {}
    for k, name in enumerate(("ada", "ben", "cem")):
        (tmp_path / name).mkdir()
        reports[name] = Report(
            [Submission(tmp_path / name, make=lambda run, k=k: replace(run, seed=min(k, 1))).judge()]
        )
    found = shared_runs(reports)
    assert set(found) == {"ben", "cem"} and len(found["ben"]) == 4
    assert found["ben"][0].kind == "another_students_times" and "cem" in found["ben"][0].sentence


def test_a_run_is_known_again_by_times_that_were_changed_a_little():
    """And by those of some of its steps; not by times that a coarse clock makes equal."""
    rng = np.random.default_rng(3)
    mine, yours = rng.gamma(2.0, 0.01, (2, 80))
    coarse = np.full(80, 0.5)

    def who_shares(**times):
        parts = {name: Report([PartResult("p", [], [], {FACT: {"run": trace(of)}})]) for name, of in times.items()}
        return set(shared_runs(parts))

    assert not who_shares(ada=mine, ben=yours)
    assert who_shares(ada=mine, ben=1.3 * mine + rng.uniform(0, 1e-4, 80)) == {"ada", "ben"}
    assert who_shares(ada=mine, ben=mine[:30], cem=yours) == {"ada", "ben"}
    assert not who_shares(ada=coarse, ben=2 * coarse) and not who_shares(ada=mine[:14], ben=2 * mine[:14])
    assert who_shares(ada=mine[:14], ben=mine[:14]) == {"ada", "ben"}
    assert not who_shares(ada=mine[:5], ben=mine[:5]) and not who_shares(ada=[math.nan] * 80, ben=[math.nan] * 80)


# -- the pieces --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, readings, percent",
    [
        ("1234", [1234], False),
        ("1,234", [1.234, 1234], False),
        ("1.234,5", [1234.5], False),
        ("1 234,5 images/s", [1234.5], False),
        ("1'234", [1234], False),
        ("12,345,678", [12345678], False),
        ("61 %", [61], True),
        ("3.5e3 ± 2", [3500], False),
        (".5", [0.5], False),
        ("0.123", [0.123], False),
    ],
)
def test_numbers_as_people_write_them(text, readings, percent):
    number = table.number(text)
    assert list(number.readings) == readings and number.percent is percent


@pytest.mark.parametrize("text", ["", "abc", "%", "1e999", "nan", "inf", "-", ",", "²"])
def test_what_is_no_number(text):
    assert table.number(text) is None


def test_speed_of_a_log_without_scatter_is_what_it_says(tmp_path):
    Run(2, epochs=3, noise=0.0).write(tmp_path / "run_2.jsonl", Path(__file__))
    found = speed(runlog.read(tmp_path / "run_2.jsonl"))
    assert found.usual.value == pytest.approx(128 / 0.0215, rel=1e-5)
    assert found.range.holds(128 / 0.0215) and not found.range.holds(1.1 * 128 / 0.0215)
    assert speedup(found, found) == Range(1, 1, found.half * 2**0.5)


def test_times_that_no_clock_gives_are_not_divided_by(tmp_path):
    Run(1, epochs=2).write(tmp_path / "run_1.jsonl", Path(__file__))
    run = runlog.read(tmp_path / "run_1.jsonl")
    for odd in (0.0, -1.0, 1e-300, 1e300, np.nan):
        run.epochs[0].step_seconds = np.full(3, odd)
        run.epochs[1].step_seconds = np.full(3, odd)
        assert speed(run) is None


def test_the_hash_is_of_the_script_that_was_handed_in(honest):
    first = records(honest.log(1))[0]
    assert first["source_sha256"] == hashlib.sha256((honest.root / SCRIPT).read_bytes()).hexdigest()


# -- once more, on this machine ----------------------------------------------------------------------------------------


def here(run: Run) -> Run:
    return replace(
        run, hardware={**runlog.hardware(), "gpus": [], "machine_cores": max(2, runlog.hardware()["machine_cores"])}
    )


class Again:
    """Stands for runs on this machine. gain: the speedup on 2 ranks."""

    def __init__(self, folder: Path, gain: float):
        self.folder, self.gain, self.asked = folder, gain, []

    def __call__(self, ranks: int, batch_size: int) -> runlog.RunLog:
        self.asked.append((ranks, batch_size))
        path, script = self.folder / f"again_{ranks}.jsonl", self.folder / "in" / SCRIPT
        seconds = 0.02 if ranks == 1 else 0.02 * ranks / self.gain
        Run(ranks, epochs=2, images=3840, step_seconds=seconds, all_reduce=0).write(path, script)
        return runlog.read(path)


@pytest.fixture
def alike(tmp_path, monkeypatch) -> Submission:
    """Logs that name this machine as theirs, and a machine with two cores or more."""
    hardware = here(Run(1)).hardware
    monkeypatch.setattr(runlog, "hardware", lambda: hardware)
    submission = Submission(tmp_path, make=here)
    for p in SIZES:
        submission.change(p, lambda found: found[0]["arguments"].update(device="cpu"))
    return submission


def compared(submission: Submission, gain: float, free: float = 8.0):
    homework = folder.collect(submission.root, submission.copies, SCALING_MNIST.files)
    logs = {p: runlog.read(homework.files[f"run_{p}"], p) for p in SIZES}
    again = Again(submission.root.parent, gain)
    return *rerun.compare(logs, {p: speed(run) for p, run in logs.items()}, again, lambda: free), again.asked


@pytest.mark.parametrize("gain, kinds", [(1.86, []), (1.5, []), (2.4, []), (1.0, ["rerun_differs"])])
def test_a_speedup_is_compared_within_a_factor(alike, gain, kinds):
    alike.copies.mkdir()
    facts, flags, asked = compared(alike, gain)
    assert [flag.kind for flag in flags] == kinds and asked == [(1, 64), (2, 64)]
    assert facts["done"] and facts["found"][0] <= gain * 1.02 and facts["found"][1] >= gain * 0.98


def test_a_busy_machine_says_nothing(alike):
    alike.copies.mkdir()
    facts, flags, asked = compared(alike, 1.0, free=1.2)
    assert not asked and not flags and "busy" in facts["why"]


def test_other_hardware_is_said_and_not_punished(honest):
    honest.copies.mkdir()
    facts, flags, asked = compared(honest, 1.0)
    assert not asked and not flags and "GPU" in facts["why"]


def test_a_script_that_fails_when_run_again_costs_nothing(alike):
    def fails(ranks, batch_size):
        raise RuntimeError("rank 0 raised")

    found = alike.judge(again=fails)
    assert found.score == 25 and not found.facts["rerun"]["done"]
    assert "rerun_differs" not in {flag.kind for flag in found.flags}


def test_idle_cores_are_counted():
    assert 0 <= rerun.idle_cores(0.05) <= runlog.hardware()["machine_cores"]


def test_the_reference_is_timed_for_real(warm_horovod, monkeypatch):
    """Two epochs of a few steps, unwatched, on 1 and 2 ranks: the logs come back."""
    reference = Path(scaling.__file__).parents[3] / "solutions/scaling_mnist/tensorflow2_mnist_hvd.py"
    monkeypatch.setattr(rerun, "STEPS", 6)
    again = rerun.timer(reference, warm_horovod)
    for ranks in (1, 2):
        run = again(ranks, 16)
        assert run.world_size == ranks and run.complete and speed(run) is not None
        assert [len(epoch.step_seconds) for epoch in run.epochs] == [6 // ranks] * 2
