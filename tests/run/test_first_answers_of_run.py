"""A run whose coders are more than rules stops if they cannot read the first answers either."""

import json

import pytest
from loopback import Said

from polbayes.cli import _main
from polbayes.data.dataset import STANCE_CLASSES
from polbayes.probing.journal import CODING

BABBLE = "Lorem ipsum dolor sit amet."
RUN = (
    *("+experiment=wvs_prefixes", "respondents=served", "respondents.served.checkpoint=m-1"),
    *("prefixes.only=[baseline]", "elicitation.runs=1", "stages=[probe,code]"),
    *("analysis=ideology_one_model", "give_up_after=30"),
)
JUDGE = ("coding.coders=[likert,gpt]", "+coding.models.gpt.kind=judge")
RATED = "<answer "


def babbling(world):
    """Return what a respondent and a judge behind one server say: it babbles, it sees nothing."""
    unrelated = {name: 96 if name == "unrelated" else 1 for name in STANCE_CLASSES}

    def answer(prompt, body):
        return Said(json.dumps(unrelated) if RATED in prompt else BABBLE)

    return world(answer=answer)


def rated(world):
    texts = [body["messages"][-1]["content"] for body in world.bodies]
    return [text for text in texts if RATED in text]


def inference(checkpoint):
    """Return the overrides for a coder that is sure of nothing."""
    path = checkpoint("bert", ("contradiction", "neutral", "entailment"))
    keys = f"kind: nli, checkpoint: {path}, device: cpu, threshold: 0.9, text: '{{response}}'"
    return "coding.coders=[likert,stance]", f"+coding.models.stance={{{keys}}}"


@pytest.fixture
def called(tmp_path, capsys):
    def call(world, *more):
        at = (f"respondents.served.api.base_url={world.url}", f"run_dir={tmp_path / 'run'}")
        return _main([*RUN, *at, *more]), capsys.readouterr().err

    return call


def test_a_checkpoint_reads_them(loopback, classifier_checkpoint, called, tmp_path):
    coders = inference(classifier_checkpoint)
    world = babbling(loopback)
    code, said = called(world, *coders)
    assert code == 2
    assert "none of the first 3" in said
    assert repr(BABBLE) in said
    assert len(world.bodies) < 50
    (kept,) = (tmp_path / "run" / CODING).glob("nli-*.jsonl")
    before = len(kept.read_text().splitlines())
    assert before >= 30
    # Whoever goes on reads the others only.
    assert called(world, *coders, "give_up_after=null")[0] == 0
    assert sum('"pair"' in line for line in kept.read_text().splitlines()) == 81


def test_a_judge_behind_a_server_reads_them_once(loopback, called):
    world = babbling(loopback)
    api = f"{{base_url: {world.url}, key_variable: null}}"
    judge = (*JUDGE, "+coding.models.gpt.checkpoint=m-1", f"+coding.models.gpt.judge.api={api}")
    assert called(world, *judge)[0] == 2
    # The first answers, and one for practice.
    assert len(rated(world)) == 31
    assert called(world, *judge, "give_up_after=null")[0] == 0
    assert len(rated(world)) == 82


def test_workers_leave_it_to_coding(loopback, classifier_checkpoint, called, tmp_path):
    coders = inference(classifier_checkpoint)
    code, said = called(babbling(loopback), *coders, "launcher=processes", "launcher.workers=1")
    assert code == 0, said
