"""The pages of a catalogue, asked over HTTP."""

import asyncio
import csv
import io
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("starlette", reason="needs the extra `catalogue`")
pytest.importorskip("multipart", reason="needs the extra `catalogue`")
pytest.importorskip("httpx", reason="starlette's test client needs httpx")

from starlette.exceptions import HTTPException
from starlette.testclient import TestClient

from nrcdt.catalogue import calibration, wording
from nrcdt.catalogue.importers import listed
from nrcdt.catalogue.ingest import add
from nrcdt.catalogue.intake import Settings
from nrcdt.catalogue.recent import Recent
from nrcdt.catalogue.store import Store
from nrcdt.catalogue.web import create_app, pictures, server
from nrcdt.catalogue.web.forms import MAX_CHOICES, MAX_FIELDS
from nrcdt.catalogue.web.security import HEADERS, MAX_FORM, MAX_UPLOAD
from nrcdt.catalogue.web.session import QueryQueue
from nrcdt.catalogue.workers import Workers
from nrcdt.datasets import about_centre, distorted, warp, watermarks

BASE = "http://127.0.0.1:8123"
OWN = {"origin": BASE, "sec-fetch-site": "same-origin"}
TOKEN = "a-token-that-nobody-guesses"
N = 6


def png(image, **options):
    """Black ink on white paper, as a file."""
    file = io.BytesIO()
    Image.fromarray((255 * (1 - image)).astype(np.uint8)).save(file, "PNG", **options)
    return file.getvalue()


@pytest.fixture(scope="module")
def drawings():
    return watermarks(N, size=160)


@pytest.fixture(scope="module")
def workers():
    with Workers(1) as workers:
        yield workers


@pytest.fixture(scope="module")
def folder(tmp_path_factory, drawings):
    folder = tmp_path_factory.mktemp("scans")
    rows = ["path,name,motif,date,place,method,reference,dpi"]
    for i, (image, motif) in enumerate(zip(*drawings, strict=True)):
        (folder / f"{i}.png").write_bytes(png(image))
        method = "tracing" if i < 4 else "rubbing"
        rows.append(f"{i}.png,mark {i},{motif},{1400 + 10 * i},Basel,{method},ref-{i},{100 if i < 4 else ''}")
    (folder / "marks.csv").write_text("\n".join(rows))
    return folder


@pytest.fixture
def catalogue(tmp_path, folder, workers):
    with Store(tmp_path / "Basel & Co.db", create=True) as catalogue:
        add(catalogue, listed(folder / "marks.csv"), Settings(ink=False), workers, report=pytest.fail)
        yield catalogue


@pytest.fixture
def client(catalogue, workers):
    return TestClient(create_app(catalogue, workers), BASE, headers=OWN)


def send(client, data, **fields):
    fields = {"clean": "on"} | fields
    return client.post("/query", files={"picture": ("../../evil.png", data, "image/png")}, data=fields)


def uid_of(catalogue, name):
    return catalogue.find(name).uid


@pytest.fixture(scope="module")
def copy(drawings):
    """The drawing of mark 2, distorted."""
    return png(distorted(drawings[0], 1, random_state=3, shift=(-5, 5))[0][2], dpi=(100, 100))


@pytest.fixture(scope="module")
def unscaled(drawings):
    """The same without a resolution."""
    return png(distorted(drawings[0], 1, random_state=3, shift=(-5, 5))[0][2])


# The collection.


def test_the_collection_is_a_grid_of_all_marks(client):
    page = client.get("/")
    assert page.status_code == 200
    assert "6 marks" in page.text
    assert page.text.count('class="card"') == N
    assert re.search(r'<img [^>]*width="320" height="320" alt="mark 0, [^"]+"', page.text)
    assert "Basel &amp; Co" in page.text


def test_pages_ask_no_other_machine_for_anything(client, catalogue, copy):
    a, b = uid_of(catalogue, "mark 0"), uid_of(catalogue, "mark 1")
    answer = send(client, copy).text
    for text in [client.get(path).text for path in ("/", "/query", f"/mark/{a}", f"/compare/{a}/{b}", "/no")] + [
        answer
    ]:
        links = re.findall(r'(?:href|src|action)="([^"]*)"', text)
        assert links
        assert all(link.startswith(("/", "#", "data:,")) and not link.startswith("//") for link in links)
        assert "style=" not in text
        assert not re.search(r"<script(?! src=)|\son[a-z]+=", text)


@pytest.mark.parametrize(
    ("query", "n"),
    [
        ("motif=NONE", 0),
        ("method=tracing", 4),
        ("text=REF-3", 1),
        ("year_from=1420&year_to=1440", 3),
        ("place=Basel", N),
    ],
)
def test_filters_narrow_the_grid_and_the_export(client, query, n):
    page = client.get(f"/?{query}")
    assert page.text.count('class="card"') == n
    assert len(client.get(f"/export.json?{query}").json()) == n
    assert ("No mark matches" in page.text) == (n == 0)


