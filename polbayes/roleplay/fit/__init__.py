"""The many-facet model of ratings: what models did, adjusted for who rated it.

`rated` arranges ratings, `terms` defines what varies and what sums to zero, `model` binds this to
ratings, `density` is the posterior (with `effects`, `steps` and `kernel`), `fit` samples it,
`readout` names the draws, and `tables` and `d_study` summarise them.
"""
