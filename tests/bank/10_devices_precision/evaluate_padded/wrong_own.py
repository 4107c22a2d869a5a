# verdict: wrong, diagnosis: own_only
def evaluate_padded(predictions, labels, indices, n):
    return (predictions == labels).double().mean().item()
