import { describe, expect, test } from 'vitest'
import { makeVolume, makeVolumeManager, NOW } from '../../../test/builders.ts'
import { at, makeAllowance, makeDeletion, makeReplica, makeVolumeInput } from '../../../test/volume-builders.ts'
import { VOLUME_SETTINGS } from '../../../test/volume-world.ts'
import type { VolumeStatus } from '../../api/volume-status.ts'
import { isObject } from '../../base/json.ts'
import { mayDelete, withKnownStatus } from './known-status.ts'
import { planVolumeManager } from './plan.ts'
import { directoryOf, ownerKey } from './rules/names.ts'
import { revisionOf } from './rules/source-types.ts'

const config = makeVolume({ options: { ...makeVolume().options, resync: 'true' } })
const manager = makeVolumeManager([config], { uid: 'ab-cd', finalizers: ['lodestone.dev/volumes'] })
const path = directoryOf(manager, config)
const revision = revisionOf(config)

/** An emptyDir of a pod, in which the pod can make a link to any directory of the node. */
const IN_A_POD = '/var/lib/kubelet/pods/4b1d/volumes/kubernetes.io~empty-dir/scratch'

describe('a directory', () => {
  test.each([
    ['of the VolumeManager', '/data/vck-resource-ab-cd-0123456789abc', true],
    ['of an earlier one', '/data/vck-resource-gone-0123456789abc', true],
    ['of one that exists', '/data/vck-resource-other-0123456789abc', false],
    ['in one of another', '/data/vck-resource-other-0123456789abc/vck-resource-ab-cd-0123456789abc', false],
    ['in one of the VolumeManager', '/data/vck-resource-ab-cd-0123456789abc/data', false],
    ['with dots', '/data/../vck-resource-ab-cd-0123456789abc', false],
    ['that is relative', 'vck-resource-ab-cd-0123456789abc', false],
    ['without an owner', '/data', false],
    ['outside of the allowed roots', `${IN_A_POD}/vck-resource-ab-cd-0123456789abc`, false],
    ['of an earlier one outside of the allowed roots', `${IN_A_POD}/vck-resource-gone-0123456789abc`, false],
  ])('%s', (_, directory, want) => {
    const settings = { ...VOLUME_SETTINGS, allowedRoots: ['/data'] }
    expect(mayDelete(directory, { manager, isManaged: (owner) => owner === 'other', settings })).toBe(want)
  })
})

const knownOf = (volume: Partial<VolumeStatus>, volumes = [config]) =>
  withKnownStatus({
    manager: {
      ...manager,
      spec: { volumeConfigs: volumes },
      status: { volumes: [{ id: 'vol1', nodeAffinity: {}, ...volume }] },
    },
    isManaged: () => true,
    settings: VOLUME_SETTINGS,
    now: NOW,
  }).status?.volumes?.[0]

const own = makeReplica({ path, revision })
const LOCAL = makeVolume({ sourceType: 'Local', options: { path: '/mnt/local/new' } })
const NFS = makeVolume({ sourceType: 'NFS', options: { server: 'nfs', path: '/x' } })

