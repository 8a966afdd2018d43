import { describe, expect, test } from 'vitest'
import { makeVolume, makeVolumeManager } from '../../../test/builders.ts'
import { makeNode, makeReplica, makeVolumeInput } from '../../../test/volume-builders.ts'
import type { Node } from '../../api/node.ts'
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/persistent-volume.ts'
import type { ReplicaStatus } from '../../api/volume-status.ts'
import { defined } from '../../base/json.ts'
import type { VolumeManagerInput } from './input.ts'
import { planPersistentVolumes } from './persistent-volumes.ts'
import type { VolumePlan } from './replica/volume-plan.ts'
import { claimNameOf, replicaClaimName, volumeKey } from './rules/names.ts'

const manager = makeVolumeManager()
const NFS = makeVolume({
  sourceType: 'NFS',
  accessMode: 'ReadOnlyMany',
  options: { server: 'nfs.example.com', path: '/exports' },
})
const NAME = claimNameOf(manager, NFS)
const labels = { 'lodestone.dev/volume': volumeKey(manager, 'vol1') }
const volume = (phase?: string, metadata: object = {}): PersistentVolume => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name: NAME, labels, ...metadata },
  ...(phase && { status: { phase } }),
})
const claim = (metadata: object = {}): PersistentVolumeClaim => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name: NAME, namespace: 'default', labels, ...metadata },
})
const WANTED = { id: 'vol1', config: NFS, moverConfig: NFS, wanted: {}, problems: [] } as unknown as VolumePlan
const UNWANTED = { ...WANTED, wanted: undefined } as unknown as VolumePlan
const INVALID = { ...UNWANTED, moverConfig: undefined, problems: ['server has to be set'] } as unknown as VolumePlan
const used = { users: () => [{ pod: 'default/reader', node: 'n1' }] }

const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } }

interface Case {
  name: string
  plan: VolumePlan
  input: Partial<Pick<VolumeManagerInput, 'persistentVolumes' | 'persistentVolumeClaims' | 'users' | 'terminating'>>
  writes?: string[]
  waiting?: { reason: string; message: string }[]
}

