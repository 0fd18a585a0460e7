"""Files, text and data in few words: what a shell offers, as Python functions.

Paths may be text or Path objects; relative ones start at the current folder, which is /app. A failing operation raises
the OSError that Python would, with the operation in its message and the path in `filename`; arguments or contents that
make no sense raise ValueError. Functions import what they need when they are called, so this module costs little.
"""

from .data import chunk, filter_by, group_by, map_items, sort_by, unique
from .files import copy_tree, find, remove_tree, tree, walk
from .formats import csv_to_json, json_to_csv, json_to_yaml, xml_to_dict, yaml_to_json
from .shell import cat, cp, echo, ls, mkdir, mv, rm, touch
from .text import diff, grep, head, sed, tail, wc

__all__ = [
    'cat', 'chunk', 'copy_tree', 'cp', 'csv_to_json', 'diff', 'echo', 'filter_by', 'find', 'grep', 'group_by', 'head',
    'json_to_csv', 'json_to_yaml', 'ls', 'map_items', 'mkdir', 'mv', 'remove_tree', 'rm', 'sed', 'sort_by', 'tail',
    'touch', 'tree', 'unique', 'walk', 'wc', 'xml_to_dict', 'yaml_to_json',
]  # fmt: skip
