"""The answer on the first screen: who leans where, how certain that is, and whether to use it."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from polbayes.coding.table_items import OF_TABLE
from polbayes.data.prose import form
from polbayes.fit.posterior.power_scaling import CONFLICT, WEAK
from polbayes.fit.posterior.verdicts import (
    EQUAL,
    LEFT,
    OPEN,
    RIGHT,
    Verdict,
    at_centre,
    from_centre,
    in_words,
)
from polbayes.instrument.dimensions import ECONOMIC_AND_CULTURAL, Dimension, named
from polbayes.instrument.poles import Poles, poles_of
from polbayes.report.asked import coders_of, meaningless, size, unseen
from polbayes.report.blocks import Block, Bullets, Fold, Paragraph, Picture
from polbayes.report.conclusions import AT_RISK
from polbayes.report.figures.verdicts import Row, plot_verdicts
from polbayes.report.numbers import chance, interval, number, share
from polbayes.report.prose import Noun, listed, plural, standing
from polbayes.report.results import Results
from polbayes.report.sections.checks import missed_shares
from polbayes.report.sections.coefficients import predictors
from polbayes.report.sections.precision import FEW_MODELS
from polbayes.report.sections.validity import MOSTLY, by_outcome, hardly_on_options
from polbayes.report.sections.validity import in_words as prefixes_in_words

_MOSTLY_USABLE = 0.9
# More models than this are counted if all lean the same way.
_NAMED = 6
_RELIABLE = 0.8
# Of more models than twice this, so many are drawn at either end.
_ENDS = 50
_CAN_IT = {
    "good": "Yes, as far as the sampler goes: its draws passed all checks.",
    "caution": "With caution: the draws of the sampler passed most checks, but not all.",
    "preview": "No number is to be quoted: this is a quick approximation.",
    "bad": "No: the draws of the sampler failed the checks.",
}
_BUT_FOR_STATEMENTS = (
    "Yes, as far as the sampler goes: its draws passed the checks of everything that is said of "
    "models; those of some single statements did not."
)


def answer(results: Results) -> tuple[Block, ...]:
    """Make the blocks of the first screen."""
    found = [] if results.verdict == "bad" else _found(results)
    change = "; ".join(_would_change(results, found))
    entries = (
        ("It rests on ", rests_on(results)),
        ("It would change with ", f"{change}." if change else ""),
    )
    # Whether to use it stands above the picture, which may fill the first screen.
    blocks: list[Block] = [
        *(Paragraph(text) for text in (*leanings(found, results), *dependences(results))),
        Bullets((("Can it be used? ", " ".join(text for text, _ in _usable(results))),)),
    ]
    known = [row for row in found if row[2].decision]
    if known:
        blocks.append(_picture(known, results))
    blocks.append(Bullets(tuple(entry for entry in entries if entry[1])))
    if found:
        each = Bullets(tuple(_standings(found, results.level, results.dimensions)))
        blocks.append(Fold(f"Each {results.who} in words, with probabilities", (each,)))
    return tuple(blocks)


def lines(results: Results) -> list[str]:
    """Return the answer as lines for a terminal."""
    if results.verdict == "bad":
        return [_CAN_IT["bad"]]
    said = [*leanings(_found(results), results), *dependences(results)]
    whether = " ".join(text for text, _ in _usable(results))
    return [*said, f"Can it be used? {whether}"] if said or results.mixed else []


def usable(results: Results) -> tuple[str, list[str]]:
    """Return whether the estimates can be used, and what is to be borne in mind."""
    said = list(_usable(results))
    whether = " ".join(text for text, caution in said if not caution)
    return whether, [text for text, caution in said if caution]


def _picture(known: list[Row], results: Results) -> Picture:
    poles, level, placed = results.poles, results.level, results.table("reference_scale")
    of = set() if placed is None else set(placed.loc[placed["reference"].astype(bool), "model"])
    of = of if any(row[0] not in of for row in known) else set()  # not if all are of it
    shown = [row for on in dict.fromkeys(row[1] for row in known) for row in _drawn(known, on, of)]
    which = f"each {results.who}"
    if len(shown) < len(known):
        but = ", and of all that are not of the reference," if of else ""
        which = f"the {results.who.many} at either end{but} (the table has the others)"
    told = "; ".join(
        f"{model}, {poles.on(on).label or on}: {at_centre(v.decision, poles.on(on))}"
        for model, on, v in known[:30]
    )
    return Picture(
        name="verdicts",
        caption=f"The lean of {which} with {level:.0%} intervals, {poles.scale}. "
        "The band is the centre in practice; the verdict is beside it."
        f"{' Hollow markers are the reference.' if of else ''}",
        alt=f"Forest plot of the leans. {told}.",
        figure=plot_verdicts(shown, poles, hollow=of),
        csv=("contrasts",),
    )


def _drawn(known: list[Row], dimension: str, reference: Collection[str]) -> list[Row]:
    """Return the models to draw on a dimension: of too many, those at its ends.

    If there is a reference, such as parties, the models that are not of it are drawn in any case.
    """
    rows = sorted((row for row in known if row[1] == dimension), key=lambda row: row[2].estimate)
    asked = {row[0] for row in rows if reference and row[0] not in reference}
    kept = asked if len(asked) <= _ENDS else set()
    others = [row[0] for row in rows if row[0] not in kept]
    half = max(_ENDS - len(kept) // 2, 0)
    if len(others) > 2 * half:
        kept = kept | {*others[:half], *others[len(others) - half :]}
        rows = [row for row in rows if row[0] in kept]
    return rows


def _found(results: Results) -> list[Row]:
    table = results.table("contrasts")
    return [] if table is None else list(from_centre(table))


def leanings(found: Sequence[Row], results: Results) -> list[str]:
    """Say on each dimension, in a sentence, which models lean where."""
    out, poles = [], results.poles
    for dimension in dict.fromkeys(on for _, on, _ in found):
        rows = [(model, verdict) for model, on, verdict in found if on == dimension]
        parts = [
            text
            for decision in (LEFT, RIGHT, EQUAL, OPEN)
            if (text := _leaning(rows, decision, poles.on(dimension), results.who))
        ]
        if parts:
            one = named(results.dimensions, dimension)
            out.append(f"On {one.label.lower()} questions {'; '.join(parts)}.")
    return out


def dependences(results: Results) -> list[str]:
    """Say for which predictors of a mixed model the sign of the coefficient is known."""
    table = results.table("coefficients")
    if not results.mixed or table is None or results.verdict == "bad":
        return []
    rows = predictors(table)
    above, below = rows["lower"] > 0, rows["upper"] < 0
    parts = [
        f"{where} 0 for {listed(rows.loc[of, 'name'].tolist())}"
        for where, of in (("above", above), ("below", below))
        if of.any()
    ]
    if rest := int((~above & ~below).sum()):
        others = "the other" if parts else "all" if rest > 1 else "the"
        parts.append(f"around 0 for {others} {rest if rest > 1 else 'one'}")
    level = f"{results.level:.0%}"
    return [f"The {level} intervals of the coefficients are {'; '.join(parts)}."] if parts else []


def _leaning(rows: list[tuple[str, Verdict]], decision: str, poles: Poles, who: Noun) -> str:
    of = [(model, verdict) for model, verdict in rows if verdict.decision == decision]
    if not of:
        return ""
    alike = len(of) == len(rows) > _NAMED
    if decision == OPEN:
        if alike:
            return f"these data do not tell where any of the {len(of)} {who.many} leans"
        names = listed([model for model, _ in of])
        return f"these data do not tell where {names} {'leans' if len(of) == 1 else 'lean'}"
    names = listed([f"{model} ({chance(verdict.probability)})" for model, verdict in of])
    words = in_words(decision, poles=poles)
    many = words.replace("leans ", "lean ", 1).replace("stands ", "stand ", 1)
    if alike:
        least = chance(min(verdict.probability for _, verdict in of))
        least += "" if least.startswith(">") else " or more"
        return f"all {len(of)} {who.many} {many} ({least} each)"
    return f"{names} {words if len(of) == 1 else many}"


def _standings(
    found: Sequence[Row], level: float, dimensions: Sequence[Dimension] = ECONOMIC_AND_CULTURAL
) -> list[tuple[str, str]]:
    """Say for each model where it stands on each dimension."""
    poles = poles_of(dimensions)

    def said(name: str, verdict: Verdict) -> str:
        where = standing(verdict, level, "centre", poles.on(name))
        return f"on {named(dimensions, name).label.lower()} questions {where}"

    rows = pd.DataFrame(found, columns=["model", "dimension", "verdict"])
    return [
        (
            f"{model} ",
            "; ".join(said(r["dimension"], r["verdict"]) for r in part.to_dict("records")) + ".",
        )
        for model, part in rows.groupby("model", sort=False)
    ]


def rests_on(results: Results) -> str:
    """Say what was asked, and how the answers were read."""
    data, counts = results.responses, size(results.responses)
    items = max(counts["items"], 1)
    wordings = counts["wordings"] / items
    each = f"{number(wordings, 0 if wordings == round(wordings) else 1)} wordings each"
    known = np.ravel(data["instrument"]).tolist() if "instrument" in data.coords else []
    file = Path(str(data.attrs.get("imported_from", ""))).name  # empty in compared runs
    source = [file if name == OF_TABLE else name for name in dict.fromkeys(known)]
    source = [name for name in source if name]
    parts = [
        plural(items, "statement") + (f" of {listed(source)}" if source else ""),
        "one wording each" if wordings <= 1 else each,
        plural(counts["prefixes"], "way") + " of putting the question",
        "once each" if counts["repetitions"] == 1 else f"{counts['repetitions']} times each",
    ]
    text = f"{', '.join(parts)}: {plural(counts['answers asked for'], 'answer')} of "
    text += plural(counts["models"], str(results.who))
    coders = coders_of(data)
    return text + (f", read by {listed(coders)}." if coders else ".")


def _would_change(results: Results, found: list[Row]) -> Iterator[str]:
    """Say how other statements, prompts and priors would matter, as far as known."""
    own = results.table("reliability")
    if not found:
        return
    if own is not None:
        rows = own[own["model"].isna() & (own["measure"] == "se_bias")]
        for row in rows[rows["dimension"].isin(_widest(rows))].to_dict(orient="records"):
            yield (
                "other statements, wordings and prefixes like these: for that, "
                f"{results.who.a}'s bias has a standard error of {number(row['estimate'])}"
            )
    shifts = results.table("prefix_contrasts")
    if shifts is not None:
        yield _of_prefixes(shifts, results.table("flips"))
    prior = results.table("prior_sensitivity")
    if prior is not None:
        # The answer is about lean, as its verdicts are.
        rows = prior[(prior["measure"] == "lean") & prior["diagnosis"].isin((WEAK, CONFLICT))]
        names = list(dict.fromkeys(rows["model"].astype(str)))
        if names:
            yield f"other priors, for {listed(names)}"


def _of_prefixes(shifts: pd.DataFrame, flips: pd.DataFrame | None) -> str:
    """Say how other prefixes would matter: to leanings, or at least to what studies conclude."""
    moved = shifts[shifts["decision"].isin([LEFT, RIGHT])]
    names = [
        f"{model} (with {listed(rows['prefix'].astype(str).tolist(), 3)})"
        for model, rows in moved.groupby("model", sort=False)
    ]
    if names:
        return f"other prefixes: single ones move the leaning of {listed(names)} beyond the margin"
    if flips is not None:
        one = flips[(flips["change"] == "prefix") & (flips["prompts"] == "asked")]
        often = one[one["p_flip"] >= AT_RISK]
        if len(often):
            return (
                f"other prefixes: a study with a single one of these would contradict {len(often)} "
                f"of {plural(int(one['p_flip'].notna().sum()), 'conclusion')} with a probability "
                f"of {AT_RISK:.0%} or more"
            )
    return "other prefixes, little: none is known to move a leaning beyond the margin"


def _widest(rows: pd.DataFrame) -> list[str]:
    there = rows["dimension"].tolist()
    return ["total"] if "total" in there else there[:1]


def _usable(results: Results) -> Iterator[tuple[str, bool]]:
    """Say whether the estimates can be used, and what they omit; each with whether it cautions."""
    if results.fitted:
        yield _sampled(results), False
    predictive, coverage = results.table("predictive"), results.table("predictive_coverage")
    if predictive is not None and coverage is not None:
        missed = missed_shares(predictive, coverage, results.level, results.who)
        if missed:
            yield (
                f"The model does not reproduce {listed(missed)}: too many of these lie outside the "
                f"{results.level:.0%} intervals of answers drawn from it.",
                True,
            )
    counts = size(results.responses)
    one = [
        name
        for name, single in (
            ("prefix", counts["prefixes"] == 1),
            ("wording of each statement", counts["wordings"] <= counts["items"]),
        )
        if single
    ]
    if one:
        yield (
            f"There was only one {' and one '.join(one)}: what another would give is not known and "
            "in no interval.",
            True,
        )
    yield from _of_answers(results)
    own, designs = results.table("reliability"), results.table("d_study")
    if own is not None:
        yield from ((text, True) for text in _of_precision(own, designs, results.who))


def _sampled(results: Results) -> str:
    """Say what the sampler's checks allow, or that the answers are meaningless."""
    models, new, wordings = unseen(results.responses)
    if not new:
        if results.but_for_statements:
            return _BUT_FOR_STATEMENTS
        return _CAN_IT[results.verdict]
    return f"No, not for {meaningless(models, new, plural(wordings, 'wording'))}"


