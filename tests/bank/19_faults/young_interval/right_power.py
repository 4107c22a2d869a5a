# verdict: passed
# differs: The root is written as a power; machines divide the time between failures.
def young_interval(save, mtbf, machines):
    return (2 * save * (mtbf / machines)) ** 0.5
