/**
 * Typical tasks with each Python package.
 *
 * @module-tag full
 */
import { expect, test } from 'vitest';
import { utils, write } from 'xlsx';
import { code, python } from '../support/sandbox.ts';

async function value(program: string): Promise<unknown> {
  const result = await python(program);
  expect(result.stderr).toBe('');
  return result.metadata.result;
}

test('openpyxl creates, saves and loads a workbook', { tags: 'full' }, async () => {
  const shown = await value(code`
    from openpyxl import Workbook, load_workbook
    from openpyxl.styles import Font
    from openpyxl.chart import BarChart, Reference

    book = Workbook()
    sheet = book.active
    sheet.title = 'Sales'
    sheet.append(['region', 'amount'])
    for row in [('north', 10), ('south', 32.5)]:
        sheet.append(row)
    sheet['A1'].font = Font(bold=True)
    sheet['B4'] = '=SUM(B2:B3)'
    chart = BarChart()
    chart.add_data(Reference(sheet, min_col=2, min_row=1, max_row=3), titles_from_data=True)
    sheet.add_chart(chart, 'D2')
    book.save('sales.xlsx')
    again = load_workbook('sales.xlsx')
    rows = [list(row) for row in again['Sales'].iter_rows(values_only=True)]
    [rows, again['Sales']['A1'].font.bold]
  `);
  expect(shown).toEqual([
    [
      ['region', 'amount'],
      ['north', 10],
      ['south', 32.5],
      [null, '=SUM(B2:B3)'],
    ],
    true,
  ]);
});

test('XlsxWriter writes a workbook that openpyxl reads', { tags: 'full' }, async () => {
  const shown = await value(code`
    import xlsxwriter, openpyxl
    with xlsxwriter.Workbook('report.xlsx') as book:
        sheet = book.add_worksheet('Data')
        bold = book.add_format({'bold': True, 'num_format': '0.00'})
        sheet.write_row(0, 0, ['name', 'value'], bold)
        sheet.write_row(1, 0, ['x', 2.75])
        sheet.write_formula(2, 1, '=B2*2')
    sheet = openpyxl.load_workbook('report.xlsx')['Data']
    [[cell.value for cell in row] for row in sheet.rows]
  `);
  expect(shown).toEqual([
    ['name', 'value'],
    ['x', 2.75],
    [null, '=B2*2'],
  ]);
});

const MAKE_PDF = `
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

def make(name, text):
    writer = PdfWriter()
    page = writer.add_blank_page(200, 200)
    font = DictionaryObject({
        NameObject('/Type'): NameObject('/Font'),
        NameObject('/Subtype'): NameObject('/Type1'),
        NameObject('/BaseFont'): NameObject('/Helvetica'),
    })
    fonts = DictionaryObject({NameObject('/F1'): writer._add_object(font)})
    page[NameObject('/Resources')] = DictionaryObject({NameObject('/Font'): fonts})
    stream = DecodedStreamObject()
    stream.set_data(f'BT /F1 24 Tf 20 100 Td ({text}) Tj ET'.encode())
    page[NameObject('/Contents')] = writer._add_object(stream)
    writer.write(name)

make('a.pdf', 'Hello first')
make('b.pdf', 'Hello second')
`;

test('pypdf merges PDF files and reads their text', async () => {
  const shown = await value(`${MAKE_PDF}
from pypdf import PdfReader
merged = PdfWriter()
for name in ('a.pdf', 'b.pdf'):
    merged.append(name)
merged.add_metadata({'/Title': 'both'})
merged.write('merged.pdf')
reader = PdfReader('merged.pdf')
[[page.extract_text() for page in reader.pages], str(reader.metadata.title)]
`);
  expect(shown).toEqual([['Hello first', 'Hello second'], 'both']);
});

