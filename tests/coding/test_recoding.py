"""Coding stored answers again, and taking over the answers of another run."""

import json
import shutil

import numpy as np
import pytest

from polbayes.cli import _main
from polbayes.coding.checkpoint_coder import CheckpointCoder
from polbayes.data.dataset import open_responses

SMALL = [
    "+experiment=wvs_prefixes",
    "respondents=simulated",
    "models=[left,right]",
    "items=[wvs-01,wvs-14]",
    "prefixes.only=[baseline,likert]",
    "elicitation.runs=2",
    "measures.bootstrap=100",
    "seed=3",
]
LABELS = ("agree", "disagree", "neutral")
TWO = "stages=[probe,code]"


@pytest.fixture
def called(tmp_path, monkeypatch, capsys):
    """Run the small experiment in a folder: exit code and what was said."""
    monkeypatch.chdir(tmp_path)

    def call(folder, *more):
        capsys.readouterr()
        code = _main([*SMALL, f"run_dir={folder}", *more])
        return code, capsys.readouterr().err

    return call


@pytest.fixture
def trained(classifier_checkpoint, tmp_path):
    """Return overrides that code with a checkpoint after the rule, and its folder."""
    path = shutil.copytree(classifier_checkpoint("bert", LABELS), tmp_path / "checkpoint")
    return [
        "coding.coders=[likert,trained]",
        "+coding.models.trained.kind=classifier",
        f"+coding.models.trained.checkpoint={path}",
        "+coding.models.trained.device=cpu",
        "+coding.models.trained.batch_size=4",
    ], path


@pytest.fixture
def read(monkeypatch):
    """Collect the answers that checkpoints read; `read.stop` is how many they are to read."""

    class Read(list):
        stop = 10**9

    found = Read()
    original = CheckpointCoder._records

    def records(self, batch):
        if len(found) >= found.stop:
            raise KeyboardInterrupt
        found.extend(pair for pair, _ in batch)
        return original(self, batch)

    monkeypatch.setattr(CheckpointCoder, "_records", records)
    return found


@pytest.fixture
def asked(monkeypatch):
    """Collect the respondents that are opened to be asked."""
    from polbayes.probing import work

    found = []
    original = work.open_respondent

    def opened(name, *arguments, **more):
        found.append(name)
        return original(name, *arguments, **more)

    monkeypatch.setattr(work, "open_respondent", opened)
    return found


def coders(folder):
    data = open_responses(folder)
    names = data["coder"].attrs["flag_meanings"].split()
    codes = data["coder"].attrs["flag_values"].tolist()
    return {names[codes.index(code)] for code in np.unique(data["coder"].values)}


def completions(folder):
    return open_responses(folder)["completion"].values.ravel().tolist()


def test_other_coders_need_no_new_answers(called, trained, asked, read, tmp_path):
    overrides, _ = trained
    folder = tmp_path / "run"
    code, said = called(folder, TWO, "coding.coders=[likert,lexical]")
    assert code == 0, said
    assert "code: answers by what decided: " in said
    assert "likert 24, lexical 2" in said
    assert asked == ["left", "right"]
    before = completions(folder)
    stamp = (folder / "journal" / "left.jsonl").stat().st_mtime_ns

    code, said = called(folder, *overrides)
    assert code == 2
    assert "coding.coders=['likert', 'lexical'], not ['likert', 'trained']" in said
    assert "add stages=[code,measure,fit,report] to replace that part of the results" in said
    code, said = called(folder, *overrides, "stages=[code,measure]")
    assert code == 0, said
    assert [line.split(":")[0] for line in said.splitlines() if "done in" in line] == [
        "code",
        "measure",
    ]
    assert asked == ["left", "right"]
    assert (folder / "journal" / "left.jsonl").stat().st_mtime_ns == stamp
    assert completions(folder) == before
    assert coders(folder) == {"likert", "trained"}
    assert len(read) == len(set(read)) > 0
    record = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    counts = record["stages"]["code"]["answers_by_coder"]
    assert set(counts) == {"likert", "trained"}
    assert sum(counts.values()) == len(before)

    # There and back again: what the checkpoint read is still known.
    many = len(read)
    assert called(folder, "stages=[code]", "coding.coders=[likert,lexical]")[0] == 0
    assert "lexical" in coders(folder)
    assert called(folder, *overrides, "stages=[code]")[0] == 0
    assert coders(folder) == {"likert", "trained"}
    assert len(read) == many


