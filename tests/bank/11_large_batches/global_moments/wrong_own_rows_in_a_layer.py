# verdict: wrong, diagnosis: own_rows
import torch


def global_moments(x):
    norm = torch.nn.BatchNorm1d(x.shape[1], momentum=None, affine=False).double()
    norm.train()
    if len(x) > 1:
        norm(x)
    return x.mean(0), x.var(0, correction=0)
