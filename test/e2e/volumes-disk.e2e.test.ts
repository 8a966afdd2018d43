// Disks of nodes that movers report: where data is placed, and which copies are deleted, on a real API server with the real scheduler.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { VolumeConfig } from '../../src/api/volume-manager.ts'
import { main } from './command.ts'
import { firstVolume, type Member, onNodes, s3Volume, startMember, volumeManagerOf } from './member.ts'

const IMAGE = 'example.org/movers/measured-disk:1'

let cluster: Member

beforeAll(async () => {
  cluster = await startMember({
    volumes: {
      allowedMoverImages: [IMAGE],
      eviction: { highWatermarkPercent: 85, lowWatermarkPercent: 65, minUnusedSeconds: 1 },
    },
  })
  const script = join(cluster.plane.dir, 'measured-disk.sh')
  await writeFile(script, measuredDisk(process.execPath, main), { mode: 0o755 })
  cluster.kubelet.addImage(IMAGE, [script])
  await cluster.putBucket('lake', { 'a.txt': 'first', 'b.txt': 'second' }, 'train/')
})
afterAll(() => cluster?.plane.stopAll())

test('a volume goes to the node with enough free disk for its capacity, as reported', async () => {
  const { plane } = cluster
  await cluster.create(volumeManagerOf('report', copyOn(['node-1', 'node-2'], { replicas: 2, capacity: '1Mi' })))
  await cluster.reached('report', 'Running')
  await plane.eventually('both nodes have a report', async () => {
    const nodes = JSON.stringify(await plane.listJson('nodes'))
    return nodes.split('disk.lodestone.dev/').length > 2
  })

  const names = ['large-1', 'large-2', 'large-3', 'large-4']
  for (const name of names) {
    await cluster.create(volumeManagerOf(name, copyOn(['node-1', 'node-2'], { capacity: '5Gi' })))
  }

  for (const name of names) {
    expect(cluster.nodesWith(firstVolume(await cluster.reached(name, 'Running')))).toEqual(['node-2'])
  }
})

test('beyond the high watermark, the oldest copy is deleted, but none that says Never', async () => {
  const { plane } = cluster
  const volumeOf = async (name: string, over: Partial<VolumeConfig> = {}) => {
    await cluster.create(volumeManagerOf(name, copyOn(['node-4'], over)))
    return firstVolume(await cluster.reached(name, 'Running'))
  }
  const retained = await volumeOf('retained', { evictionPolicy: 'Never' })
  // Times in a status are whole seconds: of copies of the same second, the first one by name is deleted.
  const older = await volumeOf('copy-1')
  const newer = await volumeOf('copy-2')

  await plane.eventually('the older copy is deleted', async () => cluster.nodesWith(older).length === 0)
  const { status } = await cluster.reached('copy-1', 'Pending')
  expect(status?.volumes?.[0]?.replicas).toMatchObject([{ state: 'Evicted', reason: 'HighWatermark' }])
  await plane.eventually('an Event tells of it', async () => {
    const { stdout } = await plane.kubectl(['describe', 'vmgr', 'copy-1'])
    return /Warning\s+ReplicaEvicted.*node-4.*high watermark/.test(stdout)
  })
  expect([cluster.nodesWith(retained), cluster.nodesWith(newer)]).toEqual([['node-4'], ['node-4']])
})

function copyOn(names: string[], over: Partial<VolumeConfig> = {}): VolumeConfig {
  const nodeAffinity = onNodes(...names)
  return s3Volume(cluster.proxy, 's3://lake/train/', {
    nodeAffinity,
    mover: { image: IMAGE },
    capacity: '1Mi',
    ...over,
  })
}

// Lodestone's mover, which reports a disk on which each dataset takes 300 MiB: of 10 GiB on node-2, and of 1000 MiB on other nodes. A folder
// of this machine has no size of its own.
function measuredDisk(node: string, main: string): string {
  return `#!/bin/sh
for word do [ "\${last:-}" = --root ] && root=$word; last=$word; done
${node} ${main} mover "$@"
code=$?
count=$(ls -d "$(dirname "$root")"/*/data 2>/dev/null | wc -l)
${node} -e '
const fs = require("node:fs")
const [file, count, name] = process.argv.slice(1)
const Mi = 2 ** 20
const totalBytes = (name === "node-2" ? 10240 : 1000) * Mi
const result = JSON.parse(fs.readFileSync(file, "utf8"))
fs.writeFileSync(file, JSON.stringify({ ...result, disk: { freeBytes: totalBytes - count * 300 * Mi, totalBytes } }))
' "$MOVER_TERMINATION_LOG" "$count" "$NODE_NAME"
exit $code
`
}
