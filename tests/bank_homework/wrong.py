"""Wrong folders: each with one mistake, and what must be said of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg

from bank_homework import figures, right, runs
from bank_homework.figures import STYLES, Curves, Table
from bank_homework.folders import PERSON, SCRIPT, SIZES, add, changed, draw, log_name, ported, script_text, table
from bank_homework.runs import Run

OTHER = 4  # the number of ranks whose file is wrong, where one of them is


def curves(place: Path, ranks: int) -> Curves:
    return runs.curves(place / log_name(ranks), ranks)


def redrawn(
    change: Callable[[Curves], Curves], draw=figures.plain, settings: dict | None = None
) -> Callable[[Path], None]:
    """The base, with accuracy_4.pdf drawn from something else, or differently."""

    def fill(place: Path) -> None:
        style = figures.Style(draw, figures.scaling_plain, settings or {})
        style.draw(change(curves(place, OTHER)), place / f"accuracy_{OTHER}.pdf")

    return changed(fill)


def same(c: Curves) -> Curves:
    return c


def replaced(name: str, content: bytes | Callable[[Path], bytes] | None) -> Callable[[Path], None]:
    """The base, with one file of another content, or without it."""

    def fill(place: Path) -> None:
        if content is None:
            (place / name).unlink()
        else:
            (place / name).write_bytes(content(place / name) if callable(content) else content)

    return changed(fill)


def edited(ranks: int, change: Callable[[list[dict]], None], digests: bool = True) -> Callable[[Path], None]:
    """The base, with one log changed; its figures and its table are those of the log before."""

    def fill(place: Path) -> None:
        found = runs.records(place / log_name(ranks))
        change(found)
        runs.rewrite(place / log_name(ranks), found, digests)

    return changed(fill)


def epochs_of(records: list[dict]) -> list[dict]:
    return [record for record in records if record["kind"] == "epoch"]


# -- figures -----------------------------------------------------------------------------------------------------------

CURVES, VALUES, LABELS = (f"accuracy_{OTHER}_{what}" for what in ("curves", "values", "labels"))


def swapped(c: Curves) -> Curves:
    return replace(c, training=c.validation, validation=c.training)


def loss(c: Curves) -> Curves:
    return replace(c, training=c.training_loss, validation=c.validation_loss)


def short(c: Curves) -> Curves:
    return Curves(
        c.ranks, *(values[:5] for values in (c.epochs, c.training, c.validation, c.training_loss, c.validation_loss))
    )


def prettier(c: Curves) -> Curves:
    return replace(c, validation=c.validation + np.linspace(0, 0.02, len(c.epochs)))


def percent_unsaid(c: Curves) -> Curves:
    return replace(c, training=100 * c.training, validation=100 * c.validation)


def training_only(c: Curves):
    figure, ax = plt.subplots()
    ax.plot(c.epochs, c.training, label="training accuracy")
    ax.set(xlabel="epoch", ylabel="accuracy", title=figures.titled(c.ranks))
    ax.legend()
    return figure


def unlabelled(c: Curves):
    figure, ax = plt.subplots()
    ax.plot(c.epochs, c.training)
    ax.plot(c.epochs, c.validation)
    return figure


def no_legend(c: Curves):
    figure = figures.plain(c)
    figure.axes[0].get_legend().remove()
    return figure


def no_axis_labels(c: Curves):
    figure = figures.plain(c)
    figure.axes[0].set(xlabel="", ylabel="")
    return figure


def axes_swapped(c: Curves):
    figure, ax = plt.subplots()
    ax.plot(c.training, c.epochs, label="training accuracy")
    ax.plot(c.validation, c.epochs, label="validation accuracy")
    ax.set(xlabel="accuracy", ylabel="epoch", title=figures.titled(c.ranks))
    ax.legend()
    return figure


def rasterised(c: Curves):
    figure = figures.plain(c)
    for curve in figure.axes[0].lines:
        curve.set_rasterized(True)
    return figure


def as_picture(c: Curves):
    """A screenshot put into a PDF."""
    drawn = figures.plain(c)
    canvas = FigureCanvasAgg(drawn)  # whatever backend other tests have chosen
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())
    plt.close(drawn)
    figure = plt.figure()
    figure.figimage(pixels)
    return figure


def another_run(place: Path) -> None:
    """The figure for 4 ranks is the one for 2, saved under the other name."""
    shutil.copyfile(place / "accuracy_2.pdf", place / f"accuracy_{OTHER}.pdf")


def svg(place: Path) -> bytes:
    return b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><path d="M0 0L9 9"/></svg>\n'


def encrypted(path: Path) -> bytes:
    import io

    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter(clone_from=PdfReader(path))
    writer.encrypt("secret", algorithm="RC4-128")
    written = io.BytesIO()
    writer.write(written)
    return written.getvalue()


def many_pages(path: Path) -> bytes:
    import io

    from pypdf import PdfReader, PdfWriter

    page, writer = PdfReader(path).pages[0], PdfWriter()
    for _ in range(500):
        writer.add_page(page)
    written = io.BytesIO()
    writer.write(written)
    return written.getvalue()


NAME = f"accuracy_{OTHER}.pdf"
UNREADABLE = {CURVES: PERSON, VALUES: PERSON, LABELS: PERSON}
GONE = dict.fromkeys((CURVES, VALUES, LABELS), "missing_file")
add(
    "wrong_swapped_curves", "training and validation are swapped", redrawn(swapped), expected={VALUES: "swapped_curves"}
)
add(
    "wrong_another_run",
    "accuracy_4.pdf shows the run on 2 ranks",
    changed(another_run),
    expected={VALUES: "another_run"},
)
add("wrong_loss", "the loss, under the name of accuracy", redrawn(loss), expected={VALUES: "loss_as_accuracy"})
add("wrong_short_curves", "the last three epochs are not shown", redrawn(short), expected={CURVES: "epochs_missing"})
add(
    "wrong_prettier",
    "validation accuracies nicer than they were",
    redrawn(prettier),
    expected={VALUES: "values_differ"},
)
add(
    "wrong_percent_unsaid",
    "95 without a word of percent",
    redrawn(percent_unsaid),
    expected={LABELS: "percent_not_said"},
)
add("wrong_training_only", "no validation curve", redrawn(same, training_only), expected={CURVES: "validation_missing"})
add("wrong_unlabelled", "no labels, no legend", redrawn(same, unlabelled), expected={LABELS: "axes_not_labelled"})
add("wrong_no_legend", "which curve is which is not said", redrawn(same, no_legend), expected={LABELS: "no_legend"})
add(
    "wrong_no_axis_labels",
    "what the axes show is not said",
    redrawn(same, no_axis_labels),
    expected={LABELS: "axes_not_labelled"},
)
add("wrong_axes_swapped", "epochs over accuracy", redrawn(same, axes_swapped), expected={CURVES: "axes_swapped"})
add("wrong_rasterised", "the curves are pixels", redrawn(same, rasterised), expected=UNREADABLE)
add("wrong_picture", "a screenshot in a PDF", redrawn(same, as_picture), expected=UNREADABLE)
add("wrong_missing_figure", "accuracy_4.pdf was not handed in", replaced(NAME, None), expected=GONE)
add("wrong_empty_pdf", "accuracy_4.pdf holds nothing", replaced(NAME, b""), expected=UNREADABLE)
add("wrong_encrypted_pdf", "accuracy_4.pdf asks for a password", replaced(NAME, encrypted), expected=UNREADABLE)
add("wrong_500_pages", "accuracy_4.pdf has 500 pages", replaced(NAME, many_pages), expected=UNREADABLE)
add("wrong_svg", "an SVG renamed to .pdf", replaced(NAME, svg), expected=UNREADABLE)
add("wrong_torn_pdf", "half of a PDF", replaced(NAME, lambda path: path.read_bytes()[:4000]), expected=UNREADABLE)


# -- logs and the scaling test -----------------------------------------------------------------------------------------


def nicer_log(records: list[dict]) -> None:
    for record in epochs_of(records):
        record["val_accuracy"] = round(min(0.999, record["val_accuracy"] + 0.02), 6)


def faster_log(records: list[dict]) -> None:
    """Epochs are said to have been faster than their steps."""
    for record in epochs_of(records):
        record["seconds"] = round(record["seconds"] / 1.6, 7)


def truncated(path: Path) -> bytes:
    """Cut off within the line of the sixth epoch."""
    lines = path.read_bytes().splitlines(keepends=True)
    return b"".join(lines[:6]) + lines[6][:200]


def fabricated(place: Path) -> None:
    """A table and a figure of perfect scaling beside honest logs."""
    found = table(place)
    ideal = Table(found.ranks, found.rates[0] * np.array(found.ranks), found.errors)
    runs.write_table(place / "scaling.csv", ideal)
    STYLES["plain"].draw(ideal, place / "scaling.pdf")


def table_only(place: Path) -> None:
    found = table(place)
    runs.write_table(place / "scaling.csv", replace(found, rates=found.rates * np.array([1, 1, 1, 1.25])))


def invented_figures(place: Path) -> None:
    """Figures of runs that never were, with all labels."""
    found = table(place)
    STYLES["plain"].draw(replace(found, rates=found.rates * np.array([1, 0.7, 1.4, 1.3])), place / "scaling.pdf")
    for ranks in SIZES:
        c = curves(place, ranks)
        learned = 0.9 - 0.5 * np.exp(-c.epochs / 2)
        invented = replace(c, training=learned, validation=learned - 0.03)
        STYLES["plain"].draw(invented, place / f"accuracy_{ranks}.pdf")


def invented_without_logs(place: Path) -> None:
    invented_figures(place)
    for ranks in SIZES:
        (place / log_name(ranks)).unlink()


def other_speedups(place: Path, compute: Callable[[Table], np.ndarray], drawn: bool = False) -> None:
    """Another column of speedups; drawn: in scaling.pdf, too."""
    found = table(place)
    gains = compute(found)
    rows = ["ranks,images_per_second,speedup,efficiency"]
    rows += [
        f"{p},{r:.2f},{s:.4f},{e:.4f}"
        for p, r, s, e in zip(found.ranks, found.rates, gains, found.efficiencies, strict=True)
    ]
    (place / "scaling.csv").write_text("\n".join(rows) + "\n")
    if drawn:
        figure, ax = plt.subplots()
        ax.plot(found.ranks, gains, "o-", label="measured")
        ax.set(xlabel="ranks", ylabel="speedup", title="Scaling")
        ax.legend()
        figure.savefig(place / "scaling.pdf")
        plt.close(figure)


def made_up(place: Path) -> None:
    right.noisy(place)
    found = table(place)
    invented = replace(found, rates=found.rates * np.array([0.93, 1.11, 0.88, 1.14]))
    runs.write_table(place / "scaling.csv", invented)
    STYLES["plain"].draw(invented, place / "scaling.pdf")


def images_of_one_rank(place: Path) -> None:
    """Images per second of one rank, so that nothing seems to get faster."""
    found = table(place)
    rates = found.rates / np.array(found.ranks)
    rows = ["ranks,images_per_second,speedup,efficiency"]
    rows += [
        f"{p},{r:.2f},{s:.4f},{e:.4f}"
        for p, r, s, e in zip(found.ranks, rates, found.speedups, found.efficiencies, strict=True)
    ]
    (place / "scaling.csv").write_text("\n".join(rows) + "\n")


def inverse_efficiency(place: Path) -> None:
    found = table(place)
    rows = ["ranks,images_per_second,speedup,efficiency"]
    rows += [
        f"{p},{r:.2f},{s:.4f},{p / s:.4f}" for p, r, s in zip(found.ranks, found.rates, found.speedups, strict=True)
    ]
    (place / "scaling.csv").write_text("\n".join(rows) + "\n")


def regenerated(change: Callable[[Run], Run], style: str = "plain") -> Callable[[Path], None]:
    """A folder from runs that were made otherwise; figures and table are those of the logs."""

    def fill(place: Path) -> None:
        (place / SCRIPT).write_text(script_text("loop.py"), encoding="utf-8")
        for ranks in SIZES:
            change(Run(ranks)).write(place / log_name(ranks), place / SCRIPT)
        draw(place, STYLES[style])
        runs.write_table(place / "scaling.csv", table(place))

    return fill


def superlinear(run: Run) -> Run:
    return replace(run, step_seconds=run.step_seconds / run.ranks**0.35, all_reduce=0.0)


def other_batches(run: Run) -> Run:
    """The global batch was kept: each rank's is smaller, and so the steps are as many as before. Not what was asked
    for.
    """
    return replace(run, batch_size=64 // run.ranks, step_seconds=0.02 * run.ranks**0.5)


def other_nonce(run: Run) -> Run:
    return replace(run, nonce="0123456789abcdef", seed=3)


def one_epoch(run: Run) -> Run:
    return replace(run, epochs=1)


def identical_ranks(place: Path) -> None:
    """The run on 8 ranks is the one on 4 with another number in it."""
    found = runs.records(place / log_name(4))
    found[0]["world_size"], found[0]["hosts"] = 8, found[0]["hosts"] * 2
    found[0]["global_batch_size"] = 8 * found[0]["batch_size"]
    for record in epochs_of(found):
        record["samples_per_rank"] *= 2
    runs.rewrite(place / log_name(8), found)
    draw(place, STYLES["plain"])
    runs.write_table(place / "scaling.csv", table(place))


def other_script(place: Path) -> None:
    """The logs were written by another script than the one handed in."""
    path = place / SCRIPT
    path.write_text(path.read_text() + "\n# a line added after the runs\n")


TABLE = ("throughput", "speedup", "efficiency")
NOT_FROM_LOGS = dict.fromkeys(TABLE, "not_from_the_logs")
add(
    "wrong_edited_accuracy",
    "accuracies of a log made nicer",
    edited(OTHER, nicer_log, False),
    expected={VALUES: "values_differ"},
    flags={"altered_log"},
)
add(
    "wrong_edited_digests",
    "the same, with new digests: the figure gives it away",
    edited(OTHER, nicer_log),
    expected={VALUES: "values_differ"},
)
add("wrong_edited_times", "epochs shorter than their steps", edited(8, faster_log), flags={"times_do_not_add_up"})
add(
    "wrong_fabricated_table",
    "perfect scaling beside honest logs",
    changed(fabricated),
    expected={
        "throughput": "not_from_the_logs",
        "speedup": "perfect_scaling_assumed",
        "efficiency": "perfect_scaling_assumed",
        "figure": "only_perfect",
        "scaling_pdf_curves": "only_perfect",
        "scaling_pdf_labels": "figure_of_other_runs",
    },
)
FIGURES = [f"accuracy_{ranks}_{what}" for ranks in SIZES for what in ("curves", "values", "labels")]
FIGURES += ["figure", "scaling_pdf_curves", "scaling_pdf_labels"]
add(
    "wrong_invented_figures",
    "figures of no run, well labelled, beside honest logs",
    changed(invented_figures),
    expected={
        name: "values_differ" if name.endswith("values") else ("figure_of_other_runs", "not_from_the_logs")
        for name in FIGURES
    },
)
add(
    "wrong_invented_without_logs",
    "figures of no run, and no logs",
    changed(invented_without_logs),
    expected={"runs": "missing_file", **dict.fromkeys(TABLE, "missing_run"), **dict.fromkeys(FIGURES, PERSON)}
    | {"figure": "missing_run"},
)
add("wrong_one_number", "one rate of the table is 25 % nicer", changed(table_only), expected=NOT_FROM_LOGS)
add(
    "wrong_rate_of_one_rank",
    "images per second of one rank",
    changed(images_of_one_rank),
    expected={"throughput": "rate_of_one_rank"},
)
add(
    "wrong_inverse_efficiency",
    "efficiency upside down",
    changed(inverse_efficiency),
    expected={"efficiency": "inverse_efficiency"},
)
add(
    "wrong_logarithms",
    "logarithms, called speedup, in the table and in the figure",
    changed(lambda place: other_speedups(place, lambda t: np.log2(t.speedups), drawn=True)),
    expected={"speedup": "logarithm", "figure": "logarithm"},
)
add(
    "wrong_times_as_speedup",
    "seconds of an epoch, called speedup",
    changed(lambda place: other_speedups(place, lambda t: 12_000 / t.rates)),
    expected={"speedup": "seconds_not_speedup"},
)
add(
    "wrong_two_ranks_baseline",
    "speedups over the run on two ranks",
    changed(lambda place: other_speedups(place, lambda t: t.rates / t.rates[1])),
    expected={"speedup": "other_baseline"},
)
add(
    "wrong_made_up_beside_noise",
    "noisy runs, and a table and a figure that were thought up within their error: nobody can tell, so nothing is "
    "given",
    lambda place: made_up(place),
    expected=dict.fromkeys((*TABLE, "figure"), PERSON),
)
add(
    "wrong_superlinear",
    "faster than perfect, in the logs, too",
    regenerated(superlinear),
    flags={"negative_karp_flatt"},
)
add(
    "wrong_batch_size",
    "each number of ranks with another batch per rank",
    regenerated(other_batches),
    expected={"runs": "batch_sizes_differ"},
)
add("wrong_another_nonce", "logs with the code of another student", regenerated(other_nonce), flags={"another_nonce"})
add(
    "wrong_one_epoch",
    "one epoch: nothing but compilation was measured, and a point is no curve",
    regenerated(one_epoch, "dark"),
    expected={
        "runs": "too_few_epochs",
        **{f"accuracy_{ranks}_{what}": PERSON for ranks in SIZES for what in ("curves", "values", "labels")},
    },
)
add(
    "wrong_identical_runs",
    "run_8 is run_4 with another number",
    changed(identical_ranks),
    expected={"runs": "different_data"},
    flags={"identical_runs"},
)
add("wrong_other_script", "the logs are of another script", changed(other_script), flags={"another_script"})
add(
    "wrong_truncated_log",
    "run_8.jsonl was cut off",
    replaced(log_name(8), truncated),
    expected={"runs": "log_incomplete", "accuracy_8_curves": PERSON, "accuracy_8_values": PERSON},
)
add(
    "wrong_missing_log",
    "run_8.jsonl was not handed in",
    replaced(log_name(8), None),
    expected={
        "runs": "missing_file",
        **dict.fromkeys(TABLE, "missing_run"),
        "accuracy_8_curves": PERSON,
        "accuracy_8_values": PERSON,
        "accuracy_8_labels": PERSON,
    },
)
add(
    "wrong_missing_table",
    "scaling.csv was not handed in",
    replaced("scaling.csv", None),
    expected=dict.fromkeys(TABLE, "missing_file"),
)
add(
    "wrong_missing_scaling_figure",
    "scaling.pdf was not handed in",
    replaced("scaling.pdf", None),
    expected=dict.fromkeys(("figure", "scaling_pdf_curves", "scaling_pdf_labels"), "missing_file"),
)


# -- files that are out to harm ----------------------------------------------------------------------------------------


def bomb(place: Path) -> bytes:
    """A page whose content is 2 GB of blanks, compressed twice to some kB."""
    import zlib

    size, count = 1 << 20, 2048
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    # such blocks can be put one behind the other
    block = deflate.compress(b" " * size) + deflate.flush(zlib.Z_FULL_FLUSH)
    last = deflate.compress(b"") + deflate.flush()
    inner = b"\x78\xda" + block * count + last  # without the checksum, which readers do not ask for
    content = zlib.compress(inner, 9)
    return pdf(
        b"<< /Length %d /Filter [/FlateDecode /FlateDecode] >>\nstream\n" % len(content) + content + b"\nendstream"
    )


def deep(place: Path) -> bytes:
    """Arrays within arrays, 50,000 deep."""
    return pdf(b"[" * 50_000 + b"]" * 50_000)


def huge_image(place: Path) -> bytes:
    """A picture of 60,000 x 60,000 pixels, which are not there."""
    about = b"<< /Type /XObject /Subtype /Image /Width 60000 /Height 60000 /BitsPerComponent 8 /ColorSpace /DeviceRGB /Length 1 >>"
    return pdf(b"<< /Length 7 >>\nstream\n/Im Do \nendstream", about + b"\nstream\nx\nendstream")


def pdf(content: bytes, picture: bytes = b"<<>>") -> bytes:
    """A PDF of one page with this content."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 400 300] /Contents 4 0 R /Resources << /XObject << /Im 5 0 R >> >> >>",
        content,
        picture,
    ]
    written, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(written))
        written += b"%d 0 obj\n" % number + one + b"\nendobj\n"
    table = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + b"".join(
        b"%010d 00000 n \n" % at for at in places
    )
    return (
        written
        + table
        + b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, len(written))
    )