def test_ink_and_pages_are_kept_with_the_filter(client, monkeypatch):
    monkeypatch.setattr("nrcdt.catalogue.web.mark_views.PER_PAGE", 3)
    page = client.get("/?method=tracing&show=ink&page=2")
    assert page.text.count('class="card"') == 1
    assert re.search(r'<img class="ink" src="/mark/\w+/ink.png\?v=', page.text)
    assert '<a rel="prev" href="/?method=tracing&amp;show=ink&amp;page=1">' in page.text
    wrong = client.get("/?method=tracing&page=3")
    assert wrong.status_code == 404
    assert "page must be a number from 1 to 2" in wrong.text


def test_a_picture_sent_from_the_filtered_grid_is_searched_there(client, copy):
    assert "match the filter" not in client.get("/").text
    page = client.get("/?method=rubbing&year_to=1450&show=ink").text
    assert "Searched among the marks that match the filter" in page
    form = re.search(r'<form class="ask-here".*?</form>', page, re.DOTALL)[0]
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form))
    assert fields == {"method": "rubbing", "year_to": "1450"}
    answer = send(client, copy, **fields)
    assert [hit["name"] for hit in client.get(f"{answer.url.path}/hits.json").json()] == ["mark 5", "mark 4"]


def test_wrong_filters_are_named(client):
    page = client.get("/?year_from=soon&method=rubbing")
    assert page.status_code == 422
    assert "year from must be a year such as 1450; got &#39;soon&#39;" in page.text
    assert "marks of all years are shown" in page.text
    assert page.text.count('class="card"') == 2
    assert (
        'name="year_from" inputmode="numeric" maxlength="4" aria-label="from year" placeholder="from" value="soon"'
        in page.text
    )
    assert '<option value="rubbing" selected>' in page.text
    many = "&".join(f"motif={i}" for i in range(MAX_CHOICES + 1))
    page = client.get(f"/?{many}")
    assert page.status_code == 422
    assert f"motif must be at most {MAX_CHOICES} values" in page.text
    assert "text must have at most" in client.get("/?text=" + "x" * 10_001).text


def test_an_empty_catalogue_says_how_to_fill_it(tmp_path, workers):
    with Store(tmp_path / "empty.db", create=True) as catalogue:
        client = TestClient(create_app(catalogue, workers), BASE, headers=OWN)
        assert "nrcdt catalogue add" in client.get("/").text
        answer = send(client, png(np.eye(40)))
        assert "The catalogue is empty." in answer.text


def test_pictures_may_be_kept_for_good_and_pages_not(client, catalogue):
    uid = uid_of(catalogue, "mark 0")
    for kind, media in (
        ("ink.png", "image/png"),
        ("seen.png", "image/png"),
        ("preview.jpg", "image/jpeg"),
        ("picture", "image/jpeg"),
    ):
        answer = client.get(f"/mark/{uid}/{kind}")
        assert answer.headers["content-type"] == media
        assert "immutable" in answer.headers["cache-control"]
        Image.open(io.BytesIO(answer.content)).verify()
    assert client.get(f"/mark/{uid}").headers["cache-control"] == "no-store"
    assert "the picture must be of a known kind" in client.get(f"/mark/{uid}/other").text
    assert "the catalogue must keep the file" in client.get(f"/mark/{uid}/original").text


def test_a_file_that_is_kept_is_shown_and_sent(tmp_path, folder, workers):
    with Store(tmp_path / "kept.db", create=True) as catalogue:
        add(
            catalogue,
            list(listed(folder / "marks.csv"))[:1],
            Settings(ink=False),
            workers,
            keep=True,
            report=pytest.fail,
        )
        client = TestClient(create_app(catalogue, workers), BASE, headers=OWN)
        uid = uid_of(catalogue, "mark 0")
        kept = (folder / "0.png").read_bytes()
        assert client.get(f"/mark/{uid}/picture").content == kept
        sent = client.get(f"/mark/{uid}/original")
        assert sent.content == kept
        assert sent.headers["content-disposition"] == f'attachment; filename="{uid}"'


def test_a_mark_shows_all_that_is_known_and_can_be_changed(client, catalogue):
    uid = uid_of(catalogue, "mark 1")
    page = client.get(f"/mark/{uid}").text
    assert all(text in page for text in ("mark 1", "1410", "Basel", "tracing", "ref-1", "mm per pixel"))
    changed = client.post(f"/mark/{uid}/edit", data={"name": "<script>alert(1)</script>", "date": "1499"})
    assert changed.status_code == 200
    assert "<script>alert" not in changed.text
    assert "&lt;script&gt;alert(1)" in changed.text
    assert catalogue.mark(uid).date == "1499"
    assert catalogue.mark(uid).place == "Basel"
    assert "1 mark match" in client.get("/?year_from=1499").text


def test_the_resolution_of_a_mark_can_be_changed(client, catalogue):
    uid = uid_of(catalogue, "mark 1")
    assert re.search(r'name="dpi" [^>]*value="100"', client.get(f"/mark/{uid}").text)
    client.post(f"/mark/{uid}/edit", data={"dpi": "200"})
    assert catalogue.mark(uid).mm_per_pixel == pytest.approx(0.127)
    wrong = client.post(f"/mark/{uid}/edit", data={"dpi": "0", "name": "kept"})
    assert wrong.status_code == 409
    assert "dpi must be a number from" in wrong.text
    assert re.search(r'name="dpi" [^>]*value="0"', wrong.text)
    assert 'value="kept"' in wrong.text
    client.post(f"/mark/{uid}/edit", data={"dpi": ""})
    assert catalogue.mark(uid).mm_per_pixel is None
    assert re.search(r'name="dpi" [^>]*value=""', client.get(f"/mark/{uid}").text)


