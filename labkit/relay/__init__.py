"""The checks' network: a process group whose messages pass through one place that counts and times them."""
