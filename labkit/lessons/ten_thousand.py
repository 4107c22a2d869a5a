"""The machinery of unit 20: the rows of published tables as models, plans and meshes; plans to spend a budget on."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from labkit.plots import charts
from labkit.scale import (
    Machine,
    Mesh,
    Model,
    Overlap,
    Plan,
    bubble,
    machine,
    published,
    run_with_failures,
    training_days,
    young_daly,
)
from labkit.scale.hidden import REPLICAS
from labkit.scale.overlap import USUAL
from labkit.scale.planner import EFFICIENCY, Wish, named_model, power, search
from labkit.scale.wires import Wires


def as_dict(model: Model) -> dict[str, int]:
    """A model as the exercises take it: "layers", "width", "heads", "vocabulary" and "sequence"."""
    return {name: getattr(model, name) for name in ("layers", "width", "heads", "vocabulary", "sequence")}


# --- Megatron-LM, table 1 ---------------------------------------------------------------------------------------------


def rows_of(name: str) -> list[dict]:
    """The rows of a published table, a dictionary for each."""
    table = published()[name]
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]


def megatron_rows() -> list[dict]:
    """The ten models of Megatron-LM's table 1 (arXiv 2104.04473), from the smallest on, a dictionary for each: what was
    trained ("billions" of parameters, "layers", "width", "heads") on how many "ranks", and with what result.
    """
    return rows_of("megatron")


def gpt_of(row: dict) -> Model:
    """The model of a row of `megatron_rows`."""
    table = published()["megatron"]
    return Model(row["layers"], row["width"], row["heads"], table["vocabulary"], table["sequence"])


def priced(row: dict, mesh: Mesh) -> Plan:
    """The plan of a row's model and batch on a mesh of the paper's machine, with everything recomputed."""
    return Plan(gpt_of(row), mesh, machine("DGX-A100"), row["batch"], recompute="full")


def their_mesh(row: dict) -> Mesh:
    """The mesh on which the paper trained a row's model."""
    data = row["ranks"] // row["pipeline"] // row["tensor"]
    return Mesh(row["tensor"], 1, row["pipeline"], data)


def seconds_of(row: dict) -> Callable[[tuple[int, int, int], int], float]:
    """A function for `best_mesh`: (shape, micro_batches) -> seconds of a step of a row's model, whose shape is (data,
    pipeline, tensor) and whose replicas compute so many micro-batches each.
    """

    def seconds(shape: tuple[int, int, int], micro_batches: int) -> float:
        data, pipeline, tensor = shape
        plan = priced(row, Mesh(tensor, 1, pipeline, data))
        return replace(plan, batch=micro_batches * data).estimate().seconds

    return seconds


def print_megatron() -> None:
    """Print a line for each row of `megatron_rows`: parameters, share of the peak, all GPUs' PFLOP/s, computed and as
    printed, and the rate as HFU and MFU; then the days of two trainings by the paper's equation 4.
    """
    table = published()["megatron"]
    print("billions  printed    share  printed    PFLOP/s  printed    HFU    MFU")
    for row in megatron_rows():
        model, share = gpt_of(row), row["teraflops"] * 1e12 / table["peak"]
        rate = row["ranks"] * row["teraflops"] * 1e12 / model.flops("full")  # tokens/s
        mfu = rate * model.flops() / (row["ranks"] * table["peak"])
        print(
            f"{model.parameters / 1e9:8.1f} {row['billions']:8} {share:8.1%}"
            f" {row['percent']:7}% {row['ranks'] * row['teraflops'] / 1e3:10.1f}"
            f" {row['petaflops']:8} {share:6.1%} {mfu:6.1%}"
        )
    days = [training_days(t, p, n, 1e12 * x) for p, t, n, x, _ in table["days"]["rows"]]
    print("days by equation 4:", [round(d, 1) for d in days], "printed: 34 and 84")


# --- what is hidden behind computing ----------------------------------------------------------------------------------

OPTIONS = {  # each has all those above it
    "nothing": {},
    "gradients, in buckets": {"gradients": USUAL.gradients},
    "the new weights' gathers": {"gathers": 1},
    "layers in four parts": {"tensor": 4},
    "messages between stages": {"messages": True},
}


def print_hidden(plan: Plan) -> None:
    """Print a line for each thing that can be hidden behind computing, one after the other: the seconds of a step in
    which tensor groups, messages between stages and replicas are waited for, and those that are hidden. Then what a
    rank's last backward pass takes, and adding up its gradients.
    """
    print(f"{'hidden, with those above':26}  tensor          stages          replicas          step")
    hidden: dict = {}
    for name, more in OPTIONS.items():
        hidden |= more
        found = replace(plan, overlap=Overlap(**hidden)).estimate()
        parts = [
            f"{getattr(found, part):.3f} + {found.hidden.get(part, 0):.3f}" for part in ("tensor", "pipeline", "data")
        ]
        print(f"{name:26}  {'   '.join(parts)}   {found.seconds:.2f} s")
    step, wires = plan.step(), Wires(plan.mesh, plan.machine.topology)
    talking = 2 * wires.collective("all_reduce", "tensor").seconds(step.tensor_bytes)
    reducing = wires.collective("reduce_scatter", *REPLICAS).seconds(step.gradient_bytes)
    layers = max(step.layers_of)
    print(f"a backward pass of {layers} layers: {1e3 * layers * (step.backward + talking):.0f} ms;", end=" ")
    print(f"its gradients between the replicas: {1e3 * reducing:.0f} ms")


