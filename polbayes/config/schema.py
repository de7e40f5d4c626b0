"""The config of a run: its schema, how it is composed with Hydra, and its hash.

`conf/config.yaml` and its groups declare a run; `RunConfig` is the schema they are
checked against, so that a misspelt key or a wrong type is found before anything starts.
"""

from dataclasses import dataclass, field
from typing import Any

from polbayes.config.ranges import number

STAGES = ("probe", "code", "measure", "fit", "report")
# Ways to ask.
QUESTIONNAIRES = ("forced_choice", "fill_mask", "open_ended")
ROLEPLAY = "roleplay"
ELICITATIONS = (*QUESTIONNAIRES, ROLEPLAY)
# How judges are asked, which nobody chooses.
JUDGING = "judging"
# Where an answer is a text.
TEXTS = ("open_ended", ROLEPLAY, JUDGING)
# Studies whose tables and figures a report can show.
STUDIES = ("faulborn", "haller", "lunardi")
# What is said of some numbers out of range.
_ABOVE = "must be a positive number, not {value}."
_POSITIVE = "must be a number above 0, not {value}."
_FROM_ZERO = "must be a number from 0, not {value}."
_SHARE = "must lie between 0 and 1, not {value}."
_NUMBERS = "numbers must be at least 1, not {value}."
_WANTED = "must be at least 1, not {value}; null takes all."
_ENOUGH = "must be at least {ge}, not {value}; convergence cannot be judged with less."


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
        ``forced_choice``, ``fill_mask``, ``open_ended`` or ``roleplay``.
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
    decoding
        How open answers are written: ``sample``, ``greedy``, ``beam`` or ``contrastive``
        (`polbayes.huggingface.decoding`).
    top_p
        Sampling is from the likeliest tokens that together have this probability; 1 for all.
    beams
        Width of the beam search; its runs are the likeliest, the second likeliest, ... sequence.
    penalty_alpha
        Weight of the penalty for repetition in contrastive search, in [0, 1]; its candidates
        are the `top_k` likeliest tokens.
    lexicon_size
        Only the first so many options of every stance of the lexicon are read; None for all.
    top_tokens
        Only the so many likeliest tokens at the mask count, as Feng et al. (2023) read a masked
        LM; None for all.
    """

    kind: str = "open_ended"
    template: str = "faulborn"
    lexicon: str | None = None
    runs: int = number(1, ge=1, le=32767)
    max_new_tokens: int = number(100, ge=1)
    top_k: int = number(10, ge=0)
    temperature: float = number(1.0, ge=0)
    batch_size: int | None = number(None, ge=1)
    decoding: str = "sample"
    top_p: float = number(1.0, gt=0, le=1)
    beams: int = number(5, ge=1)
    penalty_alpha: float = number(0.6, ge=0, le=1)
    lexicon_size: int | None = number(None, ge=1)
    top_tokens: int | None = number(None, ge=1)


@dataclass
class ApiConfig:
    """The server of a ``chat_api`` respondent, how it is asked, and what that may cost.

    Parameters
    ----------
    base_url
        Of an OpenAI-compatible server, up to what precedes ``/chat/completions``.
    key_variable
        Name of the environment variable that holds the key; None for a server that takes none.
    system
        System prompt; None for none.
    concurrency
        Questions that are under way at the same time, at most.
    requests_per_minute
        A limit that is known beforehand; others are found out.
    timeout
        Seconds that one request may take.
    retries, backoff
        How often a question is asked again after failures of the server or the connection, and
        about how many seconds after the first of them; the wait doubles with each.
    top_logprobs
        How many of the likeliest tokens are asked for where probabilities are read.
    limit_key
        What the server calls the longest answer: ``max_tokens`` or ``max_completion_tokens``.
    omit
        What the server does not take, of ``temperature``, ``seed``, ``top_k`` and
        ``response_format`` (the schema of what a judge is to answer).
    extra_body
        Further fields of every request.
    price_input, price_output, currency
        Of a million tokens.
    budget, budget_tokens
        What this respondent may cost in a run's folder, in the currency and in tokens.
    """

    base_url: str = "https://api.openai.com/v1"
    key_variable: str | None = "OPENAI_API_KEY"
    system: str | None = None
    concurrency: int = number(8, ge=1)
    requests_per_minute: float | None = number(None, gt=0, says=_POSITIVE)
    timeout: float = number(120.0, gt=0, says=_POSITIVE)
    retries: int = number(6, ge=0)
    backoff: float = number(1.0, gt=0, says=_POSITIVE)
    top_logprobs: int = number(20, ge=1)
    limit_key: str = "max_tokens"
    omit: list[str] = field(default_factory=list)
    extra_body: dict[str, Any] = field(default_factory=dict)
    price_input: float | None = number(None, ge=0, says=_FROM_ZERO)
    price_output: float | None = number(None, ge=0, says=_FROM_ZERO)
    currency: str = "USD"
    budget: float | None = number(None, gt=0, says=_POSITIVE)
    budget_tokens: int | None = number(None, gt=0, says=_POSITIVE)


# Keys of `ApiConfig` that change neither a question nor its answer.
API_MEANS = (
    *("key_variable", "concurrency", "requests_per_minute", "timeout", "retries", "backoff"),
    *("price_input", "price_output", "currency", "budget", "budget_tokens"),
)


@dataclass
class RespondentConfig:
    """Who answers.

    Parameters
    ----------
    backend
        ``causal`` or ``masked`` (Hugging Face checkpoints), ``chat_api``, ``simulated``, or
        ``planted_actor`` and ``planted_judge`` (`models/roleplay/README.md`).
    checkpoint
        Hub name, local folder, or ``embedded:NAME`` for a shipped checkpoint; for ``chat_api``
        what the server calls the model; for ``simulated`` and the planted ones,
        ``planted:NAME``, a set of planted parameters.
    revision
        Hub revision; None for the default branch.
    family
        Model family, a group-level predictor.
    instruct
        Whether the model is instruction-tuned; None means as the chat template says.
    attributes
        Further group-level predictors under names of the user's own: text, numbers or
        truth values, e.g. ``{lab: meta, size: 7}`` (`polbayes.instrument.covariates`).
    chat
        Whether to use the chat template; None means when the checkpoint has one.
    dtype, device
        ``float32``, ``bfloat16`` or ``float16``; ``auto``, ``cpu``, ``cuda`` or ``mps``.
    trust_remote_code
        Off unless turned on here, by name, for this respondent.
    api
        Of a ``chat_api`` respondent; None for the defaults.
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
    api: ApiConfig | None = None


