/** Reads S3's answers. They are flat XML of a few known shapes, so that no XML parser is needed. */

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' }

/** The text of the first element of that name; undefined without one. */
export function textOf(xml: string, element: string): string | undefined {
  const from = xml.indexOf(`<${element}>`)
  if (from < 0) return undefined
  const to = xml.indexOf(`</${element}>`, from)
  return to < 0 ? undefined : unescapeXml(xml.slice(from + element.length + 2, to))
}

function unescapeXml(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|([a-z]+));/gi, (whole, hex, decimal, name) => {
    if (hex !== undefined) return character(Number.parseInt(hex, 16)) ?? whole
    if (decimal !== undefined) return character(Number(decimal)) ?? whole
    return Object.hasOwn(ENTITIES, name) ? (ENTITIES[name] ?? whole) : whole
  })
}

/** Halves of a character and numbers beyond Unicode are none. */
function character(code: number): string | undefined {
  const isCharacter = code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
  return isCharacter ? String.fromCodePoint(code) : undefined
}
