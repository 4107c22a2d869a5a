# verdict: wrong, diagnosis: clipped_before_averaging


def average_and_clip(model, max_norm):
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    average_gradients(model)
    return norm.item()
