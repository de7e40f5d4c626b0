"""Model checks: whether the fitted model predicts answers like those given."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import pandas as pd

from polbayes.instrument.poles import Poles
from polbayes.report import show
from polbayes.report.blocks import (
    Block,
    Bullets,
    Column,
    Fold,
    Grid,
    Paragraph,
    Picture,
    Section,
    grid,
)
from polbayes.report.figures.predictive import PANELS, plot_predictive
from polbayes.report.numbers import count, interval, number, share
from polbayes.report.prose import Noun, listed
from polbayes.report.results import Results
from polbayes.report.section import SectionMaker

_STATISTICS: Mapping[str, str] = {
    "agreement_by_keying": "agreement by {who} and side of the statement",
    "agreement_by_prefix": "agreement by {who} and prefix",
    "agreement_by_item": "agreement by statement and side",
    "neutral": "neutral answers by {who}",
    "neutral_by_item": "neutral answers by statement",
    "repeated": "the same answer to the same question again, by {who}",
    "extreme": "answers with a probability below 0.05 or above 0.95, by {who}",
    "usable": "usable answers by {who}",
    "usable_by_item": "usable answers by statement",
    "between_wordings": "differences between the wordings of a statement, by {who}",
    "quirk_tails": "kurtosis of what {who.a} thinks of single statements",
}
_NO_SHARES = ("quirk_tails",)
# With a smaller share of replicated quirks with larger kurtosis, the tails are too heavy.
_HEAVY = 0.05
# The replicates come from a model that has seen the answers, so fewer than the nominal share of
# observed values hardly ever lie within the intervals by chance.
_SLACK = 0.1
# The 50 % intervals may contain at most 50 % and this part of the remaining shares, if there are
# at least so many shares.
_WIDE, _ENOUGH = 0.5, 20
# Share of unreliable cells above which LOO as a whole is unreliable.
_MANY = 0.05
# By whether answers were drawn from the model.
_READING = {
    True: (
        "A model that fits would, asked the same questions again, give answers like those that "
        "were given. Answers were drawn from the fitted model many times over, and the shares in "
        "them are compared with the observed ones. In the figure the line is the {level} interval "
        "of the drawn shares; where it crosses the diagonal, the model reproduces what was "
        "observed. That does not make the model true, but what it cannot reproduce it has not "
        "understood. The side of an answer does not enter, except that statements are grouped by "
        "side."
    ),
    False: (
        "A model that has understood the answers predicts each of them from all others. How well "
        "it does is said by the expected log predictive density (elpd), which is comparable only "
        "between models of the same answers."
    ),
}


def checks(results: Results) -> Section | None:
    """Compare observations with the predictions of the fitted model."""
    predictive, coverage = results.table("predictive"), results.table("predictive_coverage")
    loo = results.table("loo")
    specs = results.table("specs")
    if (predictive is None or coverage is None) and loo is None and specs is None:
        return None
    entries: list[tuple[str, str]] = []
    blocks: list[Block] = []
    if predictive is not None and coverage is not None:
        entries += _replicates(predictive, coverage, results)
        entries += _needed(predictive, coverage, results.level)
        blocks += _predicted(predictive, coverage, results)
    if loo is not None:
        rows = loo.to_dict("records")
        entries += [entry for row in rows for entry in _left_out(row, results.who)]
        left_out: tuple[Block, ...] = (_loo(loo),)
        if results.table("loo_cells") is not None:
            left_out += (Paragraph("The same, cell by cell.", csv="loo_cells"),)
        blocks.append(Fold("Leaving out one cell at a time, as a table", left_out))
    if specs is not None:
        entries += _best_spec(specs)
        blocks.append(_specs(specs))
    reading = _READING[predictive is not None].format(level=_level(results))
    return Section("fit", "Does the model fit?", (reading,), (Bullets(tuple(entries)), *blocks))


def _level(results: Results) -> str:
    return f"{results.level:.0%}"


def _statistics(who: Noun) -> Mapping[str, str]:
    """Return what the shares compared are called."""
    return {name: text.format(who=who) for name, text in _STATISTICS.items()}


def _replicates(
    predictive: pd.DataFrame, coverage: pd.DataFrame, results: Results
) -> list[tuple[str, str]]:
    level = results.level
    (whole,) = coverage[coverage["statistic"] == "all"].to_dict("records")
    found = (
        f"Of {count(whole['groups'])} shares {share(whole['inside'])} lie within the {level:.0%} "
        f"interval of the answers drawn from the model, and {share(whole['inside_50'])} within "
        "the 50% interval."
    )
    missed = missed_shares(predictive, coverage, level, results.who)
    if not missed and whole["inside_50"] > 0.5 + _WIDE * 0.5 and whole["groups"] >= _ENOUGH:
        return [
            (
                "The model is vaguer than the answers. ",
                f"{found} That is more than intervals of these sizes should hold: the model allows "
                "for more variation than there is in the answers. What it says of single shares is "
                "too vague; nothing here speaks against its estimates of the "
                f"{results.who.many}.",
            )
        ]
    if not missed and whole["inside"] >= level - _SLACK:
        return [("The model reproduces the answers. ", found)]
    told = f"It misses {listed(missed)}. " if missed else ""
    return [
        (
            "The model does not reproduce everything. ",
            f"{found} {told}About these the estimates say less than their intervals suggest; the "
            "crosses in the figure and the first rows of the table show where.",
        )
    ]


def missed_shares(
    predictive: pd.DataFrame, coverage: pd.DataFrame, level: float, who: Noun
) -> list[str]:
    """Name the statistics too few of which lie within their intervals, and say by how much.

    Of many answers the intervals are so short that they miss what no conclusion depends on.
    """
    parts, names_of = coverage[coverage["statistic"] != "all"], _statistics(who)
    beyond = (predictive["lower"] - predictive["observed"]).clip(
        lower=predictive["observed"] - predictive["upper"]
    )
    furthest = beyond.groupby(predictive["statistic"]).max()
    said = []
    for row in parts[parts["inside"] < level - _SLACK].to_dict("records"):
        name, inside = row["statistic"], f"{share(row['inside'])} inside"
        if name in furthest and name not in _NO_SHARES:
            inside += f", none off by more than {number(100 * furthest[name], 1)} points"
        said.append(f"{names_of.get(name, name)} ({inside})")
    return said


def _needed(
    predictive: pd.DataFrame, coverage: pd.DataFrame, level: float
) -> list[tuple[str, str]]:
    """Return the options of the spec that could explain misses."""
    entries = []
    tails = predictive[predictive["statistic"] == "quirk_tails"]
    heavy = tails.loc[tails["p"] < _HEAVY, "model"].astype(str).tolist()
    if heavy:
        entries.append(
            (
                "Some statements stand out. ",
                f"What {listed(heavy)} {'thinks' if len(heavy) == 1 else 'think'} of single "
                "statements has heavier tails than a normal distribution; "
                "quirk: ~ (1 | gr(model:item, dist = student)) gives it a t distribution.",
            )
        )
    middle = coverage[coverage["statistic"] == "neutral_by_item"]
    if (middle["inside"] < level - _SLACK).any():
        entries.append(
            (
                "Statements differ in their middle. ",
                "Some get neutral answers more often, or less often, than the model allows; "
                "adding (1 | item) to the part threshold gives each statement a width of its own.",
            )
        )
    return entries


def _left_out(row: Mapping[str, Any], who: Noun) -> list[tuple[str, str]]:
    what = "answer" if row["part"] == "answers" else "usable or unusable answer"
    cells, unreliable = row["cells"], row["k_bad"] + row["k_very_bad"]
    figure = f"elpd {number(row['elpd_loo'], 1)}, standard error {number(row['se'], 1)}"
    if row["probability"] == row["probability"]:
        told = (
            f"Predicted from all other cells, the {what} that was given has a probability of "
            f"{share(row['probability'])} on average (geometric mean); guessing by how often "
            f"each {who} gives it would have {share(row['guess'])} ({figure})."
        )
    else:
        told = f"The density of the answers, each predicted from all other cells: {figure}."
    entries = [("Answers that the model has not seen. ", told)]
    if row.get("of", cells) > cells:
        entries.append(
            (
                "",
                f"These are estimates from {count(cells)} cells drawn at random from "
                f"{count(row['of'])}; the standard error says how exact they are.",
            )
        )
    if row["integrated"]:
        entries.append(
            (
                "",
                f"In {count(row['integrated'])} of {count(cells)} cells an effect that no other "
                "cell knows of was averaged over its distribution.",
            )
        )
    return [*entries, ("", _reliability(unreliable, cells))]


def _reliability(unreliable: int, cells: int) -> str:
    if not unreliable:
        return (
            "This can be relied on: no cell weighs so much on the estimates that they could not "
            "be corrected for its absence (Pareto k is at most 0.7 everywhere)."
        )
    share_of = f"{count(unreliable)} of {count(cells)} cells ({share(unreliable / cells)})"
    few = unreliable <= _MANY * cells
    return (
        f"In {share_of} this is not reliable (Pareto k above 0.7): each is nearly all that is "
        "known of some effect, so that the estimates without it cannot be had from those with "
        "it, and its prediction is likely too favourable. "
        + (
            "They are few; differences between models that rest on them should not be believed."
            if few
            else "They are many: do not compare models by this figure."
        )
    )


def _predicted(predictive: pd.DataFrame, coverage: pd.DataFrame, results: Results) -> list[Block]:
    blocks: list[Block] = []
    drawn = predictive[predictive["statistic"].isin(PANELS)]
    if not drawn.empty:
        numbers = {"extreme"} & set(predictive["statistic"])
        what = "mean R⁺" if numbers else "share agreeing"
        blocks.append(
            Picture(
                name="predictive",
                caption=(
                    f"Observed against predicted agreement with {_level(results)} intervals of "
                    "answers drawn from the model."
                ),
                alt="Scatter plots of observed against predicted shares; numbers in the table.",
                figure=plot_predictive(drawn, what=what, who=str(results.who)),
            )
        )
    tables = (_shares(predictive, results), _coverage(coverage, results))
    return [*blocks, Fold("Observed and predicted shares, as tables", tables)]


def _coverage(coverage: pd.DataFrame, results: Results) -> Grid:
    return grid(
        coverage,
        [
            show.named("statistic", "Shares", _statistics(results.who)),
            show.count("groups", "Number"),
            show.share("inside_50", "Within the 50% interval"),
            show.share("inside", f"Within the {results.level:.0%} interval"),
        ],
        caption="How many of the observed shares lie within the intervals.",
        csv="predictive_coverage",
    )


def _shares(predictive: pd.DataFrame, results: Results) -> Grid:
    level = float(predictive["level"].iloc[0]) if "level" in predictive else 0.9
    outside = (predictive["observed"] - predictive["upper"]).clip(lower=0) + (
        predictive["lower"] - predictive["observed"]
    ).clip(lower=0)
    ordered = predictive.iloc[(-outside).argsort(kind="stable")]
    return grid(
        ordered,
        [
            show.named("statistic", "Share", _statistics(results.who)),
            Column("Of", partial(_group, poles=results.poles), numeric=False),
            show.number("observed", "Observed"),
            show.number("estimate", "Predicted"),
            Column(f"{level:.0%} interval", lambda row: interval(row["lower"], row["upper"])),
        ],
        caption="Observed and predicted shares, those furthest outside their interval first.",
        csv="predictive",
        searchable=True,
    )


def _group(row: Mapping[str, Any], poles: Poles) -> str:
    parts = [str(row[name]) for name in ("model", "prefix", "item") if row[name] == row[name]]
    if row["keying"] == row["keying"]:
        pole = {-1: poles.negative, 1: poles.positive}.get(int(row["keying"]))
        parts.append(pole.leaning if pole else "")
    return ", ".join(part for part in parts if part)


def _best_spec(specs: pd.DataFrame) -> list[tuple[str, str]]:
    """Say which of several specs predicts best, in one sentence per part."""
    entries = []
    for part, table in specs.groupby("part", sort=False):
        what = "the answers" if part == "answers" else "whether answers are usable"
        bad = table.loc[table["verdict"] == "bad", "spec"].astype(str).tolist()
        said = "; ".join(f"{row['spec']} {row['reading']}" for row in table.to_dict("records"))
        warned = f" The draws of {listed(bad)} failed the diagnostics." if bad else ""
        entries.append((f"Other models of {what}. ", f"{said}.{warned}"))
    return entries


def _specs(specs: pd.DataFrame) -> Grid:
    return grid(
        specs,
        [
            Column("Spec", lambda row: str(row["spec"]), numeric=False),
            Column("Of", lambda row: str(row["part"]), numeric=False),
            show.number("elpd_loo", "elpd", 1),
            show.number("difference", "Less than the best by", 1),
            show.number("se_difference", "Standard error of that", 1),
            show.count("unreliable", "Cells with k above 0.7"),
            Column("Draws", lambda row: str(row["verdict"]), numeric=False),
            Column("In words", lambda row: str(row["reading"]), numeric=False),
        ],
        caption="Several models of the same answers, the one that predicts them best first.",
        csv="specs",
    )


def _loo(loo: pd.DataFrame) -> Grid:
    return grid(
        loo,
        [
            Column("Of", lambda row: str(row["part"]), numeric=False),
            show.number("elpd_loo", "elpd", 1),
            show.number("se", "Standard error", 1),
            show.number("p_loo", "Effective parameters", 1),
            *(
                Column(header, lambda row, name=name: count(row[name]))  # type: ignore[misc]
                for name, header in (
                    ("cells", "Cells"),
                    ("k_good", "k to 0.5"),
                    ("k_ok", "to 0.7"),
                    ("k_bad", "to 1"),
                    ("k_very_bad", "above 1"),
                )
            ),
        ],
        caption="PSIS-LOO: expected log predictive density of the counts in each cell.",
        csv="loo",
    )


SECTION = SectionMaker("Does the model fit", checks, analysis="ideology")
