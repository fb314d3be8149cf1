CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE marks (
    id INTEGER PRIMARY KEY,
    uid TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL, motif TEXT NOT NULL, date TEXT NOT NULL, place TEXT NOT NULL, method TEXT NOT NULL, reference TEXT NOT NULL, note TEXT NOT NULL,
    extra TEXT NOT NULL, source TEXT NOT NULL, sha256 TEXT NOT NULL,
    width INTEGER NOT NULL, height INTEGER NOT NULL, mm_per_pixel REAL,
    mark_width INTEGER NOT NULL, mark_height INTEGER NOT NULL, to_mark TEXT NOT NULL,
    polarity TEXT NOT NULL, confidence REAL NOT NULL, steps TEXT NOT NULL, settings TEXT NOT NULL, added TEXT NOT NULL,
    year_from INTEGER, year_to INTEGER, words TEXT NOT NULL, stamp TEXT NOT NULL
);
CREATE UNIQUE INDEX by_source ON marks (source) WHERE source != '';
CREATE INDEX by_motif ON marks (motif, name, id);
CREATE INDEX by_method ON marks (method);
CREATE INDEX by_place ON marks (place);
CREATE TABLE features (id INTEGER PRIMARY KEY REFERENCES marks ON DELETE CASCADE, vector BLOB NOT NULL);
CREATE TRIGGER grown AFTER INSERT ON features BEGIN UPDATE about SET value = value + 1 WHERE key = 'generation'; END;
CREATE TRIGGER changed AFTER UPDATE ON features BEGIN UPDATE about SET value = value + 1 WHERE key = 'generation'; END;
CREATE TRIGGER shrunk AFTER DELETE ON features BEGIN UPDATE about SET value = value + 1 WHERE key = 'generation'; END;
CREATE TABLE pictures (
    id INTEGER PRIMARY KEY REFERENCES marks ON DELETE CASCADE,
    mark BLOB NOT NULL, preview BLOB NOT NULL, original BLOB
);
CREATE TABLE judgements (
    a TEXT NOT NULL REFERENCES marks (uid) ON DELETE CASCADE, b TEXT NOT NULL REFERENCES marks (uid) ON DELETE CASCADE,
    verdict TEXT NOT NULL, note TEXT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (a, b)
) WITHOUT ROWID;
