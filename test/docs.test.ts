/** The documentation: each relative link leads to a file, each anchor to a heading of it, and each line can be read as text. */
import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { lexer, type Token, type Tokens, walkTokens } from 'marked'
import { describe, expect, test } from 'vitest'
import { anchorOf } from '../docs/.vitepress/anchors.ts'
import { customResourceDefinitions } from '../src/api/crds.ts'
import { SUPPORTED_VERSIONS } from '../src/cli/version.ts'

const pages = globSync(['*.md', '{docs,test,webhooks,charts}/**/*.md']).sort()

function anchorsOf(path: string): string[] {
  const headings: string[] = []
  void walkTokens(lexer(readFileSync(path, 'utf8')), (token: Token) => {
    if (token.type === 'heading') headings.push(token['text'] as string)
  })
  return headings.map(anchorOf)
}

function linksOf(path: string): string[] {
  const links: string[] = []
  void walkTokens(lexer(readFileSync(path, 'utf8')), (token: Token) => {
    if (token.type === 'link') links.push(token['href'] as string)
  })
  return links.filter((link) => !/^[a-z]+:/.test(link))
}

function isBroken(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? page : join(dirname(page), path)
  if (!existsSync(target)) return true
  return anchor !== undefined && (statSync(target).isDirectory() || !anchorsOf(target).includes(anchor))
}

/** The numbers of the lines of a page that are longer than 160 characters, without code blocks and definitions of links. */
function longLinesOf(text: string): number[] {
  let code: string | undefined
  return text.split('\n').flatMap((line, i) => {
    const fence = /^\s*(```|~~~)/.exec(line)?.[1]
    if (fence !== undefined && (code ?? fence) === fence) code = code === undefined ? fence : undefined
    return code === undefined && line.length > 160 && !/^\[[^\]]+\]: \S+$/.test(line) ? [i + 1] : []
  })
}

describe.each(pages)('%s', (page) => {
  test('has no broken links', () => {
    expect(linksOf(page).filter((link) => isBroken(page, link))).toEqual([])
  })

  test('has no long line', () => {
    expect(longLinesOf(readFileSync(page, 'utf8'))).toEqual([])
  })
})

test('a line has at most 160 characters outside of code and definitions of links', () => {
  const long = 'x'.repeat(161)
  const page = ['x'.repeat(160), `| ${long} |`, '```sh', long, '```', `[page]: https://${long}`, `- ${long}`]
  expect(longLinesOf(page.join('\n'))).toEqual([2, 7])
})

test('the changes of the coming release fit on two screens', () => {
  const [, unreleased = ''] = readFileSync('CHANGELOG.md', 'utf8').split(/^## /m)
  expect(unreleased).toMatch(/^\[Unreleased\]/)
  expect(unreleased.split('\n').length).toBeLessThanOrEqual(100)
})

test('docs/index.md leads to every page, directly or by the page of its folder', () => {
  const lists = ['docs/index.md', 'docs/guides/data-systems.md', 'docs/dev/adr/index.md']
  const linked = lists.flatMap((list) => linksOf(list).map((link) => join(dirname(list), link.replace(/#.*/, ''))))
  const own = globSync('docs/**/*.md').filter((page) => page !== join('docs', 'index.md'))
  expect(own.filter((page) => !linked.includes(page))).toEqual([])
})

test('no folder of docs has more than 25 pages', () => {
  const counts = Map.groupBy(globSync('docs/**/*.md'), dirname)
  expect([...counts].filter(([, inFolder]) => inFolder.length > 25).map(([folder]) => folder)).toEqual([])
})

test('docs/dev/add-a-source-type.md names only files and folders that exist', () => {
  const named: string[] = []
  void walkTokens(lexer(readFileSync('docs/dev/add-a-source-type.md', 'utf8')), (token: Token) => {
    if (token.type === 'codespan') named.push(token['text'] as string)
  })
  const paths = named.filter((text) => /^(?:src|test|webhooks)\//.test(text))
  expect(paths.length).toBeGreaterThan(15)
  expect(paths.filter((path) => !existsSync(path))).toEqual([])
})

/** The first cells of all tables of a page, in their order. */
function firstCells(page: string): string[] {
  return lexer(readFileSync(page, 'utf8'))
    .filter((token): token is Tokens.Table => token.type === 'table')
    .flatMap(({ rows }) => rows.map(([first]) => first?.text ?? ''))
}

test('docs/dev/limits.md has each limit of docs/reference/limits.md, in its order', () => {
  expect(firstCells('docs/dev/limits.md')).toEqual(firstCells('docs/reference/limits.md'))
})

/** The rows of all tables of a page, as their texts. */
function tableRows(page: string): string[][] {
  return lexer(readFileSync(page, 'utf8'))
    .filter((token): token is Tokens.Table => token.type === 'table')
    .flatMap(({ rows }) => rows.map((cells) => cells.map(({ text }) => text)))
}

interface DefinitionWithColumns {
  spec: {
    names: { kind: string }
    versions: { additionalPrinterColumns?: { name: string; priority?: number }[] }[]
  }
}

test('docs/guides/status.md has the columns of kubectl of each CRD', () => {
  const shown = tableRows('docs/guides/status.md').map((cells) =>
    cells.map((text) => text.replaceAll(/ \([^)]*\)/g, '')),
  )
  const columns = (customResourceDefinitions() as unknown as DefinitionWithColumns[]).map(({ spec }) => {
    const all = spec.versions.flatMap(({ additionalPrinterColumns }) => additionalPrinterColumns ?? [])
    const listed = (isWide: boolean) =>
      all.filter(({ priority = 0 }) => priority > 0 === isWide).map(({ name }) => name.toUpperCase())
    return [spec.names.kind, listed(false).join(', '), listed(true).join(', ')]
  })
  expect(shown).toEqual(expect.arrayContaining(columns))
})

test('docs/guides/install.md shows the supported versions', () => {
  const { kubernetes, karmada } = SUPPORTED_VERSIONS
  const page = readFileSync('docs/guides/install.md', 'utf8')
  expect(page).toContain(`Kubernetes  ${kubernetes.join(', ')} (tested)\nKarmada     ${karmada.join(', ')} (tested)\n`)
})

test('docs/dev/limits.md names only tests that exist', () => {
  const named = [...readFileSync('docs/dev/limits.md', 'utf8').matchAll(/`([\w./-]+\.test\.ts)`/g)].map(
    ([, name = '']) => name,
  )
  const tests = globSync(['src/**/*.test.ts', 'test/**/*.test.ts'])
  expect(named.length).toBeGreaterThan(50)
  expect(named.filter((name) => !tests.some((test) => test === name || test.endsWith(`/${name}`)))).toEqual([])
})
