"""The whole way, from dialogues to the report, on embedded actors and judges."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import yaml
from playing import SAID, STUBS, ratings

from polbayes.cli import _main
from polbayes.data.dataset import read_dataset
from polbayes.instrument.values import VALUES, WEIGHTS
from polbayes.planted.roleplay import actors, judges
from polbayes.respondents import Completion
from polbayes.roleplay.measures.data import check_ratings, judge_means
from polbayes.roleplay.stages import PIPELINE
from polbayes.roleplay.transcripts import open_transcripts
from polbayes.run.manifest import check_config, stage_keys
from polbayes.run.pipeline import write_tables

ARGUMENTS = [
    "+experiment=politicsbench",
    "roleplay.scenarios=[union,guns,health,speech,trade,drugs]",
    "roleplay.wordings=[original,paraphrase_1]",
    "measures.bootstrap=300",
    "judging.sample=60",
]
EXPERIMENT = [ARGUMENTS[0], "roleplay.scenarios=[union]", "roleplay.wordings=[original]"]
FEW = ["sampler.chains=2", "sampler.tune=50", "sampler.draws=50"]
PANEL = ("left_judge", "right_judge", "neutral_judge")
LIBERAL = np.sign(list(WEIGHTS.values()))
FIRST = 1 - 2 * np.arange(len(VALUES)) / (len(VALUES) - 1)


FIT = PIPELINE.stages["fit"]


@pytest.fixture(scope="module", autouse=True)
def unfitted():
    """Leave the many-facet model, which takes its time, to the tests that are about it."""
    with pytest.MonkeyPatch.context() as patch:

        def nothing(job):
            return write_tables({}, job.folder / "estimates"), {"notes": []}

        patch.setitem(PIPELINE.stages, "fit", replace(FIT, do=nothing))
        yield


@pytest.fixture
def fitted(monkeypatch):
    """Have the many-facet model fitted."""
    monkeypatch.setitem(PIPELINE.stages, "fit", FIT)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("roleplay") / "run"
    assert _main([*ARGUMENTS, f"run_dir={folder}"]) == 0
    return folder


def table(folder, name):
    return pd.read_csv(folder / "measures" / f"{name}.csv")


def planted_shift(name):
    """Return what a judge adds to each value, by what is planted in it."""
    one = judges()[name]
    return -one.severity + LIBERAL * one.leaning + FIRST * one.place + one.number


def test_ratings_are_what_the_measures_want(done):
    data = read_dataset(done / "ratings.nc")
    check_ratings(data)
    assert dict(data.sizes) == {
        "model": 5,
        "scenario": 6,
        "twin": 2,
        "wording": 2,
        "stage": 6,
        "judge": 3,
        "value": 10,
        "attempt": 3,
        "outcome": 12,
    }
    assert float(judge_means(data).notnull().mean()) == 1.0
    assert set(data["asking"].values.tolist()) == {-1, 1}
    assert data.attrs["seed"] == open_transcripts(done).attrs["seed"] == 2017


def test_planted_profiles_are_recovered_but_for_what_all_judges_add(done):
    """The panel's mean shift is planted and known; what is left is chance."""
    found = table(done, "profiles").query("twin == 'both' and source == 'stages'")
    common = dict(zip(VALUES, np.mean([planted_shift(j) for j in PANEL], axis=0), strict=True))
    errors = []
    for row in found.itertuples():
        wanted = actors()[row.model].profile[row.value] - 10 + common[row.value]
        errors.append((row.estimate - wanted) / (row.sd / np.sqrt(row.n)))
    # 50 means of six scenarios each, with their own standard errors: like Student's t with 5 df,
    # whose standard deviation is 1.29.
    assert abs(np.mean(errors)) < 1.29 * 3.5 / np.sqrt(50)
    assert np.mean(np.abs(errors) > 2.57) < 0.2


def test_planted_sway_is_recovered(done):
    found = table(done, "symmetry").query("measure == 'sway' and stage == 'stages'")
    for row in found.itertuples():
        assert row.estimate == pytest.approx(10 * actors()[row.model].sway, abs=2.5)
    assert found["positive"].unique().tolist() == ["towards the person who asks"]


