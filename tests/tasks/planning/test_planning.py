"""Planning from a pilot: designs by hand, what is chosen, and the file that is written."""

import json
import re
import shutil
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.stats import norm

import polbayes as pb
from polbayes.cli import _main
from polbayes.config.compose import compose
from polbayes.config.schema import PlanConfig
from polbayes.data.dataset import open_responses
from polbayes.errors import UserError
from polbayes.tasks.planning.basis import ASSUMPTIONS, basis_of
from polbayes.tasks.planning.designs import Price, chosen, designs, nearest
from polbayes.tasks.planning.experiment import balanced_items
from polbayes.tasks.planning.task import _items, _simulate
from polbayes.tasks.planning.words import cautions

pytestmark = pytest.mark.filterwarnings("ignore:Cannot cache compiled function")

AVAILABLE = {"items": 20, "wordings": 2, "prefixes": 3}


def d_study(dimensions=("economic", "cultural")):
    """Standard errors of a linear model: items 0.6, wordings 0.4, prefixes 0.2, one answer 0.5."""
    rows = []
    for dimension in dimensions:
        for items in (5, 20, 80):
            for wordings, prefixes, runs in ((1, 1, 1), (2, 1, 1), (2, 3, 1), (2, 3, 2)):
                answers = items * wordings * prefixes * runs
                own = 0.36 / items + 0.16 / (items * wordings) + 0.25 / answers
                both = own + 0.04 / prefixes
                row = {"se_bias_relative": np.sqrt(own), "se_bias": np.sqrt(both)}
                row |= {f"{name}_upper": 1.2 * value for name, value in row.items()}
                numbers = {"items": items, "wordings": wordings, "prefixes": prefixes}
                rows.append(
                    {"dimension": dimension, **numbers, "runs": runs, "questions": answers, **row}
                )
    return pd.DataFrame(rows).assign(level=0.9)


def planned(prices=None, **wanted):
    prices = prices or [Price(), Price()]
    return designs(d_study(), PlanConfig(**wanted), available=AVAILABLE, prices=prices)


def test_widths_and_order_by_hand():
    found = planned(width=1.0, apart=0.3).set_index(["items", "wordings", "prefixes", "runs"])
    row = found.loc[20, 2, 3, 1]
    relative = 0.36 / 20 + 0.16 / 40 + 0.25 / 120
    z = norm.ppf(0.95)
    assert row["width"] == pytest.approx(2 * z * np.sqrt(relative + 0.04 / 3))
    assert row["difference"] == pytest.approx(2 * z * np.sqrt(2 * relative))
    assert row["order"] == pytest.approx(norm.cdf(0.3 / np.sqrt(2 * relative)))
    assert row["width_worst"] == pytest.approx(1.2 * row["width"])
    # Two models, two dimensions.
    assert row["questions"] == 2 * 2 * 120


def test_the_order_is_that_of_a_simulation():
    """Two models 0.3 apart, measured with independent errors of statements and answers."""
    rng = np.random.default_rng(1)
    row = planned(width=1.0, apart=0.3).set_index(["items", "wordings", "prefixes", "runs"])
    n, shape = 20_000, (20_000, 2)
    mean = sum(
        rng.normal(0, sd / np.sqrt(number), shape)
        for sd, number in ((0.6, 20), (0.4, 40), (0.5, 120))
    )
    right = (mean[:, 0] + 0.3 > mean[:, 1]).mean()
    error = np.sqrt(0.25 / n)
    assert row.loc[20, 2, 3, 1]["order"] == pytest.approx(right, abs=4 * error)
    wide = np.quantile(mean[:, 0] - mean[:, 1], [0.05, 0.95])
    assert row.loc[20, 2, 3, 1]["difference"] == pytest.approx(wide[1] - wide[0], rel=0.03)


def test_the_cheapest_that_reaches_everything_is_chosen():
    found = planned(difference=0.5, order=0.9, apart=0.3)
    best = chosen(found)
    reached = found[(found["difference"] <= 0.5) & (found["order"] >= 0.9)]
    assert best["questions"] == reached["questions"].min()
    assert not best["surely"] or best["difference_worst"] <= 0.5
    assert chosen(planned(difference=0.01)) is None


def test_what_there_is_not_is_marked():
    found = planned(width=1.0)
    assert found.loc[found["items"] == 80, "there"].sum() == 0
    assert found.loc[found["items"] == 20, "there"].all()
    assert chosen(planned(difference=0.4), there=True) is None
    assert chosen(planned(difference=0.4))["items"] == 80


