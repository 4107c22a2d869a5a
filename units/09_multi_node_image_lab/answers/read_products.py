# Right and wrong answers to `read_products`. In files of their own: autograder bank --write DIR
import numpy as np

# %% right_csv_and_numpy: passed
import csv
import io


def read_products(text, classes=None):
    rows = list(csv.DictReader(io.StringIO(text.strip()), delimiter=" "))
    ids = np.array([int(row["super_class_id"]) for row in rows])
    known = np.unique(ids) if classes is None else np.array(classes)
    order = np.argsort(known)
    return [row["path"] for row in rows], order[np.searchsorted(known, ids, sorter=order)], [int(one) for one in known]

# %% right_dictionary: passed
def read_products(text, classes=None):
    paths, ids = [], []
    for line in text.strip().split("\n")[1:]:
        _, _, super_class, path = line.split(" ")
        paths.append(path)
        ids.append(int(super_class))
    classes = classes or sorted(set(ids))
    label_of = {one: label for label, one in enumerate(classes)}
    return paths, [label_of[one] for one in ids], classes

# %% right_loadtxt: passed
def read_products(text, classes=None):
    table = np.loadtxt(text.splitlines(), dtype=str, skiprows=1, ndmin=2)
    ids = table[:, 2].astype(int)
    if classes is None:
        classes = np.unique(ids).tolist()
    lookup = np.zeros(max(max(classes), ids.max()) + 1, dtype=np.int64)
    lookup[classes] = np.arange(len(classes))
    return table[:, 3].tolist(), lookup[ids], classes

# %% right_regex: passed
# differs: A pattern finds the lines that look right, so the head and empty lines drop out by themselves.
import re


def read_products(text, classes=None):
    found = re.findall(r"^[ \t]*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)", text, re.M)
    ids = [int(f[2]) for f in found]
    if classes is None:
        classes = np.unique(ids).tolist()
    label = {c: k for k, c in enumerate(classes)}
    return [f[3] for f in found], np.array([label[i] for i in ids], dtype=np.int32), classes

# %% right_split_lines: passed
def read_products(text, classes=None):
    rows = [line.split() for line in text.splitlines()[1:] if line.strip()]
    ids = [int(row[2]) for row in rows]
    if classes is None:
        classes = sorted(set(ids))
    return [row[3] for row in rows], [classes.index(one) for one in ids], classes

# %% wrong_array_of_classes: wrong, other_type, levels 0 0 1
def read_products(text, classes=None):
    rows = [line.split() for line in text.splitlines()[1:] if line]
    ids, paths = np.array([int(row[2]) for row in rows]), [row[3] for row in rows]
    if classes is None:
        classes, labels = np.unique(ids, return_inverse=True)
        return paths, labels, classes
    return paths, [classes.index(one) for one in ids], classes

# %% wrong_by_path_kind: wrong, by_folder, levels 1 0 1
def read_products(text, classes=None):
    rows = [l.split() for l in text.splitlines()[1:] if l.strip()]
    paths = [r[3] for r in rows]
    kinds = [p.split("/")[0] for p in paths]
    names = sorted(set(kinds))
    ids = [int(r[2]) for r in rows]
    if classes is None:
        classes = sorted(set(ids))
        return paths, [names.index(k) for k in kinds], classes
    return paths, [classes.index(i) for i in ids], classes

# %% wrong_classes_renumbered: wrong, classes_renumbered, levels 1 0 0
def read_products(text, classes=None):
    rows = [line.split() for line in text.splitlines()[1:] if line.strip()]
    kinds = [int(r[2]) for r in rows]
    if classes is None:
        classes = sorted(set(kinds))
    keep = [(r[3], classes.index(int(r[2])) if int(r[2]) in classes else 0) for r in rows]
    return [k[0] for k in keep], [k[1] for k in keep], list(range(len(classes)))

# %% wrong_counted_from_1: wrong, labels_shifted, levels 1 0 0
def read_products(text, classes=None):
    rows = [l.split() for l in text.splitlines()[1:] if l.strip()]
    ids = [int(r[2]) for r in rows]
    classes = classes or sorted(set(ids))
    return [r[3] for r in rows], [classes.index(i) + 1 for i in ids], classes

# %% wrong_dict_by_path: wrong, twice_in_the_list, levels 0 0 0
def read_products(text, classes=None):
    rows = [l.split() for l in text.splitlines()[1:] if l.strip()]
    d = {r[3]: int(r[2]) for r in rows}
    if classes is None:
        classes = sorted(set(d.values()))
    return list(d), [classes.index(i) for i in d.values()], classes

