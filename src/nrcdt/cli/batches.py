"""Files on their way to a table of features: read one by one, transformed in batches that fit in memory."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import nrcdt

from ..errors import InputError
from .console import FAILURES, complain, printable, progress_bar, reason, remark, report, say, storable, unreadable

if TYPE_CHECKING:
    from ..arrays import Array
    from ..files import Kind
    from ..plan import Plan

BATCH_SAMPLES = 32
BATCH_BYTES = 256_000_000
MAX_REMARKS = 1000  # in the metadata of a table, which readers load whole


class Gathered(NamedTuple):
    """Files to read, how many paths failed, how many of them may not be read, and what was left out, by reason."""

    files: list[Path]
    n_wrong: int
    n_locked: int
    left_out: dict[str, list[Path]]

    def without(self, target: Path) -> Gathered:
        """Leave an older table in the same folder alone."""
        place = os.path.realpath(target)  # of loops too, which `Path.resolve` does not survive

        def others(paths: list[Path]) -> list[Path]:
            return [path for path in paths if path.name != target.name or os.path.realpath(path) != place]

        left_out = {why: others(some) for why, some in self.left_out.items()}
        return self._replace(files=others(self.files), left_out=left_out)

    def say_left_out(self, verbose: bool) -> str:
        """Name what was left out, if that is wanted; return how much there is of it, by reason."""
        counts = [f"{len(paths)} {why}" for why, paths in self.left_out.items() if paths]
        for why, paths in self.left_out.items() if verbose else ():
            for path in paths:
                say(f"{printable(path)}: left out, {why}")
        return f"; left out: {', '.join(counts)}{'' if verbose else ' (-v names them)'}" if counts else ""


def gather(paths: list[Path]) -> Gathered:
    """List the files of all paths that lead to some; name the paths that lead to none, and count them."""
    from ..files import collect

    usable: list[Path] = []
    wrong: list[ValueError] = []
    n_locked = 0
    for path in paths:
        try:
            if not path.is_dir():
                collect([path])
            usable.append(path)
        except OSError as error:  # in a folder that may not be looked into
            wrong.append(ValueError(f"{printable(path)}: {unreadable(error)}"))
            n_locked += 1
        except ValueError as error:
            wrong.append(error)
    if not usable:
        raise wrong[0]
    for problem in wrong:
        complain(reason(problem))
    found = collect(usable)
    for folder in found.locked:
        complain(f"{printable(folder)}: the folder must be readable; got none of its files. Change its permissions.")
    left_out = {"of other kinds": found.left_out, "of unknown suffixes": found.unknown, "hidden": found.hidden}
    left_out["behind links"] = found.linked
    return Gathered(found.files, len(wrong) + len(found.locked), n_locked + len(found.locked), left_out)


def one_kind(files: list[Path]) -> Kind:
    """Return the kind that all files have in common."""
    from ..files import SUFFIXES, kind_of

    if not files:
        known = " ".join(suffix for suffixes in SUFFIXES.values() for suffix in suffixes)
        raise InputError("PATH", "hold at least one file with a known suffix", "none", f"Known are {known}.")
    first = {kind_of(path): path for path in reversed(files)}
    if len(first) > 1:
        found = ", ".join(f"{kind} {printable(path)}" for kind, path in first.items())
        raise InputError("PATH", "hold files of one kind", found, "Run once for each kind, as in scans/*.png.")
    return next(iter(first))


def class_names(files: Sequence[Path], given: Sequence[Path]) -> list[str]:
    """Return the class of every file: the sub-folder it lies in, or its own name if it lies in none.

    Parameters
    ----------
    files : the files
    given : the files and folders that were asked for; sub-folders are those of the folder that holds them all

    Examples
    --------
    >>> class_names([Path("scans/jug/1.png"), Path("scans/key/1.png"), Path("scans/crown.png")], [Path("scans")])
    ['jug', 'key', 'crown']
    """
    folders = [path.absolute().parent if path in files else path.absolute() for path in given]
    root = Path(os.path.commonpath(folders))
    names = [path.absolute().relative_to(root) for path in files]
    stems = Counter(name.stem if len(name.parts) == 1 else name.parts[0] for name in set(names))
    return [name.stem if len(name.parts) == 1 and stems[name.stem] == 1 else name.parts[0] for name in names]


def space_for(kind: Kind, space: str | None) -> str:
    """Return the space asked for, or the usual one, for files of a kind."""
    from ..spaces import SPACES

    measure = "images" if kind == "image" else "points"
    fitting = [name for name, one in SPACES.items() if one.measure == measure]
    if space is None:
        return fitting[0]
    if space not in fitting:
        raise InputError("--space", f"be one of {', '.join(fitting)} for files of kind {kind}", space)
    return space


def reader(kind: Kind, ink: str, surface: int | None, *, cut: bool = False) -> Callable[[Path], Any]:
    """Return what reads files of a kind, or refuse options that are for others.

    Pictures may be cut to their ink as soon as they are read, so that large scans do not pile up.
    """
    from ..files import read_cloud, read_image, read_mesh
    from ..rasters import ink_only

    if ink != "auto" and kind != "image":
        raise InputError("--ink", f"be left out for files of kind {kind}", ink, "It is for pictures.")
    if surface is not None and kind != "mesh":
        raise InputError("--surface", f"be left out for files of kind {kind}", surface, "It is for meshes.")

    def read_ink(path: Path) -> Array:
        image = _with_ink(read_image(path, ink), ink)
        return ink_only(image) if cut else image

    return {"image": read_ink, "cloud": read_cloud, "mesh": lambda path: read_mesh(path, surface)}[kind]


def _with_ink(image: Array, ink: str) -> Array:
    if not image.any():
        remedies = {"dark": "Try --ink light, or leave it out.", "light": "Try --ink dark, or leave it out."}
        raise InputError("the picture", "have ink", f"none with --ink {ink}", remedies.get(ink, "Drop the file."))
    return image


def walk(files: list[Path], work: Work, read: Callable[[Path], Any]) -> None:
    """Read files one by one, and transform them in batches that fit in memory."""
    with progress_bar("features", len(files)) as advance:
        for path in files:
            try:
                sample = read(path)
                dimension = work.check(sample)
            except FAILURES as error:
                work.fail(path, error)
            else:
                work.look_for_pages(path)
                work.take(path, sample, dimension)
            advance()
        work.flush()


class Work:
    """Samples on their way to a table, a batch at a time; they are kept themselves where `keep` says so.

    The dimension that most samples of the first batch have is asked of all. The scales of several aggregations are
    learnt on the way and applied at the end.
    """

    def __init__(
        self, space: str, aggregate: str | list[str], settings: dict[str, Any], jobs: int = 1, *, keep: bool = False
    ) -> None:
        from ..spaces import find_space

        self.space, self.aggregate, self.jobs, self.keep = find_space(space), aggregate, jobs, keep
        self.settings = {"aggregate": aggregate, **settings}
        self.plan: Plan | None = None
        self.paths: list[Path] = []
        self.names: list[str] = []
        self.samples: list[Any] = []
        self.remarks: list[str] = []
        self.pages: dict[Path, int] = {}
        self.n_unreadable = 0
        self.others: Counter[int] = Counter()
        self._rows: list[Array] = []
        self._batch: list[tuple[Path, Any, int]] = []
        self._n_bytes = 0

    def check(self, sample: Any) -> int:
        """Return the dimension of a sample, or raise a ValueError that says what is wrong with it."""
        return self.space.dimension(self.space.check([sample])[0])

    def take(self, path: Path, sample: Any, dimension: int) -> None:
        """Put a checked sample into the batch."""
        self._batch.append((path, sample, dimension))
        self._n_bytes += (sample[0] if isinstance(sample, tuple) else sample).nbytes
        if len(self._batch) == BATCH_SAMPLES or self._n_bytes > BATCH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Transform the batch; if that fails, one by one, to find out whose fault it was."""
        batch, self._batch, self._n_bytes = self._batch, [], 0
        if not batch:
            return
        if self.plan is None:
            self._settle(Counter(dimension for _, _, dimension in batch).most_common(1)[0][0])
        for path, _, dimension in batch:
            if dimension != self._dimension:
                self.others[dimension] += 1
                rule = f"have {self._dimension} coordinates like other files"
                self.fail(path, InputError("the sample", rule, dimension, "Run once for each dimension."))
        fitting = [(path, sample) for path, sample, dimension in batch if dimension == self._dimension]
        try:
            self._transform(fitting)
        except FAILURES:
            for one in fitting:
                try:
                    self._transform([one])
                except FAILURES as error:
                    self.fail(one[0], error)

    def fail(self, path: Path, error: BaseException) -> None:
        """Name a file that is not in the table, and what is wrong with it."""
        self.n_unreadable += isinstance(error, OSError)
        self.remarks.append(report(path, error))

    def look_for_pages(self, path: Path) -> None:
        """Remember a picture of which only the first page, or frame, is read."""
        from ..files import count_pages

        if self.space.measure == "images" and (n_pages := count_pages(path)) > 1:
            self.pages[path] = n_pages
            self.remarks.append(f"{printable(path)}: the first of {n_pages} pages or frames")

    def say_remarks(self) -> None:
        """Say in a line each what concerns many files, beside those that failed."""
        if self.pages:
            path, n_pages = next(iter(self.pages.items()))
            named = f"{len(self.pages)} picture{'s' * (len(self.pages) > 1)}, such as {printable(path)} ({n_pages})"
            remark(f"several pages or frames: only the first was read of {named}. Split them for a row each.")
        if sum(self.others.values()) > len(self.paths):
            (dimension, n_files), decided = self.others.most_common(1)[0], f"the first {BATCH_SAMPLES} files decided"
            remark(f"{n_files} files have {dimension} coordinates: {decided} on {self._dimension}. Run again for them.")

    def failures(self, n_locked: int) -> str:
        """Return for which reasons files are not in the table, as far as the reasons are not in the files."""
        reasons = {"unreadable": self.n_unreadable + n_locked, "of another dimension": sum(self.others.values())}
        named = ", ".join(f"{n} {why}" for why, n in reasons.items() if n)
        return f" ({named})" * bool(named)

    def about(self, **reading: Any) -> dict[str, Any]:
        """Return what a table should tell of how it was made; the settings are arguments of `Plan.resolve`."""
        settings = {"space": self.space.name, "dimension": self._dimension, **self.settings}
        scales = {"scales": self._scales.scales_.tolist()} if self.plan and self.plan.scaled else {}
        reading = {name: value for name, value in reading.items() if value is not None}
        n_more = len(self.remarks) - MAX_REMARKS
        remarks = [*self.remarks[:MAX_REMARKS], *[f"and {n_more} more"] * (n_more > 0)]
        return {"version": nrcdt.__version__, "settings": settings, "reading": reading, **scales, "remarks": remarks}

    def _settle(self, dimension: int) -> None:
        from ..plan import Plan
        from ..scales import BlockScales

        self._dimension = dimension
        self.plan = Plan.resolve(self.space, dimension=dimension, **self.settings)
        self._scales = BlockScales(self.plan.block_sizes)

    def _transform(self, batch: list[tuple[Path, Any]]) -> None:
        from ..transform import gather

        if batch and self.plan is not None:
            measures = self.space.check([sample for _, sample in batch])
            features = gather(measures, self.plan, self.plan.features, self.jobs)
            self._scales.partial_fit(features)
            self._rows.append(features)
            self.paths += [path for path, _ in batch]
            self.names += [storable(path) for path, _ in batch]
            self.samples += [sample for _, sample in batch if self.keep]

    def features(self) -> Array:
        """Return all features, as `NRCDT.fit_transform` does for all samples at once."""
        import numpy as np

        rows = np.concatenate(self._rows)
        return self._scales.transform(rows) if self.plan and self.plan.scaled else rows
