/** The sidebar of the site: the sections and pages of docs/index.md in its order. So readers of files and of the site have one order. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { lexer, type Token, type Tokens, walkTokens } from 'marked'

const docs = join(import.meta.dirname, '..')

interface Item {
  text: string
  link?: string
  items?: Item[]
  collapsed?: boolean
}

/** Returns a group for each section of the index, with the pages of its tables. Links that leave docs are not pages of the site. */
export function sidebar(): Item[] {
  const groups: { text: string; collapsed: boolean; items: Item[] }[] = []
  for (const token of lexer(read('index.md'))) {
    if (token.type === 'heading' && token.depth === 2) groups.push({ text: token['text'], collapsed: false, items: [] })
    if (token.type === 'table') groups.at(-1)?.items.push(...pagesOf(token as Tokens.Table))
  }
  return groups
}

/** The links to whole pages in a table. A page that has the name of a folder, or is its index, has the pages of the folder below it. */
function pagesOf(table: Tokens.Table): Item[] {
  const links: Tokens.Link[] = []
  void walkTokens(
    table.rows.flatMap(([first]) => first?.tokens ?? []),
    (token: Token) => {
      if (token.type === 'link') links.push(token as Tokens.Link)
    },
  )
  return links
    .filter(({ href }) => /^(?!\.\.)[^#:]+\.md$/.test(href))
    .map(({ text, href }) => {
      const below = globSync(`${href.replace(/(\/index)?\.md$/, '')}/**/*.md`, { cwd: docs }).filter(
        (page) => page !== href,
      )
      const items = below.sort().map((page) => ({ text: titleOf(page), link: `/${page}` }))
      return { text, link: `/${href}`, ...(items.length > 0 && { collapsed: true, items }) }
    })
}

const read = (page: string) => readFileSync(join(docs, page), 'utf8')
const titleOf = (page: string) => /^# (.*)$/m.exec(read(page))?.[1] ?? page
