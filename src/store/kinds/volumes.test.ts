/** VolumeManagers with content of any shape, which the CRD of VCK allows: one of them must not hide itself or stop the others. */
import { expect, test } from 'vitest'
import { makeVolume, makeVolumeManager, NOW } from '../../../test/builders.ts'
import { makeEvictionInput } from '../../../test/volume-builders.ts'
import { VOLUME_SETTINGS } from '../../../test/volume-world.ts'
import type { VolumeManager } from '../../api/volume-manager.ts'
import { isObject } from '../../base/json.ts'
import { listNodeData } from '../../core/uninstall/volumes.ts'
import { expectedMovers } from '../../core/volume-manager/mover/task.ts'
import { planEviction } from '../../core/volume-manager/plan-eviction.ts'
import { queueEntries } from '../../core/volume-manager/schedule/queue.ts'
import { grantSlots } from '../../core/volume-manager/schedule/shares.ts'
import { countTotals } from '../../core/volume-manager/status/totals.ts'
import { mountableVolumes } from '../../core/workload/injection/mountable-volumes.ts'
import type { CachedKind } from '../store.ts'
import { injectionKinds } from './volumes.ts'

const kind = injectionKinds.find(({ type }) => type.kind === 'VolumeManager') as unknown as CachedKind<VolumeManager>

/** Reads a VolumeManager as the cache and the readers of all VolumeManagers do. */
function read(raw: VolumeManager) {
  const manager = kind.keep(raw)
  const keys = Object.entries(kind.indexes ?? {}).map(([name, index]) => [name, index(manager)])
  return {
    manager,
    keys: Object.fromEntries(keys),
    queue: queueEntries(manager).length,
    movers: expectedMovers(manager).length,
    totals: countTotals(manager).replicas,
    mountable: mountableVolumes(manager).volumes.map(({ id }) => id),
    onNodes: listNodeData(raw),
  }
}

const replica = { index: 0, revision: 'r', attempt: 1, state: 'Failed', node: 'n1', path: '/data/x' }
const NONE = { waiting: [], failed: [], node: [] }
const FAILED = { waiting: [], failed: ['all'], node: ['n1'] }

test.each<{ name: string; status: unknown; keys: object }>([
  { name: 'null', status: null, keys: NONE },
  { name: 'a text', status: 'x', keys: NONE },
  { name: 'a text as its volumes', status: { volumes: 'x' }, keys: NONE },
  { name: 'null as its volumes', status: { volumes: null }, keys: NONE },
  { name: 'null as a volume', status: { volumes: [null, { id: 'vol1', replicas: [replica] }] }, keys: FAILED },
  { name: 'null as replicas', status: { volumes: [{ id: 'vol1', replicas: null, deletions: null }] }, keys: NONE },
  { name: 'a text as replicas', status: { volumes: [{ id: 'vol1', replicas: 'xx', shards: 'x' }] }, keys: NONE },
  { name: 'null as a replica', status: { volumes: [{ id: 'vol1', replicas: [null, replica] }] }, keys: FAILED },
  { name: 'null as a deletion', status: { volumes: [{ id: 'vol1', deletions: [null, replica] }] }, keys: FAILED },
  {
    name: 'null as an upload and a check',
    status: { volumes: [{ id: 'vol1', shards: [null], replicas: [{ ...replica, upload: null, maintenance: null }] }] },
    keys: FAILED,
  },
  {
    name: 'numbers as texts',
    status: { state: 1, volumes: [{ id: 'vol1', message: 7, replicas: [{ ...replica, node: 7, message: null }] }] },
    keys: { ...FAILED, node: [] },
  },
  { name: 'null as a condition', status: { state: 'Failed', conditions: [null] }, keys: NONE },
])('a status with $name is cached with its readable part', ({ status, keys }) => {
  const raw = { ...makeVolumeManager([makeVolume()]), status } as VolumeManager
  expect(read(raw)).toMatchObject({ keys, mountable: ['vol1'] })
})

test('a readable status is cached as it is', () => {
  const status = { state: 'Running', volumes: [{ id: 'vol1', nodeAffinity: {}, replicas: [replica] }], conditions: [] }
  const raw = { ...makeVolumeManager([makeVolume()]), status } as unknown as VolumeManager
  expect(kind.keep(raw).status).toEqual(status)
})

