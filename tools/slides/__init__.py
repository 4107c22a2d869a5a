"""Slides of a unit, made from its executed solution by rules.

`rules` says what stands on a slide, `text` shortens prose, `__main__` writes the file.
"""
