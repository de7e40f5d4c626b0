"""The features of wordings as a table, one row a distinct wording."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np
import pandas as pd

from polbayes.config.schema import FeatureConfig
from polbayes.data.tables import text_of
from polbayes.errors import UserError, check_known
from polbayes.features.dependencies import DISTANCE, LEFT, RIGHT, dependencies, load_parser
from polbayes.features.sentiment import NEGATIVE, POSITIVE, VADER, check_sentiment, sentiment
from polbayes.features.words import (
    FREQUENCY,
    SENTENCE_LENGTH,
    WORD_LENGTH,
    check_language,
    frequencies,
    lengths,
)

_LENGTHS, _FREQUENCIES = "lengths", "frequencies"
_DEPENDENCIES, _SENTIMENT = "dependencies", "sentiment"

# Feature -> what computes it, in the order of Table 3 of the study.
FEATURES: Mapping[str, str] = {
    FREQUENCY: _FREQUENCIES,
    WORD_LENGTH: _LENGTHS,
    SENTENCE_LENGTH: _LENGTHS,
    RIGHT: _DEPENDENCIES,
    LEFT: _DEPENDENCIES,
    DISTANCE: _DEPENDENCIES,
    POSITIVE: _SENTIMENT,
    NEGATIVE: _SENTIMENT,
}


def text_features(
    texts: Iterable[str], names: Sequence[str] | None = None, config: FeatureConfig | None = None
) -> pd.DataFrame:
    """Compute text features of wordings (Haller et al. 2024, section 4).

    Parameters
    ----------
    texts
        The wordings, in any number of copies.
    names
        Names of `FEATURES`; by default all of them.
    config
        Language, lexicon or classifier of the sentiment, and parser.

    Returns
    -------
    pandas.DataFrame
        One row a distinct wording, in the order in which they come first: ``statement`` and
        the features, NaN where a wording has none.

    Raises
    ------
    UserError
        If a name is unknown, or something that a feature needs is not there.
    """
    settings = config or FeatureConfig()
    wanted = list(FEATURES) if names is None else list(names)
    check_known("feature", *wanted, known=FEATURES, where="features.names")
    distinct = list(dict.fromkeys(texts))
    # Half a character, which JSON can hold, would stop a parser.
    clean = tuple(text_of(text) or "" for text in distinct)
    made = {source: _SOURCES[source](clean, settings) for source in _sources(wanted)}
    columns = {name: made[FEATURES[name]][name] for name in wanted}
    # As objects: half a character cannot be a text of pandas.
    return pd.DataFrame({"statement": pd.Series(distinct, dtype=object), **columns})


def to_measure(config: FeatureConfig, *, probabilities: bool) -> list[str]:
    """Return the names of the features that a run describes and correlates."""
    if config.names is not None:
        return list(dict.fromkeys(config.names))
    if not probabilities:
        return []
    quick = {_LENGTHS, _FREQUENCIES}
    if config.sentiment == VADER and config.language == "en":
        quick.add(_SENTIMENT)
    return [name for name, source in FEATURES.items() if source in quick]


def check_features(
    names: Iterable[str], config: FeatureConfig, *, unparsed: Sequence[str] = ()
) -> None:
    """Check that features can be computed, before anybody is asked anything.

    If there is no parser, the error offers the overrides `unparsed`, which take none.
    """
    check_known("feature", *(config.names or ()), known=FEATURES, where="features.names")
    sources = _sources([*names, *(config.names or ())])
    if _FREQUENCIES in sources:
        check_language(config.language)
    if _DEPENDENCIES in sources:
        try:
            load_parser(config.parser)
        except UserError as error:
            if not unparsed:
                raise
            raise UserError(f"{error} Without a parser:", add=unparsed) from error
    if _SENTIMENT in sources:
        check_sentiment(config.sentiment, language=config.language, labels=config.sentiment_labels)


def _sources(names: Iterable[str]) -> list[str]:
    return sorted({FEATURES[name] for name in names if name in FEATURES})


# A run needs the same wordings several times: to check the design, to measure and to fit.
_REMEMBERED = 2


_frequencies = lru_cache(maxsize=_REMEMBERED)(frequencies)
_dependencies = lru_cache(maxsize=_REMEMBERED)(dependencies)


@lru_cache(maxsize=_REMEMBERED)
def _sentiment(
    texts: tuple[str, ...],
    method: str,
    labels: tuple[tuple[str, str], ...],
    batch_size: int,
    device: str,
) -> dict[str, np.ndarray]:
    return sentiment(
        texts, method=method, labels=dict(labels), batch_size=batch_size, device=device
    )


_Source = Callable[[tuple[str, ...], FeatureConfig], dict[str, np.ndarray]]

_SOURCES: Mapping[str, _Source] = {
    _LENGTHS: lambda texts, _: lengths(texts),
    _FREQUENCIES: lambda texts, c: _frequencies(texts, language=c.language),
    _DEPENDENCIES: lambda texts, c: _dependencies(texts, parser=c.parser, batch_size=c.batch_size),
    _SENTIMENT: lambda texts, c: _sentiment(
        texts, c.sentiment, tuple(sorted(c.sentiment_labels.items())), c.batch_size, c.device
    ),
}