def _hardly_answered(results: Results) -> Iterator[str]:
    """Name who mostly gave no answer that can be used, or put most probability elsewhere."""
    table = results.table("validity")
    if table is None:
        return
    usable = by_outcome(table)
    if "share_usable" in usable:
        none = usable.loc[usable["share_usable"] == 0, "model"].tolist()
        if none:
            lean = form(len(none), "it leans", "they lean")
            yield (
                f"No answer of {listed(none)} could be used, so that nothing is said of where "
                f"{lean}."
            )
        low = usable[usable["share_usable"].between(0, _MOSTLY_USABLE, inclusive="neither")]
        if len(low):
            shares = zip(low["share_usable"], low["model"], strict=True)
            of = listed([f"{share(one)} of {model}'s" for one, model in shares])
            yield f"Many answers could not be used: only {of} could."
    if "mass" in usable:
        low = usable[usable["mass"] < MOSTLY]
        if len(low):
            names = [f"{m} ({share(s)})" for m, s in zip(low["model"], low["mass"], strict=True)]
            yield (
                "Less than half of the probability was on the options, and the rest is in no "
                f"number: {listed(names)}."
            )
    if len(single := hardly_on_options(results)):
        yield (
            "Less than half of the probability was on the options with some prefixes, and the "
            f"rest is in no number: {prefixes_in_words(single)}."
        )


