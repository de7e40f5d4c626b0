"""A model on this machine whose process is killed while it answers, at random moments."""

import json
import multiprocessing
import random
import time

import numpy as np
import pytest

from polbayes.config.schema import ElicitationConfig, RespondentConfig
from polbayes.data.dataset import STATUS, to_frame
from polbayes.instrument.design import design
from polbayes.instrument.prompts import Lexicon, Prefix, load_template
from polbayes.instrument.questionnaires import Instrument, Item, Variant
from polbayes.probing.journal import Journal, cell_of, journal_path, read
from polbayes.probing.probe import probe
from polbayes.respondents import describe

ELICITATION = ElicitationConfig(kind="forced_choice", template="haller", lexicon="yn", batch_size=8)
YES_NO = Lexicon("yn", ("yes", "no"), (1, -1))
PREFIXES = tuple(Prefix(f"p{n}", f"Way {n}." if n else "", "open") for n in range(5))
CELLS = 20 * 30 * 5
# What opening a model would import in each process.
PRELOADED = (
    *("torch", "torch._dynamo", "safetensors.torch", "xarray", "netCDF4", "pandas"),
    *("transformers.models.gpt2.modeling_gpt2", "transformers.models.auto.modeling_auto"),
    *("transformers.models.auto.tokenization_auto", "transformers.generation.utils"),
)


def asked(folder, checkpoint):
    items = tuple(
        Item(
            f"i{n}",
            "economic",
            1,
            "s",
            tuple(Variant(f"v{k}", f"Say {n} and {k}.", "paraphrase", 1) for k in range(30)),
            {},
        )
        for n in range(20)
    )
    config = RespondentConfig(backend="causal", checkpoint=str(checkpoint), device="cpu")
    info = describe("m", config, load_template("haller"))
    return probe(
        design([Instrument("tiny", "Tiny", "us", items)], PREFIXES, [info]),
        {"m": config},
        elicitation=ELICITATION,
        lexicon=YES_NO,
        prefixes=PREFIXES,
        seed=1,
        journal_dir=folder,
        progress=False,
    )


def _child(folder, checkpoint, said):
    """Ask, and say of every record that it is written down as soon as the journal says so."""
    import torch

    torch.set_num_threads(1)
    extend = Journal.extend

    def telling(self, records):
        records = list(records)
        extend(self, records)
        for record in records:
            if "cell" in record:
                said.send_bytes(json.dumps(record["cell"]).encode())

    Journal.extend = telling
    asked(folder, checkpoint)


def told(pipe):
    """Return the cells of which a process has said that they are written down."""
    cells = set()
    try:
        while pipe.poll():
            item, variant, prefix, run = json.loads(pipe.recv_bytes())
            cells.add((item, variant, prefix, run))
    except EOFError:
        pass
    return cells


def killed(context, folder, checkpoint, bytes_more, seconds):
    """Start to ask, kill the process after so much more was written, and return what it said."""
    path, (pipe, said) = journal_path(folder, "m"), context.Pipe(duplex=False)
    begun = path.stat().st_size if path.is_file() else 0
    process = context.Process(target=_child, args=(folder, checkpoint, said))
    process.start()
    said.close()
    until, cells = time.monotonic() + 60, set()
    while process.is_alive() and time.monotonic() < until:
        cells |= told(pipe)
        if path.is_file() and path.stat().st_size - begun >= bytes_more:
            break
        time.sleep(0.0005)
    time.sleep(seconds)
    process.kill()
    process.join()
    assert process.exitcode == -9
    return cells | told(pipe)


@pytest.mark.slow
@pytest.mark.parametrize("kills", [10, pytest.param(100, marks=pytest.mark.long)])
def test_kills_of_a_local_model_lose_nothing(causal_checkpoint, tmp_path, kills):
    checkpoint = causal_checkpoint("gpt2-bytes-right").path
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, *PRELOADED])
    moments, acknowledged = random.Random(5), set()
    folder, path = tmp_path / "journal", journal_path(tmp_path / "journal", "m")
    for _ in range(kills):
        # A line has about 75 bytes: at most some 30 cells, and whatever the last moment adds.
        more = moments.choice([0, 1, moments.randrange(2200)])
        acknowledged |= killed(context, folder, checkpoint, more, moments.uniform(0, 0.01))
        kept = [cell_of(record) for record in read(path) if "cell" in record]
        assert acknowledged <= set(kept)
        assert len(kept) == len(set(kept)) < CELLS
    assert len(acknowledged) > kills
    data = asked(folder, checkpoint)
    assert len(to_frame(data)) == CELLS
    assert (to_frame(data)["status"] == STATUS["ok"]).all()
    assert path.read_bytes().count(b'"cell"') == CELLS
    whole = asked(tmp_path / "whole", checkpoint)
    for name in ("p_agree", "p_disagree"):
        np.testing.assert_allclose(data[name], whole[name], atol=1e-6)
