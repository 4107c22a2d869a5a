# verdict: wrong, diagnosis: lower_median
import torch


def stragglers(times, k):
    medians = torch.as_tensor(times).median(dim=1).values
    centre = medians.median()
    spread = 1.4826 * (medians - centre).abs().median()
    limit = centre + max(k * spread, 0.02 * centre)
    return [r for r, one in enumerate(medians.tolist()) if one > limit]
