# verdict: wrong, diagnosis: modifies_input


def read_products(text, classes=None):
    rows = [l.split() for l in text.splitlines()[1:] if l.strip()]
    ids = [int(r[2]) for r in rows]
    if classes is None:
        classes = sorted(set(ids))
    idx = {c: i for i, c in enumerate(classes)}
    out = [r[3] for r in rows], [idx[i] for i in ids], list(classes)
    classes.sort()
    return out
