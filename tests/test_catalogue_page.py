"""The pages of a catalogue in a real browser: Debian's Chromium, without a window."""

import csv
import io
import json
import re
import shutil
import threading
import time

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("playwright.sync_api", reason="needs playwright")
pytest.importorskip("uvicorn", reason="needs the extra `catalogue`")
pytest.importorskip("multipart", reason="needs the extra `catalogue`")

import uvicorn
from playwright.sync_api import sync_playwright

from nrcdt.catalogue.importers import listed
from nrcdt.catalogue.ingest import add
from nrcdt.catalogue.intake import Settings
from nrcdt.catalogue.store import Store
from nrcdt.catalogue.web import create_app
from nrcdt.catalogue.workers import Workers
from nrcdt.datasets import distorted, watermarks

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]

N = 8
TOKEN = "a-token-that-nobody-guesses"
ELSEWHERE = "archive.test"


def scan(path, image, **options):
    Image.fromarray((255 * (1 - image)).astype(np.uint8)).save(path, **options)


@pytest.fixture(scope="module")
def drawings():
    return watermarks(N, size=160)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, drawings):
    folder = tmp_path_factory.mktemp("scans")
    rows = ["path,name,motif,date,dpi"]
    for i, (image, motif) in enumerate(zip(*drawings, strict=True)):
        scan(folder / f"{i}.png", image)
        rows.append(f"{i}.png,mark {i},{motif},{1400 + 10 * i},100")
    (folder / "marks.csv").write_text("\n".join(rows))
    copies, _ = distorted(drawings[0], 1, random_state=3, shift=(-5, 5))
    scan(folder / "query.png", copies[2], dpi=(100, 100))
    return folder


@pytest.fixture(scope="module")
def workers():
    with Workers(1) as workers:
        yield workers


@pytest.fixture(scope="module")
def catalogue(folder, workers):
    with Store(folder / "Marks.db", create=True) as catalogue:
        add(catalogue, listed(folder / "marks.csv"), Settings(ink=False), workers, report=pytest.fail)
        yield catalogue


class Server:
    """A server in a thread."""

    def __init__(self, app):
        self.server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
        self.thread = threading.Thread(target=self.server.run)

    def __enter__(self):
        self.thread.start()
        while not self.server.started:
            assert self.thread.is_alive()
            time.sleep(0.01)
        return self.server.servers[0].sockets[0].getsockname()[1]

    def __exit__(self, *args):
        self.server.should_exit = True
        self.thread.join()


@pytest.fixture(scope="module")
def address(catalogue, workers):
    with Server(create_app(catalogue, workers)) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def chromium():
    with sync_playwright() as running:
        options = ["--no-sandbox", "--disable-gpu", f"--host-resolver-rules=MAP {ELSEWHERE} 127.0.0.1"]
        browser = running.chromium.launch(executable_path=CHROMIUM, args=options)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium, address):
    """A page that fails the test if a script fails, the policy is broken, or another machine is asked."""
    context = chromium.new_context(base_url=address, viewport={"width": 1200, "height": 800})
    context.set_default_timeout(15_000)
    page = context.new_page()
    wrong = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    refused = re.compile("status of (409|422)")  # asked for by a test
    page.on(
        "console", lambda one: wrong.append(one.text) if one.type == "error" and not refused.search(one.text) else None
    )
    page.on("request", lambda one: None if one.url.startswith((address, "data:", "blob:")) else wrong.append(one.url))
    yield page
    context.close()
    assert wrong == []


@pytest.fixture(scope="module")
def asked(chromium, address, folder):
    """The address of the answer to a distorted copy of mark 2."""
    page = chromium.new_page(base_url=address)
    page.goto("/query")
    page.set_input_files("[type=file]", folder / "query.png")
    page.check("[name=clean]")
    page.click("button.main")
    page.wait_for_url("**/query/q-*")
    yield page.url
    page.close()