const TIME = new Date(NOW).toISOString()
const mover = { state: 'Queued', attempt: 1, failures: 1, lastFailure: 'a', since: TIME, retryTime: TIME }
const of = { revision: 'r', node: 'n1', path: '/data/x', attempt: 1, failures: 1, since: TIME, retryTime: TIME }
const HOSTILE = {
  state: 'Running',
  conditions: [{ type: 'Ready', status: 'True', reason: 'a', message: 'b', lastTransitionTime: TIME }],
  volumes: [
    {
      id: 'vol1',
      message: 'success',
      volumeSource: { hostPath: { path: '/data/x' } },
      nextIndex: 4,
      shards: [{ name: 's', readyReplicas: 1 }],
      replicas: [
        {
          ...of,
          index: 0,
          state: 'Ready',
          shard: 's',
          bytes: 1,
          totalBytes: 1,
          lastUsedTime: TIME,
          lastEndTime: TIME,
          uploadedTime: TIME,
          progressTime: TIME,
          checkedTime: TIME,
          upload: mover,
          maintenance: { ...mover, kind: 'Check' },
        },
        {
          ...of,
          index: 1,
          state: 'Queued',
          nodeFailures: [{ node: 'n1', reason: 'NoSpace', failures: 1, bytes: 1, retryTime: TIME }],
        },
      ],
      deletions: [{ ...of, index: 2, state: 'Queued', cause: 'NoSpace', nodeLabels: ['a'] }],
    },
  ],
}

/** Copies of a value, each with one of its values replaced by one of another type. */
function withWrongTypes(value: unknown): { path: string; copy: unknown }[] {
  const own = [null, 5, 'text', [], [null], {}, { toString: 1 }].map((copy) => ({ path: '', copy }))
  const members = Array.isArray(value) || isObject(value) ? Object.entries(value) : []
  const below = members.flatMap(([name, member]) =>
    withWrongTypes(member).map(({ path, copy }) => ({
      path: `.${name}${path}`,
      copy: Array.isArray(value) ? value.with(Number(name), copy) : { ...(value as object), [name]: copy },
    })),
  )
  return [...own, ...below]
}

test('a value of a wrong type in a status stops no reader of all VolumeManagers', () => {
  const all = withWrongTypes(HOSTILE)
  expect(all.length).toBeGreaterThan(400)
  const settings = { ...VOLUME_SETTINGS.movers, maxInAll: 9, maxPerNode: 9 }
  for (const { path, copy } of all) {
    const raw = { ...makeVolumeManager([makeVolume({ evictionPolicy: 'LeastRecentlyUsed' })]), status: copy }
    const readers = () => {
      const { manager } = read(raw as VolumeManager)
      grantSlots({ waiting: [manager], active: [], served: new Map(), settings, now: NOW }, () => true)
      planEviction(makeEvictionInput([manager]))
    }
    expect(readers, `${path}: ${JSON.stringify(copy)}`).not.toThrow()
  }
})

test('the affinity of a status stays as it is, so that no part of it is lost', () => {
  const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ a: 1 }, 5] } }
  const raw = { ...makeVolumeManager([makeVolume()]), status: { volumes: [{ id: 'vol1', nodeAffinity, bytes: 'x' }] } }
  expect(kind.keep(raw as unknown as VolumeManager).status).toEqual({ volumes: [{ id: 'vol1', nodeAffinity }] })
})

const QUEUED = { volumes: [{ id: 'vol1', replicas: [{ ...replica, state: 'Queued' }] }] }

test.each<{ name: string; spec: unknown; mountable: string[] }>([
  { name: 'null', spec: null, mountable: [] },
  { name: 'a text', spec: 'x', mountable: [] },
  { name: 'null as its volumes', spec: { volumeConfigs: null }, mountable: [] },
  { name: 'a text as its volumes', spec: { volumeConfigs: 'x' }, mountable: [] },
  {
    name: 'a number as a path',
    spec: { volumeConfigs: [{ ...makeVolume(), options: { ...makeVolume().options, dataPath: 5 } }] },
    mountable: ['vol1'],
  },
  { name: 'null as a volume', spec: { volumeConfigs: [null, makeVolume()] }, mountable: ['vol1'] },
])('a spec with $name is cached, and does not stop the queue', ({ spec, mountable }) => {
  const raw = { ...makeVolumeManager(), spec, status: QUEUED } as VolumeManager
  expect(read(raw)).toMatchObject({ keys: { waiting: ['all'], everyNode: [] }, queue: 1, mountable })
})

test('a field that is null counts as absent, as for an API server', () => {
  const { labels: _, ...volume } = makeVolume()
  const raw = { ...makeVolumeManager(), spec: { volumeConfigs: [{ ...volume, labels: null, tolerations: null }] } }
  expect(kind.keep(raw as unknown as VolumeManager).spec).toEqual({ volumeConfigs: [volume] })
})
