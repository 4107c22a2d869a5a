# Right and wrong answers to `save_checkpoint`. In files of their own: autograder bank --write DIR
import os
import torch
import torch.distributed as dist

# %% right_atomic: passed
# differs: The file is written under another name and then renamed: whoever reads sees the old one or the new one, never half.
def save_checkpoint(path, ddp, optimizer, epoch):
    if dist.get_rank() == 0:
        part = f"{path}.part"
        with open(part, "wb") as file:
            torch.save({"model": ddp.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, file)
        os.replace(part, path)
    done = torch.zeros(1)
    dist.broadcast(done, src=0)

# %% right_barrier_on_both_sides: passed
def save_checkpoint(path, ddp, optimizer, epoch):
    dist.barrier()
    content = {"model": ddp.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
    if dist.get_rank() == 0:
        torch.save(content, path)
    dist.barrier()

# %% right_bytes: passed
import io


def save_checkpoint(path, ddp, optimizer, epoch):
    if dist.get_rank() == 0:
        box = io.BytesIO()
        torch.save({"epoch": epoch, "optimizer": optimizer.state_dict(), "model": ddp.module.state_dict(), "version": 1}, box)
        with open(path, "wb") as f:
            f.write(box.getvalue())
    done = torch.zeros(1)
    dist.all_reduce(done)

# %% right_plain: passed
def save_checkpoint(path, ddp, optimizer, epoch):
    content = {"model": ddp.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
    if dist.get_rank() == 0:
        torch.save(content, path)
    dist.barrier()

# %% right_prefix_removed: passed
def save_checkpoint(path, ddp, optimizer, epoch):
    if dist.get_rank() == 0:
        names = {name.removeprefix("module."): value for name, value in ddp.state_dict().items()}
        torch.save(dict(epoch=epoch, model=names, optimizer=optimizer.state_dict()), path)
    dist.barrier()

# %% right_tells_by_broadcast: passed
import tempfile


def save_checkpoint(path, ddp, optimizer, epoch):
    rank = dist.get_rank()
    if rank == 0:
        fd, name = tempfile.mkstemp(dir=os.path.dirname(path))
        with os.fdopen(fd, "wb") as f:
            torch.save(dict(model=ddp.module.state_dict(), optimizer=optimizer.state_dict(), epoch=epoch), f)
            f.flush()
            os.fsync(f.fileno())
        os.replace(name, path)
    dist.broadcast_object_list(["written"], src=0)
    assert os.path.exists(path)

# %% wrong_adds_a_suffix: wrong, never_written, levels 0 0
def save_checkpoint(path, ddp, optimizer, epoch):
    if not path.endswith(".pt"):
        path += ".pt"
    if dist.get_rank() == 0:
        torch.save({"model": ddp.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, path)
    dist.barrier()

# %% wrong_all_but_rank_0 (right_plain): wrong, written_by_others, levels 0 0
-    if dist.get_rank() == 0:
+    if dist.get_rank() != 0:

# %% wrong_all_write_after_barrier: wrong, written_by_others, levels 0 0
def save_checkpoint(path, ddp, optimizer, epoch):
    dist.barrier()
    torch.save({"model": ddp.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, path)
    dist.barrier()

# %% wrong_attributes_of_the_optimizer (right_prefix_removed): wrong, other_state, levels 0 0
-        names = {name.removeprefix("module."): value for name, value in ddp.state_dict().items()}
-        torch.save(dict(epoch=epoch, model=names, optimizer=optimizer.state_dict()), path)
+        content = {"state": dict(optimizer.state), "param_groups": optimizer.param_groups}
+        torch.save({"model": ddp.module.state_dict(), "optimizer": content, "epoch": epoch}, path)

# %% wrong_barrier_before (right_barrier_on_both_sides): wrong, missing_barrier, levels 1 0
         torch.save(content, path)
-    dist.barrier()

# %% wrong_barrier_inside: hung, missing_rank, levels 0 0
def save_checkpoint(path, ddp, optimizer, epoch):
    if dist.get_rank() == 0:
        torch.save({"model": ddp.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, path)
        dist.barrier()

# %% wrong_elsewhere (right_prefix_removed): wrong, never_written, levels 0 0
-        names = {name.removeprefix("module."): value for name, value in ddp.state_dict().items()}
-        torch.save(dict(epoch=epoch, model=names, optimizer=optimizer.state_dict()), path)
+        content = {"model": ddp.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
+        torch.save(content, f"{path}.{epoch}")

# %% wrong_every_buffer (right_plain): wrong, scratch_buffers, levels 0 0
-    content = {"model": ddp.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
+    tensors = dict(ddp.module.named_parameters()) | dict(ddp.module.named_buffers())
+    content = {"model": tensors, "optimizer": optimizer.state_dict(), "epoch": epoch}

# %% wrong_every_rank (right_plain): wrong, written_by_others, levels 0 0
-    if dist.get_rank() == 0:
-        torch.save(content, path)
+    torch.save(content, path)

# %% wrong_few_settings (right_prefix_removed): wrong, other_settings, levels 0 0
-        names = {name.removeprefix("module."): value for name, value in ddp.state_dict().items()}
-        torch.save(dict(epoch=epoch, model=names, optimizer=optimizer.state_dict()), path)
+        state = optimizer.state_dict()
+        state["param_groups"] = [{k: g[k] for k in ("lr", "momentum", "params")} for g in state["param_groups"]]
+        torch.save({"model": ddp.module.state_dict(), "optimizer": state, "epoch": epoch}, path)

# %% wrong_floats_only (right_prefix_removed): wrong, buffers_missing, levels 0 0
-        names = {name.removeprefix("module."): value for name, value in ddp.state_dict().items()}
-        torch.save(dict(epoch=epoch, model=names, optimizer=optimizer.state_dict()), path)
+        model = {name: value for name, value in ddp.module.state_dict().items() if value.is_floating_point()}
+        torch.save({"model": model, "optimizer": optimizer.state_dict(), "epoch": epoch}, path)

# %% wrong_half_precision (right_plain): wrong, other_weights, levels 0 0
-    content = {"model": ddp.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
+    content = {
+        "model": {name: value.half() for name, value in ddp.module.state_dict().items()},
+        "optimizer": optimizer.state_dict(),
+        "epoch": epoch,
+    }

# %% wrong_in_float64 (right_prefix_removed): wrong, other_weights, levels 0 0
-        names = {name.removeprefix("module."): value for name, value in ddp.state_dict().items()}
-        torch.save(dict(epoch=epoch, model=names, optimizer=optimizer.state_dict()), path)
+        model = {k: v.cpu().double() if v.is_floating_point() else v.cpu() for k, v in ddp.module.state_dict().items()}
+        torch.save({"model": model, "optimizer": optimizer.state_dict(), "epoch": epoch}, path)

# %% wrong_keeps_the_old_one: wrong, older_file_kept, levels 0 1
def save_checkpoint(path, ddp, optimizer, epoch):
    if dist.get_rank() == 0 and not os.path.exists(path):
        torch.save({"model": ddp.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, path)
    dist.barrier()

# %% wrong_last_rank (right_plain): wrong, written_by_others, levels 0 0
-    if dist.get_rank() == 0:
+    if dist.get_rank() == dist.get_world_size() - 1:

# %% wrong_letters_stripped (right_prefix_removed): wrong, other_names, levels 0 0
# lstrip takes letters, not a prefix: all of m, o, d, u, l, e and . go from the beginning of a name
-        names = {name.removeprefix("module."): value for name, value in ddp.state_dict().items()}
+        names = {name.lstrip("module."): value for name, value in ddp.state_dict().items()}

# %% wrong_local_rank (right_plain): wrong, written_by_others, levels 0 0
# "only rank 0 writes files": the local rank is 0 on every machine
-    if dist.get_rank() == 0:
+    if int(os.environ.get("LOCAL_RANK", dist.get_rank())) == 0:

# %% wrong_model_only (right_plain): wrong, other_entries, levels 0 0
-    content = {"model": ddp.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
+    content = ddp.module.state_dict()

# %% wrong_module_in_the_middle: wrong, other_names, levels 0 0
# "the state_dict of the model inside `ddp`": "module." is taken out wherever it stands, also in names of the
# model's own such as "submodule.weight"
def save_checkpoint(path, ddp, optimizer, epoch):
    weights = {name.replace("module.", ""): value for name, value in ddp.state_dict().items()}
    if dist.get_rank() == 0:
        torch.save(
            {"model": weights, "optimizer": optimizer.state_dict(), "epoch": epoch}, path + ".tmp"
        )
        os.replace(path + ".tmp", path)
    dist.barrier()

# %% wrong_momentum_in_float32 (right_prefix_removed): wrong, other_momentum, levels 0 0
-        names = {name.removeprefix("module."): value for name, value in ddp.state_dict().items()}
-        torch.save(dict(epoch=epoch, model=names, optimizer=optimizer.state_dict()), path)
+        state = optimizer.state_dict()
+        for s in state["state"].values():
+            s["momentum_buffer"] = s["momentum_buffer"].float()
+        torch.save({"model": ddp.module.state_dict(), "optimizer": state, "epoch": epoch}, path)

# %% wrong_next_epoch (right_plain): wrong, other_epoch, levels 0 0
-    content = {"model": ddp.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
+    content = {"model": ddp.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch + 1}

# %% wrong_no_barrier (right_plain): wrong, missing_barrier, levels 1 0
-    dist.barrier()

# %% wrong_no_optimizer (right_plain): wrong, other_entries, levels 0 0
-    content = {"model": ddp.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
+    content = {"model": ddp.module.state_dict(), "epoch": epoch}

# %% wrong_others_write_their_own: wrong, written_by_others, levels 0 0
def save_checkpoint(path, ddp, optimizer, epoch):
    dist.barrier()
    rank = dist.get_rank()
    torch.save({"model": ddp.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, path if rank == 0 else f"{path}.{rank}")
    dist.barrier()

# %% wrong_param_groups_only (right_plain): wrong, no_momentum, levels 0 0
-    content = {"model": ddp.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
+    content = {"model": ddp.module.state_dict(), "optimizer": {"param_groups": optimizer.param_groups}, "epoch": epoch}

# %% wrong_parameters_only (right_prefix_removed): wrong, buffers_missing, levels 0 0
-        names = {name.removeprefix("module."): value for name, value in ddp.state_dict().items()}
-        torch.save(dict(epoch=epoch, model=names, optimizer=optimizer.state_dict()), path)
+        torch.save({"model": dict(ddp.module.named_parameters()), "optimizer": optimizer.state_dict(), "epoch": epoch}, path)

# %% wrong_pickle: wrong, other_entries, levels 0 0
import pickle


def save_checkpoint(path, ddp, optimizer, epoch):
    if dist.get_rank() == 0:
        with open(path, "wb") as file:
            pickle.dump({"model": ddp.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, file)
    dist.barrier()

# %% wrong_pickled_model (right_plain): wrong, whole_object, levels 0 0
-    content = {"model": ddp.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
+    content = {"model": ddp.module, "optimizer": optimizer.state_dict(), "epoch": epoch}

# %% wrong_pickled_optimizer (right_plain): wrong, whole_object, levels 0 0
-    content = {"model": ddp.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
+    content = {"model": ddp.module.state_dict(), "optimizer": optimizer, "epoch": epoch}

# %% wrong_rename_after_barrier: wrong, missing_barrier, levels 1 0
def save_checkpoint(path, ddp, optimizer, epoch):
    if dist.get_rank() == 0:
        torch.save({"model": ddp.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, path + ".tmp")
    dist.barrier()
    if dist.get_rank() == 0:
        os.replace(path + ".tmp", path)

# %% wrong_state_by_name (right_prefix_removed): wrong, other_state, levels 0 0
-        names = {name.removeprefix("module."): value for name, value in ddp.state_dict().items()}
-        torch.save(dict(epoch=epoch, model=names, optimizer=optimizer.state_dict()), path)
+        state = optimizer.state_dict()
+        named = {name: optimizer.state[p] for name, p in ddp.module.named_parameters()}
+        content = {"state": named, "param_groups": state["param_groups"]}
+        torch.save({"model": ddp.module.state_dict(), "optimizer": content, "epoch": epoch}, path)

# %% wrong_state_of_sgd (right_prefix_removed): raised, KeyError, levels 0 1
-        names = {name.removeprefix("module."): value for name, value in ddp.state_dict().items()}
-        torch.save(dict(epoch=epoch, model=names, optimizer=optimizer.state_dict()), path)
+        state = optimizer.state_dict()
+        kept = {k: {"momentum_buffer": s["momentum_buffer"]} for k, s in state["state"].items()}
+        content = {"state": kept, "param_groups": state["param_groups"]}
+        torch.save({"model": ddp.module.state_dict(), "optimizer": content, "epoch": epoch}, path)

# %% wrong_state_only (right_prefix_removed): wrong, no_param_groups, levels 0 0
-        names = {name.removeprefix("module."): value for name, value in ddp.state_dict().items()}
-        torch.save(dict(epoch=epoch, model=names, optimizer=optimizer.state_dict()), path)
+        torch.save({"model": ddp.module.state_dict(), "optimizer": {"state": optimizer.state_dict()["state"]}, "epoch": epoch}, path)

# %% wrong_with_a_date: wrong, needs_pickle, levels 0 0
import datetime


def save_checkpoint(path, ddp, optimizer, epoch):
    if dist.get_rank() == 0:
        content = {"model": ddp.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
        torch.save(content | {"saved": datetime.datetime.now()}, path)
    dist.barrier()

# %% wrong_wrapped_names (right_plain): wrong, module_prefix, levels 0 0
-    content = {"model": ddp.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
+    content = {"model": ddp.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
