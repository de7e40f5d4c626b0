"""A judge: a language model that reads the stance of answers by a fixed rubric.

It is asked as any respondent is, by `polbayes.probing.probe`, with statement and answer in the
place of the statement: many at a time behind a server, at its pace, within its budget, and
journalled, so that no answer is judged twice by the same model with the same rubric and settings. A
judgement that failed, broke off or cannot be read is asked for again; where none can be read in
the end, the answer is not coded, and what the judge said stays in the journal.
"""

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from polbayes.coding.registry import judges, passed_on
from polbayes.config.schema import CoderConfig, CodingConfig
from polbayes.data.dataset import NOT_ASKED, STANCE, STANCE_CLASSES, STATUS
from polbayes.huggingface.encoding import without_markup
from polbayes.instrument.prompts import Lexicon, Prefix
from polbayes.judging.respondent import AskedJudge, declared_judge
from polbayes.judging.rubric import pair_digest
from polbayes.judging.verdicts import (
    DECLINED,
    FAILED,
    Verdict,
    stated,
    together,
    token,
    vote,
    why_not,
)
from polbayes.probing.journal import journal_path

if TYPE_CHECKING:
    import xarray as xr

_log = logging.getLogger("polbayes")

# Judgements hang on nothing of a run, its seed included.
_SEED = 1
_PREFIX = Prefix("baseline", "", "open")
_LABELS = Lexicon("stances", STANCE_CLASSES, tuple(STANCE.values()))
# Judged beside the first others: who fails at some of them is told from who never works.
_PRACTICE = ("Two is more than one.", "I agree with that.")

Pair = tuple[str, str]


def open_judge(
    name: str, config: CoderConfig, models: Mapping[str, CoderConfig], journal_dir: Path | None
) -> "Judge":
    """Make a coder of a language model; it is asked when there is something to judge.

    Raises
    ------
    UserError
        If it cannot be used as a judge. Whether its key is there is not looked at.
    """
    return Judge(declared_judge(name, config), journal_dir)


def check_judges_ready(coding: CodingConfig, folders: Sequence[Path]) -> None:
    """Refuse judges in use that miss something outside of the config, such as a key.

    Parameters
    ----------
    coding
        The coders.
    folders
        Of journals; a judge that has judged before may have nothing left to be asked.

    Raises
    ------
    UserError
        Saying what is missing.
    """
    for name, config in judges(coding.coders, coding.models).items():
        opened = [open_judge(name, config, coding.models, folder) for folder in folders]
        if not any(judge.journal and judge.journal.is_file() for judge in opened):
            opened[0].asked.check_ready()


