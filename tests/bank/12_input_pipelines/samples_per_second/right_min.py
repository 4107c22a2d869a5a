# verdict: passed
# differs: It compares rates, where the other way compares times: the smallest rate is the longest time.
def samples_per_second(read, decode, step, workers, cores, ranks):
    if workers == 0:
        return min(1 / (read + decode + step), cores / (ranks * decode))
    return min(workers / (read + decode), cores / ranks / decode, 1 / step)