@dataclass
class JournalConfig:
    """How answers are kept while they come in.

    Parameters
    ----------
    sync_seconds
        Seconds after which an answer is on the disk at the latest, where a power cut cannot undo
        it; 0 for at once. A killed process loses nothing in any case.
    cache
        A file of answers that several runs share (`polbayes.probing.answer_cache`); null for none.
    """

    # A longer bound on what a power cut can cost is none.
    sync_seconds: float = number(1.0, ge=0, le=3600)
    cache: str | None = None


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
        them, ``statement`` (the wording that was put), ``prefix_text``, ``topic`` (of the item),
        ``administration`` (which answers were asked for in one prompt or session), ``family``,
        ``instruct``, ``checkpoint`` and ``revision``; what has no column is constant.
    constants
        Values for what has no column, e.g. ``variant: original`` (which is the default, as are
        ``prefix: baseline`` and ``run: 1``).
    attributes
        Maps further attributes of the models, under names of the user's own, to columns that
        have the same value in all rows of a model.
    prefix_attributes, wording_attributes, administration_attributes
        The same of prefixes, of wordings (item and variant) and of administrations.
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
    reservations
        Whether an answer counts as an option that it picks with a reservation ("Agree, but …")
        or in a roundabout way ("I lean towards agreeing"); otherwise it is none of them.
    ignore
        Columns that are knowingly left out.
    """

    path: str = ""
    columns: dict[str, str] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    prefix_attributes: dict[str, str] = field(default_factory=dict)
    wording_attributes: dict[str, str] = field(default_factory=dict)
    administration_attributes: dict[str, str] = field(default_factory=dict)
    models: dict[str, dict[str, Any]] = field(default_factory=dict)
    items: dict[str, str] = field(default_factory=dict)
    options: dict[str, Any] | None = None
    points: list[str] | None = None
    stances: list[str] | None = None
    strict_options: bool = False
    reservations: bool = False
    ignore: list[str] = field(default_factory=list)


@dataclass
class JudgeConfig:
    """A language model that reads the stance of answers by a rubric (`polbayes.judging.stances`).

    Parameters
    ----------
    backend
        How it is asked, as of a respondent: ``chat_api`` or ``causal``.
    chat, api
        As of a respondent.
    rubric
        What it is told: a name in `data/rubrics/`, or a YAML file like those.
    probabilities
        Where the probabilities come from: ``stated`` by the judge, shares of ``votes``, or those
        of the ``token`` that the label begins with.
    votes
        How often each answer is judged, for ``votes``.
    attempts
        How often a judgement that failed or cannot be read is asked for in all.
    temperature
        Null for 1 where there are votes, and 0 otherwise.
    max_new_tokens
        The longest output, but for ``token``.
    schema
        Whether JSON is asked for by its schema where the server takes one.
    """

    backend: str = "chat_api"
    chat: bool | None = None
    api: ApiConfig | None = None
    rubric: str = "stance"
    probabilities: str = "stated"
    votes: int = number(5, ge=1)
    attempts: int = number(3, ge=1)
    temperature: float | None = number(None, ge=0, says=_FROM_ZERO)
    max_new_tokens: int = number(200, ge=1)
    schema: bool = True


@dataclass
class CoderConfig:
    """A coder that has to be declared: a checkpoint, a judge, or an ensemble of coders.

    Parameters
    ----------
    kind
        ``nli``, ``sentiment``, ``classifier``, ``judge`` or ``ensemble``; empty for what the
        coder's name says.
    checkpoint, revision
        Hub name (with a revision) or local folder; empty for the kind's own
        (`polbayes.coding.registry.KINDS`). Of a judge behind a server what the server calls it.
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
    judge
        For ``judge``: how it is asked; None for the defaults.
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
    judge: JudgeConfig | None = None
    threshold: float = number(0.0, ge=0, lt=1)
    batch_size: int = number(16, ge=1)
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
    per_stratum: int = number(4, ge=1)
    annotators: list[str] = field(default_factory=lambda: ["first", "second"])
    show_prefix: bool = True
    hide: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    adjudicated: str | None = None


