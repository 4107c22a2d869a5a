# verdict: passed
def read_products(text, classes=None):
    paths, ids = [], []
    for line in text.strip().split("\n")[1:]:
        _, _, super_class, path = line.split(" ")
        paths.append(path)
        ids.append(int(super_class))
    classes = classes or sorted(set(ids))
    label_of = {one: label for label, one in enumerate(classes)}
    return paths, [label_of[one] for one in ids], classes
