/** Lists in files that are read often and change rarely: the text is read each time, and parsed after it has changed. */

/** Keeps what the last text of each path contained. */
export function parseOnce<T>(parse: (text: string, path: string) => T): (text: string, path: string) => T {
  const lastRead = new Map<string, { readonly text: string; readonly content: T }>();
  return (text, path) => {
    const last = lastRead.get(path);
    if (last?.text === text) return last.content;
    const content = parse(text, path);
    lastRead.set(path, { text, content });
    return content;
  };
}
