# verdict: wrong, diagnosis: last_line_lost
def read_products(text, classes=None):
    rows = [line.split() for line in text.splitlines()[1:-1] if line.strip()]
    ids = [int(row[2]) for row in rows]
    if classes is None:
        classes = sorted(set(ids))
    return [row[3] for row in rows], [classes.index(one) for one in ids], classes
