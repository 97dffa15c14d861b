"""The private names of tables and their rows that tests use, so that a move inside the package edits one file."""

from icdh._rows import WINDOW, RelatedRows, Relation, dependence, resembles_its_past
from icdh._table.codes import Categories, codes_message, says_none, suspected_codes
from icdh._table.experiments import Design
from icdh._table.frames import columns_of, frame_of
from icdh._table.kinds import DECLARABLE, grid_of, guessed, heap, is_heaped, point_mass, point_masses
from icdh._table.table import Scaling, Table, rows_by_content
from icdh._table.transforms import TRANSFORMS, Rescaled, Transform, fit_transform
