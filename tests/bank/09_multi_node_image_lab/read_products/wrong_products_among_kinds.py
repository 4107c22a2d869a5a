# verdict: wrong, diagnosis: products_for_classes
def read_products(text, classes=None):
    rows = [line.split() for line in text.splitlines()[1:] if line.strip()]
    products = sorted({int(row[1]) for row in rows})
    if classes is None:
        classes = sorted({int(row[2]) for row in rows})
    return [row[3] for row in rows], [products.index(int(row[1])) for row in rows], classes
