"""The judges that a config declares, and how they are asked."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from polbayes.config.schema import (
    JUDGING,
    ElicitationConfig,
    JudgingConfig,
    RespondentConfig,
    RunConfig,
)
from polbayes.errors import UserError, check_known


def judges_of(config: RunConfig) -> dict[str, RespondentConfig]:
    """Return the judges that a config chooses, by name."""
    declared = {**config.respondents, **config.judges}
    names = config.judging.judges
    if names is None:
        names = list(config.judges)
    if not names:
        raise UserError(
            "judges: there is none; choose e.g. judges=embedded, declare "
            "+judges.NAME.checkpoint=..., or name respondents in judging.judges=[...]."
        )
    if len(set(names)) < len(names):
        raise UserError("judging.judges: a judge is named twice.")
    for name in names:
        check_known("judge", name, known=declared, where="judging.judges")
        if name in config.judges and config.respondents.get(name, declared[name]) != declared[name]:
            raise UserError(
                f"judges.{name}: a respondent of another kind has that name; choose another one."
            )
    if config.judging.retries < 0 or config.judging.sample < 0:
        raise UserError("judging: retries and sample must not be negative.")
    return {name: declared[name] for name in names}


def judging_elicitation(judging: JudgingConfig) -> ElicitationConfig:
    """Return the elicitation of judges."""
    return ElicitationConfig(
        kind=JUDGING,
        template="roleplay",
        max_new_tokens=judging.max_new_tokens,
        top_k=judging.top_k,
        temperature=judging.temperature,
        batch_size=judging.batch_size,
    )


@contextmanager
def named_as_judge(name: str, config: RunConfig) -> Iterator[None]:
    """Make errors about a judge name the key of its declaration."""
    try:
        yield
    except UserError as error:
        if name not in config.judges:
            raise
        raise UserError(str(error).replace(f"respondents.{name}", f"judges.{name}")) from error


def check_judges_ready(judges: Mapping[str, RespondentConfig], config: RunConfig) -> None:
    """Report a judge's missing key before hours of answers, not after."""
    from polbayes.respondents import check_ready

    for name, declared in judges.items():
        with named_as_judge(name, config):
            check_ready(name, declared)


def self_judging(
    models: Iterable[str],
    judges: Mapping[str, RespondentConfig],
    respondents: Mapping[str, RespondentConfig],
) -> list[tuple[str, str]]:
    """Return the pairs of model and judge with one name, or one checkpoint, backend and server."""

    def identity(one: RespondentConfig) -> tuple[object, ...]:
        server = one.api.base_url if one.api is not None else ""
        return one.backend, one.checkpoint, one.revision, server

    return [
        (model, judge)
        for model in models
        for judge, config in judges.items()
        if model == judge or identity(respondents[model]) == identity(config)
    ]
