# verdict: wrong, diagnosis: minus_one
def read_products(text, classes=None):
    rows = [line.split() for line in text.splitlines()[1:] if line.strip()]
    ids = [int(row[2]) for row in rows]
    classes = classes or sorted(set(ids))
    return [row[3] for row in rows], [one - 1 for one in ids], classes
