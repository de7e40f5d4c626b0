"""The posterior under its public names.

The sampler's vectors become ``theta[model, dimension]``, ``difficulty[item]`` and so on:
each is the value of a part of the predictor, averaged over the cells with that label.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr
from scipy.sparse import csr_array, vstack

from polbayes.fit.coder_errors.misclassification import Coder
from polbayes.fit.density.kernel import DECISIVENESS, forward, sharpness
from polbayes.fit.density.layout import Gathering
from polbayes.fit.density.model import Built
from polbayes.fit.families.ordinal import BERNOULLI
from polbayes.fit.posterior.coefficients import read_coefficients
from polbayes.fit.posterior.dif import read_dif
from polbayes.fit.posterior.lean import lean
from polbayes.fit.posterior.modes import read_modes
from polbayes.fit.posterior.pointwise import draws_of, of_each
from polbayes.fit.spec.cells import Cells, levels
from polbayes.fit.spec.centring import theta_variables
from polbayes.fit.spec.spec import POSITIONS


def name_posterior(built: Built, drawn: xr.Dataset) -> xr.Dataset:
    """Give the posterior, ``[chain, draw, ...]``, its public names, as far as the spec has them.

    ``theta[model, dimension]`` is the position on statements like those asked,
    ``theta_asked[model, dimension]`` that on the statements asked; ``lean[model, dimension]``, on
    [-1, 1], the expected keyed stance on a new statement (`polbayes.fit.posterior.lean`);
    ``decisiveness[model]``, ``acquiescence[model]``, ``prefix_acquiescence`` and
    ``prefix_steer[model, prefix]``, ``difficulty`` and ``discrimination[item]``,
    ``wording[item, variant]``, ``wording_scale`` and ``prompt_scale[model]``,
    ``prefix_scale[model, prefix_effect]``; ``bias[model, dimension]``, ``bias_total[model]`` and
    ``bias_item[model, item]`` on [-1, 1] (negative = left; by the sign of the discrimination in
    each draw where that may be either); if theta differs by instrument,
    ``theta_instrument`` and ``bias_instrument[model, dimension, instrument]``;
    ``validity[model]``, the probability of a usable answer (of answer probabilities, that of all
    usable answers together);
    ``scale[scale_name]``, ``nu[tail_name]`` (degrees of freedom), ``gap[middle_point]``;
    ``confusion[coder_of, label, coded_as]``, how the coder reads answers with each stance or
    ``none``; and the results of `polbayes.fit.posterior.coefficients.read_coefficients`,
    `polbayes.fit.posterior.dif.read_dif` and `polbayes.fit.posterior.modes.read_modes`.

    `drawn` includes the integrated effects
    (`polbayes.fit.sampling.imputation.with_integrated`); ValueError if it does not.
    """
    reader = _Reader(built, drawn)
    out: dict[str, Any] = _positions(reader)
    parts = built.parts
    if "decisiveness" in parts:
        out["decisiveness"] = _decisiveness(built, reader)
    if _by_instrument(built):
        out["theta_instrument"] = reader.part("theta", ("model", "dimension", "instrument"))
    if "acquiescence" in parts:
        out["acquiescence"] = reader.part("acquiescence", ("model",))
    for part in ("acquiescence", "steer"):
        if part in parts and any("prefix" in g.term.factors for g in parts[part].groups):
            effect = reader.part(part, ("model", "prefix"))
            out[f"prefix_{part}"] = effect - effect.mean("prefix")
    if "difficulty" in parts:
        out["difficulty"] = reader.part("difficulty", ("item",))
    if "discrimination" in parts:
        values = reader.part("discrimination", ("item",))
        values = values if built.spec.signed else np.exp(values)
        out["discrimination"] = values.assign_attrs(sign="either" if built.spec.signed else "+")
    out |= _wordings(built, reader)
    out |= _scales(built, reader)
    out |= bias_measure(built, drawn)
    if built.spec.signed:  # a statement's side is what its discrimination says
        out["bias_item"] = out["bias_item"] * np.sign(out["discrimination"])
    out |= read_coefficients(built, drawn)
    out |= read_dif(built, drawn)
    out |= read_modes(built, drawn, reader.part)
    if built.cells.read is not None:
        out["confusion"] = _confusion(built.cells.read.coder, reader)
    if built.layout.validity is not None:
        out["validity"] = _share_usable(built, reader)
    return reader.dataset(out)


def name_positions(built: Built, drawn: xr.Dataset) -> xr.Dataset:
    """Give ``theta``, ``theta_asked`` and ``lean`` alone, as `name_posterior` does."""
    reader = _Reader(built, drawn)
    return reader.dataset(_positions(reader))


def _positions(reader: "_Reader") -> dict[str, Any]:
    needed, given = reader.built.layout.blocks[-1].stop, reader.effects.shape[-1]
    if given < needed:
        raise ValueError(
            f"draws: {given} effects where the model has {needed}; add the integrated ones by "
            "polbayes.fit.sampling.imputation.with_integrated."
        )
    theta = reader.part("theta", ("model", "dimension"))
    expected, table = lean(reader.built, reader.drawn)
    return {
        "theta": theta,
        "theta_asked": _on_these(reader.built, reader, theta),
        "lean": reader.unstack(expected.reshape(*reader.effects.shape[:2], -1), table),
    }


def _decisiveness(built: Built, reader: "_Reader") -> Any:
    """Return decisiveness; NaN for models whose answers say nothing about it."""
    values = np.exp(reader.part("decisiveness", ("model",)))
    unknown = built.cells.frame["model"][built.cells.held].unique()
    return values.where(~values["model"].isin(unknown))


def _on_these(built: Built, reader: "_Reader", theta: Any) -> Any:
    """Return positions on the statements asked, from those on statements like them.

    These are theta plus the mean quirk of these statements and the mean effect of these prefixes,
    relative to the midpoint of these statements. All three are 0 if quirks, effects of
    prefixes and difficulties sum to zero.
    """
    out = theta
    for part in ("quirk", "steer"):
        if part in built.parts:
            out = out + reader.part(part, ("model", "dimension"))
    if "difficulty" in built.parts and not built.spec.signed:
        frame, dims = built.cells.frame, theta["dimension"].values
        difficulty = reader.part("difficulty", ("item",))
        of_item = frame.drop_duplicates("item").set_index("item")["dimension"]
        means = [
            difficulty.sel(item=[i for i in difficulty["item"].values if of_item[i] == d])
            .mean("item")
            .expand_dims(dimension=[d])
            for d in dims
        ]
        out = out - xr.concat(means, dim="dimension")
    return out.transpose(*theta.dims)


class _Reader:
    """Computes values of parts from the draws."""

    def __init__(self, built: Built, drawn: xr.Dataset) -> None:
        self.built = built
        self.drawn = drawn
        self.effects = drawn["effects"].to_numpy()

    def array(self, values: np.ndarray, dims: Sequence[str], coords: dict[str, Any]) -> Any:
        return xr.DataArray(values, dims=("chain", "draw", *dims), coords=coords)

    def variable(self, name: str, dim: str, labels: list[str]) -> Any:
        return self.array(self.drawn[name].to_numpy(), (dim,), {dim: labels})

    def part(self, name: str, dims: tuple[str, ...]) -> Any:
        """Average a part over the cells of every combination of `dims`."""
        gathering = _of_part(self.built, name)
        rows, cell_row = np.unique(gathering.index, axis=0, return_inverse=True)
        if len(gathering.weight) > 1:  # numeric predictors: every cell has its own row
            rows, cell_row = gathering.index, np.arange(len(gathering.index))
        group, table = levels(self.built.cells.frame, dims)
        pairs = np.unique(np.stack([group, cell_row.reshape(-1)], axis=1), axis=0)
        times = np.ones(len(pairs))
        if len(gathering.weight) > 1:
            times = self.built.cells.times[pairs[:, 1]]
        share = times / np.bincount(pairs[:, 0], times)[pairs[:, 0]]
        values = np.zeros((*self.effects.shape[:2], len(table)))
        for (target, row), weight in zip(pairs, share, strict=True):
            factor = gathering.weight[row if len(gathering.weight) > 1 else 0]
            values[..., target] += weight * (self.effects[..., rows[row]] * factor).sum(axis=-1)
        sign = -1.0 if name == "difficulty" else 1.0  # it enters the predictor with a minus sign
        return self.unstack(sign * values, table)

    def unstack(self, values: np.ndarray, table: Any) -> Any:
        """Spread levels over their dimensions; combinations that do not occur are NaN."""
        dims = list(table.columns)
        coords = {d: self.built.cells.present(d) for d in dims}
        full = np.full((*values.shape[:2], *(len(coords[d]) for d in dims)), np.nan)
        at: Any = tuple(np.array([coords[d].index(v) for v in table[d]]) for d in dims)
        full[(slice(None), slice(None), *at)] = values
        return self.array(full, dims, coords)

    def dataset(self, variables: dict[str, Any]) -> xr.Dataset:
        data = xr.Dataset(variables)
        for name in data.coords:
            if data[name].dtype.kind in "UT":
                data = data.assign_coords({name: data[name].astype(object)})
        return data.assign_coords(chain=self.drawn["chain"], draw=self.drawn["draw"])


def _of_part(built: Built, name: str) -> Gathering:
    """Return the gathering of one part's terms alone."""
    whole = built.layout.validity if POSITIONS[name] == "validity" else built.layout.answers
    assert whole is not None
    inside = np.zeros(whole.index.shape[1], dtype=bool)
    for block in built.layout.blocks:
        if block.part == name:
            inside |= (whole.index[0] >= block.start) & (whole.index[0] < block.stop)
    if name == "decisiveness":  # which also enters as a factor of widths
        inside[: whole.roles[DECISIVENESS]] = False
    # Omitted terms shift the start of the other roles.
    roles = np.concatenate([[0], np.cumsum(inside)])[whole.roles]
    return Gathering(whole.index[:, inside], whole.weight[:, inside], roles, whole.keying)


