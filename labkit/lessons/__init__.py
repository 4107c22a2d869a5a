"""The machinery that a page is given and a student need not read. Each module says which unit uses it.

The lesson's idea stands in the page; here lie measurements, models on shards, counters, networks of virtual time,
published numbers and what arranges results for a figure. No answer to an exercise does: where one is needed, the page
hands it in.
"""
