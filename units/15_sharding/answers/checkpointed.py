# Right and wrong answers to `checkpointed`. In files of their own: autograder bank --write DIR
import torch
from torch.utils.checkpoint import checkpoint

# %% right_by_hand: passed
class Segment(torch.autograd.Function):
    @staticmethod
    def forward(ctx, blocks, x):
        ctx.blocks = blocks
        ctx.save_for_backward(x)
        ctx.rng = torch.get_rng_state()
        for block in blocks:
            x = block(x)
        return x

    @staticmethod
    def backward(ctx, gy):
        (x,) = ctx.saved_tensors
        x = x.detach().requires_grad_()
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.rng)
            y = x
            for block in ctx.blocks:
                y = block(y)
        torch.autograd.backward(y, gy)
        return None, x.grad


def checkpointed(blocks, x, every):
    for i in range(0, len(blocks), every):
        x = Segment.apply(blocks[i : i + every], x)
    return x

# %% right_ctx_attribute: passed
class Segment(torch.autograd.Function):
    @staticmethod
    def forward(ctx, blocks, x):
        ctx.blocks = blocks
        ctx.x = x
        ctx.rng = torch.get_rng_state()
        for block in blocks:
            x = block(x)
        return x

    @staticmethod
    def backward(ctx, gy):
        x = ctx.x
        x = x.detach().requires_grad_()
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.rng)
            y = x
            for block in ctx.blocks:
                y = block(y)
        torch.autograd.backward(y, gy)
        return None, x.grad


def checkpointed(blocks, x, every):
    for i in range(0, len(blocks), every):
        x = Segment.apply(blocks[i : i + every], x)
    return x

# %% right_fork_rng: passed
class Segment(torch.autograd.Function):
    @staticmethod
    def forward(ctx, run, x):
        ctx.run, ctx.state = run, torch.random.get_rng_state()
        ctx.save_for_backward(x)
        return run(x)

    @staticmethod
    def backward(ctx, gy):
        x = ctx.saved_tensors[0].detach().requires_grad_(True)
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.random.set_rng_state(ctx.state)
            ctx.run(x).backward(gy)
        return None, x.grad


def checkpointed(blocks, x, every):
    for start in range(0, len(blocks), every):

        def run(y, start=start):
            for block in blocks[start : start + every]:
                y = block(y)
            return y

        x = Segment.apply(run, x)
    return x

# %% right_library: passed
# differs: The library's own checkpoint for each segment, without its old, re-entrant way.
def segment(blocks, x):
    for block in blocks:
        x = block(x)
    return x


def checkpointed(blocks, x, every):
    for i in range(0, len(blocks), every):
        x = checkpoint(segment, blocks[i : i + every], x, use_reentrant=False)
    return x

# %% right_reentrant: passed
from functools import reduce


def checkpointed(blocks, x, every):
    while blocks:
        now, blocks = blocks[:every], blocks[every:]
        x = checkpoint(lambda y, now=now: reduce(lambda z, block: block(z), now, y), x, use_reentrant=True)
    return x

# %% wrong_drops_the_rest (right_by_hand): wrong, last_segment_only, levels 0 0 1
-    for i in range(0, len(blocks), every):
+    for i in range(0, len(blocks) // every * every, every):

# %% wrong_each_block: wrong, keeps_too_much, levels 1 0 1
def checkpointed(blocks, x, every):
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=False)
    return x

# %% wrong_from_the_start: wrong, recomputes_too_often, levels 1 0 0
class Upto(torch.autograd.Function):
    @staticmethod
    def forward(ctx, blocks, end, every, x, first):
        ctx.blocks, ctx.end, ctx.every = blocks, end, every
        ctx.save_for_backward(first)
        for block in blocks[end - every : end]:
            x = block(x)
        return x

    @staticmethod
    def backward(ctx, gy):
        x = ctx.saved_tensors[0]
        with torch.no_grad():
            for block in ctx.blocks[: ctx.end - ctx.every]:
                x = block(x)
        x = x.detach().requires_grad_()
        with torch.enable_grad():
            y = x
            for block in ctx.blocks[ctx.end - ctx.every : ctx.end]:
                y = block(y)
        y.backward(gy)
        return None, None, None, x.grad, None


def checkpointed(blocks, x, every):
    first, done = x.detach(), 0
    while done < len(blocks):
        size = min(every, len(blocks) - done)
        x = Upto.apply(blocks, done + size, size, x, first)
        done += size
    return x

# %% wrong_generator_after_the_first_run: wrong, generator_set_back, levels 1 1 0
class Net(torch.autograd.Function):
    @staticmethod
    def forward(ctx, blocks, every, x):
        ctx.blocks, ctx.every = blocks, every
        inputs, ctx.states = [], []
        for i in range(0, len(blocks), every):
            inputs.append(x)
            ctx.states.append(torch.get_rng_state())
            for block in blocks[i : i + every]:
                x = block(x)
        ctx.save_for_backward(*inputs)
        ctx.after = torch.get_rng_state()
        return x

    @staticmethod
    def backward(ctx, g):
        inputs = ctx.saved_tensors
        for s in reversed(range(len(inputs))):
            x = inputs[s].detach().requires_grad_()
            torch.set_rng_state(ctx.states[s])
            with torch.enable_grad():
                y = x
                for block in ctx.blocks[s * ctx.every : (s + 1) * ctx.every]:
                    y = block(y)
            torch.autograd.backward(y, g)
            g = x.grad
            del x, y
        torch.set_rng_state(ctx.after)
        return None, None, g


