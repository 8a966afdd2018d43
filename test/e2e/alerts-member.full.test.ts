// Faults of volumes on a member, with a real Prometheus: the section of each alert finds the fault while the alert fires.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CAUSED_IN } from '../alerts/caused.ts'
import { type Fault, type Installation, runSectionsOf } from './alert-sections.ts'
import { podOf } from './consumers.ts'
import { firstVolume, type Member, onNodes, s3Volume, startMember, volumeManagerOf } from './member.ts'
import { diskPressure } from './nodes.ts'
import { startPrometheus } from './prometheus-server.ts'

let cluster: Member
let installation: Installation

beforeAll(async () => {
  cluster = await startMember()
  const { plane, lodestone } = cluster
  const { healthUrl } = lodestone
  const prometheus = await startPrometheus(plane.dir, [{ healthUrl, namespace: 'lodestone-system' }])
  plane.onStop(() => prometheus.stop())
  installation = { plane, prometheus, lodestones: [lodestone] }
  await cluster.putBucket('lake', { 'a.txt': 'first' }, 'train/')
})

afterAll(() => cluster?.plane.stopAll())

const faults: Fault[] = [
  {
    name: 'data does not exist',
    plant: async () => {
      const names = Array.from({ length: 10 }, (_, i) => `missing-${i}`)
      for (const name of names) await cluster.create(volumeManagerOf(name, s3Volume(cluster.proxy, 's3://lake/none/')))
      return () => cluster.plane.kubectl(['delete', 'vmgr', '--wait=false', ...names])
    },
    fires: ['LodestoneMoversFail'],
  },
  {
    name: 'a node is short of disk',
    plant: async () => {
      const over = { evictionPolicy: 'LeastRecentlyUsed' as const, nodeAffinity: onNodes('node-5') }
      await cluster.create(volumeManagerOf('unused', s3Volume(cluster.proxy, 's3://lake/train/', over)))
      await cluster.reached('unused', 'Running')
      await diskPressure(cluster.plane, 'node-5', 'True')
      return () => diskPressure(cluster.plane, 'node-5', 'False')
    },
    fires: ['LodestoneDiskPressure'],
  },
  {
    name: 'a pod and another client change the same object',
    plant: async () => {
      await cluster.putBucket('shared', { a: 'downloaded' }, 'run/')
      const config = s3Volume(cluster.proxy, 's3://shared/run/', { options: { resync: 'true' } })
      await cluster.create(volumeManagerOf('shared', config))
      const volume = firstVolume(await cluster.reached('shared', 'Running'))
      await cluster.create(podOf('writer', 'shared'))
      await writeFile(join(cluster.dataOn(await cluster.nodeOf('writer'), volume), 'a'), 'of the pod')
      await cluster.s3.putObject('shared', 'run/a', 'of another client')
      await cluster.plane.kubectl(['delete', 'pod', 'writer'])
      return () => cluster.plane.kubectl(['delete', 'vmgr', '--wait=false', 'shared'])
    },
    fires: ['LodestoneWriteBackConflict'],
  },
]

test.each(faults)('the section finds the fault: $name', { timeout: 900_000 }, async (fault) => {
  expect(await runSectionsOf(fault, installation)).toEqual([])
})

test('the faults are those of the alerts of this file', () => {
  expect(faults.flatMap(({ fires }) => fires).sort()).toEqual(CAUSED_IN['alerts-member.full'])
})
