"""What an audit found, for people: tables for the terminal, a page, and the numbers as JSON."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from rich.table import Table

from ..errors import InputError
from ..whole_files import write_whole
from .search import MIXED_UP, SIZES, Audit, Pair, Trial

SHOWN_PAIRS = 12
SETTINGS = ("", "directions", "quantiles", "features", "accuracy", "spread / distance")
PAIRS = ("classes", "distance", "spread", "margin", "copies mixed up", "")
BETTER = "Try the whitened frame: --frame whitened --aggregate mean_abs."


def check_folder(out: Path) -> None:
    """Make the folder for the report, or say why it cannot be."""
    if out.exists() and not out.is_dir():
        raise InputError("out", "be a folder", f"the file {out}", "Choose another name.")
    page, numbers = out / "audit.html", out / "audit.json"
    ours = page.exists() and "<title>nrcdt audit: " in page.read_text(encoding="utf-8", errors="replace")
    if not ours and (page.exists() or numbers.exists()):
        raise InputError("out", "not hold another audit.html or audit.json", out, "Choose another folder.")
    out.mkdir(parents=True, exist_ok=True)


def write(audit: Audit, out: Path) -> Path:
    """Write `audit.json` and `audit.html` into a folder, and return the path of the page."""
    check_folder(out)
    write_whole(out / "audit.json", json.dumps(as_numbers(audit), indent=1).encode())
    page = out / "audit.html"
    write_whole(page, html_page(audit).encode())
    return page


def as_numbers(audit: Audit) -> dict[str, Any]:
    """Return what an audit found as dictionaries, lists and numbers."""
    numbers = audit._asdict() | {"recommendation": audit.code}
    numbers["settings"] = {name: _plain(value) for name, value in audit.settings.items()}
    for name in ("chosen", "recommended"):
        numbers[name] = _trial_numbers(numbers[name])
    for name in ("trials", "attempts"):
        numbers[name] = [_trial_numbers(trial) for trial in numbers[name]]
    numbers["pairs"] = [pair._asdict() | {"verdict": pair.verdict} for pair in audit.pairs]
    return numbers


def _plain(value: Any) -> Any:
    return value if isinstance(value, (str, list)) else str(value)


def _trial_numbers(trial: Trial) -> dict[str, Any]:
    return trial._asdict() | {"accuracy": trial.accuracy}


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
    linear = audit.space in ("image", "euclidean")
    return f"{said} {BETTER}" if linear and audit.settings["frame"] == "fixed" else said


def settings_rows(audit: Audit) -> list[tuple[str, ...]]:
    """Return the sizes asked about and those recommended, as text."""
    rows = [("asked about", audit.chosen), ("recommended", audit.recommended)]
    return [(name, *_trial_text(trial)) for name, trial in rows]


def _trial_text(trial: Trial) -> tuple[str, ...]:
    sizes = (trial.n_directions, trial.n_quantiles, trial.n_features)
    return *(f"{size:,}" for size in sizes), f"{trial.accuracy:.3f}", f"{trial.spread:.3f}"


def _pair_text(pair: Pair) -> tuple[str, ...]:
    numbers = (f"{pair.distance:.3g}", f"{pair.spread:.3g}", f"{pair.margin:.2f}", str(pair.n_mixed_up))
    return _both(pair), *numbers, pair.verdict


def _both(pair: Pair) -> str:
    return f"{pair.first} and {pair.second}"


def rich_tables(audit: Audit) -> list[Table]:
    """Return tables for the terminal: sizes, and pairs of classes that lie close."""
    sizes = _rich_table(f"Features under random maps, {sum(audit.classes.values())} samples", SETTINGS)
    for row, style in zip(settings_rows(audit), (None, "bold"), strict=True):
        sizes.add_row(*row, style=style)
    pairs = _rich_table("Classes that lie closest", PAIRS)
    for pair in audit.pairs[:SHOWN_PAIRS]:
        pairs.add_row(*_pair_text(pair), style="red" if pair.verdict == MIXED_UP else None)
    return [sizes, pairs]


def _rich_table(title: str, columns: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left")
    for place, column in enumerate(columns):
        table.add_column(column, justify="left" if place == 0 else "right")
    return table


def html_page(audit: Audit) -> str:
    """Return the page, which holds its pictures and needs nothing else."""
    return PAGE.substitute(
        headline=escape(headline(audit)),
        outcome=escape(outcome(audit)),
        code=escape(audit.code),
        settings=_html_table(SETTINGS, settings_rows(audit), ["", "best"]),
        grid=_html_grid(audit),
        pairs=_html_table(PAIRS, map(_pair_text, audit.pairs[:SHOWN_PAIRS]), [p.verdict for p in audit.pairs]),
        n_hidden=_hidden(len(audit.pairs) - SHOWN_PAIRS),
        figures=_figures(audit),
        n_samples=audit.n_samples,
        n_copies=audit.chosen.n_copies,
        n_fresh=audit.recommended.n_copies,
        attempts="".join(f"<li>{_attempt(trial)}</li>" for trial in audit.attempts),
        classes=", ".join(f"{escape(name)} ({n})" for name, n in audit.classes.items()),
    )


def _hidden(n: int) -> str:
    return f"<p class=quiet>{n} more pairs are in audit.json.</p>" if n > 0 else ""


def _attempt(trial: Trial) -> str:
    sizes = f"{trial.n_directions} directions, {trial.n_quantiles} quantiles"
    return f"{sizes}: {trial.n_right} of {trial.n_copies} right"


def _html_table(columns: Sequence[str], rows: Any, styles: Sequence[str]) -> str:
    head = "".join(f'<th scope="col">{column}</th>' for column in columns)
    body = "".join(
        f'<tr class="{style.replace(" ", "-")}">' + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row, style in zip(rows, styles, strict=False)
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _html_grid(audit: Audit) -> str:
    """Accuracy over directions and quantiles, the recommended size framed, lighter where it is worse."""
    found = {trial[:2]: trial for trial in audit.trials}
    worst = min(trial.accuracy for trial in audit.trials)
    body = []
    for k in SIZES:
        cells = "".join(_grid_cell(audit, found[k, m], worst) for m in SIZES)
        body.append(f'<tr><th scope="row">{k}</th>{cells}</tr>')
    head = "".join(f'<th scope="col">{m}</th>' for m in SIZES)
    upper = f'<tr><td></td><th colspan="{len(SIZES)}">quantiles</th></tr>'
    return (
        f'<div class="scroll"><table class="grid"><thead>{upper}<tr><th scope="col">directions</th>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def _grid_cell(audit: Audit, trial: Trial, worst: float) -> str:
    share = (trial.accuracy - worst) / (1 - worst) if worst < 1 else 1.0
    chosen = ' class="chosen"' if trial[:2] == audit.recommended[:2] else ""
    text = "100" if trial.n_right == trial.n_copies else f"{100 * trial.accuracy:.1f}"
    return f'<td{chosen} style="--share: {100 * share:.0f}%">{text}</td>'


def _figures(audit: Audit) -> str:
    try:
        return FIGURES.substitute(accuracy=_accuracy_figure(audit), margins=_margin_figure(audit))
    except ImportError as error:
        return f"<p>{escape(str(error))}</p>"


def _new_figure() -> tuple[Any, Any]:
    """Make a figure of its own, without the global state of pyplot."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("figures must have matplotlib; got none. Run pip install 'nrcdt[plot]'.") from error
    figure = Figure(figsize=(4.6, 3.6), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _png(figure: Any) -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=160)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


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
    return _png(figure)


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
    ax.annotate(_both(worst), (max(worst.spread, low), max(worst.distance, low)), **place)
    ax.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high))
    ax.set(xlabel="spread within both classes", ylabel="distance between classes")
    return _png(figure)


