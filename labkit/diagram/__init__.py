"""The drawings behind `labkit.timeline`: shapes, where they lie, and how they become a picture."""
