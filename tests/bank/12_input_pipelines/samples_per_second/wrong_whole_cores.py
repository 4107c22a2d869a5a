# verdict: wrong, diagnosis: whole_cores
def samples_per_second(read, decode, step, workers, cores, ranks):
    mine = max(cores // ranks, 1)
    if workers == 0:
        return min(1 / (read + decode + step), mine / decode)
    return min(workers / (read + decode), mine / decode, 1 / step)
