"""The command line: `python -m polbayes +experiment=NAME [key=value ...]`."""

import os
import sys
from collections.abc import Sequence

from polbayes.errors import UserError

_USAGE = """\
polbayes measures the political leaning of language models.

usage: polbayes +experiment=NAME [KEY=VALUE ...] [--config-dir DIR]
       polbayes +experiment=NAME --cfg     print the config and stop
       polbayes task=compare runs=[FOLDER,FOLDER]
       polbayes --help | --version

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
  task=dry_run              show prompts, counts and costs, ask nothing
  task=explain              print the model's equation and priors
  task=prior                print what the priors expect of the answers
  task=compare_specs specs=[ideology,mine]
                            compare models of a finished run by how well they predict
  task=compare runs=[A,B]   compare finished runs by their folders
  task=annotate run_dir=FOLDER
                            draw a sample of a run's answers for annotators
  task=train_coder run_dir=FOLDER
                            train a classifier on what was annotated
  task=validate_coder run_dir=FOLDER
                            say how well coders read what was annotated
  task=inspect run_dir=FOLDER inspect.models=[left] inspect.status=[error]
                            show single answers of a run, finished or under way
  task=watch run_dir=FOLDER
                            show how far a run is that goes on elsewhere
  launcher=ray launcher.shards=8
                            ask in several places at once (processes, ray, slurm)
  task=paraphrase paraphrase=haller name=NAME instruments=[pct]
                            have wordings of the statements made, cleaned and checked
  task=ablate               answer and read a design in several ways, and compare
  wordings=[outputs/NAME/wordings.parquet]
                            ask these wordings, too

Everything in conf/ can be overridden in this way; --config-dir adds a folder of your own
configs, laid out like conf/. Running a command again resumes it, or does nothing when it is
finished."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit.

    Parameters
    ----------
    arguments
        Without the program's name; those of the process by default.
    """
    sys.exit(_main(list(sys.argv[1:] if arguments is None else arguments)))


def _main(arguments: list[str]) -> int:
    if not arguments or {"--help", "-h"} & set(arguments):
        print(_help())
        return 0 if arguments else 2
    if "--version" in arguments:
        from polbayes import __version__

        print(f"polbayes {__version__}")
        return 0
    try:
        return _run(arguments)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(
            "\ninterrupted: answers given so far are kept; the same command goes on from there.",
            file=sys.stderr,
        )
        return 130
    except BrokenPipeError:
        # The reader of our output has gone; there is nobody left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _run(arguments: list[str]) -> int:
    overrides, config_dir, show = _split(arguments)
    from polbayes.compose import compose

    config, text = compose(overrides, config_dir)
    if show:
        print(text, end="")
        return 0
    from polbayes import plan, run

    command = ["polbayes", *overrides]
    if config_dir:
        command += ["--config-dir", config_dir]
    if config.task == "explain":
        print(plan.explain(config))
    elif config.task == "prior":
        print(plan.prior(config))
    elif config.task == "dry_run":
        print(plan.dry_run(config))
    elif config.task == "compare_specs":
        from polbayes.spec_comparison import compare_specs_of_run

        print(compare_specs_of_run(config, text, overrides, config_dir))
    elif config.task == "compare":
        from polbayes.compare.task import compare

        compare(config, command=command)
    elif config.task == "annotate":
        from polbayes.annotation.task import annotate

        annotate(config)
    elif config.task == "train_coder":
        from polbayes.training.task import train_coder

        train_coder(config, command=command)
    elif config.task == "validate_coder":
        from polbayes.validation.task import validate_coder

        validate_coder(config, text, command=command)
    elif config.task == "inspect":
        from polbayes.inspection.task import inspect

        inspect(config)
    elif config.task == "watch":
        from polbayes.watch import watch

        watch(config)
    elif config.task == "paraphrase":
        from polbayes.paraphrasing.task import paraphrase

        paraphrase(config, text, command=command)
    elif config.task == "ablate":
        from polbayes.ablation.task import ablate

        ablate(config, text, command=command)
    else:
        run.run(config, text, command=command)
    return 0


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
    from polbayes.compose import experiments
    from polbayes.resources import folder

    lines = [f"  {name:<17} {text}" for name, text in experiments().items()]
    analyses = sorted(p.stem for p in (folder("conf") / "analysis").glob("*.yaml"))
    return _USAGE.format(experiments="\n".join(lines), analyses=", ".join(analyses))
