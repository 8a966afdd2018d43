import { describe, expect, test } from 'vitest'
import { ANY_NODE, makePod, makeUsable, managers, nodesWith } from '../../../test/builders.ts'
import type { Container, Pod, PodSpec } from '../../api/pod.ts'
import { defined } from '../../base/json.ts'
import { completePod, decidePod, type PodInput } from './decide-pod.ts'
import type { MountableVolumes, UsableVolume } from './injection/mountable-volumes.ts'

const ROOT = 'metadata.annotations[lodestone.dev/volumes]'
const mnist = (overrides: Partial<UsableVolume> = {}): MountableVolumes => ({
  name: 'mnist',
  volumes: [makeUsable('vol1', overrides)],
})
const lake: MountableVolumes = { name: 'lake', volumes: [makeUsable('raw'), makeUsable('clean')] }
const hostPath = (path: string, type = 'Directory') => ({ hostPath: { path, type } })
const VOLUME = { name: 'mnist--vol1', ...hostPath('/var/datasets/vol1') }
const MOUNT = { name: 'mnist--vol1', mountPath: '/var/datasets' }

function decide(pod: Pod, views: MountableVolumes[] = [mnist(), lake], rest: Partial<PodInput> = {}) {
  return decidePod({ pod, managers: managers(...views), ...ANY_NODE, whenNotReady: 'gate', isHub: false, ...rest })
}

/** The spec of the pod after the decision. */
function injected(pod: Pod, views?: MountableVolumes[], rest?: Partial<PodInput>): PodSpec {
  const outcome = decide(pod, views, rest)
  if (outcome.kind !== 'patch') throw new Error(JSON.stringify(outcome))
  return (outcome.object as Pod).spec
}

function refused(pod: Pod, views?: MountableVolumes[], rest?: Partial<PodInput>) {
  const outcome = decide(pod, views, rest)
  return outcome.kind === 'deny' && outcome.errors.map(({ path, message }) => [path, message])
}

const mountsOf = (containers: readonly Container[] | undefined) =>
  Object.fromEntries(
    (containers ?? []).map(({ name, volumeMounts }) => [name, volumeMounts?.map((m) => m.mountPath) ?? []]),
  )

