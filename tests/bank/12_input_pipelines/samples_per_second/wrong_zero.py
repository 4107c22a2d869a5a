# verdict: wrong, diagnosis: divides_by_none
def samples_per_second(read, decode, step, workers, cores, ranks):
    return min(workers / (read + decode), cores / (ranks * decode), 1 / step)