@pytest.mark.parametrize(
    "path", ["/mark/none", "/mark/none/ink.png", "/compare/none/none", "/query/q-none", "/nothing"]
)
def test_unknown_addresses_say_what_to_do(client, path):
    answer = client.get(path)
    assert answer.status_code == 404
    assert re.search(r'role="alert">the (mark|query|address) must .+\. \w+.*\.<', answer.text)


def test_a_failure_of_our_own_gives_nothing_away(catalogue, workers, monkeypatch):
    app = create_app(catalogue, workers)
    monkeypatch.setattr(app.state.session, "facets", lambda: 1 / 0)
    answer = TestClient(app, BASE, raise_server_exceptions=False).get("/")
    assert answer.status_code == 500
    assert "the page must not fail" in answer.text
    assert "ZeroDivision" not in answer.text
    assert answer.headers["content-security-policy"] == HEADERS["Content-Security-Policy"]


# Queries.


def test_a_distorted_copy_is_found(client, catalogue, copy):
    answer = send(client, copy)
    assert answer.status_code == 200
    assert answer.history[0].status_code == 303
    key = answer.url.path.rsplit("/", 1)[1]
    hits = client.get(f"/query/{key}/hits.json").json()
    assert hits[0]["uid"] == uid_of(catalogue, "mark 2")
    assert hits[0]["overlap"] > 0.8
    assert hits[0]["size_ratio"] is not None
    assert [hit["rank"] for hit in hits] == list(range(1, N + 1))
    table = list(csv.DictReader(io.StringIO(client.get(f"/query/{key}/hits.csv").content.decode("utf-8-sig"))))
    assert [row["uid"] for row in table] == [hit["uid"] for hit in hits]
    assert "evil" not in answer.text
    assert f'href="/compare/{key}/{hits[0]["uid"]}"' in answer.text


def test_the_picture_of_a_query_is_shown_with_its_ink(client, copy):
    where = send(client, copy).url.path
    assert client.get(f"{where}/picture").content == copy
    assert client.get(f"{where}/preview.jpg").headers["content-type"] == "image/jpeg"
    ink = Image.open(io.BytesIO(client.get(f"{where}/ink.png").content))
    seen = Image.open(io.BytesIO(client.get(f"{where}/seen.png").content))
    assert ink.mode == "L"
    assert seen.mode == "RGBA"
    np.testing.assert_array_equal(np.asarray(ink), np.asarray(seen)[..., 3])
    assert "the picture must be of a known kind" in client.get(f"{where}/other").text


def test_a_picture_that_browsers_cannot_show_is_shown_small(client, drawings):
    file = io.BytesIO()
    Image.fromarray((255 * (1 - drawings[0][0])).astype(np.uint8)).save(file, "TIFF")
    where = send(client, file.getvalue()).url.path
    assert client.get(f"{where}/picture").headers["content-type"] == "image/jpeg"


def test_a_query_is_run_again_with_other_settings(client, copy):
    where = send(client, copy).url.path
    hits = client.get(f"{where}/hits.json").json()
    again = client.post(where, data={"clean": "on", "polarity": "dark", "motif": hits[3]["motif"]})
    assert again.url.path == where
    assert [hit["motif"] for hit in client.get(f"{where}/hits.json").json()] == [hits[3]["motif"]]
    assert re.search(r'value="dark" checked', again.text)
    ink = client.get(f"{where}/ink.png").content
    client.post(
        where, data={"clean": "on", "left": "0", "top": "0", "right": "80", "bottom": "160", "erase": "40,20,9"}
    )
    assert client.get(f"{where}/ink.png").content != ink


def test_settings_that_fail_keep_the_form_and_the_answer(client, copy):
    where = send(client, copy).url.path
    wrong = client.post(where, data={"clean": "on", "left": "900", "top": "5", "right": "950", "bottom": "80"})
    assert wrong.status_code == 422
    assert "crop must be (left, top, right, bottom) inside the picture" in wrong.text
    assert 'name="left" inputmode="numeric" size="5" value="900"' in wrong.text
    assert wrong.text.count('class="hit"') == N
    assert "crop must be made of numbers" in client.post(where, data={"left": "x"}).text
    assert "none beyond 1000000; got &#39;1e99&#39;" in client.post(where, data={"left": "1e99"}).text
    assert "polarity must be one of" in client.post(where, data={"polarity": "blue"}).text
    assert "bar_mm must be a positive length" in client.post(where, data={"bar_mm": "-3"}).text


