// Data that is lost on a node, and data that changes at its source: both are found by movers that really run. The API server, the scheduler,
// the controllers and the S3 server are real.
import { open, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { VolumeConfig } from '../../src/api/volume-manager.ts'
import type { VolumeStatus } from '../../src/api/volume-status.ts'
import { podOf } from './consumers.ts'
import { filesIn, firstVolume, type Member, s3Volume, startMember, volumeManagerOf } from './member.ts'

const FILES = { 'a.txt': 'first', 'deep/b.bin': 'x'.repeat(200_000) }
const READ_ONLY = { readOnly: true }

let cluster: Member

beforeAll(async () => {
  cluster = await startMember({ volumes: { checks: { intervalSeconds: 10, timeoutSeconds: 60 } } })
})
afterAll(() => cluster?.plane.stopAll())

// All tests mostly wait for intervals, so they run at the same time. The longest one is the first.
test.concurrent('a changed source is refreshed after `refreshIntervalSeconds`, without a request', {
  timeout: 240_000,
}, async () => {
  const { node, volume } = await ready('scheduled', { ...READ_ONLY, refreshIntervalSeconds: 60 })
  const data = cluster.dataOn(node, volume)
  await cluster.s3.putObject('scheduled', 'train/a.txt', 'second')

  const refreshed = await cluster.replicaThat('scheduled', ({ refreshedTime }) => refreshedTime !== undefined)

  const { since = '', refreshedTime = '' } = refreshed
  expect(Date.parse(refreshedTime) - Date.parse(since)).toBeGreaterThanOrEqual(60_000)
  expect(await filesIn(data)).toEqual({ ...FILES, 'a.txt': 'second' })
  expect(cluster.proxy.bytesOf('scheduled/train/deep/b.bin')).toBe(200_000)
})

describe.concurrent('data that is lost on a node is downloaded again, with an Event that names it', () => {
  test.each<{ name: string; more?: Partial<VolumeConfig>; harm: (data: string) => Promise<unknown>; says: RegExp }>([
    {
      name: 'wiped',
      harm: (data) => rm(data, { recursive: true }),
      says: /DataMissing: .*was deleted, although the record/,
    },
    {
      name: 'partly-wiped',
      more: READ_ONLY,
      harm: (data) => rm(join(data, 'a.txt')),
      says: /DataDamaged: 1 of 2 files are missing or have another size: a\.txt/,
    },
    {
      name: 'on-a-replaced-disk',
      harm: (data) => rm(dirname(data), { recursive: true }),
      says: /DataMissing: .*the disk was replaced/,
    },
  ])('$name', { timeout: 180_000 }, async ({ name, more = {}, harm, says }) => {
    const { node, volume } = await ready(name, more)

    await harm(cluster.dataOn(node, volume))

    await told(name, /ReplicaLost/, says)
    await isWhole(name)
  })

  test('with other content of the same size, which a check with checksums finds', { timeout: 180_000 }, async () => {
    const { node, volume } = await ready('bit-rot', READ_ONLY)
    await writeFile(join(cluster.dataOn(node, volume), 'a.txt'), 'FIRST')

    await annotate('bit-rot', 'lodestone.dev/check', '1')

    await told('bit-rot', /ReplicaLost/, /DataDamaged: 1 files do not match their checksums: a\.txt/)
    await isWhole('bit-rot')
  })
})

test.concurrent('files that a pod writes and deletes are not lost data', { timeout: 180_000 }, async () => {
  const { node, volume } = await ready('written')
  await cluster.create(podOf('writer', 'written'))
  expect(await cluster.nodeOf('writer')).toBe(node)
  await cluster.replicaThat('written', ({ inUse }) => inUse === true)
  const data = cluster.dataOn(node, volume)
  await rm(join(data, 'a.txt'))
  await writeFile(join(data, 'model.bin'), 'weights')
  const changedAt = new Date().toISOString()

  await cluster.replicaThat('written', ({ checkedTime = '' }) => checkedTime > changedAt)

  expect(Object.keys(await filesIn(data))).toEqual(['deep/b.bin', 'model.bin'])
  expect((await cluster.volumeManager('written'))?.status?.state).toBe('Running')
  expect(await described('written')).not.toContain('ReplicaLost')
})

test.concurrent('a changed source is refreshed for new pods; running pods keep their files', {
  timeout: 240_000,
}, async () => {
  const { node, volume } = await ready('changing', READ_ONLY)
  await cluster.create(podOf('trainer', 'changing'))
  expect(await cluster.nodeOf('trainer')).toBe(node)
  const data = cluster.dataOn(node, volume)
  // As a bind mount, an open directory stays the same whatever its path becomes.
  const mount = await open(data, 'r')
  const mounted = (name: string) => readFile(`/proc/self/fd/${mount.fd}/${name}`, 'utf8')
  await cluster.s3.putObject('changing', 'train/a.txt', 'second')
  await cluster.s3.putObject('changing', 'train/new.txt', 'new')

  await annotate('changing', 'lodestone.dev/refresh', '1')

  const changed = { ...FILES, 'a.txt': 'second', 'new.txt': 'new' }
  await cluster.plane.eventually('the new data is there', async () => (await textOf(data, 'new.txt')) === 'new', 60_000)
  expect(await filesIn(data)).toEqual(changed)
  expect(await mounted('a.txt')).toBe('first')
  expect(cluster.proxy.bytesOf('changing/train/deep/b.bin')).toBe(200_000)
  await cluster.replicaThat('changing', ({ oldTrees, refreshedTime }) => oldTrees === 1 && refreshedTime !== undefined)
  expect((await cluster.volumeManager('changing'))?.status?.state).toBe('Running')

  await cluster.plane.kubectl(['delete', 'pod', 'trainer'])

  const old = join(dirname(data), '.data.mover', 'old')
  await cluster.plane.eventually('the old data is deleted', async () => (await readdir(old)).length === 0, 90_000)
  expect(await filesIn(data)).toEqual(changed)
  await mount.close()
})

async function ready(name: string, more: Partial<VolumeConfig> = {}): Promise<{ node: string; volume: VolumeStatus }> {
  await cluster.putBucket(name, FILES, 'train/')
  await cluster.create(volumeManagerOf(name, s3Volume(cluster.proxy, `s3://${name}/train/`, more)))
  const volume = firstVolume(await cluster.reached(name, 'Running'))
  const [node = ''] = cluster.nodesWith(volume)
  return { node, volume }
}

async function isWhole(name: string): Promise<void> {
  await cluster.plane.eventually(
    `${name} is whole again`,
    async () => {
      const volume = firstVolume(await cluster.reached(name, 'Running'))
      const [replica] = volume.replicas
      if (replica?.state !== 'Ready' || replica.isDamaged) throw new Error(JSON.stringify(replica))
      const files = await filesIn(cluster.dataOn(replica.node ?? '', volume))
      return JSON.stringify(files) === JSON.stringify(FILES)
    },
    90_000,
  )
}

async function described(name: string): Promise<string> {
  return (await cluster.plane.kubectl(['describe', 'vmgr', name])).stdout
}

async function told(name: string, ...patterns: RegExp[]): Promise<void> {
  await cluster.plane.eventually(
    `an Event of ${name} says ${patterns.join(' and ')}`,
    async () => {
      const text = await described(name)
      return patterns.every((pattern) => pattern.test(text))
    },
    90_000,
    // A look is a process, and several tests look at the same time.
    1_000,
  )
}

function annotate(name: string, annotation: string, value: string) {
  return cluster.plane.kubectl(['annotate', 'vmgr', name, `${annotation}=${value}`])
}

async function textOf(folder: string, name: string): Promise<string> {
  return readFile(join(folder, name), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return ''
  })
}
