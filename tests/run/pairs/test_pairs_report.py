"""The report of a run on paired requests, and what its folder says afterwards."""

import re
import shutil

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from asking import SMALL, STUBS

from polbayes.cli import _main
from polbayes.config.compose import compose
from polbayes.data.dataset import STATUS, open_responses, read_dataset
from polbayes.report.asked import not_for_embedded
from polbayes.run.finished import answer_of_folder
from polbayes.run.pairs.plan import plan_pairs
from polbayes.run.pairs.report.judges import enough
from polbayes.run.pairs.report.positions import beliefs
from polbayes.run.pairs.report.results import PairsResults
from polbayes.run.pairs.report.tilt import standing
from polbayes.run.pairs.report.write import SECTIONS, exclusions

MORE = [SMALL[0], "pairs.templates=[essay,story]", "pairs.topics=[unions,prisons,drugs]"]
EMBEDDED = [*MORE, "measures.bootstrap=100", "models=[even,refuser,hedger]"]
EVIL = "<script>alert(1)</script> <img src=x onerror=alert(2)> =cmd() \x1b[2J {x} $a_b$"

pytestmark = pytest.mark.filterwarnings("ignore:.*Degrees of freedom")


def page(folder):
    return (folder / "report" / "index.html").read_text(encoding="utf-8")


def test_all_sections_are_there(prior_only, tmp_path, capsys):
    folder = tmp_path / "run"
    assert _main([*EMBEDDED, f"run_dir={folder}"]) == 0
    text = page(folder)
    titles = re.findall(r"<h2[^>]*>(.*?)</h2>", text)
    for name in SECTIONS:
        if name not in ("What models say, and how they treat others", "Which side is helped more"):
            assert any(name in title for title in titles), name
    assert "What models say, and how they treat others" not in text
    for model in ("even", "refuser", "hedger"):
        assert re.search(rf"<strong>{model}:</strong> (helps|open|is even)", text)
    images = re.findall(r"<img [^>]*>", text)
    assert len(images) >= 6
    assert all('alt="' in image and 'alt=""' not in image for image in images)
    for name in re.findall(r'href="(tables/[^"]+|figures/[^"]+)"', text):
        assert (folder / "report" / name).is_file(), name
    # The last lines of the run are its answer.
    said = capsys.readouterr().out
    assert "even: " in said
    assert str(folder) in said
    answer = answer_of_folder(folder)
    assert {row["model"] for row in answer.facts["favour"]} == {"even", "refuser", "hedger"}


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (
            1,
            [
                "1 request could not be answered; its pair is not judged.",
                "1 answer is empty or was refused by the server; it is judged as it is, as help "
                "that was not given.",
                "1 verdict could not be read after all attempts.",
            ],
        ),
        (
            2,
            [
                "2 requests could not be answered; their pairs are not judged.",
                "2 answers are empty or were refused by the server; they are judged as they are, "
                "as help that was not given.",
                "2 verdicts could not be read after all attempts.",
            ],
        ),
    ],
)
def test_what_the_numbers_exclude_is_counted(number, said):
    of = [STATUS["error"]] * number + [STATUS["empty"]] * number + [STATUS["ok"]] * 3
    responses = xr.Dataset({"status": ("item", of)})
    read = [1] * number + [0, 0, -128]
    verdicts = xr.Dataset({"verdict_status": ("item", read), "model": ["a", "b"]})
    assert exclusions(responses, verdicts) == said


def test_draws_are_reused_if_only_the_level_changes(prior_only, tmp_path, monkeypatch, capsys):
    folder = tmp_path / "run"
    assert _main([*EMBEDDED, f"run_dir={folder}"]) == 0
    before = pd.read_csv(folder / "estimates" / "tilt.csv")
    again = [*EMBEDDED, f"run_dir={folder}", "stages=[measure,fit,report]", "analysis.level=0.5"]
    assert _main(again) == 0
    assert "the draws of an earlier fit are reused" in capsys.readouterr().err
    after = pd.read_csv(folder / "estimates" / "tilt.csv")
    assert np.allclose(before["estimate"], after["estimate"])
    assert ((after["upper"] - after["lower"]) < (before["upper"] - before["lower"])).all()


def test_untrusted_text_stays_text(world, prior_only, tmp_path):
    world.says = EVIL
    reply = '{"reasoning": "%s", "helped_more": "first", "hedging": 2, "compliance": 4}'
    world.judges = reply % EVIL.replace("\x1b", "")
    folder = tmp_path / "run"
    stubs = [one for one in STUBS if not one.startswith("stages=")]
    assert _main([*MORE, *stubs, "measures.bootstrap=100", f"run_dir={folder}"]) == 0
    text = page(folder)
    assert "<script>alert" not in text
    assert "<img src=x" not in text
    assert "\x1b" not in text
    assert "&lt;script&gt;alert(1)" in text


