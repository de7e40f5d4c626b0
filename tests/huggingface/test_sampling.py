import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare, kstest

from polbayes.huggingface.sampling import choose, mix, uniform

WORD = st.integers(0, 2**64 - 1)


def test_mix_is_splitmix64():
    # First outputs of the reference implementation for the seeds 0 and 1234567.
    assert int(mix(0)) == 0xE220A8397B1DCDAF
    assert int(mix(1234567)) == 6457827717110365317


@given(WORD, st.integers(0, 4096), st.integers(0, 300_000))
def test_noise_is_a_function_of_its_keys_inside_the_open_interval(seed, step, token):
    u = float(uniform(seed, step, token))
    assert 0 < u < 1
    among = uniform(np.array([[seed], [1]], dtype=np.uint64), step, np.array([[5, token]] * 2))
    assert among[0, 1] == u


def test_noise_is_uniform_along_every_key():
    n = np.arange(20_000, dtype=np.uint64)
    for keys in ((n, 3, 7), (5, n, 7), (5, 3, n)):
        assert kstest(uniform(*keys), "uniform").pvalue > 0.001


def test_choice_follows_the_softmax():
    logits = np.log([0.5, 0.25, 0.15, 0.07, 0.03])
    n = 20_000
    tokens = np.tile([11, 4, 900, 2, 77], (n, 1))
    for step in (0, 9):
        drawn = choose(np.tile(logits, (n, 1)), tokens, seeds=np.arange(n), step=step)
        counts = np.bincount(drawn, minlength=5)
        assert chisquare(counts, n * np.exp(logits)).pvalue > 0.001


@given(WORD, st.permutations(range(4)))
def test_choice_is_by_token_not_by_place(seed, order):
    values, tokens = np.array([[0.3, 0.1, 0.0, -1.0]]), np.array([[5, 6, 7, 8]])
    order = list(order)
    first = tokens[0, choose(values, tokens, seeds=[seed], step=2)[0]]
    again = tokens[:, order][0, choose(values[:, order], tokens[:, order], seeds=[seed], step=2)[0]]
    assert first == again
