# SPDX-License-Identifier: Apache-2.0
"""The options of `stretto train` that do not depend on where the training runs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from stretto.spec.native import NATIVE
from stretto.support.errors import StrettoError
from stretto_research.networks.architectures import ARCHITECTURES, Architecture
from stretto_research.training import lines
from stretto_research.workers.options import Options


class Framework(StrEnum):
    """The framework that trains."""

    TENSORFLOW = "tensorflow"
    PYTORCH = "pytorch"


class Data(StrEnum):
    """The images."""

    IMAGENET = "synthetic-imagenet"
    CIFAR10 = "synthetic-cifar10"
    DIGITS = "digits"


class Compression(StrEnum):
    """The compression of gradients in messages."""

    NONE = "none"
    FP16 = "fp16"
    BF16 = "bf16"


class Backend(StrEnum):
    """The backend of torch.distributed."""

    STRETTO = "stretto"
    GLOO = "gloo"


@dataclass(frozen=True, slots=True)
class Request:
    """A training to measure. Raises StrettoError for a combination that does not exist."""

    model: str
    framework: Framework
    data: Data | None
    """None stands for the images that the network is made for."""
    batch: int
    steps: int
    rounds: int
    specs: str
    without_stretto: bool
    compression: Compression
    backend: Backend
    compute_steps: int
    threads: int | None
    """None stands for a share of the cores."""
    seed: int
    learning_rate: float

    def __post_init__(self) -> None:
        if self.model not in ARCHITECTURES:
            raise StrettoError(
                f"--model {self.model}: there is no such network; choose from {', '.join(ARCHITECTURES)}"
            )
        if self.compression == Compression.BF16 and self.framework == Framework.TENSORFLOW:
            raise StrettoError(
                "--compression bf16: Horovod has only none and fp16; give one of them or --framework pytorch"
            )
        is_pytorch = self.framework == Framework.PYTORCH
        if self.without_stretto and is_pytorch and self.backend == Backend.STRETTO:
            raise StrettoError(
                "--without-stretto: PyTorch reaches MPI through Stretto's backend; give --backend gloo"
            )

    @property
    def architecture(self) -> Architecture:
        """The network."""
        return ARCHITECTURES[self.model]()

    @property
    def uses_stretto(self) -> bool:
        """Whether the job has Stretto in it."""
        return not self.without_stretto and self.backend != Backend.GLOO

    def lines(self) -> list[str]:
        """Returns the specs to measure; only `native` if the job runs without Stretto."""
        return lines.parse(self.specs) if self.uses_stretto else [NATIVE]

    def options(self, threads: int) -> Options:
        """Returns the options of the workers. `threads` is used if the user requested no number."""
        usual = Data.CIFAR10 if self.model == "resnet110" else Data.IMAGENET
        return Options(
            framework=self.framework.value,
            model=self.model,
            data=(self.data or usual).value,
            batch=self.batch,
            steps=self.steps,
            rounds=self.rounds,
            specs=tuple(self.lines()) if self.uses_stretto else (),
            compute_steps=self.compute_steps,
            threads=self.threads or threads,
            seed=self.seed,
            learning_rate=self.learning_rate,
            compression=self.compression.value,
            backend=self.backend.value,
        )
