# verdict: wrong, diagnosis: by_folder


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
