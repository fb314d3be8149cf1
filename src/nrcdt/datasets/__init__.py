"""Data to try things on: drawings of our own, the paper's datasets, disturbances, and readers for data of others."""

from ..affine_maps import about_centre, warp
from ..random_maps import random_affine, random_affine_3d
from .affine import distorted, distorted_clouds
from .dataset import Dataset
from .disturbances import DISTURBANCES, bars, elastic, salt, sticks
from .loaders import load_abc, load_animals, load_faust, load_furniture, load_watermarks
from .mnist import linmnist
from .photographs import PHOTOGRAPHS, photograph
from .registry import SOURCES, MissingData, Source, data_folder, fingerprint, is_known
from .rotations import rotation
from .symbols import academic, polygon
from .synthetic import MOTIFS, watermarks

__all__ = [
    "DISTURBANCES",
    "MOTIFS",
    "PHOTOGRAPHS",
    "SOURCES",
    "Dataset",
    "MissingData",
    "Source",
    "about_centre",
    "academic",
    "bars",
    "data_folder",
    "distorted",
    "distorted_clouds",
    "elastic",
    "fingerprint",
    "is_known",
    "linmnist",
    "load_abc",
    "load_animals",
    "load_faust",
    "load_furniture",
    "load_watermarks",
    "photograph",
    "polygon",
    "random_affine",
    "random_affine_3d",
    "rotation",
    "salt",
    "sticks",
    "warp",
    "watermarks",
]
