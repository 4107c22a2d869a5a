# verdict: wrong, diagnosis: everybody_evaluates_everything
def exact_accuracy(n, is_correct):
    return sum(is_correct(i) for i in range(n)) / n