test('PyPDF2 provides the classes of pypdf, including PdfMerger and errors', { tags: 'full' }, async () => {
  const shown = await value(`${MAKE_PDF}
import io, pypdf, PyPDF2
from PyPDF2 import PdfMerger, PdfReader
from PyPDF2.errors import PdfReadError
merger = PdfMerger()
merger.append('a.pdf')
merger.merge(0, 'b.pdf')
merger.write('merged.pdf')
merger.close()
try:
    PdfReader(io.BytesIO(b'no pdf at all'), strict=True)
except PdfReadError as error:
    refused = type(error) is pypdf.errors.PdfReadError or isinstance(error, pypdf.errors.PdfReadError)
[[page.extract_text() for page in PdfReader('merged.pdf').pages], refused, PyPDF2.PdfWriter is pypdf.PdfWriter]
`);
  expect(shown).toEqual([['Hello second', 'Hello first'], true, true]);
});

test('PyPDF2 names the replacement of a name that version 3.0 removed', { tags: 'full' }, async () => {
  const result = await python('from PyPDF2 import PdfFileReader');
  expect(result.metadata.error).toMatchObject({ type: 'ImportError', line: 1 });
  expect(result.metadata.error?.message).toContain('use PdfReader instead');
});

test('jinja2 renders loops, filters and inheritance, and escapes HTML', async () => {
  const shown = await value(code`
    from jinja2 import DictLoader, Environment
    pages = {
        'base': '<h1>{% block title %}{% endblock %}</h1>',
        'list': '{% extends "base" %}{% block title %}{% for i in items %}{{ loop.index }}:{{ i|upper }} {% endfor %}{% endblock %}',
    }
    Environment(loader=DictLoader(pages), autoescape=True).get_template('list').render(items=['a', '<b>'])
  `);
  expect(shown).toBe('<h1>1:A 2:&lt;B&gt; </h1>');
});

test('sympy integrates, solves and simplifies', { tags: 'full' }, async () => {
  const shown = await value(code`
    from sympy import Eq, cos, diff, integrate, pi, simplify, sin, solve, symbols
    x = symbols('x')
    [str(integrate(x**2 * cos(x), x)), str(integrate(sin(x), (x, 0, pi))), [str(r) for r in solve(Eq(x**2, 2), x)],
     str(diff(sin(x)**2, x)), str(simplify(sin(x)**2 + cos(x)**2))]
  `);
  expect(shown).toEqual([
    'x**2*sin(x) + 2*x*cos(x) - 2*sin(x)',
    '2',
    ['-sqrt(2)', 'sqrt(2)'],
    '2*sin(x)*cos(x)',
    '1',
  ]);
});

test('networkx finds the shortest path', { tags: 'full' }, async () => {
  const shown = await value(code`
    import networkx as nx
    graph = nx.Graph()
    graph.add_weighted_edges_from([('a', 'b', 1), ('b', 'c', 2), ('a', 'c', 9), ('c', 'd', 1)])
    [nx.shortest_path(graph, 'a', 'd', weight='weight'), nx.shortest_path_length(graph, 'a', 'd', weight='weight'),
     sorted(nx.connected_components(graph), key=len)[0] == {'a', 'b', 'c', 'd'}]
  `);
  expect(shown).toEqual([['a', 'b', 'c', 'd'], 4, true]);
});

test('BeautifulSoup reads broken HTML with either parser', async () => {
  const shown = await value(code`
    from bs4 import BeautifulSoup
    html = '<table><tr><td class=x>1<td>2</table><p>one<p>two <a href="/z">link</a>'
    found = []
    for parser in ('html.parser', 'html5lib'):
        soup = BeautifulSoup(html, parser)
        found.append([soup.select_one('td.x').get_text()[0], soup.a['href'], len(soup.select('p a[href^="/"]'))])
    soup = BeautifulSoup(html, 'html5lib')
    [found, [cell.text for cell in soup.select('tbody > tr > td')]]
  `);
  expect(shown).toEqual([
    [
      ['1', '/z', 1],
      ['1', '/z', 1],
    ],
    ['1', '2'],
  ]);
});