test.each<Case>([
  { name: 'gets its PersistentVolume first', plan: WANTED, input: {}, writes: ['create PersistentVolume'] },
  { name: 'has no claim while the volume is Pending', plan: WANTED, input: { persistentVolumes: [volume('Pending')] } },
  {
    name: 'has the claim when the volume is available',
    plan: WANTED,
    input: { persistentVolumes: [volume('Available')] },
    writes: ['create PersistentVolumeClaim'],
  },
  {
    name: 'has no claim in a namespace that is being deleted, which the API server would reject',
    plan: WANTED,
    input: { persistentVolumes: [volume('Available')], terminating: { namespace } },
  },
  {
    name: 'does not change when its objects exist',
    plan: WANTED,
    input: { persistentVolumes: [volume('Bound')], persistentVolumeClaims: [claim()], ...used },
  },
  {
    name: 'keeps its objects while its spec is invalid',
    plan: INVALID,
    input: { persistentVolumes: [volume('Bound')], persistentVolumeClaims: [claim()] },
    waiting: [
      { reason: 'Terminating', message: `PersistentVolumeClaim ${NAME} is being deleted` },
      { reason: 'Terminating', message: `PersistentVolume ${NAME} is being deleted` },
    ],
  },
  {
    name: 'keeps its claim while a pod uses it',
    plan: UNWANTED,
    input: { persistentVolumes: [volume('Bound')], persistentVolumeClaims: [claim()], ...used },
    waiting: [{ reason: 'InUse', message: `claim ${NAME} is in use by default/reader` }],
  },
  {
    name: 'loses its claim first',
    plan: UNWANTED,
    input: { persistentVolumes: [volume('Bound')], persistentVolumeClaims: [claim()] },
    writes: ['delete PersistentVolumeClaim'],
    waiting: [
      { reason: 'Terminating', message: `PersistentVolumeClaim ${NAME} is being deleted` },
      { reason: 'Terminating', message: `PersistentVolume ${NAME} is being deleted` },
    ],
  },
  {
    name: 'loses its volume after that',
    plan: UNWANTED,
    input: { persistentVolumes: [volume('Released')] },
    writes: ['delete PersistentVolume'],
    waiting: [{ reason: 'Terminating', message: `PersistentVolume ${NAME} is being deleted` }],
  },
  {
    name: 'loses a claim to which its released volume is not bound, and that waiting pods name',
    plan: WANTED,
    input: {
      persistentVolumes: [{ ...volume('Released'), spec: { claimRef: { uid: 'old' } } }],
      persistentVolumeClaims: [claim({ uid: 'new' })],
      users: () => [{ pod: 'default/reader' }],
    },
    writes: ['delete PersistentVolumeClaim'],
    waiting: [
      { reason: 'Terminating', message: `PersistentVolumeClaim ${NAME} is being deleted` },
      { reason: 'Terminating', message: `PersistentVolume ${NAME} is being deleted` },
    ],
  },
  {
    name: 'keeps a claim that waiting pods name while it is not wanted',
    plan: UNWANTED,
    input: {
      persistentVolumes: [volume('Bound')],
      persistentVolumeClaims: [claim()],
      users: () => [{ pod: 'default/reader' }],
    },
    waiting: [{ reason: 'InUse', message: `claim ${NAME} is in use by default/reader` }],
  },
  {
    name: 'keeps its volume while its claim is being deleted',
    plan: UNWANTED,
    input: {
      persistentVolumes: [volume('Bound')],
      persistentVolumeClaims: [claim({ deletionTimestamp: '2026-01-01T00:00:00Z' })],
    },
    waiting: [
      { reason: 'Terminating', message: `PersistentVolumeClaim ${NAME} is being deleted` },
      { reason: 'Terminating', message: `PersistentVolume ${NAME} is being deleted` },
    ],
  },
  {
    name: 'has its claim beside the claim of another volume',
    plan: WANTED,
    input: {
      persistentVolumes: [volume('Bound'), volume('Bound', { name: 'old' })],
      persistentVolumeClaims: [claim({ name: 'old' })],
    },
    writes: ['create PersistentVolumeClaim', 'delete PersistentVolumeClaim'],
    waiting: [
      { reason: 'Terminating', message: 'PersistentVolumeClaim old is being deleted' },
      { reason: 'Terminating', message: 'PersistentVolume old is being deleted' },
    ],
  },
  {
    name: 'deletes only the unused one of two claims',
    plan: UNWANTED,
    input: {
      persistentVolumes: [volume('Bound', { name: 'b' })],
      persistentVolumeClaims: [claim({ name: 'a' }), claim({ name: 'b' })],
      users: (place) => (place === 'a' ? [{ pod: 'default/reader', node: 'n1' }] : []),
    },
    writes: ['delete PersistentVolumeClaim'],
    waiting: [
      { reason: 'InUse', message: 'claim a is in use by default/reader' },
      { reason: 'Terminating', message: 'PersistentVolumeClaim b is being deleted' },
      { reason: 'Terminating', message: 'PersistentVolume b is being deleted' },
    ],
  },
  {
    name: 'loses a claim of another volume while its own spec is invalid',
    plan: INVALID,
    input: {
      persistentVolumeClaims: [
        claim({ name: 'other', labels: { 'lodestone.dev/volume': volumeKey(manager, 'vol2') } }),
        claim({ name: 'bare', labels: undefined }),
      ],
    },
    writes: ['delete PersistentVolumeClaim', 'delete PersistentVolumeClaim'],
    waiting: ['other', 'bare'].map((name) => ({
      reason: 'Terminating',
      message: `PersistentVolumeClaim ${name} is being deleted`,
    })),
  },
  {
    name: 'deletes no object twice',
    plan: UNWANTED,
    input: { persistentVolumes: [volume('Released', { deletionTimestamp: '2026-01-01T00:00:00Z' })] },
    waiting: [{ reason: 'Terminating', message: `PersistentVolume ${NAME} is being deleted` }],
  },
])('an NFS volume $name', ({ plan, input, writes = [], waiting = [] }) => {
  const planned = planPersistentVolumes({ ...makeVolumeInput({ manager }), ...input }, [plan])

  expect(planned.writes.map((write) => `${write.kind} ${write.kind === 'patch' ? '' : write.type.kind}`)).toEqual(
    writes,
  )
  expect(planned.waiting).toEqual(waiting)
})

