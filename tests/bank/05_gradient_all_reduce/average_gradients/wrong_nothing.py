# verdict: wrong, diagnosis: no_communication


def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            p.grad = p.grad.clone()
