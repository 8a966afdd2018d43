/** Links of pages to files of the repository that are not pages of the site, such as a test or a manifest. */
import { cpSync, globSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import type { MarkdownRenderer } from 'vitepress'

type InlineTokens = NonNullable<ReturnType<MarkdownRenderer['parse']>[number]['children']>

/** Where the files of the repository are on the web, up to its root. Without it, links to files become text with the path. */
const source = process.env['DOCS_SOURCE_URL']?.replace(/\/$/, '')

/** A plugin of markdown-it, which changes the links that leave docs. */
export function linkToFiles(markdown: MarkdownRenderer): void {
  markdown.core.ruler.push('link-to-files', ({ tokens, env }) => {
    for (const { children } of tokens) changeLinks(children ?? [], dirname(env.relativePath))
  })
}

/** Makes links to files text if it is not known where these are. */
function changeLinks(tokens: InlineTokens, folder: string): void {
  let tag = 'a'
  for (const token of tokens) {
    if (token.type === 'link_open') {
      const path = fileOf(folder, token.attrGet('href') ?? '')
      tag = path === undefined || source !== undefined ? 'a' : 'span'
      if (path !== undefined) token.attrs = source === undefined ? [['title', path]] : [['href', `${source}/${path}`]]
    }
    if (token.type === 'link_open' || token.type === 'link_close') token.tag = tag
  }
}

/** The path in the repository, if a link leaves docs. */
function fileOf(folder: string, href: string): string | undefined {
  if (/^([a-z]+:|#|\/)/.test(href)) return undefined
  const path = normalize(join('docs', folder, href))
  return path.startsWith('docs/') ? undefined : path
}

/** Copies the JSON Schemas, which pages link to, beside the pages. */
export function copySchemas(docs: string, site: string): void {
  for (const file of globSync('**/*.schema.json', { cwd: docs })) cpSync(join(docs, file), join(site, file))
}
