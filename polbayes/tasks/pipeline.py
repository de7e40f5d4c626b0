"""The tasks of the pipeline: running it, and describing what it would do."""

from pathlib import Path

from polbayes.config.tasks import Answer, Call, Task


def _run(call: Call) -> Answer | None:
    from polbayes.run.finished import answer_of_folder
    from polbayes.run.run import run

    run(call.config, call.text, command=call.command)
    if "report" not in call.config.stages:
        return None
    return answer_of_folder(Path(call.config.run_dir).expanduser())


def _dry_run(call: Call) -> str:
    from polbayes.run.pipeline import pipeline_of

    return pipeline_of(call.config).dry_run(call.config)


def _explain(call: Call) -> str:
    from polbayes.run.plan import explain

    return explain(call.config)


def _prior(call: Call) -> str:
    from polbayes.run.plan import prior

    return prior(call.config)


RUN = Task(_run, "", "run the experiment", judged=True)
DRY_RUN = Task(_dry_run, "task=dry_run", "show prompts, counts and costs, ask nothing", judged=True)
EXPLAIN = Task(_explain, "task=explain", "print the model's equation and priors")
PRIOR = Task(_prior, "task=prior", "print what the priors expect of the answers")
