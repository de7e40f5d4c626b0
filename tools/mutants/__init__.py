"""Mutation testing: whether the tests notice small changes of the code."""