/** The volume and the claim that are created for a plan. */
const createdFor = (plan: VolumePlan) =>
  [{}, { persistentVolumes: [volume('Available')] }].map((input) => {
    const [write] = planPersistentVolumes({ ...makeVolumeInput({ manager }), ...input }, [plan]).writes
    return write?.kind === 'create' && write.object
  })

test('the volume and the claim name each other, and the server keeps the data', () => {
  const objects = createdFor(WANTED)
  const claimRef = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: 'default', name: NAME }

  expect(objects).toEqual([
    {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: NAME, labels: { key1: 'val1', ...labels } },
      spec: {
        capacity: { storage: '5Gi' },
        accessModes: ['ReadOnlyMany'],
        persistentVolumeReclaimPolicy: 'Retain',
        storageClassName: 'vck',
        claimRef,
        nfs: { server: 'nfs.example.com', path: '/exports', readOnly: true },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: NAME, namespace: 'default', labels: { key1: 'val1', ...labels } },
      spec: {
        accessModes: ['ReadOnlyMany'],
        storageClassName: 'vck',
        volumeName: NAME,
        resources: { requests: { storage: '5Gi' } },
      },
    },
  ])
})

test('data that pods write is not mounted read-only', () => {
  const [created] = createdFor({ ...WANTED, config: { ...NFS, accessMode: 'ReadWriteMany' } })

  expect(created).toMatchObject({ spec: { nfs: { server: 'nfs.example.com', path: '/exports' } } })
  expect(JSON.stringify(created)).not.toContain('readOnly')
})

test('without a namespace the volume is for a claim of the namespace default', () => {
  const bare = { ...manager, metadata: { name: 'sales' } }
  const name = claimNameOf(bare, NFS)
  const input = { ...makeVolumeInput({ manager: bare }), persistentVolumes: [] }
  const [write] = planPersistentVolumes(input, [WANTED]).writes

  expect(write).toMatchObject({ object: { spec: { claimRef: { namespace: 'default', name } } } })
})

test('a volume of another source has no claim', () => {
  const plan = { ...WANTED, config: makeVolume() }

  expect(planPersistentVolumes(makeVolumeInput(), [plan])).toEqual({ writes: [], waiting: [], conflicts: new Map() })
})

