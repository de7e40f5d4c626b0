"""The training loop: batches, learning rate, evaluations, stopping.

This is a plain loop instead of transformers' Trainer, which would need another package (accelerate)
for what is a page here, and does not support answers read in several windows. The input of a step
depends only on the seed and the step's number, so an interrupted training ends with the same
weights as an uninterrupted one.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from polbayes.config.schema import TrainingConfig
from polbayes.data.progress import progress_bar, say
from polbayes.data.prose import plural
from polbayes.errors import UserError
from polbayes.fit.sampling.interruption import postponed
from polbayes.huggingface.encoding import Encoder
from polbayes.measures.resampling import generator
from polbayes.tasks.training.schedule import Answer, class_weights, groups, rate
from polbayes.tasks.training.settings import SECTION, steps_per_epoch, total_steps
from polbayes.tasks.training.state import Look, State

if TYPE_CHECKING:
    import torch

_LOOK_BATCH = 16


class Training:
    """A network during training.

    `state` is where to continue; `seed` determines the order of the answers and dropout.
    """

    def __init__(
        self,
        network: Any,
        encoder: Encoder,
        answers: Sequence[Answer],
        validation: Sequence[Answer],
        *,
        settings: TrainingConfig,
        seed: int,
        state: State | None = None,
    ) -> None:
        import torch

        self.network = network
        self.state = state or State()
        self.total = total_steps(settings, len(answers))
        self._encoder = encoder
        self._answers = answers
        self._validation = validation
        self._settings = settings
        self._seed = seed
        self._orders: dict[int, np.ndarray] = {}
        self._weights = torch.tensor(class_weights(answers, network.config.num_labels, settings))
        self._optimiser = torch.optim.AdamW(
            groups(network, settings.weight_decay),
            lr=settings.learning_rate,
            betas=(settings.beta1, settings.beta2),
            eps=settings.epsilon,
        )
        if self.state.network is not None and self.state.optimiser is not None:
            network.load_state_dict(self.state.network)
            self._optimiser.load_state_dict(self.state.optimiser)
            self.state.network = self.state.optimiser = None

    @property
    def is_over(self) -> bool:
        """Whether all steps are done, or training has stopped early."""
        return self.state.step >= self.total or self.stopped_early

    @property
    def stopped_early(self) -> bool:
        """Whether patience allows no further evaluation since the best one."""
        best, patience = self.state.best_look, self._settings.patience
        if best is None or patience is None:
            return False
        return sum(look.step > best.step for look in self.state.looks) >= patience

    def run(self, keep: Callable[[State], None] | None = None) -> None:
        """Train to the end, and restore the best weights."""
        import torch

        at_rest = True
        bar = progress_bar("train_coder", total=self.total, done=self.state.step, unit="step")
        with torch.random.fork_rng(devices=[]), bar:
            try:
                while not self.is_over:
                    at_rest = False
                    with postponed():
                        loss = self._step()
                        at_rest = True
                    bar.set_postfix(loss=f"{loss:.3f}", refresh=False)
                    bar.update()
                    if self._is_due() and not self.is_over:
                        self._keep(keep)
            except KeyboardInterrupt:
                # Within a step the weights are in between.
                if at_rest:
                    self._keep(keep)
                raise
        if self.state.best is not None:
            self.network.load_state_dict(self.state.best)
        self.network.eval()

    def _step(self) -> float:
        """Train on one batch, and evaluate if due."""
        import torch

        step, settings = self.state.step, self._settings
        batch = self._batch(step)
        torch.manual_seed(int(generator(self._seed, "training", "step", step).integers(2**62)))
        for group in self._optimiser.param_groups:
            group["lr"] = settings.learning_rate * rate(step, settings.warmup_steps, self.total)
        self.network.train()
        with _memory(len(batch)):
            labels = torch.tensor([answer.label for answer in batch])
            logs = self._log_probs(batch)
            losses = -logs[torch.arange(len(batch)), labels.to(logs.device)]
            loss: Any = (losses * self._weights[labels].to(logs.device)).mean()
            value = float(loss.item())
            if not np.isfinite(value):
                raise UserError(
                    f"{SECTION}: the loss is no number at step {step + 1}; a smaller "
                    f"{SECTION}.learning_rate or dtype=float32 may help."
                )
            self._optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), settings.max_gradient_norm)
            self._optimiser.step()
        self.state.step = step + 1
        if self._is_due() and self._validation:
            self._look()
        return value

    def _is_due(self) -> bool:
        step = self.state.step
        return step % self._settings.evaluate_every == 0 or step == self.total

    def _look(self) -> None:
        probs = self.probabilities(self._validation)
        labels = np.array([answer.label for answer in self._validation])
        own = np.maximum(probs[np.arange(len(labels)), labels], 1e-300)
        right = float((probs.argmax(axis=1) == labels).mean())
        look = Look(self.state.step, float(-np.log(own).mean()), right)
        self.state.looks.append(look)
        if self.state.best_look is look:
            self.state.best = _copied(self.network)
        with _above_bar():
            say(
                f"train_coder: step {look.step} of {self.total}: validation loss {look.loss:.4f}, "
                f"right {look.accuracy:.3f}"
                f"{' (the best so far)' if self.state.best_look is look else ''}"
            )

    def probabilities(self, answers: Sequence[Answer]) -> np.ndarray:
        """Return uncalibrated probabilities (answer, label), as the coder reads them."""
        import torch

        self.network.eval()
        out = np.empty((len(answers), self.network.config.num_labels))
        size = max(_LOOK_BATCH, self._settings.batch_size)
        order = sorted(range(len(answers)), key=lambda k: -len(answers[k].windows[0]["input_ids"]))
        for start in range(0, len(order), size):
            rows = order[start : start + size]
            with torch.no_grad(), _memory(len(rows)):
                out[rows] = self._log_probs([answers[k] for k in rows]).double().exp().cpu()
        return out

    def _log_probs(self, batch: Sequence[Answer]) -> "torch.Tensor":
        """Return logs of the mean probabilities over the windows (answer, label)."""
        import torch

        inputs = self._encoder.batch([w for answer in batch for w in answer.windows])
        device = self.network.device
        # Coding uses float32, and so does its evaluation.
        mixed = self._settings.dtype == "bfloat16" and self.network.training
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=mixed):
            logits = self.network(**{k: v.to(device) for k, v in inputs.items()}).logits
        logs = torch.log_softmax(logits.float(), dim=-1)
        sizes = [len(answer.windows) for answer in batch]
        parts = [part.logsumexp(0) - np.log(len(part)) for part in logs.split(sizes)]
        return torch.stack(parts)

    def _batch(self, step: int) -> list[Answer]:
        """Return the answers of a step: each once an epoch, in a new order."""
        size = self._settings.batch_size
        epoch, at = divmod(step, steps_per_epoch(self._settings, len(self._answers)))
        if epoch not in self._orders:
            rng = generator(self._seed, "training", "epoch", epoch)
            self._orders = {epoch: rng.permutation(len(self._answers))}
        return [self._answers[k] for k in self._orders[epoch][at * size : (at + 1) * size]]

    def _keep(self, keep: Callable[[State], None] | None) -> None:
        if keep is None:
            return
        with postponed():
            self.state.network = self.network.state_dict()
            self.state.optimiser = self._optimiser.state_dict()
            keep(self.state)
            self.state.network = self.state.optimiser = None


def _copied(network: Any) -> dict[str, Any]:
    return {k: v.detach().to("cpu", copy=True) for k, v in network.state_dict().items()}


@contextmanager
def _memory(n: int) -> Iterator[None]:
    """Turn an out-of-memory error into a sentence."""
    import torch

    try:
        yield
    except torch.OutOfMemoryError as error:
        raise UserError(
            f"{SECTION}: memory does not suffice for {plural(n, 'answer')} at once; a smaller "
            f"{SECTION}.batch_size or {SECTION}.max_length takes less."
        ) from error


@contextmanager
def _above_bar() -> Iterator[None]:
    from tqdm import tqdm

    with tqdm.external_write_mode(file=sys.stderr):
        yield
