"""Feed damaged and hostile pictures to the workers of the catalogue: python tests/fuzz_pictures.py [N] [SEED].

Every picture must come back as Prepared or as a ValueError that says what is wrong; no process may be left behind, and
the memory of the parent may not grow.
"""

import io
import os
import resource
import struct
import sys
import time
import zlib
from collections import Counter
from pathlib import Path

import numpy as np
from PIL import Image

from nrcdt.catalogue.intake import Prepared, Settings
from nrcdt.catalogue.workers import Workers

EDGES = [0, 1, 2, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1]
ODD_SETTINGS = [
    Settings(),
    Settings(ink=False),
    Settings(polarity="light", crop=(5, 5, 60, 60)),
    Settings(ink=False, crop=(-5, 3, 10**9, 50), erase=((20, 20, 8), (-40, 900, 3), (25, 22, 12.5))),
    Settings(erase=((30, 30, 10), (33.5, 31, 4)), bar_mm=50),
]
MAX_GROWTH = 200_000_000


def drawing(size=72):
    y, x = np.mgrid[-1 : 1 : size * 1j, -1 : 1 : size * 1j]
    ring = np.abs(np.hypot(x, 1.3 * y) - 0.6) < 0.06
    return Image.fromarray(np.where(ring | (np.abs(x - y) < 0.05), 40, 230).astype(np.uint8))


def saved(picture, name, **options):
    file = io.BytesIO()
    picture.save(file, name, **options)
    return file.getvalue()


def originals():
    """Valid files of all formats, in many of their modes."""
    grey = drawing()
    colour, bits = grey.convert("RGB"), grey.convert("1")
    deep = Image.fromarray(np.asarray(grey).astype(np.uint16) * 257)
    floats = Image.fromarray(np.asarray(grey, np.float32) / 255)
    turned = Image.Exif()
    turned[0x0112] = 6
    files = [saved(picture, "PNG") for picture in (grey, bits, deep, colour.convert("RGBA"), grey.convert("P"))]
    files += [saved(grey, "PNG", dpi=(300, 300)), saved(grey.convert("LA"), "PNG")]
    files += [saved(grey, "JPEG"), saved(colour, "JPEG", progressive=True), saved(colour, "JPEG", exif=turned)]
    files += [saved(colour.convert("CMYK"), "JPEG", dpi=(600, 600))]
    files += [saved(picture, "TIFF") for picture in (grey, deep, floats, colour, bits)]
    files += [saved(grey, "TIFF", compression=kind) for kind in ("tiff_lzw", "tiff_adobe_deflate", "packbits", "jpeg")]
    files += [saved(bits, "TIFF", compression="group4"), saved(grey, "TIFF", save_all=True, append_images=[grey, bits])]
    files += [saved(grey, "GIF"), saved(grey, "GIF", save_all=True, append_images=[grey.rotate(9)] * 3, transparency=0)]
    files += [saved(picture, "BMP") for picture in (grey, colour, bits, grey.convert("P"))]
    files += [saved(grey, "WEBP"), saved(colour.convert("RGBA"), "WEBP", lossless=True)]
    files += [saved(grey, "WEBP", save_all=True, append_images=[grey.rotate(5)])]
    files += [saved(picture, "PPM") for picture in (grey, bits, deep, colour)]
    text = " ".join(map(str, np.asarray(grey).ravel()))
    return [*files, f"P2 # words\n72 72\n255\n{text}\n".encode()]


