# Right and wrong answers to `train_ddp`. In files of their own: autograder bank --write DIR
import copy
import torch
import torch.distributed as dist
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.nn.parallel import DistributedDataParallel as DDP

# %% right_average_op: passed
def train_ddp(model, batches, lr):
    ddp = DDP(model)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=lr)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(ddp(x), y)
        loss.backward()
        optimizer.step()
        mean = loss.detach()
        dist.all_reduce(mean, op=dist.ReduceOp.AVG)
        losses.append(mean)
    return losses

# %% right_averages_equal_gradients_again: passed
def train_ddp(model, batches, lr):
    ddp = DDP(model)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=lr)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(ddp(x), y)
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        losses.append(mean.item() / dist.get_world_size())
    return losses

# %% right_float32_losses: passed
def train_ddp(model, batches, lr):
    ddp = DDP(model)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=lr)
    losses = torch.zeros(len(batches))
    for step, (x, y) in enumerate(batches):
        loss = F.cross_entropy(ddp(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses[step] = loss.detach()
    dist.all_reduce(losses)
    return (losses / dist.get_world_size()).tolist()

# %% right_gathers_losses: passed
# differs: Losses are collected once at the end, not in every step: one conversation in place of many.
import torch.nn as nn


def train_ddp(model, batches, lr):
    wrapped = nn.parallel.DistributedDataParallel(model)
    loss_of, opt = nn.CrossEntropyLoss(), torch.optim.SGD(wrapped.parameters(), lr=lr)
    mine = []
    for x, y in batches:
        for p in wrapped.parameters():
            p.grad = None
        loss = loss_of(wrapped(x), y)
        mine.append(loss.item())
        loss.backward()
        opt.step()
    box = [None] * dist.get_world_size()
    dist.all_gather_object(box, mine)
    return [sum(column) / len(column) for column in zip(*box)]

# %% right_hand_made_step: passed
def train_ddp(model, batches, lr):
    ddp = DDP(model)
    losses = []
    for x, y in batches:
        ddp.zero_grad()
        loss = F.cross_entropy(ddp(x), y)
        loss.backward()
        with torch.no_grad():
            for parameter in ddp.parameters():
                parameter -= lr * parameter.grad
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        losses.append(mean.item() / dist.get_world_size())
    return losses

# %% right_helper_class: passed
class Trainer:
    def __init__(self, model, lr):
        self.ddp = DDP(model)
        self.optimizer = torch.optim.SGD(self.ddp.parameters(), lr=lr)

    def step(self, x, y):
        loss = torch.nn.CrossEntropyLoss()(self.ddp(x), y)
        self.optimizer.zero_grad(set_to_none=False)
        loss.backward()
        self.optimizer.step()
        everyone = [torch.zeros_like(loss) for _ in range(dist.get_world_size())]
        dist.all_gather(everyone, loss.detach())
        return torch.stack(everyone).mean()


def train_ddp(model, batches, lr):
    trainer = Trainer(model, lr)
    return [trainer.step(x, y) for x, y in batches]

# %% right_losses_at_the_end: passed
def train_ddp(model, batches, lr):
    ddp = DDP(model)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=lr)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(ddp(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    losses = torch.stack(losses)
    dist.all_reduce(losses)
    return (losses / dist.get_world_size()).tolist()

# %% right_losses_on_their_way: passed
def train_ddp(model, batches, lr):
    ddp = DDP(model)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=lr)
    losses = []
    works = []
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(ddp(x), y)
        loss.backward()
        optimizer.step()
        mean = loss.detach() / dist.get_world_size()
        works.append(dist.all_reduce(mean, async_op=True))
        losses.append(mean)
    for work in works:
        work.wait()
    return [mean.item() for mean in losses]

# %% right_optimizer_before_wrapping: passed
def train_ddp(model, batches, lr):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    ddp = DDP(model, bucket_cap_mb=1)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(ddp(x), y)
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        losses.append(mean.item() / dist.get_world_size())
    return losses

# %% right_options: passed
import torch.nn.functional as F


def train_ddp(model, batches, lr):
    ddp = DistributedDataParallel(model, bucket_cap_mb=1, gradient_as_bucket_view=True, broadcast_buffers=False, static_graph=True)
    opt = torch.optim.SGD(ddp.module.parameters(), lr)
    losses = torch.zeros(len(batches), dtype=torch.float64)
    for k, (x, y) in enumerate(batches):
        loss = F.nll_loss(torch.log_softmax(ddp.forward(x), -1), y)
        opt.zero_grad(set_to_none=False)
        loss.backward()
        opt.step()
        losses[k] = loss.detach()
    dist.all_reduce(losses, op=dist.ReduceOp.AVG)
    return losses

# %% right_plain: passed
def train_ddp(model, batches, lr):
    ddp = DDP(model)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=lr)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(ddp(x), y)
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        losses.append(mean.item() / dist.get_world_size())
    return losses

# %% wrong_accumulates_hidden_average: wrong, running_mean, levels 1 0
import torch.nn.functional as F


def train_ddp(model, batches, lr):
    ddp = DistributedDataParallel(model)
    opt = torch.optim.SGD(ddp.parameters(), lr=lr)
    losses, running = [], 0.0
    for k, (x, y) in enumerate(batches, 1):
        opt.zero_grad()
        loss = F.cross_entropy(ddp(x), y)
        loss.backward()
        opt.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        running += mean.item() / dist.get_world_size()
        losses.append(running / k)
    return losses

# %% wrong_adam (right_optimizer_before_wrapping): wrong, other_steps, levels 0 0
+import torch.nn.functional as F
+
+
 def train_ddp(model, batches, lr):
@@
-    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
-    ddp = DDP(model, bucket_cap_mb=1)
+    ddp = DistributedDataParallel(model)
+    opt = torch.optim.Adam(ddp.parameters(), lr=lr)
@@
-        optimizer.zero_grad()
+        opt.zero_grad()
@@
-        optimizer.step()
+        opt.step()

# %% wrong_average_and_divide (right_average_op): wrong, loss_divided_twice, levels 1 0
-        losses.append(mean)
+        losses.append(mean.item() / dist.get_world_size())

# %% wrong_averages_weights (right_losses_at_the_end): wrong, weights_averaged, levels 0 0
-    ddp = DDP(model)
-    optimizer = torch.optim.SGD(ddp.parameters(), lr=lr)
+    for parameter in model.parameters():
+        dist.broadcast(parameter.data, src=0)
+    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
@@
-        loss = F.cross_entropy(ddp(x), y)
+        loss = F.cross_entropy(model(x), y)
@@
         losses.append(loss.detach())
+    for parameter in model.parameters():
+        dist.all_reduce(parameter.data)
+        parameter.data /= dist.get_world_size()

# %% wrong_broadcasts_loss (right_average_op): wrong, loss_of_one_rank, levels 1 0
-        dist.all_reduce(mean, op=dist.ReduceOp.AVG)
-        losses.append(mean)
+        dist.broadcast(mean, src=0)
+        losses.append(mean.item())

# %% wrong_by_hand (right_average_op): wrong, by_hand, levels 0 0
-    ddp = DDP(model)
-    optimizer = torch.optim.SGD(ddp.parameters(), lr=lr)
+    for parameter in model.parameters():
+        dist.broadcast(parameter.data, src=0)
+    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
@@
-        loss = F.cross_entropy(ddp(x), y)
+        loss = F.cross_entropy(model(x), y)
@@
         loss.backward()
+        for parameter in model.parameters():
+            dist.all_reduce(parameter.grad, op=dist.ReduceOp.AVG)
@@
-        losses.append(mean)
+        losses.append(mean.item())

# %% wrong_by_hand_unequal_starts (right_averages_equal_gradients_again): wrong, unequal_starts, levels 0 0
-    ddp = DDP(model)
-    optimizer = torch.optim.SGD(ddp.parameters(), lr=lr)
+    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
@@
-        loss = F.cross_entropy(ddp(x), y)
+        loss = F.cross_entropy(model(x), y)

# %% wrong_calls_model (right_plain): wrong, bypasses_ddp, levels 0 0
-        loss = F.cross_entropy(ddp(x), y)
+        loss = F.cross_entropy(model(x), y)

# %% wrong_calls_module (right_plain): wrong, bypasses_ddp, levels 0 0
-        loss = F.cross_entropy(ddp(x), y)
+        loss = F.cross_entropy(ddp.module(x), y)

# %% wrong_clips_gradients (right_plain): wrong, other_steps, levels 0 1
-    ddp = DDP(model)
+    ddp = DistributedDataParallel(model)
@@
         loss.backward()
+        torch.nn.utils.clip_grad_norm_(ddp.parameters(), max_norm=5.0)

# %% wrong_divides_gradients (right_averages_equal_gradients_again): wrong, divided_again, levels 0 0
-        for parameter in model.parameters():
-            dist.all_reduce(parameter.grad)
+        for parameter in ddp.parameters():

# %% wrong_divides_loss (right_plain): wrong, divided_again, levels 0 0
-        loss = F.cross_entropy(ddp(x), y)
+        loss = F.cross_entropy(ddp(x), y) / dist.get_world_size()
@@
-        losses.append(mean.item() / dist.get_world_size())
+        losses.append(mean.item())

# %% wrong_flattens_samples (right_plain): raised, IndexError, levels 0 1
-    ddp = DDP(model)
+    ddp = DistributedDataParallel(model)
@@
     for x, y in batches:
+        x = x.view(x.size(0), -1)

# %% wrong_float32: wrong, low_precision, levels 0 0
import torch.nn.functional as F


def train_ddp(model, batches, lr):
    ddp = DistributedDataParallel(model.float())
    opt = torch.optim.SGD(ddp.parameters(), lr=lr)
    losses = []
    for x, y in batches:
        opt.zero_grad()
        loss = F.cross_entropy(ddp(x.float()), y)
        loss.backward()
        opt.step()
        dist.all_reduce(loss.detach_())
        losses.append(loss.item() / dist.get_world_size())
    model.double()
    return losses

# %% wrong_forgets_return (right_plain): wrong, returns_nothing, levels 1 0
-    return losses
+    pass

# %% wrong_four: wrong, other_losses, levels 1 0
import torch.nn.functional as F


def train_ddp(model, batches, lr):
    ddp = DistributedDataParallel(model)
    opt = torch.optim.SGD(ddp.parameters(), lr=lr)
    losses = []
    for x, y in batches:
        opt.zero_grad()
        loss = F.cross_entropy(ddp(x), y)
        loss.backward()
        opt.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        losses.append(mean.item() / 4)
    return losses

# %% wrong_left_in_eval_mode: wrong, left_in_eval_mode, levels 0 0
# "Afterwards `model` holds on every rank what sequential training would": the loss is taken in a forward pass in
# evaluation mode, which is not left again; a model with dropout or batch normalisation trains in the wrong mode (an
# MLP does not notice)
def train_ddp(model, batches, lr):
    ddp = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=lr)
    history = []
    for x, y in batches:
        model.eval()
        with torch.no_grad():
            before = F.cross_entropy(model(x), y)
        dist.all_reduce(before)
        history.append(before.item() / dist.get_world_size())
        optimizer.zero_grad()
        F.cross_entropy(ddp(x), y).backward()
        optimizer.step()
    return history

