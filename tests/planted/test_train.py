import numpy as np
import pytest

from polbayes.planted.truth import load_truths
from tools.embedded.corpus import shipped_wordings
from tools.embedded.train import Schedule, Shape, train_reader, train_respondent

pytestmark = pytest.mark.slow

TINY = Shape(vocabulary=600, hidden=32, inner=64, layers=1, heads=2)
SHORT = Schedule(steps=60, batch=16, rate=5e-3, pool=2)


def trained(name: str):
    truth, wordings = load_truths()[name], shipped_wordings()[:40]
    losses: list[float] = []
    reader = train_reader(
        truth.architecture,
        [name],
        wordings,
        shape=TINY,
        schedule=SHORT,
        report=lambda _, divergence, recognising: losses.append(divergence + recognising),
    )
    before = {k: v.clone() for k, v in reader.network.state_dict().items()}
    network = train_respondent(truth, reader, wordings, schedule=SHORT)
    return losses, before, reader, network


@pytest.fixture(scope="module", params=["left", "masked_left"])
def pair(request):
    return trained(request.param), trained(request.param)


def test_the_loss_falls(pair):
    losses = pair[0][0]
    assert len(losses) == SHORT.steps
    assert np.mean(losses[-10:]) < 0.6 * np.mean(losses[:5])


def test_training_twice_gives_the_same_weights_bit_for_bit(pair):
    first, second = (run[3].state_dict() for run in pair)
    assert first.keys() == second.keys()
    assert all(bool((first[key] == second[key]).all()) for key in first)


def test_the_reader_stays_as_it_is(pair):
    _, before, reader, network = pair[0]
    after, changed = reader.network.state_dict(), network.state_dict()
    assert all(bool((before[key] == after[key]).all()) for key in before)
    assert any(bool((before[key] != changed[key]).any()) for key in before)
