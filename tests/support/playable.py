"""What the bank's answers to exercises of a page have to get there."""

from autograder.judging import bank

NEEDS_NUMPY = {
    "fair_share": {"right_array_split", "right_linspace"},
    "partition": {"right_brute", "wrong_an_array"},
    "step_bytes": {"right_numpy", "wrong_all_lanes_like_the_first", "wrong_dp_innermost", "wrong_whole_bytes"},
}


def needs_numpy(answer: bank.BankAnswer) -> bool:
    """True for an answer that a page cannot judge."""
    return answer.name in NEEDS_NUMPY.get(answer.exercise.function, ())


def declared(answer: bank.BankAnswer) -> list:
    """Verdict, diagnosis and levels of an answer, as its head says; the levels None where nobody has recorded them."""
    levels = [True] * len(answer.exercise.levels) if answer.right else answer.levels
    return [answer.verdict, answer.diagnosis, None if levels is None else list(levels)]