# %% wrong_log_of_softmax (right_plain): wrong, log_of_softmax, levels 0 1
-    ddp = DDP(model)
+    ddp = DistributedDataParallel(model)
@@
-        loss = F.cross_entropy(ddp(x), y)
+        probabilities = torch.softmax(ddp(x), dim=1)
+        loss = -torch.log(probabilities[torch.arange(len(y)), y]).mean()

# %% wrong_loss_not_waited (right_average_op): wrong, forgot_wait, levels 0 0
-        mean = loss.detach()
-        dist.all_reduce(mean, op=dist.ReduceOp.AVG)
+        mean = loss.detach() / dist.get_world_size()
+        dist.all_reduce(mean, async_op=True)

# %% wrong_loss_read_too_early (right_average_op): wrong, used_before_wait, levels 1 0
-        mean = loss.detach()
-        dist.all_reduce(mean, op=dist.ReduceOp.AVG)
-        losses.append(mean)
+        mean = loss.detach() / dist.get_world_size()
+        work = dist.all_reduce(mean, async_op=True)
+        losses.append(mean.item())
+        work.wait()

# %% wrong_no_step (right_plain): wrong, never_updated, levels 0 0
-        optimizer.step()

# %% wrong_no_sync: wrong, bypasses_ddp, levels 0 0
def train_ddp(model, batches, lr):
    ddp = DDP(model)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=lr)
    losses = []
    for x, y in batches:
        with ddp.no_sync():
            optimizer.zero_grad()
            loss = F.cross_entropy(ddp(x), y)
            loss.backward()
        optimizer.step()
        dist.all_reduce(loss.data)
        losses.append(loss.item() / dist.get_world_size())
    return losses