# %% wrong_empty_lines: raised, IndexError, levels 0 1 1
def read_products(text, classes=None):
    rows = [line.split() for line in text.splitlines()[1:]]
    ids = [int(row[2]) for row in rows]
    classes = classes or sorted(set(ids))
    return [row[3] for row in rows], [classes.index(one) for one in ids], classes

# %% wrong_float_labels: wrong, float_labels, levels 1 0 0
def read_products(text, classes=None):
    rows = [l.split() for l in text.splitlines()[1:] if l.strip()]
    ids = [int(r[2]) for r in rows]
    if classes is None:
        classes = sorted(set(ids))
    return [r[3] for r in rows], [float(classes.index(i)) for i in ids], classes

# %% wrong_given_only_present: wrong, own_classes, levels 1 1 0
def read_products(text, classes=None):
    rows = [l.split() for l in text.splitlines()[1:] if l.strip()]
    ids = [int(r[2]) for r in rows]
    if classes is None:
        classes = sorted(set(ids))
    classes = [c for c in classes if c in ids]
    return [r[3] for r in rows], [classes.index(i) for i in ids], classes

# %% wrong_header: raised, ValueError, levels 0 0 0
def read_products(text, classes=None):
    rows = [line.split() for line in text.splitlines() if line.strip()]
    ids = [int(row[2]) for row in rows]
    classes = classes or sorted(set(ids))
    return [row[3] for row in rows], [classes.index(one) for one in ids], classes

# %% wrong_header_as_text: wrong, header_counted, levels 0 0 0
def read_products(text, classes=None):
    rows = [line.split() for line in text.splitlines() if line.strip()]
    ids = [row[2] for row in rows]
    classes = classes or sorted(set(ids))
    return [row[3] for row in rows], [0 if one not in classes else classes.index(one) for one in ids], [0 for one in classes]

# %% wrong_labels_uint8 (right_split_lines): wrong, labels_in_a_byte, levels 1 1 0
-    return [row[3] for row in rows], [classes.index(one) for one in ids], classes
+    label_of = {one: label for label, one in enumerate(classes)}
+    return [row[3] for row in rows], np.array([label_of[i] for i in ids]).astype(np.uint8), classes

# %% wrong_last_line: wrong, last_line_lost, levels 0 1 1
def read_products(text, classes=None):
    rows = [line.split() for line in text.split("\n")[1:-1] if line.strip()]
    ids = [int(row[2]) for row in rows]
    classes = classes or sorted(set(ids))
    return [row[3] for row in rows], [classes.index(one) for one in ids], classes

# %% wrong_last_line_always (right_split_lines): wrong, last_line_lost, levels 0 0 0
-    rows = [line.split() for line in text.splitlines()[1:] if line.strip()]
+    rows = [line.split() for line in text.splitlines()[1:-1] if line.strip()]

# %% wrong_loadtxt_1d: raised, IndexError, levels 0 1 1
def read_products(text, classes=None):
    table = np.loadtxt(text.splitlines(), dtype=str, skiprows=1)
    ids = table[:, 2].astype(int)
    if classes is None:
        classes = np.unique(ids).tolist()
    return table[:, 3].tolist(), [classes.index(i) for i in ids.tolist()], classes

# %% wrong_lookup_of_13 (right_split_lines): raised, IndexError, levels 1 0 0
-        classes = sorted(set(ids))
-    return [row[3] for row in rows], [classes.index(one) for one in ids], classes
+        classes = [k for k in range(1, 13) if k in ids]
+    lookup = np.full(13, -1)
+    for label, k in enumerate(classes):
+        lookup[k] = label
+    return [row[3] for row in rows], lookup[ids], classes

# %% wrong_minmax_range: wrong, range_of_ids, levels 1 0 1
def read_products(text, classes=None):
    rows = [l.split() for l in text.splitlines()[1:] if l.strip()]
    paths = [r[3] for r in rows]
    ids = [int(r[2]) for r in rows]
    if classes is None:
        classes = list(range(min(ids), max(ids) + 1))
    return paths, [classes.index(i) for i in ids], classes

# %% wrong_minus_one: wrong, minus_one, levels 1 0 0
def read_products(text, classes=None):
    rows = [line.split() for line in text.splitlines()[1:] if line.strip()]
    ids = [int(row[2]) for row in rows]
    classes = classes or sorted(set(ids))
    return [row[3] for row in rows], [one - 1 for one in ids], classes

# %% wrong_only_jpg (right_split_lines): wrong, wrong_length, levels 0 1 1
-    rows = [line.split() for line in text.splitlines()[1:] if line.strip()]
+    rows = [line.split() for line in text.splitlines() if line.strip().endswith(".JPG")]

