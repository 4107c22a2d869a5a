# verdict: wrong, diagnosis: no_root
def young_interval(save, mtbf, machines):
    return 2 * save * mtbf / machines
