"""Dense Adam for a model whose embedding moves few rows a step, and a running average of the weights.

A fresh dense gradient for fifty thousand words costs more than the rest of the update. Here the gradient of an
embedding comes as rows; they are laid into a buffer that lives as long as the optimiser, and only what the last step
wrote there is set to zero.
The update is dense Adam's, to the bit: rows that are absent keep moving by their momentum, which `SparseAdam` forgets.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor


class Adam(torch.optim.Adam):
    """Adam with one fused kernel, for dense gradients and for gradients given as rows."""

    def __init__(self, parameters: list[torch.nn.Parameter], learning_rate: float) -> None:
        super().__init__(parameters, lr=learning_rate, fused=True)
        self._buffers: dict[torch.nn.Parameter, tuple[Tensor, Tensor]] = {}  # the gradient, and the rows that are not 0

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None and parameter.grad.is_sparse:
                    parameter.grad = self._laid_out(parameter)
        return super().step(closure)

    def _laid_out(self, parameter: torch.nn.Parameter) -> Tensor:
        """The rows of a gradient among zeros."""
        gradient = parameter.grad.coalesce()  # type: ignore[union-attr]
        rows = gradient.indices()[0]
        if parameter in self._buffers:
            buffer, written = self._buffers[parameter]
            buffer.index_fill_(0, written, 0)
        else:
            buffer = torch.zeros_like(parameter)
        buffer.index_copy_(0, rows, gradient.values())
        self._buffers[parameter] = buffer, rows
        return buffer


class Average:
    """An exponential average of weights over batches. In a young model it moves by 10 / (t + 10) in batch t.

    After the first batches only every few are looked at, each for as many: to read all weights of a large model costs
    as much as to change them.
    """

    def __init__(self, parameters: list[torch.nn.Parameter], decay: float) -> None:
        self.decay, self.batches = decay, 0
        self._parameters = parameters if decay else []
        self.weights = [parameter.detach().clone() for parameter in self._parameters]

    def follow(self) -> None:
        """After a batch."""
        self.batches += 1
        every = 1 if self.batches <= _YOUNG else _FOLLOWED
        if self.weights and self.batches % every == 0:
            rate = max(1 - self.decay, 10 / (self.batches + 10))
            weights = [parameter.detach() for parameter in self._parameters]
            torch._foreach_lerp_(self.weights, weights, 1 - (1 - rate) ** every)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """The model with its average weights, for as long as it lasts."""
        self._exchange()
        try:
            yield
        finally:
            self._exchange()

    def _exchange(self) -> None:
        for weight, parameter in zip(self.weights, self._parameters, strict=True):
            own = parameter.detach().clone()
            parameter.detach().copy_(weight)
            weight.copy_(own)


_YOUNG, _FOLLOWED = 100, 4  # batches
