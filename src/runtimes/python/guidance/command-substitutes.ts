/** Python replacements for command-line programs. */

/** By name of the program. */
export const SUBSTITUTES: Readonly<Record<string, string>> = {
  awk: 'line.split() in a loop over open(path)',
  base64: 'the module base64',
  bash: 'Python statements that do the same as the script',
  bc: 'Python expressions, decimal.Decimal for exact digits',
  cat: 'open(path).read()',
  chmod: 'os.chmod(path, mode)',
  cp: 'shutil.copy(source, target), or shutil.copytree for folders',
  cut: "line.split(',') in a loop over open(path)",
  date: 'datetime.datetime.now()',
  df: 'the sum of os.path.getsize over pathlib.Path.rglob',
  diff: 'difflib.unified_diff(lines1, lines2)',
  dir: 'os.listdir(path)',
  du: 'the sum of os.path.getsize over pathlib.Path.rglob',
  echo: 'print()',
  egrep: '[line for line in open(path) if re.search(pattern, line)]',
  expr: 'Python expressions',
  file: "the first bytes of the file: open(path, 'rb').read(16)",
  find: "pathlib.Path('/app').rglob('*.csv')",
  grep: '[line for line in open(path) if re.search(pattern, line)]',
  gunzip: 'gzip.open(path)',
  gzip: "gzip.open(path, 'wb')",
  head: 'itertools.islice(open(path), 10)',
  jq: 'the module json',
  ls: 'os.listdir(path) or pathlib.Path(path).iterdir()',
  md5sum: "hashlib.md5(open(path, 'rb').read()).hexdigest()",
  mkdir: 'os.makedirs(path, exist_ok=True)',
  mv: 'shutil.move(source, target)',
  pdftotext: 'the package pypdf: pypdf.PdfReader(path).pages[0].extract_text()',
  printenv: 'os.environ',
  pwd: 'os.getcwd()',
  pytest: "the package pytest: pytest.main(['test_file.py'])",
  rm: 'os.remove(path), or shutil.rmtree for folders',
  sed: 're.sub(pattern, replacement, text)',
  seq: 'range(first, last + 1)',
  sh: 'Python statements that do the same as the script',
  sha256sum: "hashlib.sha256(open(path, 'rb').read()).hexdigest()",
  sleep: 'time.sleep(seconds)',
  sort: 'sorted(open(path)), with set() for unique lines',
  sqlite3: 'the module sqlite3',
  stat: 'os.stat(path)',
  tail: 'collections.deque(open(path), maxlen=10)',
  tar: 'the module tarfile',
  tee: 'print() and open(path, "w").write()',
  touch: 'pathlib.Path(path).touch()',
  tr: 'text.translate(str.maketrans(old, new))',
  tree: "sorted(pathlib.Path('/app').rglob('*'))",
  uniq: 'dict.fromkeys(lines), collections.Counter(lines) for counts',
  unittest: 'unittest.main()',
  unzip: 'zipfile.ZipFile(path).extractall()',
  wc: 'len(open(path).readlines()) for lines, len(text.split()) for words',
  xmllint: 'xml.etree.ElementTree.parse(path)',
  zip: "zipfile.ZipFile(path, 'w')",
};

/** What to do instead of starting the program, as one line. */
export function commandSubstitute(name: string): string {
  return Object.hasOwn(SUBSTITUTES, name)
    ? `for '${name}' use ${SUBSTITUTES[name]}`
    : `for '${name.slice(0, 40)}' write Python code, or run the command outside the sandbox and pass its output with the files option`;
}
