"""Holes in the cases of an exercise: right answers changed by machine, one place at a time, that still pass."""
