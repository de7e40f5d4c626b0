"""The schema of a run's config.

`conf/config.yaml` and its groups declare a run; they are checked against `RunConfig`, so that a
misspelt key or a wrong type is found before anything starts.
"""

from dataclasses import dataclass, field
from typing import Any

from polbayes.config.ranges import number

STAGES = ("probe", "code", "measure", "fit", "report")
# Ways to ask.
QUESTIONNAIRES = ("forced_choice", "fill_mask", "open_ended")
ROLEPLAY = "roleplay"
PAIRED = "paired"
ELICITATIONS = (*QUESTIONNAIRES, ROLEPLAY, PAIRED)
# The elicitation of judges, which users cannot choose.
JUDGING = "judging"
# Elicitations whose answers are texts.
TEXTS = ("open_ended", PAIRED, ROLEPLAY, JUDGING)
# Studies whose tables and figures a report can show.
STUDIES = ("faulborn", "haller", "lunardi")
# Errors for numbers out of range.
_ABOVE = "must be a positive number, not {value}."
_POSITIVE = "must be a number above 0, not {value}."
_FROM_ZERO = "must be a number from 0, not {value}."
_SHARE = "must lie between 0 and 1, not {value}."
_CHANCE = "must be above 0 and below 1, a probability, not {value}."
_ORDER = "must be at least 0.5 and below 1, a probability, not {value}."
_NUMBERS = "numbers must be at least 1, not {value}."
_WANTED = "must be at least 1, not {value}; null takes all."
_PART = "must be above 0 and at most 1, a part of the questions, not {value}."
_ENOUGH = "must be at least {ge}, not {value}; convergence cannot be judged with less."


@dataclass
class PrefixConfig:
    """The prefixes: an optional file of the user's, and a selection by id."""

    file: str | None = None
    only: list[str] | None = None


@dataclass
class ElicitationConfig:
    """How the answer is read."""

    kind: str = "open_ended"  # one of `ELICITATIONS`
    template: str = "faulborn"  # of `data/templates.yaml`
    lexicon: str | None = None  # answer options whose probability is read
    runs: int = number(1, ge=1, le=32767)  # independent repetitions; 1 where probabilities are read
    max_new_tokens: int = number(100, ge=1)
    top_k: int = number(10, ge=0)  # 0 samples from all tokens
    temperature: float = number(1.0, ge=0)
    batch_size: int | None = number(None, ge=1)  # prompts in a forward pass; None: as memory takes
    decoding: str = "sample"  # ``sample``, ``greedy``, ``beam``, ``contrastive``
    top_p: float = number(1.0, gt=0, le=1)  # the likeliest tokens that together have it; 1: all
    beams: int = number(5, ge=1)  # Its runs are the likeliest, the second likeliest, ... sequence.
    # Weight of the penalty for repetition in contrastive search, whose candidates are the `top_k`
    # tokens.
    penalty_alpha: float = number(0.6, ge=0, le=1)
    # Only this many first options of every stance are read; None for all.
    lexicon_size: int | None = number(None, ge=1)
    # Only this many likeliest tokens at the mask count, as in Feng et al. (2023); None for all.
    top_tokens: int | None = number(None, ge=1)


@dataclass
class ApiConfig:
    """The server of a ``chat_api`` respondent, how it is asked, and its budget."""

    base_url: str = "https://api.openai.com/v1"  # up to ``/chat/completions``
    protocol: str = "openai"  # or ``anthropic`` and ``gemini``, their own
    key_variable: str | None = "OPENAI_API_KEY"  # environment variable; None: no key
    system: str | None = None  # system prompt
    concurrency: int = number(8, ge=1)  # questions under way at a time
    # Limits known beforehand; others are learnt.
    requests_per_minute: float | None = number(None, gt=0, says=_POSITIVE)
    # Seconds from the connection to the end of the reply.
    timeout: float = number(120.0, gt=0, says=_POSITIVE)
    retries: int = number(6, ge=0)
    # Seconds to wait after the first failure; the wait doubles with each.
    backoff: float = number(1.0, gt=0, says=_POSITIVE)
    top_logprobs: int = number(20, ge=1)
    limit_key: str = "max_tokens"  # or ``max_completion_tokens``
    # Fields that the server does not accept, of ``temperature``, ``seed``, ``top_k`` and
    # ``response_format``.
    omit: list[str] = field(default_factory=list)
    extra_body: dict[str, Any] = field(default_factory=dict)
    # Submit the questions to the protocol's own batch service, ``openai`` or ``anthropic``, at most
    # so many at a time, and ask after this many seconds whether they are answered.
    batch: str | None = None
    batch_size: int = number(10_000, ge=1)
    batch_poll: float = number(60.0, gt=0, says=_POSITIVE)
    # Ids of batches whose replies cannot be fetched any more: their questions are asked again.
    lost_batches: list[str] = field(default_factory=list)
    # Prices per million tokens.
    price_input: float | None = number(None, ge=0, says=_FROM_ZERO)
    price_output: float | None = number(None, ge=0, says=_FROM_ZERO)
    currency: str = "USD"
    # The respondent's budget in a run's folder, in the currency and in tokens.
    budget: float | None = number(None, gt=0, says=_POSITIVE)
    budget_tokens: int | None = number(None, gt=0, says=_POSITIVE)


