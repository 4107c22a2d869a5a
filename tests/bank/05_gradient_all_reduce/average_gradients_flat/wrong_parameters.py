# verdict: wrong, diagnosis: weights_changed
import torch.distributed as dist


from torch.nn.utils import parameters_to_vector, vector_to_parameters


def average_gradients_flat(model):
    flat = parameters_to_vector([p.contiguous() for p in model.parameters()]).detach()
    dist.all_reduce(flat)
    flat /= dist.get_world_size() + 1
    vector_to_parameters(flat, model.parameters())