@dataclass
class TrainingConfig:
    """What ``task=train_coder`` trains a classifier on, and how.

    Where Faulborn et al. (2025) say how they trained theirs, that is the default: the checkpoint
    in section 3.4, steps, rate, decay, warm-up, batch, optimiser and precision in appendix D; the
    share held out is that of their 264 answers to the 1,320 trained on. They are silent on the
    rest. Of that, evaluating every 250 steps is from their published code, and the linear fall of
    the rate, the longest gradient of 1 and no decay of biases and norms are what is usual.

    Parameters
    ----------
    table, columns, merge
        Labelled answers, as of `ValidationConfig`. Of classes taken together the first one is
        what the classifier says.
    folder
        Where the classifier goes, within the run's folder.
    checkpoint, revision
        What is trained further: hub name (with a revision) or local folder.
    text, pair
        What it is given of an answer, as of `CoderConfig`; empty for statement and answer as two
        texts.
    held_out, validation
        Shares of the answers: those that the classifier is judged by when all is done, and those
        that say when to stop. It is trained on the others.
    group
        ``statement``, ``item``, ``model`` or ``prefix``: answers with the same one stay together
        on one side of the split. Null for only those whose texts are the same.
    steps, epochs
        How long: batches or, where it is not null, times that every answer is seen.
    batch_size
        Answers in a batch.
    max_length
        Tokens in a window; null for all that the checkpoint takes. Longer answers are read in
        several windows, in training as in coding.
    learning_rate, warmup_steps
        The rate rises to this over so many steps, and falls to zero in a straight line.
    weight_decay, beta1, beta2, epsilon
        Of AdamW.
    max_gradient_norm
        Longer gradients are shortened to this.
    class_weights
        ``balanced`` where every class counts the same whatever its size; null for every answer.
    evaluate_every, patience
        Steps between two looks at the validation answers, and after how many of them without a
        smaller loss to stop; null to go on to the end. The best weights are kept.
    calibrate
        Whether the validation answers also give a temperature, which the coder applies.
    resume
        Whether the state is kept on disk while training goes on, so that it can be taken up
        again; about four times the size of the weights.
    dtype
        ``float32``, or ``bfloat16`` for computing in it; weights are float32 all the same.
    device, trust_remote_code
        As of a respondent.
    """

    table: str | None = None
    columns: dict[str, str | None] = field(default_factory=dict)
    merge: dict[str, list[str]] = field(default_factory=dict)
    folder: str = "coder"
    checkpoint: str = "facebook/bart-large-mnli"
    revision: str | None = None
    text: str = ""
    pair: str = ""
    held_out: float = number(0.2, ge=0, lt=1)
    validation: float = number(0.1, ge=0, lt=1)
    group: str | None = None
    steps: int = number(1750, ge=1)
    epochs: float | None = number(None, gt=0)
    batch_size: int = number(4, ge=1)
    max_length: int | None = number(None, ge=1)
    learning_rate: float = number(2e-5, gt=0)
    warmup_steps: int = number(500, ge=0)
    weight_decay: float = number(0.2, ge=0)
    beta1: float = number(0.9, ge=0, lt=1)
    beta2: float = number(0.999, ge=0, lt=1)
    epsilon: float = number(1e-8, gt=0)
    max_gradient_norm: float = number(1.0, gt=0)
    class_weights: str | None = None
    evaluate_every: int = number(250, ge=1)
    patience: int | None = number(3, ge=1)
    calibrate: bool = True
    resume: bool = True
    dtype: str = "float32"
    device: str = "auto"
    trust_remote_code: bool = False


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
    confidences
        Confidences that readings are told apart by where their errors enter an analysis
        (`polbayes.fit.coder_errors.misclassification`); an empty list for none.
    """

    table: str | None = None
    columns: dict[str, str | None] = field(default_factory=dict)
    coders: list[str] | None = None
    merge: dict[str, list[str]] = field(default_factory=dict)
    thresholds: list[float] | None = number(None, ge=0, le=1, says=_SHARE)
    bins: int = number(10, ge=2)
    confidences: list[float] = field(default_factory=lambda: [0.7, 0.9])


@dataclass
class HumanCheckConfig:
    """What of generated wordings people check (`polbayes.tasks.paraphrasing.sheet`).

    Parameters
    ----------
    folder
        Within the folder of the set.
    per_item
        Wordings drawn from each item, set and kind; 0 for no sheets.
    annotators
        Names, one sheet each.
    sheets
        Sheets that are filled in; where there are some they are taken in.
    """

    folder: str = "check"
    per_item: int = number(0, ge=0, says="must not be negative; 0 is for no sheets.")
    annotators: list[str] = field(default_factory=lambda: ["first"])
    sheets: list[str] = field(default_factory=list)


@dataclass
class ParaphraseConfig:
    """How ``task=paraphrase`` makes wordings of the statements (`polbayes.tasks.paraphrasing`).

    Parameters
    ----------
    instructions
        What the respondents are told, by name: of `data/instructions.yaml` or of `file`.
    file
        A YAML file of instructions of the user's own.
    calls
        How often every respondent is told each instruction, for each statement.
    temperature, top_k, max_new_tokens, batch_size
        As of an elicitation.
    table
        A table of wordings made elsewhere, in place of asking.
    columns
        Maps ``item``, ``text`` and, where the table has them, ``kind``, ``set``, ``variant`` and
        ``number`` (of the wording in its set) to its columns.
    constants
        Values for what has no column (``kind: paraphrase`` and ``set: imported`` by default).
    items
        Maps the table's item ids to the instrument's, where they differ.
    ignore
        Columns of the table that are knowingly left out.
    exclude
        Reasons for which a candidate is left out; those not listed are only counted.
    least_words
        A candidate of fewer words is a fragment.
    near
        Two candidates whose overlap (`polbayes.tasks.paraphrasing.duplicates`) is at least this are
        near duplicates; null for none.
    wanted
        Wordings sampled from each item, set and kind; null for all.
    nli
        The coder of kind nli (``nli`` itself, or one of ``coding.models``) that compares
        candidates with the statement, both ways; null for none.
    least
        By kind, how probable the relation it stands for must be at least, both ways.
    judge
        A respondent that judges meaning by a fixed rubric; null for none.
    human
        What people check.
    """

    instructions: list[str] = field(default_factory=lambda: ["haller"])
    file: str | None = None
    calls: int = 1
    temperature: float = number(1.0, ge=0)
    top_k: int = number(0, ge=0)
    max_new_tokens: int = number(1000, ge=1)
    batch_size: int | None = number(None, ge=1)
    table: str | None = None
    columns: dict[str, str] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    items: dict[str, str] = field(default_factory=dict)
    ignore: list[str] = field(default_factory=list)
    exclude: list[str] = field(default_factory=list)
    least_words: int = number(3, ge=0)
    near: float | None = number(None, gt=0, le=1)
    wanted: int | None = number(None, ge=1, says=_WANTED)
    nli: str | None = None
    least: dict[str, float] = number(dict, ge=0, le=1, says=_SHARE)
    judge: str | None = None
    human: HumanCheckConfig = field(default_factory=HumanCheckConfig)


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
    reformulation_sets
        Two such sets of reformulations whose bias is compared, kind by kind.
    """

    bootstrap: int = number(10_000, ge=100, says="at least 100 draws are needed for an interval.")
    level: float = number(0.95, gt=0, lt=1)
    strong: float = number(0.3, ge=0, le=1, says=_SHARE)
    paraphrase_sets: dict[str, list[str]] | None = None
    reformulation_sets: dict[str, list[str]] | None = None