# --- PaLM, Llama 3 and DeepSeek ---------------------------------------------------------------------------------------


def palm_model() -> dict[str, int]:
    """PaLM (arXiv 2204.02311, table 1) as `mfu_and_hfu` takes a model: "layers", "width" of all heads together,
    "sequence" and "parameters".
    """
    palm = published()["palm"]
    model = Model(
        *(palm[name] for name in ("layers", "width", "heads", "vocabulary", "sequence")),
        kv_heads=1,
        ffn=palm["ffn"],
        head_width=palm["head_width"],
        gated=True,
        biases=False,
    )
    return {
        "layers": palm["layers"],
        "sequence": palm["sequence"],
        "width": palm["heads"] * palm["head_width"],
        "parameters": model.parameters,
    }


def print_llama() -> None:
    """Print a line for each row of Llama 3's table 4 (arXiv 2407.21783): tokens of a step, micro-batches, and the share
    of the peak, computed and as printed.
    """
    llama = published()["llama"]
    for named in rows_of("llama"):
        share = named["teraflops"] * 1e12 / llama["peak"]
        tokens = named["data"] * named["batch_per_data"] * named["sequence"]
        print(
            f"{named['ranks']:6} GPUs, {tokens / 2**20:.0f} x 2^20 tokens a step,"
            f" {named['batch_per_data']} micro-batches: {share:.1%},"
            f" printed {named['percent']} %"
        )
    for chunks in (1, 8):
        loss = (1 - bubble(16, 16, chunks)) / (1 - bubble(16, 32, chunks))
        print(f"half as many micro-batches, v = {chunks}: the bubble alone leaves {loss:.3f}")
    print(f"printed: {400 / 430:.3f}")


def print_longer(model: Model, on: Machine) -> None:
    """Print a line for each of five sequence lengths and meshes on 16,384 GPUs, 16 M tokens a step: memory of the
    activations, seconds of a step by part, and the MFU.
    """
    print("sequence context data   m  activations  computing  ring s  waiting     step    MFU")
    for sequence, context, data in (
        (8192, 1, 128),
        (32768, 4, 32),
        (131072, 16, 8),
        (131072, 8, 16),
        (131072, 1, 128),
    ):
        batch = (1 << 24) // sequence
        plan = Plan(model, Mesh(8, context, 16, data), on, batch, recompute="selective", sequence=sequence)
        found, held = plan.estimate(), plan.memory(1)
        print(
            f"{sequence:8}{context:8}{data:5}{plan.micro_batches:4}"
            f"{held.activations / 1e9:10.0f} GB{found.computing:9.1f} s{found.context:8.2f}"
            f"{found.waiting:7.1f} s{found.seconds:7.1f} s"
            f"{plan.utilisation(found.seconds):7.1%}"
        )


def print_experts(job: Plan, ranks: int) -> None:
    """Print a line of a mixture whose experts lie on so many ranks: memory of the fullest rank, and seconds of a step
    in computing, in all-to-alls, and in all.
    """
    found, held = job.estimate(), job.memory(job.fullest).total
    print(f"{ranks:4} ranks {held / 1e9:11.0f} {found.computing:9.1f} s {found.experts:11.1f} s {found.seconds:6.1f} s")


def print_deepseek() -> None:
    """Print what DeepSeek-V3's report says of its hours (arXiv 2412.19437, table 1 and section 1), added up and divided
    again, and the utilisation that follows.
    """
    seek = published()["deepseek"]
    hours = seek["hours"]
    per_trillion = seek["hours_per_trillion_tokens"]
    print("hours:", per_trillion * seek["tokens"] / 1e12, "printed", hours["pretraining"])
    print("sum:", hours["pretraining"] + hours["context"] + hours["after"], hours["total"])
    print(f"days for 1e12 tokens on 2,048: {per_trillion / 2048 / 24:.2f}, printed 3.7")
    flops = 6 * seek["activated"] * seek["tokens"] / (hours["pretraining"] * 3600)
    print(f"6 FLOPs for each activated parameter: {flops / seek['peak']:.1%} of the peak")


# --- failures ---------------------------------------------------------------------------------------------------------


def useful_part(save: float, interval: float, one_rank: float, ranks: int) -> str:
    """A line about 54 days of steps with failures at random, 300 s for a restart, the mean of eight runs: failures, and
    the useful part of the time, beside Young's interval.

    save, interval: seconds of a save, and of steps between two. one_rank: mean seconds between failures of one rank.
    """
    runs = [run_with_failures(54 * 86400.0, ranks, one_rank, save, interval, 300.0, seed) for seed in range(8)]
    failures = sum(run.failures for run in runs) / len(runs)
    useful = sum(run.useful for run in runs) / len(runs)
    return (
        f"a save of {save:3.0f} s every {interval:5.0f} s (Young {young_daly(save, one_rank / ranks):5.0f} s),"
        f" {failures:.0f} failures, {useful:.1%} of the time useful"
    )


