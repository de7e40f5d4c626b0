"""Labelled answers and coders made up for tests."""

import numpy as np
import pytest

from polbayes.dataset import STANCE_CLASSES
from polbayes.measures.resampling import Bootstrap
from polbayes.validation.coded import coded_from
from polbayes.validation.labelled import Labelled, merged_classes


def build_coded(labels, codes, *, confidence=0.9, groups=None, items=None, keying=None, merge=None):
    """Make a coder's reading from class names; None is not coded.

    The class gets its confidence, the others equal parts of the rest.
    """
    classes = merged_classes(merge or {})
    at = {name: k for k, name in enumerate(classes.names)}
    sure = np.broadcast_to(np.asarray(confidence, dtype=float), len(codes))
    probs = np.full((len(codes), len(STANCE_CLASSES)), np.nan)
    for row, name in enumerate(codes):
        if name is not None:
            probs[row] = (1 - sure[row]) / (len(STANCE_CLASSES) - 1)
            probs[row, STANCE_CLASSES.index(name)] = sure[row]
    answers = Labelled(
        statements=["A statement."] * len(labels),
        responses=["An answer."] * len(labels),
        labels=np.array([at[name] for name in labels], dtype=np.int64),
        classes=classes,
        groups={k: np.array(v, dtype=object) for k, v in (groups or {}).items()},
        items=None if items is None else np.array(items, dtype=object),
        keying=None if keying is None else np.array(keying),
        n_unlabelled=0,
    )
    return coded_from(probs, answers, coder="made up")


@pytest.fixture(scope="session")
def reading():
    return build_coded


@pytest.fixture(scope="session")
def few():
    return Bootstrap(400, 0.95, 1)