@dataclass
class ReportConfig:
    """What the report shows beside what every report shows.

    Parameters
    ----------
    study
        ``faulborn``, ``haller`` or ``lunardi``: the tables and figures of that study, in its
        order, beside its published figures; None for none.
    """

    study: str | None = None


@dataclass
class AblationConfig:
    """What ``task=ablate`` varies, one thing at a time and each with each.

    Parameters
    ----------
    decodings
        By name, keys of `ElicitationConfig` that differ from the run's: how answers are written
        and how many sequences there are of each (``runs``).
    coders
        By name, coders in order that read the answers of every decoding, as ``coding.coders``.
    lexicon_sizes
        Where probabilities are read: how many options of every stance are.
    compositions
        How many random selections of each size are read beside the first options.
    """

    decodings: dict[str, dict[str, Any]] = field(default_factory=dict)
    coders: dict[str, list[str]] = field(default_factory=dict)
    lexicon_sizes: list[int] = number(list, ge=1)
    compositions: int = number(0, ge=0)


@dataclass
class RoleplayConfig:
    """What is played (`polbayes.instrument.scenarios`), where ``elicitation.kind`` is ``roleplay``.

    Parameters
    ----------
    scenarios
        Names of shipped scenarios or paths of YAML files; null for all that are shipped.
    twins, wordings
        Those of each scenario that are played; null for all.
    temperature
        By unit (``baseline``, the four stages, ``reflection``); null for that of the elicitation.
    """

    scenarios: list[str] | None = None
    twins: list[str] | None = None
    wordings: list[str] | None = None
    temperature: dict[str, float | None] = number(dict, ge=0)


