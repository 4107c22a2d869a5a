"""The colours of the course: Okabe and Ito's palette, which colour-blind readers can tell apart.

Source: M. Okabe, K. Ito, "Color Universal Design", https://jfly.uni-koeln.de/color/.
Nothing in the course is told by colour alone.
"""

BLACK = "#000000"
ORANGE = "#E69F00"
SKY = "#56B4E9"
GREEN = "#009E73"
YELLOW = "#F0E442"
BLUE = "#0072B2"
VERMILLION = "#D55E00"
PURPLE = "#CC79A7"

INK = "#1A1A1A"  # lines and text
GREY = "#6E6E6E"  # axes, notes
FAINT = "#D9D9D9"  # guides
DEEP = "#B34700"  # vermillion, dark enough for text on white

CYCLE = (BLUE, ORANGE, GREEN, VERMILLION, PURPLE, SKY)


def tint(colour: str, amount: float) -> str:
    """`colour` ("#RRGGBB") mixed with white: amount 0 leaves it, amount 1 gives white."""
    channels = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(c + (255 - c) * amount):02X}" for c in channels)


# What has one colour in every drawing, timeline and chart of the course.
FORWARD, BACKWARD = tint(PURPLE, 0.7), PURPLE
WEIGHT_GRADIENTS = tint(PURPLE, 0.35)  # where a backward pass computes them apart
ALL_GATHER, ALL_REDUCE, REDUCE_SCATTER = tint(GREEN, 0.65), tint(GREEN, 0.35), GREEN
PARAMETERS, GRADIENTS = tint(BLUE, 0.5), tint(VERMILLION, 0.4)
OPTIMIZER, ACTIVATIONS = tint(YELLOW, 0.25), tint(GREY, 0.55)
