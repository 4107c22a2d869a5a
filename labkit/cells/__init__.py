"""Notebook cells as source: which of them a function needs, which of them ran."""
