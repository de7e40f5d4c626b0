"""The state of a training on disk, from which an interrupted one continues."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polbayes.data.files import replacing

STATE = "state.pt"


@dataclass
class Look:
    """An evaluation on the validation answers."""

    step: int
    loss: float  # mean minus log probability of the labels
    accuracy: float  # share whose likeliest class is the label


@dataclass
class State:
    """The progress of a training."""

    step: int = 0
    looks: list[Look] = field(default_factory=list)
    # Weights at the evaluation with the smallest loss, on the CPU.
    best: dict[str, Any] | None = None
    # State to continue from; None at the start.
    network: dict[str, Any] | None = None
    optimiser: dict[str, Any] | None = None

    @property
    def best_look(self) -> Look | None:
        """The first evaluation with the smallest loss."""
        return min(self.looks, key=lambda look: look.loss) if self.looks else None


def write_state(folder: Path, state: State, identity: str) -> None:
    """Write a state atomically."""
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
        # Tensors and numbers only: no code in the file is run.
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
