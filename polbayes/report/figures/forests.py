"""The forest plots of the sections."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from polbayes.instrument.poles import POLITICAL, Poles
from polbayes.report.figures import style
from polbayes.report.figures.forest import Panel, ascending, descending, plot_forest

DECISIVENESS = {
    "decisiveness": "Decisiveness",
    "repetition": "Probability of the same answer again",
}
EFFECTS = {
    "wording": "Wording of the statement",
    "prompt": "Single prompt (wording and prefix)",
    "prefix_acquiescence": "Prefix, effect on agreeing",
    "prefix_steer": "Prefix, effect on leaning",
}


def _labelled(text: str) -> Callable[[Axes], object]:
    return lambda axes: axes.set_xlabel(text)


def _coloured(panels: Iterable[tuple[str, pd.DataFrame]], markers: str = "o") -> list[Panel]:
    """Give every panel its own colour and marker."""
    return [
        Panel(title, rows, style.SERIES[k % len(style.SERIES)], markers[k % len(markers)])
        for k, (title, rows) in enumerate(panels)
    ]


def plot_leaning_forest(theta: pd.DataFrame, poles: Poles = POLITICAL) -> Figure:
    """Draw the latent leanings with intervals, the most negative at the top of each panel."""
    panels = [
        Panel(
            style.heading(dimension, poles),
            ascending(theta[theta["dimension"] == dimension]),
            style.COLOUR.get(dimension, style.INK),
            style.MARKER.get(dimension, "o"),
            poles.on(dimension),
        )
        for dimension in style.dimensions_of(theta["dimension"].tolist())
    ]
    return plot_forest(panels, centre=0.0)


def plot_acquiescence(acquiescence: pd.DataFrame) -> Figure:
    """Draw the acquiescence of each model, the highest at the top."""
    panel = Panel("Acquiescence", descending(acquiescence), style.SERIES[2])
    dress = partial(style.sides, low="says no", high="says yes")
    return plot_forest([panel], centre=0.0, dress=dress)


def plot_instability(instability: pd.DataFrame) -> Figure:
    """Draw the normalised standard deviation of each item, the least stable at the top."""
    rows = descending(instability).rename(columns={"item": "model"})
    panel = Panel("Standard deviation of R⁺, 0 to 1 within each model", rows)
    return plot_forest([panel], centre=None, dress=_from_stable)


def _from_stable(axes: Axes) -> None:
    axes.set(xlim=(-0.03, 1.03), xlabel="← most stable item    least stable item →")


def plot_drift(drift: pd.DataFrame, poles: Poles = POLITICAL) -> Figure:
    """Draw the differences of theta between snapshots with their intervals."""
    panels = _coloured(
        (
            f"Drift on {(poles.on(dimension).label or dimension).lower()} questions",
            rows.assign(model=rows["before"] + " → " + rows["after"]),
        )
        for dimension, rows in drift.groupby("dimension", sort=False)
    )
    low, high = style.labels([poles.negative.towards, poles.positive.towards])
    further = _labelled(f"later snapshot further {low} (negative) or {high}")
    return plot_forest(panels, centre=0.0, dress=further)


def plot_instrument_differences(table: pd.DataFrame, poles: Poles = POLITICAL) -> Figure:
    """Draw the differences of leaning between instruments."""
    panels = _coloured(
        (f"{poles.on(dimension).label or dimension}: {first} − {second}", rows)
        for (dimension, first, second), rows in table.groupby(
            ["dimension", "first", "second"], sort=False
        )
    )
    low, high = style.labels([poles.negative.towards, poles.positive.towards])
    which = f"first instrument further {low} (negative) or {high}"
    return plot_forest(panels, centre=0.0, dress=_labelled(which))


def plot_decisiveness(table: pd.DataFrame, *, measure: str) -> Figure:
    """Draw a measure of decisiveness, the most decided model at the top."""
    rows = descending(table[table["measure"] == measure])
    panel = Panel(DECISIVENESS[measure], rows, style.SERIES[0])
    dress = _probability if measure == "repetition" else _logarithmic
    return plot_forest([panel], centre=None, dress=dress)


def _probability(axes: Axes) -> None:
    axes.set(xlim=(0, 1), xlabel="probability")


def _logarithmic(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("decisiveness (logarithmic scale)")


def plot_coefficients(coefficients: pd.DataFrame, *, by: str | None) -> Figure:
    """Draw coefficients with their intervals on one scale.

    With `by`, a variable with a fit for each level, there is a panel per coefficient and a row per
    level; otherwise one panel with a row per coefficient.
    """
    if by is None:
        panels = [Panel("Coefficients", coefficients.assign(model=coefficients["term"]))]
    else:
        panels = _coloured(
            (
                (style.label(str(term), 40), rows.assign(model=rows[by]))
                for term, rows in coefficients.groupby("term", sort=False)
            ),
            "osD",
        )
    return plot_forest(panels, centre=0.0, dress=_labelled("coefficient (0 = no effect)"))


def plot_sensitivity(sensitivity: pd.DataFrame) -> Figure:
    """Draw the scales of the effects of asking, the most sensitive model at the top."""
    present = list(dict.fromkeys(sensitivity["effect"]))
    effects = [e for e in EFFECTS if e in present] + [e for e in present if e not in EFFECTS]
    named = (
        (
            EFFECTS.get(effect, style.label(str(effect), 40)),
            descending(sensitivity[sensitivity["effect"] == effect]),
        )
        for effect in effects
    )
    reach = sensitivity[["estimate", "upper"]].max(axis=None)
    dress = _from_zero(1.05 * reach if reach > 0 else 1.0)
    return plot_forest(_coloured(named, "osD"), centre=None, dress=dress)


def _from_zero(reach: float) -> Callable[[Axes], object]:
    name = "standard deviation (0 = no effect)"
    return lambda axes: axes.set(xlim=(0, reach), xlabel=name)


def plot_prefix_shift(shifts: pd.DataFrame, *, prefixes: Sequence[str]) -> Figure:
    """Draw the mean absolute shift, and the differences of the other prefixes from some."""
    mean = shifts[shifts["measure"] == "mean_absolute_shift"]
    panels = []
    if len(mean):
        title = "Mean absolute shift from the baseline"
        panels.append(Panel(title, descending(mean), style.SERIES[0]))
    order = panels[0].rows["model"].tolist() if panels else None
    others = shifts[shifts["measure"] == "others_minus_this"]
    for k, prefix in enumerate(prefixes):
        rows = others[others["prefix"] == prefix]
        if len(rows):
            if order is not None:
                rows = rows.set_index("model").reindex(order).reset_index()
            title = f"Others minus {style.label(prefix, 24)}"
            panels.append(Panel(title, rows, style.SERIES[1 + k % 6], "sD^"[k % 3]))
    return plot_forest(panels, centre=0.0, dress=_labelled("bias (scale from −1 to 1)"))
