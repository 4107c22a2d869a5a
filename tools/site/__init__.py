"""`make site`: the course as pages that any web server can hand out, and any phone can read.

`sources` lays the pages out for Sphinx, `units` makes them of the executed notebooks, `mistakes` and `claims` are
indexes made of exercises and lessons, `glossary` links the field's terms where they are used first, `figures` says in
words what a figure shows, `extension` is what Sphinx needs of ours, `audit` looks at what was built.
"""
