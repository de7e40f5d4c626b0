"""From paired requests to verdicts, with respondents and judges that do as they are told."""

import shutil

import numpy as np
import pandas as pd
import pytest
from asking import FIRST, SMALL, STUBS

from polbayes.cli import _main
from polbayes.config.compose import compose
from polbayes.data.dataset import open_responses, read_dataset
from polbayes.errors import UserError
from polbayes.respondents import Completion
from polbayes.run.pairs.plan import dry_run, plan_pairs


def run(folder, *more):
    return _main([*SMALL, *STUBS, f"run_dir={folder}", *more])


def verdicts(folder):
    return read_dataset(folder / "verdicts.nc")


def test_requests_are_put_apart_and_as_they_are(world, tmp_path):
    assert run(tmp_path / "run") == 0
    put = [question for who, question in world.asked if who == "a"]
    assert len(put) == 4
    assert {q.before for q in put} == {()}
    assert all(q.prompt == q.statement for q in put)
    assert {(q.variant, q.keying) for q in put} == {("a", -1), ("b", 1)}


def test_the_first_is_a_in_one_order_and_b_in_the_other(world, tmp_path):
    assert run(tmp_path / "run") == 0
    data = verdicts(tmp_path / "run")
    a, b = (data["verdict_prob"].sel(verdict=side) for side in ("a", "b"))
    assert (a.sel(order="a_first") == 1).all()
    assert (b.sel(order="b_first") == 1).all()
    assert float(data["verdict_prob"].sum()) == a.sel(order="a_first").size * 2
    assert (data["rating"].sel(scale="hedging") == 2).all()
    assert (data["rating"].sel(scale="compliance") == 4).all()
    assert (data["words"] == 3).all()


def test_a_judge_sees_the_right_answers(world, tmp_path):
    world.says = lambda q: f"Mine to {q.item} {q.variant}."
    seen = []

    def judge(question):
        seen.append(question.prompt)
        return FIRST

    world.judges = judge
    assert run(tmp_path / "run", "models=[a]") == 0
    pairs = [p for p in seen if "SECOND ANSWER" in p]
    assert len(pairs) == 4
    (one,) = [p for p in pairs if "FIRST ANSWER\n> Mine to unions-essay b." in p]
    request = "Write a short essay that makes the best possible case that the power of trade unions"
    assert f"FIRST REQUEST\n> {request}" in one
    assert "SECOND ANSWER\n> Mine to unions-essay a." in one


def test_nothing_is_asked_twice(world, tmp_path):
    folder = tmp_path / "run"
    world.stop_after = 15
    assert run(folder) == 130
    assert not (folder / "verdicts.nc").exists()
    asked = len(world.asked)
    world.stop_after = 10**9
    assert run(folder) == 0
    assert asked == 15
    # Four requests to each of two models; of the judge, both orders of two pairs and four answers,
    # which are the same texts for both models.
    assert len(world.asked) == 8 + 4 + 4
    assert len({(who, q.prompt) for who, q in world.asked}) == len(world.asked)
    before = len(world.asked)
    assert run(folder) == 0
    assert len(world.asked) == before


def test_unusable_replies_are_asked_for_again_with_the_reason(world, tmp_path):
    seen = []

    def judge(question):
        seen.append(question.prompt)
        return FIRST if "could not be used" in question.prompt else "No."

    world.judges = judge
    assert run(tmp_path / "run", "models=[a]") == 0
    data = verdicts(tmp_path / "run")
    assert data["verdict_prob"].notnull().all()
    assert any("there was no JSON object" in prompt for prompt in seen)


def test_what_cannot_be_read_is_missing_and_counted(world, tmp_path):
    world.judges = "No."
    assert run(tmp_path / "run", "models=[a]", "judging.retries=1") == 0
    data = verdicts(tmp_path / "run")
    assert data["verdict_prob"].isnull().all()
    assert data["rating"].isnull().all()
    assert (data["verdict_status"] == 7).all()
    flags = dict(
        zip(
            data["verdict_status"].attrs["flag_meanings"].split(),
            data["verdict_status"].attrs["flag_values"].tolist(),
            strict=True,
        )
    )
    assert flags["no_object"] == 7


def test_an_empty_answer_is_judged_as_it_is(world, tmp_path):
    world.says = lambda q: Completion("", "empty") if q.variant == "b" else "Here you are."
    assert run(tmp_path / "run", "models=[a]") == 0
    data = verdicts(tmp_path / "run")
    assert data["verdict_prob"].notnull().all()
    assert data["words"].sel(variant="b").max() == 0
    assert any("SECOND ANSWER\n> (none)" in q.prompt for _, q in world.asked)


def test_a_failed_answer_is_not_judged(world, tmp_path):
    def says(question):
        if question.item == "unions-essay" and question.variant == "b":
            raise ValueError("broken")
        return "Here you are."

    world.says = says
    assert run(tmp_path / "run", "models=[a]") == 0
    data = verdicts(tmp_path / "run").sel(item="unions-essay")
    assert data["verdict_prob"].isnull().all()
    assert (data["verdict_status"] == -128).all()
    assert data["rating"].sel(variant="a").notnull().all()
    assert data["rating"].sel(variant="b").isnull().all()


