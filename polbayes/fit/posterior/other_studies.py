"""What other studies of the same statements would find, drawn from the fitted model.

A study's score of a model on a dimension is the bias measure: the mean of its keyed answers, with
the same weight for both sides, for the items of a side, for the wordings of an item and for the
prefixes of a wording. In every draw of the posterior the distribution of each answer is known,
and hence that of the score of a study that asks some of the prompts, or new ones, whose effects
are drawn from the distributions of such effects.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr
from scipy.sparse import csr_array, vstack

from polbayes.fit.density.kernel import forward
from polbayes.fit.density.layout import Block
from polbayes.fit.density.model import Built
from polbayes.fit.posterior.measurement_design import shares
from polbayes.fit.posterior.pointwise import Draws, draws_of, of_each
from polbayes.fit.spec.cells import levels

AGAIN, PREFIX, WORDING, RUN, PROMPT = "again", "prefix", "wording", "run", "prompt"
ASKED, NEW = "asked", "new"
# What is new in a study with another prefix or wording: the factors of the effects drawn anew.
_ANEW = {PREFIX: {"prefix"}, WORDING: {"variant"}, PROMPT: {"prefix", "variant"}}
# Numbers of studies drawn from a draw of the posterior, and of draws: some 20 million answers.
_DESIGNS = 20
_ANSWERS, _LEAST, _MOST = 20_000_000, 200, 1000
# With more cells than this, studies ask some of the run's wordings and prefixes, drawn at random.
_MOST_CELLS = 200_000


@dataclass(frozen=True)
class Studies:
    """The scores of studies like a run, of which something is different."""

    models: tuple[str, ...]
    dimensions: tuple[str, ...]
    # By what is different and whether prompts are asked or new: ``[study, model, dimension]``, NaN
    # for a model without answers in a study
    scores: Mapping[tuple[str, str], np.ndarray]
    # ``[row]`` the prompts; ``[draw, row]`` how much each moves the expected answers, in [-2, 2]:
    # a prefix the model's score, a wording the answers to its statement
    prompts: pd.DataFrame
    shifts: np.ndarray


class Asked:
    """The questions of a run that got usable answers, and the studies that ask some of them.

    Parameters
    ----------
    frame
        One row a cell: model, dimension, direction, keying, item, variant and prefix.
    answers
        ``[cell]`` their numbers of usable answers.
    """

    def __init__(self, frame: pd.DataFrame, answers: np.ndarray) -> None:
        self.at = np.flatnonzero(answers > 0)
        self.frame = frame.iloc[self.at].reset_index(drop=True)
        self.answers = answers[self.at]
        self.keying = self.frame["keying"].to_numpy(dtype=float)
        self.place, self.places = levels(self.frame, ["model", "dimension"])
        self.prefix, self.prefixes = levels(self.frame, ["prefix"])
        self.wording, self.wordings = levels(self.frame, ["item", "variant"])
        self.item = levels(self.frame, ["item"])[0]
        self.question = levels(self.frame, ["model", "dimension", "item", "variant"])[0]
        self._sides = self._number_of_sides(np.arange(len(self.frame)))

    def varied(self) -> list[str]:
        """Return what the run varied: prefixes, wordings and runs."""
        found = [PREFIX] if len(self.prefixes) > 1 else []
        found += [WORDING] if len(self.wordings) > self.item.max() + 1 else []
        return found + ([RUN] if (self.answers > 1).any() else [])

    def _number_of_sides(self, cells: np.ndarray) -> np.ndarray:
        """Return ``[model and dimension]`` of how many sides of a dimension there are answers."""
        place, side = self.place[cells], levels(self.frame.iloc[cells], ["direction"])[0]
        pairs = np.unique(np.stack([place, side]), axis=1)
        return np.bincount(pairs[0], minlength=len(self.places))

    def scores(self, chosen: np.ndarray) -> csr_array:
        """Return ``[model and dimension, cell]`` the weights of the cells that a study asks.

        A model has none if it answered only statements of one side in this study, and of both in
        the run: its score would be another measure.
        """
        cells = np.flatnonzero(chosen)
        lacks = self._number_of_sides(cells) < self._sides
        cells = cells[~lacks[self.place[cells]]]
        part = self.frame.iloc[cells].reset_index(drop=True)
        values = shares(part, "direction") * self.keying[cells]
        shape = (len(self.places), len(self.frame))
        return csr_array((values, (self.place[cells], cells)), shape=shape)

    def of_prefixes(self, rng: np.random.Generator) -> list[np.ndarray]:
        """Choose the cells of studies with one prefix: each of them, or some of very many."""
        some = rng.permutation(len(self.prefixes))[:_DESIGNS]
        return [self.prefix == one for one in some]

    def of_wordings(self, rng: np.random.Generator) -> list[np.ndarray]:
        """Choose the cells of studies with one wording of each item, drawn at random."""
        of_item = self.wordings["item"].to_numpy()
        chosen = []
        for _ in range(_DESIGNS):
            order = rng.permutation(len(of_item))
            first = order[~pd.Series(of_item[order]).duplicated().to_numpy()]
            chosen.append(np.isin(self.wording, first))
        return chosen

    def of_prompts(self, rng: np.random.Generator) -> list[np.ndarray]:
        """Choose the cells of studies with one prefix and one wording of each item."""
        prefixes = rng.permutation(len(self.prefixes))
        return [
            wordings & (self.prefix == prefixes[k % len(prefixes)])
            for k, wordings in enumerate(self.of_wordings(rng))
        ]

    def moved(self) -> tuple[pd.DataFrame, csr_array]:
        """Return the prompts, and ``[prompt, cell]`` what gives their shifts of keyed answers."""
        tables, blocks = [], []
        whole = self.scores(np.ones(len(self.frame), dtype=bool))
        if PREFIX in self.varied():
            for at, name in enumerate(self.prefixes["prefix"]):
                own = self.scores(self.prefix == at)
                # The same questions with every prefix: others would differ by their statements.
                like = np.isin(self.question, self.question[self.prefix == at])
                there = np.flatnonzero(np.diff(own.indptr))
                tables.append(self.places.iloc[there].assign(kind=PREFIX, prefix=name))
                blocks.append((own - (whole if like.all() else self.scores(like)))[there])
        if WORDING in self.varied():
            names = ["model", "dimension", "item"]
            answer, _ = levels(self.frame, names)
            row, table = levels(self.frame, [*names, "variant"])
            of_row = np.zeros(len(table), dtype=int)
            of_row[row] = answer
            cells = np.arange(len(row))
            mean = csr_array((1 / np.bincount(row)[row], (row, cells)))
            number = np.bincount(of_row)
            rest = csr_array((1 / number[of_row], (of_row, np.arange(len(of_row))))) @ mean
            several = np.flatnonzero(number[of_row] > 1)
            tables.append(table.iloc[several].assign(kind=WORDING))
            keyed = csr_array((self.keying, (cells, cells)))
            blocks.append(((mean - rest[of_row]) @ keyed)[several])
        if not tables:
            return pd.DataFrame(), csr_array((0, len(self.frame)))
        return pd.concat(tables, ignore_index=True), csr_array(vstack(blocks))


def other_studies(built: Built, drawn: xr.Dataset, *, seed: int, most: int) -> Studies:
    """Draw the scores of other studies, and how much each prompt moves the answers.

    Parameters
    ----------
    built, drawn
        The model, and its draws with integrated effects.
    seed
        Fixes what is drawn.
    most
        Number of prompts of each kind, model and dimension whose shifts are kept, those that move
        most.
    """
    every = built.cells.every
    asked = Asked(every.frame, _of_some_prompts(every.frame, every.answered, seed))
    draws = _thinned(draws_of(drawn), -(-_ANSWERS // max(len(asked.frame), 1)))
    answering = _Answering(built, draws, asked, seed)
    designs = _designs(built, asked, np.random.default_rng(seed))
    prompts, table = asked.moved()
    if len(prompts):
        kept = _largest(
            prompts, answering.expected(table, slice(None, None, 20)).mean(axis=0), most
        )
        prompts, table = prompts.iloc[kept].reset_index(drop=True), table[kept]
    scores = answering.scores(designs)
    models, dimensions = (
        _in_order(built.cells.order[name], asked.places[name]) for name in ("model", "dimension")
    )
    at = (
        asked.places["model"].map(models.index).to_numpy(),
        asked.places["dimension"].map(dimensions.index).to_numpy(),
    )
    full = {}
    for name, values in scores.items():
        full[name] = np.full((len(values), len(models), len(dimensions)), np.nan)
        full[name][:, at[0], at[1]] = values
    shifts = answering.expected(table, slice(None))
    return Studies(models, dimensions, full, prompts, shifts)


def _in_order(labels: Iterable[str], present: Iterable[str]) -> tuple[str, ...]:
    """Return the labels that are present, in their order."""
    wanted = set(present)
    return tuple(label for label in labels if label in wanted)


def _of_some_prompts(frame: pd.DataFrame, answers: np.ndarray, seed: int) -> np.ndarray:
    """Drop the answers to all but some wordings, and prefixes, of a run with very many cells."""
    rng = np.random.default_rng(seed)
    kept = answers.copy()
    for names in (["item", "variant"], ["prefix"]):
        cells = np.flatnonzero(kept > 0)
        if len(cells) <= _MOST_CELLS:
            break
        at, table = levels(frame.iloc[cells].reset_index(drop=True), names)
        among = table.assign(every=0).iloc[rng.permutation(len(table))]
        groups = among.groupby(names[:-1] or "every")
        most = np.maximum(2, groups["every"].transform("size") * _MOST_CELLS / len(cells))
        chosen = (groups.cumcount() < most).sort_index().to_numpy()
        kept[cells[~chosen[at]]] = 0
    return kept


def _thinned(draws: Draws, most: int) -> Draws:
    """Return at most so many draws, evenly spaced."""
    count = int(np.clip(most, _LEAST, _MOST))
    step = slice(None, None, -(-len(draws.effects) // count))
    return Draws(*(values[step] for values in vars(draws).values()))


def _largest(prompts: pd.DataFrame, shift: np.ndarray, most: int) -> np.ndarray:
    """Return the rows of the prompts that move each model most."""
    ranked = prompts.assign(size=-np.abs(shift)).sort_values("size", kind="stable")
    return ranked.groupby(["kind", "model", "dimension"], sort=False).head(most).index.to_numpy()


@dataclass(frozen=True)
class _Design:
    """Studies of one kind."""

    name: tuple[str, str]
    weights: csr_array  # [study and model and dimension, cell]; an empty row has no score
    once: bool  # whether each question is asked once, not as often as in the run
    anew: frozenset[str] = frozenset()  # factors of the effects that are drawn anew


def _designs(built: Built, asked: Asked, rng: np.random.Generator) -> list[_Design]:
    """Lay out the studies that differ from the run."""
    varied = asked.varied()
    whole = asked.scores(np.ones(len(asked.frame), dtype=bool))
    found = [_Design((AGAIN, ASKED), whole, once=False)]
    if RUN in varied:
        found.append(_Design((RUN, ASKED), whole, once=True))
    choose = {PREFIX: asked.of_prefixes, WORDING: asked.of_wordings, PROMPT: asked.of_prompts}
    there = {
        factor
        for block in built.layout.blocks
        if block.group is not None
        for factor in block.group.term.factors
    } - ({"prefix"} if built.spec.fixed_prefixes else set())
    for change, chosen in choose.items():
        if change in varied or (change == PROMPT and varied):
            weights = csr_array(vstack([asked.scores(cells) for cells in chosen(rng)]))
            once, anew = change == PROMPT, frozenset(_ANEW[change] & there)
            found.append(_Design((change, ASKED), weights, once=once))
            if anew:
                found.append(_Design((change, NEW), weights, once=once, anew=anew))
    return found


class _Answering:
    """Draws answers, and computes expected ones, draw by draw."""

    def __init__(self, built: Built, draws: Draws, asked: Asked, seed: int) -> None:
        self.built, self.draws, self.asked, self.seed = built, draws, asked, seed
        number = np.arange(len(built.cells.frame))
        self.plain = built.layout.answers.at(built.cells.spread(number)[asked.at]).plain

    def expected(self, table: csr_array, of: slice) -> np.ndarray:
        """Return ``[draw, row]`` weighted sums of expected answers."""
        family = self.built.spec.observation
        rows = range(len(self.draws.effects))[of]
        if not table.shape[0]:
            return np.empty((len(rows), 0))

        def one(k: int) -> np.ndarray:
            eta, own = forward(self.draws.effects[k], *self.plain)
            return np.asarray(table @ family.net(eta, own, self.draws.gaps[k]))

        return np.stack(of_each(one, rows))

    def scores(self, designs: Sequence[_Design]) -> dict[tuple[str, str], np.ndarray]:
        """Return ``[study, model and dimension]`` the scores of studies of every kind."""
        size = len(self.asked.places)
        found = of_each(lambda k: self._of(k, designs), range(len(self.draws.effects)))
        whole = (np.concatenate(values).reshape(-1, size) for values in zip(*found, strict=True))
        return {design.name: values for design, values in zip(designs, whole, strict=True)}

    def _of(self, k: int, designs: Sequence[_Design]) -> list[np.ndarray]:
        rng = np.random.default_rng([self.seed, k])
        kinds = [design.anew for design in designs]
        answers = {anew: self._answers(k, anew, rng) for anew in dict.fromkeys(kinds)}
        found = []
        for design in designs:
            scores = design.weights @ answers[design.anew][int(design.once)]
            found.append(np.where(np.diff(design.weights.indptr) > 0, scores, np.nan))
        return found

    def _answers(
        self, k: int, anew: frozenset[str], rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw means of as many answers as the run has of every cell, and single answers."""
        family, gaps = self.built.spec.observation, self.draws.gaps[k]
        effects = self._redrawn(k, anew, rng) if anew else self.draws.effects[k]
        eta, own = forward(effects, *self.plain)
        moments = family.moments(eta, own, gaps)
        noise = np.sqrt(np.maximum(moments.variance, 0.0) / self.asked.answers)
        if not family.counts:
            single = 2.0 * family.simulate(eta, own, gaps, rng) - 1.0
        else:
            decided = moments.variance + moments.net**2
            u = rng.random(len(eta))
            agree, disagree = (decided + moments.net) / 2, (decided - moments.net) / 2
            single = (u < agree).astype(float) - (u > 1 - disagree)
        mean = moments.net + noise * rng.standard_normal(len(eta))
        return np.where(self.asked.answers > 1, mean, single), single

    def _redrawn(self, k: int, anew: frozenset[str], rng: np.random.Generator) -> np.ndarray:
        """Return effects of which those with certain factors are drawn anew."""
        effects = self.draws.effects[k].copy()
        for block in self._blocks(anew):
            scale = self.draws.scales[k][block.every_scale]
            within = block.within()
            known = within >= 0
            # Where n effects sum to zero, another one differs from their mean by s² (1 + 1 / n).
            scale[known] *= np.sqrt(1 + 1 / np.bincount(within[known])[within[known]])
            if block.tail >= 0:
                z = rng.standard_t(self.draws.tails[k, block.tail], len(scale))
            else:
                z = rng.standard_normal(len(scale))
            effects[block.start : block.stop] = scale * z
        return effects

    def _blocks(self, anew: frozenset[str]) -> Iterator[Block]:
        for block in self.built.layout.blocks:
            if block.group is not None and anew & set(block.group.term.factors):
                yield block
