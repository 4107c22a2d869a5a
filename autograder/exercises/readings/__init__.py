"""What several exercises read out of an answer."""
