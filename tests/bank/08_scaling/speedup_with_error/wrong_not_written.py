# verdict: missing, diagnosis: not_written
def speedup_with_error(baseline_seconds, parallel_seconds):
    raise NotImplementedError()
