"""The private names of tables and their rows that tests use, so that a move inside the package edits one file."""

from icdh._rows.related import RelatedRows
from icdh._rows.repeats import _agreeing, _Columns, _Pairs, _pairs, repeated_combinations
from icdh._rows.serial import _explained_by_position, _rising_blocks, autocorrelations, bartlett, serial_dependence
from icdh._table.categories import Categories
from icdh._table.experiments import Design
from icdh._table.frames import columns_of, frame_of
from icdh._table.missing_codes import said_of_codes, says_none, suspected_codes
from icdh._table.table import Scaling, Table, is_heaped, point_mass, point_masses
from icdh._table.transforms import TRANSFORMS, Transform, fit_transform
