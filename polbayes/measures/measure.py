"""What a measure is: a function of a dataset, its tables, and their section in the report."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import xarray as xr

from polbayes.coding.levels import STRONG
from polbayes.config.schema import FeatureConfig

INTERVAL = ("estimate", "lower", "upper")
# With more wordings, ids only number an item's paraphrases and are not comparable across items.
MANY_WORDINGS = 50


@dataclass(frozen=True)
class Job:
    """The inputs of measures.

    Parameters
    ----------
    data
        A coded response dataset.
    draws, level, seed
        Bootstrap resamples, coverage of the intervals in (0, 1), and seed.
    strong
        Threshold for a strong answer, see `polbayes.coding.levels.four_levels`.
    paraphrase_sets, reformulation_sets
        Two sets of wordings to compare, or None: see
        `polbayes.measures.paraphrases.compare_paraphrase_sets` and
        `polbayes.measures.contrasts.reformulation_robustness`.
    features
        Settings of the wordings' text features; None for none.
    """

    data: xr.Dataset
    draws: int = 10_000
    level: float = 0.95
    seed: int = 1
    strong: float = STRONG
    paraphrase_sets: Mapping[str, Sequence[str]] | None = None
    reformulation_sets: Mapping[str, Sequence[str]] | None = None
    features: FeatureConfig | None = None

    @property
    def bootstrap(self) -> dict[str, Any]:
        """``draws``, ``level`` and ``seed``, as arguments of a measure."""
        return {"draws": self.draws, "level": self.level, "seed": self.seed}

    @property
    def probabilities(self) -> bool:
        """Whether there are answer probabilities."""
        return "r_plus" in self.data

    @property
    def few_wordings(self) -> bool:
        """Whether ids of wordings mean the same for all items."""
        return self.data.sizes["variant"] <= MANY_WORDINGS

    def several(self, name: str) -> bool:
        """Whether a coordinate has more than one value."""
        return len(set(self.data[name].values.tolist())) > 1


@dataclass(frozen=True)
class Shown:
    """A report section that shows a table, with a short explanation.

    Parameters
    ----------
    title, reading
        The section's title, and how to read it.
    table
        Name of the table.
    columns
        Header, with the unit, by name of the column. The interval of an ``estimate`` is shown after
        it where the table has ``lower`` and ``upper``.
    """

    title: str
    reading: str
    table: str
    columns: Mapping[str, str]


@dataclass(frozen=True)
class Measure:
    """A measure.

    Parameters
    ----------
    compute
        Returns the tables that the dataset allows, by name. Every table has one row per group and
        quantity.
    tables
        By name of a table, its required columns.
    shown
        How the report shows it, where no section of the report does.
    by_model
        Whether what it says of a model does not depend on the others, so that it is computed for
        one after the other.
    """

    compute: "Callable[[Job], Mapping[str, pd.DataFrame]]"
    tables: Mapping[str, Sequence[str]]
    shown: Shown | None = None
    by_model: bool = False
