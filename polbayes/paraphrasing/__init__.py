"""Wordings of the statements: made by respondents or published, cleaned, checked, and sampled."""
