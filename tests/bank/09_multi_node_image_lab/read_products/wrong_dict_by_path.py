# verdict: wrong, diagnosis: twice_in_the_list


def read_products(text, classes=None):
    rows = [l.split() for l in text.splitlines()[1:] if l.strip()]
    d = {r[3]: int(r[2]) for r in rows}
    if classes is None:
        classes = sorted(set(d.values()))
    return list(d), [classes.index(i) for i in d.values()], classes
