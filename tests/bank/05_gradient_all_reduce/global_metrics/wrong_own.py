# verdict: wrong, diagnosis: own_only


def global_metrics(losses, correct):
    return losses.mean().item(), correct.float().mean().item()