# %% wrong_no_zero_grad (right_plain): wrong, no_zero_grad, levels 0 0
-        optimizer.zero_grad()

# %% wrong_not_wrapped (right_optimizer_before_wrapping): wrong, not_wrapped, levels 0 0
-    ddp = DDP(model, bucket_cap_mb=1)
@@
-        loss = F.cross_entropy(ddp(x), y)
+        loss = F.cross_entropy(model(x), y)

# %% wrong_one_list_for_all (right_plain): wrong, keeps_something, levels 0 0
+LOSSES = []
+
+
 def train_ddp(model, batches, lr):
+    LOSSES.clear()
@@
-    losses = []
@@
-        losses.append(mean.item() / dist.get_world_size())
-    return losses
+        LOSSES.append(mean.item() / dist.get_world_size())
+    return LOSSES

# %% wrong_one_loss_for_all: wrong, one_tensor, levels 1 0
import torch.nn.functional as F


def train_ddp(model, batches, lr):
    ddp = DistributedDataParallel(model)
    opt = torch.optim.SGD(ddp.parameters(), lr=lr)
    total = torch.zeros(1)
    losses = []
    for x, y in batches:
        opt.zero_grad()
        loss = F.cross_entropy(ddp(x), y)
        loss.backward()
        opt.step()
        total[0] = loss.item()
        dist.all_reduce(total)
        total /= dist.get_world_size()
        losses.append(total)
    return losses

