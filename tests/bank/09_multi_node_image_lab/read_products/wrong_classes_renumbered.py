# verdict: wrong, diagnosis: classes_renumbered
def read_products(text, classes=None):
    rows = [line.split() for line in text.splitlines()[1:] if line.strip()]
    kinds = [int(r[2]) for r in rows]
    if classes is None:
        classes = sorted(set(kinds))
    keep = [(r[3], classes.index(int(r[2])) if int(r[2]) in classes else 0) for r in rows]
    return [k[0] for k in keep], [k[1] for k in keep], list(range(len(classes)))
