

# Objects in ordinary memory. The build appends this file to `multiprocessing/sharedctypes.py` of CPython; see context.py.


def _new_value(kind):
    return kind()


def RawValue(kind, *args):
    return typecode_to_type.get(kind, kind)(*args)


def RawArray(kind, values):
    kind = typecode_to_type.get(kind, kind)
    return (kind * values)() if isinstance(values, int) else (kind * len(values))(*values)
