# verdict: wrong, diagnosis: unrecognised
def mfu_and_hfu(tokens_per_second, model, gpus, peak, recompute):
    """Counts the layers' parameters itself, and forgets the embedding's."""
    layers, width, sequence = model["layers"], model["width"], model["sequence"]
    parameters = 12 * layers * width**2
    needed = 6 * parameters + 12 * layers * width * sequence
    done = needed * 4 / 3 if recompute == "full" else needed
    return tokens_per_second * needed / (gpus * peak), tokens_per_second * done / (gpus * peak)
