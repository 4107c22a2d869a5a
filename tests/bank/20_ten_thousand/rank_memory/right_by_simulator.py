# verdict: passed
from labkit.scale import Mesh, Model, Plan, machine


def rank_memory(model, shape, stage, micro_batches, zero=1):
    data, pipeline, tensor = shape
    gpt = Model(**{"heads": tensor} | model)
    mesh = Mesh(tensor, 1, pipeline, data)
    batch = micro_batches * data
    plan = Plan(gpt, mesh, machine("DGX-H100"), batch, zero=zero, recompute="selective")
    return vars(plan.memory(stage))
