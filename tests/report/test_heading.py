"""The title and the lead of a run."""

from pathlib import Path

import pytest
import yaml

from polbayes.config.compose import compose
from polbayes.report.heading import heading, heading_in

OWN = ("Positions of German parties", "")
OTHERS = ("Political leaning: Rents", "")


@pytest.mark.parametrize(
    ("experiment", "overrides", "other"),
    [
        ("wvs_prefixes", ["models=[left]", "seed=2"], False),
        ("wvs_prefixes", ["prefixes.only=[baseline]"], True),
        ("wvs_prefixes", ["prefixes.file=personas"], True),
        ("wvs_prefixes", ["++prefixes.file=personas"], True),
        ("wvs_prefixes", ["instruments=[./my housing.yaml]"], True),
        ("wvs_prefixes", ["variants=[original]"], True),
        ("wvs_prefixes", ["elicitation=forced_choice"], True),
        ("wvs_prefixes", ["elicitation.runs=1"], False),
        ("wvs_prefixes", ["elicitation=forced_choice", "title=Mine"], False),
        # Everybody has to say where the table is.
        ("parties", ["imported.path=positions.parquet", "imported.show=[topic]"], False),
        ("parties", ["+imported.where={election: 2013-deutschland}"], True),
        ("parties", ["imported.columns.model=candidate"], True),
        ("parties", ["+imported.where.election=2013-deutschland"], True),
    ],
)
def test_titles_say_nothing_of_what_was_not_asked(
    experiment: str, overrides: list[str], other: bool, tmp_path: Path
) -> None:
    given = [f"+experiment={experiment}", *overrides]
    config, _ = compose(given)
    own = (config.title, config.description)
    assert heading(config, given, ["Rents"]) == (OTHERS if other else own)
    # The names of the instruments are in the record of the answers, if there are any.
    (tmp_path / ".hydra").mkdir()
    (tmp_path / ".hydra" / "overrides.yaml").write_text(yaml.safe_dump(given), encoding="utf-8")
    stages = {"probe": {"instruments": ["Rents"]}}
    assert heading_in(tmp_path, config, stages) == (OTHERS if other else own)
    assert heading_in(tmp_path, config, {}) == ((config.name, "") if other else own)


def test_without_overrides_the_title_is_that_of_the_config(tmp_path: Path) -> None:
    config, _ = compose(["+experiment=parties"])
    assert heading_in(tmp_path, config, {}) == OWN
