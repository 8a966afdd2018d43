/**
 * `npm run image`: builds the container image as an OCI image layout, without a registry, a container engine or root rights.
 *
 * Usage: npm run image -- [--platform linux/amd64,linux/arm64] [--out FOLDER] [--files FOLDER]
 * `--files` writes the files of the image instead, for the Dockerfile.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { applicationOf } from './application.ts'
import { tarOf } from './archive.ts'
import { ARCHITECTURES, type Architecture, baseOf, OWN_ARCHITECTURE, USER } from './base.ts'
import { writeEntries } from './files.ts'
import { type ImageLayout, type ImageSettings, imageLayout } from './oci-layout.ts'
import { type Revision, readRevision } from './revision.ts'
import { spdxOf } from './spdx.ts'

const PROJECT = join(import.meta.dirname, '..', '..')
const MB = 1e6

export interface BuiltImage extends ImageLayout {
  /** Of each platform, its bill of materials, and its size without the Node binary in bytes. */
  parts: { architecture: Architecture; sbom: unknown; bytesAboveNode: number }[]
}

/** Builds the image of the sources for these architectures. */
export async function buildImage(architectures: readonly Architecture[], revision: Revision): Promise<BuiltImage> {
  const { version, commit, timeSeconds } = revision
  const application = await applicationOf(PROJECT, commit)
  const bases = await Promise.all(
    architectures.map(async (architecture) => ({ architecture, base: await baseOf(architecture) })),
  )
  const layout = imageLayout(
    bases.map(({ architecture, base }) => ({ architecture, layers: [base.libraries, base.node, application.entries] })),
    settingsOf(version, commit),
    { name: `lodestone:${version}`, timeSeconds },
  )
  const parts = bases.map(({ architecture, base }, i) => ({
    architecture,
    sbom: spdxOf({ name: `lodestone-image-${architecture}`, version, purpose: 'CONTAINER', timeSeconds }, [
      ...base.packages,
      ...application.packages,
    ]),
    bytesAboveNode: (layout.platforms[i]?.bytes ?? 0) - base.nodeBytes,
  }))
  return { ...layout, parts }
}

export function settingsOf(version: string, commit: string): ImageSettings {
  return {
    user: `${USER}:${USER}`,
    // A young generation of 32 MiB instead of 128: 80 MiB less memory and shorter pauses (docs/dev/adr/platform/0014).
    env: { PATH: '/usr/bin', NODE_ENV: 'production', NODE_OPTIONS: '--max-semi-space-size=16' },
    entrypoint: ['/usr/bin/lodestone'],
    command: ['serve'],
    ports: [9443, 8080],
    labels: {
      'org.opencontainers.image.title': 'lodestone',
      'org.opencontainers.image.version': version,
      'org.opencontainers.image.revision': commit,
      'org.opencontainers.image.licenses': 'Apache-2.0',
    },
  }
}

/** Writes the layout as a folder and as one archive, and the bills of materials beside it. */
export async function writeImage(image: BuiltImage, revision: Revision, out: string): Promise<void> {
  const stem = `lodestone-${revision.version}-image`
  await rm(join(out, 'image'), { recursive: true, force: true })
  await mkdir(join(out, 'image'), { recursive: true })
  writeEntries(join(out, 'image'), image.entries)
  await writeFile(join(out, `${stem}.tar`), tarOf(image.entries, revision.timeSeconds))
  for (const { architecture, sbom } of image.parts) {
    await writeFile(join(out, `${stem}-${architecture}.spdx.json`), `${JSON.stringify(sbom, null, 2)}\n`)
  }
}

/** What a build prints. */
export function summaryOf({ digest, platforms, parts }: BuiltImage): string {
  const megabytes = (bytes: number) => `${(bytes / MB).toFixed(1)} MB`
  return [
    `digest       ${digest}`,
    ...platforms.map(({ architecture, digest: own, bytes, compressedBytes }, i) => {
      const above = megabytes(parts[i]?.bytesAboveNode ?? 0)
      return `linux/${architecture}  ${own}: ${megabytes(bytes)}, ${above} above Node; compressed ${megabytes(compressedBytes)}`
    }),
  ].join('\n')
}

/** Reads `linux/amd64,linux/arm64`. Throws if the image cannot be built for one of them. */
export function readPlatforms(text: string): Architecture[] {
  return text.split(',').map((platform) => {
    const found = ARCHITECTURES.find((architecture) => platform === `linux/${architecture}`)
    if (found !== undefined) return found
    const possible = ARCHITECTURES.map((architecture) => `linux/${architecture}`).join(', ')
    throw new Error(`--platform ${text}: must be a list of ${possible}`)
  })
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { platform: { type: 'string' }, out: { type: 'string' }, files: { type: 'string' } },
  })
  const architectures = readPlatforms(values.platform ?? `linux/${OWN_ARCHITECTURE}`)
  const revision = await readRevision(PROJECT)
  if (values.files === undefined) {
    const image = await buildImage(architectures, revision)
    await writeImage(image, revision, values.out ?? join(PROJECT, 'release'))
    console.log(summaryOf(image))
  } else {
    const [architecture = OWN_ARCHITECTURE] = architectures
    const { libraries, node } = await baseOf(architecture)
    writeEntries(values.files, [...libraries, ...node, ...(await applicationOf(PROJECT, revision.commit)).entries])
  }
}
