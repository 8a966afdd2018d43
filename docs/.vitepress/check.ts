/** Checks the built site: each link leads to a page, a file or an anchor in it, and no page loads anything from another server. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** @throws an error with all faults of the site in this folder */
export function checkSite(site: string): void {
  const files = globSync('**/*.{html,css}', { cwd: site })
  const texts = new Map(files.map((file) => [file, readFileSync(join(site, file), 'utf8')]))
  const faults = [...texts].flatMap(([file, text]) => [
    ...loadsOf(text).map((url) => `${file} loads ${url}`),
    ...linksOf(text)
      .filter((link) => !leadsTo(link, file))
      .map((link) => `${file}: nothing is at ${link}`),
  ])
  if (faults.length > 0) throw new Error(`the site has broken links; correct the pages:\n${faults.join('\n')}`)

  function leadsTo(link: string, from: string): boolean {
    const [path = '', anchor = ''] = link.split('#')
    const target =
      path === '' ? from : join(path.startsWith('/') ? '' : dirname(from), path.replace(/\/$/, '/index.html'))
    if (!existsSync(join(site, target))) return false
    return (
      anchor === '' || texts.get(target.replace(/^\//, ''))?.includes(`id="${decodeURIComponent(anchor)}"`) === true
    )
  }
}

/** The links of a page inside of the site. */
function linksOf(html: string): string[] {
  return [...html.matchAll(/<a\b[^>]*? href="([^"]*)"/g)]
    .map(([, href = '']) => href.replaceAll('&amp;', '&'))
    .filter((href) => !/^[a-z]+:/.test(href))
}

/** What a page or a style sheet loads from another server. */
function loadsOf(text: string): string[] {
  const loads =
    /<(?:script|link|img|iframe|source)\b[^>]*? (?:src|href)="((?:https?:)?\/\/[^"]*)"|(?:url\(|@import )["']?((?:https?:)?\/\/[^"')]*)/g
  return [...text.matchAll(loads)].map(([, url, imported]) => url ?? imported ?? '')
}