@pytest.mark.slow
def test_a_picture_without_ink_is_kept_to_be_cropped(client, drawings, rng):
    sheet = 200 + 3 * rng.normal(size=(2000, 2000))
    sheet[600:640, 700:740] -= 60 * drawings[0][2][::4, ::4]
    answer = send(client, png(1 - sheet / 255, compress_level=1), clean="", method="tracing")
    where = answer.url.path
    assert answer.status_code == 200
    assert where.startswith("/query/q-")
    assert "No ink was found" in answer.text
    assert "nothing stands out. Crop the picture to the motif" in answer.text
    assert "larger size" not in answer.text
    assert 'class="found"' not in re.search(r"<svg.*?</svg>", answer.text, re.DOTALL)[0]
    assert 'id="editor"' in answer.text
    still = client.post(where, data={"left": "0", "top": "0", "right": "500", "bottom": "500"})
    assert still.status_code == 422
    assert "larger size" not in still.text
    edges = {"left": "690", "top": "590", "right": "750", "bottom": "650"}
    cropped = client.post(where, data=edges | {"method": "tracing"})
    assert cropped.url.path == where
    assert cropped.text.count('class="hit"') == 4


def test_a_blank_picture_is_refused(client):
    answer = send(client, png(np.zeros((40, 40))))
    assert answer.status_code == 422
    assert "the picture must show something; got one grey level" in answer.text


def test_a_mark_finds_its_relatives_without_itself(client, catalogue):
    uid = uid_of(catalogue, "mark 2")
    answer = client.post(f"/mark/{uid}/relatives")
    hits = client.get(f"{answer.url.path}/hits.json").json()
    assert len(hits) == N - 1
    assert uid not in [hit["uid"] for hit in hits]
    narrower = client.post(answer.url.path, data={"method": "rubbing"})
    assert narrower.text.count('class="hit"') == 2
    assert client.get(f"{answer.url.path}/ink.png").status_code == 404
    assert client.post("/mark/none/relatives").status_code == 404


@pytest.mark.parametrize("found", [True, False])
def test_the_answer_says_whether_the_mark_is_there(client, catalogue, unscaled, found, monkeypatch):
    monkeypatch.setattr(calibration, "SAME_OVERLAP", 1.0)
    catalogue.set_about("strangers", {"marks": N, "scores": [5.0] * 40 if found else [0.001] * 40})
    text = send(client, unscaled).text
    assert text.count("mark 2 is probably the same mark: ") == found
    assert text.count("Probably not in this collection: ") == (not found)
    assert f'class="verdict {"yes" if found else "no"}"' in text
    assert ("2.4% of marks" in text) if found else ("100% of marks" in text)


def test_ink_that_overlaps_is_the_same_mark(client, folder):
    text = send(client, (folder / "2.png").read_bytes()).text
    assert re.search(r"<h1>\s*mark 2 is probably the same mark: \d+% of the ink overlaps\.\s*</h1>", text)


@pytest.mark.parametrize("found", [True, False, None])
def test_the_heading_is_the_verdict_and_nothing_else(client, copy, found, monkeypatch):
    monkeypatch.setattr("nrcdt.catalogue.calibration.in_collection", lambda *args, **more: found)
    monkeypatch.setattr("nrcdt.catalogue.calibration.verdict", lambda *args, **more: "It is <as> said here.")
    text = send(client, copy, method="tracing").text
    verdict = re.search(r'<div class="verdict.*?</div>', text, re.DOTALL)[0]
    assert re.search(r"<h1>\s*It is &lt;as&gt; said here\.\s*</h1>", verdict)
    assert "robably" not in verdict
    assert "ound" not in verdict


@pytest.mark.parametrize("found", [True, False, None])
def test_doubtful_ink_is_said_above_the_verdict(client, copy, workers, found, monkeypatch):
    monkeypatch.setattr("nrcdt.catalogue.calibration.in_collection", lambda *args, **more: found)
    monkeypatch.setattr("nrcdt.catalogue.calibration.verdict", lambda *args, **more: "It is said here.")
    assert "ink is doubtful" not in send(client, copy).text
    prepared = workers.prepare(copy, Settings(ink=False))._replace(confidence=0.29)
    monkeypatch.setattr(workers, "prepare", lambda data, settings: prepared)
    text = send(client, copy).text
    assert "29% sure" in text
    assert text.index("The ink is doubtful") < text.index('class="verdict open"')
    assert re.search(r"doubtful.*crop.*paint over.*darker or lighter", text, re.DOTALL)
    assert ("6 nearest marks" in text) == (found is None)
    assert ("It is said here." in text) == (found is not None)


def test_sizes_of_marks_that_share_little_ink_are_not_compared(client, catalogue, copy):
    answer = send(client, copy)
    for uid, hit in ((hit["uid"], hit) for hit in client.get(f"{answer.url.path}/hits.json").json()):
        item = re.search(rf'<li class="hit">(?:(?!</li>).)*/mark/{uid}"(?:(?!</li>).)*</li>', answer.text, re.DOTALL)[0]
        known = hit["size_ratio"] is not None and hit["overlap"] >= 0.5
        assert ('class="size ' in item) == known
        page = client.get(f"/compare/{answer.url.path.rsplit('/', 1)[1]}/{uid}").text
        assert ('class="size ' in page) == known


def test_hits_show_what_is_cited(client, copy):
    assert "ref-2 · tracing" in send(client, copy).text


def test_without_calibration_nothing_is_claimed(client, copy, monkeypatch):
    monkeypatch.setattr(calibration, "SAME_OVERLAP", 1.0)
    assert "too small, or not calibrated, to tell whether the mark is in it" in send(client, copy).text