def deep_log(place: Path) -> bytes:
    return b"[" * 200_000


add("wrong_pdf_bomb", "a page of 2 GB", replaced(NAME, bomb), expected=UNREADABLE)
add("wrong_deep_pdf", "arrays 50,000 deep", replaced(NAME, deep), expected=UNREADABLE)
add("wrong_huge_image", "a picture of 10 GB", replaced(NAME, huge_image), expected=UNREADABLE)
add(
    "wrong_deep_log",
    "a log of brackets",
    replaced(log_name(8), deep_log),
    expected={
        "runs": "not_a_log",
        **dict.fromkeys(TABLE, "missing_run"),
        "accuracy_8_curves": PERSON,
        "accuracy_8_values": PERSON,
        "accuracy_8_labels": PERSON,
    },
)


# -- the port ----------------------------------------------------------------------------------------------------------

for script, line, diagnosis in (
    ("no_init", "init", "not_initialised"),
    ("no_pinning", "devices", "not_pinned"),
    ("no_memory_growth", "devices", "no_memory_growth"),
    ("pinned_by_rank", "devices", "pinned_by_rank"),
    ("same_data", "shards", "same_data"),
    ("own_shuffle", "shards", "own_shuffle"),
    ("steps_not_divided", "steps", "steps_not_divided"),
    ("rate_not_scaled", "learning_rate", "rate_not_scaled"),
    ("gradients_apart", "gradients", "gradients_apart"),
    ("optimizer_and_tape", "gradients", "gradients_apart"),
    ("gradients_summed", "gradients", "gradients_summed"),
    ("sent_for_show", "gradients", PERSON),
    ("no_broadcast", "broadcast", "no_broadcast"),
    ("ranks_start_apart", "broadcast", "no_broadcast"),
    ("all_write", "rank_zero", "all_ranks_write"),
    ("all_print", "rank_zero", "all_ranks_print"),
    ("metrics_of_one_rank", "global_metrics", "metrics_of_one_rank"),
    ("no_log", "run_log", "no_log"),
    ("false_clock", "run_log", PERSON),
):
    add(
        f"wrong_{script}",
        f"the port: {script.replace('_', ' ')}",
        ported(script),
        expected={line: diagnosis},
        script=script,
        like_base=True,
    )
