"""The state of a training on disk, so that an interrupted one goes on where it was."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polbayes.data.files import replacing

STATE = "state.pt"


@dataclass
class Look:
    """What was seen of the validation answers after some steps."""

    step: int
    loss: float  # mean minus log probability of the labels
    accuracy: float  # share whose likeliest class is the label


@dataclass
class State:
    """Where a training is."""

    step: int = 0
    looks: list[Look] = field(default_factory=list)
    # Weights at the look with the smallest loss, on the processor.
    best: dict[str, Any] | None = None
    # Where the training is to go on from here; None at the start.
    network: dict[str, Any] | None = None
    optimiser: dict[str, Any] | None = None

    @property
    def best_look(self) -> Look | None:
        """The first look with the smallest loss."""
        return min(self.looks, key=lambda look: look.loss) if self.looks else None


def write_state(folder: Path, state: State, identity: str) -> None:
    """Write a state, whole or not at all."""
    import torch

    content = {
        "identity": identity,
        "step": state.step,
        "looks": [[look.step, look.loss, look.accuracy] for look in state.looks],
        "best": state.best,
        "network": state.network,
        "optimiser": state.optimiser,
    }
    with replacing(folder / STATE) as temporary:
        torch.save(content, temporary)


def read_state(folder: Path, identity: str) -> State:
    """Read the state of a training."""
    import torch

    try:
        # Tensors and numbers only: nothing in the file is run.
        content = torch.load(folder / STATE, map_location="cpu", weights_only=True)
        if content["identity"] != identity:
            return State()
        return State(
            content["step"],
            [Look(*look) for look in content["looks"]],
            content["best"],
            content["network"],
            content["optimiser"],
        )
    except Exception:  # whatever a damaged file makes of torch's reader
        return State()
