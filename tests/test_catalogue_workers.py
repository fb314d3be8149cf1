"""Pictures become marks; hostile pictures become sentences, and nothing else suffers."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fuzz_pictures import fuzz
from nrcdt.catalogue import intake as preparing
from nrcdt.catalogue import workers as working
from nrcdt.catalogue.intake import PLAN, SETTINGS, Settings, check_settings, cut_mark, erased, features, prepare
from nrcdt.catalogue.workers import Workers, pack, read_bytes, unpack
from nrcdt.datasets import watermarks
from nrcdt.ink import Ink

LINUX = pytest.mark.skipif(not Path("/proc/self/limits").exists(), reason="needs the /proc of Linux")
POSIX = pytest.mark.skipif(os.name != "posix", reason="needs signals")
CLEAN = Settings(ink=False)


def png(grey, **options):
    file = io.BytesIO()
    Image.fromarray(np.asarray(grey, np.uint8)).save(file, "PNG", **options)
    return file.getvalue()


def paper(height=90, width=120):
    """A dark hook on light paper: columns 30 to 69, rows 20 to 59."""
    grey = np.full((height, width), 240)
    grey[20:60, 30:36] = grey[54:60, 30:70] = 30
    return grey


@pytest.fixture(scope="module")
def drawings():
    return [png(255 - 255 * image) for image in watermarks(6)[0]]


@pytest.fixture(scope="module")
def workers():
    with Workers(2, seconds=60) as pool:
        yield pool


def same(a, b):
    return all(np.array_equal(one, other) for one, other in zip(a, b, strict=True))


@pytest.mark.parametrize(("n", "started"), [(None, 2), (3, 3), (10_000_000, 8)])
def test_there_are_never_many_processes(monkeypatch, n, started):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(Workers, "_started", lambda self: None)
    assert Workers(n).n == started


def test_a_number_of_processes_is_positive():
    with pytest.raises(ValueError, match=r"n must be a positive number of processes; got -3. Leave it out"):
        Workers(-3)


def test_everything_is_kept_of_a_clean_drawing():
    data = png(paper())
    found = prepare(data, CLEAN)
    assert found.sha256 == sha256(data).hexdigest()
    assert (found.width, found.height) == (120, 90)
    assert found.mark.dtype == np.uint8
    np.testing.assert_array_equal(found.mark, np.pad(np.where(paper() == 30, 255, 0)[20:60, 30:70], 1))
    assert found.to_mark == (1, -29, -19)
    assert found.polarity == "dark"
    assert found.features.shape == (PLAN.n_features,)
    assert found.features.dtype == np.float32
    with Image.open(io.BytesIO(found.preview)) as preview:
        assert (preview.format, preview.mode, preview.size) == ("JPEG", "L", (120, 90))
        assert np.abs(np.asarray(preview, float) - paper()).mean() < 4


def test_ink_is_found_in_a_photograph():
    image = watermarks(1)[0][0]
    sheet = 150 - 60 * image + np.linspace(0, 60, 256)
    found, clean = prepare(png(sheet)), prepare(png(255 - 255 * image), CLEAN)
    assert found.polarity == "dark"
    assert 0 <= found.confidence <= 1
    distance = np.linalg.norm(found.features - clean.features)
    other = prepare(png(255 - 255 * watermarks(2)[0][1]), CLEAN)
    assert distance < 0.5 * np.linalg.norm(found.features - other.features)


def test_points_of_the_picture_are_found_in_the_mark():
    grey = np.full((900, 1200), 240)
    grey[200:600, 300:340] = grey[560:600, 300:700] = 30
    settings = CLEAN._replace(crop=(250, 150, 1000, 800))
    found = prepare(png(grey), settings)
    assert max(found.mark.shape) == 256
    scale, dx, dy = found.to_mark
    rows, columns = np.nonzero(grey == 30)
    mark_rows, mark_columns = np.indices(found.mark.shape)
    np.testing.assert_allclose(scale * columns.mean() + dx, np.average(mark_columns, weights=found.mark), atol=0.02)
    np.testing.assert_allclose(scale * rows.mean() + dy, np.average(mark_rows, weights=found.mark), atol=0.02)


def test_points_are_found_when_ink_works_at_a_lower_resolution(monkeypatch):
    image = np.zeros((45, 60), np.float32)
    image[10:30, 15:18] = 1
    ink = Ink(image, "dark", 0.5, ("halved",), 0.5, 40.0)
    monkeypatch.setattr(preparing, "find_ink", lambda part, polarity: ink)
    found = prepare(png(paper()), Settings(bar_mm=10))
    # The stroke covers columns 30 to 35 and rows 20 to 59 of the picture, columns 1 to 3 and rows 1 to 20 of the mark.
    scale, dx, dy = found.to_mark
    np.testing.assert_allclose([scale * 32.5 + dx, scale * 39.5 + dy], [2, 10.5])
    assert found.mm_per_pixel == 0.25
    assert found.steps == ("halved", "a scale bar of 10 mm is 40 pixels long")


def test_a_missing_scale_bar_is_told():
    found = prepare(png(paper(), dpi=(300, 300)), CLEAN._replace(bar_mm=10))
    assert found.mm_per_pixel == pytest.approx(25.4 / 300, rel=1e-3)
    assert "no scale bar was found, so that its length was not used" in found.steps


def test_large_ink_is_averaged_and_small_ink_is_not_enlarged():
    checks = np.indices((1000, 800)).sum(axis=0) % 2
    mark, (scale, _, _) = cut_mark(checks.astype(float))
    assert mark.shape == (256, 206)
    assert scale == 0.254
    assert np.ptp(mark[5:-5, 5:-5].astype(int)) < 60
    assert cut_mark(np.ones((3, 2)))[0].tolist() == np.pad(np.full((3, 2), 255), 1).tolist()


def test_crop_leaves_the_rest_out():
    grey = paper()
    grey[5:15, 100:110] = 30
    assert prepare(png(grey), CLEAN).mark.shape == (57, 82)
    cropped = prepare(png(grey), CLEAN._replace(crop=(0, 0, 95, 1000)))
    assert same(cropped[4:6], prepare(png(paper()), CLEAN)[4:6])


def test_erased_stains_leave_no_trace():
    light = np.linspace(180, 230, 120) * np.ones((90, 1))
    stained = light.copy()
    discs = tuple((90 + 3 * i, 30 + i, 6) for i in range(5))
    for x, y, radius in discs:
        stained[np.hypot(*(np.indices(light.shape) - np.array([y, x])[:, None, None])) < radius] = 20
    painted = erased(stained, discs)
    assert np.abs(painted - light).max() < 8
    assert stained.min() == 20
    np.testing.assert_array_equal(erased(stained, (*discs, (-50, 30, 8), (1e9, 1e9, 2), (5, 5, -1))), painted)
    untouched = painted == stained
    assert untouched[:, :80].all()


def test_polarity_can_be_set():
    grey = paper()
    grey[70:72, 100:104] = 255
    assert prepare(png(grey), CLEAN).polarity == "dark"
    light = prepare(png(grey), CLEAN._replace(polarity="light"))
    assert light.polarity == "light"
    assert light.mark.shape == (4, 6)


def test_deep_pictures_have_a_preview():
    file = io.BytesIO()
    Image.fromarray((paper() * 250).astype(np.uint16)).save(file, "TIFF")
    with Image.open(io.BytesIO(prepare(file.getvalue(), CLEAN).preview)) as preview:
        assert np.ptp(np.asarray(preview).astype(int)) > 240


def test_previews_are_small():
    found = prepare(png(np.kron(paper(), np.ones((10, 10)))), CLEAN)
    with Image.open(io.BytesIO(found.preview)) as preview:
        assert preview.size == (320, 240)


def test_features_ignore_affine_maps():
    image = watermarks(1, size=256)[0][0]
    own = features(image)
    assert np.abs(features(np.flipud(np.rot90(image))) - own).max() < 1e-5
    assert np.abs(features(np.kron(image, np.ones((1, 2)))) - own).max() < 0.01 * np.abs(own).max()
    assert json.loads(json.dumps(SETTINGS)) == SETTINGS


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"colour": 1}, "settings must be some of polarity, crop, erase, ink, bar_mm; got 'colour'"),
        ({"polarity": "both"}, "polarity must be one of auto, dark, light; got 'both'"),
        ({"crop": [1, 2, 3]}, r"crop must be 4 finite numbers; got \[1, 2, 3\]"),
        ({"crop": [1, 2, 3, "4"]}, "crop must be 4 finite numbers"),
        ({"erase": [[1, 2, float("nan")]]}, "each disc of erase must be 3 finite numbers"),
        ({"erase": 5}, "erase must be a list of at most 10000 discs; got 5"),
        ({"erase": [[1, 2, 3]] * 10_001}, "erase must be a list of at most 10000 discs; got 10001 of them"),
        ({"bar_mm": 0}, "bar_mm must be a positive length in millimetres; got 0"),
        ({"bar_mm": "ten"}, "bar_mm must be 1 finite number; got"),
    ],
)
def test_settings_are_checked(values, message):
    with pytest.raises(ValueError, match=message):
        check_settings(values)


def test_settings_survive_json():
    settings = Settings("dark", (1, 2, 30, 40), ((5.5, 6, 7),), False, 20)
    assert check_settings(json.loads(json.dumps(settings._asdict()))) == settings


@pytest.mark.parametrize(
    ("grey", "settings", "message"),
    [
        (
            paper(),
            CLEAN._replace(crop=(200, 0, 300, 50)),
            r"crop must be .* inside the picture of 120 x 90 pixels; got",
        ),
        (paper(), CLEAN._replace(erase=((60, 45, 100),)), "erase must leave some of the picture"),
        (np.full((50, 50), 9), CLEAN, "the picture must hold ink; got one grey level"),
    ],
)
def test_pictures_without_anything_are_refused(grey, settings, message):
    with pytest.raises(ValueError, match=message):
        prepare(png(grey), settings)


@pytest.mark.parametrize("ink", [np.zeros((5, 5)), np.diag([1, np.nan, 1])])
def test_no_ink_is_refused(ink):
    with pytest.raises(ValueError, match="the picture must hold ink; got none"):
        cut_mark(ink)


@pytest.mark.slow
def test_workers_do_what_the_function_does(workers, drawings):
    for settings in (CLEAN, Settings(crop=(3, 4, 250, 251), erase=((9, 9, 3),))):
        assert same(workers.prepare(drawings[0], settings), prepare(drawings[0], settings))


@pytest.mark.slow
def test_errors_of_pictures_travel(workers, drawings):
    with pytest.raises(ValueError, match="the picture must be a whole PNG, JPEG"):
        workers.prepare(drawings[0][:200])
    with pytest.raises(ValueError, match="the picture must hold ink"):
        workers.prepare(png(np.full((50, 50), 9)), CLEAN)
    with pytest.raises(ValueError, match="polarity must be one of"):
        workers.prepare(drawings[0], Settings(polarity="both"))
    with pytest.raises(ValueError, match="the file must have 1 to 256000000 bytes; got 0"):
        workers.prepare(b"")


def test_threads_get_their_own_answers(workers, drawings):
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda data: workers.prepare(data, CLEAN), drawings * 4))
    assert [one.sha256 for one in found] == [sha256(data).hexdigest() for data in drawings * 4]


def test_map_gives_every_job_a_result(workers, drawings, tmp_path):
    path = tmp_path / "drawing"
    path.write_bytes(drawings[1])
    jobs = [("whole", drawings[0], CLEAN), ("broken", drawings[0][:300], CLEAN)]
    jobs += [("file", lambda: read_bytes(path), CLEAN), ("absent", lambda: read_bytes(tmp_path / "no"), CLEAN)]
    results = dict(workers.map(jobs))
    assert results["whole"].sha256 == sha256(drawings[0]).hexdigest()
    assert results["file"].sha256 == sha256(drawings[1]).hexdigest()
    assert isinstance(results["broken"], ValueError)
    assert isinstance(results["absent"], FileNotFoundError)
    assert len(results) == 4


def test_map_reads_a_few_jobs_ahead(workers, drawings):
    taken = []

    def endless():
        while True:
            taken.append(len(taken))
            yield taken[-1], drawings[0], CLEAN

    results = workers.map(endless())
    for n in range(1, 6):
        next(results)
        assert len(taken) <= n + 2 * workers.n
    results.close()
    assert workers.prepare(drawings[0], CLEAN).mark.any()


@LINUX
def test_workers_have_given_up_their_rights(workers):
    workers.prepare(png(paper()), CLEAN)
    for worker in workers._all:
        worker._wait_until_ready()
        lines = Path(f"/proc/{worker.process.pid}/limits").read_text().splitlines()[1:]
        limits = {line[:26].strip(): line[26:].split()[:2] for line in lines}
        assert limits["Max file size"] == ["0", "0"]
        assert limits["Max core file size"] == ["0", "0"]
        assert limits["Max open files"] == ["32", "32"]
        assert 2e9 < int(limits["Max address space"][1]) < 8e9
        environment = Path(f"/proc/{worker.process.pid}/environ").read_bytes().split(b"\0")
        assert {b"OMP_NUM_THREADS=1", b"NUMBA_NUM_THREADS=1"} <= set(environment)


@pytest.mark.slow
@LINUX
def test_a_picture_that_needs_too_much_memory_is_refused():
    with Workers(1, memory=100_000_000) as workers:
        before = set(workers._all)
        with pytest.raises(ValueError, match=r"the picture must be read in 100 MB of memory; got more. Save fewer"):
            workers.prepare(png(np.zeros((8000, 8000))))
        assert before.isdisjoint(workers._all)


@pytest.mark.slow
@POSIX
def test_slow_and_dead_workers_are_replaced(drawings):
    with Workers(1, seconds=3) as workers:
        workers.prepare(drawings[0], CLEAN)
        (first,) = workers._all
        first.process.send_signal(signal.SIGSTOP)
        with pytest.raises(ValueError, match=r"the picture must be read within 3 s; got a longer time. Save it"):
            workers.prepare(drawings[0], CLEAN)
        assert workers.prepare(drawings[0], CLEAN).mark.any()
        (second,) = workers._all
        assert second is not first
        second.process.send_signal(signal.SIGSEGV)
        with pytest.raises(ValueError, match=r"the picture must be readable; got a crash .* \(exit code -11\)"):
            workers.prepare(drawings[0], CLEAN)
    assert first.process.returncode == -signal.SIGKILL
    assert all(worker.process.returncode is not None for worker in workers._all)
    with pytest.raises(RuntimeError, match="workers must be open; got closed ones"):
        workers.prepare(drawings[0])


@POSIX
def test_a_worker_that_does_not_start_is_told(monkeypatch):
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with Workers(1) as workers, pytest.raises(RuntimeError, match=r"a worker must start; got exit code 1. Run python"):
        workers.prepare(png(paper()))


PARENT = """
import sys
from nrcdt.catalogue.intake import Settings
from nrcdt.catalogue.workers import Workers
data = sys.stdin.buffer.read()
def endless():
    while True:
        yield 0, data, Settings(ink=False)