@pytest.mark.parametrize(
    ("data", "rule"), [(b"", "the picture must hold data"), (b"no picture at all", "the picture must be a whole")]
)
def test_bad_pictures_are_refused_with_the_form_kept(client, data, rule):
    answer = send(client, data, text="lily", polarity="light")
    assert answer.status_code == 422
    assert rule in answer.text
    assert 'value="lily"' in answer.text
    assert 'value="light" checked' in answer.text


def test_uploads_stay_in_memory(client, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile.SpooledTemporaryFile, "rollover", lambda self: pytest.fail("written to disk"))
    noise = np.random.default_rng(0).integers(0, 255, (1100, 1200), np.uint8)
    file = io.BytesIO()
    Image.fromarray(noise).save(file, "BMP")
    assert len(file.getvalue()) > 1_200_000
    before = set(tmp_path.iterdir())
    assert send(client, file.getvalue()).status_code in (200, 422)
    assert set(tmp_path.iterdir()) == before


def test_only_the_last_queries_are_kept():
    recent = Recent(3, 100, len)
    for key in "abcd":
        recent.put(key, b"." * 30)
    recent.get("b")
    recent.put("e", b"." * 41)
    assert [recent.get(key) is not None for key in "abcde"] == [False, True, False, False, True]
    recent.put("f", b"." * 1000)
    assert recent.get("f") is not None
    assert recent.get("e") is None


def test_a_crowd_is_sent_away():
    async def crowd():
        turns = QueryQueue(1, 1)
        async with turns.place(), turns.place():
            with pytest.raises(HTTPException, match="at most 2 queries must run at once") as refused:
                async with turns.place():
                    pass
        async with turns.place():
            return refused.value

    refused = asyncio.run(crowd())
    assert refused.status_code == 503
    assert refused.headers == {"Retry-After": "5"}


# Comparing and judging.


def test_two_marks_are_compared_and_judged(client, catalogue):
    a, b = uid_of(catalogue, "mark 0"), uid_of(catalogue, "mark 1")
    page = client.get(f"/compare?m={a}&m={b}")
    assert page.url.path == f"/compare/{a}/{b}"
    assert all(
        word in page.text for word in ("Overlap", "Mirror", "Rotation", "Scale on paper", "Shear", "drawn to one scale")
    )
    judged = client.post(f"/compare/{a}/{b}/judgement", data={"verdict": "twin mould", "note": "one leaf less"})
    assert "Judged <strong>twin mould</strong>" in judged.text
    assert [(one.verdict, one.note) for one in catalogue.judgements()] == [("twin mould", "one leaf less")]
    for path in (f"/mark/{a}", f"/mark/{b}", "/judgements", f"/compare/{b}/{a}"):
        assert "one leaf less" in client.get(path).text
    assert client.get("/judgements.json").json()[0]["name_a"].startswith("mark")


def test_a_judgement_is_replaced_or_taken_back_only_when_asked_twice(client, catalogue):
    a, b = uid_of(catalogue, "mark 0"), uid_of(catalogue, "mark 1")
    judge = lambda **data: client.post(f"/compare/{a}/{b}/judgement", data=data)  # noqa: E731
    kept = lambda: [(one.verdict, one.note) for one in catalogue.judgements()]  # noqa: E731
    assert "kept together with a verdict" in client.get(f"/compare/{a}/{b}").text
    judge(verdict="twin mould", note="one leaf less")
    asked = judge(verdict="different", note="two leaves less")
    assert asked.status_code == 409
    assert "by <strong>different</strong>?" in asked.text
    assert ">two leaves less</textarea>" in asked.text
    assert kept() == [("twin mould", "one leaf less")]
    judge(verdict="note", note="only the note")
    assert kept() == [("twin mould", "only the note")]
    assert judge(sure="different", note="yes").status_code == 200
    assert kept() == [("different", "yes")]
    asked = judge(verdict="forget", note="yes")
    assert "Take back <strong>different</strong>" in asked.text
    assert "and its note?" in asked.text
    assert kept() == [("different", "yes")]
    assert "Judged" not in judge(sure="forget", note="yes").text
    assert kept() == []
    assert judge(verdict="note", note="no verdict").status_code == 409


def test_sizes_are_compared_only_where_both_are_known(client, catalogue, copy, folder):
    known, unknown = uid_of(catalogue, "mark 2"), uid_of(catalogue, "mark 5")
    page = client.get(f"/compare/{known}/{unknown}").text
    assert "Scale in pixels" in page
    assert "Not to scale" in page
    assert "They share little ink" in page
    key = send(client, (folder / "5.png").read_bytes()).url.path.rsplit("/", 1)[1]
    assert "identical marks cannot be told" in client.get(f"/compare/{key}/{unknown}").text
    key = send(client, copy).url.path.rsplit("/", 1)[1]
    page = client.get(f"/compare/{key}/{known}").text
    assert re.search(r"size: [\d.]+( to [\d.]+)? times", page)
    same = client.get(f"/query/{key}/hits.json").json()[0]["same_size"]
    assert ("these two are similar at best" in page) == (not same)


