"""Asking: dispatch to respondents, journal, costs and progress."""
