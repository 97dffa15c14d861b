"""Tables and graphs as files. Errors name the line; files are written whole or not at all."""

from icdh._utils.atomic import check_writable, replace_on_success, write_text
from icdh.files.graphs import graph_from_text, graph_writer, read_graph, write_graph
from icdh.files.sheet import UnreadableTableError
from icdh.files.tables import LabelledTable, read_table, read_with_labels, write_table
from icdh.files.text import label_of, read_text

__all__ = ["LabelledTable", "UnreadableTableError", "check_writable", "graph_from_text", "graph_writer"]
__all__ += ["label_of", "read_graph", "read_table", "read_text", "read_with_labels"]
__all__ += ["replace_on_success", "write_graph", "write_table", "write_text"]
