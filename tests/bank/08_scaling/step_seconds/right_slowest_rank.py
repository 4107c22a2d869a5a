# verdict: passed
import torch


def step_seconds(world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden):
    nbytes = parameters * torch.tensor(0.0).element_size()
    times = []
    for rank in range(world_size):
        share = global_batch_size // world_size + (rank < global_batch_size % world_size)
        compute = share * seconds_per_image
        communicate = 2 * (world_size - 1) * (alpha + beta * nbytes / world_size)
        times.append(compute + max(communicate - hidden * compute, 0))
    return max(times)
