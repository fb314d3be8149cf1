"""Run the benchmarks: ``python run.py [--out DIR] [--quick]``, or ``nrcdt bench``.

Every case runs in fresh processes with one thread: three of them, since how memory happens to lie changes times by a
third from process to process; the one with the median ratio counts. Three files come out: benchmarks.json with
everything measured, performance_table.md, and scaling.png.
"""

import importlib.util
from pathlib import Path

from cases import CASES
from machine import available_cores, command_line, machine_facts, printed_by, write
from nrcdt.tables import markdown_table

HERE = Path(__file__).resolve().parent
N_PROCESSES = 3
QUICK_NOTE = "A quick run, with few repeats: it shows that everything works, and is not for quoting."
HEADERS = ("case", "ours", "theirs", "ratio", "wanted", "met")


def reason_to_skip(case):
    if case.needs and importlib.util.find_spec(case.needs) is None:
        return f"needs the module {case.needs}, which is missing; pip install 'nrcdt[bench]' brings the peers"
    if case.cores > available_cores():
        return f"needs {case.cores} cores; this process may use {available_cores()}"
    return None


def run_case(name, quick):
    """Measure one case in a fresh process that is allowed one thread."""
    return printed_by([str(HERE / "cases.py"), name] + ["--quick"] * quick)


def median_run(name, quick):
    """Measure a case in several processes and return the run in the middle, with the ratios of all."""
    runs = [run_case(name, quick) for _ in range(1 if quick else N_PROCESSES)]
    runs.sort(key=lambda run: run["ours"] if run["ratio"] is None else run["ratio"])
    middle = runs[len(runs) // 2]
    if middle["ratio"] is not None:
        middle["extra"]["ratios"] = [run["ratio"] for run in runs]
    return middle


def run_cases(quick, console):
    """Run all cases that can run here, with progress; say why others are left out."""
    from rich.progress import Progress

    results = []
    with Progress(console=console) as progress:
        task = progress.add_task("", total=len(CASES))
        for name, case in CASES.items():
            progress.update(task, description=name)
            reason = reason_to_skip(case)
            if reason:
                progress.console.print(f"skipped {name}: {reason}", markup=False)
            else:
                results.append(median_run(name, quick))
            progress.advance(task)
    return results


def quantity(value, unit):
    """Write a number with three digits in a unit that suits it."""
    if value is None:
        return ""
    if unit == "s":
        return f"{value:.3g} s" if value >= 1 else f"{1000 * value:.3g} ms"
    return f"{round(value)} {unit}"


def times(value):
    """Write a ratio: three digits, no exponent."""
    return f"{value:.0f}x" if value >= 100 else f"{value:.3g}x"


def wanted(result):
    if result["bar"] is None:
        return ""
    return f"under {result['bar']} {result['unit']}" if result["ratio"] is None else f"{result['bar']}x"


def row(result):
    """The six cells of a case."""
    ratio = "" if result["ratio"] is None else times(result["ratio"])
    met = {None: "", True: "yes", False: "no"}[result["met"]]
    ours, theirs = (quantity(result[key], result["unit"]) for key in ("ours", "theirs"))
    return (result["name"], ours, theirs, ratio, wanted(result), met)


def print_table(results, console):
    from rich.table import Table

    table = Table(*HEADERS)
    for result in results:
        table.add_row(*row(result))
    console.print(table)


def extra_sentence(result):
    """The extra numbers of a case, in one line; the points of the scaling plot are left to the plot."""
    extra = {key: value for key, value in result["extra"].items() if isinstance(value, int | float)}
    minima = [quantity(extra.pop(key), "s") for key in ("ours_min", "theirs_min") if key in extra]
    parts = [f"minima {' and '.join(minima)}"] if minima else []
    if "ratios" in result["extra"]:
        parts.append(f"ratios of the processes {', '.join(times(ratio) for ratio in result['extra']['ratios'])}")
    return ", ".join(parts + [f"{key.replace('_', ' ')} {value:.3g}" for key, value in extra.items()])


def markdown(results, machine, quick):
    """The table, what each case is, and the machine it ran on."""
    lines = [f"**{QUICK_NOTE}**", ""] if quick else []
    lines.append(markdown_table(HEADERS, map(row, results), right=range(1, 5)))
    versions = ", ".join(f"{package} {version}" for package, version in machine["versions"].items() if version)
    lines += [
        "",
        f"Measured on {machine['cpu']} ({machine['cores']} cores), Python {machine['python']}, {versions}.",
        "",
    ]
    for result in results:
        extra = extra_sentence(result)
        lines.append(f"- **{result['name']}.** {result['what']}" + (f" ({extra})" if extra else ""))
    return "\n".join(lines) + "\n"


def written(found):
    """The text that the documentation includes, by file name."""
    return {"performance_table.md": markdown(found["cases"], found["machine"], found["quick"])}


def plot_panel(axes, result):
    """Measured points and the straight line that fits them."""
    extra = result["extra"]
    fixed, each, largest = extra["fixed_milliseconds"], extra["microseconds_each"] / 1000, max(extra["sizes"])
    axes.plot(extra["sizes"], [1000 * seconds for seconds in extra["seconds"]], "o", label="measured")
    axes.plot([0, largest], [fixed, fixed + each * largest], "--", color="grey", label="straight line")
    axes.set(xlabel=extra["axis"], ylabel="milliseconds per image", xlim=(0, None), ylim=(0, None))
    axes.legend()


def plot_scaling(results, path):
    """Draw one panel for each of the scaling cases."""
    from matplotlib.figure import Figure

    shown = [result for result in results if "sizes" in result["extra"]]
    figure = Figure(figsize=(9, 4), layout="constrained")
    for axes, result in zip(figure.subplots(1, len(shown), squeeze=False)[0], shown, strict=True):
        plot_panel(axes, result)
    figure.savefig(path, dpi=150)


def default_out():
    """The documentation's folder in a checkout, else a folder where the command is run."""
    root = HERE.parent
    in_checkout = (root / "pyproject.toml").exists() and (root / "docs").is_dir()
    return root / "docs" / "performance" if in_checkout else Path("nrcdt-bench")


def main(out: Path, quick: bool) -> None:
    """Run all cases, print the table, and write the three files into the folder `out`."""
    from rich.console import Console

    console = Console()
    if quick:
        console.print(QUICK_NOTE)
    results = run_cases(quick, console)
    everything = {"quick": quick, "machine": machine_facts(), "cases": results}
    write(out, {"benchmarks.json": everything, **written(everything)})
    if importlib.util.find_spec("matplotlib"):
        plot_scaling(results, out / "scaling.png")
    else:
        console.print(
            "skipped scaling.png: matplotlib is not installed; pip install 'nrcdt[bench]' brings it", markup=False
        )
    print_table(results, console)


if __name__ == "__main__":
    arguments = command_line(__doc__, default_out(), "about a minute; not for quoting").parse_args()
    main(arguments.out, arguments.quick)
