"""Mutation testing: whether the tests detect small changes of the code."""
