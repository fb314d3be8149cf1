"""Settings resolved into a plan, and Algorithm 1 of the paper as pure functions of a batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from array_api_compat import array_namespace

from .aggregate import Aggregation, aggregate, find_aggregations, weights_are_even
from .arrays import Array
from .directions import evenly_spread, opposite_half, run_around, unit_vectors
from .errors import InputError, LocatedError
from .fingerprint import digest
from .frames import FRAMES, centred, pull_back, refuse_flat_clouds, whitenings
from .kernels import kernels_for
from .levels import reference_levels
from .measures import Batch, Points, as_floats, check_finite, positive_integer, rounding
from .normalize import NORMALIZATIONS, FlatSlice, Normalization, normalize, refuse_flat
from .slices import Levels, PhiValues, PixelDensity, Projection, Slices
from .spaces import Space, find_space
from .spaces.image import strip_count

NOTHING: Any = object()  # in place of aggregations


class Block(NamedTuple):
    """Features of one aggregation, of slices in one frame."""

    aggregation: Aggregation
    frame: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """Everything that decides features; resolved and checked once, see `Plan.resolve`.

    Two plans are equal where they make the same features. Plans can be hashed, and stored with `pickle` where
    the user's own functions can.

    Attributes
    ----------
    space : `Space`
    directions, direction_weights : arrays of shape (n_directions, ...) and (n_directions,)
    levels : where quantile functions are sampled
    frame : "fixed" or "whitened", that of `quantiles`
    normalization : one of `NORMALIZATIONS`
    blocks : what `features` puts side by side
    n_radii : strips across an image, or "auto"
    scaled : whether blocks are to be divided by scales that are learnt
    """

    space: Space
    directions: Array
    direction_weights: Array
    levels: Levels
    frame: str = "fixed"
    normalization: Normalization = "standardize"
    blocks: tuple[Block, ...] = ()
    n_radii: int | Literal["auto"] = "auto"
    scaled: bool = False

    @classmethod
    def resolve(
        cls,
        space: Any = "image",
        *,
        dimension: int = 2,
        n_directions: int = 256,
        directions: Any = None,
        n_radii: int | Literal["auto"] = "auto",
        n_quantiles: int = 256,
        frame: str = "fixed",
        normalize: Any = "standardize",
        aggregate: Any = NOTHING,
        reference: Any = "uniform",
        trim: float = 0.0,
    ) -> Plan:
        """Resolve settings, or say what is wrong with them.

        Parameters
        ----------
        dimension : number of coordinates of the measures
        aggregate : as for `NRCDT`; left out, for a plan that makes quantiles alone
        others : as for `NRCDT`

        Examples
        --------
        >>> plan = Plan.resolve("euclidean", dimension=3, n_quantiles=5, aggregate=["max", "std"])
        >>> plan.n_features, plan.feature_names[4:6], plan.digest == Plan.resolve("euclidean", dimension=3).digest
        (10, ['max_4', 'std_0'], False)
        """
        space = find_space(space)
        chosen, weights = resolve_directions(space, dimension, n_directions, directions)
        check_frame(frame, space)
        check_normalization(normalize)
        n_strips = strip_count((1, 1), n_radii)
        levels = reference_levels(n_quantiles, reference, trim)
        if n_quantiles < 2 and normalize not in ("center", None):
            raise InputError("n_quantiles", "be at least 2 to have a spread", n_quantiles, "256 is a good start.")
        aggregations = [] if aggregate is NOTHING else find_aggregations(aggregate)
        refuse_directions(aggregations, chosen, space, weights)
        plan = cls(
            space=space,
            directions=chosen,
            direction_weights=weights,
            levels=levels,
            frame=frame,
            normalization=normalize,
            blocks=tuple([Block(one, frame) for one in aggregations]),
            n_radii=n_radii if isinstance(n_radii, str) else n_strips,
            scaled=isinstance(aggregate, list),
        )
        plan.block_sizes  # noqa: B018  a function that fails does so now
        return plan

    @cached_property
    def digest(self) -> str:
        """What stands for the plan in a catalogue, in a cache, and beside the columns of a table."""
        fields = {name: value for name, value in vars(self).items() if name in self.__dataclass_fields__}
        return digest(fields | {"space": self.space.slicing})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    @cached_property
    def block_sizes(self) -> tuple[int, ...]:
        """Number of features of every block; of a user's function, those that it makes of a made-up sample."""
        return tuple(map(self._size, self.blocks))

    def _size(self, block: Block) -> int:
        n_quantiles = len(self.levels.values)
        if block.aggregation.n_rows is not None:
            return block.aggregation.n_rows * n_quantiles
        sample = np.broadcast_to(np.linspace(-1.5, 1.5, n_quantiles), (1, len(self.directions), n_quantiles))
        try:
            [found] = aggregate(sample.copy(), [block.aggregation], self.direction_weights, self.directions)
        except LocatedError as error:
            raise error if error.sample is None else error.about(argument="a made-up sample", sample=None) from None
        except Exception as error:
            error.add_note("This happened to a sample that was made up to count features.")
            raise
        return int(found.shape[1])

    @property
    def n_features(self) -> int:
        """Number of features of a sample."""
        return sum(self.block_sizes)

    @property
    def feature_names(self) -> list[str]:
        """One name per feature, of aggregation and position."""
        pairs = zip(self.blocks, self.block_sizes, strict=True)
        return [f"{block.aggregation.name}_{j}" for block, size in pairs for j in range(size)]

    @cached_property
    def mirrored(self) -> bool:
        """Whether the second half of the directions are the opposites of the first: densities have them for nothing."""
        return self.space.densities is not None and opposite_half(self.directions)

    @cached_property
    def projects(self) -> bool:
        """Whether slices are points of flat space, projected on the directions."""
        return self.space.linear and self.space.densities is None

    @cached_property
    def frames(self) -> dict[str, list[Aggregation]]:
        """Which aggregations are taken of the slices of which frame, whose slices are computed once."""
        used: dict[str, list[Aggregation]] = {}
        for aggregation, frame in self.blocks:
            used.setdefault(frame, []).append(aggregation)
        return used

    @cached_property
    def fused(self) -> set[str]:
        """Frames whose blocks need no more of images than the bounds of their standardised slices."""
        if self.space.measure != "images" or self.normalization != "standardize":
            return set()
        return {*self.frames} - {block.frame for block in self.blocks if not block.aggregation.extremes}

    def quantiles(self, batch: Batch) -> Any:
        """Lines 1 to 7: normalised quantiles of shape (n_samples, n_directions, n_quantiles)."""
        return self._quantiles(batch, self.frame)

    def features(self, batch: Batch) -> Any:
        """Lines 1 to 10: features of shape (n_samples, n_features), blocks side by side, not scaled to one another."""
        found = {}
        for frame, aggregations in self.frames.items():
            quantiles = self._extremes(batch, frame) if frame in self.fused else self._quantiles(batch, frame)
            found[frame] = iter(aggregate(quantiles, aggregations, self.direction_weights, self.directions))
        parts = [next(found[block.frame]) for block in self.blocks]
        for (aggregation, _), size, part in zip(self.blocks, self.block_sizes, parts, strict=True):
            if part.shape[1] != size:
                rule = f"return as many features for every sample, {size}"
                raise InputError(f"aggregate {aggregation.name}", rule, part.shape[1], "Count in levels, not in data.")
        return parts[0] if len(parts) == 1 else array_namespace(parts[0]).concat(parts, axis=1)

    def points(self, batch: Batch) -> Iterator[tuple[Array, Array | None]]:
        """Lines 1 to 7 without sampling, where slices are points on the line: yields the normalised slices of clouds.

        They are points of shape (n_directions, n_points), not sorted, with their weights.
        """
        slices, shifts, stretches = self._slices(batch, self.frame)
        settings = (shifts, stretches, self._noise(batch, self.frame))
        assert isinstance(slices, Projection | PhiValues)
        for i, (points, weights) in enumerate(slices.points()):
            shares = np.ones(points.shape[1]) if weights is None else weights.astype(np.float64)
            own = [None if one is None else one[i : i + 1] for one in settings]
            try:  # the user's phi may keep its own points
                [points] = self._normalized(points[np.newaxis].copy(), shares / shares.sum(), *own)
            except FlatSlice as error:
                raise error.about(sample=i) from None
            yield points, weights

    def _quantiles(self, batch: Batch, frame: str) -> Any:
        slices, shifts, stretches = self._slices(batch, frame)
        settings = (self.levels.weights, shifts, stretches, self._noise(batch, frame))
        return self._normalized(slices.quantiles(self.levels), *settings)

    def _normalized(self, quantiles: Any, shares: Array, shifts: Any, stretches: Any, noise: Array | None) -> Any:
        """Shift and stretch quantiles, each of which stands for a share of mass, then normalise them."""
        if shifts is not None:
            quantiles = kernels_for(quantiles).shift_and_scale(quantiles, shifts, stretches)
        settings = (self.normalization, shares, self.direction_weights)
        return normalize(quantiles, *settings, linear=self.space.linear, noise=noise)

    def _noise(self, batch: Batch, frame: str) -> Array | None:
        """Return the spreads that rounding may make of none; what is whitened is known not to be flat."""
        if not isinstance(batch, Points) or not self.projects or frame == "whitened":
            return None
        return np.array([rounding(cloud) for cloud in batch])

    def _extremes(self, batch: Batch, frame: str) -> Any:
        """Bounds over the directions of what `_quantiles` returns; standardising undoes every shift and stretch."""
        slices = self._slices(batch, frame)[0]
        assert isinstance(slices, PixelDensity)
        bounds, means, variances = slices.extremes(self.levels)
        xp = array_namespace(means)
        refuse_flat(means, xp.sqrt(variances), float(xp.finfo(bounds.dtype).eps))
        return bounds

    def _slices(self, batch: Batch, frame: str) -> tuple[Slices, Any, Any]:
        """Slices of a batch, and by what their quantiles are to be shifted, then stretched."""
        if isinstance(batch, Points) and self.projects and (frame == "whitened" or self.normalization is not None):
            if frame == "whitened":
                refuse_flat_clouds(batch)
            batch = Points.of(list(map(centred, batch)))  # far from the origin inner products would lose digits
        directions, shifts, stretches = self.directions[np.newaxis], None, None
        if frame == "whitened":
            directions, shifts, stretches = pull_back(whitenings(batch), self.directions)
        return self.space.slices(batch, directions, self.n_radii, self.mirrored), shifts, stretches