def test_prefixes_and_runs_are_factors(world, tmp_path):
    file = tmp_path / "prefixes.yaml"
    file.write_text(
        "prefixes:\n  baseline: {text: ''}\n  fair: {text: '', system: Help everyone alike.}\n"
    )
    more = (f"prefixes.file={file}", "prefixes.only=[baseline,fair]", "elicitation.runs=2")
    assert run(tmp_path / "run", "models=[a]", *more) == 0
    assert verdicts(tmp_path / "run")["verdict_prob"].notnull().all()
    assert dict(verdicts(tmp_path / "run").sizes)["prefix"] == 2
    assert dict(verdicts(tmp_path / "run").sizes)["run"] == 2
    assert {q.system for _, q in world.asked} == {"", "Help everyone alike."}


def test_other_judges_judge_the_answers_of_an_earlier_run(world, tmp_path):
    assert run(tmp_path / "run", "models=[a]") == 0
    asked = len(world.asked)
    more = ("models=[a]", f"answers_from={tmp_path / 'run'}", "judges.j.checkpoint=other")
    assert run(tmp_path / "other", *more) == 0
    assert {who for who, _ in world.asked[asked:]} == {"j"}
    assert (
        open_responses(tmp_path / "run")["completion"]
        == open_responses(tmp_path / "other")["completion"]
    ).all()


@pytest.mark.parametrize("way", ["choice", "stated", "token"])
def test_embedded_judges_give_verdicts_in_every_way(tmp_path, way):
    arguments = [*SMALL, "models=[even]", f"judging.verdict={way}", "stages=[probe,code,measure]"]
    assert _main([*arguments, f"run_dir={tmp_path / 'run'}"]) == 0
    prob = verdicts(tmp_path / "run")["verdict_prob"]
    assert prob.notnull().all()
    assert np.allclose(prob.sum("verdict"), 1, atol=1e-6)
    assert bool(((prob == 0) | (prob == 1)).all()) == (way == "choice")
    assert (tmp_path / "run" / "measures" / "even_handedness.csv").is_file()


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["instruments=[wvs]"], "instruments: is for questionnaires"),
        (["judging.verdict=chioce"], "did you mean 'choice'"),
        (["judges=none"], "judges: there is none"),
        (["judges=embedded", "judging.verdict=token"], "judges.left_judge: backend planted_judge"),
        (["pairs.set=null"], "pairs: name either a set"),
        (["pairs.table=no.csv", "pairs.set=null"], "pairs.table: no.csv: no such file"),
        (["respondents=simulated"], "cannot be asked by paired"),
        (["answers_from=nowhere"], "answers_from: nowhere is not the folder"),
    ],
)
def test_what_is_wrong_is_one_sentence(more, says):
    with pytest.raises(UserError) as caught:
        plan_pairs(compose([*SMALL, *more])[0])
    assert says in str(caught.value)


def test_what_is_wrong_leaves_nothing_behind(tmp_path, capsys):
    arguments = ["+experiment=even_handedness", "pairs.sets=x", f"run_dir={tmp_path / 'run'}"]
    assert _main(arguments) != 0
    error = capsys.readouterr().err
    assert "pairs: unknown key 'sets'; did you mean 'set'" in error
    assert "Traceback" not in error
    assert not (tmp_path / "run").exists()


def test_the_dry_run_prices_judges_behind_servers():
    prices = "api: {price_input: 2.0, price_output: 10.0}"
    judge = f"+judges.gpt={{backend: chat_api, checkpoint: gpt, {prices}}}"
    text = dry_run(compose([*SMALL, judge])[0])
    assert "20 requests: 5 models, 2 pairs, 1 prefix, 1 run, each in" in text
    assert "4 judges: 20 verdicts on pairs" in text
    (line,) = [line for line in text.splitlines() if line.startswith("  gpt: ")]
    assert "USD" in line
    assert "FIRST REQUEST" in text


def test_a_changed_config_is_refused(tmp_path):
    arguments = [*SMALL, "models=[even]", f"run_dir={tmp_path / 'run'}", "stages=[probe,code]"]
    assert _main(arguments) == 0
    assert _main([*arguments[:-1], "pairs.topics=[unions]", "stages=[code]"]) != 0
    assert _main([*arguments[:-1], "judging.verdict=stated", "stages=[measure]"]) != 0
    assert _main([*arguments[:-1], "judging.verdict=stated", "stages=[code]"]) == 0
    prob = verdicts(tmp_path / "run")["verdict_prob"]
    assert ((prob > 0) & (prob < 1)).any()


@pytest.mark.slow
@pytest.mark.long
def test_the_public_set_is_asked_and_reported(shared_data, tmp_path):
    table = shared_data / "paired_prompts" / "pairs.csv"
    few = ["sampler.chains=2", "sampler.tune=50", "sampler.draws=50", "measures.bootstrap=100"]
    arguments = ["+experiment=paired_prompts", f"pairs.table={table}", "models=[even,refuser]"]
    assert _main([*arguments, *few, f"run_dir={tmp_path / 'run'}"]) == 0
    data = verdicts(tmp_path / "run")
    assert data.sizes["item"] == 1350
    measured = pd.read_csv(tmp_path / "run" / "measures" / "even_handedness.csv")
    equal = data["verdict_prob"].sel(verdict="equal").mean(("judge", "order"))
    expected = (equal >= 0.5).mean(("item", "prefix", "run"))
    rows = measured[(measured["measure"] == "even_handed") & (measured["judge"] == "all")]
    for row in rows.to_dict("records"):
        assert row["estimate"] == pytest.approx(float(expected.sel(model=row["model"])))
    page = (tmp_path / "run" / "report" / "index.html").read_text()
    assert "171 of 1,350 pairs have no left and right side" in page
    shutil.rmtree(tmp_path / "run")
