"""Functions for files, text and data, modelled on shell commands.

Paths are strings or Path objects; relative paths start at the current folder, /app. A failed operation raises the same
OSError as Python does, with the name of the operation in the message and the path in `filename`. Invalid arguments or
contents raise ValueError. Functions import the modules they need when they are called, so importing this package is cheap.
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
