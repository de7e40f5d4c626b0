import pytest

from polbayes.config.compose import compose
from polbayes.config.schema import TrainingConfig
from polbayes.errors import UserError
from polbayes.tasks.training.settings import check_settings, total_steps


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"group": "topic"}, r"training\.group: unknown group 'topic'"),
        ({"held_out": 0.6, "validation": 0.5}, "leave nothing to train on"),
        ({"class_weights": "equal"}, "unknown class weights 'equal'"),
        ({"dtype": "float16"}, "training: unknown dtype 'float16'"),
        ({"folder": ".."}, r"training\.folder: is no folder of its own"),
        ({"folder": " "}, r"training\.folder: is no folder of its own"),
    ],
)
def test_values_that_cannot_be_used(given, says):
    with pytest.raises(UserError, match=says):
        check_settings(TrainingConfig(**given))


def test_the_defaults_are_those_of_the_paper():
    """Faulborn et al. (2025), appendix D, as printed; the config says the same as the schema."""
    config, _ = compose(["task=train_coder", "run_dir=x"])
    found = config.training
    columns = dict.fromkeys(found.columns)
    assert found == TrainingConfig(columns=columns)
    check_settings(found)
    assert (found.steps, found.learning_rate, found.weight_decay) == (1750, 2e-5, 0.2)
    assert (found.warmup_steps, found.batch_size, found.dtype) == (500, 4, "float32")
    assert (found.beta1, found.beta2, found.epsilon) == (0.9, 0.999, 1e-8)
    assert found.checkpoint == "facebook/bart-large-mnli"
    assert found.held_out == 264 / 1320


def test_steps_of_epochs():
    # 10 answers, 4 at once: 3 batches an epoch.
    assert total_steps(TrainingConfig(epochs=2.5, batch_size=4, warmup_steps=1), 10) == 8
    assert total_steps(TrainingConfig(), 10) == 1750
