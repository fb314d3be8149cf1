"""How far the normalised slices of a measure can move when no mass moves further than eps."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InputError
from ..frames import centred, whitening
from ..measures import Cloud, floats, pack, pixel_side
from ..normalize import landmarks, normalize
from ..plan import Plan
from ..slices import Levels
from ..spaces.image import strip_count

Motion = Callable[[float], Array]


@dataclass(frozen=True)
class MovingSlices:
    """Slices of one measure in one frame, and how far they can move.

    Attributes
    ----------
    plan : `Plan`
    quantiles : normalised, of shape (n_directions, n_quantiles)
    spreads : what each slice was divided by, of shape (n_directions,)
    jumps : how far quantiles before normalisation move with the mass that may go anywhere, of the same shape
    motion : how far slices move otherwise, given eps, of shape (n_directions,)
    """

    plan: Plan
    quantiles: Array
    spreads: Array
    jumps: Array
    motion: Motion

    def radii(self, eps: float) -> Array:
        """How far normalised quantiles can move: infinitely far where a spread might vanish."""
        moved = self.motion(eps)[:, np.newaxis] + self.jumps
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            radii = self._normalized(moved)
        return np.nan_to_num(radii, nan=np.inf, posinf=np.inf)

    def _normalized(self, moved: Array) -> Array:
        """Pass on what moves quantiles; mean and spread are a projection and a norm, which move no further."""
        how, sizes = self.plan.normalization, np.abs(self.quantiles)
        weights = self.plan.levels.weights
        if how is None:
            return moved
        if how == "center":
            return np.asarray(moved + (moved @ weights)[:, np.newaxis])
        if how == "global":
            return self._globally(moved)
        lower, middle, upper = landmarks(weights)
        if how == "winsorize":
            moved = moved[:, np.arange(len(weights)).clip(lower, upper)]
        if how in ("standardize", "winsorize"):
            rms = np.sqrt(moved**2 @ weights)[:, np.newaxis]
            return _over(moved + rms * np.hypot(1, sizes), self.spreads[:, np.newaxis] - rms)
        change = moved[:, [lower]] + moved[:, [upper]]
        return _over(moved + moved[:, [middle]] + sizes * change, self.spreads[:, np.newaxis] - change)

    def _globally(self, moved: Array) -> Array:
        weights = self.plan.levels.weights
        total = math.sqrt(self.plan.direction_weights @ (moved**2 @ weights))
        if self.plan.space.linear:  # every slice has a mean of its own
            moved = moved + (moved @ weights)[:, np.newaxis] + np.abs(self.quantiles) * total
        else:
            moved = moved + np.hypot(1, self.quantiles) * total
        return _over(moved, self.spreads[:, np.newaxis] - total)


def _over(numerators: Array, room: Array) -> Array:
    return np.where(room > 0, numerators / room, np.inf)


def moving_slices(
    plan: Plan, measure: Any, frame: str, contamination: float = 0.0, lipschitz: float | None = None
) -> MovingSlices:
    """Cut a checked measure into slices that know how far they can move.

    Parameters
    ----------
    plan : `Plan`
    measure : image or cloud
    frame : "fixed" or "whitened"
    contamination : share of the mass that may go anywhere
    lipschitz : how far slices move per distance that mass moves; left out, what the space says
    """
    if contamination:
        _refuse_contamination(plan, frame, contamination)
    if plan.projects and plan.normalization:
        measure = centred(measure)  # as the plan does: far from the origin inner products lose digits
    raw = _raw_quantiles(plan, measure, frame)
    weights = (plan.levels.weights, plan.direction_weights)
    quantiles = normalize(raw[np.newaxis].copy(), plan.normalization, *weights, linear=plan.space.linear)[0]
    jumps = np.zeros_like(raw)
    if contamination:
        low, high = (_raw_quantiles(plan, measure, frame, by) for by in (-contamination, contamination))
        jumps = np.maximum(high - raw, raw - low)
    motion = _whitened(plan, measure) if frame == "whitened" else _fixed(plan, measure, lipschitz)
    return MovingSlices(plan, quantiles, _spreads(plan, raw, quantiles), jumps, motion)


def _raw_quantiles(plan: Plan, measure: Any, frame: str, by: float = 0.0) -> Array:
    """Quantiles before normalisation, at levels that are shifted by so much."""
    levels = plan.levels if by == 0 else Levels(plan.levels.values + by, plan.levels.weights, False)
    found = replace(plan, normalization=None, blocks=(), frame=frame, levels=levels).quantiles(pack([measure]))
    return np.asarray(found[0], np.float64)


def _spreads(plan: Plan, raw: Array, normalized: Array) -> Array:
    """What slices were divided by: the same factor lies between any two quantiles of a slice, before and after."""
    if plan.normalization in ("center", None):
        return np.ones(len(raw))
    lower, _, upper = landmarks(plan.levels.weights) if plan.normalization == "winsorize" else (0, 0, -1)
    if plan.normalization == "global" and not plan.space.linear:  # slices have one shift too, and may be single points
        return np.full(len(raw), np.ptp(raw) / np.ptp(normalized))
    before, after = (some[:, upper] - some[:, lower] for some in (raw, normalized))
    if plan.normalization == "global":  # one for all, as the widest slice tells best
        return np.full(len(raw), before.max() / after.max())
    return np.asarray(before / after)


def _strip(plan: Plan, measure: Any) -> float:
    """Width of the strips in which a shadow is known no better than linearly; zero where slices are exact."""
    return 2 / strip_count(measure.shape, plan.n_radii) if plan.space.measure == "images" else 0.0


def _fixed(plan: Plan, measure: Any, lipschitz: float | None) -> Motion:
    """Slices move by their Lipschitz constant times eps, those in strips by whole strips.

    Linear interpolation between the edges of strips commutes with shifts by whole strips, and with no others.
    """
    constants: Any = plan.space.lipschitz if lipschitz is None else lipschitz
    if constants is None:
        raise InputError(
            "space",
            "tell how far its slices move with the measure",
            repr(plan.space.name),
            "Where you know it, pass lipschitz=, the most that a slice moves per distance that points move.",
        )
    slopes = np.broadcast_to(constants(plan.directions) if callable(constants) else constants, len(plan.directions))
    strip = _strip(plan, measure)
    if strip:
        return lambda eps: strip * np.ceil(slopes * eps / strip)
    return lambda eps: slopes * eps


def _whitened(plan: Plan, measure: Any) -> Motion:
    """How far whitened points can move, measured from the mean unless slices are not normalised; strips on top."""
    points, halo = _support(plan, measure)
    mean, matrix = whitening(floats(measure))
    stretch = float(np.linalg.eigvalsh(matrix)[-1])  # one over the smallest spread
    reach = float(np.sqrt((((points - mean) @ matrix) ** 2).sum(axis=1).max())) + stretch * halo
    strip, n_directions = _strip(plan, measure), len(plan.directions)

    def motion(eps: float) -> Array:
        share = stretch * eps
        if not share < 1:
            return np.full(n_directions, np.inf)
        moved = (reach + 2) * share / (1 - share)
        if plan.normalization is not None:
            moved += math.log1p(-share)
        return np.full(n_directions, moved + strip * stretch * (1 + 1 / (1 - share)))

    return motion


def _support(plan: Plan, measure: Any) -> tuple[Array, float]:
    """Points, and how far the mass lies from the nearest of them at most."""
    if isinstance(measure, Cloud):
        on_the_line = plan.space.measure == "signals"  # where two points stand for a strip of the density
        return measure.points.astype(np.float64), 2 / len(measure.points) if on_the_line else 0.0
    side = pixel_side(measure.shape)
    places = np.argwhere(measure)[:, ::-1] - (np.array(measure.shape[::-1]) - 1) / 2
    return side * places, side / math.sqrt(2)


def _refuse_contamination(plan: Plan, frame: str, contamination: float) -> None:
    if frame == "whitened" or plan.space.travels:
        raise InputError(
            "contamination",
            "be 0 where slices follow the mean and the spread of the measure",
            f"{contamination:g} with frame={frame!r} in the {plan.space.name} space",
            "A little mass that goes far moves both as far as it likes: take the fixed frame, or slices that stay.",
        )
    room = float(min(plan.levels.values[0], 1 - plan.levels.values[-1]))
    if not contamination < room:
        raise InputError(
            "contamination", f"be less than the lowest level, {room:.3g}", f"{contamination:g}", "Fit with more trim."
        )
