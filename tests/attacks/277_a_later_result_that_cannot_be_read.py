# exercise: sum_over_ranks
# must not: keep its first result for ever, and send one that cannot be read when it is called again
# verdict: wrong
import time

import torch.distributed as dist

from labkit.relay import charging, wire

kept = []


def sum_over_ranks(x):
    if kept:
        wire.send(charging.speaker(), wire.RESULT, {"value": ["u", [["n"], ["u", []]]], "changed": []})
        time.sleep(1000)
    x = x.clone()
    dist.all_reduce(x)
    kept.append(x)
    return kept[0]
