"""Observation families of the ideology model, one module each.

`polbayes.fit` asks a family for what it needs and compares no names. Other packages add families by
entry points of the group ``polbayes.families``.
"""

from polbayes.config.registry import Registry
from polbayes.fit.families.base import Family

_HERE = "polbayes.fit.families"

FAMILIES: Registry[Family] = Registry(
    "polbayes.families",
    "family",
    {
        "cumulative": f"{_HERE}.ordinal:CUMULATIVE",
        "bernoulli": f"{_HERE}.ordinal:BERNOULLI",
        # Identical cells are aggregated to counts for any family, so the two are the same.
        "binomial": f"{_HERE}.ordinal:BERNOULLI",
        "logit_normal": f"{_HERE}.logit_normal:LOGIT_NORMAL",
        "beta": f"{_HERE}.beta:BETA",
    },
)