# Keys of `ApiConfig` that change neither a question nor its answer.
API_MEANS = (
    *("key_variable", "concurrency", "requests_per_minute", "timeout", "retries", "backoff"),
    *("batch", "batch_size", "batch_poll", "lost_batches"),
    *("price_input", "price_output", "currency", "budget", "budget_tokens"),
)


@dataclass
class RespondentConfig:
    """Who answers."""

    backend: str = "causal"
    # Hub name, local folder, or ``embedded:NAME``; for ``chat_api`` what the server calls the
    # model; for ``simulated`` and the planted backends ``planted:NAME``.
    checkpoint: str = ""
    revision: str | None = None
    # What prompts with ``{model_name}`` call it; None: the name of a causal or masked checkpoint,
    # and of others that in this config.
    called: str | None = None
    family: str = ""  # a group-level predictor
    instruct: bool | None = None  # None: as the chat template says
    # Further group-level predictors (`polbayes.instrument.covariates`).
    attributes: dict[str, Any] = field(default_factory=dict)
    chat: bool | None = None  # None: where the checkpoint has a chat template
    # For reasoning models: the effort, which is a predictor, too, and the maximum number of
    # tokens for thinking, in addition to those of the answer.
    reasoning_effort: str | None = None
    thinking_tokens: int | None = number(None, ge=1)
    # What its thinking begins and ends with, besides the usual marks
    # (`polbayes.respondents.thinking.MARKS`).
    thinking_marks: list[str] | None = None
    dtype: str = "float32"
    device: str = "auto"
    trust_remote_code: bool = False  # turned on by name, for this one
    api: ApiConfig | None = None


@dataclass
class JournalConfig:
    """How answers are stored as they arrive."""

    # A longer bound on the loss in a power cut would be none.
    sync_seconds: float = number(1.0, ge=0, le=3600)  # until an answer is on the disk
    cache: str | None = None  # a file of answers that runs share


@dataclass
class ImportConfig:
    """Answers collected elsewhere: a table (CSV, Parquet, JSON lines), or another engine's log."""

    format: str = "table"  # of `polbayes.coding.logs.READERS`
    # Relative to the working folder. ``a/*.csv`` stands for several tables, which then have their
    # names in a column ``table``.
    path: str = ""
    # Selection of rows: columns of the table to a value or a list of values.
    where: dict[str, Any] = field(default_factory=dict)
    # By column of the table, from values that mean the same to the one that shall stand for them.
    rename: dict[str, dict[str, str]] = field(default_factory=dict)
    # From `polbayes.coding.table_rows.MAPPABLE` to columns of the table, or several as ``a + b``.
    columns: dict[str, str] = field(default_factory=dict)
    # For missing columns; ``run: count`` numbers repetitions in the order of the table.
    constants: dict[str, Any] = field(default_factory=dict)
    # From the user's names to columns that are constant within a model, a prefix, a wording
    # (item and variant) or an administration.
    attributes: dict[str, str] = field(default_factory=dict)
    prefix_attributes: dict[str, str] = field(default_factory=dict)
    wording_attributes: dict[str, str] = field(default_factory=dict)
    administration_attributes: dict[str, str] = field(default_factory=dict)
    models: dict[str, dict[str, Any]] = field(default_factory=dict)  # attributes by model
    # From the table's item ids to the instrument's, where they differ.
    items: dict[str, str] = field(default_factory=dict)
    # From option texts and codes to points of the scale; None leaves the answers to the coders.
    options: dict[str, Any] | None = None
    points: list[str] | None = None  # from strongest disagreement to agreement
    stances: list[str] | None = None  # of each point; None: disagree below the middle, agree above
    strict_options: bool = False  # whether any other answer is an error
    # Whether answers count that pick an option with a reservation or indirectly.
    reservations: bool = False
    show: list[str] = field(default_factory=list)  # columns that the report shows with the answers
    ignore: list[str] = field(default_factory=list)  # columns left out knowingly, or patterns
    # Options of a log with log probabilities, where the log does not say which of them agree.
    lexicon: str | None = None
    # Of a data set on the Hugging Face hub.
    split: str = "train"
    subset: str | None = None
    revision: str | None = None


