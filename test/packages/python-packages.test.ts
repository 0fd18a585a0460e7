/**
 * Python packages that are adapted to the sandbox. package-table.test.ts has a program for each package.
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

test('packages that need native packages name the command that adds them', async () => {
  const { metadata } = await python('import seaborn');
  expect(metadata.error_guidance!.actionable_guidance.join()).toContain('packages add');
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

test('rpds provides the persistent collections that jsonschema uses', async () => {
  const shown = await value(code`
    from rpds import HashTrieMap, HashTrieSet, List
    one = HashTrieMap({'a': 1})
    two = one.insert('b', 2)
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
