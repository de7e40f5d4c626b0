"""Asking respondents: dispatch, journal, costs and progress."""