@dataclass
class JudgingConfig:
    """How judges rate what respondents said in their roles.

    Parameters
    ----------
    judges
        Names, of `RunConfig.judges` or of respondents; null for all of `RunConfig.judges`.
    temperature, top_k, max_new_tokens, batch_size
        As of an elicitation.
    retries
        How often a judge is asked again whose reply cannot be used.
    schema
        Whether servers are asked for a reply that follows a JSON schema. One that does not take
        schemas is asked without.
    sample
        Texts that every judge rates once more with the values in reversed order, and once more
        with the scale reversed; 0 for none.
    """

    judges: list[str] | None = None
    temperature: float = number(0.0, ge=0)
    top_k: int = number(0, ge=0)
    max_new_tokens: int = number(1000, ge=1)
    batch_size: int | None = number(None, ge=1)
    retries: int = 2
    schema: bool = True
    sample: int = 60


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
    batch_size: int = number(32, ge=1)
    device: str = "auto"


@dataclass
class GridConfig:
    """The numbers that a D-study combines; None for a range around those of the run."""

    items: list[int] | None = number(None, ge=1, says=_NUMBERS)
    wordings: list[int] | None = number(None, ge=1, says=_NUMBERS)
    prefixes: list[int] | None = number(None, ge=1, says=_NUMBERS)
    runs: list[int] | None = number(None, ge=1, says=_NUMBERS)