@dataclass
class JudgeConfig:
    """A language model that reads stances by a rubric (`polbayes.judging.stances`)."""

    backend: str = "chat_api"
    chat: bool | None = None
    api: ApiConfig | None = None
    rubric: str = "stance"  # of `data/rubrics/`, or a YAML file
    probabilities: str = "stated"  # one of `polbayes.judging.rubric.WAYS`
    votes: int = number(5, ge=1)  # judgements of each answer, for ``votes``
    attempts: int = number(3, ge=1)  # including the first
    temperature: float | None = number(None, ge=0, says=_FROM_ZERO)  # None: 1 for ``votes``, else 0
    max_new_tokens: int = number(200, ge=1)  # not for ``token``
    schema: bool = True  # whether JSON is asked for by its schema


@dataclass
class CoderConfig:
    """A coder with settings: a checkpoint, a judge, or an ensemble of coders."""

    kind: str = ""  # one of `polbayes.coding.registry.KINDS`; empty: as the name says
    checkpoint: str = ""  # empty for the kind's own
    revision: str | None = None
    # The checkpoint's input, with the fields ``{statement}`` and ``{response}``: one text, or two
    # if `pair` is not empty; empty for the default of the kind.
    text: str = ""
    pair: str = ""
    # By stance class, for ``nli``; empty for the usual ones.
    hypotheses: dict[str, str] = field(default_factory=dict)
    # The checkpoint's labels: the stance class (for ``nli`` the relation) of each whose name does
    # not say it.
    labels: dict[str, str] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)  # of coders, for ``ensemble``
    language: str = ""  # of ``phrases``
    judge: JudgeConfig | None = None
    threshold: float = number(0.0, ge=0, lt=1)  # Less sure answers are left to the next coder.
    batch_size: int = number(16, ge=1)
    dtype: str = "float32"
    device: str = "auto"
    trust_remote_code: bool = False


@dataclass
class CodingConfig:
    """How free text becomes a stance: coders in order, each reading what the last left."""

    # rules, kinds, or `models`
    coders: list[str] = field(default_factory=lambda: ["likert", "lexical"])
    models: dict[str, CoderConfig] = field(default_factory=dict)


@dataclass
class AnnotationConfig:
    """The answers that ``task=annotate`` gives to annotators, and their labels."""

    folder: str = "annotation"  # within the run's folder
    # As in Faulborn et al. (2025): four answers of every prompt and model.
    strata: list[str] = field(default_factory=lambda: ["model", "prefix", "variant"])
    per_stratum: int = number(4, ge=1)
    annotators: list[str] = field(default_factory=lambda: ["first", "second"])  # one sheet each
    show_prefix: bool = True  # whether annotators see it
    hide: list[str] = field(default_factory=list)  # further names to hide in answers
    labels: list[str] = field(default_factory=list)  # sheets filled in, to be taken in
    adjudicated: str | None = None  # a third person's sheet; ``ties.csv`` by default