def test_planted_differences_of_the_judges_are_recovered(done):
    found = table(done, "judge_effects").set_index(["measure", "judge", "value"])
    shifts = {judge: planted_shift(judge) for judge in PANEL}
    panel = np.mean(list(shifts.values()), axis=0)
    w = np.array(list(WEIGHTS.values()))
    for judge in PANEL:
        own = shifts[judge] - panel
        severity = found.loc[("severity", judge, "all"), "estimate"]
        leaning = found.loc[("leaning", judge, "all"), "estimate"]
        assert severity == pytest.approx(-own.mean(), abs=0.06)
        assert leaning == pytest.approx(w @ own, abs=0.6)
        for k, value in enumerate(VALUES):
            assert found.loc[("shift", judge, value), "estimate"] == pytest.approx(own[k], abs=0.25)


def test_what_order_and_scale_do_is_recovered(done):
    found = table(done, "judge_checks").query("value == 'all'").set_index(["measure", "judge"])
    for judge in PANEL:
        planted = judges()[judge]
        place, number = (found.loc[(name, judge), "estimate"] for name in ("place", "number"))
        assert place == pytest.approx(planted.place, abs=0.1)
        assert number == pytest.approx(planted.number, abs=0.25)


def test_the_report_has_its_figures_tables_and_pages(done):
    report = done / "report"
    page = (report / "index.html").read_text(encoding="utf-8")
    for name in ("alignment", "profiles_reflection", "stage_curves", "symmetry", "judge_shifts"):
        assert (report / "figures" / f"{name}.png").is_file()
        assert (report / "figures" / f"{name}.svg").is_file()
    for path in (done / "measures").glob("*.csv"):
        assert (report / "tables" / path.name).is_file()
    for title in ("Where the models stand", "Mirrored twins", "The judges", "Transcripts"):
        assert title in page
    assert page.count("Positive is liberal (left)") > 6
    assert 'href="transcripts_5.html"' in page
    rows = pd.read_csv(report / "tables" / "transcripts.csv")
    assert len(rows) == 5 * 6 * 2 * 2 * 6
    own = (report / "transcripts_1.html").read_text(encoding="utf-8")
    assert own.count("<tr>") == 1 + len(rows) / 5
    assert "searchable" in own


def test_a_finished_run_does_nothing(done, capsys):
    before = {p: p.stat().st_mtime_ns for p in done.rglob("*") if p.is_file()}
    assert _main([*ARGUMENTS, f"run_dir={done}"]) == 0
    assert "finished before, nothing to do" in capsys.readouterr().err
    assert before == {p: p.stat().st_mtime_ns for p in done.rglob("*") if p.is_file()}


def test_other_judges_judge_the_same_transcripts(done, tmp_path, capsys):
    folder = tmp_path / "run"
    shutil.copytree(done, folder)
    journals = {p: p.read_bytes() for p in (folder / "journal").glob("*.jsonl")}
    fewer = [*ARGUMENTS, f"run_dir={folder}", "judging.judges=[left_judge,neutral_judge]"]
    assert _main(fewer) == 2
    assert "stages=[code,measure,fit,report]" in capsys.readouterr().err
    assert _main([*fewer, "stages=[code]"]) == 0
    assert "probe" not in capsys.readouterr().err
    data = read_dataset(folder / "ratings.nc")
    assert data["judge"].values.tolist() == ["left_judge", "neutral_judge"]
    first = read_dataset(done / "ratings.nc").sel(judge=data["judge"].values)
    assert data["rating"].identical(first["rating"])
    assert journals == {p: p.read_bytes() for p in (folder / "journal").glob("*.jsonl")}


def test_another_run_takes_over_dialogues_and_replies(done, tmp_path):
    folder = tmp_path / "more"
    fewer = [*ARGUMENTS, f"run_dir={folder}", f"answers_from={done}", "stages=[probe,code]"]
    assert _main([*fewer, "models=[liberal]", "judging.sample=0"]) == 0
    own, old = read_dataset(folder / "ratings.nc"), read_dataset(done / "ratings.nc")
    assert own["rating"].identical(old["rating"].sel(model=["liberal"]))


