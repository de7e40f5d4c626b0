"""Ordinary mixed models: the spec with the one part ``mu``, fitted through Bambi.

`spec` parses specs, `rows` lays out the data, `identify` checks that they identify the spec,
`model` passes both to Bambi, `exact` draws without a Markov chain where that is possible,
`readout` names the posterior, `tables` and `text` show it.
"""
