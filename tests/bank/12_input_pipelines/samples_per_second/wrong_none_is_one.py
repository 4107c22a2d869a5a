# verdict: wrong, diagnosis: none_is_one
def samples_per_second(read, decode, step, workers, cores, ranks):
    return min(max(workers, 1) / (read + decode), cores / (ranks * decode), 1 / step)