test('yaml reads and writes YAML, tomli reads TOML', async () => {
  const shown = await value(code`
    import tomli, yaml
    data = yaml.safe_load('a: [1, 2.5, x]\\nb: {c: true, d: null}\\n')
    [data, yaml.safe_dump(data, sort_keys=True), tomli.loads('[tool]\\nname = "x"\\nn = 3')]
  `);
  expect(shown).toEqual([
    { a: [1, 2.5, 'x'], b: { c: true, d: null } },
    'a:\n- 1\n- 2.5\n- x\nb:\n  c: true\n  d: null\n',
    { tool: { name: 'x', n: 3 } },
  ]);
});

test('tabulate and rich format tables', async () => {
  const shown = await value(code`
    import io
    from rich.console import Console
    from rich.markdown import Markdown
    from rich.syntax import Syntax
    from rich.table import Table
    from tabulate import tabulate
    table = Table('name', 'n')
    table.add_row('a', '1')
    console = Console(file=io.StringIO(), width=40)
    console.print(table)
    console.print(Markdown('# Title\\n\\n* item'))
    console.print(Syntax('x = 1', 'python'))
    [tabulate([['a', 1], ['b', 22]], headers=['k', 'v'], tablefmt='github'), console.file.getvalue()]
  `);
  const [plain, rich] = shown as [string, string];
  expect(plain.split('\n')[2]).toMatch(/^\| a +\| +1 \|$/);
  expect(rich).toContain('┃ name ┃ n ┃');
  expect(rich).toContain('Title');
  expect(rich).toContain(' • item');
  expect(rich).toContain('x = 1');
});

test('markdown and pygments generate HTML', async () => {
  const shown = await value(code`
    import markdown
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer
    [markdown.markdown('# T\\n\\n| a |\\n|---|\\n| 1 |', extensions=['tables']), highlight('x = 1', PythonLexer(), HtmlFormatter(nowrap=True))]
  `);
  const [html, code_] = shown as [string, string];
  expect(html).toContain('<td>1</td>');
  expect(code_).toContain('<span class="mi">1</span>');
});

test('dateutil, humanize and zoneinfo calculate and format times', async () => {
  const shown = await value(code`
    from datetime import datetime, timedelta
    from zoneinfo import ZoneInfo
    import humanize
    from dateutil import parser, rrule
    from dateutil.relativedelta import relativedelta
    when = parser.parse('31 Jan 2024 10:00')
    [str(when + relativedelta(months=1)), humanize.naturalsize(3_500_000), humanize.precisedelta(timedelta(hours=26)),
     str(when.replace(tzinfo=ZoneInfo('Europe/Copenhagen')).utcoffset()),
     [d.day for d in rrule.rrule(rrule.WEEKLY, count=3, dtstart=when)]]
  `);
  expect(shown).toEqual(['2024-02-29 10:00:00', '3.5 MB', '1 day and 2 hours', '1:00:00', [31, 7, 14]]);
});

test('defusedxml rejects entities and reads plain XML', async () => {
  const shown = await value(code`
    from defusedxml import EntitiesForbidden
    from defusedxml.ElementTree import fromstring
    try:
        fromstring('<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>')
    except EntitiesForbidden as error:
        refused = type(error).__name__
    [fromstring('<x><y>1</y></x>').find('y').text, refused]
  `);
  expect(shown).toEqual(['1', 'EntitiesForbidden']);
});

test('rsa signs and verifies', async () => {
  const shown = await value(code`
    import rsa
    public, private = rsa.newkeys(512)
    rsa.verify(b'text', rsa.sign(b'text', private, 'SHA-256'), public)
  `);
  expect(shown).toBe('SHA-256');
});

test('packages that need native packages name the command that adds them', async () => {
  const { metadata } = await python('import seaborn');
  expect(metadata.error_guidance!.actionable_guidance.join()).toContain('packages add');
});

