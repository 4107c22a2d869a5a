# verdict: wrong, diagnosis: sorted_paths
def read_products(text, classes=None):
    paths, labels = [], []
    for line in text.split("\n")[1:]:
        if not line:
            continue
        image, product, kind, path = line.split()
        paths.append(path)
        labels.append(int(kind))
    if classes is None:
        classes = sorted(set(labels))
    return sorted(paths), [classes.index(l) for l in labels], classes
