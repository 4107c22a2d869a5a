"""The machinery of unit 20: the rows of published tables as models, plans and meshes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from labkit.scale import Mesh, Model, Overlap, Plan, machine, published
from labkit.scale.hidden import REPLICAS
from labkit.scale.overlap import USUAL
from labkit.scale.wires import Wires


def as_dict(model: Model) -> dict[str, int]:
    """A model as the exercises take it: "layers", "width", "heads", "vocabulary" and "sequence"."""
    return {name: getattr(model, name) for name in ("layers", "width", "heads", "vocabulary", "sequence")}


# --- Megatron-LM, table 1 ---------------------------------------------------------------------------------------------


def megatron_rows() -> list[dict]:
    """The ten models of Megatron-LM's table 1 (arXiv 2104.04473), from the smallest on, a dictionary for each: what was
    trained ("billions" of parameters, "layers", "width", "heads") on how many "ranks", and with what result.
    """
    table = published()["megatron"]
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]


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


# --- PaLM and Llama 3 -------------------------------------------------------------------------------------------------


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
    for row in llama["rows"]:
        named = dict(zip(llama["columns"], row, strict=True))
        share = named["teraflops"] * 1e12 / llama["peak"]
        tokens = named["data"] * named["batch_per_data"] * named["sequence"]
        print(
            f"{named['ranks']:6} GPUs, {tokens / 2**20:.0f} x 2^20 tokens a step,"
            f" {named['batch_per_data']} micro-batches: {share:.1%},"
            f" printed {named['percent']} %"
        )