describe('a pod that names a volume', () => {
  test('gets it, mounted in its container, with affinity for the nodes that have it', () => {
    const outcome = decide(makePod({ name: 'mnist' }))
    expect(outcome).toEqual({
      kind: 'patch',
      object: makePod(
        { name: 'mnist' },
        {
          containers: [{ name: 'main', volumeMounts: [MOUNT] }],
          volumes: [VOLUME],
          affinity: { nodeAffinity: nodesWith('data/vol1') },
        },
      ),
      auditAnnotations: { decision: 'Injected', reason: 'has VolumeManager mnist/vol1' },
    })
  })

  test('gets it in every container, with init containers and sidecars', () => {
    const sidecar = { name: 'proxy', restartPolicy: 'Always' } as Container
    const spec = { containers: [{ name: 'main' }, { name: 'logs' }], initContainers: [{ name: 'setup' }, sidecar] }
    const { containers, initContainers } = injected(makePod({ name: 'mnist' }, spec))
    expect({ ...mountsOf(containers), ...mountsOf(initContainers) }).toEqual({
      main: ['/var/datasets'],
      logs: ['/var/datasets'],
      setup: ['/var/datasets'],
      proxy: ['/var/datasets'],
    })
    expect(initContainers?.[1]).toMatchObject({ restartPolicy: 'Always' })
  })

  test.each([
    ['only in the given containers', { containers: [{ name: 'setup' }] }, { main: [], setup: ['/var/datasets'] }],
    ['at the path for all containers', { 'mount-path': '/d' }, { main: ['/d'], setup: ['/d'] }],
    [
      'at the path for one container',
      { 'mount-path': '/d', containers: [{ name: 'main', 'mount-path': '/e' }, { name: 'setup' }] },
      { main: ['/e'], setup: ['/d'] },
    ],
    [
      'in all containers if the list is empty',
      { containers: [] },
      { main: ['/var/datasets'], setup: ['/var/datasets'] },
    ],
    [
      'twice in one container if that is requested',
      {
        containers: [
          { name: 'main', 'mount-path': '/a' },
          { name: 'main', 'mount-path': '/b' },
        ],
      },
      { main: ['/a', '/b'], setup: [] },
    ],
  ])('gets it %s', (_name, asks, want) => {
    const spec = injected(makePod({ name: 'mnist', ...asks }, { initContainers: [{ name: 'setup' }] }))
    expect({ ...mountsOf(spec.containers), ...mountsOf(spec.initContainers) }).toEqual(want)
  })

  test('gets it at the path of one request, and not again for another without a path', () => {
    const asks = [
      { name: 'mnist', containers: [{ name: 'main' }] },
      { name: 'mnist', 'mount-path': '/d' },
    ]
    expect(mountsOf(injected(makePod(asks)).containers)).toEqual({ main: ['/d'] })
    expect(mountsOf(injected(makePod(asks.toReversed())).containers)).toEqual({ main: ['/d'] })
  })

  test.each<[string, object, Partial<UsableVolume>, boolean | undefined]>([
    ['to write by default', {}, {}, undefined],
    ['read-only if the request is read-only', { readOnly: true }, {}, true],
    ['read-only if the volume is read-only', {}, { readOnly: true }, true],
    [
      'read-only if the volume is read-only although the pod requests a writable one',
      { readOnly: false },
      { readOnly: true },
      true,
    ],
  ])('gets it %s', (_name, asks, volume, want) => {
    const spec = injected(makePod({ name: 'mnist', ...asks }), [mnist(volume)])
    expect(spec.containers[0]?.volumeMounts?.[0]?.readOnly).toBe(want)
  })

  test('gets the first volume without an id, and another one by its id', () => {
    expect(injected(makePod({ name: 'lake' })).volumes).toEqual([
      { name: 'lake--raw', ...hostPath('/var/datasets/raw') },
    ])
    expect(injected(makePod({ name: 'lake', id: 'clean' })).volumes?.[0]?.name).toBe('lake--clean')
  })

  test('keeps all of its fields', () => {
    const pod = makePod({ name: 'mnist' }, {
      containers: [{ name: 'main', image: 'main:1', volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }] }],
      volumes: [{ name: 'tmp', emptyDir: {} }],
      affinity: { podAntiAffinity: { flavour: 'new' }, nodeAffinity: { weather: 'sunny' } },
      newField: [{ a: null }],
    } as never)
    expect(injected(pod)).toEqual({
      containers: [{ name: 'main', image: 'main:1', volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }, MOUNT] }],
      volumes: [{ name: 'tmp', emptyDir: {} }, VOLUME],
      affinity: { podAntiAffinity: { flavour: 'new' }, nodeAffinity: { weather: 'sunny', ...nodesWith('data/vol1') } },
      newField: [{ a: null }],
    })
  })

  test('gets a PersistentVolumeClaim and no affinity if it can run on any node', () => {
    const source = { persistentVolumeClaim: { claimName: 'vck-resource-1' } }
    const spec = injected(makePod({ name: 'mnist' }), [mnist({ source, nodeAffinity: {} })])
    expect(spec).toMatchObject({ volumes: [{ name: 'mnist--vol1', ...source }] })
    expect(spec).not.toHaveProperty('affinity')
  })

  test('gets a directory with the type in the status', () => {
    const source = { hostPath: { path: '/d', type: '' } }
    expect(injected(makePod({ name: 'mnist' }), [mnist({ source })]).volumes?.[0]).toMatchObject(hostPath('/d'))
    expect(
      injected(makePod({ name: 'mnist' }), [mnist({ source: hostPath('/d', 'File') })]).volumes?.[0],
    ).toMatchObject(hostPath('/d', 'File'))
  })
})

