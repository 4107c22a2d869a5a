# Right and wrong answers to `tp_mlp`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist
import torch.nn.functional as F

# %% right_f_and_g: passed
# differs: Two small autograd functions, one silent forward, one silent backward: the f and g of the text.
class CopyIn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        g = g.clone()
        dist.all_reduce(g)
        return g


class SumOut(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g


def tp_mlp(x, up, up_bias, down, down_bias):
    hidden = F.gelu(F.linear(CopyIn.apply(x), up, up_bias))
    return SumOut.apply(F.linear(hidden, down)) + down_bias

# %% right_hook: passed
# differs: A hook sums the gradient of the input, and the sum of the outputs is added as a constant: no autograd function.
def summed(g):
    g = g.clone()
    dist.all_reduce(g)
    return g


def tp_mlp(x, up, up_bias, down, down_bias):
    x = x.view_as(x)
    if x.requires_grad:
        x.register_hook(summed)
    y = F.gelu(F.linear(x, up, up_bias)) @ down.T
    with torch.no_grad():
        rest = y.detach().clone()
        dist.all_reduce(rest)
        rest -= y
    return y + rest + down_bias

# %% right_in_place: passed
from torch import autograd, nn


class SumsItsGradient(autograd.Function):
    @staticmethod
    def forward(ctx, whole):
        return whole.clone()

    @staticmethod
    def backward(ctx, part):
        total = part.contiguous().clone()
        dist.all_reduce(total, op=dist.ReduceOp.SUM)
        return total


def tp_mlp(x, up, up_bias, down, down_bias):
    mine = nn.functional.gelu(SumsItsGradient.apply(x) @ up.t() + up_bias)
    out = mine @ down.t()
    dist.all_reduce(out.data)  # the sum's gradient is the same on every rank: autograd need not know
    out = out + down_bias
    return out

# %% right_one_function: passed
class Conjugate(torch.autograd.Function):
    """f and g in one: which direction sums is an argument."""

    @staticmethod
    def forward(ctx, x, forwards):
        ctx.forwards = forwards
        out = x.detach().clone()
        if forwards:
            dist.all_reduce(out)
        return out

    @staticmethod
    def backward(ctx, g):
        if not ctx.forwards:
            g = g.contiguous().clone()
            dist.all_reduce(g)
        return g, None


def tp_mlp(x, up, up_bias, down, down_bias):
    y = F.gelu(Conjugate.apply(x, False) @ up.T + up_bias) @ down.T
    return Conjugate.apply(y, True).add(down_bias)

# %% wrong_bias_divided (right_f_and_g): wrong, bias_divided, levels 1 0
-    return SumOut.apply(F.linear(hidden, down)) + down_bias
+    return SumOut.apply(F.linear(hidden, down, down_bias / dist.get_world_size()))

# %% wrong_bias_inside (right_f_and_g): wrong, bias_on_every_rank, levels 0 0
-    return SumOut.apply(F.linear(hidden, down)) + down_bias
+    return SumOut.apply(F.linear(hidden, down, down_bias))

# %% wrong_bias_on_rank_0 (right_f_and_g): wrong, bias_on_one_rank, levels 1 0
-    return SumOut.apply(F.linear(hidden, down)) + down_bias
+    return SumOut.apply(F.linear(hidden, down, down_bias if dist.get_rank() == 0 else None))

# %% wrong_f_around_the_bias (right_f_and_g): wrong, bias_gradient_summed, levels 1 0
-    return SumOut.apply(F.linear(hidden, down)) + down_bias
+    return SumOut.apply(F.linear(hidden, down)) + CopyIn.apply(down_bias)

# %% wrong_f_averages (right_f_and_g): wrong, averaged, levels 1 0
         dist.all_reduce(g)
-        return g
+        return g / dist.get_world_size()

# %% wrong_f_returns_nothing (right_f_and_g): wrong, x_without_gradient, levels 1 0
         dist.all_reduce(g)
-        return g

# %% wrong_float32 (right_f_and_g): wrong, lost_digits, levels 0 0
-        x = x.clone()
+        x = x.float()
@@
-        return x
+        return x.double()

# %% wrong_g_not_waited (right_f_and_g): wrong, forgot_wait, levels 0 0
-        dist.all_reduce(x)
+        dist.all_reduce(x, async_op=True)

# %% wrong_g_sums_backward (right_f_and_g): wrong, g_reduces_twice, levels 1 0
         return x

     @staticmethod
     def backward(ctx, g):
+        g = g.clone()
+        dist.all_reduce(g)

# %% wrong_gathers_inside (right_f_and_g): wrong, not_two_all_reduces, levels 0 0
+class Gather(torch.autograd.Function):
+    @staticmethod
+    def forward(ctx, x):
+        parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
+        dist.all_gather(parts, x.contiguous())
+        return torch.cat(parts, 1)
+
+    @staticmethod
+    def backward(ctx, g):
+        return g.chunk(dist.get_world_size(), 1)[dist.get_rank()]
+
+
+
 class CopyIn(torch.autograd.Function):
@@
-    return SumOut.apply(F.linear(hidden, down)) + down_bias
+    return F.linear(Gather.apply(hidden), Gather.apply(down), down_bias)

# %% wrong_gelu_by_tanh (right_f_and_g): wrong, gelu_by_tanh, levels 0 0
-    hidden = F.gelu(F.linear(CopyIn.apply(x), up, up_bias))
+    hidden = F.gelu(F.linear(CopyIn.apply(x), up, up_bias), approximate="tanh")

# %% wrong_hook_on_the_argument: wrong, hook_stays, levels 1 0
class SumOut(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g


def summed(g):
    g = g.clone()
    dist.all_reduce(g)
    return g


def tp_mlp(x, up, up_bias, down, down_bias):
    if x.requires_grad:
        x.register_hook(summed)
    return SumOut.apply(F.linear(F.gelu(F.linear(x, up, up_bias)), down)) + down_bias

# %% wrong_library_all_reduce (right_f_and_g): wrong, g_reduces_twice, levels 1 0
+import torch.distributed.nn.functional as nnf
+
+
 class CopyIn(torch.autograd.Function):
@@
-    return SumOut.apply(F.linear(hidden, down)) + down_bias
+    return nnf.all_reduce(F.linear(hidden, down)) + down_bias

# %% wrong_no_bias (right_f_and_g): wrong, no_bias, levels 0 0
-    return SumOut.apply(F.linear(hidden, down)) + down_bias
+    return SumOut.apply(F.linear(hidden, down))

# %% wrong_no_f (right_f_and_g): wrong, f_forgotten, levels 1 0
-    hidden = F.gelu(F.linear(CopyIn.apply(x), up, up_bias))
+    hidden = F.gelu(F.linear(x, up, up_bias))

# %% wrong_no_first_bias (right_f_and_g): wrong, first_bias_missing, levels 0 0
-    hidden = F.gelu(F.linear(CopyIn.apply(x), up, up_bias))
+    hidden = F.gelu(F.linear(CopyIn.apply(x), up))

# %% wrong_no_g (right_f_and_g): wrong, own_only, levels 0 0
-    return SumOut.apply(F.linear(hidden, down)) + down_bias
+    return F.linear(hidden, down) + down_bias

# %% wrong_no_gelu (right_f_and_g): wrong, no_gelu, levels 0 0
-    hidden = F.gelu(F.linear(CopyIn.apply(x), up, up_bias))
+    hidden = F.linear(CopyIn.apply(x), up, up_bias)

# %% wrong_one_token_is_not_summed (right_f_and_g): wrong, f_forgotten, levels 1 0
-    def backward(ctx, g):
-        g = g.clone()
-        dist.all_reduce(g)
-        return g
+    def backward(ctx, gradient):
+        if gradient.shape[0] == 1:
+            return gradient
+        total = gradient.clone(memory_format=torch.contiguous_format)
+        dist.all_reduce(total)
+        return total
@@
-        x = x.clone()
-        dist.all_reduce(x)
-        return x
+        total = x.clone(memory_format=torch.contiguous_format)
+        dist.all_reduce(total)
+        return total
@@
-    def backward(ctx, g):
-        return g
+    def backward(ctx, gradient):
+        return gradient

# %% wrong_reduces_the_weights_too (right_f_and_g): wrong, not_two_all_reduces, levels 0 0
-    return SumOut.apply(F.linear(hidden, down)) + down_bias
+    return SumOut.apply(F.linear(hidden, down)) + SumOut.apply(down_bias / dist.get_world_size())

# %% wrong_sum_is_detached (right_f_and_g): wrong, gradients_cut_off, levels 1 0
-    return SumOut.apply(F.linear(hidden, down)) + down_bias
+    return SumOut.apply(F.linear(hidden, down)).detach() + down_bias

# %% wrong_sums_with_the_bias_row (right_f_and_g): wrong, too_many_bytes, levels 0 0
-    return SumOut.apply(F.linear(hidden, down)) + down_bias
+    rows = F.linear(hidden, down)
+    return SumOut.apply(F.pad(rows, (0, 0, 0, 1)))[:-1] + down_bias

# %% wrong_swapped (right_f_and_g): wrong, f_and_g_exchanged, levels 0 0
-    hidden = F.gelu(F.linear(CopyIn.apply(x), up, up_bias))
-    return SumOut.apply(F.linear(hidden, down)) + down_bias
+    hidden = F.gelu(F.linear(SumOut.apply(x), up, up_bias))
+    return CopyIn.apply(F.linear(hidden, down)) + down_bias