# --- who is right? ----------------------------------------------------------------------------------------------------


def hardware_shares(row: dict) -> tuple[float, float]:
    """The HFU in percent of a row of Korthikanti's table 5 (arXiv 2205.05198), by its seconds: where attention's scores
    and sums are computed once more, and where they count as in the paper's equation 8.
    """
    table, model = published()["selective"], gpt_of(row)
    needed, once = model.flops(), model.flops("selective") - model.flops()
    most = row["seconds"] * row["ranks"] * table["peak"] / (row["batch"] * table["sequence"])  # FLOPs for a token
    return 100 * (needed + once) / most, 100 * (needed + 3 * once) / most


def cookbook() -> tuple[Plan, dict[str, float]]:
    """GPT-NeoX-20B with 2 tensor ranks and 4 stages on 96 GPUs, and what EleutherAI's calculator prints of a GPU: GiB
    by part.
    """
    table = published()["cookbook"]
    row = dict(zip(table["columns"], table["parallel"]["row"], strict=True))
    mesh = Mesh(row["tensor"], 1, row["pipeline"], row["ranks"] // row["tensor"] // row["pipeline"])
    model = Model(row["layers"], row["width"], row["heads"], table["vocabulary"], table["sequence"], tied=False)
    plan = Plan(model, mesh, machine("DGX-A100"), row["batch"] * mesh.data * mesh.pipeline, row["batch"])
    return plan, {part: row[part] for part in ("parameters", "gradients", "optimizer", "activations")}


# --- a budget ---------------------------------------------------------------------------------------------------------


def laws() -> dict[str, dict[str, float]]:
    """The two published fits of one scaling law, "E", "A", "B", "alpha" and "beta" of each by its author's name."""
    parts = ("E", "A", "B", "alpha", "beta")
    return {name: {part: published()[name.lower()][part] for part in parts} for name in ("Hoffmann", "Besiroglu")}


def loss_of(law: dict, parameters: float, tokens: float) -> float:
    """The loss of a model of so many parameters after so many tokens."""
    return law["E"] + law["A"] / parameters ** law["alpha"] + law["B"] / tokens ** law["beta"]


def draw_valleys(flops: float, compute_optimal: Callable) -> None:
    """Draw the loss over the parameters for a number of FLOPs, by both laws, and on each curve what the exercise's
    function finds.
    """
    sizes = np.geomspace(2e10, 1e13, 100)
    curves = {}
    for (name, law), look in zip(laws().items(), ("blue", "orange"), strict=True):
        best, tokens = compute_optimal(flops, law, math.inf)
        curves[name] = sizes, [loss_of(law, n, flops / 6 / n) for n in sizes], f"{look} -"
        curves[f"_{name}"] = [best], [loss_of(law, best, tokens)], f"{look} o"
    charts.lines(curves, log="x", size=(6.4, 3.2), xlabel="parameters", ylabel=f"loss with {flops:g} FLOPs")


def plans_for(names: list[str], numbers: list[int]) -> list[dict]:
    """The best plan for each of the models on each of the numbers of GPUs, as `budget_plan` takes it, with what
    `labkit plan` says besides: "name", "mesh" (tensor, pipeline, data), and "utilisation", as if a parameter took 6
    FLOPs a token and nothing else any. The machine is a DGX-H100; a step has 512 sequences of 8,192 tokens.
    """
    on, found = machine("DGX-H100"), []
    for name in names:
        model = named_model(name).model
        for gpus in numbers:
            choice = search(model, on, Wish(gpus, 512, top=1, efficiency=EFFICIENCY)).choices[0]
            mesh, tokens = choice.plan.mesh, choice.plan.tokens
            share = 6 * model.parameters * tokens / (choice.seconds * gpus * on.peak)
            plan = {"parameters": model.parameters, "gpus": gpus, "seconds": choice.seconds, "tokens": tokens}
            plan |= {"name": name, "mesh": (mesh.tensor, mesh.pipeline, mesh.data), "utilisation": share}
            found.append(plan)
    return found


def plan_line(plan: dict, steps: int, law: dict, pue: float = 1.1) -> str:
    """A line for so many steps of a plan: model, mesh, GPUs, days, tokens, those for each parameter, MWh of the GPUs at
    their TDP, times the PUE, and the loss by a law.
    """
    days, tokens = steps * plan["seconds"] / 86400, steps * plan["tokens"]
    energy = plan["gpus"] * (power(machine("DGX-H100")) or 0.0) * pue * days * 24 / 1e6
    return (
        f"{plan['name']:13}{'x'.join(map(str, plan['mesh'])):>9} {plan['gpus']:5} GPUs {days:5.1f} days"
        f" {tokens / 1e12:5.2f}e12 tokens {tokens / plan['parameters']:5.1f} each {energy:5.0f} MWh"
        f"  loss {loss_of(law, plan['parameters'], tokens):.3f}"
    )
