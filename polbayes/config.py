"""The config of a run: its schema, how it is composed with Hydra, and its hash.

`conf/config.yaml` and its groups declare a run; `RunConfig` is the schema they are
checked against, so that a misspelt key or a wrong type is found before anything starts.
"""

from dataclasses import dataclass, field
from typing import Any

STAGES = ("probe", "code", "measure", "fit", "report")
TASKS = (
    *("run", "explain", "prior", "dry_run", "compare", "compare_specs"),
    *("annotate", "validate_coder"),
)
# Tasks that work on what a run left, and need no experiment.
ON_A_RUN = ("annotate", "validate_coder")


@dataclass
class PrefixConfig:
    """Which prefixes: a file of the user's own, and a selection by id."""

    file: str | None = None
    only: list[str] | None = None


@dataclass
class ElicitationConfig:
    """How the answer is read.

    Parameters
    ----------
    kind
        ``forced_choice``, ``fill_mask`` or ``open_ended``.
    template
        Name of a template in `data/templates.yaml`.
    lexicon
        Answer options whose probability is read (not for ``open_ended``).
    runs
        Independent repetitions (1 where probabilities are read).
    max_new_tokens, top_k, temperature
        Sampling of open answers; ``top_k=0`` samples from all tokens.
    batch_size
        Prompts in one forward pass at most; None for as many as memory takes and speed wants.
    """

    kind: str = "open_ended"
    template: str = "faulborn"
    lexicon: str | None = None
    runs: int = 1
    max_new_tokens: int = 100
    top_k: int = 10
    temperature: float = 1.0
    batch_size: int | None = None


@dataclass
class RespondentConfig:
    """Who answers.

    Parameters
    ----------
    backend
        ``causal`` or ``masked`` (Hugging Face checkpoints), or ``simulated``.
    checkpoint
        Hub name, local folder, or ``embedded:NAME`` for a shipped checkpoint; for
        ``simulated``, ``planted:NAME``, a set of planted parameters.
    revision
        Hub revision; None for the default branch.
    family
        Model family, a group-level predictor.
    instruct
        Whether the model is instruction-tuned; None means as the chat template says.
    attributes
        Further group-level predictors under names of the user's own: text, numbers or
        truth values, e.g. ``{lab: meta, size: 7}`` (`polbayes.attributes`).
    chat
        Whether to use the chat template; None means when the checkpoint has one.
    dtype, device
        ``float32``, ``bfloat16`` or ``float16``; ``auto``, ``cpu``, ``cuda`` or ``mps``.
    trust_remote_code
        Off unless turned on here, by name, for this respondent.
    """

    backend: str = "causal"
    checkpoint: str = ""
    revision: str | None = None
    family: str = ""
    instruct: bool | None = None
    attributes: dict[str, Any] = field(default_factory=dict)
    chat: bool | None = None
    dtype: str = "float32"
    device: str = "auto"
    trust_remote_code: bool = False


@dataclass
class ImportConfig:
    """A table of answers collected elsewhere (CSV, Parquet or JSON lines).

    Parameters
    ----------
    path
        The table; a relative path is taken from the folder the command is run in.
    columns
        Maps ``model``, ``item``, ``variant``, ``prefix``, ``run``, ``answer`` (free text or
        an option), ``rating`` (a numeric code) and ``count`` (how many answers of the cell, in
        place of runs, were this one) to columns of the table, and, where it has
        them, ``statement`` (the wording that was put), ``prefix_text``, ``family``,
        ``instruct``, ``checkpoint`` and ``revision``; what has no column is constant.
    constants
        Values for what has no column, e.g. ``variant: original`` (which is the default, as are
        ``prefix: baseline`` and ``run: 1``).
    attributes
        Maps further attributes of the models, under names of the user's own, to columns that
        have the same value in all rows of a model.
    models
        Attributes by model, for what no column says: ``{llama: {family: meta, size: 7}}``.
    items
        Maps the table's item ids to the instrument's, where they differ.
    options
        Maps option texts and numeric codes to points of the answer scale; None leaves the
        answers to the coders.
    points
        Labels of the scale's points from strongest disagreement to strongest agreement.
    stances
        For each point ``disagree``, ``neutral`` or ``agree``.
    strict_options
        Whether an answer that is none of the options is an error; otherwise it is left to the
        coders, and counted.
    ignore
        Columns that are knowingly left out.
    """

    path: str = ""
    columns: dict[str, str] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    models: dict[str, dict[str, Any]] = field(default_factory=dict)
    items: dict[str, str] = field(default_factory=dict)
    options: dict[str, Any] | None = None
    points: list[str] | None = None
    stances: list[str] | None = None
    strict_options: bool = False
    ignore: list[str] = field(default_factory=list)