test('attrs, sortedcontainers, more-itertools, pyparsing and mpmath work', async () => {
  const shown = await value(code`
    import attrs, mpmath, pyparsing as pp
    from more_itertools import chunked, windowed
    from sortedcontainers import SortedDict, SortedList

    @attrs.define
    class Point:
        x: int = attrs.field(validator=attrs.validators.instance_of(int))
        y: int = 0

    mpmath.mp.dps = 30
    number = pp.common.integer
    sum_ = number + pp.ZeroOrMore(pp.Suppress('+') + number)
    sorted_ = SortedList([3, 1, 2])
    sorted_.add(0)
    [str(Point(1)), list(sorted_), list(SortedDict(b=1, a=2)), list(chunked(range(5), 2)), len(list(windowed([1, 2, 3], 2))),
     sum(sum_.parse_string('1 + 2 + 39')), mpmath.nstr(mpmath.pi, 25)]
  `);
  expect(shown).toEqual([
    'Point(x=1, y=0)',
    [0, 1, 2, 3],
    ['a', 'b'],
    [[0, 1], [2, 3], [4]],
    2,
    42,
    '3.141592653589793238462643',
  ]);
});

test('charset-normalizer, idna, certifi, six, markupsafe and soupsieve work', async () => {
  const shown = await value(code`
    import certifi, idna, os, six, soupsieve
    from charset_normalizer import from_bytes
    from markupsafe import Markup, escape
    text = 'Übergrößenträger in der Straße, schöne Grüße aus Köln'
    [str(from_bytes(text.encode('utf-8')).best()) == text, idna.encode('königsgäßchen').decode(), os.path.getsize(certifi.where()) > 100_000,
     six.PY3, str(Markup('<b>%s</b>') % '<i>'), soupsieve.compile('a > b').pattern]
  `);
  expect(shown).toEqual([true, 'xn--knigsgchen-b4a3dun', true, true, '<b>&lt;i&gt;</b>', 'a > b']);
});

test('pytest runs test files of the workspace and reports failures', async () => {
  const result = await python(
    code`
      import pytest
      int(pytest.main(['-q', 'test_sums.py']))
    `,
    {
      files: {
        'test_sums.py': code`
          import pytest

          @pytest.fixture
          def numbers(tmp_path):
              (tmp_path / 'n.txt').write_text('1 2 3')
              return [int(n) for n in (tmp_path / 'n.txt').read_text().split()]

          @pytest.mark.parametrize('start, total', [(0, 6), (4, 10)])
          def test_sum(numbers, start, total):
              assert sum(numbers, start) == total

          def test_error():
              with pytest.raises(ValueError, match='invalid literal'):
                  int('x')

          def test_output(capsys, monkeypatch):
              monkeypatch.setenv('NAME', 'you')
              print('hello')
              assert capsys.readouterr().out == 'hello\\n'

          def test_wrong():
              assert {'a': 1, 'b': [2]} == {'a': 1, 'b': [3]}
        `,
      },
    },
  );
  expect(result.stderr).toBe('');
  expect(result.stdout).toContain("E       AssertionError: assert {'a': 1, 'b': [2]} == {'a': 1, 'b': [3]}");
  expect(result.stdout).toContain('1 failed, 4 passed');
  expect(result.metadata.result).toBe(1);
});

