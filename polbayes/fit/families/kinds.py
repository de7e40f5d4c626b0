"""Numbers of the observation models that the loop over cells has compiled in."""

ORDINAL, LOGIT_NORMAL, BETA, BINOMIAL, READ = COMPILED = range(5)
