"""Laid lines: the dense ripple that the wires of the mould left all over the sheet."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.fft import fftfreq, irfft2, rfft2, rfftfreq

from ..arrays import Array
from ..rasters import tiles
from .paper import Residual

PERIODS = (3.0, 9.0)  # pixels; simulated sheets have 4 to 7
BAND = 0.012  # cycles per pixel: room for lines that wind by a pixel
CLIP = 2.5  # times the noise, to which the ripple itself adds
SHARE = 0.05  # of the variance: weaker ripples do no harm
EVERYWHERE = 0.5  # of the mean power, which three quarters of the sheet must have


class Ripple(NamedTuple):
    """Laid lines as an image of their own, the distance from one to the next in pixels, and their amplitude."""

    image: Array
    period: float
    amplitude: float


def find_ripple(found: Residual) -> Ripple | None:
    """Find a ripple of one period and direction that covers the whole sheet, or None.

    It is what passes a narrow band around the strongest frequency. Ink is cut down to the height of the ripple first:
    its own share in the band is then negligible.
    """
    if not found.noise:
        return None
    clipped = np.clip(found.image, -CLIP * found.noise, CLIP * found.noise)
    waves = rfft2(clipped)
    fy, fx = fftfreq(clipped.shape[0])[:, np.newaxis], rfftfreq(clipped.shape[1])
    frequency = np.hypot(fy, fx)
    power = np.where((frequency > 1 / PERIODS[1]) & (frequency < 1 / PERIODS[0]), np.abs(waves), 0)
    row, column = np.unravel_index(np.argmax(power), power.shape)
    y, x = float(fy[row, 0]), float(fx[column])
    band = _gaussian_band(fy - y, fx - x) + _gaussian_band(fy + y, fx + x)
    image = irfft2(waves * np.minimum(band, 1), clipped.shape)
    if image.var() < SHARE * clipped.var() or not _covers_sheet(image):
        return None
    return Ripple(image, 1 / float(np.hypot(y, x)), float(np.sqrt(2) * image.std()))


def _gaussian_band(y: Array, x: Array) -> Array:
    return np.asarray(np.exp(-0.5 * (x**2 + y**2) / BAND**2))


def _covers_sheet(image: Array) -> bool:
    """Tell whether three quarters of the sheet have at least half of the mean power: hatched strokes have not."""
    power = tiles(image**2, max(1, min(image.shape) // 4)).mean(axis=(1, 3))
    return bool(np.quantile(power, 0.25) > EVERYWHERE * np.mean(power))
