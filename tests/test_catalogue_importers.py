"""Folders and tables of pictures: what is taken, and what is said about the rest."""

import os

import pytest

from nrcdt.catalogue.importers import Entry, Problem, listed

WZIS = """Refnumber;IDwmarks;IDmotif;Motiflong_de;Method_de;Path
DE1-PO-1;17;4,2;"Fauna; vierfüßig";Durchzeichnung;PO\\one.jpg
DE1-PO-2;18;;Krone;;PO/two.jpg
"""


@pytest.fixture
def folder(tmp_path):
    """Pictures by motif, beside a file that the importer must never reach."""
    (tmp_path / "secret.png").touch()
    folder = tmp_path / "archive"
    for name in (
        "loose.png",
        "lily/b.JPG",
        "lily/a.png",
        "lily/more/c.tif",
        "crown/d.webp",
        "PO/one.jpg",
        "PO/two.jpg",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder.resolve()


def table(folder, text, encoding="utf-8"):
    path = folder / "table.csv"
    path.write_bytes(text.encode(encoding))
    return path


def split(source, root=None):
    found = list(listed(source, root))
    return [one for one in found if isinstance(one, Entry)], [one for one in found if isinstance(one, Problem)]


def test_folders_are_motifs(folder):
    entries, problems = split(folder)
    assert [(entry.name, entry.motif) for entry in entries] == [
        ("loose", ""),
        ("one", "PO"),
        ("two", "PO"),
        ("d", "crown"),
        ("a", "lily"),
        ("b", "lily"),
        ("c", "lily"),
    ]
    assert entries[0].path == folder / "loose.png"
    assert all(entry.path.is_absolute() for entry in entries)
    assert problems == []


def test_other_files_are_told_and_hidden_ones_left_out(folder):
    (folder / "lily" / "notes.txt").touch()
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "x.png").touch()
    (folder / ".x.png").touch()
    entries, problems = split(folder)
    assert len(entries) == 7
    ((file, reason, left_out),) = problems
    assert left_out
    assert file == os.path.join("lily", "notes.txt")
    assert reason.startswith("the suffix must be one of .png .jpg")
    assert reason.endswith("; got notes.txt. Convert the file.")


def test_links_out_of_a_folder_are_refused(folder):
    (folder / "lily" / "link.png").symlink_to(folder.parent / "secret.png")
    (folder / "lily" / "twice.png").symlink_to(folder / "lily" / "a.png")
    (folder / "lily" / "loop.png").symlink_to(folder / "lily" / "loop.png")
    (folder / "outside").symlink_to(folder.parent)
    entries, problems = split(folder)
    assert len(entries) == 7
    reasons = {os.path.basename(file): reason for file, reason, _ in problems}
    assert f"path must stay inside {folder}; got {folder.parent / 'secret.png'}. Give --root" in reasons["link.png"]
    assert "path must come once; got" in reasons["twice.png"]
    assert "path must be an existing file; got" in reasons["loop.png"]
    assert reasons["outside"].startswith("the folder must not be a link; got one, which is not followed. Add what")
    assert not any(problem.left_out for problem in problems)
    entries, problems = split(folder, folder.parent)
    assert folder.parent / "secret.png" in [entry.path for entry in entries]


def test_names_that_are_not_utf8_are_refused(folder):
    bad = os.path.join(os.fsencode(folder), b"lily", b"bad\xff\xfe.png")
    with open(bad, "wb"):
        pass
    entries, ((file, reason, left_out),) = split(folder)
    assert len(entries) == 7
    assert not left_out
    assert file == os.path.join("lily", "bad\ufffd\ufffd.png")
    assert reason.startswith("the name must be in UTF-8; got ")
    assert reason.endswith("bad\ufffd\ufffd.png. Rename the file or its folder.")
    reason.encode()


def test_a_picture_by_itself(folder):
    assert split(folder / "lily" / "b.JPG") == ([Entry(folder / "lily" / "b.JPG", "b")], [])


def test_pipes_are_refused(folder):
    os.mkfifo(folder / "pipe.png")
    _, ((file, reason, *_),) = split(folder)
    assert file == "pipe.png"
    assert "path must be a regular file; got" in reason


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_wzis_exports(folder, encoding):
    entries, problems = split(table(folder, WZIS, encoding))
    assert problems == []
    assert entries == [
        Entry(
            folder / "PO" / "one.jpg",
            "one",
            "Fauna; vierfüßig",
            "Durchzeichnung",
            reference="DE1-PO-1",
            extra={"IDwmarks": "17", "IDmotif": "4,2"},
        ),
        Entry(folder / "PO" / "two.jpg", "two", "Krone", reference="DE1-PO-2", extra={"IDwmarks": "18"}),
    ]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_tables_with_any_separator(folder, separator):
    header = ["FILE", "Class", "Year", "Location", "Technique", "id", "Title", "Paper size"]
    row = ["lily/a.png", "Lily", "1423-25", "Roma", "rubbing", "B 7", "the lily", "folio"]
    source = table(folder, "\r\n".join(map(separator.join, [header, row, [""] * 8, []])))
    entries, problems = split(source)
    expected = (folder / "lily" / "a.png", "the lily", "Lily", "rubbing", "1423-25", "Roma", "B 7")
    assert entries == [Entry(*expected, {"Paper size": "folio"})]
    assert problems == []


