# verdict: passed
# differs: The library's own scaler goes through the same history: the weights are zeros, only its decisions matter.
import torch


def dynamic_scale(found_inf, start, growth_interval):
    scaler = torch.amp.GradScaler("cpu", init_scale=start, growth_interval=growth_interval)
    weight = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.0)
    scales = []
    for inf in found_inf:
        optimizer.zero_grad()
        scaler.scale(weight.sum()).backward()
        if inf:
            weight.grad[0] = float("inf")
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
    return scales
