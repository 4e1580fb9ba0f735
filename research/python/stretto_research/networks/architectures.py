# SPDX-License-Identifier: Apache-2.0
"""The networks whose training the papers measure, as data (pipelined paper, Table 2).

Code that needs an architecture walks it, as it would a schedule: it counts gradients and arithmetic
(gradients.py), or builds a Keras or PyTorch model (the room `workers`). So a network is written down
once. This module needs no package besides Python, since workers run in the framework's interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Shape = tuple[int, int, int]
"""Rows, columns and channels; 1, 1 and the length if it is flat."""


@dataclass(frozen=True, slots=True)
class Convolution:
    """A convolution by square kernels, with a bias. Keras has a bias even if a normalization follows."""

    name: str
    kernel: int
    outputs: int
    stride: int = 1
    padding: int = 0
    """The number of zeros around the image."""
    normalized: bool = False
    """Whether a batch normalization follows."""
    activated: bool = True
    """Whether a ReLU comes last."""


@dataclass(frozen=True, slots=True)
class MaxPool:
    """Maximum pooling: the largest value of each square."""

    size: int
    stride: int
    padding: int = 0


@dataclass(frozen=True, slots=True)
class Average:
    """Average pooling: the mean of each channel over the image. The result is flat."""


@dataclass(frozen=True, slots=True)
class Flatten:
    """Makes rows, columns and channels one dimension."""


@dataclass(frozen=True, slots=True)
class Dense:
    """A fully connected layer."""

    name: str
    outputs: int
    normalized: bool = False
    activated: bool = True


@dataclass(frozen=True, slots=True)
class Residual:
    """The ReLU of the sum of branches with the same input. An empty branch is the input itself."""

    branches: tuple[tuple[Layer, ...], ...]


Layer = Convolution | MaxPool | Average | Flatten | Dense | Residual


@dataclass(frozen=True, slots=True)
class Architecture:
    """A network: layers in order. The last has no activation: it gives a score for each class."""

    name: str
    image: Shape
    layers: tuple[Layer, ...]

    @property
    def classes(self) -> int:
        """The number of classes of images."""
        last = self.layers[-1]
        if not isinstance(last, Dense):
            raise TypeError(f"{self.name} does not end with a fully connected layer")
        return last.outputs


def shape_after(layer: Layer, shape: Shape) -> Shape:
    """The shape of a layer's output for an input of that shape."""
    rows, columns, channels = shape
    match layer:
        case Convolution(kernel=kernel, stride=stride, padding=padding, outputs=outputs):
            return (
                (rows + 2 * padding - kernel) // stride + 1,
                (columns + 2 * padding - kernel) // stride + 1,
                outputs,
            )
        case MaxPool(size=size, stride=stride, padding=padding):
            return (
                (rows + 2 * padding - size) // stride + 1,
                (columns + 2 * padding - size) // stride + 1,
                channels,
            )
        case Average():
            return 1, 1, channels
        case Flatten():
            return 1, 1, rows * columns * channels
        case Dense(outputs=outputs):
            return 1, 1, outputs
        case Residual(branches=branches):
            shapes = {_shape_after_all(branch, shape) for branch in branches}
            if len(shapes) != 1:
                raise ValueError(f"branches that end in different shapes cannot be added: {shapes}")
            return shapes.pop()


def _shape_after_all(layers: Sequence[Layer], shape: Shape) -> Shape:
    for layer in layers:
        shape = shape_after(layer, shape)
    return shape


def alexnet() -> Architecture:
    """AlexNet without groups (Krizhevsky, Sutskever, Hinton 2012), and without dropout, to compare losses."""
    return Architecture(
        "AlexNet",
        (227, 227, 3),
        (
            Convolution("conv1", 11, 96, stride=4),
            MaxPool(3, 2),
            Convolution("conv2", 5, 256, padding=2),
            MaxPool(3, 2),
            Convolution("conv3", 3, 384, padding=1),
            Convolution("conv4", 3, 384, padding=1),
            Convolution("conv5", 3, 256, padding=1),
            MaxPool(3, 2),
            Flatten(),
            Dense("fc6", 4096),
            Dense("fc7", 4096),
            Dense("fc8", 1000, activated=False),
        ),
    )


def vgg11() -> Architecture:
    """VGG11, configuration A (Simonyan, Zisserman 2014), without dropout."""
    layers: list[Layer] = []
    for number, outputs in enumerate((64, 128, 256, 256, 512, 512, 512, 512), 1):
        layers.append(Convolution(f"conv{number}", 3, outputs, padding=1))
        if number in (1, 2, 4, 6, 8):
            layers.append(MaxPool(2, 2))
    dense = (Dense("fc9", 4096), Dense("fc10", 4096), Dense("fc11", 1000, activated=False))
    return Architecture("VGG11", (224, 224, 3), (*layers, Flatten(), *dense))


def resnet50() -> Architecture:
    """ResNet50 of Keras: bottlenecks with biases. 53,120 of its parameters are moving statistics.

    The second convolution of a block has the stride, as the paper's floating-point operations require.
    """
    layers: list[Layer] = [
        Convolution("conv1", 7, 64, stride=2, padding=3, normalized=True),
        MaxPool(3, 2, padding=1),
    ]
    for stage, (width, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3)), 2):
        for block in range(1, blocks + 1):
            name = f"conv{stage}_{block}"
            stride = 2 if block == 1 and stage > 2 else 1
            shortcut = _normalized(f"{name}/shortcut", 1, 4 * width, stride, activated=False)
            bottleneck = (
                _normalized(f"{name}/1", 1, width),
                _normalized(f"{name}/2", 3, width, stride),
                _normalized(f"{name}/3", 1, 4 * width, activated=False),
            )
            layers.append(Residual(((shortcut,) if block == 1 else (), bottleneck)))
    return Architecture("ResNet50", (224, 224, 3), (*layers, Average(), Dense("fc", 1000, activated=False)))


def resnet110() -> Architecture:
    """ResNet110 for CIFAR-10: three stages of 18 blocks.

    The papers do not print its layers. These have the parameters, the layers (393, counted as Keras does) and
    the floating-point operations that Table 2 has: the first block of every stage, even of the first, has a
    projection with a normalization, and a normalized dense layer of 64 comes before that of 10 classes.
    """
    layers: list[Layer] = [_normalized("conv1", 3, 16)]
    for stage, width in enumerate((16, 32, 64), 2):
        for block in range(1, 19):
            name = f"conv{stage}_{block}"
            stride = 2 if block == 1 and stage > 2 else 1
            plain = (
                _normalized(f"{name}/1", 3, width, stride),
                _normalized(f"{name}/2", 3, width, activated=False),
            )
            shortcut = _normalized(f"{name}/shortcut", 1, width, stride, activated=False)
            layers.append(Residual((plain, (shortcut,) if block == 1 else ())))
    return Architecture(
        "ResNet110",
        (32, 32, 3),
        (*layers, Average(), Dense("fc1", 64, normalized=True), Dense("fc2", 10, activated=False)),
    )


def _normalized(
    name: str, kernel: int, outputs: int, stride: int = 1, *, activated: bool = True
) -> Convolution:
    return Convolution(name, kernel, outputs, stride, kernel // 2, normalized=True, activated=activated)


ARCHITECTURES: dict[str, Callable[[], Architecture]] = {
    "alexnet": alexnet,
    "resnet50": resnet50,
    "resnet110": resnet110,
    "vgg11": vgg11,
}
"""The functions that make architectures, by name."""
