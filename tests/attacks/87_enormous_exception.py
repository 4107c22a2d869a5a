# exercise: count_inside
# must not: flood the card with the text of an exception
# verdict: raised
def count_inside(x, y):
    def deeper(n):
        if n == 0:
            raise ValueError("x" * (8 << 20) + "\n" * 100_000)
        deeper(n - 1)

    try:
        deeper(500)
    except ValueError as error:
        raise ExceptionGroup("y" * 1000, [error] * 1000) from error
