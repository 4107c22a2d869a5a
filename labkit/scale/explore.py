"""A plan to look at: memory of each stage's ranks, where the time of a step goes, and the pipeline; as a figure, and in
a notebook with sliders."""

from __future__ import annotations

import io

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from labkit.palette import BLUE, FAINT, GREEN, GREY, INK, ORANGE, PURPLE, SKY, VERMILLION, YELLOW, tint
from labkit.scale.formula import Estimate
from labkit.scale.machine import machine, published
from labkit.scale.mesh import Mesh
from labkit.scale.model import RECOMPUTE, Model
from labkit.scale.plan import Plan
from labkit.scale.replay import StepReplay, replay_step

HELD = {"parameters": BLUE, "gradients": ORANGE, "optimizer": GREEN, "activations": PURPLE}
SPENT = {
    "computing": BLUE,
    "tensor": ORANGE,
    "context": PURPLE,
    "pipeline": GREEN,
    "data": VERMILLION,
    "waiting": FAINT,
}
HATCHES = dict(zip([*HELD, *SPENT], ["", "//", "", "..", "", "//", "..", "\\\\", "xx", ""], strict=True))
MOST_BLOCKS = 20_000  # of a pipeline that is drawn


def models() -> dict[str, Model]:
    """The ten GPTs of Narayanan et al. 2021, table 1, and Llama 3 405B, by name."""
    known = published()["megatron"]
    found = {}
    for row in known["rows"]:
        named = dict(zip(known["columns"], row, strict=True))
        shape = (named[part] for part in ("layers", "width", "heads"))
        found[f"GPT {named['billions']:g} B"] = Model(*shape, known["vocabulary"], known["sequence"])
    known = published()["llama"]
    shape = (known[part] for part in ("layers", "width", "heads", "vocabulary"))
    more = {"kv_heads": known["kv_heads"], "ffn": known["ffn"], "gated": True, "tied": False, "biases": False}
    more["dropout"] = False
    return found | {"Llama 3 405 B": Model(*shape, 8192, **more)}


# -- the figure --------------------------------------------------------------------------------------------------------


def draw(plan: Plan) -> Figure:
    """Memory of a rank of each stage, seconds of a step by what they go into, and what the first rank of each stage
    does when."""
    step = plan.step()
    ran = replay_step(step, plan.machine.topology, step.usual_order)
    figure, panels = plt.subplot_mosaic(
        [["memory", "time"], ["pipeline", "pipeline"]],
        figsize=(10, 6.4),
        height_ratios=(1, 1.1),
        width_ratios=(1, 1.25),
        layout="constrained",
    )
    _memory(panels["memory"], plan)
    _time(panels["time"], plan, plan.estimate())
    _pipeline(panels["pipeline"], plan, ran)
    plt.close(figure)
    return figure


def _plain(ax: Axes, title: str) -> None:
    ax.set_title(title, loc="left", fontsize=10, color=INK)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(colors=GREY, labelcolor=INK, labelsize=8)


