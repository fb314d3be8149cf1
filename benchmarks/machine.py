"""The machine that is measured on, and how every script is called on it: command line, one thread, files written."""

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
PACKAGES = ("nrcdt", "numpy", "numba", "scipy", "scikit-learn", "astra-toolbox", "scikit-image")


def available_cores():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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


def command_line(doc, out, quick="seconds, with few samples; not for quoting"):
    """Return the parser of a script: the first line of its text, ``--out FOLDER`` and ``--quick``."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--out", type=Path, default=out, help="folder for the results")
    parser.add_argument("--quick", action="store_true", help=quick)
    return parser


def printed_by(command, **environment):
    """Run a script in a fresh process that is allowed one thread; return the JSON of its last line."""
    done = subprocess.run(
        [sys.executable, *command], env=os.environ | ONE_THREAD | environment, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} must finish; got this instead:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def write(folder, files):
    """Write files by name into a folder: text as it is, anything else as JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content, indent=1) + "\n"
        (folder / name).write_text(text, encoding="utf-8")
