# verdict: wrong, diagnosis: sorted_by_id


def read_products(text, classes=None):
    rows = sorted((l.split() for l in text.splitlines()[1:] if l.strip()), key=lambda r: int(r[0]))
    paths = [r[3] for r in rows]
    ids = [int(r[2]) for r in rows]
    if classes is None:
        classes = sorted(set(ids))
    return paths, [classes.index(i) for i in ids], classes