with Workers(1) as workers:
    for _ in workers.map(endless()):
        print(*(worker.process.pid for worker in workers._all), flush=True)
"""


@pytest.mark.slow
@LINUX
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_their_parent(end, drawings):
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([sys.executable, "-c", PARENT], **pipes) as parent:
        parent.stdin.write(drawings[0])
        parent.stdin.close()
        pids = parent.stdout.readline().split()
        parent.send_signal(end)
        parent.stdout.read()
        errors = parent.stderr.read()
    assert len(pids) == 1
    assert parent.returncode == -end
    assert (b"KeyboardInterrupt" in errors) == (end == signal.SIGINT)
    deadline = time.monotonic() + 30
    while any(is_running(int(pid)) for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@POSIX
def test_only_regular_files_are_read(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe.png")
    with pytest.raises(ValueError, match="the file must be a regular one; got a folder, a pipe or a device"):
        read_bytes(tmp_path / "pipe.png")
    with pytest.raises(ValueError, match="the file must be a regular one"):
        read_bytes(tmp_path)
    (tmp_path / "large.png").write_bytes(bytes(101))
    monkeypatch.setattr(working, "MAX_BYTES", 100)
    with pytest.raises(ValueError, match="the file must have 1 to 100 bytes; got 101"):
        read_bytes(tmp_path / "large.png")


def test_answers_are_not_believed(drawings):
    header, body = pack(prepare(drawings[0], CLEAN))
    header = json.loads(json.dumps(header))
    assert same(unpack(header, body), prepare(drawings[0], CLEAN))
    shapes = header["shapes"]
    for wrong in ([[10**6, 10**6], shapes[1]], [shapes[0], [-1]], [[10], shapes[1]], shapes[:1], [shapes[0], [1e3]]):
        with pytest.raises(ValueError, match=r"mark|features|shorter|buffer"):
            unpack({**header, "shapes": wrong}, body)
    for name, wrong in (("width", "wide"), ("to_mark", [1, 2]), ("confidence", "high")):
        with pytest.raises(ValueError, match=r"invalid literal|unpack|convert"):
            unpack({**header, "values": header["values"] | {name: wrong}}, body)
    for name, wrong in (("width", 10**40), ("height", 0), ("to_mark", [1, 2, float("nan")]), ("mm_per_pixel", -1)):
        with pytest.raises(ValueError, match="numbers out of range"):
            unpack({**header, "values": header["values"] | {name: wrong}}, body)
    with pytest.raises(TypeError, match="more"):
        unpack({**header, "values": header["values"] | {"more": 1}}, body)


@pytest.mark.slow
def test_a_worker_that_talks_nonsense_is_replaced(workers, drawings, monkeypatch):
    monkeypatch.setattr(working, "unpack", lambda header, body: int("nonsense"))
    before = set(workers._all)
    with pytest.raises(ValueError, match="the picture must be readable; got an answer that makes no sense"):
        workers.prepare(drawings[0], CLEAN)
    assert len(workers._all) == 2
    assert len(workers._all & before) == 1


@pytest.mark.slow
@LINUX
def test_mutated_pictures_do_no_harm():
    ends = fuzz(200, seed=1)
    assert ends["prepared"] > 20
    assert sum(ends.values()) - ends["prepared"] > 60


WARM = """
import io, sys
import numpy as np
from PIL import Image
from nrcdt.catalogue import workers
from nrcdt.catalogue.intake import Settings, prepare
from nrcdt.datasets import photograph, watermarks
from nrcdt.datasets.photographs import PHOTOGRAPHS

def signatures():
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("nrcdt.kernels")]
    found = [one for module in modules for one in vars(module).values() if hasattr(one, "signatures")]
    return {(one.__name__, *one.signatures) for one in found}

workers._warm_up()
warm = signatures()
drawing = watermarks(2, size=256)[0][1]
large = np.kron(drawing, np.ones((5, 5)))
sheets = [photograph(one[None], kind, random_state=3)[0] for one in (drawing, large) for kind in PHOTOGRAPHS]
for sheet in [drawing, 1 - drawing, large, *sheets]:
    file = io.BytesIO()
    Image.fromarray(np.uint8(255 * sheet.clip(0, 1))).save(file, "JPEG")
    for ink in (True, False):
        try:
            prepare(file.getvalue(), Settings(ink=ink))
        except ValueError:  # no ink in it
            pass
print(sorted(signatures() - warm))
"""


@pytest.mark.slow
def test_workers_have_every_kernel_before_they_may_write_no_files():
    """A kernel that is compiled later would be kept in a file: the picture would be blamed for that."""
    done = subprocess.run([sys.executable, "-c", WARM], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr
