"""The rubric of `train_a_mesh`: 100 points, and 5 on top."""

from __future__ import annotations

from autograder.homework.rubric import LineResult, Rubric, RubricLine

LINES = (
    RubricLine("script", "one_rank", "On one rank it is the sequential training", 4),
    RubricLine("script", "data", "Replicas: as the sequential training, to 1e-9", 5),
    RubricLine("script", "tensor", "Divided matrices: as the sequential training, to 1e-9", 7),
    RubricLine("script", "pipeline", "Stages: as the sequential training, to 1e-9", 7),
    RubricLine("script", "mixed", "Several axes at once: as the sequential training, to 1e-9", 7),
    RubricLine("script", "norm", "One norm of the whole gradient, by which it is clipped", 4),
    RubricLine("script", "checkpoint", "A checkpoint goes on on another mesh, to 1e-9", 6),
    RubricLine("script", "traffic", "No more bytes than each axis needs", 5),
    RubricLine("script", "memory", "Weights, moments and micro-batches take no more memory than they must", 5),
    RubricLine("measured", "runs", "Logs of at least four meshes, of the same training, complete", 5),
    RubricLine("measured", "losses", "All meshes went down the same curve, and it is the sequential one", 5),
    RubricLine("measured", "times", "The table's times and tokens per second are those of the logs", 5),
    RubricLine("measured", "bytes", "The table's bytes by axis and memory are those of the logs", 5),
    RubricLine("figures", "figure_times", "step_time.pdf: step time and tokens per second over ranks", 5),
    RubricLine("figures", "figure_memory", "memory.pdf: memory of a rank by stage", 5),
    RubricLine("figures", "figure_losses", "losses.pdf: the loss curves over the sequential one", 5),
    RubricLine("plan", "plan_1024", "1,024 GPUs: it fits, and is near the best", 4),
    RubricLine("plan", "plan_16384", "16,384 GPUs: it fits, and is near the best", 4),
    RubricLine("plan", "plan_576", "576 GPUs of NVL72 machines: it fits, and is near the best", 4),
    RubricLine("plan", "plan_saving", "Checkpoints as often as failures ask for", 3),
    RubricLine("bonus", "context", "Context parallel: as the sequential training, to 1e-9", 5),
)
RUBRIC = Rubric(
    {
        "script": "The script on meshes",
        "measured": "Run logs and table",
        "figures": "Figures",
        "plan": "Plans for 1,024, 16,384 and 576 GPUs",
        "bonus": "Bonus: context parallel",
    },
    LINES,
)
full, for_a_person, line, guarded = RUBRIC.full, RUBRIC.needs_person, RUBRIC.line, RUBRIC.guarded


def lost(name: str, diagnosis: str, sentence: str, teach: str, share: float = 0.0) -> LineResult:
    """The line lost points by a mistake that has a name. share: of its points that are left."""
    return RUBRIC.lost(name, diagnosis, sentence, teach, round(line(name).points * share, 2))


def missing(parts: tuple[str, ...], sentence: str, teach: str) -> list[LineResult]:
    """All lines of these parts, lost for want of a file."""
    return [lost(one.name, "missing_file", sentence, teach) for part in parts for one in RUBRIC.lines_of(part)]
