// Nodes that are short of disk, on a real API server with the real scheduler and controllers: which copies go, and how they come back.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { VolumeConfig } from '../../src/api/volume-manager.ts'
import { main } from './command.ts'
import { podOf } from './consumers.ts'
import { filesIn, firstVolume, type Member, onNodes, s3Volume, startMember, volumeManagerOf } from './member.ts'
import { diskPressure } from './nodes.ts'

const FILES = { 'a.txt': 'first', 'b.txt': 'second' }
const SMALL_DISK = 'example.org/movers/small-disk:1'

let cluster: Member

beforeAll(async () => {
  cluster = await startMember({
    volumes: { allowedMoverImages: [SMALL_DISK], eviction: { pauseSeconds: 1 } },
  })
  await cluster.putBucket('lake', FILES, 'train/')
})
afterAll(() => cluster?.plane.stopAll())

test('a node under disk pressure loses unused copies, and gets one back for a pod', async () => {
  const { plane, lodestone } = cluster
  const before = await lodestone.metric('lodestone_volume_evictions_total')
  await cluster.create(volumeManagerOf('unused', copyOn('node-5')))
  await cluster.create(volumeManagerOf('used', copyOn('node-5')))
  await cluster.create(volumeManagerOf('kept', copyOn('node-5', { evictionPolicy: 'Never' })))
  const unused = firstVolume(await cluster.reached('unused', 'Running'))
  const used = firstVolume(await cluster.reached('used', 'Running'))
  const kept = firstVolume(await cluster.reached('kept', 'Running'))
  await cluster.create(podOf('user', 'used'))
  expect(await cluster.nodeOf('user')).toBe('node-5')

  await diskPressure(plane, 'node-5', 'True')

  await plane.eventually('the unused copy is gone', async () => cluster.nodesWith(unused).length === 0, 30_000)
  const { status } = await cluster.reached('unused', 'Pending')
  expect(status?.volumes?.[0]?.replicas).toMatchObject([{ state: 'Evicted', reason: 'DiskPressure' }])
  await plane.eventually('a metric and the log tell of it', async () => {
    expect(await lodestone.metric('lodestone_volume_evictions_total')).toBe(before + 1)
    expect(await lodestone.readLog()).toMatch(
      /"msg":"replica evicted".*"node":"node-5"|"node":"node-5".*"replica evicted"/,
    )
    return true
  })
  await plane.eventually('an Event tells of it', async () => {
    const { stdout } = await plane.kubectl(['describe', 'vmgr', 'unused'])
    return /Warning\s+ReplicaEvicted.*node-5/.test(stdout)
  })
  expect([cluster.nodesWith(used), cluster.nodesWith(kept)]).toEqual([['node-5'], ['node-5']])
  expect((await cluster.reached('used', 'Running')).status?.ready).toBe('1/1')

  await cluster.create(podOf('waiting', 'unused'))
  await plane.eventually('it waits at the gate', async () => {
    const [pod] = await cluster.podsOf('waiting')
    return pod?.spec?.schedulingGates?.length
  })
  await diskPressure(plane, 'node-5', 'False')
  expect(await cluster.nodeOf('waiting')).toBe('node-5')
  expect(await filesIn(cluster.dataOn('node-5', unused))).toEqual(FILES)
  expect(await lodestone.metric('lodestone_volume_evictions_total')).toBe(before + 1)
})

test('a download without room evicts the copy that was used longest ago, and continues', async () => {
  const { plane, kubelet, lodestone } = cluster
  // A disk on which there is room for two datasets. It belongs to the mover, since a folder of this machine has no size of its own.
  const script = join(plane.dir, 'small-disk.sh')
  await writeFile(script, smallDisk(process.execPath, main), { mode: 0o755 })
  kubelet.addImage(SMALL_DISK, [script])
  const small = (evictionPolicy: 'Never' | 'LeastRecentlyUsed') =>
    copyOn('node-1', { evictionPolicy, mover: { image: SMALL_DISK } })
  const before = await lodestone.metric('lodestone_volume_evictions_total')
  await cluster.create(volumeManagerOf('older', small('LeastRecentlyUsed')))
  const older = firstVolume(await cluster.reached('older', 'Running'))
  await cluster.create(volumeManagerOf('newer', small('LeastRecentlyUsed')))
  const newer = firstVolume(await cluster.reached('newer', 'Running'))
  // Used since, though not now.
  await cluster.create(podOf('passing', 'older'))
  await cluster.nodeOf('passing')
  await plane.kubectl(['delete', 'pod', 'passing'])
  await plane.eventually('its use is recorded', async () => {
    const { replicas } = firstVolume(await cluster.reached('older', 'Running'))
    return replicas[0]?.lastUsedTime !== undefined && !replicas[0].inUse
  })

  await cluster.create(volumeManagerOf('third', small('Never')))

  await plane.eventually('there is no room', async () => {
    const found = await cluster.volumeManager('third')
    return JSON.stringify(found?.status).includes('NoSpace')
  })
  const third = firstVolume(await cluster.reached('third', 'Running', 120_000))
  expect(await filesIn(cluster.dataOn('node-1', third))).toEqual(FILES)
  expect([cluster.nodesWith(older), cluster.nodesWith(newer)]).toEqual([['node-1'], []])
  expect(await lodestone.metric('lodestone_volume_evictions_total')).toBe(before + 1)
})

function copyOn(node: string, over: Partial<VolumeConfig> = {}): VolumeConfig {
  const nodeAffinity = onNodes(node)
  return s3Volume(cluster.proxy, 's3://lake/train/', { evictionPolicy: 'LeastRecentlyUsed', nodeAffinity, ...over })
}

// Lodestone's mover, which is to keep more free than there is once two other datasets are on its disk.
function smallDisk(node: string, main: string): string {
  return `#!/bin/sh
for word do [ "\${last:-}" = --root ] && root=$word; last=$word; done
others=$(ls -d "$(dirname "$root")"/*/data 2>/dev/null | wc -l)
if [ "$1" = download ] && [ "$others" -ge 2 ]; then set -- "$@" --keep-free 1000Ti; fi
exec ${node} ${main} mover "$@"
`
}
