"""Compiles the standard library and the packages to bytecode, inside the guest and by its own compiler; runs at build time only.

The files are of the unchecked-hash kind: importing one costs no look at its source. They are written below /tmp under
the path they have in the guest.
"""

import _imp
import importlib._bootstrap_external as external
import os

ROOTS = ('/lib/python3.14', '/data/site-packages')

for folder, _, names in (step for root in ROOTS for step in os.walk(root)):
    for name in names:
        source_path = f'{folder}/{name}'
        if not name.endswith('.py') or name == '_sandbox_compile.py':
            continue
        with open(source_path, 'rb') as file:
            source = file.read()
        try:
            code = compile(source, source_path, 'exec', dont_inherit=True)
        except SyntaxError:
            # Templates and deliberate errors; they stay sources.
            continue
        source_hash = _imp.source_hash(_imp.pyc_magic_number_token, source)
        data = external._code_to_hash_pyc(code, source_hash, False)
        target = '/tmp' + external.cache_from_source(source_path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, 'wb') as file:
            file.write(data)
