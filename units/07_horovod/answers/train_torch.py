# Right and wrong answers to `train_torch`. In files of their own: autograder bank --write DIR
import horovod.torch as hvd_torch

# %% right_as_documented: passed
def train_torch(model, optimizer, checkpoint, loss_function, batches):
    optimizer = hvd_torch.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
    if checkpoint is not None:
        optimizer.load_state_dict(checkpoint)
    hvd_torch.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd_torch.broadcast_optimizer_state(optimizer, root_rank=0)
    for x, y in batches:
        optimizer.zero_grad()
        loss_function(model(x), y).backward()
        optimizer.step()

# %% right_averages_by_name: passed
# differs: The optimizer stays as it is, and the gradients are averaged by name before its step: plain to read, nothing overlaps.
def train_torch(model, optimizer, checkpoint, loss_function, batches):
    hvd_torch.broadcast_parameters(dict(model.named_parameters()), root_rank=0)
    if checkpoint is not None:
        optimizer.load_state_dict(checkpoint)
    hvd_torch.broadcast_optimizer_state(optimizer, root_rank=0)
    for x, y in batches:
        optimizer.zero_grad()
        loss_function(model(x), y).backward()
        for name, p in model.named_parameters():
            p.grad = hvd_torch.allreduce(p.grad, name=name)
        optimizer.step()

# %% right_by_hand: passed
def train_torch(model, optimizer, checkpoint, loss_function, batches):
    if checkpoint is not None:
        optimizer.load_state_dict(checkpoint)
    hvd_torch.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd_torch.broadcast_optimizer_state(optimizer, root_rank=0)
    for x, y in batches:
        optimizer.zero_grad()
        loss_function(model(x), y).backward()
        for parameter in model.parameters():
            parameter.grad.copy_(hvd_torch.allreduce(parameter.grad))
        optimizer.step()

# %% right_checkpoint_to_everybody: passed
def train_torch(model, optimizer, checkpoint, loss_function, batches):
    hvd_torch.broadcast_parameters(list(model.named_parameters()), root_rank=0)
    optimizer = hvd_torch.DistributedOptimizer(optimizer)
    checkpoint = hvd_torch.broadcast_object(checkpoint, root_rank=0, name="checkpoint")
    if checkpoint:
        optimizer.load_state_dict(checkpoint)
    for x, y in batches:
        loss = loss_function(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.synchronize()
        with optimizer.skip_synchronize():
            optimizer.step()

# %% wrong_an_optimizer_of_its_own (right_as_documented): wrong, another_momentum, levels 0 1
+import torch
+
+
 def train_torch(model, optimizer, checkpoint, loss_function, batches):
+    optimizer = torch.optim.SGD(model.parameters(), lr=optimizer.param_groups[0]["lr"], momentum=0.9)

# %% wrong_broadcast_only_in_the_first_call: wrong, model_not_broadcast, levels 1 0
_started = False


def train_torch(model, optimizer, checkpoint, loss_function, batches):
    global _started
    if not _started:  # the broadcast is needed only once
        hvd_torch.broadcast_parameters(model.state_dict(), root_rank=0)
        _started = True
    state = hvd_torch.broadcast_object(checkpoint, root_rank=0, name="start")
    optimizer = hvd_torch.DistributedOptimizer(
        optimizer, named_parameters=model.named_parameters()
    )
    if state is not None:
        optimizer.load_state_dict(state)
    for x, y in batches:
        optimizer.zero_grad()
        loss_function(model(x), y).backward()
        optimizer.step()

# %% wrong_broadcasts_a_checkpoint_only (right_as_documented): wrong, no_broadcast, levels 1 0
     optimizer = hvd_torch.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
+    resume = hvd_torch.broadcast_object(checkpoint is not None, root_rank=0)
@@
-    hvd_torch.broadcast_parameters(model.state_dict(), root_rank=0)
-    hvd_torch.broadcast_optimizer_state(optimizer, root_rank=0)
+    if resume:
+        hvd_torch.broadcast_parameters(model.state_dict(), root_rank=0)
+        hvd_torch.broadcast_optimizer_state(optimizer, root_rank=0)

# %% wrong_clears_before_the_step: raised, AssertionError, levels 0 0
def train_torch(model, optimizer, checkpoint, loss_function, batches):
    opt = hvd_torch.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
    if checkpoint is not None:
        opt.load_state_dict(checkpoint)
    hvd_torch.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd_torch.broadcast_optimizer_state(opt, root_rank=0)
    for x, y in batches:
        loss = loss_function(model(x), y)
        loss.backward()
        opt.zero_grad()
        opt.step()

# %% wrong_divided_again (right_as_documented): wrong, divided_again, levels 0 0
-        loss_function(model(x), y).backward()
+        (loss_function(model(x), y) / hvd_torch.size()).backward()

# %% wrong_gradients_pile_up (right_as_documented): wrong, gradients_pile_up, levels 0 0
-        optimizer.zero_grad()

# %% wrong_labels_first (right_as_documented): raised, RuntimeError, levels 0 0
-        loss_function(model(x), y).backward()
+        loss_function(y, model(x)).backward()

# %% wrong_loaded_before_wrapping (right_as_documented): wrong, momentum_lost, levels 1 0
-    optimizer = hvd_torch.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
@@
         optimizer.load_state_dict(checkpoint)
+    optimizer = hvd_torch.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())

