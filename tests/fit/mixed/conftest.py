"""The data of `reference/lme4.R`, and specs of mixed models."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from polbayes.config.schema import AnalysisConfig
from polbayes.fit.mixed.spec import parse_mixed


def made(sizes: list[int]) -> pd.DataFrame:
    """Make the predictors of `reference/lme4.R`, without random numbers."""
    item = np.repeat(np.arange(len(sizes)), sizes)
    i = np.arange(len(item))
    return pd.DataFrame(
        {
            "item": item,
            "x1": np.sin(0.7 * i) + 0.2 * np.sin(3 * item),
            "x2": np.cos(1.3 * i) ** 2,
            "x3": (i * 7) % 11 / 10,
            "noise": np.sin(0.37 * i * i + 0.1 * i),
            "shift": 0.3 * np.sin(5 * item + 1),
        }
    )


def small() -> pd.DataFrame:
    d = made([8 + k % 7 for k in range(12)])
    y = 0.4 + 0.25 * d.x1 - 0.1 * d.x2 + 0.05 * d.x3 + d["shift"] + 0.3 * d.noise
    return d.assign(y=y)


def large() -> pd.DataFrame:
    d = made([60] * 62)
    return d.assign(y=0.5 + 0.02 * d.x1 - 0.01 * d.x2 + d["shift"] / 3 + 0.25 * d.noise)


def crossed() -> pd.DataFrame:
    d = made([40] * 24)
    prefix = np.arange(len(d)) % 8
    y = 0.3 * d.x1 + d["shift"] + 0.2 * np.sin(2 * (prefix + 1)) + 0.3 * d.noise
    yes = (d.x1 + 3 * d["shift"] + 2 * d.noise > 0.2).astype(int)
    return d.assign(prefix=prefix, y=y, yes=yes)


@pytest.fixture(scope="session")
def small_data() -> pd.DataFrame:
    return small()


@pytest.fixture(scope="session")
def large_data() -> pd.DataFrame:
    return large()


@pytest.fixture(scope="session")
def crossed_data() -> pd.DataFrame:
    return crossed()


def mixed_spec(formula: str, **settings: object):
    settings = {"response": "r_plus", "family": "gaussian", **settings}
    parts = {"mu": formula, **settings.pop("parts", {})}
    return parse_mixed(AnalysisConfig(parts=parts, **settings))


@pytest.fixture(scope="session")
def mixed() -> Callable:
    return mixed_spec


def rows_of(frame: pd.DataFrame, spec, response: str):
    """Make rows straight from a table, past the response dataset."""
    from polbayes.fit.mixed.columns import RESPONSE
    from polbayes.fit.mixed.rows import Rows, group_column

    groups = {
        group_column(k): frame[list(g.factors)].astype(str).agg("|".join, axis=1)
        for k, g in enumerate(spec.formula.groups)
    }
    kept = frame.drop(columns=["noise", "shift"])
    return Rows(kept.assign(**{RESPONSE: frame[response].astype(float)}, **groups), (), ())


@pytest.fixture(scope="session")
def rows_from() -> Callable:
    return rows_of
