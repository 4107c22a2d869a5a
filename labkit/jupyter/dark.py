"""A picture for dark pages out of one for white paper: light and dark change places, contrasts and hues stay.

WCAG 2.2 (https://www.w3.org/TR/WCAG22/, "contrast ratio") has for two colours of relative luminance Y1 > Y2 the
contrast (Y1 + 0.05) / (Y2 + 0.05). So the luminance Y of a pixel becomes Y' with Y' + 0.05 = WHITE / (Y + 0.05): what
could be read on white can be read in the dark. Only black cannot become whiter than white.
"""

import numpy as np

FLARE = 0.05  # of WCAG's contrast
PAGE = ((0x11 / 0xFF + 0.055) / 1.055) ** 2.4  # relative luminance of #111111, Lab's dark page (`--jp-layout-color0`)
WHITE = (PAGE + FLARE) * (1 + FLARE)  # so that white becomes the page
LUMINANCE = np.array([0.2126, 0.7152, 0.0722])  # of linear red, green and blue


def darkened(pixels: np.ndarray) -> np.ndarray:
    """Pixels with light and dark exchanged. pixels: (height, width, 3 or 4), uint8; a fourth channel stays."""
    colours = pixels[..., :3] / 255
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    before = (linear @ LUMINANCE)[..., None]
    after = np.clip(WHITE / (before + FLARE) - FLARE, 0, 1)
    shaded = linear * after / np.maximum(before, 1e-9)
    bleached = linear + (1 - linear) * (after - before) / np.maximum(1 - before, 1e-9)
    linear = np.clip(np.where(after < before, shaded, bleached), 0, 1)
    result = pixels.copy()
    result[..., :3] = np.rint(255 * np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055))
    return result