describe('a pod that names several volumes', () => {
  const two = [
    { name: 'mnist', 'mount-path': '/a' },
    { name: 'lake', 'mount-path': '/b' },
  ]

  test('runs on nodes that have all of them', () => {
    const { affinity } = injected(makePod(two, { affinity: { nodeAffinity: nodesWith('gpu', 'tpu') } }))
    const both = (key: string) => ({
      matchExpressions: [key, 'data/raw', 'data/vol1'].map((each) => ({ key: each, operator: 'Exists' })),
    })
    expect(affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms).toEqual([
      both('gpu'),
      both('tpu'),
    ])
  })

  test('gets the same result for any order of their names', () => {
    expect(injected(makePod(two))).toEqual(injected(makePod([...two].reverse())))
  })

  test('must give the mount path of each', () => {
    expect(refused(makePod([{ name: 'mnist' }, { name: 'lake' }]))).toEqual([
      [`${ROOT}[0]`, 'container main has volume lake--raw at /var/datasets already; give it another mount-path'],
    ])
  })

  test('may name one for each container', () => {
    const asks = [
      { name: 'mnist', containers: [{ name: 'main' }] },
      { name: 'lake', containers: [{ name: 'logs' }] },
    ]
    const spec = injected(makePod(asks, { containers: [{ name: 'main' }, { name: 'logs' }] }))
    expect(spec.containers.map(({ volumeMounts }) => volumeMounts?.[0]?.name)).toEqual(['mnist--vol1', 'lake--raw'])
  })

  test('gets all errors together', () => {
    const asks = [{ name: 'absent' }, { name: 'lake', id: 'dirty' }, { name: 'mnist', containers: [{ name: 'x' }] }]
    expect(refused(makePod(asks))).toEqual([
      [`${ROOT}[1].id`, 'VolumeManager lake has no such volume; it has raw, clean'],
      [`${ROOT}[0].name`, 'there is no VolumeManager absent in this namespace; create it first'],
      [`${ROOT}[2].containers[0].name`, 'there is no container x; the pod has main'],
    ])
  })
})

describe('a pod with a volume that its user added', () => {
  const pasted = { name: 'dataset', hostPath: { path: '/var/datasets/vol1/' } }

  test('keeps the volume, its affinity and its mount', () => {
    const pod = makePod(
      { name: 'mnist' },
      {
        containers: [{ name: 'main', volumeMounts: [{ name: 'dataset', mountPath: '/var/data' }] }],
        volumes: [pasted],
        affinity: { nodeAffinity: nodesWith('data/vol1') },
      },
    )
    expect(injected(pod)).toEqual(pod.spec)
  })

  test('gets the missing mounts of the same volume', () => {
    const containers = [{ name: 'main', volumeMounts: [{ name: 'dataset', mountPath: '/d' }] }, { name: 'logs' }]
    const spec = injected(makePod({ name: 'mnist' }, { containers, volumes: [pasted] }))
    expect(spec.volumes).toEqual([pasted])
    expect(spec.containers[1]?.volumeMounts).toEqual([{ name: 'dataset', mountPath: '/var/datasets' }])
  })

  test('gets it also at the requested path', () => {
    const containers = [{ name: 'main', volumeMounts: [{ name: 'dataset', mountPath: '/d' }] }]
    const spec = injected(makePod({ name: 'mnist', 'mount-path': '/e' }, { containers, volumes: [pasted] }))
    expect(mountsOf(spec.containers)).toEqual({ main: ['/d', '/e'] })
  })

  test('is recognized by the PersistentVolumeClaim too', () => {
    const claim = { persistentVolumeClaim: { claimName: 'c' } }
    const spec = injected(makePod({ name: 'mnist' }, { volumes: [{ name: 'own', ...claim }] }), [
      mnist({ source: { persistentVolumeClaim: { claimName: 'c', readOnly: true } } }),
    ])
    expect(spec.volumes).toEqual([{ name: 'own', ...claim }])
  })
})

