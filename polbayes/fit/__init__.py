"""The Bayesian models: a spec is parsed, bound to data, sampled and summarised.

`spec` parses specs and binds them to data, `families` has the observation models, `density` the
log-posterior, `sampling` the samplers, and `posterior` names and summarises the draws. Ordinary
mixed models are in `mixed`; `analysis` chooses between the two.
"""

import os

# Numba compiles the gradient. PyTensor's C compiler would serve only for a few starting values, and
# needs a compiler on the machine and a cache for which parallel processes compete.
os.environ.setdefault("PYTENSOR_FLAGS", "cxx=,blas__ldflags=")
