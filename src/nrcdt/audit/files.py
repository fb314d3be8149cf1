"""Which class a file belongs to."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path


def class_names(files: Sequence[Path], given: Sequence[Path]) -> list[str]:
    """Return the class of every file: the sub-folder it lies in, or its own name if it lies in none.

    Parameters
    ----------
    files : the files
    given : the files and folders that were asked for; sub-folders are those of the folder that holds them all

    Examples
    --------
    >>> class_names([Path("scans/jug/1.png"), Path("scans/key/1.png"), Path("scans/crown.png")], [Path("scans")])
    ['jug', 'key', 'crown']
    """
    folders = [path.absolute().parent if path in files else path.absolute() for path in given]
    root = Path(os.path.commonpath(folders))
    names = [path.absolute().relative_to(root) for path in files]
    stems = Counter(name.stem if len(name.parts) == 1 else name.parts[0] for name in set(names))
    return [name.stem if len(name.parts) == 1 and stems[name.stem] == 1 else name.parts[0] for name in names]
