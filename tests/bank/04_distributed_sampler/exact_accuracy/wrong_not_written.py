# verdict: missing, diagnosis: not_written
def exact_accuracy(n, is_correct):
    raise NotImplementedError("write this function")
