"""Respondents whose leaning is known because it was planted.

`truth` says what was planted and what follows for their answers; `phrases` and `roleplay` are those
of roles and judges. How the checkpoints in `models/` are trained is in `tools/embedded`.
"""