@dataclass
class PrecisionConfig:
    """How precise a study is to be, and what it may ask (`polbayes.fit.posterior.d_study`).

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
    wanted: float = number(0.8, gt=0, says=_ABOVE)
    probability: float = number(0.8, gt=0, lt=1)
    prefixes: str = "random"
    cost: float = number(1.0, gt=0, says=_ABOVE)
    grid: GridConfig = field(default_factory=GridConfig)


@dataclass
class MisclassificationConfig:
    """What is known of the errors of the coder that read the answers.

    Parameters
    ----------
    confusion
        The ``confusion.nc`` of ``task=validate_coder``.
    coder
        Name of the coder in it; empty for the only one, or else for all in order (``cascade``).
    by_model
        Whether models that the validation names have confusion matrices of their own.
    prior
        Answers of every kind that are added to the counts (1/2: Jeffreys).
    pooled
        Answers that those of the other models are worth to a model's own matrix, and those of
        other errors to how sure the coder is of one kind of error.
    """

    confusion: str = "${run_dir}/validation/confusion.nc"
    coder: str = ""
    by_model: bool = False
    prior: float = number(0.5, gt=0, says=_ABOVE)
    pooled: float = number(10.0, gt=0, says=_ABOVE)


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
    misclassification
        Where the answers were read by a coder that errs: what is known of its errors. ``{}`` for
        what a validation in the run's folder found.
    """

    response: str = "stance"
    family: str = "cumulative"
    parts: dict[str, str | None] = field(default_factory=dict)
    priors: dict[str, str] = field(default_factory=dict)
    select: dict[str, Any] = field(default_factory=dict)
    anchor: dict[str, str] = field(default_factory=dict)
    level: float = number(0.9, gt=0, lt=1)
    rope: float = number(0.1, gt=0, says=_ABOVE)
    precision: PrecisionConfig = field(default_factory=PrecisionConfig)
    by: str | None = None
    table: str | None = None
    misclassification: MisclassificationConfig | None = None


@dataclass
class SamplerConfig:
    """How the posterior is sampled."""

    backend: str = "nutpie"
    chains: int = number(4, ge=2, says=_ENOUGH)
    tune: int = number(500, ge=50, says=_ENOUGH)
    draws: int = number(1000, ge=50, says=_ENOUGH)
    target_accept: float = number(0.9, ge=0.5, lt=1, says="must be in [0.5, 1), not {value}.")


@dataclass
class LauncherConfig:
    """Where respondents are asked: in this process, or by `polbayes.probing.launch` elsewhere.

    Parameters
    ----------
    kind
        ``local`` (this process), ``processes`` of this machine, ``ray`` or ``slurm``.
    shards
        How many tasks the questions of each respondent are divided into.
    workers
        Tasks that there are at the same time, at most; None for all of them.
    retries
        How often in a row a task whose worker dies is begun again without having got on.
    cpus, gpus, memory
        Of each task; memory in GiB, None for what the cluster gives.
    address
        Of a Ray cluster, such as ``auto`` or ``ray://HOST:10001``; None starts Ray on this
        machine.
    partition, minutes
        Of a SLURM task.
    options
        Further options of ``sbatch``, by their long names.
    """

    kind: str = "local"
    shards: int = number(2, ge=1)
    workers: int | None = number(None, ge=1)
    retries: int = number(2, ge=0)
    cpus: int = number(1, ge=1)
    gpus: int = number(0, ge=0)
    memory: float | None = number(None, gt=0, says="must be above 0 GiB, not {value}.")
    address: str | None = None
    partition: str | None = None
    minutes: int = number(1440, ge=1)
    options: dict[str, Any] = field(default_factory=dict)


