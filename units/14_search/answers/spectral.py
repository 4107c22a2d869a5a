# Right and wrong answers to `spectral`. In files of their own: autograder bank --write DIR
import itertools
import numpy as np
from itertools import combinations

# %% right_everything_first: passed
# differs: All coefficients are fitted at once, and the largest again: what thresholding the means is a shortcut for.
def spectral(x, y, degree, s):
    names, columns = [], []
    for d in range(degree + 1):
        for subset in itertools.combinations(range(len(x[0])), d):
            names.append(subset)
            column = np.ones(len(y))
            for k in subset:
                column = column * x[:, k]
            columns.append(column)
    features = np.array(columns).T
    rough, *_ = np.linalg.lstsq(features, y, rcond=None)
    largest = np.argsort(np.abs(rough))[::-1][:s]
    fine, *_ = np.linalg.lstsq(features[:, largest], y, rcond=None)
    pairs = [(names[k], c) for k, c in zip(largest, fine)]
    return sorted(pairs, key=lambda pair: -abs(pair[1]))

# %% right_one_after_the_other: passed
from itertools import chain, combinations


def spectral(x, y, degree, s):
    """Orthogonal matching pursuit: the set that explains most of what is left, and all are fitted again."""
    columns = range(x.shape[1])
    sets = list(chain.from_iterable(combinations(columns, d) for d in range(degree + 1)))
    table = np.array([np.prod(x[:, one], axis=1) for one in sets]).T
    chosen, rest = [], y
    for _ in range(s):
        chosen.append(int(np.abs(table.T @ rest).argmax()))
        part = table[:, chosen]
        found = np.linalg.solve(part.T @ part, part.T @ y)
        rest = y - part @ found
    return sorted(((sets[k], float(c)) for k, c in zip(chosen, found)), key=lambda one: -abs(one[1]))

# %% right_thresholding: passed
def spectral(x, y, degree, s):
    sets = [one for d in range(0, degree + 1) for one in combinations(range(x.shape[1]), d)]
    table = np.stack([x[:, list(one)].prod(axis=1) for one in sets], axis=1)
    means = table.T @ y / len(y)
    chosen = np.argsort(-np.abs(means))[:s]
    found = np.linalg.lstsq(table[:, chosen], y, rcond=None)[0]
    order = np.argsort(-np.abs(found))
    return [(sets[chosen[k]], found[k]) for k in order]

# %% wrong_a_dict (right_one_after_the_other): wrong, other_type, levels 0 0
-    return sorted(((sets[k], float(c)) for k, c in zip(chosen, found)), key=lambda one: -abs(one[1]))
+    return dict(sorted(((sets[k], float(c)) for k, c in zip(chosen, found)), key=lambda one: -abs(one[1])))

# %% wrong_all_sets (right_thresholding): wrong, not_products, levels 0 0
-    chosen = np.argsort(-np.abs(means))[:s]
+    chosen = np.argsort(-np.abs(means))

# %% wrong_all_together: wrong, fitted_with_all, levels 1 0
def spectral(x, y, degree, s):
    sets = [one for d in range(degree + 1) for one in combinations(range(x.shape[1]), d)]
    table = np.column_stack([np.prod(x[:, one], axis=1) for one in sets])
    found = np.linalg.lstsq(table, y, rcond=None)[0]
    return [(sets[k], found[k]) for k in np.argsort(-abs(found))[:s]]

# %% wrong_ascending (right_thresholding): wrong, smallest_first, levels 0 0
-    order = np.argsort(-np.abs(found))
+    order = np.argsort(np.abs(found))

# %% wrong_constant_always: wrong, constant_always, levels 0 0
def spectral(x, y, degree, s):
    sets = [c for d in range(degree + 1) for c in combinations(range(x.shape[1]), d)]
    columns = np.stack([x[:, list(c)].prod(axis=1) for c in sets], axis=1)
    score = np.abs(columns.T @ y)
    score[0] = np.inf
    best = np.argsort(-score, kind="stable")[:s]
    fit = np.linalg.lstsq(columns[:, best], y, rcond=None)[0]
    order = np.argsort(-np.abs(fit), kind="stable")
    return [(sets[best[i]], float(fit[i])) for i in order]

