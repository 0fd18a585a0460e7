"""Compiles a layer to bytecode. Runs in a guest at build time.

The .pyc files are of the unchecked-hash kind, so that imports do not read the sources. They are written below /tmp, under
their path in the layer. At build time, PYTHONNODEBUGRANGES leaves the columns of instructions out.
"""

import _imp
import importlib._bootstrap_external as external
import os

for folder, _, names in os.walk(os.environ['COMPILE_ROOT']):
    for name in names:
        source_path = f'{folder}/{name}'
        if not name.endswith('.py') or name == '_sandbox_compile.py':
            continue
        target = '/tmp' + external.cache_from_source(source_path)
        if os.path.exists(external.cache_from_source(source_path)):
            continue
        with open(source_path, 'rb') as file:
            source = file.read()
        try:
            code = compile(source, source_path, 'exec', dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError):
            # Templates and deliberately invalid files are not compiled.
            continue
        source_hash = _imp.source_hash(_imp.pyc_magic_number_token, source)
        data = external._code_to_hash_pyc(code, source_hash, False)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, 'wb') as file:
            file.write(data)
