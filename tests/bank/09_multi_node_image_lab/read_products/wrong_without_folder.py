# verdict: wrong, diagnosis: folder_missing
def read_products(text, classes=None):
    rows = [line.split() for line in text.splitlines()[1:] if line.strip()]
    ids = [int(row[2]) for row in rows]
    classes = classes or sorted(set(ids))
    return [row[3].split("/")[-1] for row in rows], [classes.index(one) for one in ids], classes