test('faker generates reproducible data in every included locale', { tags: 'full' }, async () => {
  const shown = await value(code`
    from faker import Faker
    from faker.config import AVAILABLE_LOCALES
    locales = ['en_US', 'en_GB', 'en_CA', 'en_AU', 'en_IN', 'de_DE', 'de_AT', 'de_CH', 'fr_FR', 'fr_CA', 'fr_CH',
               'es_ES', 'es_MX', 'it_IT', 'pt_BR', 'pt_PT', 'ja_JP', 'zh_CN', 'zh_TW']
    seen = []
    for locale in ['en_US', 'de_DE', 'ja_JP']:
        fake = Faker(locale)
        Faker.seed(7)
        seen.append(all([fake.name(), fake.address(), fake.email(), fake.company(), fake.text(), fake.date_of_birth()]))
    [seen, [one for one in locales if one not in AVAILABLE_LOCALES], 'ru_RU' in AVAILABLE_LOCALES]
  `);
  expect(shown).toEqual([[true, true, true], [], false]);
});

test('arrow, isodate, babel and holidays work with dates', { tags: 'full' }, async () => {
  const shown = await value(code`
    import arrow, isodate, holidays
    from datetime import date
    from babel.dates import format_date
    from babel.numbers import format_currency, format_decimal
    from babel import Locale, UnknownLocaleError
    when = arrow.get('2024-02-28T10:00:00+00:00')
    try:
        Locale.parse('sw')
        unknown = None
    except UnknownLocaleError as error:
        unknown = str(error)
    [
        when.shift(days=2).format('YYYY-MM-DD'), when.to('Europe/Berlin').isoformat(), when.humanize(when.shift(hours=3)),
        isodate.parse_duration('P1DT2H').total_seconds(),
        format_date(date(2024, 3, 1), 'long', locale='de'), format_currency(1234.5, 'EUR', locale='fr_FR'),
        format_decimal(1234567.891, locale='en_US'), format_date(date(2024, 3, 1), locale='ja'), unknown,
        holidays.Germany(years=2024, subdiv='BY').get('2024-01-06'), holidays.US(years=2024).get('2024-07-04'),
        holidays.Germany(years=2024, language='en_US').get('2024-12-25'),
    ]
  `);
  expect(shown).toEqual([
    '2024-03-01',
    '2024-02-28T11:00:00+01:00',
    '3 hours ago',
    93_600,
    '1. März 2024',
    '1\u202f234,50\u00a0€',
    '1,234,567.891',
    '2024/03/01',
    "unknown locale 'sw'",
    'Heilige Drei Könige',
    'Independence Day',
    'Christmas Day',
  ]);
});

test('toolz, cachetools, lark and click work', async () => {
  const shown = await value(code`
    import toolz, cachetools, click
    from click.testing import CliRunner
    from lark import Lark, Transformer
    calls = []

    @cachetools.cached(cachetools.LRUCache(maxsize=2))
    def square(n):
        calls.append(n)
        return n * n

    class Sum(Transformer):
        start = sum
        NUMBER = int

    @click.command()
    @click.option('--count', default=1)
    @click.argument('name')
    def hello(count, name):
        click.echo(' '.join([name] * count))

    parser = Lark('start: NUMBER ("+" NUMBER)*\\n%import common.NUMBER\\n%ignore " "')
    ran = CliRunner().invoke(hello, ['you', '--count', '2'])
    [
        [list(one) for one in toolz.groupby(len, ['a', 'bb', 'c']).items()], toolz.pipe(3, lambda n: n + 1), [square(2), square(2)], calls,
        Sum().transform(parser.parse('1 + 2 + 3')), ran.exit_code, ran.output,
    ]
  `);
  expect(shown).toEqual([
    [
      [1, ['a', 'c']],
      [2, ['bb']],
    ],
    4,
    [4, 4],
    [2],
    6,
    0,
    'you you\n',
  ]);
});