FIGURES = Template("""
<div class="plots">
<figure><img src="$accuracy" alt="Accuracy against the number of directions and of quantiles">
<figcaption>Accuracy against directions with most quantiles, and against quantiles with most directions.</figcaption>
</figure>
<figure><img src="$margins" alt="Distance between classes against spread within them">
<figcaption>Pairs of classes. In the shaded part maps move features further than the classes lie apart; crosses were
mixed up.</figcaption></figure>
</div>
""")

PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>nrcdt audit: $headline</title>
<style>
:root { color-scheme: light dark; --text: #22201c; --quiet: #6a655c; --page: #faf8f4; --card: #fff; --line: #e2ddd2;
  --right: #1a7f4b; --wrong: #c0392b; --good: #9fd3b2; --poor: #f6d5cf; }
@media (prefers-color-scheme: dark) {
  :root { --text: #ece8e0; --quiet: #a39d91; --page: #171614; --card: #000; --line: #35322d;
    --right: #4cc38a; --wrong: #ff8d7e; --good: #1d5b3a; --poor: #4a1c17; }
  img { filter: invert(1) hue-rotate(180deg); }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1rem 4rem; max-width: 64rem; background: var(--page); color: var(--text);
  font: 1.05rem/1.6 Georgia, "Times New Roman", serif; }
h1 { font-size: clamp(1.6rem, 5vw, 2.4rem); line-height: 1.2; text-wrap: balance; margin: 0 0 1rem;
  font-weight: normal; }
h2 { font-size: 1.35rem; font-weight: normal; margin: 2.8rem 0 .6rem; }
p, ol { max-width: 42rem; margin: .6rem 0; }
.quiet { color: var(--quiet); font-size: .92rem; overflow-wrap: anywhere; }
code { display: block; overflow-x: auto; padding: .8rem 1rem; background: var(--card); border: 1px solid var(--line);
  border-radius: .4rem; font: .95rem/1.4 ui-monospace, monospace; max-width: 48rem; white-space: pre-wrap; }
.scroll { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font: .95rem/1.4 system-ui, sans-serif; font-variant-numeric: tabular-nums; }
th, td { padding: .4rem .9rem; border-bottom: 1px solid var(--line); text-align: right; }
th { color: var(--quiet); font-weight: 500; } th:first-child, td:first-child { text-align: left; padding-left: 0; }
.best { font-weight: 700; } .apart td:last-child { color: var(--right); }
.mixed-up td { color: var(--wrong); font-weight: 700; }
.grid { border-spacing: 2px; border-collapse: separate; } .grid th, .grid td { border: 0; padding: .35rem .5rem; }
.grid thead th[colspan] { text-align: center; }
.grid tbody td { border-radius: .3rem; text-align: center;
  background: color-mix(in oklab, var(--good) var(--share), var(--poor)); }
.grid .chosen { outline: 3px solid var(--text); outline-offset: -1px; font-weight: 700; }
.plots { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); }
figure { margin: 1rem 0 0; } figure img { display: block; width: 100%; border: 1px solid var(--line);
  border-radius: .4rem; }
figcaption { padding: .4rem 0; color: var(--quiet); font-size: .92rem; }
@media (max-width: 30rem) { table { font-size: .8rem; } th, td { padding: .4rem .25rem; vertical-align: top; }
  .grid { border-spacing: 1px; } .grid th, .grid td { padding: .3rem .2rem; } }
</style>
</head>
<body>
<h1>$headline</h1>
<p>$outcome</p>
<code>$code</code>

<h2>How invariant the features are</h2>
<p>Every class was put through random maps that should leave the features alone. Spread / distance says how far these
maps move the features, as a share of the distance to the nearest other class: the smaller, the better. Accuracy is the
share of the copies whose nearest neighbour among your samples is of the same class.</p>
$settings
<p class="quiet">The recommended sizes were tried on fresh maps, those asked about on the same maps as all others.</p>

<h2>Which sizes suffice</h2>
<p>Accuracy in percent for every number of directions and quantiles; the recommended size is framed.</p>
$grid
$figures

<h2>Which classes lie close</h2>
<p>With the recommended size, on fresh maps. Distance is that of two samples of two classes; spread is how far maps
moved their features, at most and summed up. Where the margin, distance / spread, is above one, nothing can be mixed
up; below, spreads overlap, and it depends on where maps lead.</p>
$pairs
$n_hidden

<h2>How this was found</h2>
<p>$n_copies copies were drawn to compare sizes: $n_samples of each class, and at least one of each sample. The smallest
size that reached the goal was tried on $n_fresh fresh copies, then larger ones, until one reached it again:</p>
<ol>$attempts</ol>
<p class="quiet">Classes and their samples: $classes.</p>
</body>
</html>
""")
