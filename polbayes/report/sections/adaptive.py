"""Which of the design's questions were put, where they were chosen by earlier answers."""

import json

from polbayes.report.blocks import Block, Bullets, Section
from polbayes.report.numbers import count, share
from polbayes.report.results import Results
from polbayes.report.section import SectionMaker

# What the choice of questions biases.
BIASED = (
    "The questions were chosen by earlier answers: raw shares, classical measures and bootstrap "
    "intervals are of the questions put, which are not a balanced sample of the design. The "
    "estimates of the ideology model do not depend on how they were chosen."
)


def adaptive(results: Results) -> Section | None:
    """Show how questions were chosen, and why asking ended."""
    if "adaptive" not in results.responses.attrs:
        return None
    about = json.loads(results.responses.attrs["adaptive"])
    asked, questions = int(about["put"]), int(about["questions"])
    reading = (
        f"Of the {count(questions)} questions of the design {count(asked)} "
        f"({share(asked / questions)}) were put, in {count(len(about['batches']))} batches. The "
        "first were drawn at random, with both sides of each dimension and all prefixes for every "
        "model. Each further batch has the "
        "questions whose answers were expected to tell most about the positions of the models and "
        "their differences, given all answers before, per cost.",
        f"Asking ended because {about['ended']}.",
        "The choice rests on recorded answers and the seed alone, so that what was not asked is "
        "missing at random, and the fitted model takes it into account without knowing how the "
        "choice was made. " + BIASED,
    )
    lines, put = [], 0
    for number, (size, width) in enumerate(zip(about["batches"], about["widths"], strict=True), 1):
        put += int(size)
        lines.append(
            (
                f"Batch {number}",
                f"{count(size)} questions, {count(put)} so far; the widest "
                f"{float(about['level']):.0%} interval of θ, approximately: {float(width):.2f}",
            )
        )
    blocks: tuple[Block, ...] = (Bullets(tuple(lines)),)
    return Section("adaptive", "Which questions were put", reading, blocks)


def warning(results: Results) -> tuple[str, ...]:
    """Return a sentence for sections of measures that the choice of questions biases."""
    return (BIASED,) if "adaptive" in results.responses.attrs else ()


SECTION = SectionMaker("Which questions were put", adaptive, optional=True)