def test_costs_add_up_over_models_and_limit_designs():
    prices = (Price(100, 0.001), Price(200, 0.003))
    found = planned(prices, difference=0.5, budget=0.5)
    first = found.iloc[0]
    assert first["questions"] == 2 * 2 * 5
    assert first["tokens"] == 10 * 300
    assert first["cost"] == pytest.approx(10 * 0.004)
    assert (found["affordable"] == (found["cost"] <= 0.5)).all()
    near = nearest(found, PlanConfig(difference=0.5))
    assert near["difference"] == found.loc[found["affordable"], "difference"].min()
    assert nearest(planned(prices, difference=0.5, questions=1), PlanConfig(difference=0.5)) is None


def test_items_are_balanced():
    about = pd.DataFrame(
        {
            "item": [f"i{k}" for k in range(12)],
            "dimension": ["economic"] * 8 + ["cultural"] * 4,
            "direction": [1, 1, 1, 1, 1, 1, -1, -1, 1, -1, 1, -1],
        }
    )
    taken = balanced_items(about, 4, seed=1)
    sides = about[about["item"].isin(taken)].groupby("dimension")["direction"].sum()
    assert sides.to_dict() == {"economic": 0, "cultural": 0}
    assert len(taken) == 8
    assert taken == sorted(taken, key=lambda item: int(item[1:]))
    assert balanced_items(about, 4, seed=1) == taken
    six = about[about["item"].isin(balanced_items(about, 6, seed=2))]
    assert six.groupby("dimension").size().to_dict() == {"economic": 6, "cultural": 4}


def test_the_statements_of_a_run_are_those_that_it_asked(pilot):
    config = replace(pb.open(pilot).config, instruments=[str(pilot)])
    about = _items(config, pb.open(pilot).responses)
    assert about["item"].tolist() == ["wvs-01", "wvs-02", "wvs-14", "wvs-15"]


def run(pilot, *more, simulate="false"):
    return _main(["task=plan", f"run_dir={pilot}", f"plan.simulate={simulate}", *more])


def test_a_plan_of_a_pilot(pilot, capsys):
    assert run(pilot, "plan.difference=0.6") == 0
    said = capsys.readouterr().out
    assert "90% intervals of differences of two models no wider than 0.6" in said
    found = pd.read_csv(pilot / "plan" / "plan.csv")
    best = found[found["reached"] & found["affordable"]].iloc[0]
    assert f"{int(best['items'])} statements on each dimension" in said
    own = pd.read_csv(pilot / "estimates" / "d_study.csv")
    own = own[own["dimension"] != "total"]
    both = own.groupby(["items", "wordings", "prefixes", "runs"])["questions"].agg(["size", "sum"])
    both = both[both["size"] == 2]
    assert len(found) == len(both)
    asked = found.set_index(both.index.names)["questions"].sort_index()
    assert asked.tolist() == (3 * both["sum"].sort_index()).tolist()
    assert (pilot / "plan" / "plan.png").read_bytes().startswith(b"\x89PNG")


def test_a_plan_from_few_models_is_no_plan_for_others(pilot, capsys):
    few = "With so few they depend on which models these are: models that are far apart make any"
    planned = pb.run(None, "task=plan", "plan.width=0.9", "plan.simulate=false", run_dir=pilot)
    capsys.readouterr()
    assert run(pilot, "plan.width=0.9") == 0
    said = capsys.readouterr().out
    assert f"These numbers are those of a pilot of 3 models. {few}" in said
    (note,) = pd.read_csv(pilot / "plan" / "plan.csv")["note"].unique()
    assert note in said
    assert planned.said.facts["note"] == note
    with open_responses(pilot) as data:
        five = xr.concat([data.assign_coords(model=data["model"] + end) for end in "ab"], "model")
    basis = basis_of(compose(["task=plan", f"run_dir={pilot}"])[0], [])
    assert len(cautions(basis)) == 1
    assert cautions(replace(basis, data=five.isel(model=slice(4))))
    assert not cautions(replace(basis, data=five.isel(model=slice(5))))
    assert not cautions(replace(basis, kind=ASSUMPTIONS))