describe('a pod is rejected with the field and the reason', () => {
  test.each<[string, Pod, [string, RegExp]]>([
    ['whose annotation is not JSON', makePod('mnist'), [ROOT, /^is not JSON .*; e\.g\. \{"name"/]],
    [
      'that names a VolumeManager that does not exist',
      makePod({ name: 'x' }),
      [`${ROOT}.name`, /^there is no VolumeManager x in this namespace; create it first$/],
    ],
    [
      'that names a volume that does not exist',
      makePod({ name: 'lake', id: 'x' }),
      [`${ROOT}.id`, /it has raw, clean$/],
    ],
    [
      'that names a shard of a volume that is not divided',
      makePod({ name: 'lake', shard: 'x' }),
      [`${ROOT}.shard`, /no shard$/],
    ],
    [
      'that has another volume with that name',
      makePod({ name: 'mnist' }, { volumes: [{ name: 'tmp' }, { name: 'mnist--vol1', hostPath: { path: '/x' } }] }),
      ['spec.volumes[1].name', /rename the volume of the pod$/],
    ],
    [
      'that has another volume at that path',
      makePod(
        { name: 'mnist' },
        { containers: [{ name: 'main', volumeMounts: [{ name: 'tmp', mountPath: '/var/datasets/' }] }] },
      ),
      ['spec.containers[0].volumeMounts[0].mountPath', /has volume tmp at \/var\/datasets already/],
    ],
    [
      'whose init container has another volume at that path',
      makePod(
        { name: 'mnist' },
        { initContainers: [{ name: 'setup', volumeMounts: [{ name: 'tmp', mountPath: '/var/datasets' }] }] },
      ),
      ['spec.initContainers[0].volumeMounts[0].mountPath', /give metadata.* another mount-path$/],
    ],
  ])('%s', (_name, pod, [path, message]) => {
    expect(refused(pod)).toEqual([[path, expect.stringMatching(message)]])
  })

  test('whose VolumeManager has failed, with the message of the volume', () => {
    const view = { ...mnist({ message: 'no such bucket' }), refusal: 'failed to deploy all the sub-resources' }
    expect(refused(makePod({ name: 'mnist' }), [view])).toEqual([
      [
        ROOT,
        'VolumeManager mnist cannot be used: failed to deploy all the sub-resources (no such bucket); see kubectl describe volumemanager mnist',
      ],
    ])
  })

  test('whose volume cannot be mounted', () => {
    const { source: _none, ...volume } = makeUsable('vol1')
    expect(refused(makePod({ name: 'mnist' }), [{ name: 'mnist', volumes: [volume] }])).toHaveLength(1)
  })

  test('that would need more node selector terms than an object can have', () => {
    const nodeAffinity = (kind: string) => nodesWith(...Array.from({ length: 11 }, (_, i) => `${kind}-${i}`))
    const pod = makePod({ name: 'mnist' }, { affinity: { nodeAffinity: nodeAffinity('gpu') } })
    expect(refused(pod, [mnist({ nodeAffinity: nodeAffinity('data') })])).toEqual([
      [expect.stringContaining('nodeSelectorTerms'), expect.stringContaining('must have at most 100 terms')],
    ])
  })
})

describe('a pod whose data is not ready', () => {
  const waiting = [mnist({ state: 'Waiting', message: '1 of 3 replicas' }), lake]

  test('gets a scheduling gate, and the complete injection', () => {
    const outcome = decide(makePod({ name: 'mnist' }), waiting)
    expect(outcome).toMatchObject({
      object: {
        spec: {
          schedulingGates: [{ name: 'lodestone.dev/volumes' }],
          volumes: [VOLUME],
          affinity: { nodeAffinity: nodesWith('data/vol1') },
        },
      },
      warnings: ['lodestone: waits for VolumeManager mnist/vol1'],
      auditAnnotations: { decision: 'Gated', reason: 'waits for VolumeManager mnist/vol1' },
    })
  })

  test('keeps the gates of other controllers, and gets ours once', () => {
    const spec = injected(makePod({ name: 'mnist' }, { schedulingGates: [{ name: 'quota' }] }), waiting)
    expect(spec.schedulingGates).toEqual([{ name: 'quota' }, { name: 'lodestone.dev/volumes' }])
    expect(injected(makePod({ name: 'mnist' }, spec), waiting)).toEqual(spec)
  })

  test.each<[string, Pod, Partial<PodInput>]>([
    ['without support of scheduling gates', makePod({ name: 'mnist' }), { whenNotReady: 'refuse' }],
    ['that bypasses the scheduler', makePod({ name: 'mnist' }, { nodeName: 'n1' }), {}],
  ])('is rejected %s, with the command to wait', (_name, pod, rest) => {
    expect(refused(pod, waiting, rest)).toEqual([
      [
        ROOT,
        "volume vol1 of VolumeManager mnist is not ready yet (1 of 3 replicas); retry after kubectl wait --for=jsonpath='{.status.state}'=Running volumemanager/mnist",
      ],
    ])
  })

  test('waits without a gate for evicted data, which returns when a pod waits', () => {
    const views = [mnist({ state: 'Waiting', isEvicted: true })]
    const pod = makePod({ name: 'mnist' })
    const spec = injected(pod, views, { whenNotReady: 'refuse' })

    expect([spec.schedulingGates, spec.affinity]).toEqual([undefined, { nodeAffinity: nodesWith('data/vol1') }])
    expect(injected(pod, views).schedulingGates).toEqual([{ name: 'lodestone.dev/volumes' }])
    expect(refused(makePod({ name: 'mnist' }, { nodeName: 'n1' }), views, { whenNotReady: 'refuse' })).toHaveLength(1)
  })

  test('does not wait for a Preferred volume', () => {
    expect(injected(makePod({ name: 'mnist', enforcement: 'Preferred' }), waiting)).not.toHaveProperty(
      'schedulingGates',
    )
  })
})

describe('a pod that prefers its data', () => {
  const views = [mnist({ bytes: 30 }), { name: 'lake', volumes: [makeUsable('raw', { bytes: 10 })] }]
  const two = [
    { name: 'mnist', enforcement: 'Preferred', 'mount-path': '/a' },
    { name: 'lake', enforcement: 'Preferred', 'mount-path': '/b' },
  ]
  const weights = (spec: PodSpec) =>
    spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution?.map(({ weight, preference }) => [
      preference.matchExpressions?.[0]?.key,
      weight,
    ])

  test('prefers the nodes with more of its bytes, and requires none', () => {
    const spec = injected(makePod(two), views)
    expect(weights(spec)).toEqual([
      ['data/raw', 25],
      ['data/vol1', 75],
    ])
    expect(spec.affinity?.nodeAffinity).not.toHaveProperty('requiredDuringSchedulingIgnoredDuringExecution')
    expect(spec.volumes?.map(({ hostPath: host }) => host?.type)).toEqual(['DirectoryOrCreate', 'DirectoryOrCreate'])
  })

  test('gives them equal weights if a size is unknown', () => {
    expect(weights(injected(makePod(two)))).toEqual([
      ['data/raw', 50],
      ['data/vol1', 50],
    ])
  })

  test('prefers even the smallest data with weight 1', () => {
    const small = [mnist({ bytes: 0 }), { name: 'lake', volumes: [makeUsable('raw', { bytes: 10 })] }]
    expect(weights(injected(makePod(two), small))).toEqual([
      ['data/raw', 100],
      ['data/vol1', 1],
    ])
  })

  test('keeps its own preferences', () => {
    const own = [{ weight: 3, preference: { matchExpressions: [{ key: 'ssd', operator: 'Exists' }] } }]
    const nodeAffinity = { preferredDuringSchedulingIgnoredDuringExecution: own }
    expect(weights(injected(makePod(two[0], { affinity: { nodeAffinity } }), views))).toEqual([
      ['ssd', 3],
      ['data/vol1', 100],
    ])
  })
})

describe('a pod with a given node', () => {
  const views = [mnist({ nodes: ['n1', 'n2'] })]
  const pinned = (node: string) => ({
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [node] }] }],
        },
      },
    },
  })

  test.each([
    ['by its name', { nodeName: 'n2' }],
    ['by the node affinity of DaemonSet pods', pinned('n2')],
  ])('%s gets the volume if that node has the data', (_name, spec) => {
    expect(injected(makePod({ name: 'mnist' }, spec), views).volumes).toEqual([VOLUME])
  })

  test.each([
    ['by its name', { nodeName: 'n3' }],
    ['by the node affinity of DaemonSet pods', pinned('n3')],
  ])('%s is rejected if that node does not have the data', (_name, spec) => {
    expect(refused(makePod({ name: 'mnist' }, spec), views)).toEqual([
      [
        ROOT,
        'the pod has to run on node n3, but volume vol1 of VolumeManager mnist is on n1, n2; allow only these nodes, or request it with enforcement Preferred',
      ],
    ])
  })

  test.each<[string, Partial<UsableVolume>]>([
    ['that is on other nodes', {}],
    ['that is not ready', { state: 'Waiting', nodes: [] }],
  ])('runs without a preferred volume %s', (_name, volume) => {
    const outcome = decide(makePod({ name: 'mnist', enforcement: 'Preferred' }, pinned('n3')), [
      mnist({ nodes: ['n1', 'n2'], ...volume }),
    ])
    expect(outcome).toEqual({
      kind: 'patch',
      object: makePod({ name: 'mnist', enforcement: 'Preferred' }, pinned('n3')),
      warnings: ['lodestone: runs without VolumeManager mnist/vol1: node n3 does not have it'],
      auditAnnotations: {
        decision: 'LeftOut',
        reason: 'runs without VolumeManager mnist/vol1: node n3 does not have it',
      },
    })
  })

  test('gets a preferred volume if that node has the data, or without recorded nodes', () => {
    const pod = makePod({ name: 'mnist', enforcement: 'Preferred' }, pinned('n2'))
    for (const nodes of [['n1', 'n2'], []]) {
      expect(injected(pod, [mnist({ nodes })]).volumes).toEqual([
        { name: 'mnist--vol1', ...hostPath('/var/datasets/vol1', 'DirectoryOrCreate') },
      ])
    }
  })

  test('is not rejected while the data is not ready', () => {
    const waiting = [mnist({ state: 'Waiting', nodes: ['n1'] })]
    expect(injected(makePod({ name: 'mnist' }, pinned('n3')), waiting).schedulingGates).toHaveLength(1)
  })

  test('is not rejected if the nodes are not recorded', () => {
    expect(injected(makePod({ name: 'mnist' }, { nodeName: 'n3' })).volumes).toEqual([VOLUME])
  })
})

