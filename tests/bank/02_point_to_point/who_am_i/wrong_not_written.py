# verdict: missing, diagnosis: not_written
import torch
import torch.distributed as dist


def who_am_i():
    raise NotImplementedError()
