# Right and wrong answers to `split_backward`. In files of their own: autograder bank --write DIR
import torch

# %% right_backward_inputs: passed
import functools


def split_backward(out, x, gradient, parameters):
    out.backward(gradient, inputs=[x], retain_graph=True)
    return x.grad, functools.partial(out.backward, gradient, inputs=parameters)

# %% right_two_grads: passed
# differs: Two calls of `autograd.grad`, one for the input now and one for the weights when it is asked for.
def split_backward(out, x, gradient, parameters):
    (to_x,) = torch.autograd.grad(out, x, gradient, retain_graph=True)

    def weights():
        for p, g in zip(parameters, torch.autograd.grad(out, parameters, gradient), strict=True):
            p.grad = g if p.grad is None else p.grad + g

    return to_x, weights

# %% wrong_all_at_once (right_two_grads): wrong, not_split, levels 0
-    (to_x,) = torch.autograd.grad(out, x, gradient, retain_graph=True)
+    to_x, *to_weights = torch.autograd.grad(out, [x, *parameters], gradient)
@@
-        for p, g in zip(parameters, torch.autograd.grad(out, parameters, gradient), strict=True):
+        for p, g in zip(parameters, to_weights, strict=True):

# %% wrong_first_only (right_two_grads): wrong, first_micro_batch, levels 0
-            p.grad = g if p.grad is None else p.grad + g
+            if p.grad is None:
+                p.grad = g

# %% wrong_grad_shares_memory (right_two_grads): wrong, changes_gradient, levels 0
-            p.grad = g if p.grad is None else p.grad + g
+            if p.grad is None:
+                p.grad = g
+            else:
+                p.grad += g

# %% wrong_graph_freed: raised, RuntimeError, levels 0
def split_backward(out, x, gradient, parameters):
    (to_x,) = torch.autograd.grad(out, x, gradient)
    return to_x, lambda: out.backward(gradient, inputs=parameters)

# %% wrong_never: wrong, weights_never, levels 0
def split_backward(out, x, gradient, parameters):
    (to_x,) = torch.autograd.grad(out, x, gradient, retain_graph=True)
    return to_x, lambda: torch.autograd.grad(out, parameters, gradient)

# %% wrong_not_split: wrong, not_split, levels 0
def split_backward(out, x, gradient, parameters):
    out.backward(gradient)
    return x.grad, lambda: None

# %% wrong_one_after_the_other (right_two_grads): wrong, pass_for_each_parameter, levels 0
-        for p, g in zip(parameters, torch.autograd.grad(out, parameters, gradient), strict=True):
-            p.grad = g if p.grad is None else p.grad + g
+        for one in parameters:
+            (found,) = torch.autograd.grad(out, one, gradient, retain_graph=True)
+            one.grad = found if one.grad is None else one.grad + found

# %% wrong_ones: wrong, input_of_ones, levels 0
def split_backward(out, x, gradient, parameters):
    (to_x,) = torch.autograd.grad(out.sum(), x, retain_graph=True)
    return to_x, lambda: out.backward(gradient, inputs=parameters)

# %% wrong_overwrites (right_two_grads): wrong, one_micro_batch, levels 0
-            p.grad = g if p.grad is None else p.grad + g
+            p.grad = g

# %% wrong_starts_from_none (right_two_grads): wrong, drops_earlier_gradients, levels 0
 def split_backward(out, x, gradient, parameters):
+    for p in parameters:
+        p.grad = None

# %% wrong_tuple: wrong, wrong_type, levels 0
def split_backward(out, x, gradient, parameters):
    to_x = torch.autograd.grad(out, x, gradient, retain_graph=True)
    return to_x, lambda: out.backward(gradient, inputs=parameters)

# %% wrong_weight_alone: wrong, bias_forgotten, levels 0
def split_backward(out, x, gradient, parameters):
    (to_x,) = torch.autograd.grad(out, x, gradient, retain_graph=True)
    return to_x, lambda: out.backward(gradient, inputs=parameters[:1])

# %% wrong_weight_and_bias (right_two_grads): raised, ValueError, levels 0
     (to_x,) = torch.autograd.grad(out, x, gradient, retain_graph=True)
+    weight, bias = parameters
@@
-        for p, g in zip(parameters, torch.autograd.grad(out, parameters, gradient), strict=True):
-            p.grad = g if p.grad is None else p.grad + g
+        to_weight, to_bias = torch.autograd.grad(out, [weight, bias], gradient)
+        weight.grad = to_weight if weight.grad is None else weight.grad + to_weight
+        bias.grad = to_bias if bias.grad is None else bias.grad + to_bias

# %% wrong_weights_of_ones: wrong, weights_of_ones, levels 0
def split_backward(out, x, gradient, parameters):
    (to_x,) = torch.autograd.grad(out, x, gradient, retain_graph=True)
    return to_x, lambda: out.sum().backward(inputs=parameters)

# %% wrong_whole_backward_later: wrong, input_again, levels 0
def split_backward(out, x, gradient, parameters):
    (to_x,) = torch.autograd.grad(out, x, gradient, retain_graph=True)
    return to_x, lambda: out.backward(gradient)
