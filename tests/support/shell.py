"""The private names of the command line and report that tests use, so that a move inside the package edits one file."""

from icdh.cli import _input, fit
from icdh.cli import _notes_of_the_library as notes_of_the_library
from icdh.cli._messages import as_option
from icdh.cli.fit import edge_list, is_given, knowledge_of, question_about_roots
from icdh.report import averaged
