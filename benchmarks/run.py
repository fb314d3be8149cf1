"""Run the benchmarks: ``python run.py [--out DIR] [--quick]``, or ``nrcdt bench``.

Every case runs in fresh processes with one thread: three of them, since how memory happens to lie changes times by a
third from process to process; the one with the median ratio counts. Three files come out: benchmarks.json with
everything measured, performance_table.md, and scaling.png.
"""

import argparse
import importlib.metadata
import importlib.util
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

from nrcdt.tables import markdown_table

HERE = Path(__file__).resolve().parent
THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
PACKAGES = ("nrcdt", "numpy", "numba", "scipy", "scikit-learn", "astra-toolbox", "scikit-image")
N_PROCESSES = 3
QUICK_NOTE = "A quick run, with few repeats: it shows that everything works, and is not for quoting."
HEADERS = ("case", "ours", "theirs", "ratio", "wanted", "met")


def load_cases():
    """Return the table of cases; the folder need not be part of a package."""
    if str(HERE) not in sys.path:
        sys.path.insert(0, str(HERE))
    from cases import CASES

    return CASES


def available_cores():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def reason_to_skip(case):
    if case.needs and importlib.util.find_spec(case.needs) is None:
        return f"needs the module {case.needs}, which is missing; pip install 'nrcdt[bench]' brings the peers"
    if case.cores > available_cores():
        return f"needs {case.cores} cores; this process may use {available_cores()}"
    return None


def run_case(name, quick):
    """Measure one case in a fresh process that is allowed one thread."""
    command = [sys.executable, str(HERE / "cases.py"), name] + ["--quick"] * quick
    environment = os.environ | dict.fromkeys(THREAD_LIMITS, "1")
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"the case {name} must finish; got this instead:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


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

    cases, results = load_cases(), []
    with Progress(console=console) as progress:
        task = progress.add_task("", total=len(cases))
        for name, case in cases.items():
            progress.update(task, description=name)
            reason = reason_to_skip(case)
            if reason:
                progress.console.print(f"skipped {name}: {reason}", markup=False)
            else:
                results.append(median_run(name, quick))
            progress.advance(task)
    return results


def cpu_model():
    """Name, architecture and whether there are 512-bit vectors, with which NumPy sorts much faster than without."""
    from llvmlite import binding

    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    model = models[0] if models else platform.processor() or platform.machine()
    wide = "with" if binding.get_host_cpu_features().get("avx512f") else "without"
    return f"{model}, {binding.get_host_cpu_name()} {wide} AVX-512"


def machine_facts():
    """CPU, cores and versions; nothing that tells whose machine it is."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = None
    facts = {"cpu": cpu_model(), "cores": available_cores(), "system": platform.system()}
    return facts | {"python": platform.python_version(), "versions": versions}


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
    results, machine = run_cases(quick, console), machine_facts()
    out.mkdir(parents=True, exist_ok=True)
    everything = {"quick": quick, "machine": machine, "cases": results}
    (out / "benchmarks.json").write_text(json.dumps(everything, indent=1) + "\n", encoding="utf-8")
    (out / "performance_table.md").write_text(markdown(results, machine, quick), encoding="utf-8")
    if importlib.util.find_spec("matplotlib"):
        plot_scaling(results, out / "scaling.png")
    else:
        console.print(
            "skipped scaling.png: matplotlib is not installed; pip install 'nrcdt[bench]' brings it", markup=False
        )
    print_table(results, console)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Measure nrcdt against its peers on this machine.")
    parser.add_argument("--out", type=Path, default=default_out(), help="folder for the results")
    parser.add_argument("--quick", action="store_true", help="about a minute; not for quoting")
    arguments = parser.parse_args()
    main(arguments.out, arguments.quick)