test('deepdiff, slugify and packaging work', async () => {
  const shown = await value(code`
    from deepdiff import DeepDiff
    from packaging.version import Version
    from packaging.specifiers import SpecifierSet
    from slugify import slugify
    diff = DeepDiff({'a': [1, 2], 'b': 1}, {'a': [1, 3], 'c': 1})
    order = DeepDiff([{'a': 1}, {'b': [1, 2]}], [{'b': [2, 1]}, {'a': 1}], ignore_order=True, cache_size=100)
    [
        diff.to_dict()['values_changed'], sorted(diff.keys()), dict(order),
        Version('1.10') > Version('1.9'), Version('2.1') in SpecifierSet('>=2,<3'), slugify('Straße nach Kōbe!'),
    ]
  `);
  expect(shown).toEqual([
    { "root['a'][1]": { new_value: 3, old_value: 2 } },
    ['dictionary_item_added', 'dictionary_item_removed', 'values_changed'],
    {},
    true,
    true,
    'strasse-nach-kobe',
  ]);
});

test('jsonschema validates data and resolves references', async () => {
  const shown = await value(code`
    import jsonschema
    from referencing import Registry, Resource
    schema = {
        '$schema': 'https://json-schema.org/draft/2020-12/schema',
        'type': 'object',
        'required': ['id'],
        'properties': {'id': {'$ref': '#/$defs/id'}, 'tags': {'type': 'array', 'items': {'type': 'string'}},
                       'other': {'$ref': 'urn:other'}},
        '$defs': {'id': {'type': 'integer', 'minimum': 1}},
    }
    other = Resource.from_contents({'$schema': schema['$schema'], '$id': 'urn:other', 'const': 5})
    registry = Registry().with_resource('urn:other', other)
    validator = jsonschema.Draft202012Validator(schema, registry=registry)
    errors = sorted(validator.iter_errors({'id': 0, 'tags': ['a', 1], 'other': 6}), key=lambda e: e.json_path)
    jsonschema.validate({'id': 3}, {'required': ['id']})
    [[[e.json_path, e.message] for e in errors], validator.is_valid({'id': 1, 'other': 5})]
  `);
  expect(shown).toEqual([
    [
      ['$.id', '0 is less than the minimum of 1'],
      ['$.other', '5 was expected'],
      ['$.tags[1]', "1 is not of type 'string'"],
    ],
    true,
  ]);
});

test('rpds provides persistent collections', async () => {
  const shown = await value(code`
    from rpds import HashTrieMap, HashTrieSet, List, Queue, Stack
    one = HashTrieMap({'a': 1})
    two = one.insert('b', 2)
    queue = Queue().enqueue(1).enqueue(2).enqueue(3)
    try:
        one.remove('z')
        missing = None
    except KeyError as error:
        missing = error.args[0]
    [
        dict(one), dict(two), dict(two.remove('a')), dict(two.update({'c': 3}, d=4)), one == HashTrieMap(a=1),
        hash(one) == hash(HashTrieMap(a=1)), missing, HashTrieMap.convert(one) is one, repr(one),
        sorted(HashTrieSet([1, 2]).insert(3).discard(1) | {9}), HashTrieSet([1]) == HashTrieSet([1]),
        list(List([1, 2]).push_front(0)), List([1, 2]).rest == List([2]), len(List(1, 2, 3)), repr(List([1])),
        list(queue.dequeue()), queue.peek, list(queue), queue == Queue([1, 2, 3]), Stack([1]).push(5).peek(),
    ]
  `);
  expect(shown).toEqual([
    { a: 1 },
    { a: 1, b: 2 },
    { b: 2 },
    { a: 1, b: 2, c: 3, d: 4 },
    true,
    true,
    'z',
    true,
    "HashTrieMap({'a': 1})",
    [2, 3, 9],
    true,
    [0, 1, 2],
    true,
    3,
    'List([1])',
    [2, 3],
    1,
    [1, 2, 3],
    true,
    5,
  ]);
});

