"""Parts of lessons that need not be read to follow them: measurements, tables, models whose time is counted, figures of
one page. Each module says which unit uses it; a page imports it and says in a sentence what it does.
"""
