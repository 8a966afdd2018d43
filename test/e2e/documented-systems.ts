// The configurations of data systems in the documentation: the YAML blocks of docs/guides/data-systems, with the addresses and credentials of a test.
import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { lexer, type Tokens } from 'marked'
import { parse } from 'yaml'

const pages = join(import.meta.dirname, '..', '..', 'docs', 'guides', 'data-systems')

export interface DocumentedSystem {
  system: string
  plugin?: string
  endpoint?: { url?: string; urls?: string[]; auth?: Record<string, string>; tls?: Record<string, string> }
  [key: string]: unknown
}

// All configurations of a page, in their order. A block of YAML without `system` is another example, such as a claim.
export function documentedSystems(page: string): DocumentedSystem[] {
  return lexer(readFileSync(join(pages, `${page}.md`), 'utf8'))
    .filter((token): token is Tokens.Code => token.type === 'code' && token.lang === 'yaml')
    .map(({ text }) => parse(text) as DocumentedSystem)
    .filter(({ system }) => system !== undefined)
}

export interface Replacements {
  // One for each documented URL.
  urls?: string[]
  tokenUrl?: string
  // The content of each documented file, by its field, such as tokenFile or caFile.
  files?: Record<string, string>
}

// Writes a documented configuration into `directory`, and returns it. It fails if the test replaces something that the page does not have.
// It also fails if the page names a server or a file that the test does not replace.
export async function useDocumentedSystem(
  directory: string,
  { endpoint = {}, ...documented }: DocumentedSystem,
  { urls = [], tokenUrl, files = {} }: Replacements,
): Promise<DocumentedSystem> {
  const { auth = {}, tls = {} } = endpoint
  const named = endpoint.urls ?? (endpoint.url === undefined ? [] : [endpoint.url])
  const fileFields = [...Object.keys(auth), ...Object.keys(tls)].filter((field) => field.endsWith('File')).sort()
  if (named.length !== urls.length) throw new Error(`the page of ${documented.system} has ${named.length} servers`)
  if (fileFields.join() !== Object.keys(files).sort().join()) throw new Error(`the page has the files ${fileFields}`)
  if ((auth['tokenUrl'] === undefined) !== (tokenUrl === undefined)) throw new Error('tokenUrl is only on one side')
  const folder = join(directory, '..', `files-of-${documented.system}`)
  await mkdir(folder, { recursive: true })
  const placed: Record<string, string> = {}
  for (const [field, content] of Object.entries(files)) {
    placed[field] = join(folder, field)
    await writeFile(placed[field], content)
  }
  const located = <T extends Record<string, string>>(given: T) =>
    Object.fromEntries(Object.entries(given).map(([field, value]) => [field, placed[field] ?? value]))
  const configuration = {
    ...documented,
    refreshInterval: '1s',
    ...(named.length > 0 && {
      endpoint: {
        ...(endpoint.urls === undefined ? { url: urls[0] } : { urls }),
        auth: { ...located(auth), ...(tokenUrl !== undefined && { tokenUrl }) },
        ...(endpoint.tls !== undefined && { tls: located(tls) }),
      },
    }),
  }
  await writeFile(join(directory, documented.system), JSON.stringify(configuration))
  return configuration as DocumentedSystem
}
