/** Python replacements for command-line programs that the sandbox does not have. */

/** By name of the program. */
export const SUBSTITUTES: Readonly<Record<string, string>> = {
  dir: 'ls, or os.listdir(path)',
  pdftotext: 'the package pypdf: pypdf.PdfReader(path).pages[0].extract_text()',
  pytest: "the package pytest: pytest.main(['test_file.py'])",
  unittest: 'unittest.main()',
  xmllint: 'xml.etree.ElementTree.parse(path)',
};

/** What to do instead of starting the program, as one line. */
export function commandSubstitute(name: string): string {
  return Object.hasOwn(SUBSTITUTES, name)
    ? `for '${name}' use ${SUBSTITUTES[name]}`
    : `for '${name.slice(0, 40)}' write Python code, or run the command outside the sandbox and pass its output with the files option`;
}
