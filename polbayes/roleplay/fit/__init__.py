"""The many-facet model of ratings: what models did, freed of who rated it.

`rated` lays ratings out, `terms` says what may vary and what sums to zero, `model` binds this to
ratings, `density` is the posterior (`effects`, `steps` and `kernel` are its parts), `fit` draws
from it, `readout` names the draws, and `tables` and `d_study` show what they say.
"""