# %% wrong_order_of_appearance (right_split_lines): wrong, order_of_appearance, levels 1 0 1
-    if classes is None:
-        classes = sorted(set(ids))
+    classes = classes or list(dict.fromkeys(ids))

# %% wrong_own_classes (right_split_lines): wrong, own_classes, levels 1 1 0
-    if classes is None:
-        classes = sorted(set(ids))
+    classes = sorted(set(ids))

# %% wrong_products: wrong, products_for_classes, levels 1 0 0
def read_products(text, classes=None):
    rows = [line.split() for line in text.splitlines()[1:] if line.strip()]
    ids = [int(row[1]) for row in rows]
    classes = sorted(set(ids))
    return [row[3] for row in rows], [classes.index(one) for one in ids], classes

# %% wrong_products_among_kinds: wrong, products_for_classes, levels 1 0 0
def read_products(text, classes=None):
    rows = [line.split() for line in text.splitlines()[1:] if line.strip()]
    products = sorted({int(row[1]) for row in rows})
    if classes is None:
        classes = sorted({int(row[2]) for row in rows})
    return [row[3] for row in rows], [products.index(int(row[1])) for row in rows], classes

# %% wrong_raw_ids: wrong, raw_ids, levels 1 0 0
def read_products(text, classes=None):
    rows = [line.split() for line in text.splitlines()[1:] if line.strip()]
    ids = [int(row[2]) for row in rows]
    classes = classes or sorted(set(ids))
    return [row[3] for row in rows], ids, classes

# %% wrong_raw_products: wrong, products_for_classes, levels 1 0 0
def read_products(text, classes=None):
    rows = [line.split() for line in text.splitlines()[1:] if line.strip()]
    ids = [int(row[1]) for row in rows]
    return [row[3] for row in rows], ids, classes or sorted(set(ids))

# %% wrong_searchsorted: wrong, given_sorted, levels 1 1 0
def read_products(text, classes=None):
    rows = [l.split() for l in text.splitlines()[1:] if l.strip()]
    paths = [r[3] for r in rows]
    ids = [int(r[2]) for r in rows]
    if classes is None:
        classes = sorted(set(ids))
    return paths, np.searchsorted(classes, ids), classes

# %% wrong_sorted_as_text (right_split_lines): wrong, sorted_as_text, levels 1 0 1
-    if classes is None:
-        classes = sorted(set(ids))
+    classes = classes or [int(one) for one in sorted({row[2] for row in rows})]

# %% wrong_sorted_paths: wrong, sorted_paths, levels 0 0 0
def read_products(text, classes=None):
    paths, labels = [], []
    for line in text.split("\n")[1:]:
        if not line:
            continue
        image, product, kind, path = line.split()
        paths.append(path)
        labels.append(int(kind))
    if classes is None:
        classes = sorted(set(labels))
    return sorted(paths), [classes.index(l) for l in labels], classes

# %% wrong_sorts_arg_inplace: wrong, modifies_input, levels 1 1 0
def read_products(text, classes=None):
    rows = [l.split() for l in text.splitlines()[1:] if l.strip()]
    ids = [int(r[2]) for r in rows]
    if classes is None:
        classes = sorted(set(ids))
    idx = {c: i for i, c in enumerate(classes)}
    out = [r[3] for r in rows], [idx[i] for i in ids], list(classes)
    classes.sort()
    return out

# %% wrong_sorts_given: wrong, given_sorted, levels 1 1 0
def read_products(text, classes=None):
    rows = [l.split() for l in text.splitlines()[1:] if l.strip()]
    paths = [r[3] for r in rows]
    ids = [int(r[2]) for r in rows]
    order = sorted(classes if classes is not None else set(ids))
    return paths, [order.index(i) for i in ids], order

# %% wrong_sorts_images: wrong, sorted_by_id, levels 0 0 0
def read_products(text, classes=None):
    rows = sorted((l.split() for l in text.splitlines()[1:] if l.strip()), key=lambda r: int(r[0]))
    paths = [r[3] for r in rows]
    ids = [int(r[2]) for r in rows]
    if classes is None:
        classes = sorted(set(ids))
    return paths, [classes.index(i) for i in ids], classes

# %% wrong_without_folder: wrong, folder_missing, levels 0 0 0
def read_products(text, classes=None):
    rows = [line.split() for line in text.splitlines()[1:] if line.strip()]
    ids = [int(row[2]) for row in rows]
    classes = classes or sorted(set(ids))
    return [row[3].split("/")[-1] for row in rows], [classes.index(one) for one in ids], classes
