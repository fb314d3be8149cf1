"""What a search says: the verdict on the best hit, sizes on paper, and what is refused before any work is done."""

import pytest
from PIL import Image
from typer.testing import CliRunner

import catalogues
from nrcdt import cli
from nrcdt.catalogue import evaluation
from nrcdt.catalogue.calibration import in_collection, verdict
from nrcdt.catalogue.model import Filter
from nrcdt.catalogue.ranking import Search, query_of_mark
from nrcdt.catalogue.store import Store

PAIRS = catalogues.marks(6, 1, size=96)
STRANGERS = {"marks": 12, "scores": [1.0 + n / 100 for n in range(25)]}


def run(*arguments):
    return CliRunner(env={"COLUMNS": "80"}).invoke(cli.app, ["catalogue", *map(str, arguments)])


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("catalogue") / "marks.db"
    with catalogues.make(path, PAIRS, mm_per_pixel=0.5) as catalogue:
        catalogue.set_about("strangers", STRANGERS)
    return path


@pytest.fixture(scope="module")
def picture(path):
    Image.fromarray(catalogues.paper(PAIRS[0][1])).save(path.parent / "new.png")
    return path.parent / "new.png"


@pytest.fixture
def catalogue(path):
    with Store(path) as catalogue:
        yield catalogue


@pytest.fixture
def hits(catalogue):
    return Search(catalogue, n_jobs=1).query(query_of_mark(catalogue, catalogue.marks()[0]))


def test_the_mark_itself_is_found_behind_one_of_another_size(catalogue, hits):
    first = hits[0]._replace(stretch=(0.5, 0.5), mark=hits[0].mark._replace(name="small"))
    both = [first, *hits]
    assert in_collection(catalogue, both)
    assert verdict(catalogue, both).startswith(f"{hits[0].mark.name} is probably the same mark")
    alone = [first, *hits[2:]]
    assert in_collection(catalogue, alone) is False
    assert "small is alike, but 0.50 times as large on paper" in verdict(catalogue, alone)


def test_a_stretched_copy_has_another_size(catalogue, hits):
    assert hits[0].same_size
    stretched = hits[0]._replace(stretch=(0.74, 1.35))
    assert stretched.size_ratio == pytest.approx(1, abs=0.01)
    assert stretched.same_size is False
    assert "0.74 to 1.35 times as large" in verdict(catalogue, [stretched])


def test_size_is_no_reason_where_the_ink_does_not_overlap(catalogue, hits):
    other = [hit._replace(stretch=(2.0, 2.0), score=2.0) for hit in hits[-2:]]
    assert in_collection(catalogue, other) is False
    assert "times as large" not in verdict(catalogue, other)
    catalogue.set_about("strangers", {"marks": 0, "scores": []})
    assert in_collection(catalogue, other) is None
    assert "not calibrated" in verdict(catalogue, other)
    catalogue.set_about("strangers", STRANGERS)


def test_a_verdict_speaks_of_the_marks_that_were_searched(catalogue, hits):
    others = [hit._replace(score=2.0) for hit in hits[-2:]]
    assert verdict(catalogue, others).startswith("Probably not in this collection: ")
    filtered = verdict(catalogue, others, wanted=Filter(motif=("crown",)))
    assert filtered.startswith("Probably not among the marks that the filters let through: ")
    relatives = verdict(catalogue, others, mark=hits[0].mark)
    assert relatives.startswith("Probably no other picture of this mark is there: ")
    assert verdict(catalogue, []) == "There is no other mark in this catalogue."
    assert verdict(catalogue, [], wanted=Filter("x")) == "No mark matches the filters."


def test_doubtful_ink_gets_no_firm_verdict(catalogue, hits):
    others = [hit._replace(score=2.0) for hit in hits[-2:]]
    assert in_collection(catalogue, others, confidence=0.3) is None
    assert verdict(catalogue, others, confidence=0.3).startswith("The ink is doubtful")
    assert in_collection(catalogue, hits, confidence=0.3)  # what lies on a mark is no stain


def test_hits_that_were_not_registered_have_no_score(catalogue):
    query = query_of_mark(catalogue, catalogue.marks()[0])
    hits = Search(catalogue, n_jobs=1).query(query, n=12, n_registered=5)
    assert [hit.score is None for hit in hits] == [False] * 5 + [True] * 7


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--motif", "dragon"), "--motif must be one that marks have; got 'dragon'. There are: "),
        (("--place", "Rome"), "--place must be one that marks have; got 'Rome'. There are: none."),
        (("--from", "1500", "--to", "1400"), "--from must not be after --to; got 1500 and 1400."),
        (("-o", "hits.xlsx"), "the file to write must end in .csv or .json; got 'hits.xlsx'."),
        (("-o", "nowhere/hits.csv"), "the folder of hits.csv must exist; got nowhere. Make it first."),
        (("--crop", "5", "5", "5", "5"), "new.png: crop must be (left, top, right, bottom) inside the picture"),
    ],
)
def test_what_cannot_be_searched_is_named(path, picture, options, message):
    result = run("query", path, picture, "--drawing", *options)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())


@pytest.mark.slow
def test_ids_are_whole_on_a_narrow_terminal(path, picture, catalogue):
    result = run("query", path, picture, "--drawing", "-n", 3)
    assert result.exit_code == 0, result.output
    assert sum(mark.uid[:8] in result.output for mark in catalogue.marks()) == 3


@pytest.mark.slow
def test_a_narrow_terminal_shows_fewer_columns_and_says_so(path, picture, catalogue):
    uid = catalogue.marks()[0].uid
    catalogue.edit(uid, {"reference": "Archive of a long name, volume 17, folio 203", "place": "Fabriano"})
    result = run("query", path, picture, "--drawing", "-n", 3)
    assert "Archive of" not in result.output
    assert "no room: reference. Widen the window" in result.output
    assert "Fabriano" in result.output
    catalogue.edit(uid, {"reference": "", "place": ""})


def test_evaluations_are_written_as_json_only(path):
    result = run("eval", path, "-o", "numbers.csv")
    assert result.exit_code == 2
    assert "must end in .json" in result.output


def test_motifs_that_are_none_are_not_asked_for(catalogue):
    search = Search(catalogue, n_jobs=1)
    motif = catalogue.marks()[0].motif
    asked = {mark.motif for mark, _ in evaluation.leave_one_out(search, registered=False)}
    fewer = {mark.motif for mark, _ in evaluation.leave_one_out(search, registered=False, without=[motif])}
    assert asked - fewer == {motif}


def test_scores_do_not_depend_on_the_order_of_adding(tmp_path, monkeypatch):
    monkeypatch.setattr("nrcdt.catalogue.ranking.N_PAIRS", 5)
    monkeypatch.setattr("nrcdt.catalogue.ranking.N_ALIGNED", 3)
    scores = []
    for name, order in (("there", PAIRS), ("back", PAIRS[::-1])):
        with catalogues.make(tmp_path / f"{name}.db", order) as catalogue:
            query = query_of_mark(catalogue, catalogue.find(PAIRS[0][0]))
            scores.append({hit.mark.name: hit.score for hit in Search(catalogue, n_jobs=1).query(query)})
    assert scores[0] == pytest.approx(scores[1], rel=1e-5)