describe('a volume that pods claim', () => {
  const config = makeVolume({ volumeType: 'persistentVolumeClaim' })
  const planWith = (...replicas: ReplicaStatus[]) =>
    ({ ...WANTED, config, set: { replicas, deletions: [], nextIndex: 9 } }) as unknown as VolumePlan
  const nameAt = (index: number) => replicaClaimName(manager, 'vol1', 'r', index)
  const on = (node: string, index = 0, phase = 'Bound') => {
    const metadata = { name: nameAt(index), annotations: { 'lodestone.dev/node': node } }
    return volume(phase, metadata)
  }
  const claimAt = (index: number) => claim({ name: nameAt(index) })
  const planned = (plan: VolumePlan, input: Case['input'] = {}, nodes?: readonly Node[]) =>
    planPersistentVolumes(makeVolumeInput(defined({ manager, ...input, nodes })), [plan]).writes.map((write) => {
      const metadata = 'object' in write ? write.object.metadata : undefined
      return [write.kind, 'type' in write ? write.type.kind : '', metadata?.name]
    })

  test('has a PersistentVolume for each replica that is on its node', () => {
    const replicas = [
      makeReplica(),
      makeReplica({ index: 1, node: 'n2', state: 'Unreachable' }),
      makeReplica({ index: 2, node: 'n3', state: 'Downloading' }),
      makeReplica({ index: 3, node: 'gone' }),
      makeReplica({ index: 4, state: 'Evicted', node: undefined as never }),
    ]
    expect(planned(planWith(...replicas))).toEqual([
      ['create', 'PersistentVolume', nameAt(0)],
      ['create', 'PersistentVolume', nameAt(1)],
    ])
  })

  test('has no new PersistentVolume or claim while its spec is invalid', () => {
    const plan = { ...planWith(makeReplica()), moverConfig: undefined }
    expect(planned(plan)).toEqual([])
    expect(planned(plan, { persistentVolumes: [on('n1', 0, 'Available')] })).toEqual([])
  })

  test('has its claims when the PersistentVolumes are available', () => {
    expect(planned(planWith(makeReplica()), { persistentVolumes: [on('n1', 0, 'Available')] })).toEqual([
      ['create', 'PersistentVolumeClaim', nameAt(0)],
    ])
  })

  test.each<[string, Case['input'], string[][]]>([
    [
      'loses the claim first',
      { persistentVolumes: [on('n2')], persistentVolumeClaims: [claimAt(0)] },
      [['delete', 'PersistentVolumeClaim', nameAt(0)]],
    ],
    [
      'keeps the claim under a pod',
      { persistentVolumes: [on('n2')], persistentVolumeClaims: [claimAt(0)], ...used },
      [],
    ],
    [
      'loses the claim that only unscheduled pods name: they can run with the next one',
      {
        persistentVolumes: [on('n2')],
        persistentVolumeClaims: [claimAt(0)],
        users: () => [{ pod: 'default/reader' }],
      },
      [['delete', 'PersistentVolumeClaim', nameAt(0)]],
    ],
    ['then loses the PersistentVolume', { persistentVolumes: [on('n2')] }, [['delete', 'PersistentVolume', nameAt(0)]]],
    ['then has a new one', {}, [['create', 'PersistentVolume', nameAt(0)]]],
  ])('whose replica is on another node now %s', (_name, input, want) => {
    expect(planned(planWith(makeReplica({ node: 'n1' })), input)).toEqual(want)
  })

  test('keeps the claim of an unwanted replica while an unscheduled pod names it', () => {
    const input = { persistentVolumes: [on('n1')], persistentVolumeClaims: [claimAt(0)] }
    const users = () => [{ pod: 'default/reader' }]
    expect(planned(planWith(makeReplica({ index: 1, node: 'n2' })), { ...input, users })).toEqual([
      ['create', 'PersistentVolume', nameAt(1)],
    ])
  })

  test('has a new PersistentVolume after a user deleted the claim', () => {
    expect(planned(planWith(makeReplica()), { persistentVolumes: [on('n1', 0, 'Released')] })).toEqual([
      ['delete', 'PersistentVolume', nameAt(0)],
    ])
  })

  const bound = (phase: string, uid: string) => ({ ...on('n1', 0, phase), spec: { claimRef: { uid } } })
  const claimOf = (uid: string) => claim({ name: nameAt(0), uid })

  test.each<[string, Case['input'], string[][]]>([
    [
      'has no new claim before its PersistentVolume is released: it would stay Pending',
      { persistentVolumes: [bound('Bound', 'old')] },
      [],
    ],
    [
      'loses a claim that another client created again: it is Pending',
      { persistentVolumes: [bound('Released', 'old')], persistentVolumeClaims: [claimOf('new')] },
      [['delete', 'PersistentVolumeClaim', nameAt(0)]],
    ],
    [
      'keeps a claim to which its PersistentVolume is bound',
      { persistentVolumes: [bound('Bound', 'new')], persistentVolumeClaims: [claimOf('new')] },
      [],
    ],
  ])('whose claim a user deleted %s', (_name, input, want) => {
    expect(planned(planWith(makeReplica()), { ...input, users: () => [{ pod: 'default/reader' }] })).toEqual(want)
  })

  const HOSTNAME = 'kubernetes.io/hostname'
  const pinnedTo = (hostname: string) => ({
    ...on('n1'),
    spec: {
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: HOSTNAME, operator: 'In', values: [hostname] }] }],
        },
      },
    },
  })

  test.each<[string, string | undefined, Case['input'], string[][]]>([
    ['has another host name', 'n1.example.org', {}, [['delete', 'PersistentVolumeClaim', nameAt(0)]]],
    ['has another host name, while a pod runs with it', 'n1.example.org', used, []],
    ['has the same host name', 'n1', {}, []],
    ['has no host name', undefined, {}, []],
  ])('loses its claim only if its node %s', (_name, hostname, users, want) => {
    const objects = { persistentVolumes: [pinnedTo('n1')], persistentVolumeClaims: [claimAt(0)] }
    const node = makeNode('n1', { labels: hostname === undefined ? {} : { [HOSTNAME]: hostname } })
    expect(planned(planWith(makeReplica()), { ...objects, ...users }, [node])).toEqual(want)
  })

  test('has no claim beside a foreign PersistentVolume; other replicas are not affected', () => {
    const replicas = [makeReplica(), makeReplica({ index: 1, node: 'n2' })]
    const exists: VolumeManagerInput['exists'] = (kind, name) => kind === 'PersistentVolume' && name === nameAt(0)
    const { writes, conflicts } = planPersistentVolumes(makeVolumeInput({ manager, exists }), [planWith(...replicas)])

    expect(writes.map((write) => 'object' in write && write.object.metadata.name)).toEqual([nameAt(1)])
    expect([...conflicts]).toMatchObject([
      ['vol1', { message: expect.stringContaining(`PersistentVolume ${nameAt(0)} exists`) }],
    ])
  })

  test('loses its claims when it has directories instead', () => {
    const plan = { ...planWith(makeReplica()), config: makeVolume() }
    expect(planned(plan, { persistentVolumes: [on('n1')], persistentVolumeClaims: [claimAt(0)] })).toEqual([
      ['delete', 'PersistentVolumeClaim', nameAt(0)],
    ])
  })
})

