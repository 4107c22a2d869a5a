"""Inputs that an exercise's text allows, drawn with a preference for its edges, and what answers say to them.

Two sources. `drawn_cases` is a strategy for every exercise: its own cases, whose values come from a generator that
likes edges (`generator`). A unit's `inputs.py` adds strategies for what these cases hold fixed: the number of
ranks, sizes, special values (`INPUTS`, function -> strategy of cases). `search` holds right answers against each other
on what was drawn, and looks for an input that tells a wrong answer from them; `edges` says which edges a case holds.
"""