def uid(catalogue, name):
    return catalogue.find(name).uid


def shown(page, selector):
    return page.locator(selector).evaluate("node => getComputedStyle(node).display !== 'none'")


def test_filter_and_keyboard_in_the_grid(page, catalogue):
    page.goto("/")
    assert page.locator(".card").count() == N
    assert page.locator(".switch").evaluate("node => getComputedStyle(node).overflow") == "visible"  # rings of focus
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.name") == "text"
    page.keyboard.type("mark 3")
    page.keyboard.press("Enter")
    page.wait_for_url("**text=mark+3**")
    assert page.locator(".card .name").all_inner_texts() == ["mark 3"]
    page.goto("/")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    first = page.locator(".card").first.get_attribute("href")
    assert page.evaluate("document.activeElement.getAttribute('href')") == first
    page.keyboard.press("ArrowDown")
    below = page.evaluate("document.activeElement.getBoundingClientRect().top")
    assert below > page.locator(".card").first.bounding_box()["y"]
    page.keyboard.press("Enter")
    page.wait_for_url("**/mark/*")
    page.keyboard.press("e")
    assert page.evaluate("document.activeElement.name") == "name"


def test_two_marks_are_picked_with_c_even_on_different_pages(page, catalogue):
    page.goto("/?text=mark 0")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("c")
    page.goto("/?text=mark 1")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("c")
    page.wait_for_url("**/compare/*/*")
    assert {*page.url.split("/")[-2:]} == {uid(catalogue, "mark 0"), uid(catalogue, "mark 1")}


def test_a_picture_is_sent_as_soon_as_it_is_chosen(page, folder):
    page.goto("/")
    page.set_input_files("[type=file]", folder / "query.png")
    page.wait_for_url("**/query/q-*")
    assert page.locator(".hit").count() == N


def test_a_picture_is_dropped_on_the_page(page, folder):
    page.goto("/")
    data = list((folder / "query.png").read_bytes())
    page.evaluate(
        """bytes => {
            const moved = new DataTransfer();
            moved.items.add(new File([new Uint8Array(bytes)], "x.png", { type: "image/png" }));
            document.dispatchEvent(new DragEvent("drop", { dataTransfer: moved, cancelable: true }));
        }""",
        data,
    )
    page.wait_for_url("**/query/q-*")
    assert page.locator(".hit").count() == N


def test_hits_are_ranked_and_opened_with_the_keyboard(page, asked):
    page.goto(asked)
    assert page.locator(".hit .name").first.inner_text() == "mark 2"
    assert page.locator(".hit .size").first.inner_text() != ""
    assert page.evaluate("[...document.images].slice(0, 6).every(one => one.complete && one.naturalWidth > 0)")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("c")
    page.wait_for_url("**/compare/**")
    assert "hit 2 of 8" in page.inner_text("nav.pages")
    page.keyboard.press("p")
    page.wait_for_function("document.querySelector('nav.pages').innerText.includes('hit 1 of 8')")


def test_crop_and_paint_over_change_what_the_machine_sees(page, asked):
    page.goto(asked)
    box = page.locator("#editor").bounding_box()
    at = lambda x, y: (box["x"] + x * box["width"], box["y"] + y * box["height"])  # noqa: E731
    page.check("[name=tool][value=crop]")
    page.mouse.move(*at(0.05, 0.05))
    page.mouse.down()
    page.mouse.move(*at(0.9, 0.95), steps=4)
    page.mouse.up()
    crop = [int(page.input_value(f"[name={edge}]")) for edge in ("left", "top", "right", "bottom")]
    assert crop == pytest.approx([8, 8, 144, 152], abs=2)
    page.check("[name=tool][value=erase]")
    page.mouse.move(*at(0.3, 0.3))
    page.mouse.down()
    page.mouse.move(*at(0.7, 0.7), steps=10)
    page.mouse.up()
    assert page.locator("#editor .disc").count() > 5
    before = page.locator(".seen .ink").get_attribute("src")
    page.click("text=Search again")
    page.wait_for_function("before => document.querySelector('.seen .ink').getAttribute('src') !== before", arg=before)
    assert page.locator("#editor .disc").count() > 5
    page.click("#clear")
    assert page.locator("#editor .disc").count() == 0
    page.click("#undo")
    assert page.locator("#editor .disc").count() > 5


