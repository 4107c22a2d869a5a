# exercise: epoch_generators
# must not: hand out streams in the order of the calls, which no process sees of another
# verdict: wrong
import torch

ranks = {}


def epoch_generators(seed, epoch, rank, world_size):
    order, noise = torch.Generator(), torch.Generator()
    order.manual_seed(1_000_003 * seed + epoch)
    known = ranks.setdefault((seed, epoch, world_size), {})
    number = known.setdefault(rank, len(known))
    noise.manual_seed(7 + 1_000_003 * (1_000_003 * seed + epoch) + number)
    return order, noise
