/** docs/reference/configuration.md: each key of the configuration is in the first column of a table, with its default beside it. */
import { readFileSync } from 'node:fs'
import { lexer, type Token, type Tokens, walkTokens } from 'marked'
import { describe, expect, test } from 'vitest'
import { DEFAULT_CONFIG } from '../src/app/config/config.ts'

interface Row {
  keys: string[]
  defaults: string[]
}

/** The rows below the heading of each section. A key that begins with a dot continues the one before it. */
function rowsBySection(): Map<string, Row[]> {
  const sections = new Map<string, Row[]>()
  let names: string[] = []
  for (const token of lexer(readFileSync('docs/reference/configuration.md', 'utf8'))) {
    if (token.type === 'heading' && token.depth <= 3) names = codes(token)
    if (token.type !== 'table') continue
    for (const [first, second] of (token as Tokens.Table).rows) {
      let last = ''
      const keys = codes(first).map((key) => {
        last = key.startsWith('.') ? last.replace(/\.[^.]*$/, key) : key
        return last
      })
      for (const name of names) sections.set(name, [...(sections.get(name) ?? []), { keys, defaults: codes(second) }])
    }
  }
  return sections
}

function codes(of: { tokens?: Token[] } | undefined): string[] {
  const found: string[] = []
  void walkTokens(of?.tokens ?? [], (token: Token) => {
    if (token.type === 'codespan') found.push(token['text'] as string)
  })
  return found
}

/** The paths of all keys with a default, in their sections. A map or a list is one key. */
function pathsOf(value: unknown): { path: string; value: unknown }[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [{ path: '', value }]
  return Object.entries(value).flatMap(([name, inner]) =>
    pathsOf(inner).map((one) => ({ path: one.path === '' ? name : `${name}.${one.path}`, value: one.value })),
  )
}

const sections = rowsBySection()
/** Without those that have no default, and the list of workload kinds, which has a section of its own. */
const withDefaults = Object.entries(DEFAULT_CONFIG).filter(([, defaults]) => Object.keys(defaults).length > 0)

describe.each(withDefaults)('%s', (section, defaults) => {
  const rows = sections.get(section) ?? []

  test.each(pathsOf(defaults))('$path has its default on the page', ({ path, value }) => {
    const isKey = (key: string) => key === path || key === `${section}.${path}` || path.startsWith(`${key}.`)
    const row = rows.find(({ keys }) => keys.some(isKey))
    expect(row).toBeDefined()
    const isSimple = ['number', 'boolean'].includes(typeof value) && row?.keys.includes(path) === true
    expect(isSimple ? row?.defaults.includes(String(value)) : true).toBe(true)
  })
})
