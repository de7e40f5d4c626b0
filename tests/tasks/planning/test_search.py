"""Which designs are simulated, and what that says of the others."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from polbayes.config.schema import PlanConfig
from polbayes.tasks.planning.designs import chosen
from polbayes.tasks.planning.search import Reach, reach, searched, settled
from polbayes.tasks.planning.simulation import Outcome


def table(**more):
    """Twenty designs whose widths fall with the root of their number of questions."""
    questions = np.arange(1, 21) * 100
    width = 10 / np.sqrt(questions)
    found = pd.DataFrame({"questions": questions, "width": width, "width_worst": 1.2 * width})
    found = found.assign(difference=width, difference_worst=width, order=0.9, order_worst=0.8)
    return found.assign(reached=False, surely=False, affordable=True, there=questions < 900, **more)


def found(wanted, truth, **options):
    simulated = []

    def simulate(row):
        simulated.append(int(row["questions"]))
        value = {"width": truth * row["d_study_width"], "difference": 1.0, "order": 0.95}
        return Reach(value, {"width": 0.01}, 0.9, 40)

    designs = table(**options)
    designs = designs.assign(reached=designs["width"] <= wanted.width)
    return searched(designs, wanted, simulate), simulated


@pytest.mark.parametrize("truth", [0.7, 1.0, 1.3])
def test_the_cheapest_that_reaches_it_in_truth_is_found(truth):
    wanted = PlanConfig(width=0.4)
    designs, simulated = found(wanted, truth)
    best = chosen(designs)
    right = np.arange(1, 21) * 100
    right = right[truth * 10 / np.sqrt(right) <= 0.4][0]
    assert best["questions"] == right
    assert best["by"] == "simulation"
    assert best["width"] == pytest.approx(truth * best["d_study_width"])
    assert best["width_error"] == 0.01
    assert len(simulated) == len(set(simulated)) <= 5
    # A simulated design corrects the others, also their worst ends.
    other = designs[designs["by"] == "corrected"].iloc[0]
    assert other["width"] == pytest.approx(truth * other["d_study_width"])
    assert other["width_worst"] == pytest.approx(1.2 * other["width"])


def test_probabilities_are_corrected_on_the_probit_scale():
    designs, _ = found(PlanConfig(width=0.4), 1.0)
    other = designs[designs["by"] == "corrected"].iloc[0]
    shift = norm.ppf(0.95) - norm.ppf(0.9)
    assert other["order"] == pytest.approx(0.95)
    assert other["order_worst"] == pytest.approx(norm.cdf(norm.ppf(0.8) + shift))


def test_the_d_study_alone():
    wanted = PlanConfig(width=0.4)
    designs = searched(table(), wanted, None)
    assert set(designs["by"]) == {"d_study"}
    assert (designs["studies"] == 0).all()
    assert (designs["width"] == designs["d_study_width"]).all()


def test_what_seems_out_of_reach_is_simulated_once():
    designs, simulated = found(PlanConfig(width=0.1), 1.0)
    assert len(simulated) == 1
    assert chosen(designs) is None
    # If it is not, the cheapest that reaches it is found.
    designs, _ = found(PlanConfig(width=0.2), 0.5)
    assert chosen(designs)["questions"] == 700


def test_a_design_to_be_written_is_of_what_there_is():
    wanted = PlanConfig(width=0.4, write="x.yaml")
    designs, simulated = found(wanted, 1.3)
    assert chosen(designs, there=True) is None
    wanted = PlanConfig(width=0.5, write="x.yaml")
    designs, simulated = found(wanted, 1.0)
    assert chosen(designs, there=True)["by"] == "simulation"
    assert simulated == [400]


def outcome(width, between, estimate, true, found=()):
    estimate, true = np.array(estimate, dtype=float), np.array(true, dtype=float)
    half = np.array(width, dtype=float) / 2
    return Outcome(
        estimate - half, estimate + half, estimate, true, np.array(between), np.array(found)
    )


def test_studies_are_summed_up_by_hand():
    one = outcome([[0.4, 0.5], [0.6, 0.7]], [[0.8, 0.9]], [[0, 0], [1, 1]], [[0, 0.3], [1, 1]])
    two = outcome([[0.2, 0.7], [0.4, 0.9]], [[1.0, 0.7]], [[0, 0], [1, 1]], [[0, 0], [1, 1]])
    said = reach([one, two], PlanConfig(width=0.5), [])
    # By dimension 0.4 and 0.7; the widest counts, 0.6 and 0.8 in the two studies.
    assert said.value["width"] == pytest.approx(0.7)
    assert said.error["width"] == pytest.approx(0.1)
    assert said.value["difference"] == pytest.approx(0.9)
    assert said.coverage == pytest.approx(7 / 8)
    assert said.studies == 2
    assert "power" not in said.value


def test_power_is_the_share_of_effects_found():
    flat = ([[1.0], [1.0]], [[1.0]], [[0.0], [1.0]], [[0.0], [1.0]])
    outcomes = [outcome(*flat, found) for found in ([1, 1], [0, 1], [0, 0], [1, 1])]
    said = reach(outcomes, PlanConfig(power=0.5), outcomes)
    assert said.value["power"] == pytest.approx(5 / 8)
    assert said.error["power"] == pytest.approx(np.std([1, 0.5, 0, 1], ddof=1) / 2)
    none = [outcome(*flat, [0, 0])] * 4
    assert reach(none, PlanConfig(power=0.5), none).error["power"] > 0.05


def test_the_order_is_that_of_normal_errors():
    """Estimates shrunk by 0.8, with errors of 0.2: two models 0.3 apart."""
    rng, outcomes = np.random.default_rng(1), []
    for _ in range(3000):
        true = rng.normal(0, 0.5, (2, 1))
        estimate = 0.8 * true + rng.normal(0, 0.2, (2, 1))
        outcomes.append(outcome([[1.0], [1.0]], [[1.0]], estimate, true))
    said = reach(outcomes, PlanConfig(order=0.9, apart=0.3), [])
    right = norm.cdf(0.8 * 0.3 / (np.sqrt(2) * 0.2))
    assert said.value["order"] == pytest.approx(right, abs=4 * said.error["order"])
    assert said.error["order"] < 0.01


def test_what_is_wanted_is_known_well_enough():
    found = Reach({"width": 0.5, "order": 0.9}, {"width": 0.009, "order": 0.05}, 0.9, 20)
    assert settled(found, PlanConfig(width=0.4))
    assert not settled(found, PlanConfig(width=0.4, order=0.9))
    assert not settled(Reach({"width": 0.4}, {"width": 0.009}, 0.9, 20), PlanConfig(width=0.4))