@dataclass
class InspectConfig:
    """What ``task=inspect`` shows of a run's answers (`polbayes.tasks.inspection`).

    Parameters
    ----------
    models, items, variants, prefixes
        Labels, or patterns of them such as ``pc-0*``; None for all.
    runs
        Numbers of repetitions; None for all.
    status, stance
        Names of statuses and stances (`polbayes.data.dataset`); None for all.
    text
        What the statement, the answer or the message must contain, whatever the case.
    limit
        How many answers are shown; None for 20 on the screen, and for all in a file.
    format
        ``text``, ``csv`` or ``jsonl``; None for what the name of the file says, or text.
    file
        Where to; None for the screen.
    """

    models: list[str] | None = None
    items: list[str] | None = None
    variants: list[str] | None = None
    prefixes: list[str] | None = None
    runs: list[int] | None = None
    status: list[str] | None = None
    stance: list[str] | None = None
    text: str | None = None
    limit: int | None = number(None, ge=1)
    format: str | None = None
    file: str | None = None


@dataclass
class WatchConfig:
    """How ``task=watch`` looks at a run that is going on.

    Parameters
    ----------
    every
        Seconds between two looks; 0 for one look.
    """

    every: float = number(2.0, ge=0, says="must be at least 0 seconds, not {value}.")


@dataclass
class RunConfig:
    """Everything that a run is made from.

    `roleplay`, `judges` (who judges, by name) and `judging` are for ``elicitation=roleplay`` alone.
    `specs` are the analyses that ``task=compare_specs`` compares, by name, and `runs` the folders
    of the runs that ``task=compare`` compares. `answers_from` is the folder of a run whose answers
    are taken over, so that only what was not asked there is asked. `wordings` are files of further
    wordings of the items (`polbayes.instrument.wordings`).
    """

    name: str = "unnamed"
    title: str = ""
    description: str = ""
    task: str = "run"
    seed: int = number(1, ge=0, le=2**32 - 1)
    run_dir: str = "outputs/${name}"
    runs: list[str] = field(default_factory=list)
    answers_from: str | None = None
    stages: list[str] = field(default_factory=lambda: list(STAGES))
    specs: list[str] | None = None
    instruments: list[str] = field(default_factory=list)
    items: list[str] | None = None
    variants: list[str] | None = None
    wordings: list[str] = field(default_factory=list)
    models: list[str] | None = None
    prefixes: PrefixConfig = field(default_factory=PrefixConfig)
    elicitation: ElicitationConfig = field(default_factory=ElicitationConfig)
    respondents: dict[str, RespondentConfig] = field(default_factory=dict)
    roleplay: RoleplayConfig = field(default_factory=RoleplayConfig)
    judges: dict[str, RespondentConfig] = field(default_factory=dict)
    judging: JudgingConfig = field(default_factory=JudgingConfig)
    imported: ImportConfig | None = None
    journal: JournalConfig = field(default_factory=JournalConfig)
    coding: CodingConfig = field(default_factory=CodingConfig)
    measures: MeasureConfig = field(default_factory=MeasureConfig)
    annotation: AnnotationConfig = field(default_factory=AnnotationConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    validation: ValidationConfig = field(default_factory=ValidationConfig)
    paraphrase: ParaphraseConfig = field(default_factory=ParaphraseConfig)
    features: FeatureConfig = field(default_factory=FeatureConfig)
    report: ReportConfig = field(default_factory=ReportConfig)
    ablation: AblationConfig = field(default_factory=AblationConfig)
    analysis: AnalysisConfig = field(default_factory=AnalysisConfig)
    sampler: SamplerConfig = field(default_factory=SamplerConfig)
    launcher: LauncherConfig = field(default_factory=LauncherConfig)
    inspect: InspectConfig = field(default_factory=InspectConfig)
    watch: WatchConfig = field(default_factory=WatchConfig)
