"""What a variable is as an effect: its response distribution, by which its values enter the likelihood.

Every variable is an effect once in every graph, so graphs compare as long as each variable has one response. A
response is a distribution with a solver: `GaussianResponse` with compiled kernels
(`icdh._node_model._descent_kernels`), `OrdinalResponse` and `CategoricalResponse` with damped Fisher scoring in NumPy
(`icdh._node_model.scoring`), and so has `PointMassResponse`, a probability beside a density.
"""

from icdh._node_model.categorical import CategoricalResponse
from icdh._node_model.gaussian import GaussianResponse
from icdh._node_model.ordinal import OrdinalResponse
from icdh._node_model.point_masses import PointMassResponse

Response = GaussianResponse | PointMassResponse | OrdinalResponse | CategoricalResponse