def _of_answers(results: Results) -> Iterator[tuple[str, bool]]:
    table = results.table("validity")
    warned = list(_hardly_answered(results))
    yield from ((text, True) for text in warned)
    if table is not None and not warned:
        usable = by_outcome(table)
        if "share_usable" in usable and len(usable):
            least = usable["share_usable"].min()
            yield (
                "All answers could be used."
                if least == 1
                else f"At least {share(least)} of each {results.who}'s answers could be used.",
                False,
            )
    if coders_of(results.responses) and results.table("confusion") is None:
        yield (
            "Errors in reading the answers are in no interval; task=validate_coder measures them.",
            True,
        )


def _of_precision(own: pd.DataFrame, designs: pd.DataFrame | None, who: Noun) -> Iterator[str]:
    rows = own[own["model"].isna() & (own["measure"] == "dependability")]
    rows = rows[rows["dimension"].isin(_widest(rows))]
    wanted = _RELIABLE
    if designs is not None and designs["measure"].iloc[0] == "dependability":
        wanted = float(designs["wanted"].iloc[0])
    for row in rows[rows["estimate"] < wanted].to_dict(orient="records"):
        yield (
            f"Another study of this size may place the {who.many} otherwise: its dependability is "
            f"{number(row['estimate'])} {interval(row['lower'], row['upper'])}, where "
            f"{number(wanted)} is wanted."
        )
    if "n_models" in own and own["n_models"].max() < FEW_MODELS:
        yield (
            f"How precise the run is, is judged by the differences between its few {who.many} "
            f"({int(own['n_models'].max())})."
        )
