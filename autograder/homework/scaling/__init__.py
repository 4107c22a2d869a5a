"""The scaling table and its figure, judged."""