def _memory(ax: Axes, plan: Plan) -> None:
    """Bars, one for each stage, of what a rank holds."""
    stages = range(plan.mesh.pipeline)
    held, bottom = [plan.memory(stage) for stage in stages], [0.0] * len(stages)
    for part, colour in HELD.items():
        values = [getattr(one, part) / 1e9 for one in held]
        style = {"color": tint(colour, 0.25), "edgecolor": "white", "hatch": HATCHES[part]}
        ax.bar(stages, values, 0.8, bottom=bottom, label=part, linewidth=0, **style)
        bottom = [a + b for a, b in zip(bottom, values, strict=True)]
    limit = plan.machine.memory / 1e9
    ax.axhline(limit, color=INK, linestyle="--", linewidth=1)
    ax.set_ylim(0, 1.12 * max(*bottom, limit))
    white = {"facecolor": "white", "alpha": 0.85, "linewidth": 0, "pad": 1}
    ax.text(-0.4, limit, f"{limit:g} GB there are", va="bottom", fontsize=8, color=INK, bbox=white)
    ax.set_xticks([s for s in stages if len(stages) <= 16 or s % (len(stages) // 8) == 0])
    ax.set_xlabel("stage", fontsize=8)
    ax.set_ylabel("GB", fontsize=8)
    _plain(ax, f"Memory of a rank: {max(bottom):.1f} GB, {'fits' if plan.fits else 'does not fit'}")
    handles, labels = ax.get_legend_handles_labels()
    ax.legend(handles[::-1], labels[::-1], fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)


def _time(ax: Axes, plan: Plan, found: Estimate) -> None:
    """A bar for each part of a step, one behind the other."""
    left = 0.0
    for place, (part, colour) in enumerate(SPENT.items()):
        seconds = getattr(found, part)
        style = {"color": tint(colour, 0.25 if colour != FAINT else 0), "edgecolor": "white", "hatch": HATCHES[part]}
        ax.barh(place, seconds, 0.75, left=left, linewidth=0, **style)
        share = seconds / found.seconds
        text = f" {seconds:.3g} s, {share:.1%} " if seconds else " 0 s "
        side, at = "left", left + seconds  # behind the bar, before it, or, where it fills the row, in it
        if at > 0.72 * found.seconds:
            side, at = ("right", left) if left > 0.28 * found.seconds else ("center", left + seconds / 2)
        ax.text(at, place, text, ha=side, va="center", fontsize=8, color=INK)
        left += seconds
    ax.set_yticks(range(len(SPENT)), list(SPENT))
    ax.invert_yaxis()
    ax.set_xlim(0, found.seconds)
    ax.set_xlabel("seconds of a step", fontsize=8)
    _plain(ax, f"Time of a step: {found.seconds:.3g} s, MFU {plan.utilisation(found.seconds):.1%}")


def _pipeline(ax: Axes, plan: Plan, ran: StepReplay) -> None:
    """A row for each stage, a block for each forward and backward pass."""
    stages, boxes, colours = plan.mesh.pipeline, [], []
    for stage in range(stages):
        for begin, end, label in zip(ran.starts[stage], ran.ends[stage], ran.labels(stage), strict=True):
            boxes.append([(begin, stage - 0.4), (end, stage - 0.4), (end, stage + 0.4), (begin, stage + 0.4)])
            colours.append(SKY if label[0] == "F" else YELLOW)
        if len(boxes) > MOST_BLOCKS:
            break
    width = 0.25 if len(boxes) < 2000 else 0.08
    ax.add_collection(PolyCollection(boxes, facecolors=colours, edgecolors=INK, linewidths=width))
    ax.set_xlim(0, ran.seconds)
    ax.set_ylim(stages - 0.4, -0.6)
    ax.set_yticks([s for s in range(stages) if stages <= 16 or s % (stages // 8) == 0])
    ax.set_xlabel("seconds", fontsize=8)
    ax.set_ylabel("stage", fontsize=8)
    micro = f"{plan.micro_batches} micro-batches" + (f", {plan.chunks} chunks on each rank" if plan.chunks > 1 else "")
    _plain(ax, f"The pipeline: {micro}; forward blue, backward yellow; at the end the replicas' gradients")


# -- the page ----------------------------------------------------------------------------------------------------------

GPUS = tuple(8 << k for k in range(12))
POWERS = tuple(1 << k for k in range(8))


def plan_of(
    model: str, gpus: int, tensor: int, context: int, pipeline: int, micro_batches: int, chunks: int, zero: int,
    recompute: str, efficiency: float,
) -> Plan:  # fmt: skip
    """The plan that the sliders describe, on nodes of eight H100, with as many replicas as the other axes leave room
    for. Raises ValueError where it does not come out even."""
    data, rest = divmod(gpus, tensor * context * pipeline)
    if rest or not data:
        raise ValueError(f"{tensor} x {context} x {pipeline} ranks of one replica do not go into {gpus} GPUs")
    mesh, more = Mesh(tensor, context, pipeline, data), {"recompute": recompute, "efficiency": efficiency}
    return Plan(models()[model], mesh, machine("DGX-H100"), data * micro_batches, chunks=chunks, zero=zero, **more)


def said_of(plan: Plan) -> str:
    """A plan in one line."""
    mesh, seconds = plan.mesh, plan.estimate().seconds
    axes = " x ".join(f"{name} {getattr(mesh, name)}" for name in ("data", "pipeline", "context", "tensor"))
    return (
        f"{axes} = {mesh.size:,} GPUs; {plan.tokens / 1e6:.3g} M tokens a step, {plan.tokens / seconds / 1e3:,.0f} "
        f"thousand a second; {plan.model.parameters / 1e9:.4g} billion parameters"
    )


def sliders(**values):
    """The figure with sliders, as a widget; without ipywidgets a sentence. values: where the sliders stand at first, by
    the names of `plan_of`'s arguments."""
    try:
        import ipywidgets as widgets
    except ImportError:
        print("Sliders need the package ipywidgets. `explore.draw(plan)` draws a plan without it.")
        return None
    controls = _controls(widgets)
    for name, value in values.items():
        controls[name].value = value
    picture, line = widgets.Image(format="png", layout={"max_width": "100%"}), widgets.HTML()

    def redraw(change=None) -> None:
        try:
            plan = plan_of(**{name: control.value for name, control in controls.items()})
        except ValueError as error:
            line.value = f"<b>This does not come out even:</b> {error}"
            picture.layout.visibility = "hidden"
            return
        drawn = io.BytesIO()
        draw(plan).savefig(drawn, format="png", dpi=100)
        picture.value, line.value = drawn.getvalue(), said_of(plan)
        picture.layout.visibility = "visible"

    for control in controls.values():
        control.observe(redraw, names="value")
    redraw()
    columns = [widgets.VBox(list(controls.values())[k::2]) for k in range(2)]
    return widgets.VBox([widgets.HBox(columns), line, picture])


def _controls(widgets) -> dict:
    """A slider or a list for each argument of `plan_of`."""

    def slider(text: str, options, value):
        style, layout = {"description_width": "11em"}, {"width": "26em"}
        return widgets.SelectionSlider(
            options=options, value=value, description=text, continuous_update=False, style=style, layout=layout
        )

    lists = {"style": {"description_width": "11em"}, "layout": {"width": "26em"}}
    return {
        "model": widgets.Dropdown(options=list(models()), value="GPT 145.6 B", description="model", **lists),
        "gpus": slider("GPUs", GPUS, 1024),
        "tensor": slider("tensor", POWERS[:5], 8),
        "context": slider("context", POWERS[:5], 1),
        "pipeline": slider("pipeline", POWERS[:6], 8),
        "micro_batches": slider("micro-batches", [1, 2, 4, 8, 16, 32, 64, 128], 64),
        "chunks": slider("chunks on each rank", [1, 2, 4, 8], 1),
        "zero": slider("ZeRO", [0, 1, 2, 3], 1),
        "recompute": widgets.Dropdown(options=list(RECOMPUTE), value="selective", description="recompute", **lists),
        "efficiency": slider("share of the peak", [0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0], 1.0),
    }
