/**
 * `npm run build:page`: builds the files of the page in the browser into build/page. A server may read them at this moment. So a file is
 * replaced at once, and only if it changed.
 */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import type { ArchiveEntry } from './archive.ts'

const PROJECT = join(import.meta.dirname, '..', '..')
const FOLDER = join('build', 'page')
const STATIC = ['index.html', 'style.css', 'icon.svg']

/** Returns the files of the page, with paths relative to the project: one script, and what is copied as it is. */
export async function pageOf(project: string): Promise<ArchiveEntry[]> {
  const sources = join(project, 'src', 'page')
  const bundle = await rolldown({
    cwd: project,
    input: join(sources, 'main.tsx'),
    tsconfig: join(sources, 'tsconfig.json'),
  })
  const { output } = await bundle.generate({ format: 'esm', minify: true })
  await bundle.close()
  if (output.length !== 1) throw new Error(`the page became ${output.length} scripts instead of one`)
  const copied = STATIC.map(async (name) => ({
    path: join(FOLDER, name),
    content: await readFile(join(sources, name)),
  }))
  return [{ path: join(FOLDER, 'main.js'), content: Buffer.from(output[0].code) }, ...(await Promise.all(copied))]
}

if (import.meta.main) {
  await mkdir(join(PROJECT, FOLDER), { recursive: true })
  for (const { path, content } of await pageOf(PROJECT)) {
    const file = join(PROJECT, path)
    const before = await readFile(file).catch(() => undefined)
    if (!Buffer.isBuffer(content) || before?.equals(content)) continue
    await writeFile(`${file}.new`, content)
    await rename(`${file}.new`, file)
  }
}
