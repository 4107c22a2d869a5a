"""The models: as many parameters as published, the shapes they promise, and the same function in PyTorch and in
TensorFlow.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from machine import needs

from labkit import keras_models, models

SMALL = {"classes": 7, "channels": 1, "width": 8, "small_images": True}
CASES = {
    "mlp": ("mlp", {}, (28, 28, 1)),
    "mlp, other widths": ("mlp", {"hidden": (5, 4, 3), "classes": 2}, (28, 28, 1)),
    "cnn": ("cnn", {"classes": 3}, (28, 28, 1)),
    "resnet18, small images": ("resnet18", SMALL, (28, 28, 1)),
    "resnet34, small images": ("resnet34", SMALL, (32, 32, 1)),
    "resnet18, large images": ("resnet18", {"classes": 5, "width": 4}, (65, 64, 3)),
}


def parameters(model: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)


@pytest.mark.parametrize(
    ("name", "count"),
    [("resnet34", 21_797_672), ("resnet18", 11_689_512), ("mlp", 109_386), ("cnn", 20_490)],
)
def test_number_of_parameters(name, count):
    assert parameters(getattr(models, name)()) == count


@needs("tensorflow")
def test_keras_resnet34_has_as_many_trainable_parameters():
    keras = keras_models.resnet34()
    assert sum(int(np.prod(variable.shape)) for variable in keras.trainable_variables) == 21_797_672


@torch.no_grad()
def test_height_and_width_after_each_stage():
    for model, pixels, expected in (
        (models.resnet34(width=16), 224, [56, 28, 14, 7]),
        (models.resnet18(width=8, small_images=True), 28, [28, 14, 7, 4]),
    ):
        maps, sizes = torch.zeros(2, 3, pixels, pixels), []
        for name, layer in model.named_children():
            maps = layer(maps)
            if name.startswith("stage"):
                sizes.append(maps.shape[-1])
        assert sizes == expected
        assert maps.shape == (2, 1000)


def copy_parameters(torch_model, keras_model) -> None:
    """The Keras model's values into the PyTorch model; layers are matched by name, or by position where they have no
    common one.
    """
    named = dict(torch_model.named_modules())
    trained = [module for module in torch_model.modules() if isinstance(module, torch.nn.Linear | torch.nn.Conv2d)]
    weighted = [layer for layer in keras_model.layers if layer.weights]
    for position, layer in enumerate(weighted):
        module = named.get(layer.name) or trained[position]
        values = [torch.from_numpy(variable.numpy()) for variable in layer.weights]
        if isinstance(module, torch.nn.BatchNorm2d):
            targets = (module.weight, module.bias, module.running_mean, module.running_var)
        else:
            targets = (module.weight, module.bias) if len(values) == 2 else (module.weight,)
            values[0] = values[0].permute(3, 2, 0, 1) if values[0].ndim == 4 else values[0].T
        with torch.no_grad():
            for target, value in zip(targets, values, strict=True):
                assert target.shape == value.shape
                target.copy_(value)


@needs("tensorflow")
@pytest.mark.parametrize("case", CASES)
def test_both_frameworks_compute_the_same(case):
    import tensorflow as tf

    name, arguments, shape = CASES[case]
    tf.keras.utils.set_random_seed(1)
    keras, ours = getattr(keras_models, name)(**arguments), getattr(models, name)(**arguments)
    assert sum(int(np.prod(variable.shape)) for variable in keras.trainable_variables) == parameters(ours)
    copy_parameters(ours, keras)
    if name == "cnn":  # flattening goes through (channel, row, column) here and (row, column, channel) there
        linear = ours[-1]
        with torch.no_grad():
            linear.weight.copy_(linear.weight.reshape(-1, 7, 7, 32).permute(0, 3, 1, 2).reshape(linear.weight.shape))

    images = np.random.default_rng(0).random((3, *shape), dtype=np.float32)
    there = keras(images, training=True).numpy()
    here = ours(torch.from_numpy(images.transpose(0, 3, 1, 2)).contiguous()).detach().numpy()
    assert here.shape == (3, arguments.get("classes", 10))
    assert np.abs(here - there).max() < 1e-4 * np.abs(there).max()


def test_the_seed_decides_the_parameters():
    def first_values(seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        return torch.cat([parameter.flatten() for parameter in models.resnet18(width=2).parameters()])

    assert torch.equal(first_values(1), first_values(1))
    assert not torch.equal(first_values(1), first_values(2))


@needs("tensorflow")
def test_mobilenet_is_the_published_one():
    """The parameters of Howard et al. 2017 as Keras has them, and with Keras' weights the logits behind its
    probabilities.
    """
    import tensorflow as tf

    published = tf.keras.applications.MobileNet(input_shape=(64, 64, 3), alpha=0.25, weights=None, classes=7)
    ours = keras_models.mobilenet(7, width=0.25)
    assert keras_models.mobilenet().count_params() == 4_253_864
    shapes = [weights.shape for weights in ours.get_weights()]
    ours.set_weights([value.reshape(shape) for value, shape in zip(published.get_weights(), shapes, strict=True)])
    images = np.random.default_rng(0).normal(size=(3, 64, 64, 3)).astype(np.float32)
    probabilities = tf.nn.softmax(ours(images, training=False)).numpy()
    np.testing.assert_allclose(probabilities, published(images, training=False).numpy(), rtol=1e-4, atol=1e-6)
