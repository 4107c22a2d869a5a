# verdict: wrong, diagnosis: range_of_ids


def read_products(text, classes=None):
    rows = [l.split() for l in text.splitlines()[1:] if l.strip()]
    paths = [r[3] for r in rows]
    ids = [int(r[2]) for r in rows]
    if classes is None:
        classes = list(range(min(ids), max(ids) + 1))
    return paths, [classes.index(i) for i in ids], classes
