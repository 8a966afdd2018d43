/**
 * `npm run release`: writes all files of a release into a folder, and publishes nothing. docs/dev/releasing.md describes them.
 *
 * Usage: npm run release -- [--tag v0.1.0] [--platform linux/amd64,linux/arm64] [--out FOLDER]
 */
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { parse } from 'yaml'
import { compare, gzipOf, tarOf } from './archive.ts'
import { entryOf, filesBelow } from './files.ts'
import { buildImage, readPlatforms, summaryOf, writeImage } from './image.ts'
import { lockedPackages } from './lock.ts'
import { packageArchive } from './npm-package.ts'
import { readRevision } from './revision.ts'
import { spdxOf } from './spdx.ts'
import { notesOf, versionFaults } from './versions.ts'

const PROJECT = join(import.meta.dirname, '..', '..')
const CHART = join('charts', 'lodestone')

const { values } = parseArgs({
  options: {
    tag: { type: 'string' },
    platform: { type: 'string', default: 'linux/amd64,linux/arm64' },
    out: { type: 'string', default: join(PROJECT, 'release') },
  },
})
const { out } = values
const architectures = readPlatforms(values.platform)
const revision = await readRevision(PROJECT)
const { version, timeSeconds } = revision
const changelog = await readFile(join(PROJECT, 'CHANGELOG.md'), 'utf8')
const faults = versionFaults({
  package: version,
  chart: parse(await readFile(join(PROJECT, CHART, 'Chart.yaml'), 'utf8')) as { version: string; appVersion: string },
  changelog,
  tag: values.tag,
  commit: revision.commit,
})
if (faults.length > 0) throw new Error(`not a release:\n${faults.join('\n')}`)

await rm(out, { recursive: true, force: true })
await mkdir(out, { recursive: true })
const image = await buildImage(architectures, revision)
await writeImage(image, revision, out)
await write(`lodestone-${version}-chart.tgz`, await chartArchive())
const ofNpm = await packageArchive(PROJECT, revision)
await write(`lodestone-${version}.tgz`, ofNpm)
const subject = { name: 'lodestone', version, purpose: 'APPLICATION', timeSeconds, sha256: sha256(ofNpm) } as const
const sbom = spdxOf(subject, [...lockedPackages(PROJECT).values()])
await write(`lodestone-${version}.spdx.json`, `${JSON.stringify(sbom, null, 2)}\n`)
await write('NOTES.md', `${notesOf(changelog, version)}\n`)
await write('IMAGE_DIGEST', `${image.digest}\n`)
await write('SHA256SUMS', await checksums())
console.log(summaryOf(image))
console.log(await readFile(join(out, 'SHA256SUMS'), 'utf8'))

/** The chart as `helm package` archives it, but with the same bytes in each build. */
async function chartArchive(): Promise<Buffer> {
  const paths = await filesBelow(join(PROJECT, CHART))
  const entries = paths.map((path) => entryOf(join(PROJECT, CHART), path, `lodestone/${path}`))
  return gzipOf(tarOf(await Promise.all(entries), timeSeconds, false))
}

/** The hashes of all files beside each other, in the format of `sha256sum --check`. */
async function checksums(): Promise<string> {
  const files = (await readdir(out, { withFileTypes: true })).filter((entry) => entry.isFile()).map(({ name }) => name)
  const lines = files.sort(compare).map(async (name) => `${sha256(await readFile(join(out, name)))}  ${name}\n`)
  return (await Promise.all(lines)).join('')
}

async function write(name: string, content: string | Buffer): Promise<void> {
  await writeFile(join(out, name), content)
}

function sha256(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}
