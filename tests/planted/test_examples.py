import random
from dataclasses import replace
from itertools import islice, pairwise

import numpy as np
import pytest

from polbayes.planted.truth import load_truths
from tools.embedded.corpus import Wording, forms, shipped_wordings
from tools.embedded.examples import (
    AnswerTries,
    Asking,
    Example,
    batches,
    draw_examples,
    eta_table,
    item_classes,
    repetitions,
)
from tools.embedded.train import Shape, make_tokenizer

TRUTHS = load_truths()
SMALL = Shape(vocabulary=700)


def wording(variant: str, text: str, polarity: int, item: str = "a") -> Wording:
    return Wording(item, variant, text, "economic", polarity, polarity)


WORDINGS = [
    wording("original", "Taxes should be low for all.", 1),
    wording("negation", "Taxes should not be low for all.", -1),
    wording("paraphrase", "The state had better take little from everybody.", 1),
    wording("original", "Taxes should not be low for all.", 1, item="b"),
]


@pytest.fixture(scope="module")
def tokenizer():
    return make_tokenizer("causal", ["left"], shipped_wordings(), SMALL)


def draw(tokenizer, count, *, truth="left", seed=1):
    asking = Asking(TRUTHS[truth], truth, WORDINGS, forms("causal", chat=True))
    source = draw_examples(asking, tokenizer, AnswerTries(tokenizer), random.Random(seed))
    return list(islice(source, count))


def test_a_statement_and_its_negation_are_asked_more_often():
    more = [wording(f"paraphrase_{n}", f"Tax {n} ought to go down.", 1) for n in range(5)]
    # six and seven words, six in common; the item 'b' has nothing of the other polarity, but
    # only one wording
    assert repetitions([*WORDINGS, *more]) == [4, 4, 1, 3, 1, 1, 1, 1, 1]


def test_item_classes_number_item_and_polarity():
    assert item_classes(WORDINGS) == [0, 1, 0, 2]


def test_eta_has_a_row_a_wording_and_a_column_a_prefix():
    table = eta_table(replace(TRUTHS["left"], quirk_scale=0.0), WORDINGS)
    assert table.shape == (4, 10)
    # theta is about -1.5 and all else small without quirks: agreeing hangs on the keying
    assert (np.sign(table.mean(axis=1)) == [-1, 1, -1, -1]).all()


def test_an_example_is_a_prompt_and_a_path_with_exact_targets(tokenizer):
    for example in draw(tokenizer, 60):
        assert len(example.labelled) == len(example.targets)
        assert example.labelled[-1] == len(example.ids) - 1
        assert np.diff(example.labelled).tolist() == [1] * (len(example.labelled) - 1)
        for tokens, values in example.targets:
            assert len(tokens) <= 10
            assert values.sum() == pytest.approx(1)
        for at, (tokens, _) in zip(example.labelled[1:], example.targets, strict=False):
            assert example.ids[at] in tokens
        assert example.targets[-1][0] == (tokenizer.eos_token_id,)


def test_examples_hang_on_the_seed_alone(tokenizer):
    first, again, other = (draw(tokenizer, 30, seed=seed) for seed in (1, 1, 2))
    assert [e.ids for e in first] == [e.ids for e in again]
    assert [e.ids for e in first] != [e.ids for e in other]


def test_batches_hold_examples_of_similar_length():
    rng = random.Random(1)
    lengths = [rng.randrange(1, 200) for _ in range(64)]
    source = (Example([0] * n, [], [], 0, 0, 0) for n in lengths)
    cut = list(islice(batches(source, 8, 8, rng), 8))
    assert sorted(len(e.ids) for batch in cut for e in batch) == sorted(lengths)
    ranges = sorted((min(len(e.ids) for e in b), max(len(e.ids) for e in b)) for b in cut)
    assert all(low[1] <= high[0] for low, high in pairwise(ranges))
