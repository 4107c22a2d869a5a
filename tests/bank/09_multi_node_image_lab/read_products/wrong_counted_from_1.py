# verdict: wrong, diagnosis: labels_shifted
def read_products(text, classes=None):
    rows = [l.split() for l in text.splitlines()[1:] if l.strip()]
    ids = [int(r[2]) for r in rows]
    classes = classes or sorted(set(ids))
    return [r[3] for r in rows], [classes.index(i) + 1 for i in ids], classes
