# verdict: wrong, diagnosis: products_for_classes
def read_products(text, classes=None):
    rows = [line.split() for line in text.splitlines()[1:] if line.strip()]
    ids = [int(row[1]) for row in rows]
    return [row[3] for row in rows], ids, classes or sorted(set(ids))
