# verdict: wrong, diagnosis: of_all_ranks
def samples_per_second(read, decode, step, workers, cores, ranks):
    if workers == 0:
        return min(ranks / (read + decode + step), cores / decode)
    return min(ranks * workers / (read + decode), cores / decode, ranks / step)
