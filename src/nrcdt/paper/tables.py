"""Every table of the numerical section as data: what is computed, and what is printed.

The printed numbers stand in plain text, one line per row. Leading columns named in `KEYS` tell the row; a dash stands
for "any". The other columns are named as in `column_names`. ``0.331±0.016`` is a mean and a standard deviation over
splits; a question mark marks what breaks its own column and must be a misprint.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from .extra_columns import added_columns

KEYS = ("train", "angles", "directions", "rotations", "score")
MISPRINT = "breaks its own column in the paper: surely a misprint, kept as printed"


class Number(NamedTuple):
    """A printed number."""

    value: float
    std: float | None = None
    note: str = ""


class Row(NamedTuple):
    """One printed row: what it was computed with, its numbers by column, and columns that the paper does not have."""

    label: str
    train: int | None
    directions: int | None
    score: str | None
    printed: dict[str, Number]
    added: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """All columns, printed ones first."""
        return [*self.printed, *self.added]


class Table(NamedTuple):
    """One table of the paper.

    Of every class there are `n_samples`, or `quick_samples` in a quick run. `n_draws` datasets are drawn for the 20
    splits or runs of k-means. `drawings` says that the templates are drawings of our own that decide the outcome: such
    a table is not judged.
    """

    name: str
    title: str
    experiment: Literal["nearest template", "nearest neighbour", "svm", "k-means", "run times"]
    dataset: str
    n_samples: int
    quick_samples: int
    text: str
    classes: tuple[int, ...] = ()
    space: str = "image"
    n_radii: int = 850
    n_quantiles: int = 256
    n_directions: int = 256
    n_draws: int = 1
    drawings: bool = False

    @property
    def rows(self) -> list[Row]:
        """The rows, in printed order; what two blocks print for one label is one row."""
        rows: dict[str, Row] = {}
        for row in (row for block in self.text.strip().split("\n\n") for row in _read_block(block)):
            before = rows[row.label].printed if row.label in rows else {}
            added = added_columns(self.name, row.train, row.directions)
            rows[row.label] = row._replace(printed={**before, **row.printed}, added=added)
        return list(rows.values())


def _read_block(block: str) -> list[Row]:
    header, *lines = (line.split() for line in block.strip().splitlines())
    return [_read_row(dict(zip(header, line, strict=True))) for line in lines]


def _read_row(entries: dict[str, str]) -> Row:
    keys = {key: value for key, value in entries.items() if key in KEYS and value != "-"}
    label = ", ".join(value if key == "score" else f"{key} {value}" for key, value in keys.items())
    directions = next((int(keys[key]) for key in KEYS[1:4] if key in keys), None)
    train = int(keys["train"]) if "train" in keys else None
    printed = {column: _read_number(text) for column, text in entries.items() if column not in KEYS}
    return Row(label or "any number", train, directions, keys.get("score"), printed)


def _read_number(text: str) -> Number:
    value, _, std = text.rstrip("?").partition("±")
    return Number(float(value), float(std) if std else None, MISPRINT if text.endswith("?") else "")


TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        Table(
            "nt-academic",
            "Nearest template, academic dataset",
            "nearest template",
            "academic",
            10,
            10,
            """
            angles  eucl/inf  eucl/2  moments/inf  moments/2  lot
            -       0.333     0.366   1.000        1.000      0.333

            angles  rcdt/inf  max/inf  abs_max/inf  abs_min/inf  abs_range/inf  range/inf  tv/inf
            2       0.466     0.400    0.333        0.400        0.200          0.133      0.133
            4       0.500     0.733    0.600        0.833        0.900          0.766      0.700
            8       0.400     0.666    0.666        0.733        0.933          0.933      0.666
            16      0.500     1.000    1.000        0.966        1.000          1.000      0.933
            32      0.433     1.000    1.000        1.000        1.000          1.000      1.000
            64      0.433     1.000    1.000        1.000        1.000          1.000      1.000
            128     0.400     1.000    1.000        1.000        1.000          1.000      1.000
            256     0.400     1.000    1.000        1.000        1.000          1.000      1.000

            angles  rcdt/2  max/2  abs_max/2  abs_min/2  abs_range/2  range/2  tv/2
            2       0.433   0.466  0.366      0.500      0.333        0.333    0.333
            4       0.333   0.733  0.733      0.633      0.866        0.833    0.800
            8       0.366   0.933  0.933      0.733      0.800        0.866    0.733
            16      0.366   1.000  1.000      1.000      1.000        1.000    0.933
            32      0.366   1.000  1.000      1.000      1.000        1.000    1.000
            64      0.366   1.000  1.000      1.000      1.000        1.000    1.000
            128     0.366   1.000  1.000      1.000      1.000        1.000    1.000
            256     0.366   1.000  1.000      1.000      1.000        1.000    1.000
            """,
            classes=(1, 2, 3),
        ),
        Table(
            "run-times",
            "Run times in seconds, academic dataset",
            "run times",
            "academic",
            10,
            10,
            """
            angles  rcdt      normalization  nearest_template/rcdt  nearest_template/nrcdt
            2       2.0687    0.0015         0.0012   0.0019
            4       4.5088    0.0014         0.0041   0.0016
            8       11.9253   0.0016         0.0025   0.0012
            16      22.0266   0.0021         0.0065   0.0013
            32      41.9814   0.0031         0.0109   0.0021
            64      84.8437   0.0048         0.0261   0.0023
            128     172.2234  0.0065         0.0458   0.0021
            256     322.4234  0.0133         0.1372   0.0019
            """,
            classes=(1, 2, 3),
        ),
        Table(
            "nt-polygon",
            "Nearest template, polygon dataset",
            "nearest template",
            "polygon",
            10,
            4,
            """
            angles  eucl   moments
            -       0.144  0.933

            angles  rcdt   max    range  tv
            2       0.122  0.089  0.122  0.122
            4       0.133  0.278  0.289  0.311
            8       0.133  0.289  0.233  0.244
            16      0.144  0.567  0.389  0.389
            32      0.144  0.478  0.422  0.611
            64      0.144  0.700  0.711  0.944
            128     0.144  0.678  0.678  1.000
            256     0.144  0.678  0.667  1.000
            """,
            drawings=True,
        ),
        Table(
            "nt-watermark",
            "Nearest template, historic watermarks",
            "nearest template",
            "watermarks",
            0,
            0,
            """
            angles  eucl   moments
            -       0.078  0.406

            angles  rcdt   max    range  tv
            2       0.140  0.516  0.203  0.200
            4       0.219  0.781  0.703  0.719
            8       0.188  0.828  0.782  0.766
            16      0.203  0.859  0.781  0.766
            32      0.203  0.859  0.800  0.822
            64      0.203  0.859  0.813  0.891
            128     0.203  0.859  0.813  0.891
            256     0.203  0.859  0.813  0.891
            512     0.203  0.859  0.813  0.922
            1024    0.203  0.859  0.796  0.938
            """,
        ),
        Table(
            "nn-linmnist",
            "Nearest neighbour, LinMNIST dataset",
            "nearest neighbour",
            "linmnist",
            100,
            24,
            """
            train  eucl
            1      0.344±0.024
            5      0.340±0.038
            10     0.348±0.022

            train  angles  rcdt         max          range        tv
            1      2       0.331±0.016  0.477±0.083  0.430±0.084  0.429±0.099
            1      4       0.336±0.028  0.589±0.089  0.589±0.108  0.571±0.135
            1      8       0.340±0.027  0.763±0.080  0.718±0.126  0.769±0.130
            1      16      0.340±0.027  0.796±0.122  0.768±0.114  0.828±0.122
            1      32      0.340±0.027  0.818±0.093  0.768±0.120  0.830±0.119
            1      64      0.340±0.027  0.820±0.090  0.760±0.127  0.824±0.119
            1      128     0.340±0.027  0.820±0.091  0.752±0.127  0.823±0.119
            1      256     0.340±0.027  0.820±0.091  0.752±0.127  0.822±0.119
            5      2       0.335±0.022  0.541±0.047  0.548±0.058  0.530±0.047
            5      4       0.343±0.025  0.717±0.051  0.706±0.049  0.696±0.071
            5      8       0.343±0.032  0.832±0.037  0.837±0.046  0.829±0.041
            5      16      0.343±0.031  0.863±0.023  0.849±0.033  0.879±0.017
            5      32      0.344±0.031  0.885±0.019  0.865±0.026  0.891±0.019
            5      64      0.344±0.031  0.884±0.021  0.864±0.025  0.889±0.021
            5      128     0.344±0.031  0.886±0.019  0.864±0.024  0.890±0.022
            5      256     0.344±0.031  0.886±0.019  0.864±0.024  0.890±0.023
            10     2       0.335±0.021  0.586±0.021  0.523±0.061  0.541±0.035
            10     4       0.350±0.028  0.734±0.048  0.713±0.038  0.729±0.027
            10     8       0.351±0.032  0.846±0.025  0.845±0.028  0.856±0.017
            10     16      0.352±0.032  0.870±0.019  0.866±0.026  0.891±0.016
            10     32      0.352±0.033  0.899±0.021  0.878±0.022  0.896±0.016
            10     64      0.352±0.033  0.899±0.020  0.878±0.018  0.901±0.015
            10     128     0.352±0.033  0.902±0.020  0.878±0.018  0.901±0.013
            10     256     0.352±0.033  0.901±0.020  0.880±0.018  0.901±0.013
            """,
            n_draws=20,
            classes=(1, 5, 7),
            n_radii=500,
        ),
        Table(
            "svm-academic",
            "Linear support vector machine, academic dataset",
            "svm",
            "academic",
            500,
            70,
            """
            train  eucl
            1      0.500±0.015
            5      0.508±0.019
            10     0.518±0.023
            25     0.527±0.014
            50     0.531±0.017

            train  angles  rcdt         max          range        tv
            1      2       0.499±0.033  0.617±0.126  0.663±0.119  0.676±0.131
            1      4       0.499±0.023  0.777±0.084  0.725±0.112  0.783±0.102
            1      8       0.520±0.018  0.976±0.059  0.913±0.094  0.763±0.139
            1      16      0.514±0.023  1.000±0.000  0.988±0.023  0.937±0.055
            1      32      0.578±0.020  1.000±0.000  1.000±0.000  1.000±0.000
            1      64      0.505±0.025  1.000±0.000  1.000±0.000  1.000±0.000
            5      2       0.515±0.039  0.863±0.052  0.744±0.051  0.760±0.084
            5      4       0.522±0.029  0.971±0.040  0.947±0.041  0.964±0.031
            5      8       0.528±0.045  1.000±0.000  1.000±0.000  0.984±0.017
            5      16      0.556±0.058  1.000±0.000  1.000±0.000  0.986±0.011
            5      32      0.596±0.076  1.000±0.000  1.000±0.000  1.000±0.000
            5      64      0.599±0.086  1.000±0.000  1.000±0.000  1.000±0.000
            10     2       0.549±0.031  0.936±0.049  0.797±0.047  0.847±0.049
            10     4       0.572±0.048  0.989±0.022  0.978±0.009  0.972±0.045
            10     8       0.630±0.050  1.000±0.000  1.000±0.000  0.991±0.013
            10     16      0.703±0.062  1.000±0.000  1.000±0.000  0.996±0.006
            10     32      0.767±0.092  1.000±0.000  1.000±0.000  1.000±0.000
            10     64      0.768±0.093  1.000±0.000  1.000±0.000  1.000±0.000
            25     2       0.593±0.085  0.975±0.025  0.881±0.041  0.940±0.022
            25     4       0.730±0.068  1.000±0.000  0.986±0.007  0.990±0.007
            25     8       0.868±0.064  1.000±0.000  1.000±0.000  0.998±0.005
            25     16      0.975±0.037  1.000±0.000  1.000±0.000  1.000±0.000
            25     32      0.991±0.014  1.000±0.000  1.000±0.000  1.000±0.000
            25     64      0.985±0.022  1.000±0.000  1.000±0.000  1.000±0.000
            50     2       0.632±0.031  0.983±0.010  0.933±0.022  0.979±0.016
            50     4       0.863±0.035  1.000±0.000  0.989±0.004  0.993±0.007
            50     8       0.971±0.023  1.000±0.000  1.000±0.000  1.000±0.000
            50     16      1.000±0.000  1.000±0.000  1.000±0.000  1.000±0.000
            50     32      1.000±0.000  1.000±0.000  1.000±0.000  1.000±0.000
            50     64      0.991±0.018  1.000±0.000  1.000±0.000  1.000±0.000
            """,
            classes=(1, 2),
        ),
        Table(
            "svm-linmnist",
            "Linear support vector machine, LinMNIST dataset",
            "svm",
            "linmnist",
            500,
            150,
            """
            train  eucl
            1      0.504±0.023
            5      0.504±0.018
            10     0.507±0.023
            25     0.517±0.025
            50     0.518±0.015

            train  angles  rcdt         max          range         tv
            1      2       0.505±0.030  0.678±0.102  0.520±0.024   0.518±0.046
            1      4       0.496±0.027  0.783±0.083  0.584±0.109   0.657±0.099
            1      8       0.505±0.023  0.877±0.120  0.805±0.091   0.784±0.145
            1      16      0.502±0.025  0.931±0.036  0.827±0.181   0.837±0.099
            1      32      0.510±0.019  0.957±0.010  0.805±0.129   0.836±0.185
            1      64      0.519±0.025  0.952±0.011  0.872±0.120   0.903±0.058
            5      2       0.515±0.028  0.717±0.082  0.528±0.047   0.535±0.031
            5      4       0.518±0.021  0.821±0.064  0.709±0.084   0.744±0.036
            5      8       0.517±0.042  0.937±0.031  0.873±0.042   0.869±0.042
            5      16      0.515±0.021  0.949±0.021  0.911±0.045   0.933±0.020
            5      32      0.514±0.044  0.954±0.011  0.944±0.018   0.931±0.033
            5      64      0.507±0.028  0.961±0.007  0.947±0.016   0.926±0.085
            10     2       0.511±0.026  0.784±0.032  0.537±0.037   0.562±0.034
            10     4       0.514±0.026  0.847±0.035  0.753±0.022   0.745±0.045
            10     8       0.510±0.031  0.944±0.013  0.907±0.018   0.871±0.083
            10     16      0.528±0.032  0.953±0.010  0.935±0.016   0.937±0.029
            10     32      0.534±0.030  0.960±0.010  0.946±0.027   0.948±0.027
            10     64      0.541±0.041  0.956±0.019  0.955±0.020   0.949±0.033
            25     2       0.521±0.024  0.799±0.017  0.569±0.034   0.581±0.027
            25     4       0.513±0.023  0.860±0.028  0.768±0.013   0.782±0.018
            25     8       0.533±0.027  0.946±0.015  0.909±0.010   0.923±0.030
            25     16      0.541±0.024  0.959±0.011  0.950±0.009   0.946±0.024
            25     32      0.550±0.037  0.962±0.010  0.960±0.012   0.955±0.022
            25     64      0.556±0.027  0.962±0.013  0.962±0.012   0.961±0.021
            50     2       0.535±0.025  0.812±0.021  0.554±0.033   0.591±0.028
            50     4       0.528±0.022  0.881±0.016  0.780±0.008   0.793±0.011
            50     8       0.552±0.027  0.957±0.008  0.923±0.006   0.937±0.016
            50     16      0.567±0.032  0.962±0.009  0.855±0.005?  0.956±0.016
            50     32      0.571±0.029  0.968±0.007  0.967±0.007   0.967±0.007
            50     64      0.583±0.032  0.968±0.009  0.967±0.009   0.968±0.008
            """,
            classes=(1, 7),
            n_radii=500,
        ),
        Table(
            "kmeans-academic",
            "k-means, academic dataset",
            "k-means",
            "academic",
            100,
            8,
            """
            score     eucl    rcdt    max     tv
            RI-train  0.3378  0.5486  1.0000  1.0000
            VI-train  1.1492  2.1676  0.0000  0.0000
            RI-test   0.3288  0.5537  1.0000  1.0000
            VI-test   1.0986  2.1207  0.0000  0.0000
            """,
            n_draws=20,
            classes=(1, 2, 3),
        ),
        Table(
            "kmeans-polygon",
            "k-means, polygon dataset",
            "k-means",
            "polygon",
            100,
            4,
            """
            score     eucl    rcdt    max     tv
            RI-train  0.1367  0.7406  0.8602  0.9752
            VI-train  2.2449  3.8193  1.6014  0.2853
            RI-test   0.1091  0.7130  0.8579  0.9752
            VI-test   2.1972  3.6659  1.6275  0.2706
            """,
            n_draws=5,
            drawings=True,
        ),
        Table(
            "kmeans-linmnist",
            "k-means, LinMNIST dataset",
            "k-means",
            "linmnist",
            100,
            30,
            """
            score     eucl    rcdt    max     tv
            RI-train  0.4832  0.5517  0.8385  0.8526
            VI-train  1.2223  2.1840  0.8303  0.7978
            RI-test   0.4826  0.5489  0.8488  0.8798
            VI-test   1.2255  2.1577  0.8293  0.6713
            """,
            n_draws=20,
            classes=(1, 5, 7),
        ),
        Table(
            "nt-animal",
            "Nearest template, animals in R^3",
            "nearest template",
            "animals",
            10,
            10,
            """
            directions  rcdt   max    abs_max  range
            2           0.233  0.450  0.450    0.267
            4           0.233  0.283  0.417    0.367
            8           0.233  0.733  0.767    0.650
            16          0.250  0.883  0.950    0.967
            32          0.250  0.933  1.000    0.967
            64          0.250  0.983  1.000    1.000
            128         0.250  1.000  1.000    1.000
            256         0.250  1.000  1.000    1.000
            """,
            space="euclidean",
            n_quantiles=1000,
        ),
        Table(
            "nt-abc",
            "Nearest template, ABC shapes in R^3",
            "nearest template",
            "abc",
            10,
            2,
            """
            directions  rcdt   max    abs_max  range
            2           0.030  0.228  0.239    0.089
            4           0.028  0.346  0.351    0.218
            8           0.023  0.505  0.538    0.389
            16          0.025  0.710  0.745    0.604
            32          0.026  0.746  0.754    0.676
            64          0.026  0.829  0.829    0.775
            128         0.026  0.850  0.859    0.785
            256         0.026  0.975?  0.894    0.846
            512         0.026  0.913  0.925    0.888
            1024        0.026  0.919  0.915    0.909
            2048        0.026  0.945  0.936    0.928
            """,
            space="euclidean",
            n_quantiles=200,
        ),
        Table(
            "nn-faust",
            "Nearest neighbour, FAUST poses in R^3",
            "nearest neighbour",
            "faust",
            0,
            0,
            """
            train  eucl         rcdt         max          abs_range
            1      0.658±0.054  0.475±0.060  0.706±0.044  0.672±0.030
            3      0.727±0.035  0.575±0.041  0.801±0.050  0.784±0.042
            5      0.757±0.037  0.591±0.040  0.838±0.044  0.828±0.038
            """,
            space="euclidean",
            n_quantiles=1000,
        ),
        Table(
            "kmeans-faust",
            "k-means, FAUST poses in R^3",
            "k-means",
            "faust",
            0,
            0,
            """
            score     eucl    rcdt    max     abs_range
            RI-train  0.8261  0.8424  0.9208  0.9208
            VI-train  1.7299  2.7545  0.8316  0.9300
            RI-test   0.7910  0.8424  0.9346  0.9444
            VI-test   1.6587  2.7964  0.6975  0.7074
            """,
            space="euclidean",
            n_quantiles=1000,
        ),
        Table(
            "nt-rotation",
            "Nearest template, rotations",
            "nearest template",
            "rotation",
            10,
            10,
            """
            rotations  rcdt   max    abs_max  range
            2          0.633  0.933  0.933    0.433
            4          0.400  1.000  1.000    0.733
            8          0.333  1.000  1.000    0.900
            16         0.367  1.000  1.000    0.967
            32         0.367  1.000  1.000    1.000
            64         0.400  1.000  1.000    1.000
            """,
            space="rotation",
            n_quantiles=1000,
        ),
    )
}