test.each([
  { name: 'its own data', replica: own, want: true },
  { name: 'its own data of another source', replica: makeReplica({ path, revision: 'old' }), want: true },
  {
    name: 'the data of another source in the place of its own',
    replica: makeReplica({ path: path.replace(/.{13}$/, '0123456789abc'), revision }),
    want: false,
  },
  { name: 'the data of another VolumeManager', replica: makeReplica({ revision }), want: false },
  {
    name: 'a directory of its name outside of the allowed roots',
    replica: makeReplica({ path: `${IN_A_POD}/vck-resource-ab-cd-0123456789abc`, revision: 'old' }),
    want: false,
  },
  {
    name: 'a directory of its name below a root of Local volumes',
    volumes: [],
    replica: makeReplica({ path: '/mnt/local/vck-resource-ab-cd-0123456789abc', revision: 'old' }),
    want: false,
  },
  { name: 'any directory of the node', replica: makeReplica({ path: '/mnt', revision: 'old' }), want: false },
  { name: 'no directory, although it is downloaded', replica: { ...own, path: undefined as never }, want: false },
  {
    name: 'another path',
    volumes: [LOCAL],
    replica: makeReplica({ path: '/mnt/local/old', revision: 'old' }),
    want: true,
  },
  {
    name: 'another path, which a mover would mount, outside of the roots of Local volumes',
    volumes: [LOCAL],
    replica: makeReplica({ path: '/etc/kubernetes', revision: 'old' }),
    want: false,
  },
  {
    name: 'a directory of another VolumeManager',
    volumes: [LOCAL],
    replica: makeReplica({ revision: 'old' }),
    want: false,
  },
  {
    name: 'its path',
    volumes: [LOCAL],
    replica: makeReplica({ path: '/mnt/local/new', revision: revisionOf(LOCAL) }),
    want: true,
  },
  {
    name: 'another path under the name of its own',
    volumes: [LOCAL],
    replica: makeReplica({ path: '/mnt/local/old', revision: revisionOf(LOCAL) }),
    want: false,
  },
  {
    name: 'no directory',
    volumes: [NFS],
    replica: { ...makeReplica({ revision: revisionOf(NFS) }), path: undefined as never },
    want: true,
  },
  { name: 'a directory', volumes: [NFS], replica: makeReplica({ path, revision: revisionOf(NFS) }), want: false },
  { name: 'the path of a removed volume', volumes: [], replica: makeReplica({ path: '/mnt/local/a' }), want: true },
])('a replica with $name is known: $want', ({ replica, volumes, want }) => {
  expect(knownOf({ replicas: [replica] }, volumes)?.replicas?.length ?? 0).toBe(Number(want))
})

test('of two replicas with one number, the first is known', () => {
  const replicas = [own, { ...own, node: 'n2' }, { ...own, index: 3, node: 'n3' }]
  expect(knownOf({ replicas, nextIndex: 2 })).toMatchObject({
    replicas: [{ node: 'n1' }, { node: 'n3' }],
    nextIndex: 4,
  })
})

test('data is known although the path in the spec is now a number', () => {
  const options = { ...config.options, dataPath: 5 as never }
  expect(knownOf({ replicas: [own] }, [{ ...config, options }])?.replicas).toEqual([own])
})

test.each([undefined, -1, 1.5])('an upload and a check with the number %s are decided again', (attempt) => {
  const work = { attempt: attempt as number, state: 'Queued' } as const
  const [replica] =
    knownOf({ replicas: [{ ...own, upload: work, maintenance: { ...work, kind: 'Check' } }] })?.replicas ?? []
  expect(replica).toEqual(own)
})

const FULL: VolumeStatus = {
  id: 'vol1',
  message: 'success',
  volumeSource: { hostPath: { path: `${path}/data` } },
  nodeAffinity: {},
  revision,
  readyReplicas: 1,
  bytes: 1,
  nextIndex: 3,
  replicas: [
    {
      ...own,
      nodeUID: 'uid-n1',
      failures: 1,
      preemptions: 1,
      isPermanent: true,
      isDamaged: true,
      bytes: 1,
      totalBytes: 2,
      nodeFailures: [{ node: 'n2', reason: 'Stalled', failures: 1, bytes: 1, retryTime: at(0) }],
      reason: 'NodeTaken',
      message: 'a',
      progressTime: at(0),
      retryTime: at(0),
      claimName: 'a',
      inUse: true,
      lastUsedTime: at(0),
      lastEndTime: at(0),
      uploadedTime: at(0),
      uploads: 1,
      maintenances: 1,
      oldTrees: 1,
      checkedTime: at(0),
      refreshedTime: at(0),
      handledCheck: 'a',
      requestedCheckTime: at(0),
      replacedTime: at(0),
      upload: { state: 'Failed', attempt: 1, failures: 3, reason: 'WriteConflict', message: 'a', retryTime: at(0) },
      maintenance: { kind: 'Check', state: 'Failed', attempt: 1, failures: 3, reason: 'Stalled', retryTime: at(0) },
    },
  ],
  deletions: [makeDeletion({ path, node: 'n2', state: 'Failed', failures: 1, reason: 'Stalled', retryTime: at(0) })],
}