test('xlrd reads an .xls workbook', async () => {
  const book = utils.book_new();
  const rows = [
    ['name', 'amount', 'date'],
    ['Zoë', 12.5, new Date(Date.UTC(2024, 1, 29))],
  ];
  utils.book_append_sheet(book, utils.aoa_to_sheet(rows), 'Sales');
  utils.book_append_sheet(book, utils.aoa_to_sheet([[true]]), 'Ünï');
  const file = new Uint8Array(write(book, { type: 'buffer', bookType: 'biff8' }));
  const program = code`
    import xlrd
    book = xlrd.open_workbook('sales.xls')
    sheet = book.sheet_by_name('Sales')
    [book.sheet_names(), [sheet.nrows, sheet.ncols], sheet.row_values(0), sheet.row_values(1)[:2],
     xlrd.xldate_as_datetime(sheet.cell_value(1, 2), book.datemode).date().isoformat(), book.sheet_by_index(1).cell(0, 0).ctype]
  `;
  const { metadata, stderr } = await python(program, { files: { 'sales.xls': file } });
  expect(stderr).toBe('');
  expect(metadata.result).toEqual([
    ['Sales', 'Ünï'],
    [2, 3],
    ['name', 'amount', 'date'],
    ['Zoë', 12.5],
    '2024-02-29',
    4,
  ]);
});

test('requests prepares requests and reports that there is no network', async () => {
  const shown = await value(code`
    import requests, urllib3
    prepared = requests.Request('GET', 'https://example.org/find', params={'q': 'ä b'}, auth=('user', 'pass')).prepare()
    try:
        requests.get('https://example.org/', timeout=1)
    except requests.exceptions.ConnectionError as error:
        failure = type(error.args[0]).__name__
    response = requests.Response()
    response.status_code, response._content = 404, b'{"a": [1]}'
    try:
        response.raise_for_status()
    except requests.HTTPError as error:
        status = str(error)[:3]
    [prepared.url, prepared.headers['Authorization'], failure, response.json(), status]
  `);
  expect(shown).toEqual([
    'https://example.org/find?q=%C3%A4+b',
    'Basic dXNlcjpwYXNz',
    'MaxRetryError',
    { a: [1] },
    '404',
  ]);
});

test('tqdm shows progress without a warning', async () => {
  const { stdout, stderr } = await python(code`
    from tqdm import tqdm, trange
    print(sum(tqdm(range(3))), [i for i in trange(2, disable=True)])
  `);
  expect(stdout).toBe('3 [0, 1]\n');
  expect(stderr).toContain('3/3');
  expect(stderr).not.toContain('Warning');
});

test('joblib runs parallel loops and caches results', async () => {
  const shown = await value(code`
    from math import sqrt
    from joblib import Memory, Parallel, delayed, dump, load
    from threadpoolctl import ThreadpoolController
    calls = []
    @Memory('/tmp/cache', verbose=0).cache
    def square(n):
        calls.append(n)
        return n * n
    loops = [Parallel(n_jobs=jobs, backend=backend)(delayed(sqrt)(n ** 2) for n in range(4))
             for jobs, backend in ((2, 'threading'), (1, None), (-1, None), (2, None))]
    dump({'a': 1}, 'data.joblib')
    [loops, square(3), square(3), calls, load('data.joblib'), ThreadpoolController.__name__]
  `);
  expect(shown).toEqual([Array(4).fill([0, 1, 2, 3]), 9, 9, [3], { a: 1 }, 'ThreadpoolController']);
});

test('pytz, natsort, emoji and pint convert values', { tags: 'full' }, async () => {
  const shown = await value(code`
    import datetime, emoji, natsort, pint, pytz
    units = pint.UnitRegistry()
    berlin = pytz.timezone('Europe/Berlin').localize(datetime.datetime(2026, 7, 1, 12))
    [
        berlin.astimezone(pytz.utc).isoformat(),
        natsort.natsorted(['a10', 'a2', 'a1']),
        emoji.demojize('I ❤️ Python 👍'), emoji.emojize(':thumbs_up:'),
        str((3 * units.meter / (2 * units.second)).to('km/hour')),
    ]
  `);
  expect(shown).toEqual([
    '2026-07-01T10:00:00+00:00',
    ['a1', 'a2', 'a10'],
    'I :red_heart: Python :thumbs_up:',
    '👍',
    '5.4 kilometer / hour',
  ]);
});

