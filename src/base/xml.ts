/** Reads the responses of object stores. They are flat XML of a few known shapes, so no XML parser is needed. */

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' }

/** Returns the text of the first element with this name; undefined without one. */
export function elementText(xml: string, element: string): string | undefined {
  const from = xml.indexOf(`<${element}>`)
  if (from < 0) return undefined
  const to = xml.indexOf(`</${element}>`, from)
  return to < 0 ? undefined : unescapeXml(xml.slice(from + element.length + 2, to))
}

/** Yields the content of each element with this name, as it is. The elements do not nest. */
export function* elementsOf(xml: string, element: string): Generator<string> {
  const [begin, end] = [`<${element}>`, `</${element}>`]
  for (let from = xml.indexOf(begin); from >= 0; from = xml.indexOf(begin, from)) {
    const to = xml.indexOf(end, from)
    if (to < 0) return
    yield xml.slice(from + begin.length, to)
    from = to
  }
}

function unescapeXml(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|([a-z]+));/gi, (whole, hex, decimal, name) => {
    if (hex !== undefined) return character(Number.parseInt(hex, 16)) ?? whole
    if (decimal !== undefined) return character(Number(decimal)) ?? whole
    return Object.hasOwn(ENTITIES, name) ? (ENTITIES[name] ?? whole) : whole
  })
}

/** Returns a character by its code point; undefined for surrogates and for numbers above the range of Unicode. */
function character(code: number): string | undefined {
  const isCharacter = code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
  return isCharacter ? String.fromCodePoint(code) : undefined
}
