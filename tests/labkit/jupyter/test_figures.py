"""Figures follow the theme of Lab, and stay readable in the dark."""

import base64
import io

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.pylabtools import select_figure_formats
from matplotlib.figure import Figure
from PIL import Image
from traitlets.config import Config

from labkit import palette, plots
from labkit.jupyter import figures
from labkit.jupyter.dark import darkened

DARK = '{\n    // Theme\n    "theme": "JupyterLab Dark",\n}'


@pytest.fixture
def settings(tmp_path, monkeypatch):
    """Write Lab's settings of themes."""

    def write(text):
        (tmp_path / figures.SETTINGS).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / figures.SETTINGS).write_text(text)

    monkeypatch.setenv("JUPYTERLAB_SETTINGS_DIR", str(tmp_path))
    return write


@pytest.mark.parametrize(
    "text, dark",
    [
        (DARK, True),
        ('{"theme": "JupyterLab Light"}', False),
        ('{"theme": "JupyterLab Dark", "adaptive-theme": true}', False),
        ('{"theme": "JupyterLab Da', False),
        ("[]", False),
        ("", False),
    ],
)
def test_the_theme_is_read_from_labs_settings(settings, text, dark):
    assert not figures.is_dark()
    settings(text)
    assert figures.is_dark() is dark


def test_figures_of_a_shell_follow_the_theme(settings):
    shell = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
    shell.display_formatter.active_types = ["text/plain", "image/png"]
    figures.follow_theme(shell)
    select_figure_formats(shell, {"png"})
    shell.run_cell("pass")
    shell.run_cell("pass")  # and nothing is wrapped twice
    figure = Figure(figsize=(1, 1), facecolor="white")
    axes = figure.add_subplot()

    def corner():
        picture = shell.display_formatter.formatters["image/png"](figure)
        with Image.open(io.BytesIO(base64.b64decode(picture))) as image:
            return image.convert("RGB").getpixel((0, 0))

    assert corner() == (255, 255, 255)
    settings(DARK)
    assert corner() == (0x11, 0x11, 0x11)
    axes.imshow(np.zeros((2, 2, 3)))  # a photograph is no drawing
    assert corner() == (255, 255, 255)


def test_light_and_dark_change_places_and_hues_stay():
    pixels = np.array([[[255, 255, 255, 255], [0, 0, 0, 128], [0, 114, 178, 255]]], dtype=np.uint8)
    white, black, blue = darkened(pixels)[0]
    assert white.tolist() == [0x11, 0x11, 0x11, 255]
    assert black.tolist() == [255, 255, 255, 128]
    assert blue[0] < blue[1] < blue[2] and blue[3] == 255


ON = {"page": "#FFFFFF", "a light box": palette.tint(palette.SKY, 0.6), "a box": palette.tint(palette.GREEN, 0.3)}


@pytest.mark.parametrize("ground", ON.values(), ids=ON)
@pytest.mark.parametrize("colour", [palette.INK, palette.GREY, plots.dark(palette.VERMILLION)])
def test_what_can_be_read_on_white_can_be_read_in_the_dark(colour, ground):
    """WCAG 2.2, 1.4.3: a contrast of at least 4.5 : 1, where the light figure has it."""
    if contrast(pixel(colour), pixel(ground)) >= 4.5:
        assert contrast(darkened(pixel(colour)), darkened(pixel(ground))) >= 4.5


def pixel(colour):
    return np.array([[[int(colour[i : i + 2], 16) for i in (1, 3, 5)]]], dtype=np.uint8)


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(pixels):
    """Relative luminance of one pixel by WCAG's formula."""
    channels = pixels[0, 0, :3] / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]
