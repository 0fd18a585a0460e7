"""From one data format to another. CSV and JSON come from a file, or from the text itself if it is given instead."""

import os

from ._failure import operation, read_text


def _source(name, source, is_text):
    """The text of a file, or the argument itself where it is text rather than a path; with what to call it."""
    if isinstance(source, str) and is_text(source):
        return source, 'the text'
    return read_text(name, source), os.fspath(source)


def _give(name, text, output):
    if output is None:
        return text
    with operation(name, output), open(output, 'w', encoding='utf-8', newline='') as file:
        file.write(text)


def csv_to_json(csv_file, output=None):
    """CSV with a header line as a JSON list of objects; returned, or written to `output`."""
    import csv
    import io
    import json

    text, label = _source('csv_to_json', csv_file, lambda source: '\n' in source)
    try:
        rows = list(csv.DictReader(io.StringIO(text.removeprefix('\ufeff'), newline=''), strict=True))
    except csv.Error as error:
        raise ValueError(f'csv_to_json: {label} is no CSV: {error}') from None
    for number, row in enumerate(rows, 2):
        if None in row:
            raise ValueError(f'csv_to_json: {label}: record {number} has more fields than the header')
    return _give('csv_to_json', json.dumps(rows, indent=2, ensure_ascii=False), output)


def json_to_csv(json_file, output=None):
    """A JSON list of objects as CSV with a header line; returned, or written to `output`.

    Columns are all keys, in order of appearance. Nested values become JSON text, null an empty field.
    """
    import csv
    import io
    import json

    text, label = _source('json_to_csv', json_file, lambda source: source.lstrip()[:1] in ('[', '{'))
    rows = _parse_json('json_to_csv', label, text)
    if isinstance(rows, dict):
        rows = [rows]
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError(f'json_to_csv: {label} is not a list of objects')
    columns = list(dict.fromkeys(key for row in rows for key in row))
    target = io.StringIO(newline='')
    writer = csv.writer(target, lineterminator='\n')
    writer.writerow(columns)

    def field(value):
        if value is None:
            return ''
        return value if isinstance(value, (str, int, float)) and value is not True and value is not False else json.dumps(value)

    writer.writerows([field(row.get(column)) for column in columns] for row in rows)
    return _give('json_to_csv', target.getvalue(), output)


def _parse_json(name, label, text):
    import json

    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f'{name}: {label} is no JSON: {error}') from None


def yaml_to_json(yaml_str):
    """YAML text as JSON text. Dates become text in ISO form."""
    import json

    import yaml

    try:
        data = yaml.safe_load(yaml_str)
    except yaml.YAMLError as error:
        raise ValueError(f'yaml_to_json: this is no YAML: {error}') from None
    return json.dumps(data, indent=2, ensure_ascii=False, default=_plain)


def _plain(value):
    if hasattr(value, 'isoformat'):
        return value.isoformat()
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    raise ValueError(f'yaml_to_json: JSON has nothing for a {type(value).__name__}')


def json_to_yaml(json_str):
    """JSON text as YAML text, keys in their order."""
    import yaml

    data = _parse_json('json_to_yaml', 'the text', json_str)
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True)


def xml_to_dict(xml_str):
    """What is inside the root element of an XML text, as a dict.

    An element with nothing but text is that text; attributes are keys with "@", text beside them is "#text", and
    elements of one name become a list.
    """
    import xml.etree.ElementTree as etree

    try:
        root = etree.fromstring(xml_str)
    except etree.ParseError as error:
        raise ValueError(f'xml_to_dict: this is no XML: {error}') from None

    def convert(element):
        result = {f'@{name}': value for name, value in element.attrib.items()}
        for child in element:
            value = convert(child)
            if child.tag not in result:
                result[child.tag] = value
            elif isinstance(result[child.tag], list):
                result[child.tag].append(value)
            else:
                result[child.tag] = [result[child.tag], value]
        text = (element.text or '').strip()
        if not result:
            return text
        if text:
            result['#text'] = text
        return result

    result = convert(root)
    return result if isinstance(result, dict) else {'#text': result} if result else {}