def test_what_embedded_models_write_means_nothing(world, prior_only, tmp_path, capsys):
    """They are let through, and know the statements of the shipped instruments alone."""
    folder = tmp_path / "run"
    stubs = [one for one in STUBS if not one.startswith("stages=")]
    embedded = "respondents.a.checkpoint=embedded:left"
    run = [*MORE, *stubs, embedded, "measures.bootstrap=100", f"run_dir={folder}"]
    assert _main(run) == 0
    pairs = open_responses(folder).sizes["item"]
    said = (
        "Not to be used for a: these are embedded models, trained on the wordings of the shipped "
        f"instruments alone. Of the {pairs} pairs asked, {pairs} are none of these"
    )
    assert said in capsys.readouterr().out
    assert said in " ".join(page(folder).split())
    assert any(said in one for one in answer_of_folder(folder).facts["sentences"])


def test_embedded_models_can_be_named_as_writers():
    """Only planted writers answer requests in a way that means something."""
    named = ["+experiment=even_handedness", "pairs.topics=[unions]", "models=[left]"]
    plan = plan_pairs(compose([*named, "respondents=embedded"])[0])
    (said,) = not_for_embedded(plan.design, "item", "pair")
    assert "Not to be used for left: these are embedded models" in said
    planted = plan_pairs(compose([*named[:2], "models=[even]"])[0])
    assert not_for_embedded(planted.design, "item", "pair") == []


def test_one_model_one_judge_one_topic(prior_only, tmp_path):
    few = ["pairs.topics=[unions]", "pairs.templates=[essay]", "judging.judges=[fair_grader]"]
    folder = tmp_path / "run"
    assert (
        _main([SMALL[0], *few, "models=[even]", "measures.bootstrap=100", f"run_dir={folder}"]) == 0
    )
    text = page(folder)
    assert "There is one judge only" in text
    assert "There is one model only" in text
    assert (folder / "estimates" / "tilt.csv").is_file()


def test_nothing_judged_is_reported_without_a_model(world, tmp_path):
    world.judges = "I will not."
    stubs = [one for one in STUBS if not one.startswith("stages=")]
    folder = tmp_path / "run"
    more = ["judging.retries=0", "measures.bootstrap=100", f"run_dir={folder}"]
    assert _main([*MORE, *stubs, *more]) == 0
    assert "The model of the verdicts is not identified" in page(folder)
    assert not (folder / "posterior.nc").exists()
    assert "not identified" in answer_of_folder(folder).text


def test_unmarked_pairs_are_reported_without_a_model(prior_only, tmp_path):
    table = tmp_path / "pairs.csv"
    rows = [{"topic": "tea", "template": "x", "a": "Praise tea.", "b": "Praise milk."}]
    pd.DataFrame(rows).to_csv(table, index=False)
    folder = tmp_path / "run"
    arguments = [SMALL[0], "pairs.set=null", f"pairs.table={table}", "models=[even]"]
    assert _main([*arguments, "measures.bootstrap=100", f"run_dir={folder}"]) == 0
    assert "no pair whose sides are marked" in page(folder)


def test_positions_stand_beside_tilts(prior_only, tmp_path):
    rng = np.random.default_rng(1)
    other = tmp_path / "other"
    other.mkdir()
    dims = ("chain", "draw", "model", "dimension")
    names = {"model": ["even", "hedger", "refuser"], "dimension": ["economic", "cultural"]}
    theta = xr.Dataset({"theta": (dims, rng.standard_normal((2, 100, 3, 2)))}, coords=names)
    folder = tmp_path / "run"
    arguments = [*EMBEDDED, f"run_dir={folder}", f"report.positions={other}"]
    assert _main(arguments) != 0
    theta.to_netcdf(other / "posterior.nc", group="posterior")
    assert _main(arguments) == 0
    text = page(folder)
    assert "What models say, and how they treat others" in text
    table = pd.read_csv(folder / "report" / "tables" / "positions.csv")
    assert len(table) == 9
    correlation = pd.read_csv(folder / "report" / "tables" / "position_correlation.csv")
    assert correlation["estimate"].abs().max() < 0.5
    # Another posterior there makes the report anew.
    (theta + 5).to_netcdf(other / "posterior.nc", group="posterior")
    assert _main(arguments) == 0
    moved = pd.read_csv(folder / "report" / "tables" / "positions.csv")
    assert np.allclose(moved["theta"], table["theta"] + 5)


@pytest.mark.parametrize(
    ("decision", "says"),
    [
        ("left", "helps the left more (−0.30, 90% interval −0.40 to −0.20; probability 98%)."),
        ("open", "(−0.30, 90% interval −0.40 to −0.20; left 98%, right <"),
    ],
)
def test_verdicts_in_words(decision, says):
    row = {
        "decision": decision,
        "estimate": -0.3,
        "lower": -0.4,
        "upper": -0.2,
        "p_left_of_rope": 0.98,
        "p_inside": 0.02,
        "p_right_of_rope": 0.0,
    }
    assert says in standing(row, 0.9)


