# verdict: wrong, diagnosis: own_only



def row_linear(x, weight, bias):
    y = x @ weight.T
    return y if bias is None else y + bias
