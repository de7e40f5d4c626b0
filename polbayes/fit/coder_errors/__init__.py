"""Errors of the coder in the likelihood."""
