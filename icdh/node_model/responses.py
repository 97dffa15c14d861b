"""What a variable is as an effect: its response distribution, by which its values enter the likelihood.

Every variable is an effect once in every graph, so graphs compare as long as each variable has one response. A
response is a distribution with a solver: `GaussianResponse` with compiled kernels (`icdh.node_model._descent_kernels`),
`OrdinalResponse` and `CategoricalResponse` with damped Fisher scoring in NumPy (`icdh.node_model.scoring`).
"""

from icdh.node_model.categorical import CategoricalResponse
from icdh.node_model.gaussian import GaussianResponse
from icdh.node_model.ordinal import OrdinalResponse

Response = GaussianResponse | OrdinalResponse | CategoricalResponse
