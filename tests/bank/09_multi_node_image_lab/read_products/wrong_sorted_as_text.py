# verdict: wrong, diagnosis: sorted_as_text
def read_products(text, classes=None):
    rows = [line.split() for line in text.splitlines()[1:] if line.strip()]
    ids = [int(row[2]) for row in rows]
    classes = classes or [int(one) for one in sorted({row[2] for row in rows})]
    return [row[3] for row in rows], [classes.index(one) for one in ids], classes