describe('with claims of replicas', () => {
  const claims = ['n1', 'n2'].map((node, i) => ({ claimName: `c${i}`, node }))
  const views = [mnist({ claims, nodes: ['n1', 'n2'], source: { persistentVolumeClaim: { claimName: 'c0' } } })]
  const claimOf = (pod: Pod, rest: Partial<PodInput> = {}) => {
    const outcome = decide(pod, views, rest)
    if (outcome.kind !== 'patch') throw new Error(JSON.stringify(outcome))
    return (outcome.object as Pod).spec.volumes?.[0]?.persistentVolumeClaim?.claimName
  }

  test('a pod without a name gets the claim for its request, and the same one again', () => {
    const { name: _, ...metadata } = makePod('').metadata
    const pod = {
      ...makePod({ name: 'mnist' }),
      metadata: { ...metadata, annotations: makePod({ name: 'mnist' }).metadata.annotations ?? {} },
    }
    const requests = Array.from({ length: 20 }, (_, i) => `request-${i}`)
    const chosen = requests.map((request) => claimOf(pod, { request }))
    expect(new Set(chosen)).toEqual(new Set(['c0', 'c1']))
    expect(requests.map((request) => claimOf(pod, { request }))).toEqual(chosen)
  })

  test('a pod gets a claim of a node that it may run on, or of its bound node', () => {
    for (const node of ['n1', 'n2']) {
      const claim = claims.find((one) => one.node === node)?.claimName
      expect(claimOf(makePod({ name: 'mnist' }), { mayRun: (name) => name === node })).toBe(claim)
      expect(claimOf(makePod({ name: 'mnist' }, { nodeName: node }))).toBe(claim)
    }
  })

  test('a pod runs without a preferred volume if it may run on none of its nodes', () => {
    const outcome = decide(makePod({ name: 'mnist', enforcement: 'Preferred' }), views, { mayRun: () => false })
    expect(outcome).toMatchObject({
      warnings: ['lodestone: runs without VolumeManager mnist/vol1: no node that it may run on has it'],
    })
  })

  test('every claim of a read-only volume is read-only', () => {
    const own = { name: 'own', persistentVolumeClaim: { claimName: 'c0' } }
    const containers = [{ name: 'main', volumeMounts: [{ name: 'own', mountPath: '/own' }] }]
    const spec = injected(
      makePod({ name: 'mnist', 'mount-path': '/d' }, { volumes: [own], containers, nodeName: 'n1' }),
      [mnist({ claims, readOnly: true, source: { persistentVolumeClaim: { claimName: 'c0' } } })],
    )
    expect(spec.containers[0]?.volumeMounts?.every(({ readOnly }) => readOnly)).toBe(true)
  })
})

