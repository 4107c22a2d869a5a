# verdict: wrong, diagnosis: not_averaged


def average_and_clip(model, max_norm):
    return torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).item()
