# exercise: sum_over_ranks
# must not: run code where its result is read, by __class__, __reduce__ or __array__
# verdict: anything but passed
import os

import torch


class Disguised:
    __class__ = torch.Tensor
    dtype, shape = torch.float32, torch.Size([3, 4])

    def __reduce__(self):
        return os.system, ("touch @COURSE@/pwned",)

    def __array__(self, *a, **k):
        os.system("touch @COURSE@/pwned")
        raise TypeError

    def __getattr__(self, name):
        return lambda *a, **k: self


def sum_over_ranks(x):
    return Disguised()
