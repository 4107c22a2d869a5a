"""Warm processes that have the imports, ranks forked from them, and the jail of those that are not trusted."""
