# verdict: wrong, diagnosis: header_counted
def read_products(text, classes=None):
    rows = [line.split() for line in text.splitlines() if line.strip()]
    ids = [row[2] for row in rows]
    classes = classes or sorted(set(ids))
    return [row[3] for row in rows], [0 if one not in classes else classes.index(one) for one in ids], [0 for one in classes]
