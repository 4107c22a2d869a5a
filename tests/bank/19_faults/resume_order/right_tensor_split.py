# verdict: passed
def resume_order(order, step, per_rank, old, rank, world_size):
    import torch

    rest = torch.tensor(order)[step * per_rank * old :]
    return [part.tensor_split(world_size)[rank] for part in rest.split(per_rank * old)] if len(rest) else []