def test_one_model_one_judge_one_twin_make_a_report(tmp_path, fitted):
    arguments = [
        *(*EXPERIMENT, *FEW),
        *(f"run_dir={tmp_path / 'run'}", "models=[liberal]", "judging.judges=[neutral_judge]"),
        *("roleplay.twins=[original]", "judging.sample=0", "measures.bootstrap=100"),
    ]
    assert _main(arguments) == 0
    page = (tmp_path / "run" / "report" / "index.html").read_text(encoding="utf-8")
    assert "There is one judge only" in page
    assert "There is one model only" in page
    assert "Agreement between judges, " not in page.split("Not in this report")[0]
    for name in ("symmetry", "judge_effects", "judge_agreement", "judge_checks"):
        assert not (tmp_path / "run" / "measures" / f"{name}.csv").exists()


@pytest.mark.parametrize("nothing", ["judges", pytest.param("says", marks=pytest.mark.slow)])
def test_a_run_in_which_nothing_can_be_used_reports_that(world, tmp_path, nothing, fitted):
    setattr(world, nothing, Completion("", "refused"))
    more = ["+judges.k.backend=stub_judge", "measures.bootstrap=100", "judging.sample=2"]
    assert _main([*EXPERIMENT, *STUBS, *more, f"run_dir={tmp_path / 'run'}"]) == 0
    assert read_dataset(tmp_path / "run" / "ratings.nc")["rating"].isnull().all()
    page = (tmp_path / "run" / "report" / "index.html").read_text(encoding="utf-8")
    said = "used, after all attempts" if nothing == "judges" else "24 turns are refusals"
    assert said in page
    assert "The many-facet model is not identified: ratings: there is no rating." in page
    assert not (tmp_path / "run" / "posterior.nc").exists()


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.filterwarnings("ignore:Cannot cache compiled function")
def test_the_many_facet_model_recovers_what_is_planted(done, tmp_path, fitted):
    """Judge-adjusted profiles and rater effects match the planted ones."""
    folder = tmp_path / "run"
    shutil.copytree(done, folder)
    again = [*ARGUMENTS, f"run_dir={folder}", "stages=[fit,report]"]
    assert _main([*again, "sampler.tune=400", "sampler.draws=400"]) == 0
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["stages"]["fit"]["verdict"] != "bad"
    found = pd.read_csv(folder / "estimates" / "facet_judges.csv")
    found = found.set_index(["judge", "effect"])
    shift = {name: planted_shift(name) for name in PANEL}
    mean = np.mean(list(shift.values()), axis=0)
    scores = np.array(list(WEIGHTS.values()))
    for name in PANEL:
        # Severity is against the mean of the panel; a positive one takes points away.
        row = found.loc[name, "severity"]
        assert row["lower"] - 0.1 < -(shift[name] - mean).mean() < row["upper"] + 0.1
        tilt = 100 * ((shift[name] - mean) @ scores) / (10 * np.abs(scores).sum())
        row = found.loc[name, "tilt"]
        assert row["lower"] - 0.5 < tilt < row["upper"] + 0.5
    order = pd.read_csv(folder / "estimates" / "facet_alignment.csv")
    order = order[order["source"] == "reflection"].sort_values("estimate")["model"].tolist()
    assert (order[0], order[-1]) == ("conservative", "liberal")
    page = (folder / "report" / "index.html").read_text(encoding="utf-8")
    for title in ("Judge-adjusted profiles and alignment", "How many judges"):
        assert title in page


def test_what_models_and_judges_write_is_shown_and_does_nothing(world, tmp_path):
    evil = "<script>alert(1)</script> <img src=x onerror=alert(2)> =cmd() \x1b[2J"
    world.says = lambda question: f"{SAID} {evil}"
    world.judges = json.dumps(ratings(reasoning=evil))
    arguments = [*EXPERIMENT, *STUBS, f"run_dir={tmp_path / 'run'}", "measures.bootstrap=100"]
    assert _main(arguments) == 0
    for page in (tmp_path / "run" / "report").glob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert "<script>alert" not in text
        assert "<img src=x" not in text
        assert "&lt;script&gt;alert(1)" in text
        assert "\x1b" not in text