test('prettytable and graphviz write text', async () => {
  const shown = await value(code`
    import graphviz
    from prettytable import PrettyTable
    table = PrettyTable(['city', 'size'])
    table.add_row(['東京', 9])
    dot = graphviz.Digraph()
    dot.edge('a', 'b')
    [table.get_string().split('\\n')[3], dot.source]
  `);
  expect(shown).toEqual(['| 東京 |  9   |', 'digraph {\n\ta -> b\n}\n']);
});

test('fpdf2 writes a PDF file that pypdf reads', { tags: 'full' }, async () => {
  const shown = await value(code`
    import warnings
    with warnings.catch_warnings(record=True) as caught:
        from fpdf import FPDF
    from pypdf import PdfReader
    pdf = FPDF()
    pdf.add_page()
    pdf.set_font('Helvetica', size=14)
    pdf.cell(text='Invoice 42')
    with pdf.table() as table:
        for row in (('item', 'price'), ('pen', '2')):
            table.row(row)
    pdf.output('invoice.pdf')
    [PdfReader('invoice.pdf').pages[0].extract_text(), [str(one.message) for one in caught]]
  `);
  expect(shown).toEqual([expect.stringMatching(/Invoice 42[\s\S]*pen/), [expect.stringContaining('Pillow')]]);
});

test('plotly describes figures, which are shown as pictures, and writes HTML files', {
  tags: 'full',
}, async () => {
  const result = await python(code`
    import plotly.graph_objects as go
    figure = go.Figure(go.Bar(x=['a', 'b'], y=[1, 3]))
    figure.update_layout(title='Sizes')
    figure.write_html('chart.html')
    figure.show()
    [figure.to_dict()['data'][0]['type'], 'src="https://' in open('chart.html').read()]
  `);
  expect(result.stderr).toBe('');
  expect(result.metadata.result).toEqual(['bar', true]);
  expect(result.results.length).toBeGreaterThan(0);
});

test('chardet detects encodings without its compiled modules', async () => {
  const shown = await value(code`
    import chardet
    texts = {'utf-8': 'Grüße aus Köln — schöne Straße'.encode(), 'utf-16': 'Grüße'.encode('utf-16')}
    [chardet.detect(data)['encoding'].lower() == name for name, data in texts.items()]
  `);
  expect(shown).toEqual([true, true]);
});

test('modules without their source can be imported, and their functions have names and documentation', {
  tags: 'full',
}, async () => {
  const shown = await value(code`
    import holidays, plotly.graph_objects as go, pygments.lexers as lexers, traceback
    from faker import Faker
    try:
        go.Bar(no_such_property=1)
    except ValueError as error:
        frames = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    [
        len(list(lexers.get_all_lexers())) > 500, lexers.guess_lexer_for_filename('a.rs', 'fn main() {}').name,
        holidays.country_holidays('DE')['2026-10-03'], Faker('de_DE').name() != '',
        'Bar' in go.Bar.__init__.__doc__, frames[:2],
    ]
  `);
  expect(shown).toEqual([
    true,
    'Rust',
    expect.stringContaining('Einheit'),
    true,
    true,
    ['<module>', '__init__'],
  ]);
});

test.each([
  ['from docx import Document', 'lxml', 'packages add lxml'],
  ['from reportlab.pdfgen import canvas', 'PIL', 'packages add pillow'],
  ['from pdfminer.high_level import extract_text', 'cryptography', 'packages add cryptography'],
])('%s names the command that adds what it needs', async (program, missing, command) => {
  const { metadata } = await python(program);
  expect(metadata.error).toMatchObject({ type: 'ModuleNotFoundError', name: missing });
  expect(metadata.error_guidance?.actionable_guidance.join('\n')).toContain(`llm-wasm-sandbox ${command}`);
});
