"""The course's models in TensorFlow (Keras 2). `labkit.models` has the same ones for PyTorch: same
names, arguments and layers.

Each function returns a new model with random parameters: `tf.keras.utils.set_random_seed` before
the call decides which. A model takes images of shape (batch, height, width, channels), float32, and
returns logits of shape (batch, classes): the loss is
`tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)`.

TensorFlow takes seconds to import. The functions import it when they are called, so that importing
this module costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence


def mlp(hidden: Sequence[int] = (128, 64), classes: int = 10):
    """A multilayer perceptron for images of 28 x 28 pixels: 784 inputs, a ReLU layer of each width
    in `hidden`, `classes` logits.

    As it stands 109,386 parameters in 6 variables. It has no dropout and no batch normalisation:
    what it computes for one image depends on nothing else in the minibatch, so a parallel run can
    equal a sequential one.
    """
    from tensorflow.keras import Model, layers

    images = layers.Input((28, 28, 1))
    values = layers.Flatten()(images)
    for width in hidden:
        values = layers.Dense(width, activation="relu")(values)
    return Model(images, layers.Dense(classes)(values), name="mlp")


def cnn(classes: int = 10):
    """A small convolutional network for grey images of 28 x 28 pixels: two convolutions of 3 x 3
    with ReLU, each followed by max pooling of 2 x 2, then one linear layer.

    As it stands 20,490 parameters in 6 variables; no dropout and no batch normalisation, like
    `mlp`.
    """
    from tensorflow.keras import Model, layers

    images = maps = layers.Input((28, 28, 1))
    for width in (16, 32):
        maps = layers.Conv2D(width, 3, padding="same", activation="relu")(maps)
        maps = layers.MaxPool2D(2)(maps)
    return Model(images, layers.Dense(classes)(layers.Flatten()(maps)), name="cnn")


def resnet18(classes: int = 1000, channels: int = 3, width: int = 64, small_images: bool = False):
    """ResNet-18: two blocks in each of the four stages, 11,689,512 trainable parameters as it
    stands. Arguments as of `resnet34`.
    """
    return _resnet("resnet18", (2, 2, 2, 2), classes, channels, width, small_images)


def resnet34(classes: int = 1000, channels: int = 3, width: int = 64, small_images: bool = False):
    """ResNet-34: 3, 4, 6 and 3 blocks in its four stages, 21,797,672 trainable parameters as it
    stands.

    channels: of the images, 3 for colour, 1 for grey. width: feature maps of the first stage; each
    later one has twice as many at half the height and width. small_images: for 28 x 28 or 32 x 32
    pixels, where the original start (7 x 7 convolution and max pooling, each with stride 2) would
    leave next to nothing: a 3 x 3 convolution with stride 1 and no pooling instead.

    Source: He, Zhang, Ren, Sun, "Deep Residual Learning for Image Recognition" (2016), table 1;
    shortcuts of option B, where a stage begins with a 1 x 1 convolution in the shortcut. The start
    for small images follows its section 4.2.
    """
    return _resnet("resnet34", (3, 4, 6, 3), classes, channels, width, small_images)


def mobilenet(
    classes: int = 1000,
    width: float = 1.0,
    channels: int = 3,
    small_images: bool = False,
    repeats: int = 5,
):
    """MobileNet: convolutions taken apart, 4,253,864 parameters as it stands, 4,231,976 of them
    trainable.

    A layer of 3 x 3 convolutions from c to k maps has 9 c k weights. MobileNet makes it in two: one
    3 x 3 filter for each map ("depthwise", 9 c weights), then a 1 x 1 convolution that mixes maps
    (c k weights): about a ninth of the weights and of the work.

    width: the width multiplier alpha, all maps of every layer times this. small_images: for 32 x 32
    pixels; the first convolution keeps the size. repeats: how many of the layers with 512 maps
    (times width) stand in the middle.

    Source: Howard and others, "MobileNets", 2017, arXiv:1704.04861, table 1. Layer by layer as
    tf.keras.applications.MobileNet, but with logits instead of probabilities and without its
    dropout.
    """
    from tensorflow.keras import Model, layers

    def normed(maps):
        return layers.ReLU(6.0)(layers.BatchNormalization(momentum=0.9, epsilon=1e-3)(maps))

    images = layers.Input((None, None, channels))
    stride = 1 if small_images else 2
    maps = normed(layers.Conv2D(int(32 * width), 3, stride, "same", use_bias=False)(images))
    rows = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)]
    for outputs, stride in [*rows, *[(512, 1)] * repeats, (1024, 2), (1024, 1)]:
        if stride == 2:
            maps = layers.ZeroPadding2D(((0, 1), (0, 1)))(maps)
        padding = "same" if stride == 1 else "valid"
        maps = normed(layers.DepthwiseConv2D(3, stride, padding, use_bias=False)(maps))
        maps = normed(layers.Conv2D(int(outputs * width), 1, use_bias=False)(maps))
    logits = layers.Dense(classes, name="linear")(layers.GlobalAveragePooling2D()(maps))
    return Model(images, logits, name="mobilenet")


def _resnet(
    name: str, blocks: Sequence[int], classes: int, channels: int, width: int, small_images: bool
):
    from tensorflow.keras import Model, layers

    images = layers.Input((None, None, channels))
    size, stride = (3, 1) if small_images else (7, 2)
    maps = _convolution(images, width, size, stride, "conv")
    maps = layers.ReLU()(_norm(maps, "norm"))
    if not small_images:
        # zeros are no maximum here: ReLU has left nothing below
        maps = layers.MaxPool2D(3, 2)(layers.ZeroPadding2D(1)(maps))
    for stage, count in enumerate(blocks):
        for i in range(count):
            stride = 2 if stage > 0 and i == 0 else 1
            maps = _basic_block(maps, width * 2**stage, stride, f"stage{stage + 1}.{i}")
    logits = layers.Dense(classes, name="linear")(layers.GlobalAveragePooling2D()(maps))
    return Model(images, logits, name=name)


def _basic_block(images, outputs: int, stride: int, name: str):
    """Two 3 x 3 convolutions with batch normalisation, and the input added to what comes out (He et
    al. 2016, figure 2).
    """
    from tensorflow.keras import layers

    maps = layers.ReLU()(
        _norm(_convolution(images, outputs, 3, stride, f"{name}.conv1"), f"{name}.norm1")
    )
    maps = _norm(_convolution(maps, outputs, 3, 1, f"{name}.conv2"), f"{name}.norm2")
    # the shapes differ, so the input cannot be added as it is
    if stride != 1 or images.shape[-1] != outputs:
        images = _norm(
            _convolution(images, outputs, 1, stride, f"{name}.shortcut.conv"),
            f"{name}.shortcut.norm",
        )
    return layers.ReLU()(layers.Add()([maps, images]))


def _convolution(maps, outputs: int, size: int, stride: int, name: str):
    """Padded evenly on all sides, as in PyTorch: with a stride, Keras' "same" would pad more on the
    right and at the bottom.
    """
    from tensorflow.keras import initializers, layers

    if size > 1 and stride > 1:
        maps = layers.ZeroPadding2D(size // 2)(maps)
    padding = "same" if stride == 1 else "valid"
    # He et al., "Delving Deep into Rectifiers" (2015): a variance that keeps the size of gradients
    # from layer to layer.
    start = initializers.VarianceScaling(2.0, "fan_out", "untruncated_normal")
    return layers.Conv2D(
        outputs, size, stride, padding, use_bias=False, kernel_initializer=start, name=name
    )(maps)


def _norm(maps, name: str):
    """Batch normalisation with PyTorch's constants (its momentum 0.1 is 0.9 here, the share that
    stays).
    """
    from tensorflow.keras import layers

    return layers.BatchNormalization(momentum=0.9, epsilon=1e-5, name=name)(maps)