PORT = (
    "init",
    "devices",
    "shards",
    "steps",
    "learning_rate",
    "gradients",
    "broadcast",
    "rank_zero",
    "global_metrics",
    "run_log",
)
REST = [line for line in PORT if line != "devices"]  # how devices are chosen is read from the source
LAST = ("rank_zero", "global_metrics", "run_log")  # what is known only of a script that comes to its end
for script, expected in (
    ("not_ported", dict.fromkeys(PORT, "not_ported")),
    ("syntax_error", dict.fromkeys(PORT, "script_failed")),
    ("raises", dict.fromkeys(REST, "script_failed")),
    ("reads_secrets", dict.fromkeys(REST, "script_failed")),
    ("fork_bomb", dict.fromkeys(REST, ("script_failed", "script_hangs", "too_slow"))),
    ("hangs", {"steps": "unequal_steps", **dict.fromkeys(LAST, "script_hangs")}),
    ("broadcast_own", {"broadcast": "wrong_root"}),
):
    says = f"the port: {script.replace('_', ' ')}"
    add(f"wrong_{script}", says, ported(script), expected=expected, script=script, like_base=True)
add(
    "wrong_warmup",
    "a warm-up that is computed and not used",
    ported("warmup_without_effect"),
    script="warmup_without_effect",
    like_base=True,
)
add(
    "wrong_missing_script",
    "tensorflow2_mnist_hvd.py was not handed in",
    replaced(SCRIPT, None),
    expected=dict.fromkeys(PORT, "missing_file"),
    script="",
    like_base=True,
)
