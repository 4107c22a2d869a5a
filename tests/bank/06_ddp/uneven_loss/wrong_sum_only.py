# verdict: wrong, diagnosis: summed_loss
from torch.nn import functional as F


def uneven_loss(outputs, labels):
    return F.cross_entropy(outputs, labels, reduction="sum")