def test_stains_are_painted_over_by_keys(page, asked):
    page.goto(asked)
    page.check("[name=tool][value=erase]")
    page.focus("[name=tool][value=erase]")
    page.keyboard.press("Enter")
    ring = page.locator("#editor .ring")
    before = [float(ring.get_attribute(name)) for name in ("cx", "cy", "r")]
    for key in ("ArrowRight", "ArrowRight", "ArrowUp", "+"):
        page.keyboard.press(key)
    cx, cy, r = (float(ring.get_attribute(name)) for name in ("cx", "cy", "r"))
    assert (cx, cy, r) == pytest.approx((before[0] + before[2], before[1] - before[2] / 2, 1.2 * before[2]))
    page.keyboard.press(" ")
    assert page.input_value("#erase").split()[-1] == f"{round(cx, 1):g},{round(cy, 1):g},{round(r, 1):g}"
    page.keyboard.press("Tab")
    assert ring.count() == 0


def test_what_is_wrong_is_said_beside_the_form(page, asked):
    page.goto(asked)
    for edge in ("left", "top", "right", "bottom"):
        page.fill(f"[name={edge}]", "1e99")
    assert page.locator("#editor .edge").count() == 1
    for edge, value in (("left", "500"), ("top", "0"), ("right", "600"), ("bottom", "90")):
        page.fill(f"[name={edge}]", value)
    page.click("text=Search again")
    page.wait_for_selector("[role=alert]")
    assert "Crop must be" in page.inner_text("[role=alert]")
    assert page.input_value("[name=left]") == "500"


def test_views_of_a_pair_opacity_and_flicker(page, asked):
    page.goto(asked)
    page.locator(".hit .card").first.click()
    page.wait_for_url("**/compare/**")
    assert shown(page, "#sheet")
    for value, a, b in ((0, "0", "1"), (50, "1", "1"), (100, "1", "0")):
        page.locator("#opacity").fill(str(value))
        opacities = page.evaluate("['a', 'b'].map(name => document.querySelector('.layer.' + name).style.opacity)")
        assert opacities == [a, b]
    page.keyboard.press("s")
    assert shown(page, ".beside")
    assert not shown(page, "#sheet")
    page.keyboard.press("d")
    assert shown(page, ".unlike")
    assert not shown(page, ".layer.a")
    page.keyboard.press(" ")
    hidden = "['a', 'b'].map(name => getComputedStyle(document.querySelector('.layer.' + name)).visibility)"
    first = page.evaluate(hidden)
    page.keyboard.press(" ")
    assert sorted(first) == ["hidden", "visible"]
    assert page.evaluate(hidden) == first[::-1]
    page.keyboard.press("o")
    page.check("#photos")
    assert shown(page, ".layer.a .photo")
    page.keyboard.press("+")
    assert page.evaluate("document.getElementById('sheet').viewBox.baseVal.width") < 500


def test_the_overlay_on_the_screen_agrees(page, asked):
    """Ink that is registered lies on one another where the browser draws it, photographs as well."""
    page.goto(asked)
    page.locator(".hit .card").first.click()
    page.wait_for_url("**/compare/**")
    page.wait_for_load_state("networkidle")

    def dark(opacity):
        page.locator("#opacity").fill(str(opacity))
        grey = Image.open(io.BytesIO(page.locator("#sheet").screenshot())).convert("L")
        return np.asarray(grey)[8:-8, 8:-8] < 180

    for _ in ("ink", "photographs"):
        a, b = dark(100), dark(0)
        assert (a & b).sum() / (a | b).sum() > 0.4
        page.check("#photos")
        page.wait_for_load_state("networkidle")


