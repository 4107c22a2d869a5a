# verdict: passed
def young_interval(save, mtbf, machines):
    return (2 * save * (mtbf / machines)) ** 0.5
