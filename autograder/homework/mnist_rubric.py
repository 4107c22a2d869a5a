"""The lines of the first homework, `scaling_mnist`, with their points, and the words of its judges on them."""

from __future__ import annotations

from collections.abc import Iterable

from autograder.homework.rubric import Rubric, RubricLine

SIZES = (1, 2, 4, 8)  # the numbers of ranks that every student runs
MORE_SIZES = (16,)  # and those that may be handed in besides


def _plot_lines(size: int) -> Iterable[RubricLine]:
    name, title = f"accuracy_{size}", f"accuracy_{size}.pdf"
    yield RubricLine("plots", f"{name}_curves", f"{title}: training and validation accuracy over all epochs", 2)
    yield RubricLine("plots", f"{name}_values", f"{title}: the values of the run log", 2)
    yield RubricLine("plots", f"{name}_labels", f"{title}: axes, legend and title say what is shown", 1)


LINES = (
    RubricLine("port", "init", "The ranks are started together and know each other", 4),
    RubricLine("port", "devices", "Each rank pins its own device, by local rank", 4),
    RubricLine("port", "shards", "Every rank trains on its own part of the data", 8),
    RubricLine("port", "steps", "Steps per epoch are divided, the same number on every rank", 6),
    RubricLine("port", "learning_rate", "The learning rate grows with the number of ranks", 5),
    RubricLine("port", "gradients", "Gradients are averaged over all ranks", 8),
    RubricLine("port", "broadcast", "All ranks start from rank 0's weights", 6),
    RubricLine("port", "rank_zero", "Files and messages come from rank 0 only", 2),
    RubricLine("port", "global_metrics", "Loss and accuracy are averaged over all ranks", 2),
    RubricLine("port", "run_log", "The script writes a run log that says what it did", 5),
    RubricLine("scaling", "runs", "Runs on 1, 2, 4 and 8 ranks, complete and of the same work", 5),
    RubricLine("scaling", "throughput", "Images per second are those of the run logs", 5),
    RubricLine("scaling", "speedup", "Speedup over the run on one rank", 5),
    RubricLine("scaling", "efficiency", "Efficiency: speedup per rank", 5),
    RubricLine("scaling", "figure", "scaling.pdf shows the numbers of the table", 5),
    *(line for size in SIZES for line in _plot_lines(size)),
    RubricLine("plots", "scaling_pdf_curves", "scaling.pdf: the measured curve over the number of ranks", 3),
    RubricLine("plots", "scaling_pdf_labels", "scaling.pdf: axes, legend and title say what is shown", 2),
    RubricLine("bonus", "warmup", "The learning rate is warmed up over the first epochs", 5),
)
RUBRIC = Rubric(
    {"port": "Port to many processes", "scaling": "Scaling test", "plots": "Accuracy curves", "bonus": "Bonus"}, LINES
)
line, lines_of, points_of = RUBRIC.line, RUBRIC.lines_of, RUBRIC.points_of
full, lost, needs_person, unjudged = RUBRIC.full, RUBRIC.lost, RUBRIC.needs_person, RUBRIC.unjudged