def test_wrong_judgements_are_refused(client, catalogue, copy):
    a, b = uid_of(catalogue, "mark 0"), uid_of(catalogue, "mark 1")
    wrong = client.post(f"/compare/{a}/{b}/judgement", data={"verdict": "maybe", "note": "kept"})
    assert wrong.status_code == 409
    assert "verdict must be one of identical" in wrong.text
    assert ">kept</textarea>" in wrong.text
    assert client.post(f"/compare/none/{b}/judgement", data={"verdict": "similar"}).status_code == 404
    assert client.get(f"/compare/{a}/{a}").status_code == 404
    assert "two marks must be chosen; got 1" in client.get(f"/compare?m={a}").text
    assert client.get(f"/compare?m={a}&with=mark 3").url.path.endswith(uid_of(catalogue, "mark 3"))
    assert "MARK must be the id" in client.get(f"/compare?m={a}&with=nobody").text


@pytest.mark.slow
def test_a_query_is_compared_but_not_judged(client, catalogue, copy, folder):
    key = send(client, copy).url.path.rsplit("/", 1)[1]
    b = uid_of(catalogue, "mark 2")
    page = client.get(f"/compare/{key}/{b}").text
    assert "this picture is not one of them" in page
    assert "nrcdt catalogue add CATALOGUE PICTURE<" in page
    assert "hit 1 of 6" in page
    assert 'class="verdicts"' not in page
    assert client.post(f"/compare/{key}/{b}/judgement", data={"verdict": "similar"}).status_code == 404
    assert client.get(f"/compare/{b}/{key}").status_code == 404
    client.post(f"/query/{key}", data={"clean": "on", "left": "1", "top": "2", "right": "150", "bottom": "155"})
    assert "PICTURE --crop 1 2 150 155<" in client.get(f"/compare/{key}/{b}").text
    same = send(client, (folder / "2.png").read_bytes()).url.path.rsplit("/", 1)[1]
    assert "it is this mark" in client.get(f"/compare/{same}/{b}").text
    other = uid_of(catalogue, "mark 3")
    assert f'href="/compare/{b}/{other}"' in client.get(f"/compare/{same}/{other}").text


def test_hits_of_a_mark_are_walked_through_and_remember_the_way(client, catalogue):
    uid = uid_of(catalogue, "mark 2")
    where = client.post(f"/mark/{uid}/relatives").url.path
    key = where.rsplit("/", 1)[1]
    hits = [hit["uid"] for hit in client.get(f"{where}/hits.json").json()]
    page = client.get(f"/compare/{uid}/{hits[1]}?of={key}")
    assert "hit 2 of 5" in page.text
    assert f'rel="next" href="/compare/{uid}/{hits[2]}?of={key}"' in page.text
    judged = client.post(f"/compare/{uid}/{hits[1]}/judgement?of={key}", data={"verdict": "different"})
    assert "hit 2 of 5" in judged.text
    assert '<span class="badge different">' in client.get(where).text


def test_layers_lie_on_one_sheet(client, catalogue, copy):
    key = send(client, copy).url.path.rsplit("/", 1)[1]
    b = uid_of(catalogue, "mark 2")
    layers = {
        name: np.asarray(Image.open(io.BytesIO(client.get(f"/compare/{key}/{b}/{name}.png").content))).astype(int)
        for name in ("a", "b", "difference", "thumb")
    }
    assert layers["a"].shape == layers["b"].shape == layers["difference"].shape
    a, b_ink = layers["a"][..., 3] > 127, layers["b"][..., 3] > 127
    assert (a & b_ink).sum() / (a | b_ink).sum() > 0.5
    solid = layers["difference"][..., 3] > 200
    both = (layers["difference"][..., :3] == pictures.BOTH).all(axis=-1)
    assert both[solid].mean() > 0.9
    assert "the layer must be one of" in client.get(f"/compare/{key}/{b}/other.png").text


def test_a_catalogue_that_is_read_only_says_so(catalogue, workers, tmp_path):
    with Store(catalogue.path, readonly=True) as readonly:
        client = TestClient(create_app(readonly, workers), BASE, headers=OWN)
        a, b = uid_of(readonly, "mark 0"), uid_of(readonly, "mark 1")
        judged = client.post(f"/compare/{a}/{b}/judgement", data={"verdict": "similar", "note": "my note"})
        assert judged.status_code == 409
        assert "the catalogue must be writable" in judged.text
        assert "my note" in judged.text
        edited = client.post(f"/mark/{a}/edit", data={"name": "new name"})
        assert "the catalogue must be writable" in edited.text
        assert 'value="new name"' in edited.text


# Exports.


def test_exports_hold_size_and_judgements_and_run_nothing(client, catalogue):
    a, b = uid_of(catalogue, "mark 0"), uid_of(catalogue, "mark 1")
    catalogue.edit(a, {"name": "=HYPERLINK(1)", "note": "@ü"})
    catalogue.judge(a, b, "similar", "so so")
    answer = client.get("/export.csv")
    assert answer.headers["content-disposition"] == 'attachment; filename="marks.csv"'
    rows = {row["uid"]: row for row in csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig")))}
    assert len(rows) == N
    assert rows[a]["name"] == "'=HYPERLINK(1)"
    assert rows[a]["note"] == "'@ü"
    assert rows[a]["judgements"] == f"similar {b} so so"
    assert float(rows[b]["width_mm"]) == pytest.approx(catalogue.mark(b).size_mm[0], abs=0.05)
    plain = {row["uid"]: row for row in json.loads(client.get("/export.json").content)}
    assert plain[a]["name"] == "=HYPERLINK(1)"
    assert plain[b]["judgements"][0]["mark"] == a
    assert client.get("/judgements.csv").content.count(b"\r\n") == 2
    assert client.get("/export.json?text=nothing").json() == []
    assert "the list must be csv or json" in client.get("/export.exe").text


# Security.


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "[", "localhost@evil.example"])
def test_other_names_are_refused(client, host):
    answer = client.get("/", headers={"host": host})
    assert answer.status_code == 400
    assert "the host must be one of" in answer.text
    assert "start the server with --name" in answer.text


