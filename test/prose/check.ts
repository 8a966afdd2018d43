/**
 * `npm run check:prose`: checks the language of docs, comments and messages, and the commit subjects. `-- --count` prints one number per
 * folder, `-- PATH…` checks these paths only.
 */
import { globSync, readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { commitsSince, faultsOf } from './commits.ts'
import { markdownBlocks } from './markdown.ts'
import { type Finding, findingsOf } from './sentences.ts'
import { hashBlocks, typescriptBlocks } from './source.ts'

const files = [
  '*.md',
  '.github/**/*.{md,yaml,yml}',
  '.ci/run',
  '{docs,certs,webhooks,charts,test,bench}/**/*.md',
  '{charts,certs}/**/*.yaml',
  '{src,test,bench}/**/*.ts',
]

/** These files name what they forbid. */
const exempt = /^test\/prose\/(?:rules|.*\.test)\.ts$/

const { values, positionals } = parseArgs({
  options: { count: { type: 'boolean', default: false } },
  allowPositionals: true,
})

const isBelow = (path: string, folders: readonly string[]) =>
  folders.some((folder) => path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`))
const isWanted = (path: string) => positionals.length === 0 || isBelow(path, positionals)

const findings = globSync(files)
  .filter((path) => !exempt.test(path) && isWanted(path))
  .sort()
  .map((path) => ({ path, found: findingsOfFile(path) }))

if (values.count) printCounts()
else for (const { path, found } of findings) for (const finding of found) print(path, finding)

const wrongCommits = commitsSince('.').filter((commit) => faultsOf(commit).length > 0)
for (const commit of wrongCommits) {
  console.log(`commit ${commit.hash.slice(0, 8)} "${commit.subject}": ${faultsOf(commit).join(', ')}`)
}

const total = findings.reduce((sum, { found }) => sum + found.length, 0) + wrongCommits.length
console.log(`${total} findings`)
if (total > 0 && !values.count) process.exitCode = 1

function findingsOfFile(path: string): Finding[] {
  const text = readFileSync(path, 'utf8')
  if (path.endsWith('.md')) return findingsOf(markdownBlocks(text))
  return findingsOf(path.endsWith('.ts') ? typescriptBlocks(text) : hashBlocks(text))
}

function print(path: string, { line, rule, instead, excerpt }: Finding): void {
  console.log(`${path}:${line}: ${rule} → ${instead}\n    ${excerpt}`)
}

function printCounts(): void {
  const counts = new Map<string, number>()
  for (const { path, found } of findings) {
    const folder = path
      .split('/')
      .slice(0, path.startsWith('src/') || path.startsWith('test/') ? 2 : 1)
      .join('/')
    counts.set(folder, (counts.get(folder) ?? 0) + found.length)
  }
  for (const [folder, count] of counts) console.log(`${String(count).padStart(5)}  ${folder}`)
}