def check_frame(frame: Any, space: Space) -> None:
    """Refuse frames that are unknown, or that a space does not have."""
    if not isinstance(frame, str) or frame not in FRAMES:
        raise InputError("frame", f"be one of {', '.join(FRAMES)}", repr(frame))
    if frame == "whitened" and not space.linear:
        raise InputError(
            "frame",
            f"be 'fixed' in the {space.name} space, which is not flat or not sliced by inner products",
            repr(frame),
            "Images, signals and the euclidean space can be whitened.",
        )


def check_normalization(how: Any) -> None:
    """Refuse normalisations that are unknown."""
    if not (how is None or isinstance(how, str)) or how not in NORMALIZATIONS:
        raise InputError("normalize", f"be one of {', '.join(map(repr, NORMALIZATIONS))}", repr(how))


def resolve_directions(space: Space, dimension: int, n_directions: int, given: Any) -> tuple[Array, Array]:
    """Return directions and weights that sum to one: the space's own, or a given array or (array, weights)."""
    if given is None:
        n_directions = positive_integer(n_directions, "n_directions", "256 is a good start.")
        directions, weights = space.directions(n_directions, dimension), None
    else:
        directions, weights = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
    directions = np.array(as_floats(directions, "directions"), np.float64, order="C")  # a copy: plans do not change
    if directions.ndim == 0 or len(directions) == 0:
        raise InputError("directions", "be at least one", f"shape {directions.shape}", "One direction per row.")
    check_finite(directions, "directions")
    if dimension and (directions.ndim != 2 or directions.shape[1] != dimension or len(directions) == 0):
        raise InputError(
            "directions",
            f"have shape (n_directions, {dimension}) in the {space.name} space",
            directions.shape,
            "One direction per row.",
        )
    if space.unit_directions:
        directions = unit_vectors(directions, "directions")
    if weights is None:
        return directions, np.full(len(directions), 1 / len(directions))
    weights = as_floats(weights, "the weights of directions")
    if weights.shape != (len(directions),):
        raise InputError(
            "the weights of directions",
            f"be one number per direction, {len(directions)}",
            f"shape {weights.shape}",
            "Pass (directions, weights).",
        )
    low, high = check_finite(weights, "the weights of directions")
    if low < 0 or high == 0:
        raise InputError(
            "the weights of directions",
            "be non-negative with positive sum",
            f"a minimum of {low:g} and a maximum of {high:g}",
            "Pass (directions, weights).",
        )
    weights = weights / high  # or the sum of large ones might not be finite
    return directions, weights / weights.sum()


def refuse_directions(
    aggregations: Sequence[Aggregation], directions: Array, space: Space, weights: Array | None = None
) -> None:
    """Refuse aggregations that ask for an order or an even spread that directions, or their weights, do not have."""
    for one in aggregations:
        if "circle" in one.needs and not run_around(directions):
            raise InputError(
                f"aggregate {one.name!r}",
                "have directions in order around a whole circle",
                f"directions of shape {directions.shape} in the {space.name} space",
                "Use 'max', or plane directions sorted by angle, at least two.",
            )
        if "even" not in one.needs:
            continue
        even = weights is None or weights_are_even(weights)
        if not (even and space.unit_directions and evenly_spread(directions)):
            raise InputError(
                f"aggregate {one.name!r}",
                "have directions spread evenly over a circle or a sphere",
                f"directions of shape {directions.shape}{('' if even else ', weighted,')} in the {space.name} space",
                "Leave directions out, take more of them, or use 'max'.",
            )