def test_interrupted_coding_goes_on_where_it_stopped(called, trained, asked, read, tmp_path):
    overrides, _ = trained
    whole = tmp_path / "whole"
    overrides = [*overrides, "elicitation.runs=4"]
    assert called(whole, TWO, *overrides)[0] == 0
    every = list(read)
    read.clear()
    read.stop = len(every) // 2
    folder = tmp_path / "run"
    code, said = called(folder, TWO, *overrides)
    assert code == 130
    assert "the same command resumes from there" in said
    assert len(every) // 2 <= len(read) < len(every)
    read.stop = 10**9
    code, said = called(folder, TWO, *overrides)
    assert code == 0, said
    assert sorted(read) == sorted(every)
    found, expected = (open_responses(x)["stance_prob"].values for x in (folder, whole))
    np.testing.assert_allclose(found, expected, atol=2e-6)
    assert asked == ["left", "right"] * 2


def test_a_checkpoint_that_was_trained_again_reads_again(called, trained, read, tmp_path):
    overrides, path = trained
    assert called(tmp_path / "run", TWO, *overrides)[0] == 0
    many = len(read)
    assert "nothing to do" in called(tmp_path / "run", TWO, *overrides)[1]
    weights = bytearray((path / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (path / "model.safetensors").write_bytes(weights)
    code, said = called(tmp_path / "run", TWO, *overrides)
    assert code == 0
    assert "probe: done" not in said
    assert len(read) == 2 * many


def test_the_answers_of_another_run_are_taken_over(called, trained, asked, read, tmp_path):
    overrides, _ = trained
    first = tmp_path / "first"
    assert called(first, TWO, *overrides)[0] == 0
    many = len(read)
    asked.clear()
    second = tmp_path / "second"
    code, said = called(second, TWO, *overrides, f"answers_from={first}", "coding.coders=[trained]")
    assert code == 0, said
    assert asked == []
    assert completions(second) == completions(first)
    # Numbers are now read by the checkpoint too; the rest was read in the first run.
    numbers = [text for _, text in read[many:]]
    assert 0 < len(numbers) <= 6 * 5
    assert all(text.strip() in "12345" for text in numbers)
    # Who was not asked there is asked here.
    third = tmp_path / "third"
    more = [f"answers_from={first}", "models=[left,right,yes_sayer]", "coding.coders=[lexical]"]
    code, said = called(third, TWO, *more)
    assert code == 0, said
    assert asked == ["yes_sayer"]
    assert sorted(path.name for path in (third / "journal").glob("*.jsonl")) == [
        "left.jsonl",
        "right.jsonl",
        "yes_sayer.jsonl",
    ]
    assert "nothing to do" in called(third, TWO, *more[1:])[1]  # which is no part of the results


@pytest.mark.parametrize(
    ("overrides", "says"),
    [
        (["seed=4"], "was made under other settings: seed was 3 and is 4; go back to those"),
        (["answers_from=nowhere"], "answers_from: nowhere is not the folder of a run that asked"),
    ],
)
def test_answers_that_cannot_be_taken_over(called, tmp_path, overrides, says):
    first, second = tmp_path / "first", tmp_path / "second"
    assert called(first, "stages=[probe]")[0] == 0
    code, said = called(second, TWO, f"answers_from={first}", *overrides)
    assert code == 2
    assert says in said
    assert said.splitlines()[-1].startswith("error: ")
    assert not list(second.glob("journal/*"))


def test_bad_declarations_are_found_before_anybody_is_asked(called, asked, tmp_path):
    code, said = called(
        tmp_path / "run", "coding.coders=[nli]", "+coding.models.nli.checkpoint=./nowhere"
    )
    assert code == 2
    assert said == "error: coding.models.nli: checkpoint: there is no folder './nowhere'.\n"
    assert asked == []
    assert not (tmp_path / "run").exists()
