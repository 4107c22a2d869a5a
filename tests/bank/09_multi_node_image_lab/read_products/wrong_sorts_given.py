# verdict: wrong, diagnosis: given_sorted


def read_products(text, classes=None):
    rows = [l.split() for l in text.splitlines()[1:] if l.strip()]
    paths = [r[3] for r in rows]
    ids = [int(r[2]) for r in rows]
    order = sorted(classes if classes is not None else set(ids))
    return paths, [order.index(i) for i in ids], order