@pytest.mark.parametrize("host", ["LOCALHOST:99", "127.0.0.1", "[::1]:8123"])
def test_own_names_are_taken(client, host):
    assert client.get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example", "sec-fetch-site": "cross-site"},
        {"origin": "https://evil.example", "sec-fetch-site": "same-origin"},
        {"origin": "http://127.0.0.1:9999", "sec-fetch-site": "same-site"},
        {"origin": "null", "sec-fetch-site": "cross-site"},
        {"origin": "null"},
        {},
    ],
)
def test_forms_of_other_sites_are_refused(catalogue, workers, headers):
    client = TestClient(create_app(catalogue, workers), BASE)
    uid = uid_of(catalogue, "mark 0")
    answer = client.post(f"/mark/{uid}/edit", data={"name": "stolen"}, headers=headers)
    assert answer.status_code == 403
    assert "the request must come from this server's own pages" in answer.text.replace("&#39;", "'")
    assert catalogue.mark(uid).name == "mark 0"


def test_a_browser_without_fetch_metadata_is_known_by_its_origin(catalogue, workers):
    client = TestClient(create_app(catalogue, workers), BASE, headers={"origin": BASE})
    uid = uid_of(catalogue, "mark 0")
    assert client.post(f"/mark/{uid}/edit", data={"name": "mine"}).status_code == 200
    assert catalogue.mark(uid).name == "mine"


def test_other_sites_may_link_but_not_embed(client):
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert client.get("/", headers=link).status_code == 200
    assert client.get("/", headers=link | {"sec-fetch-mode": "no-cors"}).status_code == 403


def test_every_answer_carries_the_headers(client):
    for answer in (client.get("/"), client.get("/nothing"), client.get("/", headers={"host": "evil"})):
        for name in HEADERS:
            assert answer.headers[name] == HEADERS[name]


def test_the_token_is_exchanged_for_a_cookie(catalogue, workers):
    app = create_app(catalogue, workers, token=TOKEN)
    client = TestClient(app, BASE, headers=OWN)
    assert client.get("/").status_code == 401
    assert client.get("/?token=wrong").status_code == 401
    assert client.post("/query").status_code == 401
    assert "the browser must know the token" in client.get("/export.csv").text
    assert client.get("/static/style.css").status_code == 200
    entered = client.get(f"/query?token={TOKEN}")
    assert entered.status_code == 200
    cookie = entered.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert TOKEN not in entered.text
    assert client.get("/").status_code == 200
    assert TestClient(app, BASE, cookies={"nrcdt_00000000": TOKEN}).get("/").status_code == 401


