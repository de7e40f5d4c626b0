"""The ideology model: declared by a spec, bound to data, sampled, and read off.

`spec` is what is declared, `terms` is what it means on given data, `model` hands it
to PyMC, `sample` draws from the posterior, `readout` gives the posterior its names.
Ordinary mixed models are in `mixed`; `analysis` tells the two apart.
"""

import os

# The gradient is compiled by numba. PyTensor's C compiler would only be used for a few starting
# values, and would need a compiler on the machine and a cache that parallel processes fight over.
os.environ.setdefault("PYTENSOR_FLAGS", "cxx=,blas__ldflags=")
