/** Container images as an OCI image layout (https://github.com/opencontainers/image-spec): blobs by digest, and an index. */
import { createHash } from 'node:crypto'
import { type ArchiveEntry, gzipOf, tarOf } from './archive.ts'
import type { Architecture } from './base.ts'

export interface ImageSettings {
  user: string
  env: Readonly<Record<string, string>>
  entrypoint: readonly string[]
  command: readonly string[]
  ports: readonly number[]
  labels: Readonly<Record<string, string>>
}

export interface PlatformImage {
  architecture: Architecture
  /** Each layer has the entries of one part, from the one that changes least. */
  layers: readonly (readonly ArchiveEntry[])[]
}

interface Descriptor {
  mediaType: string
  digest: string
  size: number
}

interface BuiltPlatform {
  architecture: Architecture
  digest: string
  /** What a node downloads, and what it stores. */
  compressedBytes: number
  bytes: number
}

export interface ImageLayout {
  /** The files of the layout. */
  entries: ArchiveEntry[]
  /** Of the index, which names the images of all platforms. */
  digest: string
  platforms: BuiltPlatform[]
}

const TYPE = 'application/vnd.oci.image'

/** Returns the layout of an image with one manifest for each platform. The same input has the same digests. */
export function imageLayout(
  platforms: readonly PlatformImage[],
  settings: ImageSettings,
  { name, timeSeconds }: { name: string; timeSeconds: number },
): ImageLayout {
  const blobs = new Map<string, Buffer>()
  const add = (mediaType: string, content: Buffer): Descriptor => {
    const digest = digestOf(content)
    blobs.set(digest, content)
    return { mediaType, digest, size: content.length }
  }
  const addJson = (mediaType: string, value: unknown) => add(mediaType, Buffer.from(JSON.stringify(value)))

  const built = platforms.map(({ architecture, layers }) => {
    const archives = layers.map((entries) => tarOf(entries, timeSeconds))
    const descriptors = archives.map((archive) => add(`${TYPE}.layer.v1.tar+gzip`, gzipOf(archive)))
    const config = addJson(`${TYPE}.config.v1+json`, configOf(architecture, archives, settings, timeSeconds))
    const manifest = addJson(`${TYPE}.manifest.v1+json`, {
      schemaVersion: 2,
      mediaType: `${TYPE}.manifest.v1+json`,
      config,
      layers: descriptors,
      annotations: settings.labels,
    })
    return { architecture, manifest, descriptors, archives }
  })
  const index = addJson(`${TYPE}.index.v1+json`, {
    schemaVersion: 2,
    mediaType: `${TYPE}.index.v1+json`,
    manifests: built.map(({ architecture, manifest }) => ({ ...manifest, platform: { architecture, os: 'linux' } })),
    annotations: settings.labels,
  })
  const tag = name.slice(name.lastIndexOf(':') + 1)
  const annotations = { 'org.opencontainers.image.ref.name': tag, 'io.containerd.image.name': name }
  return {
    entries: [
      { path: 'oci-layout', content: Buffer.from('{"imageLayoutVersion":"1.0.0"}') },
      {
        path: 'index.json',
        content: Buffer.from(JSON.stringify({ schemaVersion: 2, manifests: [{ ...index, annotations }] })),
      },
      ...[...blobs].map(([digest, content]) => ({ path: `blobs/${digest.replace(':', '/')}`, content })),
    ],
    digest: index.digest,
    platforms: built.map(({ architecture, manifest, descriptors, archives }) => ({
      architecture,
      digest: manifest.digest,
      compressedBytes: descriptors.reduce((sum, { size }) => sum + size, 0),
      bytes: archives.reduce((sum, { length }) => sum + length, 0),
    })),
  }
}

function configOf(
  architecture: Architecture,
  archives: readonly Buffer[],
  settings: ImageSettings,
  timeSeconds: number,
) {
  const created = new Date(timeSeconds * 1000).toISOString()
  return {
    created,
    architecture,
    os: 'linux',
    config: {
      User: settings.user,
      ExposedPorts: Object.fromEntries(settings.ports.map((port) => [`${port}/tcp`, {}])),
      Env: Object.entries(settings.env).map(([name, value]) => `${name}=${value}`),
      Entrypoint: settings.entrypoint,
      Cmd: settings.command,
      WorkingDir: '/',
      Labels: settings.labels,
    },
    rootfs: { type: 'layers', diff_ids: archives.map(digestOf) },
    history: archives.map(() => ({ created, created_by: 'npm run image' })),
  }
}

function digestOf(content: Buffer): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`
}