def test_large_requests_are_refused(client, catalogue):
    def body(n):
        yield from (b"x" * 1_000_000 for _ in range(n))

    kind = {"content-type": "multipart/form-data; boundary=b"}
    told = client.post("/query", content=b"", headers=kind | {"content-length": str(MAX_UPLOAD + 1)})
    assert told.status_code == 413
    assert "the request must have at most 64 MB" in told.text
    start = b'--b\r\nContent-Disposition: form-data; name="picture"; filename="x"\r\n\r\n'
    chunks = (part for parts in ([start], body(MAX_UPLOAD // 1_000_000 + 1)) for part in parts)
    assert client.post("/query", content=chunks, headers=kind).status_code == 413
    uid = uid_of(catalogue, "mark 0")
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert client.post(f"/mark/{uid}/edit", content=body(MAX_FORM // 1_000_000 + 1), headers=form).status_code == 413
    assert client.request("GET", "/", content=b"x").status_code == 413


def test_odd_forms_are_refused(client):
    wrong = client.post("/query", content=b"{}", headers={"content-type": "application/json"})
    assert wrong.status_code == 400
    assert "the form must be one of this page" in wrong.text
    broken = client.post("/query", content=b"--x", headers={"content-type": "multipart/form-data; boundary=b"})
    assert "the form must be whole" in broken.text
    many = client.post("/query", files={"picture": b"x"}, data={str(i): "" for i in range(MAX_FIELDS + 1)})
    assert "Too many fields" in many.text
    two = client.post("/query", files=[("picture", b"x"), ("picture", b"y")])
    assert "Too many files" in two.text


def test_a_damaged_mark_spoils_its_own_pages_only(client, catalogue, copy):
    uid = uid_of(catalogue, "mark 1")
    with sqlite3.connect(catalogue.path) as db:
        db.execute("UPDATE pictures SET mark = x'00' WHERE id = (SELECT id FROM marks WHERE uid = ?)", [uid])
    answer = send(client, copy)
    assert answer.status_code == 200
    assert all(f"mark {i}" in answer.text for i in range(N))
    refused = client.get(f"/compare/{uid}/{uid_of(catalogue, 'mark 2')}")
    assert refused.status_code == 422
    assert f"the ink of {uid} (mark 1) must be a picture; got damaged bytes" in refused.text


# The server.


def test_a_server_for_others_needs_a_token():
    assert server.needed_token("localhost", None) is None
    assert server.needed_token("127.0.0.1", TOKEN) == TOKEN
    made = {server.needed_token("0.0.0.0", None) for _ in range(2)}
    assert len(made) == 2
    with pytest.raises(ValueError, match="token must have at least 16 characters; got 5"):
        server.needed_token("0.0.0.0", "12345")
    assert not server.is_loopback("archive.example")
    assert socket.gethostname() in server.names("0.0.0.0")


def test_answers_are_sent_at_once():
    """Without the protocol of its socket, asyncio leaves it to the kernel to hold back every second packet."""
    with server._listening("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


def test_the_own_address_is_known_even_where_the_name_leads_to_this_machine_only(monkeypatch):
    class Asked(socket.socket):
        def connect(self, address):
            pass

        def getsockname(self):
            return "198.51.100.7" if self.family == socket.AF_INET else "2001:db8::7", 1

    def a_socket(family, kind):
        assert kind == socket.SOCK_DGRAM
        return Asked(family, kind)

    monkeypatch.setattr(server.socket, "getaddrinfo", lambda *args: [(0, 0, 0, "", ("127.0.0.1", 0))])
    monkeypatch.setattr(server.socket, "socket", a_socket)
    assert server.names("0.0.0.0")[-1] == "198.51.100.7"
    assert server.names("::")[-2:] == ["198.51.100.7", "2001:db8::7"]
    monkeypatch.setattr(Asked, "connect", lambda self, address: (_ for _ in ()).throw(OSError))
    assert "198.51.100.7" not in server.names("0.0.0.0")


def test_a_port_that_is_taken_is_named(catalogue):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ValueError, match=r"host and port must be free; got 127.0.0.1:\d+"):
            server.serve(catalogue.path, port=taken.getsockname()[1])


def test_a_file_that_cannot_be_written_is_served_for_reading(catalogue, monkeypatch):
    def try_to_judge(app, listener):
        served = app.state.session.catalogue
        with pytest.raises(ValueError, match="the catalogue must be writable"):
            served.judge(uid_of(served, "mark 0"), uid_of(served, "mark 1"), "similar")
        said.append(listener.getsockname()[1])

    said = []
    catalogue.close()
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    monkeypatch.setattr(server, "_run", try_to_judge)
    server.serve(catalogue.path, port=0, n_workers=1, say=said.append)
    assert said == [f"http://127.0.0.1:{said[1]}/", said[1]]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no SIGINT for a child on Windows")
def test_the_server_prints_its_address_answers_and_ends(catalogue):
    httpx = pytest.importorskip("httpx")
    pytest.importorskip("uvicorn", reason="needs the extra `catalogue`")
    code = (
        "import sys; from functools import partial; from nrcdt.catalogue.web import serve; "
        f"serve(sys.argv[1], '127.0.0.1', 0, {TOKEN!r}, n_workers=1, say=partial(print, flush=True))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(catalogue.path)], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            address = process.stdout.readline().strip()
            assert re.fullmatch(rf"http://127\.0\.0\.1:\d+/\?token={TOKEN}", address)
            with httpx.Client() as browser:
                assert browser.get(address, timeout=30).status_code == 200
                assert "6 marks" in browser.get(address.split("?")[0]).text
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(300) == 0  # kernels may still be compiling


# Words and pictures.


def test_motions_put_together_give_the_map_again(rng):
    for _ in range(50):
        matrix = rng.normal(size=(2, 2))
        found = wording.motion(matrix)
        angle = np.radians(found.rotation)
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        mirror = np.diag([-1.0 if found.mirrored else 1.0, 1.0])
        shear = np.array([[1, found.shear], [0, 1]])
        np.testing.assert_allclose(turn @ shear @ np.diag([found.across, found.down]) @ mirror, matrix, atol=1e-12)
        assert min(found.across, found.down) > 0


def test_a_clockwise_turn_on_the_screen_is_called_clockwise():
    image = np.zeros((41, 41))
    image[20, 20:38] = 1
    turned = warp(image, about_centre([[0.0, -1.0], [1.0, 0.0]], [0, 0], image.shape))
    assert turned[20:38, 20].mean() > 0.9
    assert wording.turn(wording.motion(np.array([[0.0, -1.0], [1.0, 0.0]])).rotation) == "90.0° clockwise"


def test_a_map_that_went_wrong_gives_no_huge_sheet():
    ink = np.ones((50, 40))
    laid = pictures.sheet(ink, ink, np.array([[1e4, 0, 1e6], [0, 1e4, 0]]), 300)
    assert max(laid.shape) == 300
    assert laid.second[0, 0] > 1


@pytest.mark.slow
def test_the_style_sheet_has_the_colours_of_the_pictures():
    from nrcdt.pages import STATIC

    css = (STATIC / "style.css").read_text()
    assert "--first: #{:02x}{:02x}{:02x}".format(*pictures.FIRST) in css
