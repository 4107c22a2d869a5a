# verdict: passed
# differs: The outer step is torch's own SGD with momentum, whose gradient is how far the ranks have moved.
import torch
import torch.distributed as dist


def diloco(w, gradient, steps, every, lr, outer_lr, mu):
    outer = torch.nn.Parameter(w.clone())
    optimizer = torch.optim.SGD([outer], lr=outer_lr, momentum=mu, nesterov=mu > 0)
    done = 0
    while done < steps:
        inner = outer.detach().clone()
        for _ in range(min(every, steps - done)):
            inner = inner - lr * gradient(inner)
            done += 1
        dist.all_reduce(inner, op=dist.ReduceOp.AVG)
        outer.grad = outer.detach() - inner
        optimizer.step()
    return outer.detach()