def test_the_written_experiment_is_the_pilot_with_other_numbers(pilot, tmp_path, capsys):
    path = tmp_path / "conf" / "experiment" / "main.yaml"
    assert run(pilot, "plan.width=1.2", f"plan.write={path}") == 0
    assert f"--config-dir {tmp_path / 'conf'} +experiment=main" in capsys.readouterr().out
    config, _ = compose(["+experiment=main"], str(tmp_path / "conf"))
    assert config.name == "main"
    assert {one.backend for one in config.respondents.values()} == {"simulated"}
    assert config.models == ["left", "right", "yes_sayer"]
    assert config.sampler.draws == 200
    found = pd.read_csv(pilot / "plan" / "plan.csv")
    best = found[found["reached"] & found["affordable"] & found["there"]].iloc[0]
    assert config.elicitation.runs == best["runs"]
    assert len(config.variants) == best["wordings"]
    assert len(config.prefixes.only) == best["prefixes"]
    assert len(config.items) == 2 * best["items"]
    done = ["+experiment=main", "--config-dir", str(tmp_path / "conf"), "task=dry_run"]
    assert _main([*done, f"run_dir={tmp_path / 'main'}"]) == 0


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ([], "plan: nothing is wanted"),
        (["plan.order=1.5"], "plan.order"),
        (["plan.power=1.5"], "plan.power: must be above 0 and below 1"),
        (["plan.power=0.5", "plan.found=no"], "plan.found"),
        (["plan.power=0.5", "plan.found=verdict", "plan.scale=theta"], "verdicts are about"),
        (["plan.width=0.3", "+plan.assume.sd='HalfNormal(1)'"], "plan.assume: "),
        (["plan.width=0.3", "plan.scale=no"], "plan.scale"),
        (["plan.width=0.3", "plan.budget=5"], "plan.budget: the price of a question is not known"),
        (
            ["plan.width=1.2", "plan.write=main.yaml"],
            "must be a YAML file in a folder 'experiment'",
        ),
        (["plan.width=0.0001", "plan.write=a/experiment/b.yaml"], "plan.write: no design"),
    ],
)
def test_what_is_wrong_is_said(pilot, more, sentence, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert run(pilot, *more) != 0
    assert sentence in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_limits_that_allow_nothing(pilot, capsys):
    assert run(pilot, "plan.width=0.3", "plan.questions=1") == 0
    assert "The limits allow no design" in capsys.readouterr().out
    assert run(pilot, "plan.width=0.01") == 0
    assert "No design that was looked at reaches it" in capsys.readouterr().out


def test_pilots_that_will_not_do(pilot, tmp_path, capsys):
    assert run(tmp_path / "none", "plan.width=0.3") != 0
    assert "holds no run with a posterior" in capsys.readouterr().err
    copy = shutil.copytree(pilot, tmp_path / "copy")
    (copy / "estimates" / "d_study.csv").unlink()
    assert run(copy, "plan.width=0.3") != 0
    assert "has no D-study of positions" in capsys.readouterr().err


def test_a_pilot_that_failed_its_checks_is_said(pilot, tmp_path, capsys):
    copy = shutil.copytree(pilot, tmp_path / "copy")
    manifest = copy / "manifest.json"
    found = json.loads(manifest.read_text())
    found["stages"]["fit"]["verdict"] = "bad"
    manifest.write_text(json.dumps(found))
    assert run(copy, "plan.width=0.9") == 0
    assert "Do not use this" in capsys.readouterr().out
    with pytest.raises(UserError):
        pb.run(None, "task=plan", run_dir=copy, progress=False)


@pytest.mark.slow
def test_a_pilot_is_planned_from_by_simulation(pilot, capsys):
    assert (
        run(pilot, "plan.width=1.0", "plan.studies=10", "plan.questions=150", simulate="true") == 0
    )
    said = capsys.readouterr().out
    assert "simulated 10 times" in said
    found = pd.read_csv(pilot / "plan" / "plan.csv")
    own = found[found["by"] == "simulation"]
    assert 1 <= len(own) <= 5
    assert own["width_error"].between(0.001, 0.2).all()
    assert (own["studies"] == 10).all()
    # The others have the ratio of the one whose size is closest.
    other = found[found["by"] == "corrected"].iloc[0]
    like = own.iloc[np.argmin(np.abs(np.log(own["questions"] / other["questions"])))]
    ratio = like["width"] / like["d_study_width"]
    assert other["width"] == pytest.approx(ratio * other["d_study_width"])
    assert (found["based_on"] == "pilot").all()


def test_the_power_for_the_effect_of_a_prefix(pilot, capsys):
    assert run(pilot, "plan.power=0.5", "plan.effect=0.5") == 0
    said = capsys.readouterr().out
    assert "the effect of a prefix that moves a model's leaning by 0.5 found (90% interval" in said
    found = pd.read_csv(pilot / "plan" / "plan.csv")
    assert (found.loc[found["prefixes"] == 1, "power"] == 0).all()
    assert (found["power_worst"] <= found["power"] + 1e-9).all()
    best = found[found["reached"]].iloc[0]
    assert best["power"] >= 0.5
    assert run(pilot, "plan.power=0.5", "plan.effect=0.5", "plan.found=verdict") == 0
    assert "beyond [-0.1, 0.1]" in capsys.readouterr().out
    strict = pd.read_csv(pilot / "plan" / "plan.csv")
    assert (strict["power"] <= found["power"] + 1e-9).all()


STUDY = ["+experiment=wvs_prefixes", "respondents=simulated", "models=[left,right,yes_sayer]"]


def test_a_simulated_design_is_counted_in_words(capsys):
    nothing = SimpleNamespace(studies=lambda *_, **__: iter(()))
    row = pd.Series({"items": 1, "wordings": 1, "prefixes": 2, "runs": 1})
    with pytest.raises(StopIteration):
        _simulate(nothing, 1, PlanConfig(), row)
    design = "1 statement, 1 wording, 2 prefixes, 1 run"
    assert f"plan: studies of 1 model with {design} are simulated" in capsys.readouterr().err


def test_a_plan_without_a_pilot(tmp_path, capsys):
    folder, path = tmp_path / "none", tmp_path / "conf" / "experiment" / "first.yaml"
    command = [*STUDY, "task=plan", f"run_dir={folder}", "plan.width=1.5", "plan.simulate=false"]
    given = "+plan.assume={theta: {model: {sd: 'Constant(0.8)'}}}"
    assert _main([*command, given, f"plan.write={path}"]) == 0
    said = capsys.readouterr().out
    assert "There is no pilot" in said
    assert "theta: standard deviation by model ~ Constant(0.8), as given: 0.80" in said
    assumed = pd.read_csv(folder / "plan" / "assumptions.csv")
    assert assumed["given"].sum() == 1
    # Of a half-normal distribution the median is 0.674 of its scale, and the 95th percentile 1.96.
    own = assumed[(assumed["part"] == "steer")].iloc[0]
    assert own["prior"] == "HalfNormal(0.5)"
    assert own["estimate"] == pytest.approx(0.337, abs=0.03)
    assert own["upper"] == pytest.approx(0.98, abs=0.1)
    found = pd.read_csv(folder / "plan" / "plan.csv")
    assert (found["based_on"] == "assumptions").all()
    config, _ = compose(["+experiment=first"], str(tmp_path / "conf"))
    assert config.models == ["left", "right", "yes_sayer"]
    # The folder is free for the study itself.
    assert _main([*STUDY, "task=dry_run", f"run_dir={folder}"]) == 0


def test_assumptions_that_are_none(tmp_path, capsys):
    command = [*STUDY, "task=plan", f"run_dir={tmp_path / 'none'}", "plan.width=1.5"]
    assert _main([*command, "+plan.assume.theta.nobody.sd='HalfNormal(1)'"]) != 0
    error = capsys.readouterr().err
    assert "plan.assume" in error
    assert "analysis.priors" not in error
    assert _main([*command, "analysis=mixed_stance"]) != 0
    assert "needs an analysis with leanings" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def served(batch):
    start = "respondents.served.api"
    own = [f"{start}.price_input=2.0", f"{start}.price_output=10.0"]
    study = ["+experiment=wvs_prefixes", "respondents=served", "respondents.served.checkpoint=x"]
    return [*study, *own, *([f"{start}.batch=openai"] if batch else [])]


def test_a_study_without_a_pilot_has_the_prices_of_its_server(tmp_path, capsys, monkeypatch):
    """By batches it costs half; so says the dry run."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    costs, dry = [], []
    for n, batch in enumerate((False, True)):
        folder = tmp_path / f"run{n}"
        more = ["plan.width=1.5", "plan.simulate=false", "plan.models=2", f"run_dir={folder}"]
        assert _main([*served(batch), "task=plan", *more]) == 0
        found = pd.read_csv(folder / "plan" / "plan.csv")
        costs.append(found["cost"])
        capsys.readouterr()
        assert _main([*served(batch), "task=dry_run", f"run_dir={folder}"]) == 0
        dry.append(capsys.readouterr().out)
    assert (costs[0] > 0).all()
    assert costs[1].to_numpy() == pytest.approx(costs[0].to_numpy() / 2)
    paid = [float(re.search(r"about ([\d.,]+) USD", said)[1].replace(",", "")) for said in dry]
    assert paid[1] == pytest.approx(paid[0] / 2, rel=1e-3)
    assert "by batches at half the price" in dry[1]
    assert "by batches" not in dry[0]