def checkpointed(blocks, x, every):
    return Net.apply(blocks, every, x)

# %% wrong_generator_left (right_by_hand): wrong, generator_set_back, levels 1 1 0
-        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
+        with torch.enable_grad():

# %% wrong_gradient_of_x_alone (right_by_hand): wrong, no_gradients_of_parameters, levels 0 0 1
-        torch.autograd.backward(y, gy)
-        return None, x.grad
+        return None, *torch.autograd.grad(y, x, gy)

# %% wrong_last_segment_plain (right_library): wrong, keeps_too_much, levels 1 0 1
-def segment(blocks, x):
+def run(blocks, x):
@@
-    for i in range(0, len(blocks), every):
-        x = checkpoint(segment, blocks[i : i + every], x, use_reentrant=False)
-    return x
+    last = (len(blocks) - 1) // every * every
+    for i in range(0, last, every):
+        x = checkpoint(run, blocks[i : i + every], x, use_reentrant=False)
+    return run(blocks[last:], x)

# %% wrong_library_no_rng: wrong, drops_rng_state, levels 1 1 0
def checkpointed(blocks, x, every):
    for i in range(0, len(blocks), every):

        def run(y, i=i):
            for block in blocks[i : i + every]:
                y = block(y)
            return y

        x = checkpoint(run, x, use_reentrant=False, preserve_rng_state=False)
    return x

# %% wrong_no_enable_grad (right_by_hand): raised, RuntimeError, levels 0 0 0
-        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
+        with torch.random.fork_rng(devices=[]):

# %% wrong_no_grad: raised, RuntimeError, levels 0 0 0
def checkpointed(blocks, x, every):
    with torch.no_grad():
        for block in blocks:
            x = block(x)
    return x

# %% wrong_no_rng (right_by_hand): wrong, drops_rng_state, levels 1 1 0
-        ctx.rng = torch.get_rng_state()
+        pass
@@
-            torch.set_rng_state(ctx.rng)

# %% wrong_no_x (right_by_hand): wrong, no_gradient_of_x, levels 0 0 1
-        return None, x.grad
+        return None, torch.zeros_like(x)

# %% wrong_only_modules (right_by_hand): wrong, only_modules, levels 0 0 1
-        torch.autograd.backward(y, gy)
-        return None, x.grad
+        own = [w for block in ctx.blocks if isinstance(block, torch.nn.Module) for w in block.parameters()]
+        gx, *gradients = torch.autograd.grad(y, [x, *own], gy)
+        for w, g in zip(own, gradients):
+            w.grad = g if w.grad is None else w.grad + g
+        return None, gx

# %% wrong_plain: wrong, keeps_too_much, levels 1 0 1
def checkpointed(blocks, x, every):
    for block in blocks:
        x = block(x)
    return x

# %% wrong_saves_every_input (right_by_hand): wrong, keeps_too_much, levels 1 0 1
         for block in blocks:
+            ctx.inputs = getattr(ctx, "inputs", []) + [x]

# %% wrong_second_run_in_eval (right_by_hand): wrong, drops_rng_state, levels 1 1 0
             for block in ctx.blocks:
+                if isinstance(block, torch.nn.Module):
+                    block.eval()

# %% wrong_seeds (right_by_hand): wrong, seeds_itself, levels 1 1 0
-        ctx.rng = torch.get_rng_state()
+        torch.manual_seed(0)
@@
-            torch.set_rng_state(ctx.rng)
+            torch.manual_seed(0)

# %% wrong_sequential: wrong, keeps_too_much, levels 1 0 1
from torch.utils.checkpoint import checkpoint_sequential


def checkpointed(blocks, x, every):
    return checkpoint_sequential(blocks, -(-len(blocks) // every), x, use_reentrant=False)

# %% wrong_stack_of_states (right_by_hand): wrong, states_of_another_pass, levels 1 1 0
+states = []  # the last segment runs backward first
+
+
 class Segment(torch.autograd.Function):
@@
-        ctx.rng = torch.get_rng_state()
+        states.append(torch.get_rng_state())
@@
-            torch.set_rng_state(ctx.rng)
+            torch.set_rng_state(states.pop())

# %% wrong_state_after_the_run (right_by_hand): wrong, drops_rng_state, levels 1 1 0
-        ctx.rng = torch.get_rng_state()
@@
             x = block(x)
+        ctx.rng = torch.get_rng_state()

# %% wrong_twice (right_by_hand): wrong, gradients_twice, levels 0 0 1
                 y = block(y)
+        torch.autograd.backward(y, gy, retain_graph=True)
+        gx = x.grad.clone()
@@
-        return None, x.grad
+        return None, gx

# %% wrong_whole_net (right_by_hand): wrong, peak_too_high, levels 1 0 1
-    for i in range(0, len(blocks), every):
-        x = Segment.apply(blocks[i : i + every], x)
+    for i in range(0, 1):
+        x = Segment.apply(blocks[i : i + len(blocks)], x)

# %% wrong_zeroes_first (right_by_hand): wrong, drops_earlier_gradients, levels 0 1 1
             for block in ctx.blocks:
+                if isinstance(block, torch.nn.Module):
+                    block.zero_grad()