def flipped(data, rng):
    bits = rng.integers(0, 8 * len(data), rng.integers(1, 8))
    array = np.frombuffer(data, np.uint8).copy()
    np.bitwise_xor.at(array, bits // 8, (1 << (bits % 8)).astype(np.uint8))
    return array.tobytes()


def flipped_near_the_head(data, rng):
    return flipped(data[:96], rng) + data[96:]


def truncated(data, rng):
    return data[: rng.integers(1, len(data))]


def spliced(data, rng, others):
    other = others[rng.integers(len(others))]
    return data[: rng.integers(len(data))] + other[rng.integers(len(other)) :]


def repeated(data, rng):
    start, stop = np.sort(rng.integers(0, len(data), 2))
    return data[:stop] + data[start:stop] * int(rng.integers(1, 50)) + data[stop:]


def edged(data, rng):
    """Write numbers at which programs stumble over one field or several, mostly near the head."""
    array = bytearray(data)
    for _ in range(rng.integers(1, 5)):
        field = struct.pack(rng.choice(["<I", ">I"]), EDGES[rng.integers(len(EDGES))])[: rng.choice([2, 4])]
        at = int(rng.integers(min(len(data), 200) if rng.random() < 0.8 else len(data)))
        array[at : at + len(field)] = field
    return bytes(array)


def blown_up(data, rng):
    """Declare a huge width and height, in the place where the format has them."""
    width, height = (int(rng.choice([1, 3000, 9999, 30_000, 65_535, 2**31 - 1])) for _ in range(2))
    if data.startswith(b"\x89PNG"):
        return data[:16] + struct.pack(">II", width, height) + data[24:]
    if data.startswith(b"BM"):
        return data[:18] + struct.pack("<II", width, height) + data[26:]
    if data.startswith(b"GIF"):
        return data[:6] + struct.pack("<HH", width % 65536, height % 65536) + data[10:]
    if data.startswith(b"P"):
        return data[:2] + f"\n{width} {height}\n255\n".encode() + data[10:]
    if data.startswith(b"\xff\xd8"):
        at = max(data.find(b"\xff\xc0"), data.find(b"\xff\xc2"))
        return data[: at + 5] + struct.pack(">HH", height % 65536, width % 65536) + data[at + 9 :]
    if data.startswith(b"RIFF"):
        return data[:24] + struct.pack("<HH", width % 65536, height % 65536) + data[28:]
    return _tiff_entry(_tiff_entry(data, 256, width), 257, height)


def _tiff_entry(data, tag, value):
    array = bytearray(data)
    (first,) = struct.unpack_from("<I", array, 4)
    for at in range(first + 2, min(first + 2 + 12 * 30, len(array) - 12), 12):
        if struct.unpack_from("<H", array, at)[0] == tag:
            struct.pack_into("<HII", array, at + 2, 4, 1, value)
    return bytes(array)


def bomb(data, rng):
    """Return a small PNG that unfolds to many megapixels."""
    width, height = (int(rng.integers(2000, 20_000)) for _ in range(2))
    rows = zlib.compress(bytes((width // 8 + 2) * height))
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)), (b"IDAT", rows), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, body) for kind, body in chunks)


def _chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def with_checksums(data):
    """Correct the checksums of a PNG, without which a decoder stops at once."""
    out, at = [data[:8]], 8
    while at + 12 <= len(data):
        (length,) = struct.unpack_from(">I", data, at)
        if length > len(data) - at - 12:
            break
        out.append(_chunk(data[at + 4 : at + 8], data[at + 8 : at + 8 + length]))
        at += 12 + length
    return b"".join(out) + data[at:]


MUTATIONS = [flipped, flipped, flipped_near_the_head, truncated, spliced, repeated, edged, edged, blown_up]


def mutants(n, seed=0):
    """Yield n jobs (key, data, settings); the same for the same seed."""
    files = originals()
    for key in range(n):
        rng = np.random.default_rng((seed, key))
        data = files[key % len(files)]
        for _ in range(rng.integers(1, 3)):
            mutate = MUTATIONS[rng.integers(len(MUTATIONS))]
            data = mutate(data, rng, files) if mutate is spliced else mutate(data or b"\0", rng)
        if rng.random() < 0.01:
            data = bomb(data, rng)
        if data.startswith(b"\x89PNG") and rng.random() < 0.7:
            data = with_checksums(data)
        yield key, data, ODD_SETTINGS[rng.integers(len(ODD_SETTINGS))]


def children():
    """Processes of this one, where the system tells; those that wait for nobody but us included."""
    stats = (path.read_text().rsplit(")", 1)[1].split() for path in _stats() if path.exists())
    return sum(int(fields[1]) == os.getpid() for fields in stats)


def _stats():
    return [folder / "stat" for folder in Path("/proc").iterdir() if folder.name.isdigit()]


def fuzz(n, seed=0, n_workers=2):
    """Feed n mutants; return how many came to which end. Raises AssertionError where a rule is broken."""
    ends = Counter()
    before, memory = children(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    with Workers(n_workers, seconds=20, memory=1_000_000_000) as workers:
        for key, result in workers.map(mutants(n, seed)):
            assert is_sound(result), (seed, key, result)
            ends[end_of(result)] += 1
        assert children() - before == n_workers
    assert sum(ends.values()) == n
    assert children() == before
    growth = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - memory
    assert growth < MAX_GROWTH, growth
    return ends


def is_sound(result):
    """Tell whether a result is one the catalogue can work with."""
    if isinstance(result, Prepared):
        return np.isfinite(result.features).all() and result.mark.any() and 0 <= result.confidence <= 1
    return isinstance(result, ValueError) and " must " in str(result) and "; got" in str(result)


def end_of(result):
    return "prepared" if isinstance(result, Prepared) else str(result).split("; got")[0]


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    count, seed = [*given, *(10_000, 0)[len(given) :]]
    start = time.perf_counter()
    for end, number in fuzz(count, seed).most_common():
        print(f"{number:6}  {end}")
    print(f"{count:6}  in {time.perf_counter() - start:.0f} s")