def _by_instrument(built: Built) -> bool:
    """Whether theta differs between several instruments."""
    frame = built.cells.frame
    named = "instrument" in theta_variables(built.spec)
    return named and frame["instrument"].nunique() > 1


def _wordings(built: Built, reader: _Reader) -> dict[str, Any]:
    for block in built.layout.blocks:
        group = block.group
        if block.part == "wording" and group and set(group.term.factors) == {"item", "variant"}:
            values = reader.effects[..., block.start : block.stop]
            return {"wording": reader.unstack(values, group.levels)}
    return {}


def _scales(built: Built, reader: _Reader) -> dict[str, Any]:
    """Return all scales under one name, and the scales by model under their own."""
    out: dict[str, Any] = {}
    if "sd" in reader.drawn:
        labels = [f"{p}: {g}" + (f" [{x}]" if x else "") for p, g, x in built.layout.scales]
        out["scale"] = reader.variable("sd", "scale_name", labels)
    if built.layout.tails:
        terms = [f"{part}: {name}" for part, name in built.layout.tails]
        out["nu"] = reader.variable("nu", "tail_name", terms)
    for name in reader.drawn.data_vars:
        if str(name).startswith("cor_") and "_raw" not in str(name):
            dims = ("row", "column")[: reader.drawn[name].ndim - 2]
            out[str(name)] = reader.array(reader.drawn[name].to_numpy(), dims, {})
    if "gap" in reader.drawn:
        out["gap"] = reader.variable("gap", "middle_point", list(built.cells.points[1:-1]))
    prefix: dict[str, Any] = {}
    for block in built.layout.blocks:
        group = block.group
        if group is None or group.term.by != "model":
            continue
        first, count = block.scales
        values = reader.drawn["sd"].to_numpy()[..., first : first + count]
        array = reader.array(values, ("model",), {"model": list(group.scales)})
        array = array.sel(model=built.cells.present("model"))
        if set(group.term.factors) == {"model", "prefix"}:
            prefix[block.part] = array
        elif block.part == "wording":
            name = "prompt_scale" if "prefix" in group.term.factors else "wording_scale"
            out[name] = array
    if prefix:
        out["prefix_scale"] = xr.concat(
            [prefix[p].assign_coords(prefix_effect=p) for p in prefix], dim="prefix_effect"
        ).transpose("chain", "draw", "model", "prefix_effect")
    if "sigma" in built.parts and "wording_scale" not in out:
        out["wording_scale"] = np.exp(reader.part("sigma", ("model",)))
    return out


