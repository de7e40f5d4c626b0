"""A judge: a language model that reads the stance of answers by a fixed rubric.

No answer is judged twice by the same model with the same rubric and settings. Judgements that
failed, broke off or cannot be read are asked for again; if none can be read in the end, the answer
is not coded, and the judge's output stays in the journal.
"""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from polbayes.coding.registry import judges, passed_on
from polbayes.config.schema import CoderConfig, CodingConfig
from polbayes.data.dataset import STANCE_CLASSES
from polbayes.huggingface.encoding import without_markup
from polbayes.judging.engine import Task
from polbayes.judging.respondent import AskedJudge, declared_judge
from polbayes.judging.rubric import pair_digest
from polbayes.judging.verdicts import CUT_OFF, Verdict, together, verdict, why_not
from polbayes.probing.journal import journal_path

_log = logging.getLogger("polbayes")

# Judged with the first batch, to tell a judge that fails at times from one that never works.
_PRACTICE = "practice"
_PRACTICE_PAIR = ("Two is more than one.", "I agree with that.")

Pair = tuple[str, str]


def open_judge(
    name: str, config: CoderConfig, models: Mapping[str, CoderConfig], journal_dir: Path | None
) -> "JudgeCoder":
    """Make a coder of a language model, which is opened when something must be judged."""
    return JudgeCoder(declared_judge(name, config), journal_dir)


def check_judges_ready(coding: CodingConfig, folders: Sequence[Path]) -> None:
    """Refuse judges in use that lack something outside the config, such as a key."""
    for name, config in judges(coding.coders, coding.models).items():
        opened = [open_judge(name, config, coding.models, folder) for folder in folders]
        if not any(judge.journal and judge.journal.is_file() for judge in opened):
            opened[0].asked.check_ready()


class JudgeCoder:
    """A language model that reads stances, and keeps its judgements in a folder, if given one."""

    def __init__(self, asked: AskedJudge, journal_dir: Path | None) -> None:
        self._journal_dir = journal_dir
        self.asked = asked
        if journal_dir is not None and asked.schema:
            without = replace(asked, schema=False)
            # After a server refused the schema, all judging goes on without it.
            if journal_path(journal_dir, without.journal_name).is_file():
                self.asked = without

    @property
    def about(self) -> str:
        """A description of its probabilities for readers."""
        return self.asked.about

    @property
    def journal(self) -> Path | None:
        """The file of its judgements; None if they are not kept."""
        return self._journal_dir and journal_path(self._journal_dir, self.asked.journal_name)

    def __call__(self, statements: Sequence[str], responses: Sequence[str]) -> np.ndarray:
        """Code answers; abstain if one is empty or its judgement cannot be read."""
        pairs = list(zip(statements, responses, strict=True))
        wanted = {pair_digest(*pair): pair for pair in pairs if without_markup(pair[1])}
        known = self._judged(wanted) if wanted else {}
        nothing = (np.nan,) * len(STANCE_CLASSES)
        rows = [known.get(pair_digest(*pair)) or nothing for pair in pairs]
        probs = np.array(rows, dtype=np.float32).reshape(len(pairs), len(STANCE_CLASSES))
        return passed_on(probs, self.asked.config.threshold)

    def _judged(self, wanted: Mapping[str, Pair]) -> dict[str, tuple[float, ...]]:
        """Return the probabilities of the pairs, by digest, whose judgements can be read."""
        verdicts = self._verdicts_with_or_without_schema(wanted)
        probs = {key: together(said, self.asked.needed) for key, said in verdicts.items()}
        left = Counter(why_not(verdicts[key]) for key, found in probs.items() if found is None)
        if left:
            reasons = ", ".join(f"{reason} {n}" for reason, n in sorted(left.items()))
            name, how = self.asked.name, self.asked.how
            more = (
                f" Thinking takes all of coding.models.{name}.judge.max_new_tokens="
                f"{how.max_new_tokens}; set more."
            )
            _log.warning(
                "%s: %d of %d answers could not be judged in %d attempts (%s) and are not coded.%s",
                *(name, left.total(), len(wanted), how.attempts, reasons),
                more if CUT_OFF in left else "",
            )
        return {key: found for key, found in probs.items() if found is not None}

    def _verdicts_with_or_without_schema(
        self, wanted: Mapping[str, Pair]
    ) -> dict[str, list[Verdict]]:
        from polbayes.respondents.chat_api import RequestRejectedError

        try:
            with self.asked.named():
                return self._verdicts(wanted)
        except RequestRejectedError:
            if not self.asked.schema:
                raise
        # Leaving out the schema shows whether it was the cause.
        self.asked = replace(self.asked, schema=False)
        with self.asked.named():
            found = self._verdicts(wanted)
        _log.warning("%s: the server takes no JSON schema; it was left out.", self.asked.name)
        return found

    def _verdicts(self, wanted: Mapping[str, Pair]) -> dict[str, list[Verdict]]:
        """Ask until each pair has enough judgements, or attempts run out."""
        asked, pairs = self.asked, {_PRACTICE: _PRACTICE_PAIR, **wanted}

        def tasks(key: str, said: Sequence[Verdict], attempt: int) -> list[Task]:
            missing = asked.needed - sum(one.probs is not None for one in said)
            if key == _PRACTICE:
                missing = int(attempt == 1)
            text = asked.rubric.material(*pairs[key], again=attempt > 1)
            return [Task(key, text, attempt=attempt, vote=n + 1) for n in range(missing)]

        verdicts = asked.judge.verdicts(
            pairs,
            tasks,
            lambda task, record: verdict(asked.way, record),
            journal=self.journal,
            attempts=asked.how.attempts,
        )
        return {key: verdicts[key] for key in wanted}
