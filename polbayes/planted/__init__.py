"""Respondents whose leaning is known because it was planted.

`truth` says what was planted, `answers` and `corpus` turn it into training examples,
`train` makes the checkpoints in `models/` and `fidelity` measures how close they came.
"""