@dataclass
class TrainingConfig:
    """The training data and settings of ``task=train_coder``.

    Defaults follow Faulborn et al. (2025) where they describe theirs: the checkpoint in section
    3.4; steps, rate, decay, warm-up, batch, optimiser and precision in appendix D; the share held
    out is that of their 264 answers to the 1,320 trained on. Of what they leave open, evaluating
    every 250 steps is from their published code; linear decay of the rate, a maximum gradient norm
    of 1 and no decay of biases and norms are usual.
    """

    # Labelled answers, as for `ValidationConfig`; the first of merged classes is predicted.
    table: str | None = None
    columns: dict[str, str | None] = field(default_factory=dict)
    merge: dict[str, list[str]] = field(default_factory=dict)
    folder: str = "coder"  # within the run's folder
    checkpoint: str = "facebook/bart-large-mnli"
    revision: str | None = None
    text: str = ""  # As of `CoderConfig`; empty for statement and answer as two texts.
    pair: str = ""
    held_out: float = number(0.2, ge=0, lt=1)  # judges the classifier when all is done
    validation: float = number(0.1, ge=0, lt=1)  # says when to stop
    # Answers with the same ``statement``, ``item``, ``model`` or ``prefix`` stay on one side of the
    # split; None for answers with the same text only.
    group: str | None = None
    steps: int = number(1750, ge=1)
    epochs: float | None = number(None, gt=0)  # in place of `steps`
    batch_size: int = number(4, ge=1)
    # Tokens in a window; longer answers are read in several. None for the checkpoint's limit.
    max_length: int | None = number(None, ge=1)
    learning_rate: float = number(2e-5, gt=0)  # reached after the warm-up; falls to 0
    warmup_steps: int = number(500, ge=0)
    weight_decay: float = number(0.2, ge=0)
    beta1: float = number(0.9, ge=0, lt=1)
    beta2: float = number(0.999, ge=0, lt=1)
    epsilon: float = number(1e-8, gt=0)
    max_gradient_norm: float = number(1.0, gt=0)  # longer ones are shortened
    class_weights: str | None = None  # or ``balanced``: each class counts the same
    evaluate_every: int = number(250, ge=1)  # steps
    patience: int | None = number(3, ge=1)  # evaluations without a smaller loss; None: go on
    calibrate: bool = True  # whether a temperature is found, too
    resume: bool = True  # whether the state is kept, 4 times the weights' size
    dtype: str = "float32"  # ``bfloat16`` computes in it; weights stay float32
    device: str = "auto"
    trust_remote_code: bool = False


@dataclass
class ValidationConfig:
    """The answers and labels that ``task=validate_coder`` compares."""

    # Labelled answers; by default those of ``task=annotate`` in the run's folder.
    table: str | None = None
    # From ``statement``, ``response``, ``label``, ``model``, ``prefix``, ``item`` and ``keying`` to
    # columns of the table; None for its own name.
    columns: dict[str, str | None] = field(default_factory=dict)
    coders: list[str] | None = None  # None: those of ``coding.coders``
    # Classes that the labels do not distinguish, under the label's name.
    merge: dict[str, list[str]] = field(default_factory=dict)
    # Confidences below which answers are dropped; None for 0 to 0.95 by 0.05, and 0.99.
    thresholds: list[float] | None = number(None, ge=0, le=1, says=_SHARE)
    bins: int = number(10, ge=2)  # of the calibration curve
    # Confidences that divide readings if their errors enter an analysis
    # (`polbayes.fit.coder_errors.misclassification`).
    confidences: list[float] = field(default_factory=lambda: [0.7, 0.9])


@dataclass
class HumanCheckConfig:
    """The generated wordings that people check (`polbayes.tasks.paraphrasing.sheet`)."""

    folder: str = "check"  # within the folder of the set
    # Wordings drawn from each item, set and kind.
    per_item: int = number(0, ge=0, says="must not be negative; 0 is for no sheets.")
    annotators: list[str] = field(default_factory=lambda: ["first"])  # one sheet each
    sheets: list[str] = field(default_factory=list)  # filled in, to be taken in


