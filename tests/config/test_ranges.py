"""Numbers out of range are refused once, with the key, the value and what would be right."""

import pytest

from polbayes.config import schema
from polbayes.config.compose import compose
from polbayes.config.ranges import check_ranges
from polbayes.config.schema import (
    AblationConfig,
    AnalysisConfig,
    AnnotationConfig,
    ApiConfig,
    CoderConfig,
    ElicitationConfig,
    FeatureConfig,
    GridConfig,
    HumanCheckConfig,
    JudgeConfig,
    MisclassificationConfig,
    ParaphraseConfig,
    PrecisionConfig,
    RespondentConfig,
    RoleplayConfig,
    RunConfig,
    SamplerConfig,
    TrainingConfig,
    ValidationConfig,
    WatchConfig,
)
from polbayes.errors import UserError


def test_what_is_no_number_is_refused():
    for given in ("many", True):
        with pytest.raises(UserError, match=f"items: must be a number, not '{given}'"):
            check_ranges(GridConfig(items=[10, given]))
    with pytest.raises(UserError, match=r"items: must be a list of numbers, not of '\[20\]'"):
        check_ranges(GridConfig(items=[10, [20]]))


NAN, INF = float("nan"), float("inf")


def of_judge(**given):
    return CoderConfig(kind="judge", judge=JudgeConfig(**given))


def of_server(**given):
    return RespondentConfig(api=ApiConfig(**given))


def designs(**given):
    return PrecisionConfig(grid=GridConfig(**given))


@pytest.mark.parametrize(
    ("section", "where", "says"),
    [
        (ElicitationConfig(batch_size=0), "elicitation", "batch_size: must be at least 1, not 0."),
        (ElicitationConfig(max_new_tokens=0), "elicitation", "max_new_tokens: must be at least 1"),
        (ElicitationConfig(top_k=-1), "elicitation", "top_k: must be at least 0, not -1."),
        (ElicitationConfig(temperature=NAN), "elicitation", "temperature: must be at least 0"),
        (ElicitationConfig(temperature=INF), "elicitation", "temperature: must be at least 0"),
        (ElicitationConfig(beams=0), "elicitation", "beams: must be at least 1"),
        (ElicitationConfig(top_p=0.0), "elicitation", "top_p: must be above 0 and at most 1, not "),
        (ElicitationConfig(penalty_alpha=1.5), "elicitation", "must be from 0 to 1, not 1.5."),
        (of_server(concurrency=0), "respondents.m", "api.concurrency: must be at least 1, not 0"),
        (of_server(retries=-1), "respondents.m", "api.retries: must be at least 0, not -1"),
        (of_server(timeout=0.0), "respondents.m", "api.timeout: must be a number above 0, not 0.0"),
        (of_server(budget=NAN), "respondents.m", "api.budget: must be a number above 0"),
        (of_server(price_input=-1.0), "respondents.m", "must be a number from 0, not -1.0"),
        (of_judge(attempts=0), "coding.models.m", "judge.attempts: must be at least 1, not 0"),
        (of_judge(votes=0), "coding.models.m", "judge.votes: must be at least 1"),
        (of_judge(temperature=-1.0), "coding.models.m", "judge.temperature: must be a number from"),
        (CoderConfig(threshold=1.0), "coding.models.m", "must be at least 0 and below 1, not 1.0"),
        (CoderConfig(threshold=NAN), "coding.models.m", "must be at least 0 and below 1"),
        (CoderConfig(batch_size=0), "coding.models.m", "batch_size: must be at least 1, not 0"),
        (AnnotationConfig(per_stratum=0), "annotation", "per_stratum: must be at least 1, not 0"),
        (TrainingConfig(steps=0), "training", "steps: must be at least 1"),
        (TrainingConfig(patience=0), "training", "patience: must be at least 1"),
        (TrainingConfig(learning_rate=-1.0), "training", "learning_rate: must be above 0"),
        (TrainingConfig(learning_rate=NAN), "training", "learning_rate: must be above 0"),
        (TrainingConfig(epochs=0.0), "training", "epochs: must be above 0"),
        (TrainingConfig(weight_decay=NAN), "training", "weight_decay: must be at least 0"),
        (TrainingConfig(held_out=-0.1), "training", "held_out: must be at least 0 and below 1"),
        (TrainingConfig(beta1=1.0), "training", "beta1: must be at least 0 and below 1"),
        (
            ValidationConfig(thresholds=[0.5, 1.5]),
            "validation",
            "must lie between 0 and 1, not 1.5",
        ),
        (ValidationConfig(bins=1), "validation", "bins: must be at least 2, not 1"),
        (ParaphraseConfig(near=0.0), "paraphrase", "near: must be above 0 and at most 1, not 0"),
        (ParaphraseConfig(wanted=0), "paraphrase", "not 0; null takes all."),
        (ParaphraseConfig(least={"x": 1.2}), "paraphrase", "least.x: must lie between 0 and 1"),
        (HumanCheckConfig(per_item=-1), "paraphrase.human", "per_item: must not be negative"),
        (AblationConfig(lexicon_sizes=[2, 0]), "ablation", "must be at least 1, not 0"),
        (AblationConfig(compositions=-1), "ablation", "compositions: must be at least 0, not -1"),
        (RoleplayConfig(temperature={"x": -1.0}), "roleplay", "temperature.x: must be at least 0"),
        (FeatureConfig(batch_size=0), "features", "batch_size: must be at least 1"),
        (AnalysisConfig(rope=0.0), "analysis", "rope: must be a positive number, not 0.0."),
        (AnalysisConfig(rope=-0.1), "analysis", "rope: must be a positive number"),
        (AnalysisConfig(rope=NAN), "analysis", "rope: must be a positive number"),
        (PrecisionConfig(wanted=0.0), "analysis.precision", "wanted: must be a positive number"),
        (PrecisionConfig(cost=NAN), "analysis.precision", "cost: must be a positive number"),
        (PrecisionConfig(probability=1.0), "analysis.precision", "must be between 0 and 1"),
        (designs(items=[10, 0]), "analysis.precision", "grid.items: numbers must be at least 1"),
        (MisclassificationConfig(prior=0.0), "analysis.misclassification", "prior: must be a posi"),
        (SamplerConfig(chains=1), "sampler", "chains: must be at least 2, not 1; convergence"),
        (RunConfig(watch=WatchConfig(every=-1.0)), "", "watch.every: must be at least 0 seconds"),
        (RunConfig(judges={"j": of_server(backoff=0)}), "", "judges.j.api.backoff: must be a num"),
    ],
)
def test_a_number_out_of_range_is_refused(section, where, says):
    with pytest.raises(UserError) as raised:
        check_ranges(section, where)
    assert str(raised.value).startswith(where)
    assert says in str(raised.value)
    assert str(raised.value).endswith(".")


def test_defaults_are_within_their_ranges():
    sections = [one for name, one in vars(schema).items() if name.endswith("Config")]
    assert RunConfig in sections
    for section in sections:
        check_ranges(section())


def test_composing_checks():
    with pytest.raises(UserError, match=r"^features\.batch_size: must be at least 1, not 0\.$"):
        compose(["+experiment=wvs_prefixes", "features.batch_size=0"])
