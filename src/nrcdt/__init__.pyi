"""The public names: what editors complete, and what is loaded on first use."""

from . import audit as audit
from . import baselines as baselines
from . import bounds as bounds
from . import catalogue as catalogue
from . import conversions as conversions
from . import datasets as datasets
from . import directions as directions
from . import distances as distances
from . import errors as errors
from . import files as files
from . import ink as ink
from . import measures as measures
from . import plan as plan
from . import plot as plot
from . import registration as registration
from . import signed as signed
from . import spaces as spaces
from .aggregate import AGGREGATIONS as AGGREGATIONS
from .classifiers import NearestSubspace as NearestSubspace
from .distances import sliced_wasserstein as sliced_wasserstein
from .estimators import NRCDT as NRCDT
from .estimators import RCDT as RCDT
from .estimators import nrcdt as nrcdt
from .estimators import rcdt as rcdt
from .generalized_radon import GeneralizedRadon as GeneralizedRadon
from .groups import invariance as invariance
from .inverse import inverse_rcdt as inverse_rcdt
from .normalize import NORMALIZATIONS as NORMALIZATIONS
from .plan import Plan as Plan
from .quantiles import cdt as cdt
from .quantiles import inverse_cdt as inverse_cdt
from .spaces import SPACES as SPACES
from .spaces.image import back_projection as back_projection
from .spaces.image import radon as radon

__version__: str