@dataclass
class ParaphraseConfig:
    """How ``task=paraphrase`` creates wordings (`polbayes.tasks.paraphrasing`)."""

    # of the shipped ones or of `file`
    instructions: list[str] = field(default_factory=lambda: ["haller"])
    file: str | None = None  # of the user's own instructions
    calls: int = 1  # of every respondent, by instruction and statement
    temperature: float = number(1.0, ge=0)
    top_k: int = number(0, ge=0)
    max_new_tokens: int = number(1000, ge=1)
    batch_size: int | None = number(None, ge=1)
    table: str | None = None  # of wordings made elsewhere, in place of asking
    # From ``item``, ``text``, ``kind``, ``set``, ``variant`` and ``number`` to columns of the
    # table.
    columns: dict[str, str] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)  # for what has no column
    items: dict[str, str] = field(default_factory=dict)  # from the table's ids to the instrument's
    ignore: list[str] = field(default_factory=list)  # columns left out knowingly
    # Reasons to leave out a candidate; the others are only counted.
    exclude: list[str] = field(default_factory=list)
    least_words: int = number(3, ge=0)  # fewer make a fragment
    near: float | None = number(None, gt=0, le=1)  # overlap of near duplicates; None: no limit
    wanted: int | None = number(None, ge=1, says=_WANTED)  # sampled by item, set and kind
    nli: str | None = None  # a coder of kind nli that compares, both ways
    # of the relation's probability, by kind
    least: dict[str, float] = number(dict, ge=0, le=1, says=_SHARE)
    judge: str | None = None  # a respondent that judges meaning
    human: HumanCheckConfig = field(default_factory=HumanCheckConfig)


@dataclass
class MeasureConfig:
    """Classical measures."""

    # draws
    bootstrap: int = number(10_000, ge=100, says="at least 100 draws are needed for an interval.")
    # Of the intervals; conf/config.yaml has that of the analysis. Stage keys rest on this default.
    level: float = number(0.95, gt=0, lt=1)
    # Answers are strong if agreeing and disagreeing differ by more (Lunardi et al. 2024).
    strong: float = number(0.3, ge=0, le=1, says=_SHARE)
    # Two sets of wordings to compare by answer probabilities: names to lists of ids or patterns.
    paraphrase_sets: dict[str, list[str]] | None = None
    # Likewise of reformulations, whose bias is compared kind by kind.
    reformulation_sets: dict[str, list[str]] | None = None


@dataclass
class ReportConfig:
    """Additions to the report."""

    study: str | None = None  # one of `STUDIES`, beside its published figures
    maps: list[list[str]] | None = None  # pairs of dimensions; None: the first two
    # A finished run with questionnaires, whose models' positions are shown beside their tilt.
    positions: str | None = None


@dataclass
class AblationConfig:
    """The settings that ``task=ablate`` varies, in all combinations."""

    # Decodings by name: keys of `ElicitationConfig` that differ from the run's.
    decodings: dict[str, dict[str, Any]] = field(default_factory=dict)
    # Codings by name, as ``coding.coders``; each reads the answers of every decoding.
    coders: dict[str, list[str]] = field(default_factory=dict)
    lexicon_sizes: list[int] = number(list, ge=1)  # options of every stance that are read
    compositions: int = number(0, ge=0)  # random selections of each size, beside the first


@dataclass
class RoleplayConfig:
    """The selection to play (`polbayes.instrument.scenarios`); None selects all."""

    scenarios: list[str] | None = None
    twins: list[str] | None = None
    wordings: list[str] | None = None
    temperature: dict[str, float | None] = number(dict, ge=0)  # by unit; None: the elicitation's


@dataclass
class PairsConfig:
    """The paired requests (`polbayes.instrument.pairs`)."""

    set: str | None = None  # a shipped one, or a YAML file
    table: str | None = None  # of pairs collected elsewhere, in place of a set
    # From `polbayes.instrument.pairs.FIELDS` to columns of the table.
    columns: dict[str, str] = field(default_factory=dict)
    topics: list[str] | None = None  # None: all
    templates: list[str] | None = None  # None: all


@dataclass
class JudgingConfig:
    """How judges rate what respondents say in their roles, or to paired requests."""

    judges: list[str] | None = None  # of `RunConfig.judges` or respondents; None: all the former
    temperature: float = number(0.0, ge=0)
    top_k: int = number(0, ge=0)
    max_new_tokens: int = number(1000, ge=1)
    batch_size: int | None = number(None, ge=1)
    retries: int = 2  # for a reply that cannot be used
    schema: bool = True  # whether servers are asked for JSON by its schema
    sample: int = 60  # texts rated again with the values, and with the scale, reversed
    # How the verdict on a pair is given: ``choice``, ``stated`` (probabilities of the three in
    # words) or ``token`` (the probability mass of their letters).
    verdict: str = "choice"


