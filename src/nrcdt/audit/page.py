"""What an audit found, for people: tables for the terminal, a page, and the numbers as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..pages import Table, claim_folder, render
from ..pages.pictures import figure_address, new_figure
from ..spaces import find_space
from ..whole_files import write_whole
from .search import MIXED_UP, SIZES, Audit, Pair, Trial

SHOWN_PAIRS = 12
SETTINGS = ("", "directions", "quantiles", "features", "accuracy", "spread / distance")
PAIRS = ("classes", "distance", "spread", "margin", "copies mixed up", "")
BETTER = "Try the whitened frame: --frame whitened --aggregate mean_abs."


def check_folder(out: Path) -> Path:
    """Make the folder for the report, or say why it cannot be; return the path of the page."""
    return claim_folder(out, "nrcdt audit: ", "not hold another audit.html or audit.json", "audit.html", "audit.json")


def write(audit: Audit, out: Path) -> Path:
    """Write `audit.json` and `audit.html` into a folder, and return the path of the page."""
    page = check_folder(out)
    write_whole(out / "audit.json", json.dumps(as_numbers(audit), indent=1).encode())
    write_whole(page, html_page(audit).encode())
    return page


def as_numbers(audit: Audit) -> dict[str, Any]:
    """Return what an audit found as dictionaries, lists and numbers."""

    def numbers(trial: Trial) -> dict[str, Any]:
        return trial._asdict() | {"accuracy": trial.accuracy}

    settings = {name: one if isinstance(one, (str, list)) else str(one) for name, one in audit.settings.items()}
    return audit._asdict() | {
        "settings": settings,
        "trials": list(map(numbers, audit.trials)),
        "chosen": numbers(audit.chosen),
        "attempts": list(map(numbers, audit.attempts)),
        "recommended": numbers(audit.recommended),
        "holds": audit.holds,
        "pairs": [pair._asdict() | {"verdict": pair.verdict} for pair in audit.pairs],
        "recommendation": audit.code,
    }


def headline(audit: Audit) -> str:
    """Say in one line whether the classes stay apart."""
    n, trial = len(audit.classes), audit.recommended
    if audit.holds and audit.goal >= audit.target:
        return f"{n} classes stay apart with {trial.n_directions} directions and {trial.n_quantiles} quantiles"
    n_wrong = sum(pair.verdict == MIXED_UP for pair in audit.pairs)
    return f"{n} classes do not all stay apart: {n_wrong} {'pair' if n_wrong == 1 else 'pairs'} mixed up"


def outcome(audit: Audit) -> str:
    """Say what was recommended, and how it was verified."""
    trial = audit.recommended
    fresh = f"{trial.n_right} of {trial.n_copies} copies under fresh random maps found their class"
    if audit.goal < audit.target:
        best = max(audit.trials, key=lambda one: one.accuracy).accuracy
        said = f"No size reached the target of {audit.target:g}. This one is as good as the best, {best:.3f}: {fresh}."
    elif audit.holds:
        return f"With the recommended sizes, {fresh}; the target was {audit.target:g}."
    else:
        said = f"The target of {audit.target:g} was reached, but not again on fresh maps. With this size, {fresh}."
    linear = find_space(audit.space).linear
    return f"{said} {BETTER}" if linear and audit.settings["frame"] == "fixed" else said


def tables(audit: Audit) -> list[Table]:
    """Return what people compare: the sizes asked about and those recommended, and pairs of classes that lie close."""
    settings = [("asked about", *_trial_text(audit.chosen)), ("recommended", *_trial_text(audit.recommended))]
    title = f"Features under random maps, {sum(audit.classes.values())} samples"
    pairs = audit.pairs[:SHOWN_PAIRS]
    return [
        Table(title, SETTINGS, settings, ["", "best"]),
        Table("Classes that lie closest", PAIRS, list(map(_pair_text, pairs)), [pair.verdict for pair in pairs]),
    ]


def _trial_text(trial: Trial) -> tuple[str, ...]:
    sizes = (trial.n_directions, trial.n_quantiles, trial.n_features)
    return *(f"{size:,}" for size in sizes), f"{trial.accuracy:.3f}", f"{trial.spread:.3f}"


def _pair_text(pair: Pair) -> tuple[str, ...]:
    numbers = (f"{pair.distance:.3g}", f"{pair.spread:.3g}", f"{pair.margin:.2f}", str(pair.n_mixed_up))
    return " and ".join(pair[:2]), *numbers, pair.verdict


def html_page(audit: Audit) -> str:
    """Return the page, which holds its pictures and needs nothing else."""
    settings, pairs = tables(audit)
    worst = min(trial.accuracy for trial in audit.trials)
    return render(
        "audit.html",
        title=f"nrcdt audit: {headline(audit)}",
        headline=headline(audit),
        outcome=outcome(audit),
        audit=audit,
        settings=settings,
        pairs=pairs,
        sizes=SIZES,
        trials={trial[:2]: trial for trial in audit.trials},
        share=lambda trial: round(100 * (trial.accuracy - worst) / (1 - worst)) if worst < 1 else 100,
        figures=_figures(audit),
    )


def _figures(audit: Audit) -> dict[str, str]:
    try:
        return {"accuracy": _accuracy_figure(audit), "margins": _margin_figure(audit)}
    except ImportError as error:
        return {"missing": str(error)}


def _new_figure() -> tuple[Any, Any]:
    figure, axes = new_figure(4.6, 3.6)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _accuracy_figure(audit: Audit) -> str:
    figure, ax = _new_figure()
    found = {trial[:2]: trial.accuracy for trial in audit.trials}
    ax.plot(SIZES, [found[k, SIZES[-1]] for k in SIZES], "o-", color="#0072B2", label="directions")
    ax.plot(SIZES, [found[SIZES[-1], m] for m in SIZES], "s--", color="#D55E00", label="quantiles")
    ax.axhline(audit.target, color="#888888", lw=0.8, ls=":")
    ax.set_xscale("log", base=2)
    ax.set_xticks(SIZES, labels=[str(size) for size in SIZES])
    ax.set(xlabel=f"number, with {SIZES[-1]} of the other", ylabel="accuracy")
    ax.legend(frameon=False, loc="lower right")
    return figure_address(figure, 160)


def _margin_figure(audit: Audit) -> str:
    figure, ax = _new_figure()
    # Copies of one file have distance zero, which has no place on a logarithmic axis.
    seen = [number for pair in audit.pairs for number in (pair.spread, pair.distance) if number > 0] or [1.0]
    low, high = min(seen) / 2, 2 * max(seen)
    ax.fill_between([low, high], [low, high], low, color="#D55E00", alpha=0.12, lw=0)
    for pair in audit.pairs:
        mark, colour = ("x", "#D55E00") if pair.verdict == MIXED_UP else ("o", "#0072B2")
        ax.plot(max(pair.spread, low), max(pair.distance, low), mark, color=colour, ms=5, clip_on=False)
    worst = audit.pairs[0]
    place = {"xytext": (7, 6), "textcoords": "offset points", "fontsize": 8}
    ax.annotate(" and ".join(worst[:2]), (max(worst.spread, low), max(worst.distance, low)), **place)
    ax.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high))
    ax.set(xlabel="spread within both classes", ylabel="distance between classes")
    return figure_address(figure, 160)
