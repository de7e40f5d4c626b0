"""Ordinary mixed models: the spec with the one part ``mu``, fitted through Bambi.

`spec` is what is declared, `rows` lays the data out and says what they can identify,
`model` hands both to Bambi, `exact` draws without a Markov chain where that is possible,
`readout` names the posterior, `tables` and `text` show it.
"""
