"""`make gpu-check`: what the course says about GPUs, tried on the GPUs of this machine. docs/gpu.md explains each row.

torch and numpy are all it needs, and of labkit what needs no more. `cli` starts the checks one after the other, each in
processes of its own (`workers`); a check is a module with a generator `rows`, which yields a `table.Row` for everything
it has found, on every rank alike. `table` knows how rows are shown and written.
"""
