"""What a colour looks like with 256 or 16 colours and to other eyes, and how far two are apart."""

from __future__ import annotations

import math
from itertools import combinations, starmap
from typing import TYPE_CHECKING

from rich.color import Color as RichColor
from rich.color import ColorSystem
from textual.color import Color

if TYPE_CHECKING:
    from collections.abc import Iterable

Rgb = tuple[float, float, float]

DEPTHS = {"truecolor": ColorSystem.TRUECOLOR, "256": ColorSystem.EIGHT_BIT, "16": ColorSystem.STANDARD}

# Machado, Oliveira, Fernandes 2009, "A Physiologically-based Model for Simulation of Color Vision
# Deficiency", severity 1.0, on linear RGB.
VISION = {
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}


def shown_at(color: str, depth: str) -> Rgb:
    """Return what Rich sends for a colour at a depth, as it looks with Rich's terminal theme."""
    red, green, blue = Color.parse(color).rgb
    shown = RichColor.from_rgb(red, green, blue)
    if depth != "truecolor":
        shown = shown.downgrade(DEPTHS[depth])
    return (*shown.get_truecolor(),)


def number_at(color: str, depth: str) -> int | None:
    red, green, blue = Color.parse(color).rgb
    return RichColor.from_rgb(red, green, blue).downgrade(DEPTHS[depth]).number


def contrast(one: Rgb, other: Rgb) -> float:
    """WCAG 2.2, contrast ratio."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def nearest_pair(colors: Iterable[Rgb]) -> float:
    """The smallest CIE 1976 difference between any two; about 2 is just noticeable."""
    return min(starmap(math.dist, combinations(map(_lab, colors), 2)))


def seen_with(color: Rgb, vision: str) -> Rgb:
    linear = [_linear(value) for value in color]
    red, green, blue = (
        _encoded(sum(weight * value for weight, value in zip(row, linear, strict=True)))
        for row in VISION[vision]
    )
    return red, green, blue


def _linear(value: float) -> float:
    value /= 255
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def _encoded(value: float) -> float:
    value = min(max(value, 0.0), 1.0)
    return 255 * (12.92 * value if value <= 0.0031308 else 1.055 * value ** (1 / 2.4) - 0.055)


def _luminance(color: Rgb) -> float:
    red, green, blue = map(_linear, color)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _lab(color: Rgb) -> Rgb:
    """CIE L*a*b* under D65."""
    red, green, blue = map(_linear, color)
    x = _cube_root((0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047)
    y = _cube_root(0.2126 * red + 0.7152 * green + 0.0722 * blue)
    z = _cube_root((0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def _cube_root(value: float) -> float:
    return value ** (1 / 3) if value > 216 / 24389 else (24389 / 27 * value + 16) / 116
