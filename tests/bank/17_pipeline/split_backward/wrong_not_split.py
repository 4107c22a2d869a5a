# verdict: wrong, diagnosis: not_split
def split_backward(out, x, gradient, parameters):
    out.backward(gradient)
    return x.grad, lambda: None