describe('a rejected PersistentVolume', () => {
  const config = makeVolume({ volumeType: 'persistentVolumeClaim' })
  const replicas = [makeReplica(), makeReplica({ index: 1, node: 'n2' })]
  const plan = { ...WANTED, config, set: { replicas, deletions: [], nextIndex: 2 } } as unknown as VolumePlan
  const [first = '', second = ''] = [0, 1].map((index) => replicaClaimName(manager, 'vol1', 'r', index))
  const rejections = new Map([[`PersistentVolume ${first}`, 'exceeded quota']])
  const conflictsWith = (more: Partial<VolumeManagerInput>, ofPlan = plan) =>
    planPersistentVolumes({ ...makeVolumeInput({ manager }), rejections, ...more }, [ofPlan]).conflicts
  const message = `PersistentVolume ${first}: CreateRefused: exceeded quota`

  test.each([
    { name: 'no claim that pods can use', claims: [], isUnclaimed: true },
    { name: 'the claim of another replica', claims: [claim({ name: second })], isUnclaimed: false },
    { name: 'the claim of another volume', claims: [claim({ name: 'other' })], isUnclaimed: true },
  ])('is a conflict of its volume, which has $name', ({ claims, isUnclaimed }) => {
    expect(conflictsWith({ persistentVolumeClaims: claims })).toEqual(new Map([['vol1', { message, isUnclaimed }]]))
  })

  test('is no conflict of a volume that gets none, since its spec is invalid', () => {
    expect(conflictsWith({}, { ...plan, moverConfig: undefined })).toEqual(new Map())
  })
})
