import { createHash } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import type { ArchiveEntry } from './archive.ts'
import { settingsOf } from './image.ts'
import { imageLayout } from './oci-layout.ts'

const file = (path: string): ArchiveEntry => ({ path, content: Buffer.from(path) })
const build = (architectures: readonly ('amd64' | 'arm64')[] = ['amd64', 'arm64'], timeSeconds = 1_700_000_000) =>
  imageLayout(
    architectures.map((architecture) => ({
      architecture,
      layers: [[file('usr/bin/node')], [file(`of-${architecture}`)]],
    })),
    settingsOf('1.2.3', 'abc'),
    { name: 'lodestone:1.2.3', timeSeconds },
  )

describe('an image layout', () => {
  const layout = build()
  const files = new Map(layout.entries.map(({ path, content }) => [path, content as Buffer]))
  const json = (path: string) => JSON.parse(files.get(path)?.toString() ?? '')
  const blob = (digest: string) => `blobs/${digest.replace(':', '/')}`
  const index = json(blob(layout.digest))

  test('names each blob by its SHA-256, with its size', () => {
    const blobs = [...files].filter(([path]) => path.startsWith('blobs/'))
    const hashes = blobs.map(([, content]) => createHash('sha256').update(content).digest('hex'))
    expect(blobs.map(([path]) => path)).toEqual(hashes.map((hash) => `blobs/sha256/${hash}`))
    for (const { digest, size } of index.manifests) expect(files.get(blob(digest))).toHaveLength(size)
  })

  test('has one index, with the tag of the version and a manifest for each platform', () => {
    const { manifests } = json('index.json')
    expect(manifests).toHaveLength(1)
    expect(manifests[0]).toMatchObject({
      digest: layout.digest,
      annotations: { 'org.opencontainers.image.ref.name': '1.2.3', 'io.containerd.image.name': 'lodestone:1.2.3' },
    })
    const platforms = index.manifests.map(({ platform }: { platform: unknown }) => platform)
    expect(platforms).toEqual([
      { architecture: 'amd64', os: 'linux' },
      { architecture: 'arm64', os: 'linux' },
    ])
  })

  test('has the hashes of its layers, the user and the command in the configuration', () => {
    const manifest = json(blob(index.manifests[0].digest))
    const hashes = manifest.layers.map(({ digest }: { digest: string }) => {
      const archive = gunzipSync(files.get(blob(digest)) ?? Buffer.alloc(0))
      return `sha256:${createHash('sha256').update(archive).digest('hex')}`
    })
    expect(json(blob(manifest.config.digest))).toMatchObject({
      created: '2023-11-14T22:13:20.000Z',
      os: 'linux',
      architecture: 'amd64',
      rootfs: { type: 'layers', diff_ids: hashes },
      config: {
        User: '65532:65532',
        Entrypoint: ['/usr/bin/lodestone'],
        Cmd: ['serve'],
        ExposedPorts: { '9443/tcp': {} },
      },
    })
  })

  test('has a shared layer once', () => {
    // Two configurations, two manifests, the index, the shared layer and two own ones.
    expect([...files.keys()].filter((path) => path.startsWith('blobs/'))).toHaveLength(8)
  })

  test('has the same digest in each build, and another one for another time', () => {
    expect(build().digest).toBe(layout.digest)
    expect(build(['amd64', 'arm64'], 1).digest).not.toBe(layout.digest)
  })
})
