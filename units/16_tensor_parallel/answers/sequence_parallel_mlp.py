# Right and wrong answers to `sequence_parallel_mlp`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist
import torch.nn.functional as F

# %% right_bias_hook: passed
class Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = x.new_empty(dist.get_world_size() * len(x), x.shape[1])
        dist.all_gather_into_tensor(out, x.contiguous())
        return out

    @staticmethod
    def backward(ctx, g):
        out = g.new_empty(len(g) // dist.get_world_size(), g.shape[1])
        dist.reduce_scatter_tensor(out, g.contiguous())
        return out


class Scatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = x.new_empty(len(x) // dist.get_world_size(), x.shape[1])
        dist.reduce_scatter_tensor(out, x.contiguous())
        return out

    @staticmethod
    def backward(ctx, g):
        out = g.new_empty(dist.get_world_size() * len(g), g.shape[1])
        dist.all_gather_into_tensor(out, g.contiguous())
        return out


def summed(g):
    g = g.clone()
    dist.all_reduce(g)
    return g


def sequence_parallel_mlp(x, up, up_bias, down, down_bias):
    hidden = F.gelu(F.linear(Gather.apply(x), up, up_bias))
    bias = down_bias.view_as(down_bias)
    bias.register_hook(summed)
    return Scatter.apply(hidden @ down.T) + bias

# %% right_gather_scatter: passed
# differs: Gather and scatter are each other's backward pass, and the bias, which all ranks share, has its gradient summed.
class Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = x.new_empty(dist.get_world_size() * len(x), x.shape[1])
        dist.all_gather_into_tensor(out, x.contiguous())
        return out

    @staticmethod
    def backward(ctx, g):
        out = g.new_empty(len(g) // dist.get_world_size(), g.shape[1])
        dist.reduce_scatter_tensor(out, g.contiguous())
        return out


class Scatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = x.new_empty(len(x) // dist.get_world_size(), x.shape[1])
        dist.reduce_scatter_tensor(out, x.contiguous())
        return out

    @staticmethod
    def backward(ctx, g):
        out = g.new_empty(dist.get_world_size() * len(g), g.shape[1])
        dist.all_gather_into_tensor(out, g.contiguous())
        return out


class CopyIn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        g = g.clone()
        dist.all_reduce(g)
        return g


def sequence_parallel_mlp(x, up, up_bias, down, down_bias):
    hidden = F.gelu(F.linear(Gather.apply(x), up, up_bias))
    return Scatter.apply(hidden @ down.T) + CopyIn.apply(down_bias)

# %% right_lists: passed
class Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, x.contiguous())
        return torch.cat(parts)

    @staticmethod
    def backward(ctx, g):
        out = g.new_empty(len(g) // dist.get_world_size(), g.shape[1])
        dist.reduce_scatter_tensor(out, g.contiguous())
        return out


class Scatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        pieces = list(x.chunk(dist.get_world_size()))
        out = torch.empty_like(pieces[0])
        dist.reduce_scatter(out, [piece.contiguous() for piece in pieces])
        return out

    @staticmethod
    def backward(ctx, g):
        out = g.new_empty(dist.get_world_size() * len(g), g.shape[1])
        dist.all_gather_into_tensor(out, g.contiguous())
        return out


class CopyIn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        g = g.clone()
        dist.all_reduce(g)
        return g


def sequence_parallel_mlp(x, up, up_bias, down, down_bias):
    hidden = F.gelu(F.linear(Gather.apply(x), up, up_bias))
    return Scatter.apply(hidden @ down.T) + CopyIn.apply(down_bias)

# %% wrong_all_reduce_and_slice (right_gather_scatter): wrong, too_many_bytes, levels 0 0
-        out = x.new_empty(len(x) // dist.get_world_size(), x.shape[1])
-        dist.reduce_scatter_tensor(out, x.contiguous())
-        return out
+        x = x.clone()
+        dist.all_reduce(x)
+        return x.chunk(dist.get_world_size())[dist.get_rank()].clone()

# %% wrong_averages (right_gather_scatter): wrong, averaged, levels 1 0
         dist.reduce_scatter_tensor(out, g.contiguous())
-        return out
+        return out / dist.get_world_size()

# %% wrong_bias_divided (right_gather_scatter): wrong, bias_divided, levels 1 0
-    return Scatter.apply(hidden @ down.T) + CopyIn.apply(down_bias)
+    return Scatter.apply(hidden @ down.T + down_bias / dist.get_world_size())

# %% wrong_bias_gradient (right_gather_scatter): wrong, bias_gradient_is_a_share, levels 1 0
-    return Scatter.apply(hidden @ down.T) + CopyIn.apply(down_bias)
+    return Scatter.apply(hidden @ down.T) + down_bias

# %% wrong_bias_gradient_on_rank_0 (right_gather_scatter): wrong, bias_gradient_on_one_rank, levels 1 0
-        dist.all_reduce(g)
+        dist.reduce(g, 0)

# %% wrong_bias_inside (right_gather_scatter): wrong, bias_on_every_rank, levels 0 0
-    return Scatter.apply(hidden @ down.T) + CopyIn.apply(down_bias)
+    return Scatter.apply(hidden @ down.T + down_bias)

# %% wrong_bias_on_rank_0 (right_gather_scatter): wrong, bias_on_one_rank, levels 1 0
-    return Scatter.apply(hidden @ down.T) + CopyIn.apply(down_bias)
+    return Scatter.apply(F.linear(hidden, down, down_bias if dist.get_rank() == 0 else None))

# %% wrong_gather_backward_slices (right_gather_scatter): wrong, gradient_not_summed, levels 1 0
-        out = g.new_empty(len(g) // dist.get_world_size(), g.shape[1])
-        dist.reduce_scatter_tensor(out, g.contiguous())
-        return out
+        return g.chunk(dist.get_world_size())[dist.get_rank()]

# %% wrong_gathers_twice (right_gather_scatter): wrong, too_many_bytes, levels 0 0
 def sequence_parallel_mlp(x, up, up_bias, down, down_bias):
+    Gather.apply(x)  # to look at its shape

# %% wrong_hook_after_accumulation (right_bias_hook): wrong, sums_earlier_gradients, levels 1 0
-def summed(g):
-    g = g.clone()
-    dist.all_reduce(g)
-    return g
-
-
@@
 def sequence_parallel_mlp(x, up, up_bias, down, down_bias):
+    if down_bias.requires_grad and not hasattr(down_bias, "is_summed"):
+        down_bias.register_post_accumulate_grad_hook(lambda b: dist.all_reduce(b.grad))
+        down_bias.is_summed = True  # once for each parameter
@@
-    bias = down_bias.view_as(down_bias)
-    bias.register_hook(summed)
-    return Scatter.apply(hidden @ down.T) + bias
+    return Scatter.apply(hidden @ down.T) + down_bias

# %% wrong_hook_of_the_last_call (right_gather_scatter): wrong, hook_stays, levels 1 0
-class CopyIn(torch.autograd.Function):
-    @staticmethod
-    def forward(ctx, x):
-        return x.view_as(x)
-
-    @staticmethod
-    def backward(ctx, g):
+def sequence_parallel_mlp(x, up, up_bias, down, down_bias):
+    def summed(g):
+        handle.remove()
@@
-
-def sequence_parallel_mlp(x, up, up_bias, down, down_bias):
+    handle = down_bias.register_hook(summed)
@@
-    return Scatter.apply(hidden @ down.T) + CopyIn.apply(down_bias)
+    return Scatter.apply(hidden @ down.T) + down_bias

# %% wrong_no_gelu (right_gather_scatter): wrong, no_gelu, levels 0 0
-    hidden = F.gelu(F.linear(Gather.apply(x), up, up_bias))
+    hidden = F.linear(Gather.apply(x), up, up_bias)

# %% wrong_not_summed (right_gather_scatter): wrong, own_only, levels 0 0
-        out = x.new_empty(len(x) // dist.get_world_size(), x.shape[1])
-        dist.reduce_scatter_tensor(out, x.contiguous())
-        return out
+        return x.chunk(dist.get_world_size())[dist.get_rank()].clone()

# %% wrong_one_more_hook_each_call: wrong, hook_stays, levels 1 0
class GatherTokens(torch.autograd.Function):
    """On the way in: gather the tokens of all ranks."""

    @staticmethod
    def forward(ctx, x):
        whole = x.new_empty(len(x) * dist.get_world_size(), x.shape[1])
        dist.all_gather_single(whole, x.contiguous())
        return whole

    @staticmethod
    def backward(ctx, gradient):
        own = gradient.new_empty(
            len(gradient) // dist.get_world_size(), gradient.shape[1]
        )
        dist.reduce_scatter_single(own, gradient.contiguous())
        return own


class ScatterTokens(torch.autograd.Function):
    """On the way out: add up over the ranks, and keep this rank's tokens."""

    @staticmethod
    def forward(ctx, x):
        own = x.new_empty(len(x) // dist.get_world_size(), x.shape[1])
        dist.reduce_scatter_single(own, x.contiguous())
        return own

    @staticmethod
    def backward(ctx, gradient):
        whole = gradient.new_empty(
            len(gradient) * dist.get_world_size(), gradient.shape[1]
        )
        dist.all_gather_single(whole, gradient.contiguous())
        return whole


def over_all_ranks(gradient):
    gradient = gradient.contiguous().clone()
    dist.all_reduce(gradient)
    return gradient


def sequence_parallel_mlp(
    x: torch.Tensor,
    up: torch.Tensor,
    up_bias: torch.Tensor,
    down: torch.Tensor,
    down_bias: torch.Tensor,
) -> torch.Tensor:
    hidden = F.gelu(F.linear(GatherTokens.apply(x), up, up_bias))
    if down_bias.requires_grad:
        down_bias.register_hook(over_all_ranks)
    return ScatterTokens.apply(F.linear(hidden, down)) + down_bias

# %% wrong_pads_with_zeros (right_gather_scatter): wrong, gradient_not_gathered, levels 1 0
-        out = g.new_empty(dist.get_world_size() * len(g), g.shape[1])
-        dist.all_gather_into_tensor(out, g.contiguous())
+        out = g.new_zeros(dist.get_world_size() * len(g), g.shape[1])
+        out.chunk(dist.get_world_size())[dist.get_rank()][:] = g

# %% wrong_scatter_is_detached (right_gather_scatter): wrong, gradients_cut_off, levels 1 0
-    return Scatter.apply(hidden @ down.T) + CopyIn.apply(down_bias)
+    return Scatter.apply(hidden @ down.T).detach() + CopyIn.apply(down_bias)

# %% wrong_whole_output (right_gather_scatter): wrong, wrong_shape, levels 0 0
-    return Scatter.apply(hidden @ down.T) + CopyIn.apply(down_bias)
+    y = hidden @ down.T
+    dist.all_reduce(y)
+    return y + down_bias

# %% wrong_writes_the_bias_gradient (right_bias_hook): wrong, unrecognised, levels 1 0
 class Scatter(torch.autograd.Function):
+    """Adds up, keeps the own rows, and adds the bias."""
+
     @staticmethod
-    def forward(ctx, x):
+    def forward(ctx, x, bias):
+        ctx.bias = bias
@@
         dist.reduce_scatter_tensor(out, x.contiguous())
-        return out
+        return out + bias
@@
-        return out
-
-
-def summed(g):
-    g = g.clone()
-    dist.all_reduce(g)
-    return g
+        ctx.bias.grad = out.sum(0)  # of all tokens: no further collective
+        return out, None
@@
-    bias = down_bias.view_as(down_bias)
-    bias.register_hook(summed)
-    return Scatter.apply(hidden @ down.T) + bias
+    return Scatter.apply(hidden @ down.T, down_bias)