# %% wrong_degree_at_least_one: wrong, too_many_columns, levels 1 0
def spectral(x, y, degree, s):
    degree = max(degree, 1)
    sets = [c for d in range(degree + 1) for c in combinations(range(x.shape[1]), d)]
    columns = np.stack([x[:, list(c)].prod(axis=1) for c in sets], axis=1)
    best = np.argsort(-np.abs(columns.T @ y), kind="stable")[:s]
    fit = np.linalg.lstsq(columns[:, best], y, rcond=None)[0]
    order = np.argsort(-np.abs(fit), kind="stable")
    return [(sets[best[i]], float(fit[i])) for i in order]

# %% wrong_degree_left_out: wrong, degree_left_out, levels 0 0
def spectral(x, y, degree, s):
    sets = [S for k in range(max(1, degree)) for S in combinations(range(x.shape[1]), k)]
    A = np.stack([np.prod(x[:, list(S)], axis=1) for S in sets], axis=1)
    keep = np.argsort(-np.abs(A.T @ y))[:s]
    c = np.linalg.lstsq(A[:, keep], y, rcond=None)[0]
    pairs = [(sets[j], float(v)) for j, v in zip(keep, c)]
    return sorted(pairs, key=lambda p: -abs(p[1]))

# %% wrong_fitted_with_a_constant: wrong, fitted_with_a_constant, levels 1 0
def spectral(x, y, degree, s):
    sets = [c for d in range(degree + 1) for c in combinations(range(x.shape[1]), d)]
    columns = np.stack([x[:, list(c)].prod(axis=1) for c in sets], axis=1)
    best = list(np.argsort(-np.abs(columns.T @ y), kind="stable")[:s])
    if 0 not in best:
        best.append(0)
    fit = np.linalg.lstsq(columns[:, best], y, rcond=None)[0]
    order = np.argsort(-np.abs(fit), kind="stable")
    found = [(sets[best[i]], float(fit[i])) for i in order]
    return found[:s]

# %% wrong_frozensets: wrong, wrong_type, levels 0 0
def spectral(x, y, degree, s):
    sets = [one for d in range(degree + 1) for one in combinations(range(x.shape[1]), d)]
    table = np.stack([x[:, list(one)].prod(axis=1) for one in sets], axis=1)
    chosen = np.argsort(-np.abs(table.T @ y))[:s]
    found = np.linalg.lstsq(table[:, chosen], y, rcond=None)[0]
    pairs = [(frozenset(sets[k]), float(c)) for k, c in zip(chosen, found, strict=True)]
    return sorted(pairs, key=lambda pair: -abs(pair[1]))

# %% wrong_means (right_thresholding): wrong, not_fitted_again, levels 0 0
-    found = np.linalg.lstsq(table[:, chosen], y, rcond=None)[0]
+    found = means[chosen]

# %% wrong_no_constant (right_thresholding): wrong, no_constant, levels 0 0
-    sets = [one for d in range(0, degree + 1) for one in combinations(range(x.shape[1]), d)]
+    sets = [one for d in range(1, degree + 1) for one in combinations(range(x.shape[1]), d)]

# %% wrong_one_column_too_many (right_everything_first): wrong, too_many_columns, levels 1 0
-    for d in range(degree + 1):
+    for d in range(degree + 2):

# %% wrong_order_of_means (right_thresholding): wrong, order_of_the_first_look, levels 0 1
-    order = np.argsort(-np.abs(found))
-    return [(sets[chosen[k]], found[k]) for k in order]
+    return [(sets[k], float(c)) for k, c in zip(chosen, found)]

# %% wrong_order_of_the_fit_with_all (right_everything_first): wrong, order_of_the_fit_with_all, levels 1 0
-    return sorted(pairs, key=lambda pair: -abs(pair[1]))
+    return pairs

