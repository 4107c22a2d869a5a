"""A job script's way: linted, submitted, watched, reported."""