test.each([
  { of: 'directories', claimsOn: () => undefined },
  { of: 'claims', claimsOn: (node: string) => [{ claimName: node, node }] },
])('a pod gets a warning about required volumes of $of that no node has together', ({ claimsOn }) => {
  const pod = makePod([
    { name: 'mnist', 'mount-path': '/a' },
    { name: 'lake', 'mount-path': '/b' },
  ])
  const view = (name: string, node: string): MountableVolumes => {
    const claims = claimsOn(node)
    return { name, volumes: [makeUsable(name, { nodes: [node], ...(claims && { claims }) })] }
  }
  const warning = 'lodestone: no node has all of lake/lake, mnist/mnist; give them the same nodeAffinity'
  expect(decide(pod, [view('mnist', 'n1'), view('lake', 'n2')]).warnings).toEqual([warning])
  expect(decide(pod, [view('mnist', 'n1'), view('lake', 'n1')])).not.toHaveProperty('warnings')
})

test('a pod for Windows that requests a volume is rejected, on a hub too', () => {
  const pod = makePod({ name: 'mnist' }, { os: { name: 'windows' } })
  const error = ['spec.os.name', expect.stringContaining('volumes are on Linux nodes only')]
  expect(refused(pod)).toEqual([error])
  expect(refused(pod, [], { isHub: true })).toEqual([error])
})