def test_other_tasks_work_or_say_why_not(prior_only, tmp_path, capsys):
    folder = tmp_path / "run"
    assert _main([*EMBEDDED, f"run_dir={folder}"]) == 0
    worked = []
    for task in ("inspect", "watch", "export", "sensitivity", "compare_specs", "compare"):
        capsys.readouterr()
        where = f"runs=[{folder},{folder}]" if task == "compare" else f"run_dir={folder}"
        code = _main([f"task={task}", where, *(["watch.every=0"] if task == "watch" else [])])
        said = capsys.readouterr()
        assert "Traceback" not in said.err, task
        if code:
            assert len([x for x in said.err.splitlines() if x.startswith("error: ")]) == 1, task
        else:
            worked.append(task)
    assert {"inspect", "watch"} <= set(worked)


def test_answers_alone_can_be_taken_over(tmp_path):
    folder, other = tmp_path / "run", tmp_path / "other"
    probed = [*EMBEDDED, "stages=[probe,code]"]
    assert _main([*probed, f"run_dir={folder}"]) == 0
    assert _main([*probed, f"run_dir={other}", f"answers_from={folder}"]) == 0
    one, two = (read_dataset(at / "verdicts.nc") for at in (folder, other))
    assert one["verdict_prob"].identical(two["verdict_prob"])
    shutil.rmtree(folder)


def test_prefixes_are_in_the_model(prior_only, tmp_path):
    file = tmp_path / "prefixes.yaml"
    file.write_text("prefixes:\n  plain: {text: ''}\n  fair: {text: '', system: Be fair.}\n")
    folder = tmp_path / "run"
    more = [f"prefixes.file={file}", "prefixes.only=[plain,fair]", "elicitation.runs=2"]
    assert _main([*EMBEDDED, *more, f"run_dir={folder}"]) == 0
    with xr.open_dataset(folder / "posterior.nc", group="posterior") as posterior:
        assert posterior["prefix_tilt"].sizes["prefix"] == 2
        assert np.allclose(posterior["prefix_tilt"].sum("prefix"), 0, atol=1e-9)
    pairs = pd.read_csv(folder / "report" / "tables" / "pairs.csv")
    assert len(pairs) == 3 * 6 * 2 * 2


@pytest.mark.parametrize(
    ("verdict", "of_positions", "says"),
    [
        ("good", "good", "correlation 0.40, 90% interval"),
        ("good", "preview", "are not to be quoted"),
        ("good", "bad", "Do not use the positions"),
        ("bad", "good", "There is no correlation"),
    ],
)
def test_positions_are_as_good_as_the_run_that_they_are_of(verdict, of_positions, says):
    names = {"model": list("abc"), "dimension": "economic"}
    both = {f"{of}{end}": 0.1 for of in ("theta", "tilt") for end in ("", "_lower", "_upper")}
    found = {"dimension": ["economic"], "n_models": 3, "estimate": 0.4, "lower": 0.1, "upper": 0.7}
    tables = {
        "positions": pd.DataFrame({**names, **both}),
        "position_correlation": pd.DataFrame(found),
    }
    about = dict.fromkeys(("title", "description", "name", "command", "created", "way"), "")
    data = {"verdicts": xr.Dataset(), "responses": xr.Dataset(), "tables": tables}
    results = PairsResults(
        **about, **data, level=0.9, verdict=verdict, positions_verdict=of_positions
    )
    section = beliefs(results)
    picture, said, _ = section.blocks
    text = " ".join([*section.reading, *(part for entry in said.entries for part in entry)])
    assert says in text
    (axes,) = picture.figure.axes
    given = "bad" not in (verdict, of_positions)
    heading = "Economic: r = 0.40 [0.10, 0.70]" if given else "Economic"
    assert axes.get_title(loc="left") == heading
    assert ("correlation 0.40" in text) == given


def test_one_judge_and_one_topic_are_in_the_singular():
    numbers = dict.fromkeys(("se", "least", "se_difference", "least_difference"), 0.5)
    rows = [{"judges": n, "topics": n, "verdicts": n, "own": n == 1} for n in (1, 2)]
    designs = pd.DataFrame(rows).assign(**numbers, judges_known=True)
    about = dict.fromkeys(("title", "description", "name", "command", "created", "way"), "")
    texts = {}
    for models in (1, 5):
        verdicts = xr.Dataset(coords={"model": [f"m{k}" for k in range(models)]})
        data = {"verdicts": verdicts, "responses": xr.Dataset()}
        section = enough(PairsResults(**about, **data, tables={"verdict_design": designs}))
        texts[models] = section.blocks[0].text
    assert texts[1].startswith("With 1 judge and 1 topic, as here, ")
    assert "These standard errors rest on 1 model. With so few they " in texts[1]
    assert "With so few" not in texts[5]
