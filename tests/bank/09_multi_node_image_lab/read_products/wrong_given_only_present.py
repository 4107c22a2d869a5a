# verdict: wrong, diagnosis: own_classes


def read_products(text, classes=None):
    rows = [l.split() for l in text.splitlines()[1:] if l.strip()]
    ids = [int(r[2]) for r in rows]
    if classes is None:
        classes = sorted(set(ids))
    classes = [c for c in classes if c in ids]
    return [r[3] for r in rows], [classes.index(i) for i in ids], classes
