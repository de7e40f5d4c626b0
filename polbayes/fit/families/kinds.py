"""Numbers of the observation models compiled into the loop over cells."""

ORDINAL, LOGIT_NORMAL, BETA, BINOMIAL, READ = COMPILED = range(5)