def test_a_table_of_paths_alone(folder):
    entries, problems = split(table(folder, "image\nlily/a.png\n\nloose.png"))
    assert [entry.name for entry in entries] == ["a", "loose"]
    assert problems == []


def test_the_first_of_two_names_for_one_field_wins(folder):
    ((entry,), _) = split(table(folder, "id,reference,path\n9,B 3,loose.png"))
    assert entry.reference == "B 3"
    assert entry.extra == {"id": "9"}


def test_resolutions_become_millimetres(folder):
    text = 'path;dpi;mm_per_pixel\nlily/a.png;254;\nlily/b.JPG;;"0,2"\nloose.png;;\nPO/one.jpg;many;\nPO/two.jpg;1e300;'
    entries, problems = split(table(folder, f"{text}\ncrown/d.webp;;0"))
    assert problems == []
    assert [entry.mm_per_pixel for entry in entries] == [pytest.approx(0.1), 0.2, None, None, None, None]
    remarks = [entry.remark for entry in entries]
    assert remarks[:3] == ["", "", ""]
    assert remarks[3] == (
        "table.csv, line 5: dpi must be a number from 10 to 100000; got 'many'. Leave it empty if unknown. "
        "The picture is taken without a resolution."
    )
    assert "got '1e300'" in remarks[4]
    assert "mm_per_pixel must be a number from 0.000254 to 2.54; got '0'." in remarks[5]


def test_names_cannot_escape(folder):
    outside = folder.parent / "secret.png"
    names = ["../secret.png", str(outside), "lily/../../secret.png", "..\\secret.png", "link.png"]
    (folder / "link.png").symlink_to(outside)
    source = table(folder, "path\n" + "\n".join([*names, "lily/a.png"]))
    entries, problems = split(source)
    assert [entry.path for entry in entries] == [folder / "lily" / "a.png"]
    assert [problem.file for problem in problems] == [f"table.csv, line {n}" for n in range(2, 7)]
    for problem in problems:
        assert problem.reason == f"path must stay inside {folder}; got {outside}. Give --root FOLDER to take it."
    entries, problems = split(source, folder.parent)
    assert [entry.path for entry in entries] == [outside, folder / "lily" / "a.png"]
    assert len(problems) == 4
    assert all("path must come once" in problem.reason for problem in problems)


def test_rows_that_cannot_be_taken_are_told(folder):
    rows = ["none.png,x", "notes.txt,x", ",x", "lily,x", "lily/a.png,x,y", "lily/a.png,x", "LILY/../lily/a.png,x"]
    rows += ["a\0b.png,x", "n" * 5000 + ".png,x", "z" * 200_000 + ",x", "loose.png,x"]
    (folder / "notes.txt").touch()
    (folder / "LILY").mkdir()
    entries, problems = split(table(folder, "path,motif\n" + "\n".join(rows)))
    assert [entry.name for entry in entries] == ["a", "loose"]
    reasons = {problem.file.removeprefix("table.csv, line "): problem.reason for problem in problems}
    expected = {
        "2": "path must be an existing file; got",
        "3": "the suffix must be one of",
        "4": "path must name a file; got nothing. Fill the cell, or drop the row.",
        "5": "the suffix must be one of",
        "6": "the row must have 2 columns; got 3. Quote texts with separators.",
        "8": "path must come once; got",
        "9": "path must be an existing file",
        "10": "path must be an existing file",
        "11": "the row must have cells of at most",
    }
    assert reasons.keys() == expected.keys()
    assert all(reasons[line].startswith(reason) for line, reason in expected.items()), reasons


def test_paths_are_looked_for_in_the_root_as_well(folder, tmp_path):
    (tmp_path / "tables").mkdir()
    source = table(tmp_path / "tables", "path,motif\nlily/a.png,lily")
    assert [problem.reason[:29] for problem in split(source)[1]] == ["path must be an existing file"]
    ((entry,), _) = split(source, folder)
    assert entry.path == folder / "lily" / "a.png"


def test_sources_are_checked(folder):
    with pytest.raises(ValueError, match=r"source must be a folder, a CSV file or a picture; got .*, which is absent"):
        listed(folder / "absent")
    with pytest.raises(ValueError, match=r"root must be a folder; got .*loose.png. Give the folder"):
        listed(folder, folder / "loose.png")
    with pytest.raises(ValueError, match=r"the table must have a column path, file, .* or picture; got a, b. Name"):
        listed(table(folder, "a,b\n1,2"))
    with pytest.raises(ValueError, match=r"the table must have a column .*; got no header"):
        listed(table(folder, "\n\n"))
