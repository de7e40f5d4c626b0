"""Text features of wordings, as Haller et al. (2024, section 4) define them.

`words` counts and looks up words, `dependencies` and `classifier` ask a parser and a text
classifier, `sentiment` chooses who judges, `extract` puts the features of distinct wordings into
one table.
"""

from polbayes.features.extract import FEATURES, check_features, text_features, to_measure

__all__ = ["FEATURES", "check_features", "text_features", "to_measure"]