def _confusion(coder: Coder, reader: _Reader) -> Any:
    """Return the coding probabilities of answers with each stance, or none."""
    numbers = reader.drawn["reading"].to_numpy()
    tables, points, _ = coder.sizes
    shape = (*numbers.shape[:2], tables, points + 1, points + 1)
    counts = numbers[..., : tables * (points + 1) ** 2].reshape(shape)
    names = [*coder.points, "none"]
    coords = {"coder_of": [name or "all" for name in coder.tables], "label": names}
    return reader.array(
        counts / counts.sum(axis=-1, keepdims=True),
        ("coder_of", "label", "coded_as"),
        coords | {"coded_as": names},
    )


def _share_usable(built: Built, reader: _Reader) -> Any:
    """Return ``[chain, draw, model]`` the probability of a usable answer to what was asked."""
    g, cells = built.layout.validity, built.cells
    assert g is not None
    model, table = levels(cells.frame, ("model",))
    family = built.spec.observation if cells.mass.size else BERNOULLI
    weight = cells.asked / np.bincount(model, weights=cells.asked)[model]
    shape = reader.effects.shape
    shares = [
        np.bincount(model, weights=weight * (1.0 + family.net(eta, own, np.empty(0))) / 2.0)
        for row in draws_of(reader.drawn).effects
        for eta, own in [forward(row, *g.plain)]
    ]
    return reader.unstack(np.stack(shares).reshape(*shape[:2], -1), table)