@pytest.mark.parametrize(
    ("overrides", "says"),
    [
        (["roleplay.scenarios=[unoin]"], "unknown name in data/scenarios 'unoin'; did you mean"),
        (["roleplay.scenarios=[]"], "roleplay.scenarios: the list is empty"),
        (["roleplay.scenarios=[./none.yaml]"], "none.yaml: no such file"),
        (["roleplay.twins=[mirorred]"], "roleplay.twins: unknown twin 'mirorred'; did you mean"),
        (["roleplay.wordings=[original,original]"], "roleplay.wordings: a name is given twice"),
        (["roleplay.temperature.reflection=-1"], "roleplay.temperature.reflection: must be at"),
        (["roleplay.temperature.reflexion=1"], "unknown key 'reflexion'; did you mean"),
        (["judging.judges=[left_jugde]"], "unknown judge 'left_jugde'; did you mean 'left_judge'"),
        (["judges=embeded"], "unknown judges 'embeded'; did you mean 'embedded'"),
        (["judges=none"], "judges: there is none"),
        (["models=[liberl]"], "unknown model 'liberl'; did you mean 'liberal'"),
        (["respondents=simulated"], "respondents.left: backend simulated cannot be asked by role"),
        (["elicitation.runs=2"], "elicitation.runs: a role is played once, not 2 times"),
        (["instruments=[wvs]"], "instruments: is for questionnaires"),
        (["task=explain"], "task: explain is for questionnaires"),
        (["stages=[fit]"], "stages: probe and code were not done"),
        (["answers_from=nowhere"], "answers_from: nowhere is not the folder of a run"),
        (["respondents.liberal.checkpoint=liberal"], "there is no embedded actor 'liberal'"),
    ],
)
def test_bad_input_is_one_sentence(overrides, says, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert _main([*EXPERIMENT, *overrides]) == 2
    out = capsys.readouterr()
    assert out.err.startswith("error: ")
    assert says in out.err
    assert out.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_another_scenario_in_the_same_folder_is_refused(done, capsys):
    assert _main([*ARGUMENTS, f"run_dir={done}", "roleplay.scenarios=[union]"]) == 2
    assert "holds a run with roleplay.scenarios=" in capsys.readouterr().err


def test_a_dry_run_counts_and_shows_and_writes_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    served = ["+judges.lab.backend=chat_api", "+judges.lab.checkpoint=m"]
    prices = ["+judges.lab.api.price_input=1.0", "+judges.lab.api.price_output=2.0"]
    assert _main([*EXPERIMENT, *served, *prices, "task=dry_run"]) == 0
    out = capsys.readouterr().out
    assert "5 respondents, 2 dialogues each (1 scenario, 2 twins, 1 wording): 12 turns" in out
    # 5 x 12 turns, and the sample of 60 once more in each of two ways.
    assert "4 judges of every text: up to 180 requests a judge" in out
    assert "lab (judge): " in out
    assert "about " in out
    assert "### THOUGHTS" in out
    assert "- egalitarianism:" in out
    assert list(tmp_path.iterdir()) == []


def test_runs_of_questionnaires_made_before_there_were_roleplays_go_on(tmp_path):
    from polbayes.config.compose import compose

    _, text = compose(["+experiment=wvs_prefixes"])
    now = yaml.safe_load(text)
    then = {k: v for k, v in now.items() if k not in ("roleplay", "judges", "judging")}
    assert stage_keys(now, {}) == stage_keys(then, {})
    (tmp_path / ".hydra").mkdir()
    (tmp_path / ".hydra" / "config.yaml").write_text(yaml.safe_dump(then))
    check_config(tmp_path, text, ["probe", "code", "measure", "fit", "report"])