@dataclass
class FeatureConfig:
    """Text features of the wordings (`polbayes.features`)."""

    # Features to describe and correlate, besides those of formulas; None for those without parser
    # or classifier if answer probabilities are read, and otherwise for none.
    names: list[str] | None = None
    language: str = "en"  # one of wordfreq's
    parser: str = "en_core_web_sm"  # a spaCy pipeline: name or folder
    sentiment: str = "vader"  # or a text classifier: hub name or folder
    # The classifier's labels for ``positive`` and ``negative``, if they differ.
    sentiment_labels: dict[str, str] = field(default_factory=dict)
    batch_size: int = number(32, ge=1)
    device: str = "auto"


@dataclass
class GridConfig:
    """The numbers that a D-study combines; None for a range around the run's."""

    items: list[int] | None = number(None, ge=1, says=_NUMBERS)
    wordings: list[int] | None = number(None, ge=1, says=_NUMBERS)
    prefixes: list[int] | None = number(None, ge=1, says=_NUMBERS)
    runs: list[int] | None = number(None, ge=1, says=_NUMBERS)


@dataclass
class PrecisionConfig:
    """The target precision of a study, and its limits (`polbayes.fit.posterior.d_study`)."""

    # ``dependability``, ``generalizability``, ``se_bias``, ``se_theta``, or either standard error
    # with ``_relative``, for comparisons of models.
    measure: str = "dependability"
    wanted: float = number(0.8, gt=0, says=_ABOVE)  # at least of a coefficient, at most of an error
    probability: float = number(0.8, gt=0, lt=1)  # with which a design must reach it
    prefixes: str = "random"  # ``fixed`` where those asked do not stand for others
    cost: float = number(1.0, gt=0, says=_ABOVE)  # of one question
    grid: GridConfig = field(default_factory=GridConfig)


@dataclass
class MisclassificationConfig:
    """The known errors of the coder that read the answers."""

    confusion: str = "${run_dir}/validation/confusion.nc"  # by ``task=validate_coder``
    coder: str = ""  # in it; empty: the only one, or all in order (``cascade``)
    by_model: bool = False  # whether models have matrices of their own
    prior: float = number(0.5, gt=0, says=_ABOVE)  # answers of every kind added (1/2: Jeffreys)
    # Weights, in answers, of the other models in a model's own matrix, and of other errors in the
    # coder's confidence in one kind of error.
    pooled: float = number(10.0, gt=0, says=_ABOVE)


@dataclass
class AnalysisConfig:
    """The analysis spec: see `polbayes.fit.spec`, and `polbayes.fit.mixed` for part ``mu``."""

    response: str = "stance"
    family: str = "cumulative"
    parts: dict[str, str | None] = field(default_factory=dict)  # formulas by part of the predictor
    priors: dict[str, str] = field(default_factory=dict)  # by ``part.term`` or ``part.group.sd``
    select: dict[str, Any] = field(default_factory=dict)  # coordinate values to keep
    # For each dimension a model known to be right of the centre; discriminations may then have
    # either sign.
    anchor: dict[str, str] = field(default_factory=dict)
    # Attributes of the respondents that readers know, such as ``{who: party}``: every model gets a
    # position on their scale, and its nearest neighbours among them.
    reference: dict[str, Any] = field(default_factory=dict)
    # Attributes of the respondents that are populations, such as ``{who: population}``: shares of
    # answers of many persons (`polbayes.fit.posterior.populations`).
    populations: dict[str, Any] = field(default_factory=dict)
    # What 0 and the unit of positions are from: ``statements``, the ``reference``, or the
    # ``population``.
    scale: str = "statements"
    # Terms that the data cannot identify: ``refuse`` or ``leave_out`` (in the shipped specs).
    unidentified: str = "refuse"
    level: float = number(0.9, gt=0, lt=1)  # of the intervals
    # Smaller differences of the bias measure do not matter: 5 of 100 answers that change sides
    # move it by 0.1.
    rope: float = number(0.1, gt=0, says=_ABOVE)
    # Smaller effects of a statement on a group (part ``dif``) do not matter, in units of the
    # predictor.
    dif: float = number(0.5, gt=0, says=_ABOVE)
    precision: PrecisionConfig = field(default_factory=PrecisionConfig)
    by: str | None = None  # fits a mixed model for each of its levels
    table: str | None = None  # whose columns are joined to the answers of a mixed model
    # ``{}``: the result of the validation in the run's folder.
    misclassification: MisclassificationConfig | None = None
    # Whether hedging and compliance are part of the model of the verdicts on paired requests.
    joint: bool = True


