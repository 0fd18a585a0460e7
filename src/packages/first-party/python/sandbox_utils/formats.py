"""Converts between data formats. The CSV and JSON functions accept a path or the text itself."""

import os

from ._errors import operation, read_text


def _source(name, source, is_text):
    """Returns the text, from a file unless `is_text` is true for the argument, and a label for messages."""
    if isinstance(source, str) and is_text(source):
        return source, 'the text'
    return read_text(name, source), os.fspath(source)


def _return_or_write(name, text, output):
    if output is None:
        return text
    with operation(name, output), open(output, 'w', encoding='utf-8', newline='') as file:
        file.write(text)


def csv_to_json(csv_file, output=None):
    """Converts CSV with a header line to a JSON list of objects. Returns it, or writes it to `output`."""
    import csv
    import io
    import json

    text, label = _source('csv_to_json', csv_file, lambda source: '\n' in source)
    try:
        rows = list(csv.DictReader(io.StringIO(text.removeprefix('\ufeff'), newline=''), strict=True))
    except csv.Error as error:
        raise ValueError(f'csv_to_json: {label} is not valid CSV: {error}') from None
    for number, row in enumerate(rows, 2):
        if None in row:
            raise ValueError(f'csv_to_json: {label}: record {number} has more fields than the header')
    return _return_or_write('csv_to_json', json.dumps(rows, indent=2, ensure_ascii=False), output)


def json_to_csv(json_file, output=None):
    """Converts a JSON list of objects to CSV with a header line. Returns it, or writes it to `output`.

    The columns are all keys in order of first appearance. Nested values become JSON, null becomes an empty field.
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
    return _return_or_write('json_to_csv', target.getvalue(), output)


def _parse_json(name, label, text):
    import json

    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f'{name}: {label} is not valid JSON: {error}') from None


def yaml_to_json(yaml_str):
    """Converts YAML to JSON. Dates become ISO 8601 strings."""
    import json

    import yaml

    try:
        data = yaml.safe_load(yaml_str)
    except yaml.YAMLError as error:
        raise ValueError(f'yaml_to_json: invalid YAML: {error}') from None
    return json.dumps(data, indent=2, ensure_ascii=False, default=_json_default)


def _json_default(value):
    if hasattr(value, 'isoformat'):
        return value.isoformat()
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    raise ValueError(f'yaml_to_json: cannot convert {type(value).__name__} to JSON')


def json_to_yaml(json_str):
    """Converts JSON to YAML. Keys keep their order."""
    import yaml

    data = _parse_json('json_to_yaml', 'the text', json_str)
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True)


def xml_to_dict(xml_str):
    """Converts the contents of the root element of an XML text to a dict.

    An element that contains only text becomes a string. Attributes become keys with "@", text next to other contents
    becomes "#text", and elements with the same name become a list.
    """
    import xml.etree.ElementTree as etree

    try:
        root = etree.fromstring(xml_str)
    except etree.ParseError as error:
        raise ValueError(f'xml_to_dict: invalid XML: {error}') from None

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