@dataclass
class CoderConfig:
    """A coder that has to be declared: a checkpoint, or an ensemble of coders.

    Parameters
    ----------
    kind
        ``nli``, ``sentiment``, ``classifier`` or ``ensemble``; empty for what the coder's name
        says.
    checkpoint, revision
        Hub name (with a revision) or local folder; empty for the kind's own
        (`polbayes.coding.registry.KINDS`).
    text, pair
        What the checkpoint is given, with the fields ``{statement}`` and ``{response}``: one
        text, or two where `pair` is not empty. Empty for what is usual for the kind.
    hypotheses
        For ``nli``: stance classes and the hypothesis that stands for each
        (`polbayes.coding.readings`). Empty for the usual ones.
    labels
        Labels of the checkpoint and the stance class that each means (for ``nli``:
        ``entailment``, ``neutral`` or ``contradiction``), where its own names do not say it.
    weights
        For ``ensemble``: coders and their weights.
    threshold
        An answer whose likeliest class has a smaller probability is left to the next coder.
    batch_size
        Texts in one forward pass.
    dtype, device
        As of a respondent.
    trust_remote_code
        Off unless turned on here, by name, for this coder.
    """

    kind: str = ""
    checkpoint: str = ""
    revision: str | None = None
    text: str = ""
    pair: str = ""
    hypotheses: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)
    threshold: float = 0.0
    batch_size: int = 16
    dtype: str = "float32"
    device: str = "auto"
    trust_remote_code: bool = False


@dataclass
class CodingConfig:
    """How free text becomes a stance: coders in order, each taking what the last left.

    Parameters
    ----------
    coders
        Names of rules, of kinds as they are, or of `models`.
    models
        Declarations by name.
    """

    coders: list[str] = field(default_factory=lambda: ["likert", "lexical"])
    models: dict[str, CoderConfig] = field(default_factory=dict)


@dataclass
class AnnotationConfig:
    """What ``task=annotate`` hands out to annotators, and takes in from them.

    Parameters
    ----------
    folder
        Within the run's folder.
    strata, per_stratum
        Coordinates that make strata, and how many answers are drawn from each; by default as
        Faulborn et al. (2025) did, four of every prompt and model.
    annotators
        Names, one sheet each.
    show_prefix
        Whether annotators see the prefix that the statement was put with.
    hide
        Further names to be hidden in the answers, such as of makers.
    labels
        Sheets that are filled in, one an annotator; where there are some they are taken in.
    adjudicated
        A third person's sheet for answers without a majority; by default ``ties.csv``.
    """

    folder: str = "annotation"
    strata: list[str] = field(default_factory=lambda: ["model", "prefix", "variant"])
    per_stratum: int = 4
    annotators: list[str] = field(default_factory=lambda: ["first", "second"])
    show_prefix: bool = True
    hide: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    adjudicated: str | None = None


@dataclass
class ValidationConfig:
    """What ``task=validate_coder`` compares.

    Parameters
    ----------
    table
        A table of labelled answers; by default what ``task=annotate`` left in the run's folder.
    columns
        Maps ``statement``, ``response``, ``label`` and, where the table has them, ``model``,
        ``prefix``, ``item`` and ``keying`` to columns of the table; null for its own name.
    coders
        Names of coders; those of ``coding.coders`` when null.
    merge
        Classes that the labels do not tell apart, under the label's name, e.g.
        ``{other: [neutral, unrelated, refused]}``.
    thresholds
        Confidences below which answers are dropped; null for 0 to 0.95 by 0.05, and 0.99.
    bins
        Of the calibration curve.
    """

    table: str | None = None
    columns: dict[str, str | None] = field(default_factory=dict)
    coders: list[str] | None = None
    merge: dict[str, list[str]] = field(default_factory=dict)
    thresholds: list[float] | None = None
    bins: int = 10


@dataclass
class MeasureConfig:
    """Classical measures.

    Parameters
    ----------
    bootstrap, level
        Bootstrap draws and the level of their intervals.
    strong
        Answers are strong where the probabilities of agreeing and disagreeing differ by more
        (Lunardi et al. 2024).
    paraphrase_sets
        Two sets of wordings to compare where probabilities are read: names to lists of ids or
        of patterns such as ``paraphrase_*``.
    """

    bootstrap: int = 10_000
    level: float = 0.95
    strong: float = 0.3
    paraphrase_sets: dict[str, list[str]] | None = None