@dataclass
class SamplerConfig:
    """How the posterior is sampled."""

    backend: str = "nutpie"
    chains: int = number(4, ge=2, says=_ENOUGH)
    tune: int = number(500, ge=20, says=_ENOUGH)
    draws: int = number(1000, ge=50, says=_ENOUGH)
    target_accept: float = number(0.9, ge=0.5, lt=1, says="must be in [0.5, 1), not {value}.")
    mass_matrix: str = "diagonal"  # or ``low_rank``, which also adapts to correlations


@dataclass
class ProbingConfig:
    """Which of the design's questions are put."""

    kind: str = "full"  # or ``adaptive``
    start: float = number(0.05, gt=0, le=1, says=_PART)  # of the questions, before any fit
    batch: float = number(0.05, gt=0, le=1, says=_PART)  # of the questions, between two fits
    budget: float = number(0.25, gt=0, le=1, says=_PART)  # of the questions, at most
    # The widest interval of a theta that is narrow enough to stop; None spends the budget.
    width: float | None = number(None, gt=0, says="must be above 0, not {value}.")
    # Of a question to a model, relative to that of others, for which it is 1.
    cost: dict[str, float] = field(default_factory=dict)


@dataclass
class LauncherConfig:
    """Where respondents are asked: in this process, or by `polbayes.probing.launch` elsewhere."""

    kind: str = "local"  # or ``processes``, ``ray``, ``slurm``
    shards: int = number(2, ge=1)  # tasks of each respondent
    workers: int | None = number(None, ge=1)  # tasks at a time; None: all
    retries: int = number(2, ge=0)  # in a row, of a task whose worker dies without getting on
    cpus: int = number(1, ge=1)
    gpus: int = number(0, ge=0)
    memory: float | None = number(None, gt=0, says="must be above 0 GiB, not {value}.")  # GiB
    address: str | None = None  # of a Ray cluster; None starts Ray here
    partition: str | None = None  # of SLURM, as `minutes`
    minutes: int = number(1440, ge=1)
    options: dict[str, Any] = field(default_factory=dict)  # of ``sbatch``, by long names


@dataclass
class InspectConfig:
    """The answers that ``task=inspect`` shows; None selects all."""

    models: list[str] | None = None  # labels, or patterns such as ``pc-0*``
    items: list[str] | None = None
    variants: list[str] | None = None
    prefixes: list[str] | None = None
    runs: list[int] | None = None
    status: list[str] | None = None
    stance: list[str] | None = None
    text: str | None = None  # in the statement, answer or message, in any case
    limit: int | None = number(None, ge=1)  # None: 20 on the screen, all in a file
    format: str | None = None  # ``text``, ``csv`` or ``jsonl``; None: as the file's name says
    file: str | None = None  # None: the screen


@dataclass
class ExportConfig:
    """What ``task=export`` writes of a run, or of the questions that a config asks."""

    # of `polbayes.tasks.export.task.FORMATS`
    formats: list[str] = field(default_factory=lambda: ["csv", "parquet", "draws", "latex"])
    folder: str = "export"  # within the run's folder
    variables: list[str] | None = None  # of the posterior; None: all
    tables: list[str] | None = None  # of the report, in LaTeX; None: those of up to 100 rows
    chat: bool = False  # whether questions have the template's text for chat models
    model_name: str | None = None  # in prefixes that name the model
    # Room for the thinking of a reasoning model, in addition to the tokens of an answer.
    thinking_tokens: int | None = number(None, ge=1)


