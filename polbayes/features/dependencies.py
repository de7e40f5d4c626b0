"""Features of the syntax of a wording, from the dependency parser of a spaCy pipeline."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from polbayes.data.progress import progress_bar
from polbayes.errors import UserError

RIGHT, LEFT, DISTANCE = "right_dependents", "left_dependents", "dependency_distance"
# What comes after parsing, and costs as much.
_NOT_NEEDED = ("ner", "lemmatizer", "attribute_ruler")


def dependencies(
    texts: Sequence[str], *, parser: str, batch_size: int = 128
) -> dict[str, np.ndarray]:
    """Parse wordings, as words with their punctuation (Haller et al. 2024), and average."""
    from spacy.tokens import Doc

    pipeline = load_parser(parser)
    words = [text.split() for text in texts]
    there = [k for k, found in enumerate(words) if found]
    docs = (Doc(pipeline.vocab, words=words[k]) for k in there)
    means = np.full((len(texts), 3), np.nan)
    parsed = pipeline.pipe(docs, batch_size=batch_size)
    with progress_bar("parsing", total=len(there), unit="wordings") as bar:
        for k, doc in zip(there, parsed, strict=True):
            means[k] = _means(doc)
            bar.update()
    return dict(zip((RIGHT, LEFT, DISTANCE), means.T, strict=True))


def _means(doc: Any) -> np.ndarray:
    """Return the three means of a parsed wording."""
    place = np.arange(len(doc))
    head = np.array([token.head.i for token in doc])
    # A word is the right or left dependent of one head, so that counting words counts dependents.
    return np.array([(place > head).mean(), (place < head).mean(), np.abs(place - head).mean()])


@lru_cache(maxsize=2)
def load_parser(name: str) -> Any:
    """Load a spaCy pipeline that has a dependency parser."""
    where = "features.parser"
    try:
        import spacy
    except ImportError as error:
        raise UserError(
            f"{where}: features of dependencies need spaCy, which is not installed; run pip "
            "install 'polbayes[spacy]', or leave them out."
        ) from error
    try:
        pipeline = spacy.load(name, exclude=list(_NOT_NEEDED))
    except OSError as error:
        raise UserError(
            f"{where}: there is no spaCy pipeline '{name}' here; run python -m spacy download "
            f"{name}, name one that is installed, or its folder, or leave features of dependencies "
            "out."
        ) from error
    except (ValueError, ImportError, KeyError) as error:
        reason = " ".join(str(error).split())[:200]
        raise UserError(f"{where}: '{name}' cannot be loaded ({reason}).") from error
    assigned = {a for pipe in pipeline.pipe_names for a in pipeline.get_pipe_meta(pipe).assigns}
    if "token.head" not in assigned:
        raise UserError(
            f"{where}: '{name}' has no dependency parser, only "
            f"{', '.join(pipeline.pipe_names) or 'a tokenizer'}; name another pipeline."
        )
    return pipeline
