import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chisquare

from polbayes.config.schema import ElicitationConfig, RespondentConfig
from polbayes.errors import UserError
from polbayes.instrument.prompts import Lexicon, Template
from polbayes.planted.truth import ItemScales, Truth
from polbayes.respondents import Question, describe, open_respondent
from polbayes.respondents.simulated import SimulatedRespondent

# Nothing but theta and acquiescence, so that eta is worked out by hand.
PLAIN = Truth(
    "plain",
    {"economic": -1.0, "cultural": 0.5},
    acquiescence=0.25,
    wording_scale=0.0,
    quirk_scale=0.0,
    items=ItemScales(difficulty=0.0, log_discrimination=0.0, wording=0.0),
    threshold=0.5,
    outer_threshold=1.5,
    validity=0.9,
    unrelated=0.1,
    refused=0.05,
)
CONFIG = RespondentConfig(backend="simulated", checkpoint="planted:left")
TEMPLATE = Template("t", "fill_mask", {"masked": "{prefix}{statement} I {mask} with it."})


def question(keying=1, dimension="economic", answer="open", run=1):
    return Question("i", "original", "baseline", run, "s", keying, dimension, "s", answer)


def respondent(truth=PLAIN):
    return SimulatedRespondent(describe("m", CONFIG, TEMPLATE), truth)


def logistic(x):
    return 1 / (1 + math.exp(-x))


def test_options_of_a_stance_share_its_mass():
    lexicon = Lexicon("l", ("agree", "support", "oppose"), (1, 1, -1))
    asked = [question(1), question(-1), question(1, "cultural"), question(0, "")]
    mass = respondent().option_mass(asked, lexicon)
    # eta = 0.25 + keying * theta
    agree = np.array([0.9 * logistic(x) for x in (-0.75, 1.25, 0.75, 0.25)])
    np.testing.assert_allclose(mass, np.column_stack([agree / 2, agree / 2, 0.9 - agree]))


def test_neutral_options_make_it_ordinal():
    lexicon = Lexicon("l", ("1", "2", "3", "4", "5"), (-1, -1, 0, 1, 1))
    [mass] = respondent().option_mass([question(1)], lexicon)
    disagree, agree = logistic(0.75 - 0.5), logistic(-0.75 - 0.5)
    expected = [disagree / 2, disagree / 2, 1 - agree - disagree, agree / 2, agree / 2]
    np.testing.assert_allclose(mass, 0.9 * np.array(expected))


def test_open_answers_follow_the_planted_shares():
    n = 20_000
    drawn = Counter(a.text for a in respondent().complete([question(1)] * n, range(n)))
    disagree, agree = logistic(0.25), logistic(-1.25)
    expected = {
        "I disagree with this statement.": 0.85 * disagree,
        "I neither agree nor disagree with this statement.": 0.85 * (1 - agree - disagree),
        "I agree with this statement.": 0.85 * agree,
        "The weather is nice today.": 0.1,
        "I would rather not answer that.": 0.05,
    }
    assert set(drawn) == set(expected)
    counts = [drawn[text] for text in expected]
    assert chisquare(counts, n * np.array(list(expected.values()))).pvalue > 0.001


def test_a_likert_prefix_gets_a_digit():
    n = 5_000
    asked = [question(1, answer="likert")] * n
    drawn = Counter(a.text for a in respondent().complete(asked, range(n)))
    below = [logistic(0.75 - t) for t in (1.5, 0.5, -0.5, -1.5)]
    shares = np.diff([0, *below, 1])
    counts = [drawn[str(digit)] for digit in range(1, 6)]
    assert sum(counts) == n
    assert chisquare(counts, n * shares).pvalue > 0.001


def test_the_same_cell_gets_the_same_answer():
    asked = [question(1, run=n) for n in range(50)]
    answers = respondent().complete(asked, range(50))
    assert respondent().complete(asked[::-1], range(49, -1, -1)) == answers[::-1]
    always = replace(PLAIN, acquiescence=50.0, unrelated=0.0, refused=0.0)
    texts = {a.text for a in respondent(always).complete(asked, range(50))}
    assert texts == {"I agree with this statement."}


def test_it_is_opened_by_the_name_of_its_parameters():
    elicitation = ElicitationConfig(kind="open_ended", template="faulborn")
    opened = open_respondent("m", CONFIG, elicitation=elicitation)
    assert opened.info.template == "{prefix}{statement}\n"
    assert opened.info.checkpoint == "planted:left"
    assert opened.warnings(None) == ()
    assert "[MASK]" in describe("m", CONFIG, TEMPLATE).template


@pytest.mark.parametrize(
    ("checkpoint", "said"),
    [("planted:lefft", "did you mean 'left'"), ("gpt2", "write planted:NAME")],
)
def test_unknown_parameters_are_refused(checkpoint, said):
    config = RespondentConfig(backend="simulated", checkpoint=checkpoint)
    with pytest.raises(UserError, match=said):
        describe("m", config, TEMPLATE)