@dataclass
class PlanConfig:
    """What ``task=plan`` wants of a study, what it may assume, and its limits."""

    scale: str = "bias"  # of the numbers below: ``bias``, from -1 to 1, or ``theta``
    width: float | None = number(None, gt=0, says=_ABOVE)  # of a position's interval
    difference: float | None = number(None, gt=0, says=_ABOVE)  # of that of two models' difference
    # Probability that two models so far apart come out in the right order.
    order: float | None = number(None, ge=0.5, lt=1, says=_ORDER)
    apart: float = number(0.3, gt=0, says=_ABOVE)
    # Probability of finding that one prefix moves a model's leaning so far: that the interval of
    # its effect excludes 0 (``interval``), or lies beyond `AnalysisConfig.rope` (``verdict``).
    power: float | None = number(None, gt=0, lt=1, says=_CHANCE)
    effect: float = number(0.2, gt=0, says=_ABOVE)
    found: str = "interval"
    # Without a pilot: priors in place of those of `AnalysisConfig.priors`, with the same keys.
    assume: dict[str, Any] = field(default_factory=dict)
    simulate: bool = True  # the cheapest designs, or all is as the D-study says
    # Of each simulated design, at most.
    studies: int = number(40, ge=10, says="must be at least 10, not {value}.")
    models: int | None = number(None, ge=1, says=_NUMBERS)  # None: as many as in the pilot
    questions: int | None = number(None, ge=1, says=_NUMBERS)  # at most
    budget: float | None = number(None, gt=0, says=_ABOVE)  # in the currency of the prices
    # Tokens of a question and of an answer, and prices per million; None: those of the pilot.
    tokens_input: float | None = number(None, gt=0, says=_ABOVE)
    tokens_output: float | None = number(None, gt=0, says=_ABOVE)
    price_input: float | None = number(None, ge=0, says=_FROM_ZERO)
    price_output: float | None = number(None, ge=0, says=_FROM_ZERO)
    write: str | None = None  # a file for the planned experiment


@dataclass
class WatchConfig:
    """How ``task=watch`` follows a running run."""

    # Seconds between two checks; 0 for one check.
    every: float = number(2.0, ge=0, says="must be at least 0 seconds, not {value}.")


@dataclass
class RunConfig:
    """The complete config of a run."""

    name: str = "unnamed"
    title: str = ""
    description: str = ""
    task: str = "run"
    seed: int = number(1, ge=0, le=2**32 - 1)
    run_dir: str = "outputs/${name}"
    runs: list[str] = field(default_factory=list)  # compared by ``task=compare``
    # Of each of these runs, if they asked the same models in different modes.
    modes: list[str] = field(default_factory=list)
    answers_from: str | None = None  # a run whose answers are taken over
    # Asking stops after this many answers of a respondent if none is usable.
    give_up_after: int | None = number(100, ge=0)
    stages: list[str] = field(default_factory=lambda: list(STAGES))
    specs: list[str] | None = None  # analyses that ``task=compare_specs`` compares
    # In which all is asked and read: of `data/languages` or a file (`polbayes.config.languages`).
    language: str | None = None
    instruments: list[str] = field(default_factory=list)
    items: list[str] | None = None
    variants: list[str] | None = None
    # Files (`polbayes.instrument.wordings`), or ``LANGUAGE:INSTRUMENT`` for a translation.
    wordings: list[str] = field(default_factory=list)
    models: list[str] | None = None
    prefixes: PrefixConfig = field(default_factory=PrefixConfig)
    elicitation: ElicitationConfig = field(default_factory=ElicitationConfig)
    respondents: dict[str, RespondentConfig] = field(default_factory=dict)
    roleplay: RoleplayConfig = field(default_factory=RoleplayConfig)
    pairs: PairsConfig = field(default_factory=PairsConfig)
    judges: dict[str, RespondentConfig] = field(default_factory=dict)  # of roleplay and pairs
    judging: JudgingConfig = field(default_factory=JudgingConfig)
    imported: ImportConfig | None = None
    journal: JournalConfig = field(default_factory=JournalConfig)
    coding: CodingConfig = field(default_factory=CodingConfig)
    analysis: AnalysisConfig = field(default_factory=AnalysisConfig)
    measures: MeasureConfig = field(default_factory=MeasureConfig)
    annotation: AnnotationConfig = field(default_factory=AnnotationConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    validation: ValidationConfig = field(default_factory=ValidationConfig)
    paraphrase: ParaphraseConfig = field(default_factory=ParaphraseConfig)
    features: FeatureConfig = field(default_factory=FeatureConfig)
    report: ReportConfig = field(default_factory=ReportConfig)
    ablation: AblationConfig = field(default_factory=AblationConfig)
    sampler: SamplerConfig = field(default_factory=SamplerConfig)
    launcher: LauncherConfig = field(default_factory=LauncherConfig)
    probing: ProbingConfig = field(default_factory=ProbingConfig)
    inspect: InspectConfig = field(default_factory=InspectConfig)
    watch: WatchConfig = field(default_factory=WatchConfig)
    export: ExportConfig = field(default_factory=ExportConfig)
    plan: PlanConfig = field(default_factory=PlanConfig)