def test_a_judgement_is_given_by_a_key_and_kept(page, catalogue):
    a, b = uid(catalogue, "mark 4"), uid(catalogue, "mark 5")
    page.goto(f"/compare/{a}/{b}")
    page.fill("[name=note]", "1 wire more")
    page.keyboard.press("Escape")
    page.keyboard.press("2")
    page.wait_for_selector("text=Judged twin mould")
    assert [(one.verdict, one.note) for one in catalogue.judgements(a)] == [("twin mould", "1 wire more")]
    page.goto("/judgements")
    assert "1 wire more" in page.inner_text("main")
    page.goto(f"/compare/{b}/{a}")
    page.keyboard.press("4")
    page.wait_for_selector("text=Replace twin mould")
    assert page.evaluate("document.activeElement.innerText") == "Keep twin mould"
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Replace twin mould", state="detached")
    assert [one.verdict for one in catalogue.judgements(a)] == ["twin mould"]
    page.click("text=Take it back")
    page.click("[role=alert] >> text=Take it back")
    page.wait_for_selector("text=Judged", state="detached")
    assert catalogue.judgements(a) == []


def test_a_note_that_is_not_kept_is_not_lost_without_a_word(page, catalogue):
    asked = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    here = f"/compare/{uid(catalogue, 'mark 6')}/{uid(catalogue, 'mark 7')}"
    page.goto(here)
    page.fill("[name=note]", "wait")
    page.click("text=Collection", no_wait_after=True)
    page.wait_for_timeout(300)
    assert asked == ["beforeunload"]
    assert page.url.endswith(here)
    assert page.input_value("[name=note]") == "wait"
    page.fill("[name=note]", "")
    page.click("text=Collection")
    page.wait_for_selector(".card")
    assert asked == ["beforeunload"]


def test_relatives_of_a_mark_and_exports(page, catalogue):
    page.goto(f"/mark/{uid(catalogue, 'mark 6')}")
    page.keyboard.press("r")
    page.wait_for_url("**/query/q-*")
    assert page.locator(".hit").count() == N - 1
    with page.expect_download() as hits:
        page.click(".exports >> text=CSV")
    with open(hits.value.path(), encoding="utf-8-sig", newline="") as file:
        assert len(list(csv.DictReader(file))) == N - 1
    page.goto("/?text=mark 7")
    with page.expect_download() as marks:
        page.click(".exports >> text=JSON")
    with open(marks.value.path(), encoding="utf-8") as file:
        assert [row["name"] for row in json.load(file)] == ["mark 7"]


def test_a_turned_photograph_lies_upright_under_its_ink(page, folder, drawings):
    """Cameras store pictures turned and say so; the browser must see the picture that the machine sees."""
    lying = Image.fromarray((255 * (1 - np.rot90(drawings[0][4][:, 20:140]))).astype(np.uint8))
    exif = lying.getexif()
    exif[0x0112] = 6  # to be turned clockwise
    lying.save(folder / "turned.jpg", exif=exif, quality=95)
    page.goto("/query")
    page.set_input_files("[type=file]", folder / "turned.jpg")
    page.check("[name=clean]")
    page.click("button.main")
    page.wait_for_url("**/query/q-*")
    page.wait_for_load_state("networkidle")
    box = page.locator("#editor").evaluate("node => [node.viewBox.baseVal.width, node.viewBox.baseVal.height]")
    assert box == [120, 160]
    over = np.asarray(Image.open(io.BytesIO(page.locator("#editor").screenshot())).convert("RGB")).astype(int)
    page.check("[name=look][value=picture]")
    under = np.asarray(Image.open(io.BytesIO(page.locator("#editor").screenshot())).convert("L"))
    blue, dark = over[..., 2] - over[..., 0] > 60, under < 100
    assert dark.sum() > 500
    assert (blue & dark).sum() / dark.sum() > 0.8


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_everything_in_its_width(chromium, address, asked, catalogue, scheme):
    context = chromium.new_context(
        base_url=address, viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True, color_scheme=scheme
    )
    page = context.new_page()
    a, b = uid(catalogue, "mark 0"), uid(catalogue, "mark 1")
    for path in ("/", "/query", asked, f"/mark/{a}", f"/compare/{a}/{b}", "/judgements", "/nothing"):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
        grey = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
        assert (sum(grey) / 3 > 128) == (scheme == "light")
    context.close()


