# verdict: passed
# differs: The receive is posted first and waited for last, so the send in between may block as long as it likes; with oneself there is nothing to send.
import torch
import torch.distributed as dist


def exchange(x, partner):
    received = torch.empty(x.shape, dtype=x.dtype)
    if partner != dist.get_rank():
        pending = dist.irecv(received, src=partner)
        dist.send(x, dst=partner)
        pending.wait()
    else:
        received.copy_(x)
    return received