@dataclass
class FeatureConfig:
    """Text features of the wordings (`polbayes.features`).

    Parameters
    ----------
    names
        Features that are described and correlated; None for those that need neither a parser
        nor a classifier where answer probabilities are read, and for none elsewhere. What the
        formula of a mixed model names is computed in any case.
    language
        Of the wordings, one of wordfreq's.
    parser
        The spaCy pipeline whose parser finds the dependents: a name or a folder.
    sentiment
        ``vader``, or the hub name or folder of a text classifier.
    sentiment_labels
        The classifier's labels for ``positive`` and ``negative``, where they have other names.
    batch_size, device
        Of the parser (wordings at a time) and the classifier.
    """

    names: list[str] | None = None
    language: str = "en"
    parser: str = "en_core_web_sm"
    sentiment: str = "vader"
    sentiment_labels: dict[str, str] = field(default_factory=dict)
    batch_size: int = 32
    device: str = "auto"


@dataclass
class GridConfig:
    """The numbers that a D-study combines; None for a range around those of the run."""

    items: list[int] | None = None
    wordings: list[int] | None = None
    prefixes: list[int] | None = None
    runs: list[int] | None = None


@dataclass
class PrecisionConfig:
    """How precise a study is to be, and what it may ask (`polbayes.fit.d_study`).

    Parameters
    ----------
    measure
        ``dependability``, ``generalizability``, or a standard error of a model's place:
        ``se_bias``, ``se_theta``, and the same with ``_relative`` for comparisons of models.
    wanted
        At least that much of a coefficient, at most that much of a standard error.
    probability
        With which posterior probability a design must reach it.
    prefixes
        ``random`` where those asked stand for others, ``fixed`` where only they matter.
    cost
        Of one question.
    grid
        The designs to compare.
    """

    measure: str = "dependability"
    wanted: float = 0.8
    probability: float = 0.8
    prefixes: str = "random"
    cost: float = 1.0
    grid: GridConfig = field(default_factory=GridConfig)


@dataclass
class AnalysisConfig:
    """The analysis spec: see `polbayes.fit.spec` and, with the part ``mu``, `polbayes.fit.mixed`.

    Parameters
    ----------
    response, family
        What is modelled, and its distribution.
    parts
        A formula for every part of the predictor.
    priors
        Priors by ``part.term`` or ``part.group.sd``.
    select
        Coordinate values to keep.
    anchor
        For each dimension a model that is known to be right of the middle. With it discriminations
        may have either sign.
    level
        Coverage of the intervals.
    rope
        Differences of the bias measure up to this are practically none. 0.1 is what the bias
        moves by when 5 of 100 answers change from one side to the other.
    precision
        How precise a study is to be.
    by
        Variable for each of whose levels a mixed model is fitted separately.
    table
        Path of a table whose columns are joined to the answers, for a mixed model.
    """

    response: str = "stance"
    family: str = "cumulative"
    parts: dict[str, str | None] = field(default_factory=dict)
    priors: dict[str, str] = field(default_factory=dict)
    select: dict[str, Any] = field(default_factory=dict)
    anchor: dict[str, str] = field(default_factory=dict)
    level: float = 0.9
    rope: float = 0.1
    precision: PrecisionConfig = field(default_factory=PrecisionConfig)
    by: str | None = None
    table: str | None = None


@dataclass
class SamplerConfig:
    """How the posterior is sampled."""

    backend: str = "nutpie"
    chains: int = 4
    tune: int = 500
    draws: int = 1000
    target_accept: float = 0.9


@dataclass
class RunConfig:
    """Everything that a run is made from.

    `specs` are the analyses that ``task=compare_specs`` compares, by name, and `runs` the folders
    of the runs that ``task=compare`` compares. `answers_from` is the folder of a run whose answers
    are taken over, so that only what was not asked there is asked.
    """

    name: str = "unnamed"
    title: str = ""
    description: str = ""
    task: str = "run"
    seed: int = 1
    run_dir: str = "outputs/${name}"
    runs: list[str] = field(default_factory=list)
    answers_from: str | None = None
    stages: list[str] = field(default_factory=lambda: list(STAGES))
    specs: list[str] | None = None
    instruments: list[str] = field(default_factory=list)
    items: list[str] | None = None
    variants: list[str] | None = None
    models: list[str] | None = None
    prefixes: PrefixConfig = field(default_factory=PrefixConfig)
    elicitation: ElicitationConfig = field(default_factory=ElicitationConfig)
    respondents: dict[str, RespondentConfig] = field(default_factory=dict)
    imported: ImportConfig | None = None
    coding: CodingConfig = field(default_factory=CodingConfig)
    measures: MeasureConfig = field(default_factory=MeasureConfig)
    annotation: AnnotationConfig = field(default_factory=AnnotationConfig)
    validation: ValidationConfig = field(default_factory=ValidationConfig)
    features: FeatureConfig = field(default_factory=FeatureConfig)
    analysis: AnalysisConfig = field(default_factory=AnalysisConfig)
    sampler: SamplerConfig = field(default_factory=SamplerConfig)