def of_every_draw(
    built: Built, drawn: xr.Dataset, function: Callable[..., np.ndarray]
) -> np.ndarray:
    """Return ``[draw, ...]`` a function of the distribution of answers, computed draw by draw.

    Its arguments are ``eta``, multiplied by the decisiveness, and ``own``, both
    ``[cell]``; the distances of the cutpoints; and the decisiveness, ``[cell]``.
    """
    draws, plain = draws_of(drawn), built.layout.answers.plain

    def of(draw: int) -> np.ndarray:
        effects, gaps = draws.effects[draw], draws.gaps[draw]
        return function(*forward(effects, *plain), gaps, sharpness(effects, *plain)[0])

    return np.stack(of_each(of, range(len(draws.effects))))


def bias_measure(built: Built, drawn: xr.Dataset) -> dict[str, Any]:
    """Compute the posterior of the bias measure on [-1, 1], by the names of `name_posterior`.

    Faulborn et al. (2025), Eq. 3: the mean of P(agree) - P(disagree) over statements of
    the right, minus that over statements of the left, divided by two. Disagreeing with a statement
    of opposite meaning counts as agreeing. Every wording of an item has the same weight for any
    number of answers, so the design is balanced. NaN if a side has no items. ``bias_item`` is the
    same of one statement: the expected keyed answer, without the division.
    """
    frame = built.cells.frame
    models, dims = built.cells.present("model"), built.cells.present("dimension")
    flip = (frame["keying"] * frame["direction"]).to_numpy(dtype=float)
    instruments = built.cells.present("instrument") if _by_instrument(built) else []
    wording, _ = levels(frame, ("item", "variant"))
    weights = vstack(
        [
            csr_array(_eq3(built.cells, wording, model, within, instrument)[None] * flip)
            for model in models
            for instrument in (None, *instruments)
            for within in (*([d] for d in dims), dims)
        ]
    )
    shape = drawn["effects"].shape[:2]
    by_item, pairs = _by_item(built.cells, flip)
    table = vstack([weights, by_item]).tocsr()
    values = of_every_draw(
        built, drawn, lambda eta, own, gaps, _: table @ built.spec.observation.net(eta, own, gaps)
    )
    values, of_items = np.split(values, [weights.shape[0]], axis=1)
    values = values.reshape(*shape, len(models), 1 + len(instruments), len(dims) + 1)
    every = xr.DataArray(
        values, dims=("chain", "draw", "model", "instrument", "dimension"), coords={"model": models}
    )
    whole, parts = every.isel(instrument=0), every.isel(instrument=slice(1, None))
    out = {
        "bias": whole.isel(dimension=slice(-1)).assign_coords(dimension=dims),
        "bias_total": whole.isel(dimension=-1),
        "bias_item": _Reader(built, drawn).unstack(of_items.reshape(*shape, -1), pairs),
    }
    if instruments:
        by = parts.isel(dimension=slice(-1)).assign_coords(dimension=dims, instrument=instruments)
        out["bias_instrument"] = by.transpose("chain", "draw", "model", "dimension", "instrument")
    return out


def _by_item(cells: Cells, flip: np.ndarray) -> tuple[csr_array, Any]:
    """Return ``[model and item, cell]`` weights of a statement's wordings, and the pairs."""
    side = cells.frame["direction"].to_numpy(dtype=float)
    wording, _ = levels(cells.frame, ("model", "item", "variant"))
    pair, table = levels(cells.frame, ("model", "item"))
    part = cells.part * cells.times
    wordings = np.bincount(np.unique(np.stack([pair, wording]), axis=1)[0])
    weight = side * flip * part / np.bincount(wording, part)[wording] / wordings[pair]
    weight[side == 0] = np.nan  # not scored
    return csr_array((weight, (pair, np.arange(len(pair))))), table


def _eq3(
    cells: Cells, wording: np.ndarray, model: str, dimensions: Sequence[str], instrument: str | None
) -> np.ndarray:
    """Return ``[cell]`` the weights that turn flipped net agreement into Eq. 3.

    `wording` ``[cell]`` numbers the wordings of statements.
    """
    frame = cells.frame
    inside = ((frame["model"] == model) & frame["dimension"].isin(dimensions)).to_numpy()
    if instrument is not None:
        inside = inside & (frame["instrument"] == instrument).to_numpy()
    weights, part = np.zeros(len(frame)), cells.part * cells.times
    for side in (-1, 1):
        cell = np.flatnonzero(inside & (frame["direction"] == side).to_numpy())
        if not len(cell):
            return np.full(len(frame), np.nan)
        size = np.bincount(wording[cell], weights=part[cell])
        weights[cell] = side / 2 * part[cell] / size[wording[cell]] / np.count_nonzero(size)
    return weights
