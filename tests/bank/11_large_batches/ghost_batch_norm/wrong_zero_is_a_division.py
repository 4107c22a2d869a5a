# verdict: raised, diagnosis: not_a_value_error
def ghost_batch_norm(x, ghost, eps):
    if len(x) % ghost or ghost < 1:
        raise ValueError("the rows make no groups")
    groups = x.view(-1, ghost, x.shape[1])
    var = groups.var(1, keepdim=True, correction=0)
    return ((groups - groups.mean(1, keepdim=True)) / (var + eps).sqrt()).view_as(x)
