"""A fit that is followed while it goes."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepnmf.cli.choosing import is_about_parameters, name_of
from deepnmf.cli.failing import Exit, Failure, in_one_line

if TYPE_CHECKING:
    from deepnmf.arrays import Array
    from deepnmf.cli.telling import Voice
    from deepnmf.reading import Dataset


@dataclass(frozen=True)
class Fit:
    """A model and the seconds that it took."""

    model: Any
    seconds: float

    @property
    def interrupted(self) -> bool:
        """Whether the user ended it."""
        return bool(self.model.stop_reason_ == "interrupted")

    @property
    def name(self) -> str:
        """The model's name as it is typed."""
        return name_of(type(self.model))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sizes of the layers, from the data upwards."""
        return tuple(len(features) for features in self.model.features_)

    def in_words(self) -> str:
        """One sentence."""
        ending = {"max_iter": "max_iter was reached", "interrupted": "interrupted"}.get(
            self.model.stop_reason_, "converged"
        )
        layers = ",".join(map(str, self.sizes))
        n_iter = self.model.n_iter_
        sweeps = "1 sweep" if n_iter == 1 else f"{n_iter} sweeps"
        return f"{self.name} with layers {layers}: {sweeps} in {self.seconds:.1f} s, {ending}.{self._dead()}"

    def _dead(self) -> str:
        """Say how many features nothing was left for, where there are any."""
        dead = self.model.n_dead_
        return f" Features that nothing was left for, by layer: {','.join(map(str, dead))}." if any(dead) else ""


def fitted(model: Any, data: "Dataset", voice: "Voice", checkpoint: Path | None = None) -> Fit:
    """Fit and tell of it; go on from a checkpoint where there is one."""
    began = time.perf_counter()
    with _suiting(model), voice.fitting(name_of(type(model)), model.max_iter) as on_sweep:
        model.fit(data.X, data.y, on_sweep=on_sweep, checkpoint=checkpoint, **_groups(model.fit, data))
    return Fit(model, time.perf_counter() - began)


def encoded(model: Any, data: "Dataset", layer: int) -> "Array":
    """Codes of a layer, pooled within the recordings where the model pools."""
    with _suiting(model):
        return model.encode(data.X, layer, **_groups(model.encode, data))


@contextmanager
def _suiting(model: Any) -> Iterator[None]:
    """Errors of the library are about its parameters, which is wrong usage, or else about the data."""
    try:
        yield
    except (ValueError, TypeError) as error:
        code = Exit.USAGE if is_about_parameters(error, model) else Exit.UNSUITABLE
        raise Failure(in_one_line(error), code) from error
    except MemoryError as error:
        raise Failure(f"The data need more memory than there is: {in_one_line(error)}.", Exit.UNSUITABLE) from error


def _groups(method: Any, data: "Dataset") -> dict[str, Any]:
    return {"groups": data.groups} if "groups" in signature(method).parameters else {}