describe('with a divided volume', () => {
  const shards = ['a', 'b'].map((name) => ({ name, nodeAffinity: nodesWith(`part/${name}`), nodes: [name] }))
  const views = [mnist({ shards: () => shards })]

  test('a pod requests a shard by its name, and runs on the nodes of that shard', () => {
    const spec = injected(makePod({ name: 'mnist', shard: 'b' }), views)
    expect(spec.affinity?.nodeAffinity).toEqual(nodesWith('part/b'))
    expect(spec.volumes?.[0]?.name).toBe('mnist--vol1--b')
  })

  test('a pod without a shard gets a warning', () => {
    const outcome = decide(makePod({ name: 'mnist' }), views)
    expect(outcome.warnings).toEqual([
      'lodestone: mnist/vol1 is divided; set shard to the one that the pod needs: a, b',
    ])
  })

  test('a shard that does not exist is rejected', () => {
    expect(refused(makePod({ name: 'mnist', shard: 'c' }), views)).toEqual([
      [`${ROOT}.shard`, 'volume vol1 of VolumeManager mnist has no such shard; it has a, b'],
    ])
  })
})

describe('a pod is not changed', () => {
  test.each([
    ['without the label', makePod({ name: 'x' }, {}, { labels: {} })],
    [
      'that is a mirror pod of a node',
      makePod('x', {}, { annotations: { 'lodestone.dev/volumes': 'x', 'kubernetes.io/config.mirror': 'a' } }),
    ],
    ['with inject false', makePod({ name: 'x' }, {}, { labels: { 'lodestone.dev/inject': 'false' } })],
  ])('%s', (_name, pod) => {
    expect(decide(pod)).toEqual({ kind: 'allow' })
  })

  test('without the annotation, with a warning', () => {
    expect(decide(makePod('', {}, { annotations: {} }))).toEqual({
      kind: 'allow',
      warnings: ['lodestone: label lodestone.dev/inject without annotation lodestone.dev/volumes'],
    })
  })

  test('on a hub; only errors that are independent of the cluster are rejected', () => {
    expect(decide(makePod({ name: 'x' }), [], { isHub: true })).toEqual({ kind: 'allow' })
    expect(refused(makePod({ name: 'x', containers: [{ name: 'x' }] }), [], { isHub: true })).toHaveLength(1)
    expect(refused(makePod('x'), [], { isHub: true })).toHaveLength(1)
  })
})

const podWith = (metadata: Pod['metadata']): Pod => ({ ...makePod('{}'), metadata })
const annotations = { 'lodestone.dev/volumes': '{"name":"mnist"}' }

test('a pod that requests volumes gets the label', () => {
  expect(completePod(podWith({ name: 'p', labels: { app: 'x' }, annotations }))).toEqual({
    pod: podWith({ name: 'p', labels: { app: 'x', 'lodestone.dev/inject': 'true' }, annotations }),
  })
})

test.each<[string, Pod['metadata'], string[] | undefined]>([
  ['that opts out stays as it is', { labels: { 'lodestone.dev/inject': 'false' }, annotations }, undefined],
  ['without annotations stays as it is', { name: 'p' }, undefined],
  [
    'with a mistyped key gets a warning',
    { annotations: { 'lodestone.dev/volums': '{}' } },
    ['lodestone: unknown annotation lodestone.dev/volums (did you mean lodestone.dev/volumes?)'],
  ],
])('a pod %s', (_name, metadata, warnings) => {
  expect(completePod(podWith(metadata))).toEqual({ outcome: defined({ kind: 'allow', warnings }) })
})
