# Right and wrong answers to `compute_optimal`. In files of their own: autograder bank --write DIR
import math

# %% right_formula: passed
def compute_optimal(flops, law, available):
    alpha, beta = law["alpha"], law["beta"]
    factor = (alpha * law["A"] / (beta * law["B"])) ** (1 / (alpha + beta))
    parameters = factor * (flops / 6) ** (beta / (alpha + beta))
    tokens = min(flops / 6 / parameters, available)
    return flops / 6 / tokens, tokens

# %% right_search: passed
# differs: No derivative: it halves the step on a logarithmic scale, and goes wherever the loss gets smaller.
def compute_optimal(flops, law, available):
    def loss(log_tokens):
        tokens = math.exp(log_tokens)
        return law["A"] / (flops / 6 / tokens) ** law["alpha"] + law["B"] / tokens ** law["beta"]

    at, step = math.log(flops) / 2, 8.0
    while step > 1e-6:
        for way in (at - step, at + step):
            if loss(way) < loss(at):
                at = way
                break
        else:
            step /= 2
    tokens = min(math.exp(at), available)
    return flops / 6 / tokens, tokens

# %% right_slopes: passed
# differs: It bisects for the number of parameters where both terms have the same slope.
def compute_optimal(flops, law, available):
    product = flops / 6
    low, high = 1.0, product
    for _ in range(200):
        n = math.sqrt(low * high)
        of_parameters = law["alpha"] * law["A"] * n ** -law["alpha"]
        of_tokens = law["beta"] * law["B"] * (product / n) ** -law["beta"]
        low, high = (n, high) if of_parameters > of_tokens else (low, n)
    tokens = product / n
    return (n, tokens) if tokens <= available else (product / available, available)

# %% right_tokens_first: passed
def compute_optimal(flops, law, available):
    whole = law["alpha"] + law["beta"]
    slopes = law["beta"] * law["B"] / (law["alpha"] * law["A"])
    tokens = slopes ** (1 / whole) * (flops / 6) ** (law["alpha"] / whole)
    if tokens > available:
        tokens = available
    return flops / (6 * tokens), tokens

# %% wrong_all_tokens (right_tokens_first): wrong, uses_all_tokens, levels 0 1
-    if tokens > available:
+    if available < math.inf:

# %% wrong_ends_at_1e12 (right_slopes): wrong, not_the_best, levels 0 1
-    low, high = 1.0, product
+    low, high = 1e6, 1e12

# %% wrong_equal_terms (right_formula): wrong, terms_equal, levels 0 1
-    factor = (alpha * law["A"] / (beta * law["B"])) ** (1 / (alpha + beta))
+    factor = (law["A"] / law["B"]) ** (1 / (alpha + beta))

# %% wrong_exponents (right_formula): wrong, exponents_swapped, levels 0 0
-    parameters = factor * (flops / 6) ** (beta / (alpha + beta))
+    parameters = factor * (flops / 6) ** (alpha / (alpha + beta))

# %% wrong_leaves_flops (right_formula): wrong, leaves_flops, levels 1 0
-    return flops / 6 / tokens, tokens
+    return parameters, tokens

# %% wrong_no_factor (right_formula): wrong, powers_alone, levels 0 0
-    parameters = factor * (flops / 6) ** (beta / (alpha + beta))
+    parameters = (flops / 6) ** (beta / (alpha + beta))

# %% wrong_no_limit (right_formula): wrong, more_than_there_are, levels 1 0
-    tokens = min(flops / 6 / parameters, available)
+    tokens = flops / 6 / parameters

# %% wrong_one_flop: wrong, forgets_the_six, levels 0 0
def compute_optimal(flops, law, available):
    alpha, beta = law["alpha"], law["beta"]
    factor = (alpha * law["A"] / (beta * law["B"])) ** (1 / (alpha + beta))
    parameters = factor * flops ** (beta / (alpha + beta))
    tokens = min(flops / parameters, available)
    return flops / tokens, tokens

# %% wrong_order (right_formula): wrong, tokens_first, levels 0 0
-    return flops / 6 / tokens, tokens
+    return tokens, flops / 6 / tokens

# %% wrong_root_of_the_slopes (right_tokens_first): wrong, not_the_best, levels 0 0
-    tokens = slopes ** (1 / whole) * (flops / 6) ** (law["alpha"] / whole)
+    tokens = slopes * (flops / 6) ** (law["alpha"] / whole)

# %% wrong_twenty: wrong, twenty_tokens, levels 0 0
def compute_optimal(flops, law, available):
    parameters = math.sqrt(flops / 120)
    return parameters, 20 * parameters

# %% wrong_two_flops (right_tokens_first): wrong, counts_forward_only, levels 0 0
-    tokens = slopes ** (1 / whole) * (flops / 6) ** (law["alpha"] / whole)
+    tokens = slopes ** (1 / whole) * (flops / 2) ** (law["alpha"] / whole)
@@
-    return flops / (6 * tokens), tokens
+    return flops / (2 * tokens), tokens

# %% wrong_upside_down (right_formula): wrong, factor_upside_down, levels 0 0
-    parameters = factor * (flops / 6) ** (beta / (alpha + beta))
+    parameters = (flops / 6) ** (beta / (alpha + beta)) / factor
