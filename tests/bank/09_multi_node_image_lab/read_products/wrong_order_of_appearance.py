# verdict: wrong, diagnosis: order_of_appearance
def read_products(text, classes=None):
    rows = [line.split() for line in text.splitlines()[1:] if line.strip()]
    ids = [int(row[2]) for row in rows]
    classes = classes or list(dict.fromkeys(ids))
    return [row[3] for row in rows], [classes.index(one) for one in ids], classes
