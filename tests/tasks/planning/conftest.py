"""A finished pilot, a small design, and what priors say of it."""

import pytest

import polbayes as pb
from polbayes.config.schema import AnalysisConfig
from polbayes.fit.spec.spec import parse_spec
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import Prefix
from polbayes.instrument.questionnaires import Instrument, Item, Variant
from polbayes.tasks.planning.basis import assumption

PARTS = {
    "theta": "~ 0 + dimension + (0 + dimension | model)",
    "decisiveness": "~ 1 + (1 | model)",
    "difficulty": "~ (1 | item)",
    "acquiescence": "~ 1 + (1 | model)",
    "steer": "~ (1 | gr(model:prefix, by = model))",
    "discrimination": "~ (1 | item)",
    "quirk": "~ (1 | model:item)",
    "wording": "~ (1 | item:variant)",
}


@pytest.fixture(scope="session")
def pilot(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pilot") / "run"
    pb.run(
        "wvs_prefixes",
        progress=False,
        run_dir=folder,
        respondents="simulated",
        models=["left", "right", "yes_sayer"],
        items=["wvs-01", "wvs-02", "wvs-14", "wvs-15"],
        prefixes={"only": ["baseline", "likert"]},
        sampler={"chains": 2, "tune": 150, "draws": 200},
        seed=3,
    )
    return folder


@pytest.fixture(scope="session")
def questions():
    """Two dimensions with both keys; the second wording of every item is reversed."""
    both = (Variant("original", "x", "original", 1), Variant("opposite", "y", "opposite", -1))
    items = [
        Item(
            f"i{n}",
            ("economic", "cultural")[n % 2],
            1 if n % 4 < 2 else -1,
            "made up",
            both[: 1 + (n > 3)],
            {},
        )
        for n in range(10)
    ]
    return design(
        [Instrument("tiny", "tiny", "tiny", tuple(items))],
        [Prefix(p, p, "open") for p in ("a", "b")],
        [ModelInfo(m, "{statement}", instruct=m != "m0") for m in ("m0", "m1", "m2")],
        runs=2,
    )


@pytest.fixture(scope="session")
def parts():
    return PARTS


@pytest.fixture(scope="session")
def spec():
    return parse_spec(AnalysisConfig(parts=PARTS, unidentified="leave_out"))


@pytest.fixture(scope="session")
def assumed(questions, spec):
    return assumption(spec, questions, models=3, seed=1)
