"""Below other processes and threads, without a compiler, and while the compiler works."""

import logging
import multiprocessing
import os
import subprocess
import sys
import warnings
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import numpy as np
import pytest
from joblib import parallel_config
from numba.core.event import EventStatus
from PIL import Image

import nrcdt.threads
from features_fixture import STORED, batches, made
from nrcdt import NRCDT, kernels, sliced_wasserstein
from nrcdt.datasets import watermarks
from nrcdt.directions import circle
from nrcdt.kernels import compiling
from nrcdt.threads import thread_count

IMAGES = watermarks(4, size=32)[0]
HERE = Path(__file__).parent


def run(code, *arguments, **environment):
    """Run some Python in a process of its own."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, env=os.environ | environment, cwd=HERE, capture_output=True, text=True, check=False)


def features_on_two_threads(_=None):
    """Return features, how many threads made them, and what was warned of."""
    counts, start = [], nrcdt.threads._map_threads

    def counted(work, items, n_threads):
        counts.append(n_threads)
        return start(work, items, n_threads)

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        patch.setattr(nrcdt.threads, "_map_threads", counted)
        found = NRCDT(n_directions=8, n_quantiles=8, n_jobs=2).fit_transform(IMAGES)
    return found, counts, [str(one.message) for one in caught]


@pytest.mark.parametrize("how", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_workers_get_their_threads_and_no_false_warning(how):
    if how not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {how} here")
    expected, *here = features_on_two_threads()
    assert here == [[2], []]
    with multiprocessing.get_context(how).Pool(1) as pool:
        found, *there = pool.apply(features_on_two_threads)
    assert there == [[2], []]
    np.testing.assert_array_equal(found, expected)


def test_threads_get_threads_too():
    found = []
    thread = Thread(target=lambda: found.append(features_on_two_threads()[1:]))
    thread.start()
    thread.join()
    assert found == [([2], [])]


@pytest.mark.parametrize(
    ("config", "none", "three"),
    [
        ({}, 1, 3),
        ({"n_jobs": 2}, 2, 3),
        ({"backend": "loky", "n_jobs": 2}, 2, 3),
        ({"backend": "threading", "n_jobs": 2}, 2, 3),
        ({"prefer": "processes", "n_jobs": 2}, 2, 3),
        ({"backend": "sequential"}, 1, 1),
    ],
)
def test_what_joblib_is_told_holds(config, none, three):
    with parallel_config(**config):
        assert (thread_count(None, 9), thread_count(3, 9), thread_count(1, 9)) == (none, three, 1)
        assert (thread_count(None, 1), thread_count(3, 2)) == (1, min(2, three))


NO_CACHE = {"NUMBA_CACHE_DIR": "", "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator"}


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_leaves_the_cache_of_its_parent():
    code = """
import os, sys
from pathlib import Path
from nrcdt.kernels import compiled, compiling
compiled("cpu")
if not os.fork():
    sys.exit()