/** Values that the schema of the CRD allows for a field of each type; undefined removes the field. */
const VALUES: Readonly<Record<string, readonly unknown[]>> = {
  string: ['', 'toString', 'Queued', 'Ready', 'Failed', 'Running', '/', '9999-12-31T23:59:59Z', undefined],
  number: [0, 7, Number.MAX_SAFE_INTEGER, undefined],
  boolean: [false, undefined],
  object: [undefined],
}

function variants(value: unknown, put: (other: unknown) => unknown): unknown[] {
  const own = (VALUES[typeof value] ?? []).map(put)
  if (Array.isArray(value)) {
    const items = value.flatMap((item, i) => variants(item, (other) => put(value.with(i, other))))
    return [...own, put([]), put([...value, ...value]), ...items]
  }
  if (!isObject(value)) return own
  const members = Object.entries(value).flatMap(([name, member]) =>
    variants(member, (other) => put({ ...value, [name]: other })),
  )
  return [...own, ...members]
}

test.each([
  ['that stays', {}],
  ['that is being deleted', { deletionTimestamp: at(0) }],
])('any value of any field of the status gives a plan for a VolumeManager %s', (_, metadata) => {
  const all = variants(FULL, (volume) => volume)
  expect(all.length).toBeGreaterThan(300)
  for (const volume of all) {
    const status = { volumes: [volume as VolumeStatus] }
    const stored = { ...manager, metadata: { ...manager.metadata, ...metadata }, status }
    const plan = () => planVolumeManager(makeVolumeInput({ manager: stored, allowance: makeAllowance(5) }))
    expect(plan, JSON.stringify(volume)).not.toThrow()
  }
  expect(ownerKey(manager)).toBe('abcd')
})

test('a plan reads the source of a volume as often for 300 replicas as for 3', () => {
  const readsFor = (count: number) => {
    let reads = 0
    const options = { ...config.options }
    Object.defineProperty(options, 'sourceURL', {
      enumerable: true,
      get: () => {
        reads++
        return 's3://lake/sales/'
      },
    })
    const volume = { ...config, replicas: count, options }
    const replicas = Array.from({ length: count }, (_, index) => makeReplica({ index, path, revision: 'old' }))
    planVolumeManager(
      makeVolumeInput({
        manager: {
          ...manager,
          spec: { volumeConfigs: [volume] },
          status: { volumes: [{ id: 'vol1', nodeAffinity: {}, nextIndex: count, replicas }] },
        },
      }),
    )
    return reads
  }
  expect(readsFor(300)).toBe(readsFor(3))
})

describe('a stored volume with a field of a wrong type, which the CRD of VCK allows', () => {
  const term = (key: unknown) => ({ matchExpressions: [{ key, operator: 'In', values: ['a'] }] })
  const wrong: Record<string, unknown[]> = {
    options: [1, 'x', [], { ...config.options, dataPath: 5 }],
    labels: [1, ['a']],
    replicas: ['x', {}],
    capacity: [5, {}],
    readOnly: ['x'],
    tolerations: [1, {}, [null], [{ key: 1 }]],
    mover: [1, { resources: { requests: 1 } }],
    sourceType: [1, {}, { toString: 1 }],
    nodeAffinity: [
      'x',
      ...[1, null, {}].map((key) => ({
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term(key)] },
      })),
    ],
  }
  const cases = Object.entries(wrong).flatMap(([field, values]) => values.map((value) => ({ field, value })))
  const plan = ({ field, value }: (typeof cases)[number], metadata: object) => {
    const volume = { ...config, [field]: value } as typeof config
    const stored = { ...manager, metadata: { ...manager.metadata, ...metadata }, spec: { volumeConfigs: [volume] } }
    return planVolumeManager(makeVolumeInput({ manager: stored }))
  }

  test.each(cases)('$field: $value is in its status', (one) => {
    const [first] = plan(one, {}).actions
    const message = expect.stringMatching(`^${one.field}.*: must be`)
    expect(first).toMatchObject({ patch: { status: { state: 'Failed', volumes: [{ message }] } } })
  })

  test.each(cases)('$field: $value does not stop its deletion', (one) => {
    const { actions } = plan(one, { deletionTimestamp: new Date(NOW).toISOString() })
    expect(actions).toMatchObject([{ kind: 'patch', patch: { metadata: { finalizers: [] } } }])
  })
})
