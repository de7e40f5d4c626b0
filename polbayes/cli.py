"""The command line: `python -m polbayes +experiment=NAME [key=value ...]`."""

import codecs
import io
import os
import sys
from collections.abc import Sequence

from polbayes.data.progress import Mode, speaking, tell
from polbayes.errors import UserError, of_system

_USAGE = """\
polbayes measures the political leaning of language models.

usage: polbayes +experiment=NAME [KEY=VALUE ...] [--config-dir DIR]
       polbayes +experiment=NAME --cfg     print the config and stop
       polbayes task=compare runs=[FOLDER,FOLDER]
       polbayes --help | --version

options:
  -q, --quiet               say nothing but the answer
  -v, --verbose             say when, and which files were written
  --json                    progress and answer as JSON lines on the standard output
  --completion SHELL        print what completes command lines in bash, zsh or fish

experiments:
{experiments}

common overrides:
  respondents=none +respondents.gpt2.checkpoint=openai-community/gpt2
                            ask a Hugging Face model (hub name or local folder)
  respondents=served respondents.served.checkpoint=NAME
                            ask a model behind an OpenAI-compatible server
  judging.judges=[left_judge,NAME]
                            who rates what was played (+experiment=politicsbench)
  models=[left,right]       only some of the declared respondents
  prefixes.only=[baseline]  only some prefixes; likewise items=[...], variants=[original]
  run_dir=FOLDER            where the results go (default: outputs/NAME)
  stages=[fit,report]       only some of probe, code, measure, fit, report
  analysis=NAME             another model: {analyses}
  sampler.draws=2000        longer sampling
  seed=2                    another seed
  launcher=ray launcher.shards=8
                            ask in several places at once (processes, ray, slurm)
  wordings=[outputs/NAME/wordings.parquet]
                            ask these wordings, too

tasks:
{tasks}

Everything in conf/ can be overridden in this way; --config-dir adds a folder of your own
configs, laid out like conf/. Running a command again resumes it, or does nothing when it is
finished."""

_MODES: dict[str, Mode] = {
    "-q": "quiet",
    "--quiet": "quiet",
    "-v": "verbose",
    "--verbose": "verbose",
    "--json": "json",
}

# Where explanations begin in the help.
_COLUMN = 28

# For an output in an encoding without these signs, such as a pipe on Windows.
_PLAIN = str.maketrans(
    {"−": "-", "–": "-", "·": "*", "…": "...", "“": "'", "”": "'", "’": "'", "≤": "<=", "≥": ">="}
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    codecs.register_error(__name__, _in_plain_signs)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=__name__)
    sys.exit(_main(list(sys.argv[1:] if arguments is None else arguments)))


def _main(arguments: list[str]) -> int:
    given = ["polbayes", *arguments]
    try:
        about = _about(arguments)
        if about:
            print(about, flush=True)
            return 0 if arguments else 2
        if arguments[0] in ("--complete", "--completion") and len(arguments) == 2:
            return _complete(*arguments)
        mode, arguments = _mode(arguments)
        with speaking(mode):
            return _run(arguments, mode)
    except UserError as error:
        return _tell(error, given)
    except KeyboardInterrupt:
        print(
            "\ninterrupted: answers given so far are kept; the same command resumes from there.",
            file=sys.stderr,
        )
        return 130
    except BrokenPipeError:
        # The reader of our output has gone; there is nobody left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        told = of_system(error)
        if told is None:
            raise
        return _tell(told, given)


def _in_plain_signs(error: UnicodeError) -> tuple[str | bytes, int]:
    """Write what an encoding lacks as signs that every encoding has, or as its code."""
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end].translate(_PLAIN)
    return text.encode("ascii", "backslashreplace").decode("ascii"), error.end


def _about(arguments: list[str]) -> str:
    """Return the help or the version if asked for, or the help without any argument."""
    if not arguments or {"--help", "-h"} & set(arguments):
        return _help()
    if "--version" not in arguments:
        return ""
    from polbayes import __version__

    return f"polbayes {__version__}"


def _complete(flag: str, word: str) -> int:
    """Print what a word may become, or what makes a shell ask for it."""
    from polbayes.config.completion import candidates, script

    for line in candidates(word) if flag == "--complete" else [script(word)]:
        print(line)
    return 0


def _tell(error: UserError, command: Sequence[str]) -> int:
    print(f"error: {error.told(command)}", file=sys.stderr)
    return 2


def _run(arguments: list[str], mode: Mode) -> int:
    overrides, config_dir, show = _split(arguments)
    from polbayes.config.compose import compose

    config, text = compose(overrides, config_dir)
    if show:
        print(text, end="")
        return 0
    from polbayes.config.tasks import Call, answer_of

    said = answer_of(Call(config, text, overrides, config_dir))
    if mode == "json":
        tell("result", task=config.task, **({} if said is None else said.facts))
    elif said is not None:
        print(said)
    return 0


def _mode(arguments: list[str]) -> tuple[Mode, list[str]]:
    """Separate how much is to be said from the rest."""
    given = {_MODES[one] for one in arguments if one in _MODES}
    if len(given) > 1:
        raise UserError(f"--{' and --'.join(sorted(given))} exclude each other; choose one.")
    return next(iter(given), "normal"), [one for one in arguments if one not in _MODES]


def _split(arguments: list[str]) -> tuple[list[str], str | None, bool]:
    """Separate flags from Hydra overrides."""
    overrides: list[str] = []
    config_dir, show = None, False
    rest = iter(arguments)
    for argument in rest:
        if argument == "--cfg":
            show = True
        elif argument == "--config-dir":
            config_dir = next(rest, None)
            if config_dir is None:
                raise UserError("--config-dir: name a folder after it.")
        elif argument.startswith("--config-dir="):
            config_dir = argument.partition("=")[2]
        elif argument.startswith("-"):
            raise UserError(f"unknown option '{argument}'; see polbayes --help.")
        elif "=" not in argument and not argument.startswith("~"):
            raise UserError(f"'{argument}' is not of the form KEY=VALUE; see polbayes --help.")
        else:
            overrides.append(argument)
    return overrides, config_dir, show


def _help() -> str:
    from polbayes.config.compose import experiments
    from polbayes.config.resources import folder
    from polbayes.config.tasks import TASKS

    lines = [f"  {name:<17} {text}" for name, text in experiments().items()]
    tasks = [_entry(task.usage, task.help) for task in TASKS.values() if task.usage]
    analyses = sorted(p.stem for p in (folder("conf") / "analysis").glob("*.yaml"))
    return _USAGE.format(
        experiments="\n".join(lines), analyses=", ".join(analyses), tasks="\n".join(tasks)
    )


def _entry(usage: str, text: str) -> str:
    """Return a line of the help, or two where the first has no room."""
    if len(usage) > _COLUMN - 4:
        return f"  {usage}\n{' ' * _COLUMN}{text}"
    return f"  {usage:<{_COLUMN - 2}}{text}"