# %% wrong_model_only (right_as_documented): wrong, optimizer_not_broadcast, levels 1 0
-    hvd_torch.broadcast_optimizer_state(optimizer, root_rank=0)

# %% wrong_never_loaded (right_as_documented): wrong, momentum_lost, levels 1 0
-    if checkpoint is not None:
-        optimizer.load_state_dict(checkpoint)

# %% wrong_no_average (right_as_documented): wrong, no_average, levels 0 0
-    optimizer = hvd_torch.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())

# %% wrong_no_broadcast (right_as_documented): wrong, no_broadcast, levels 1 0
-    hvd_torch.broadcast_parameters(model.state_dict(), root_rank=0)
-    hvd_torch.broadcast_optimizer_state(optimizer, root_rank=0)

# %% wrong_object_without_name: hung, unnamed_objects, levels 1 0
def train_torch(model, optimizer, checkpoint, loss_function, batches):
    checkpoint = hvd_torch.broadcast_object(checkpoint, root_rank=0)
    hvd_torch.broadcast_parameters(model.state_dict(), root_rank=0)
    if checkpoint is not None:
        optimizer.load_state_dict(checkpoint)
    wrapped = hvd_torch.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
    if checkpoint is not None:
        wrapped.load_state_dict(checkpoint)
    for x, y in batches:
        wrapped.zero_grad()
        loss = loss_function(model(x), y)
        loss.backward()
        wrapped.step()

# %% wrong_objects_of_two_types (right_averages_by_name): hung, unnamed_objects, levels 0 0
-    hvd_torch.broadcast_parameters(dict(model.named_parameters()), root_rank=0)
+    start = (model.state_dict(), checkpoint) if hvd_torch.rank() == 0 else None
+    weights, checkpoint = hvd_torch.broadcast_object(start, root_rank=0)
+    model.load_state_dict(weights)
@@
-    hvd_torch.broadcast_optimizer_state(optimizer, root_rank=0)

# %% wrong_one_name_for_all (right_by_hand): raised, ValueError, levels 0 0
-        for parameter in model.parameters():
-            parameter.grad.copy_(hvd_torch.allreduce(parameter.grad))
+        handles = [hvd_torch.allreduce_async_(p.grad, name="gradient") for p in model.parameters()]
+        for handle in handles:
+            hvd_torch.synchronize(handle)

# %% wrong_optimizer_only (right_as_documented): wrong, model_not_broadcast, levels 1 0
-    hvd_torch.broadcast_parameters(model.state_dict(), root_rank=0)

# %% wrong_root_alone (right_as_documented): hung, mismatched_collective, levels 0 0
 def train_torch(model, optimizer, checkpoint, loss_function, batches):
+    if hvd_torch.rank() == 0:
+        hvd_torch.broadcast_parameters(model.state_dict(), root_rank=0)
+        hvd_torch.broadcast_optimizer_state(optimizer, root_rank=0)
@@
-    hvd_torch.broadcast_parameters(model.state_dict(), root_rank=0)
-    hvd_torch.broadcast_optimizer_state(optimizer, root_rank=0)

# %% wrong_steps_with_the_old_optimizer (right_as_documented): raised, AssertionError, levels 0 0
-    optimizer = hvd_torch.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
+    opt = hvd_torch.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())

# %% wrong_summed (right_as_documented): wrong, p_times_too_long, levels 0 0
-    optimizer = hvd_torch.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
+    optimizer = hvd_torch.DistributedOptimizer(optimizer, named_parameters=model.named_parameters(), op=hvd_torch.Sum)
