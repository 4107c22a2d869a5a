# verdict: passed
import functools


def split_backward(out, x, gradient, parameters):
    out.backward(gradient, inputs=[x], retain_graph=True)
    return x.grad, functools.partial(out.backward, gradient, inputs=parameters)