# %% wrong_products_in_integers: wrong, unrecognised, levels 0 1
def spectral(x, y, degree, s):
    sets = [S for k in range(degree + 1) for S in combinations(range(x.shape[1]), k)]
    A = np.stack([np.prod(x[:, list(S)], axis=1) for S in sets], axis=1)
    weighted = np.empty_like(A)
    weighted[:] = A * y[:, None]
    keep = np.argsort(-np.abs(weighted.mean(axis=0)))[:s]
    c = np.linalg.lstsq(A[:, keep].astype(float), y, rcond=None)[0]
    pairs = [(sets[j], float(v)) for j, v in zip(keep, c)]
    return sorted(pairs, key=lambda p: -abs(p[1]))

# %% wrong_signed (right_thresholding): wrong, largest_not_in_magnitude, levels 0 0
-    chosen = np.argsort(-np.abs(means))[:s]
+    chosen = np.argsort(-means)[:s]

# %% wrong_signs_count: wrong, largest_not_in_magnitude, levels 0 0
def spectral(x, y, degree, s):
    sets = [S for k in range(degree + 1) for S in combinations(range(x.shape[1]), k)]
    A = np.stack([np.prod(x[:, list(S)], axis=1) for S in sets], axis=1)
    keep = np.argsort(-(A.T @ y))[:s]
    c = np.linalg.lstsq(A[:, keep], y, rcond=None)[0]
    pairs = [(sets[j], float(v)) for j, v in zip(keep, c)]
    return sorted(pairs, key=lambda p: -p[1])

# %% wrong_signs_in_the_order: wrong, signs_in_the_order, levels 0 0
def spectral(x, y, degree, s):
    sets = [S for k in range(degree + 1) for S in combinations(range(x.shape[1]), k)]
    A = np.stack([np.prod(x[:, list(S)], axis=1) for S in sets], axis=1)
    keep = np.argsort(-np.abs(A.T @ y))[:s]
    c = np.linalg.lstsq(A[:, keep], y, rcond=None)[0]
    pairs = [(sets[j], float(v)) for j, v in zip(keep, c)]
    return sorted(pairs, key=lambda p: -p[1])

# %% wrong_single (right_thresholding): wrong, single_choices_only, levels 0 0
-    sets = [one for d in range(0, degree + 1) for one in combinations(range(x.shape[1]), d)]
+    sets = [one for d in range(0, 1 + 1) for one in combinations(range(x.shape[1]), d)]

# %% wrong_small_ones_dropped: wrong, not_products, levels 0 1
def spectral(x, y, degree, s):
    sets = [one for d in range(degree + 1) for one in combinations(range(x.shape[1]), d)]
    table = np.stack([x[:, list(one)].prod(axis=1) for one in sets], axis=1)
    means = table.T @ y / len(y)
    chosen = [k for k in np.argsort(-np.abs(means))[:s] if abs(means[k]) > 1e-2]
    found = np.linalg.lstsq(table[:, chosen], y, rcond=None)[0]
    order = np.argsort(-np.abs(found))
    return [(sets[chosen[k]], float(found[k])) for k in order]

# %% wrong_three_columns_at_most: wrong, degree_left_out, levels 0 1
def spectral(x, y, degree, s):
    n = x.shape[1]
    sets = [()]
    if degree >= 1:
        sets += [(i,) for i in range(n)]
    if degree >= 2:
        sets += [(i, j) for i in range(n) for j in range(i + 1, n)]
    if degree >= 3:
        sets += [(i, j, k) for i in range(n) for j in range(i + 1, n) for k in range(j + 1, n)]
    table = np.stack([x[:, list(one)].prod(axis=1) for one in sets], axis=1)
    chosen = np.argsort(-np.abs(table.T @ y))[:s]
    found = np.linalg.lstsq(table[:, chosen], y, rcond=None)[0]
    order = np.argsort(-np.abs(found))
    return [(sets[chosen[k]], float(found[k])) for k in order]
