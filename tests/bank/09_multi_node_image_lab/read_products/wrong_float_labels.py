# verdict: wrong, diagnosis: float_labels


def read_products(text, classes=None):
    rows = [l.split() for l in text.splitlines()[1:] if l.strip()]
    ids = [int(r[2]) for r in rows]
    if classes is None:
        classes = sorted(set(ids))
    return [r[3] for r in rows], [float(classes.index(i)) for i in ids], classes
