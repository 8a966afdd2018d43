/** Splits a dotted name such as `catalog.db.table` into its parts, and encodes them as URL path segments. */

const QUOTES = ['"', '`']

/** The name of a file, which no catalog knows. Its dots do not separate a database from a table. */
const URI = /^[a-z][a-z0-9+.-]*:\/\//i

/**
 * Returns the parts of a dotted name; undefined for a URI, or if a part is empty or a quote is not closed. A part in double quotes or backticks may
 * contain dots: `db."my.table"`. Inside, the quote character is doubled.
 */
export function splitName(name: string): string[] | undefined {
  if (URI.test(name)) return undefined
  const parts: string[] = []
  let rest = name
  for (;;) {
    const read = QUOTES.includes(rest.charAt(0)) ? readQuoted(rest) : readPlain(rest)
    if (read === undefined || read.part === '') return undefined
    parts.push(read.part)
    if (read.rest === '') return parts
    if (!read.rest.startsWith('.')) return undefined
    rest = read.rest.slice(1)
  }
}

function readPlain(text: string): { part: string; rest: string } {
  const dot = text.indexOf('.')
  return dot < 0 ? { part: text, rest: '' } : { part: text.slice(0, dot), rest: text.slice(dot) }
}

function readQuoted(text: string): { part: string; rest: string } | undefined {
  const quote = text.charAt(0)
  let part = ''
  for (let i = 1; i < text.length; i++) {
    if (text[i] !== quote) part += text[i]
    else if (text[i + 1] === quote) part += text[++i]
    else return { part, rest: text.slice(i + 1) }
  }
  return undefined
}

/** Encodes a part as one segment of a URL's path; undefined for `.` and `..`, which URL parsers resolve even if they are encoded. */
export function pathSegment(part: string): string | undefined {
  return part === '.' || part === '..' ? undefined : encodeURIComponent(part)
}