# %% wrong_optimizer_of_a_copy (right_hand_made_step): wrong, never_updated, levels 0 0
 def train_ddp(model, batches, lr):
+    optimizer = torch.optim.SGD(copy.deepcopy(model).parameters(), lr=lr)
@@
-        with torch.no_grad():
-            for parameter in ddp.parameters():
-                parameter -= lr * parameter.grad
+        optimizer.step()

# %% wrong_own_loss (right_average_op): wrong, own_loss, levels 1 0
-        mean = loss.detach()
-        dist.all_reduce(mean, op=dist.ReduceOp.AVG)
-        losses.append(mean)
+        losses.append(loss.item())

# %% wrong_rank_0_asks_alone (right_average_op): hung, mismatched_collective, levels 0 0
-        dist.all_reduce(mean, op=dist.ReduceOp.AVG)
-        losses.append(mean)
+        if dist.get_rank() == 0:
+            dist.all_reduce(mean)
+        losses.append(mean.item() / dist.get_world_size())

# %% wrong_reduces_loss_before_backward (right_average_op): wrong, divided_again, levels 0 0
     for x, y in batches:
+        loss = F.cross_entropy(ddp(x), y)
+        dist.all_reduce(loss)
+        loss = loss / dist.get_world_size()
@@
-        loss = F.cross_entropy(ddp(x), y)
@@
-        mean = loss.detach()
-        dist.all_reduce(mean, op=dist.ReduceOp.AVG)
-        losses.append(mean)
+        losses.append(loss.item())