os.wait()
print(Path(compiling.config.CACHE_DIR).is_dir(), compiling.config.CACHE_DIR)
"""
    done = run(code, **NO_CACHE)
    kept, folder = done.stdout.split()
    assert kept == "True"
    assert not Path(folder).exists()


QUIET = {"PYTHONWARNINGS": "ignore"}  # noise images are no drawings


def check_features_without_a_compiler():
    """In every space, with every setting, features are those that compiled kernels made, up to rounding."""
    with np.load(STORED) as stored:
        for name, batch in batches().items():
            exact = 1e-12 if not any(word in name for word in ("float32", "dtypes", "mixed", "ragged")) else 1e-5
            for key, found in made(*batch).items():
                power = 3 if "bispectrum" in key else 1  # cube roots, also of what should be zero
                found, wanted = found**power, stored[f"{name}/{key}"] ** power
                limit = {"rtol": exact, "atol": exact * np.abs(wanted).max()}
                np.testing.assert_allclose(found, wanted, **limit, err_msg=f"{name}/{key}")
    clouds = batches()["euclidean"][1]
    slices = np.sort(clouds @ circle(8).T, axis=1)
    distances = np.sqrt(((slices[:, np.newaxis] - slices) ** 2).mean(axis=(2, 3)))
    np.testing.assert_allclose(sliced_wasserstein(clouds, space="euclidean", n_directions=8), distances, atol=1e-12)
    assert kernels._found.cache_info().currsize == len(kernels.KERNELS)
    assert "nrcdt.kernels.cpu" not in sys.modules


@pytest.mark.slow
def test_without_a_compiler_features_are_the_same():
    done = run("import test_runtime; test_runtime.check_features_without_a_compiler()", NUMBA_DISABLE_JIT="1", **QUIET)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_without_a_compiler_the_example_of_the_readme_runs():
    done = run("import test_readme; test_readme.test_the_example_prints_what_it_says()", NUMBA_DISABLE_JIT="1")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


@pytest.fixture
def notice(monkeypatch):
    """A notice, and what tells it of functions that take so many seconds to compile."""
    one, clock = compiling.Notice(), [0.0]
    monkeypatch.setattr(compiling, "perf_counter", lambda: clock[0])

    def compile_one(seconds, module="nrcdt.kernels.order", inner=()):
        function = SimpleNamespace(py_func=SimpleNamespace(__module__=module))
        event = {"data": {"dispatcher": function}}
        one.notify(SimpleNamespace(is_start=True, is_end=False, status=EventStatus.START, **event))
        for part in inner:
            compile_one(*part)
        clock[0] += seconds
        one.notify(SimpleNamespace(is_start=False, is_end=True, status=EventStatus.END, **event))
        clock[0] += 100  # what is not compiling does not count

    compile_one.notice = one
    return compile_one


def test_two_seconds_of_compiling_are_announced_once(notice, caplog):
    for _ in range(3):
        notice(0.6)
    assert caplog.records == []
    for _ in range(3):
        notice(0.6)
    [record] = caplog.records
    assert (record.name, record.levelno, record.getMessage()) == ("nrcdt", logging.WARNING, compiling.ONCE)


def test_what_is_compiled_inside_counts_once_and_what_users_compile_does_not(notice, caplog):
    notice(50, "mine", inner=[(50, "numba.np.arrayobj")])
    notice(0.9, inner=[(0.9, "numba.np.arrayobj")])  # and the 100 seconds of the inner one, which end before
    assert notice.notice.seconds == pytest.approx(101.8)
    assert len(caplog.records) == 1


COMPILE = """
import numpy as np
from nrcdt import NRCDT
NRCDT(n_directions=8, n_quantiles=8).fit_transform([np.eye(9), np.tri(9)])
"""


@pytest.mark.slow
def test_the_first_call_of_a_fresh_installation_says_what_it_waits_for(tmp_path):
    fresh = {"NUMBA_CACHE_DIR": str(tmp_path / "new")}
    first, second = run(COMPILE, **fresh), run(COMPILE, **fresh)
    assert (first.stdout, first.stderr) == ("", compiling.ONCE + "\n")
    assert (second.stdout, second.stderr) == ("", "")
    homeless = run(COMPILE, **NO_CACHE)
    assert (homeless.stdout, homeless.stderr) == ("", compiling.EVERY_TIME + "\n")


@pytest.mark.slow
def test_the_command_line_says_it_in_one_line(tmp_path):
    Image.fromarray(np.uint8(255 * IMAGES[0])).save(tmp_path / "a.png")
    code = "import sys; from nrcdt.cli import app; app(sys.argv[1:])"
    arguments = ["features", tmp_path / "a.png", "-o", tmp_path / "a.csv", "--quantiles", 8, "--aggregate", "tv"]
    arguments += ["--aggregate", "max", "--jobs", 2]
    fresh = {"NUMBA_CACHE_DIR": str(tmp_path / "new")}
    first, second = run(code, *arguments, **fresh), run(code, *arguments, **fresh)
    assert first.stderr == compiling.ONCE + "\n"
    assert first.stdout.startswith("1 written to ")
    assert second.stderr == ""


WORKERS = """
from nrcdt.catalogue.intake import Settings
from nrcdt.catalogue.workers import Workers
with Workers(2) as workers:
    print(len(list(workers.map((key, b"no picture", Settings()) for key in range(2)))))
"""


@pytest.mark.slow
def test_many_workers_that_compile_are_announced_once(tmp_path):
    done = run(WORKERS, NUMBA_CACHE_DIR=str(tmp_path))
    assert (done.stdout, done.stderr) == ("2\n", compiling.ONCE + "\n")
