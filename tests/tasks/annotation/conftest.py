"""A tiny run with answers that are hard to put into a spreadsheet."""

import numpy as np
import pytest

from polbayes.config.schema import AnnotationConfig, MeasureConfig, RunConfig
from polbayes.data.dataset import NOT_ASKED, STATUS, write_dataset
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import Prefix
from polbayes.instrument.questionnaires import Instrument, Item, Variant

MODELS = ("zephyr-7b", "left", "=m1")


def build_run(runs=2, models=MODELS):
    """Every model answers two statements, in two wordings under two prefixes."""
    items = tuple(
        Item(
            name,
            "economic",
            1,
            "made up",
            (
                Variant("original", f"Text of {name}.", "original", 1),
                Variant("opposite", f"Not {name}.", "opposite", -1),
            ),
            {},
        )
        for name in ("q1", "q2")
    )
    data = design(
        [Instrument("tiny", "Tiny", "Nobody (2020)", items)],
        [Prefix("baseline", "", "open"), Prefix("name", "Hey {model_name}, say 1 to 5.", "likert")],
        [ModelInfo(m, "{prefix}{statement}", checkpoint=f"hub/{m}") for m in models],
        runs=runs,
    )
    asked = data["status"] != NOT_ASKED
    data["status"] = data["status"].where(~asked, np.int8(STATUS["ok"]))
    texts = np.empty(asked.shape, dtype=object)
    for number, at in enumerate(np.ndindex(asked.shape)):
        texts[at] = f"Answer number {number}."
    data["completion"] = asked.copy(data=texts)
    return data


@pytest.fixture
def data():
    return build_run()


@pytest.fixture
def run(tmp_path, data):
    """The config of a run in a folder with these answers, to be changed by a test."""
    write_dataset(data, tmp_path / "responses.nc")

    def configured(**annotation):
        return RunConfig(
            name="tiny",
            run_dir=str(tmp_path),
            measures=MeasureConfig(bootstrap=200),
            annotation=AnnotationConfig(**annotation),
        )

    return configured