def test_every_control_has_a_name_and_every_picture_a_text(page, asked, catalogue):
    a, b = uid(catalogue, "mark 0"), uid(catalogue, "mark 1")
    nameless = """[...document.querySelectorAll("input:not([type=hidden]), select, textarea, button")].filter(node =>
        !node.labels?.length && !node.ariaLabel && !node.textContent.trim()).map(node => node.outerHTML)"""
    for path in ("/", "/query", asked, f"/mark/{a}", f"/compare/{a}/{b}"):
        page.goto(path)
        assert page.evaluate(nameless) == []
        assert page.evaluate("[...document.images].filter(one => one.alt === null || !one.hasAttribute('alt'))") == []
        assert page.locator("h1").count() == 1


def test_the_collection_works_without_scripts(chromium, address, folder):
    context = chromium.new_context(base_url=address, java_script_enabled=False)
    page = context.new_page()
    page.goto("/")
    page.select_option("[name=motif]", index=1)
    page.click("text=Filter")
    page.wait_for_url("**motif=**")
    page.goto("/query")
    page.set_input_files("[type=file]", folder / "query.png")
    page.click("button.main")
    page.wait_for_url("**/query/q-*")
    page.locator(".hit .card").first.click()
    page.wait_for_url("**/compare/**")
    page.check("[name=view][value=difference]", force=True)
    assert page.locator(".unlike").is_visible()
    context.close()


def test_another_machine_gets_in_with_the_token_and_can_send_forms(chromium, catalogue, workers):
    """A plain name is no secure context: browsers send no Sec-Fetch headers then."""
    app = create_app(catalogue, workers, token=TOKEN, hosts=[ELSEWHERE])
    context = chromium.new_context()
    with Server(app) as port:
        page = context.new_page()
        page.goto(f"http://{ELSEWHERE}:{port}/")
        assert "the browser must know the token" in page.inner_text("main").lower()
        page.goto(f"http://{ELSEWHERE}:{port}/?token={TOKEN}")
        page.wait_for_selector(".card")
        assert "token" not in page.url
        page.goto(f"http://{ELSEWHERE}:{port}/mark/{uid(catalogue, 'mark 7')}")
        page.click(".edit summary")
        page.fill(".edit [name=note]", "from elsewhere")
        page.click("text=Save")
        page.wait_for_selector("dd >> text=from elsewhere")
        page.goto(f"http://127.0.0.1:{port}/")
        assert "host must be one of" in page.inner_text("main")
        context.close()


def test_the_first_page_waits_for_one_style_sheet_and_nothing_moves(page):
    page.goto("/")
    page.wait_for_load_state("networkidle")
    blocking = "performance.getEntriesByType('resource').filter(one => one.renderBlockingStatus === 'blocking')"
    assert page.evaluate(f"{blocking}.map(one => new URL(one.name).pathname)") == ["/static/style.css"]
    shifts = """new Promise(done => new PerformanceObserver(list => done(list.getEntries().map(one => one.value)))
        .observe({ type: "layout-shift", buffered: true }) || setTimeout(() => done([]), 300))"""
    assert sum(page.evaluate(shifts)) < 0.01
    lazy = page.evaluate("[...document.images].map(one => [one.getAttribute('width'), one.getAttribute('height')])")
    assert lazy == [["320", "320"]] * N
