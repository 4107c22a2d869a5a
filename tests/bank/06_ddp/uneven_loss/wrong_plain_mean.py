# verdict: wrong, diagnosis: mean_of_means
from torch.nn import functional as F


def uneven_loss(outputs, labels):
    return F.cross_entropy(outputs, labels)
