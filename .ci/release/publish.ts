/**
 * `npm run release:publish`: copies the image and the chart of a release folder into a registry, and prints their references by digest.
 *
 * Usage: npm run release:publish -- --registry registry.example.org/team [--from FOLDER] [--plain-http]
 * It needs skopeo and helm, which are logged in to the registry. `--plain-http` is for a registry on loopback.
 */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { readRevision } from './revision.ts'
import { run } from './run.ts'

const PROJECT = join(import.meta.dirname, '..', '..')

const { values } = parseArgs({
  options: {
    registry: { type: 'string' },
    from: { type: 'string', default: join(PROJECT, 'release') },
    'plain-http': { type: 'boolean', default: false },
  },
})
const { registry, from } = values
// A reference has a host, and `$REGISTRY` of an unset variable has none.
if (!registry || !/^[a-z0-9.-]+(:\d+)?(\/[a-z0-9._-]+)*$/.test(registry)) {
  throw new Error(`--registry ${registry ?? ''}: must be a host, with a path if needed, e.g. registry.example.org/team`)
}
const { version } = await readRevision(PROJECT)
const digest = (await readFile(join(from, 'IMAGE_DIGEST'), 'utf8')).trim()

const image = `${registry}/lodestone`
// All platforms, with the digests of the release: a signature and the chart name the same image.
const copy = ['copy', '--all', '--preserve-digests', ...(values['plain-http'] ? ['--dest-tls-verify=false'] : [])]
const archive = join(from, `lodestone-${version}-image.tar`)
await run('skopeo', [...copy, `oci-archive:${archive}`, `docker://${image}:${version}`])
const push = ['push', join(from, `lodestone-${version}-chart.tgz`), `oci://${registry}/charts`]
await run('helm', [...push, ...(values['plain-http'] ? ['--plain-http'] : [])])
const inspect = ['inspect', '--raw', ...(values['plain-http'] ? ['--tls-verify=false'] : [])]
const manifest = await run('skopeo', [...inspect, `docker://${registry}/charts/lodestone:${version}`])
const chartDigest = createHash('sha256').update(manifest).digest('hex')
// In the form of a file of outputs of GitHub Actions.
console.log(`image=${image}@${digest}`)
console.log(`chart=${registry}/charts/lodestone@sha256:${chartDigest}`)