class Judge:
    """A language model that reads stances.

    Parameters
    ----------
    asked
        Who it is, and how it is asked.
    journal_dir
        Where its judgements are kept; None to keep nothing.
    """

    def __init__(self, asked: AskedJudge, journal_dir: Path | None) -> None:
        self._journal_dir = journal_dir
        self.asked = asked
        if journal_dir is not None and asked.schema:
            without = replace(asked, schema=False)
            # A server that refused the schema before did all its judging without.
            if journal_path(journal_dir, without.journal_name).is_file():
                self.asked = without

    @property
    def about(self) -> str:
        """What a reader of its probabilities must know, in words."""
        return self.asked.about

    @property
    def journal(self) -> Path | None:
        """The file that its judgements are kept in; None where they are not kept."""
        return self._journal_dir and journal_path(self._journal_dir, self.asked.journal_name)

    def __call__(self, statements: Sequence[str], responses: Sequence[str]) -> np.ndarray:
        """Code answers; one that is empty or whose judgement cannot be read is passed on.

        Parameters
        ----------
        statements
            For each response the statement that was put.
        responses
            Raw answers.

        Returns
        -------
        numpy.ndarray
            float32 of shape (response, stance_class), or rows of NaN.

        Raises
        ------
        UserError
            If the judge cannot be asked, or its budget is used up; what it said is kept.
        KeyboardInterrupt
            When interrupted; what it said is kept.
        """
        pairs = list(zip(statements, responses, strict=True))
        wanted = {pair_digest(*pair): pair for pair in pairs if without_markup(pair[1])}
        known = self._judged(wanted) if wanted else {}
        nothing = (np.nan,) * len(STANCE_CLASSES)
        rows = [known.get(pair_digest(*pair)) or nothing for pair in pairs]
        probs = np.array(rows, dtype=np.float32).reshape(len(pairs), len(STANCE_CLASSES))
        return passed_on(probs, self.asked.config.threshold)

    def _judged(self, wanted: Mapping[str, Pair]) -> dict[str, tuple[float, ...]]:
        """Return the probabilities of those pairs, by digest, of which they can be read."""
        verdicts = self._verdicts_with_or_without_schema(wanted)
        probs = {key: together(said, self.asked.needed) for key, said in verdicts.items()}
        left = Counter(why_not(verdicts[key]) for key, found in probs.items() if found is None)
        if left:
            reasons = ", ".join(f"{reason} {n}" for reason, n in sorted(left.items()))
            _log.warning(
                "%s: %d of %d answers could not be judged in %d attempts (%s) and are not coded.",
                *(self.asked.name, left.total(), len(wanted), self.asked.how.attempts, reasons),
            )
        return {key: found for key, found in probs.items() if found is not None}

    def _verdicts_with_or_without_schema(
        self, wanted: Mapping[str, Pair]
    ) -> dict[str, list[Verdict]]:
        from polbayes.respondents.chat_api import RequestRejectedError

        with self._folder() as folder:
            try:
                with self.asked.named():
                    return self._verdicts(wanted, folder)
            except RequestRejectedError:
                if not self.asked.schema:
                    raise
            # Whether it was the schema shows when it is left out.
            self.asked = replace(self.asked, schema=False)
            with self.asked.named():
                found = self._verdicts(wanted, folder)
            _log.warning("%s: the server takes no JSON schema; it was left out.", self.asked.name)
            return found

    def _verdicts(self, wanted: Mapping[str, Pair], folder: Path) -> dict[str, list[Verdict]]:
        """Ask until each pair has judgements enough, or there were as many attempts as may be."""
        verdicts: dict[str, list[Verdict]] = {key: [] for key in wanted}
        for attempt in range(1, self.asked.how.attempts + 1):
            missing = {
                key: self.asked.needed - sum(verdict.probs is not None for verdict in said)
                for key, said in verdicts.items()
            }
            missing = {key: count for key, count in missing.items() if count}
            if not missing:
                break
            for key, said in self._attempt(wanted, missing, attempt, folder):
                verdicts[key] += said
        return verdicts

    def _attempt(
        self, wanted: Mapping[str, Pair], missing: Mapping[str, int], attempt: int, folder: Path
    ) -> Iterator[tuple[str, list[Verdict]]]:
        """Ask for so many judgements of each pair, and yield what they say."""
        from polbayes.probing.probe import probe

        data = probe(
            self._design(wanted, missing, attempt),
            {self.asked.journal_name: self.asked.respondent},
            elicitation=self.asked.elicitation,
            lexicon=_LABELS if self.asked.way == "token" else None,
            prefixes=[_PREFIX],
            seed=_SEED,
            journal_dir=folder,
        ).squeeze(("model", "variant", "prefix"))
        outputs = _Outputs(data, self.asked.way)
        for row, key in enumerate(data["item"].values.tolist()):
            if key in missing:
                yield key, [outputs.verdict(row, run) for run in range(missing[key])]

    def _design(
        self, wanted: Mapping[str, Pair], missing: Mapping[str, int], attempt: int
    ) -> "xr.Dataset":
        """Lay the questions of one attempt out, with the pairs as items and votes as runs."""
        from polbayes.instrument.design import design
        from polbayes.instrument.questionnaires import Instrument, Item, Variant
        from polbayes.respondents import describe

        def item(key: str, pair: Pair) -> Item:
            material = self.asked.rubric.material(*pair, again=attempt > 1)
            wording = Variant(f"attempt_{attempt}", material, "original", 1)
            return Item(key, "", 0, "", (wording,), {})

        pairs = {key: wanted[key] for key in missing}
        if attempt == 1:
            pairs = {"practice": _PRACTICE, **pairs}
        data = design(
            [Instrument("judge", "judge", "", tuple(item(*pair) for pair in pairs.items()))],
            [_PREFIX],
            [describe(self.asked.journal_name, self.asked.respondent, self.asked.template)],
            runs=max(missing.values()),
        )
        counts = np.array([missing.get(key, 1) for key in pairs])
        # Dimensions model, item, variant, prefix, run.
        asked = (data["run"].values <= counts[:, None])[None, :, None, None, :]
        status = np.where(asked, data["status"].values, NOT_ASKED).astype(np.int8)
        return data.assign(status=data["status"].copy(data=status))

    @contextmanager
    def _folder(self) -> Iterator[Path]:
        if self._journal_dir is not None:
            yield self._journal_dir
            return
        with TemporaryDirectory() as folder:
            yield Path(folder)


class _Outputs:
    """What a judge said, read where it is looked at.

    Parameters
    ----------
    data
        Answered questions over item and run.
    way
        Where the probabilities come from.
    """

    def __init__(self, data: "xr.Dataset", way: str) -> None:
        self._way = way
        self._status = data["status"].transpose("item", "run").values
        self._text = data["completion"].transpose("item", "run").values
        self._declined = self._status == -1
        if "declined" in data:
            self._declined = data["declined"].transpose("item", "run").values == 1
        self._mass = None
        if way == "token":
            self._mass = data["option_prob"].transpose("item", "run", "option").values

    def verdict(self, row: int, run: int) -> Verdict:
        """Return what one output says."""
        at = row, run
        if self._declined[at]:
            return Verdict(None, DECLINED)
        if self._status[at] in (STATUS["invalid"], STATUS["empty"]):
            return Verdict(None, "no_object")
        if self._status[at] != STATUS["ok"]:
            return Verdict(None, FAILED)
        if self._mass is not None:
            return token(self._mass[at].tolist())
        return stated(str(self._text[at])) if self._way == "stated" else vote(str(self._text[at]))
