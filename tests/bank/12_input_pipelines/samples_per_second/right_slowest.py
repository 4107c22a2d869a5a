# verdict: passed
def samples_per_second(read, decode, step, workers, cores, ranks):
    seconds = [decode * ranks / cores]
    seconds += [(read + decode) / workers, step] if workers else [read + decode + step]
    return 1 / max(seconds)
