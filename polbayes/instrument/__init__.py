"""Questionnaires, wordings, prompts and the design that is asked."""