# %% wrong_reduces_to_a_list_on_rank_0: wrong, loss_on_one_rank, levels 1 0
def train_ddp(model, batches, lr):
    ddp = DDP(model)
    opt = torch.optim.SGD(ddp.parameters(), lr=lr)
    losses = []
    for x, y in batches:
        loss = F.cross_entropy(ddp(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        t = loss.detach().clone()
        dist.reduce(t, dst=0)
        if dist.get_rank() == 0:
            losses.append(t.item() / dist.get_world_size())
    return losses

# %% wrong_reduces_to_rank_0 (right_average_op): wrong, loss_on_one_rank, levels 1 0
-        dist.all_reduce(mean, op=dist.ReduceOp.AVG)
-        losses.append(mean)
+        dist.reduce(mean, dst=0)
+        losses.append(mean.item() / dist.get_world_size())

# %% wrong_returns_in_the_loop (right_plain): wrong, one_step_only, levels 0 0
-    return losses
+        return losses

# %% wrong_rounds: wrong, rounded, levels 1 0
import torch.nn.functional as F


def train_ddp(model, batches, lr):
    ddp = DistributedDataParallel(model)
    opt = torch.optim.SGD(ddp.parameters(), lr=lr)
    losses = []
    for x, y in batches:
        opt.zero_grad()
        loss = F.cross_entropy(ddp(x), y)
        loss.backward()
        opt.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        losses.append(round(mean.item() / dist.get_world_size(), 4))
    return losses

# %% wrong_scales_learning_rate (right_plain): wrong, times_world_size, levels 0 0
-    optimizer = torch.optim.SGD(ddp.parameters(), lr=lr)
+    optimizer = torch.optim.SGD(ddp.parameters(), lr=lr * dist.get_world_size())

# %% wrong_second_forward (right_average_op): wrong, loss_after_the_step, levels 1 0
-        mean = loss.detach()
+        mean = F.cross_entropy(ddp(x), y).detach()
@@
-        losses.append(mean)
+        losses.append(mean.item())

# %% wrong_square_root (right_plain): wrong, other_learning_rate, levels 0 0
-    optimizer = torch.optim.SGD(ddp.parameters(), lr=lr)
+    optimizer = torch.optim.SGD(ddp.parameters(), lr=lr * dist.get_world_size() ** 0.5)

# %% wrong_summed_loss (right_plain): wrong, summed_loss, levels 0 0
-        loss = F.cross_entropy(ddp(x), y)
+        loss = F.cross_entropy(ddp(x), y, reduction="sum")

# %% wrong_sums_gradients_again (right_averages_equal_gradients_again): wrong, times_world_size, levels 0 0
-            parameter.grad /= dist.get_world_size()

# %% wrong_sums_losses (right_average_op): wrong, loss_summed_over_ranks, levels 1 0
-        dist.all_reduce(mean, op=dist.ReduceOp.AVG)
-        losses.append(mean)
+        dist.all_reduce(mean)
+        losses.append(mean.item())

# %% wrong_trains_in_float64 (right_plain): wrong, dtype_changed, levels 0 1
-    ddp = DDP(model)
+    ddp = DistributedDataParallel(model.double())
@@
-        loss = F.cross_entropy(ddp(x), y)
+        loss = F.cross_entropy(ddp(x.double()), y)

# %% wrong_weight_decay (right_optimizer_before_wrapping): wrong, weight_decay, levels 0 0
+import torch.nn.functional as F
+
+
 def train_ddp(model, batches, lr):
@@
-    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
-    ddp = DDP(model, bucket_cap_mb=1)
+    ddp = DistributedDataParallel(model)
+    opt = torch.optim.SGD(ddp.parameters(), lr=lr, weight_decay=1e-4)
@@
-        optimizer.zero_grad()
+        opt.zero_grad()
@@
-        optimizer.step()
+        opt.step()

# %% wrong_with_a_schedule (right_optimizer_before_wrapping): wrong, other_steps, levels 0 1
-    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
-    ddp = DDP(model, bucket_cap_mb=1)
+    ddp = DistributedDataParallel(model)
+    optimizer = torch.optim.SGD(ddp.parameters(), lr=lr)
+    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=10, gamma=0.1)
@@
         optimizer.step()
+        scheduler.step()

# %% wrong_with_momentum: wrong, with_momentum, levels 0 0
def train_ddp(model, batches, lr):
    ddp = DDP(model)
    opt = torch.optim.SGD(ddp.parameters(), lr=lr, momentum=0.9)
    losses = []
    for x, y in batches:
        opt.zero_grad()
        loss = F.cross_entropy(ddp(x), y)
        loss.backward()
        opt.step()
        l = loss.detach().clone()
        dist.all_reduce(l)
        losses.append((l / dist.get_world_size()).item())
    return losses

# %% wrong_wrapped_but_by_hand: wrong, by_hand, levels 0 0
import torch.nn.functional as F


def train_ddp(model, batches, lr):
    DistributedDataParallel(model)
    losses = []
    for x, y in batches:
        model.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
            p.data -= lr * p.grad
        total = loss.detach().clone()
        dist.all_reduce(total)
        losses.append(total.item() / dist.get_world_size())
    return losses

# %% wrong_wraps_a_copy (right_plain): wrong, copy_trained, levels 0 0
-    ddp = DDP(model)
+    ddp = DDP(copy.deepcopy(model))
