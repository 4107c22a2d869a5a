"""What the bank's answers to exercises of a page have to get there."""

import re

from autograder.judging import bank


def needs_packages(answer: bank.BankAnswer) -> bool:
    """True for an answer that a page cannot judge."""
    return bool(re.search(r"\bnp\.|\bnumpy\b|\btorch\b", answer.source))


def declared(answer: bank.BankAnswer) -> list:
    """Verdict, diagnosis and levels of an answer, as its head says; the levels None where nobody has recorded them."""
    levels = [True] * len(answer.exercise.levels) if answer.right else answer.levels
    return [answer.verdict, answer.diagnosis, None if levels is None else list(levels)]
