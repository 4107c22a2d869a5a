# Right and wrong answers to `load_checkpoint`. In files of their own: autograder bank --write DIR
import copy
import torch
import torch.distributed as dist

# %% right_in_a_wrapper_of_names: passed
def load_checkpoint(path, ddp, optimizer):
    with open(path, "rb") as f:
        ck = torch.load(f, weights_only=True, map_location="cpu")
    ddp.load_state_dict({f"module.{k}": v for k, v in ck["model"].items()})
    optimizer.load_state_dict(ck["optimizer"])
    return torch.tensor(ck["epoch"])

# %% right_map_location: passed
# differs: It reads to the CPU and loads numbers only, no pickled code: the way for files from somewhere else.
def load_checkpoint(path, ddp, optimizer):
    checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    dist.barrier()
    ddp.module.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    return checkpoint["epoch"]

# %% right_objects_from_rank_0: passed
def load_checkpoint(path, ddp, optimizer):
    box = [torch.load(path) if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(box, src=0)
    ddp.module.load_state_dict(box[0]["model"], assign=False)
    optimizer.load_state_dict(box[0]["optimizer"])
    return box[0]["epoch"]

# %% right_plain: passed
def load_checkpoint(path, ddp, optimizer):
    checkpoint = torch.load(path)
    ddp.module.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    return checkpoint["epoch"]

# %% right_prefix_added: passed
def load_checkpoint(path, ddp, optimizer):
    checkpoint = torch.load(path)
    ddp.load_state_dict({f"module.{name}": value for name, value in checkpoint["model"].items()})
    optimizer.load_state_dict(checkpoint["optimizer"])
    return int(checkpoint["epoch"])

# %% right_rank_0_tells: passed
def load_checkpoint(path, ddp, optimizer):
    box = [torch.load(path) if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(box, src=0)
    checkpoint = box[0]
    ddp.module.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    return torch.tensor(checkpoint["epoch"])

# %% wrong_a_model_of_its_own (right_plain): wrong, weights_not_loaded, levels 0
-    ddp.module.load_state_dict(checkpoint["model"])
+    model = copy.deepcopy(ddp.module)
+    model.load_state_dict(checkpoint["model"])

# %% wrong_assigns (right_plain): wrong, parameters_replaced, levels 0
-    ddp.module.load_state_dict(checkpoint["model"])
+    ddp.module.load_state_dict(checkpoint["model"], assign=True)

# %% wrong_broadcasts_weights_only: wrong, optimizer_on_rank_0_only, levels 0
def load_checkpoint(path, ddp, optimizer):
    epoch = torch.zeros(1, dtype=torch.int64)
    if dist.get_rank() == 0:
        checkpoint = torch.load(path)
        ddp.module.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        epoch += checkpoint["epoch"]
    for parameter in ddp.parameters():
        dist.broadcast(parameter.data, src=0)
    dist.broadcast(epoch, src=0)
    return epoch.item()

# %% wrong_buffers_on_rank_0 (right_plain): wrong, buffers_not_loaded, levels 0
# "every rank must get what is in the file" ("the model has parameters and buffers"): rank 0 loads and sends its
# parameters; the buffers of the others stay fresh
-    ddp.module.load_state_dict(checkpoint["model"])
+    if dist.get_rank() == 0:
+        ddp.module.load_state_dict(checkpoint["model"])
+    for p in ddp.module.parameters():
+        sent = p.detach().contiguous().clone()
+        dist.broadcast(sent, src=0)
+        p.data.copy_(sent)

# %% wrong_copies_the_model (right_plain): wrong, parameters_replaced, levels 0
     checkpoint = torch.load(path)
+    ddp.module = copy.deepcopy(ddp.module)

# %% wrong_deletes_the_file: wrong, file_gone, levels 0
import os


def load_checkpoint(path, ddp, optimizer):
    ck = torch.load(path)
    ddp.module.load_state_dict(ck["model"])
    optimizer.load_state_dict(ck["optimizer"])
    dist.barrier()
    if dist.get_rank() == 0:
        os.remove(path)
    return ck["epoch"]

# %% wrong_epoch_on_rank_0: wrong, no_epoch, levels 0
def load_checkpoint(path, ddp, optimizer):
    ck = torch.load(path)
    ddp.module.load_state_dict(ck["model"])
    optimizer.load_state_dict(ck["optimizer"])
    return ck["epoch"] if dist.get_rank() == 0 else 0

# %% wrong_eval_mode (right_plain): wrong, left_in_eval_mode, levels 0
# "afterwards training goes on as if it had never stopped": the model is put into evaluation mode, as tutorials on
# inference do; dropout and batch normalisation stand still from here on
-    checkpoint = torch.load(path)
+    checkpoint = torch.load(path, map_location="cpu")
@@
     ddp.module.load_state_dict(checkpoint["model"])
+    ddp.eval()

# %% wrong_file_remembered (right_plain): wrong, file_remembered, levels 0
# "Returns the epoch in the file" (and "An older file at `path` is replaced"): the file is read once for each path;
# a newer one under the same name is not seen
+from functools import lru_cache
+
+
+read = lru_cache(torch.load)
+
+
 def load_checkpoint(path, ddp, optimizer):
@@
-    checkpoint = torch.load(path)
+    checkpoint = read(path)

# %% wrong_float32: wrong, low_precision, levels 0
def load_checkpoint(path, ddp, optimizer):
    ck = torch.load(path)
    ddp.module.load_state_dict({k: v.float() for k, v in ck["model"].items()})
    optimizer.load_state_dict(ck["optimizer"])
    return ck["epoch"]

# %% wrong_floats_only: wrong, buffers_not_loaded, levels 0
def load_checkpoint(path, ddp, optimizer):
    saved = torch.load(path)
    own = ddp.module.state_dict()
    for name, value in saved["model"].items():
        if value.is_floating_point():
            own[name].copy_(value)
    optimizer.load_state_dict(saved["optimizer"])
    return saved["epoch"]

# %% wrong_into_the_wrapper (right_plain): raised, NamesDiffer, levels 0
-    ddp.module.load_state_dict(checkpoint["model"])
+    ddp.load_state_dict(checkpoint["model"])

# %% wrong_learning_rate_alone: wrong, momentum_not_loaded, levels 0
def load_checkpoint(path, ddp, optimizer):
    state = torch.load(path)
    ddp.module.load_state_dict(state["model"])
    optimizer.param_groups[0]["lr"] = state["optimizer"]["param_groups"][0]["lr"]
    return state["epoch"]

# %% wrong_momentum_only (right_plain): wrong, learning_rate_not_restored, levels 0
-    optimizer.load_state_dict(checkpoint["optimizer"])
+    for parameter, state in zip(ddp.parameters(), checkpoint["optimizer"]["state"].values()):
+        optimizer.state[parameter]["momentum_buffer"] = state["momentum_buffer"]

# %% wrong_new_optimizer (right_plain): wrong, optimizer_not_loaded, levels 0
     ddp.module.load_state_dict(checkpoint["model"])
+    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1, momentum=0.9)

# %% wrong_next_epoch (right_plain): wrong, epoch_off_by_one, levels 0
-    return checkpoint["epoch"]
+    return checkpoint["epoch"] + 1

# %% wrong_no_optimizer (right_plain): wrong, optimizer_not_loaded, levels 0
-    optimizer.load_state_dict(checkpoint["optimizer"])

# %% wrong_no_return (right_plain): wrong, returns_nothing, levels 0
-    return checkpoint["epoch"]

# %% wrong_not_strict (right_plain): wrong, weights_not_loaded, levels 0
-    ddp.module.load_state_dict(checkpoint["model"])
+    ddp.load_state_dict(checkpoint["model"], strict=False)

# %% wrong_not_strict_no_optimizer (right_plain): wrong, nothing_loaded, levels 0
-    ddp.module.load_state_dict(checkpoint["model"])
-    optimizer.load_state_dict(checkpoint["optimizer"])
+    ddp.load_state_dict(checkpoint["model"], strict=False)

# %% wrong_param_groups_only: wrong, momentum_not_loaded, levels 0
def load_checkpoint(path, ddp, optimizer):
    state = torch.load(path)
    ddp.module.load_state_dict(state["model"])
    for mine, saved in zip(optimizer.param_groups, state["optimizer"]["param_groups"]):
        mine.update({key: value for key, value in saved.items() if key != "params"})
    return state["epoch"]

# %% wrong_param_groups_without_state: wrong, momentum_not_loaded, levels 0
def load_checkpoint(path, ddp, optimizer):
    state = torch.load(path)
    ddp.module.load_state_dict(state["model"])
    optimizer.load_state_dict({"state": {}, "param_groups": state["optimizer"]["param_groups"]})
    return state["epoch"]

# %% wrong_parameters_only: wrong, buffers_not_loaded, levels 0
def load_checkpoint(path, ddp, optimizer):
    ck = torch.load(path)
    with torch.no_grad():
        for name, p in ddp.module.named_parameters():
            p.copy_(ck["model"][name])
    optimizer.load_state_dict(ck["optimizer"])
    return ck["epoch"]

# %% wrong_rank_0_loads_then_barrier: wrong, rank_0_only, levels 0
def load_checkpoint(path, ddp, optimizer):
    epoch = 0
    if dist.get_rank() == 0:
        ck = torch.load(path)
        ddp.module.load_state_dict(ck["model"])
        optimizer.load_state_dict(ck["optimizer"])
        epoch = ck["epoch"]
    dist.barrier()
    return epoch

# %% wrong_rank_0_only (right_plain): wrong, rank_0_only, levels 0
 def load_checkpoint(path, ddp, optimizer):
+    if dist.get_rank() != 0:
+        return 0

# %% wrong_rate_and_momentum_only (right_plain): wrong, settings_not_restored, levels 0
-    optimizer.load_state_dict(checkpoint["optimizer"])
+    saved = checkpoint["optimizer"]
+    for group, old in zip(optimizer.param_groups, saved["param_groups"]):
+        group["lr"] = old["lr"]
+    for k, parameter in enumerate(ddp.module.parameters()):
+        optimizer.state[parameter]["momentum_buffer"] = saved["state"][k]["momentum_buffer"].clone()

# %% wrong_returns_text: wrong, wrong_type, levels 0
def load_checkpoint(path, ddp, optimizer):
    ck = torch.load(path)
    ddp.module.load_state_dict(ck["model"])
    optimizer.load_state_dict(ck["optimizer"])
    return str(ck["epoch"])

# %% wrong_sends_epoch_as_float32 (right_plain): wrong, epoch_off_by_one, levels 0
-    return checkpoint["epoch"]
+    epoch = torch.tensor([float(checkpoint["epoch"])])
+    dist.broadcast(epoch, src=0)
+    return epoch

# %% wrong_unknown_entry (right_plain): raised, KeyError, levels 0
-    ddp.module.load_state_dict(checkpoint["model"])
+    ddp.module.load_state_dict(checkpoint["state_dict"])
