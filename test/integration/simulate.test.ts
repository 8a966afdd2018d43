import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { accepts, evictionMs, isLedToEviction, refusalOf } from '../simulate/accepts.ts'
import type { Action } from '../simulate/actions.ts'
import type { ApiObject, Binding, Cluster, Taint, Toleration } from '../simulate/karmada.ts'
import type { QueuedWorkload } from '../simulate/kueue.ts'
import { plantedFaults } from '../simulate/planted-faults.ts'
import { configOf, replay, runSeed } from '../simulate/run.ts'
import { schedule } from '../simulate/schedule.ts'
import { shrinkWith } from '../simulate/shrink.ts'
import { playWorlds } from '../simulate/threads.ts'
import { World } from '../simulate/world.ts'

const PREFERS_COST = { enforcement: 'Preferred', preference: 'Cost' }
const PLACEMENT = { clusterAffinity: { clusterNames: ['m1', 'm2'] } }

function clusterNamed(name: string, overrides: Partial<Cluster> = {}): Cluster {
  return {
    apiVersion: 'cluster.karmada.io/v1alpha1',
    kind: 'Cluster',
    metadata: { name },
    spec: {},
    status: { apiEnablements: [{ groupVersion: 'apps/v1', resources: [{ kind: 'Deployment' }] }] },
    ...overrides,
  }
}

function bindingWith(spec: Partial<Binding['spec']> = {}): Binding {
  return {
    apiVersion: 'work.karmada.io/v1alpha2',
    kind: 'ResourceBinding',
    metadata: { namespace: 'a', name: 'app-deployment' },
    spec: {
      resource: { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'a', name: 'app' },
      replicas: 2,
      placement: PLACEMENT,
      ...spec,
    },
  }
}

function applied(object: ApiObject): Action {
  return { do: 'apply', object, via: 0 }
}

// The clusters that the binding of Deployment a/w1 allows after these steps. Throws Violation.
async function clustersAfter(steps: readonly Action[]): Promise<readonly string[] | undefined> {
  const world = new World({ clusters: 3, failover: 'Off', maxMovesPerMinute: 2 })
  try {
    for (const step of steps) await world.perform(step)
    const binding = world.api.get<Binding>('ResourceBinding', 'a', 'w1-deployment')
    return binding?.spec.placement?.clusterAffinity?.clusterNames
  } finally {
    world.stop()
  }
}

describe('the same seed', () => {
  test('makes the same steps with the same times', async () => {
    const logs: string[][] = [[], []]
    for (const log of logs) await runSeed(4, 400, (line) => log.push(line))
    expect(logs[0]?.length).toBeGreaterThan(100)
    expect(logs[0]).toEqual(logs[1])
  })

  test('can be repeated from its list of steps', async () => {
    const { config, actions, failure } = await runSeed(4, 400)
    const log: string[] = []
    const repeated = await replay(config, actions, (line) => log.push(line))
    expect(log.length).toBeGreaterThanOrEqual(actions.length)
    expect(repeated.failure?.message).toBe(failure?.message)
  })
})

test('several threads play the worlds of one, in the order of their seeds', async () => {
  const options = { firstSeed: 4, maxSteps: 220, worldSteps: 200, ignored: [], stories: false, asks: false, log: false }
  const played: [seed: number, steps: number, last: Action | undefined][] = []
  for await (const { seed, actions, failure } of playWorlds(options, 2)) {
    expect(failure).toBeUndefined()
    played.push([seed, actions.length, actions.at(-1)])
    if (played.length === 2) break
  }
  const alone = await Promise.all([runSeed(4, 200), runSeed(5, 20)])
  expect(played).toEqual(alone.map(({ actions }, i) => [4 + i, actions.length, actions.at(-1)]))
  expect(played.map(([, steps]) => steps)).toEqual([200, 20])
  // Two threads load the program again, and a busy machine takes long for that.
}, 300_000)

test('a simulated Karmada does what the answer of what-if said', async () => {
  const run = await runSeed(21, 600, undefined, [], { asks: true })
  expect(run.failure?.message).toBeUndefined()
  expect(run.actions.filter((action) => action.do === 'ask').length).toBeGreaterThan(4)
})

test('a world with prices ranks clusters by cost, and new prices move nothing', async () => {
  const pricesTo = (cheapest: string) =>
    ['m2', 'm3'].map((to) => ({
      from: { provider: 'm1' },
      to: { provider: to },
      pricePerGiB: to === cheapest ? 1 : 2,
    }))
  const group = 'datadependency.volcano.sh/v1alpha1'
  const start = (name: string): Action[] => {
    const workload = { apiVersion: 'apps/v1', kind: 'Deployment', name }
    const metadata = { namespace: 'a', name }
    const placement = {
      clusterAffinity: { clusterNames: ['m2', 'm3'] },
      replicaScheduling: { replicaSchedulingType: 'Divided', replicaDivisionPreference: 'Aggregated' },
    }
    const claimed = { system: 'manual', dataSourceType: 'table', dataSourceName: 'd1', workload }
    const objects = [
      { apiVersion: group, kind: 'DataSourceClaim', spec: { ...claimed, policy: PREFERS_COST } },
      {
        apiVersion: 'policy.karmada.io/v1alpha1',
        kind: 'PropagationPolicy',
        spec: { resourceSelectors: [workload], placement },
      },
      { apiVersion: 'apps/v1', kind: 'Deployment', spec: { replicas: 1, template: { spec: { containers: [] } } } },
    ]
    return [...objects.map((object) => applied({ ...object, metadata } as ApiObject)), { do: 'rest' }]
  }
  const locality = { clusterNames: ['m1'], bytes: 2 ** 30 }
  const source = { system: 'manual', type: 'table', name: 'd1', locality }
  const world = new World({ clusters: 3, failover: 'Off', maxMovesPerMinute: 2, links: pricesTo('m3') })
  const clustersOf = (name: string) =>
    world.api.get<Binding>('ResourceBinding', 'a', `${name}-deployment`)?.spec.clusters?.map((target) => target.name)
  try {
    const steps: Action[] = [
      applied({ apiVersion: group, kind: 'DataSource', metadata: { name: 'd1' }, spec: source } as ApiObject),
      ...start('w1'),
      { do: 'prices', links: pricesTo('m2') },
      ...start('w2'),
    ]
    for (const step of steps) await world.perform(step)
    expect([clustersOf('w1'), clustersOf('w2')]).toEqual([['m3'], ['m2']])
  } finally {
    world.stop()
  }
})

describe('a policy that changes', () => {
  const group = 'datadependency.volcano.sh/v1alpha1'
  const workload = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'w1' }
  const detectVia = (via: number): Action => ({ do: 'detect', kind: 'Deployment', namespace: 'a', name: 'w1', via })
  const policy = (...clusterNames: string[]): Action =>
    applied({
      apiVersion: 'policy.karmada.io/v1alpha1',
      kind: 'PropagationPolicy',
      metadata: { namespace: 'a', name: 'w1' },
      spec: { resourceSelectors: [workload], placement: { clusterAffinity: { clusterNames } } },
    } as ApiObject)
  const claimed: Action[] = [
    applied({
      apiVersion: group,
      kind: 'DataSourceClaim',
      metadata: { namespace: 'a', name: 'w1' },
      spec: { system: 'manual', dataSourceType: 'table', dataSourceName: 'd1', workload },
    } as ApiObject),
    deployment(1),
    { do: 'rest' },
  ]

  test('applies, although a replica took the write of Karmada for one of the loop', async () => {
    expect(
      await clustersAfter([
        { do: 'leave', name: 'm1' },
        dataIn('m1', 'm3'),
        policy('m1', 'm2', 'm3'),
        ...claimed,
        // The replica has neither the cluster nor the policy: the locality annotation explains m1.
        { do: 'join', name: 'm1' },
        policy('m1'),
        detectVia(0),
        dataIn('m3'),
        { do: 'rest' },
      ]),
    ).toEqual(['m1'])
  })

  test('is not reverted by a leader that has not received the change', async () => {
    const received: Action[] = [
      { do: 'receive', who: 0, kind: 'ResourceBinding', count: 10 },
      { do: 'reconcile', loop: 'resource-binding', key: 'a/w1-deployment', via: 1 },
    ]
    expect(
      await clustersAfter([
        dataIn('m1', 'm3'),
        policy('m1'),
        ...claimed,
        policy('m2', 'm3'),
        { do: 'receive', who: 1, kind: 'PropagationPolicy', count: 10 },
        detectVia(1),
        { do: 'receive', who: 'scheduler', kind: 'ResourceBinding', count: 10 },
        { do: 'schedule', key: 'a/w1-deployment', via: 1 },
        ...received,
      ]),
    ).toEqual(['m3'])
  })
})

test('a failure is shrunk to the steps that it needs', async () => {
  const steps = Array.from({ length: 40 }, (_, ms): Action => ({ do: 'advance', ms }))
  const needed = new Set([3, 17, 39])
  const fails = async (list: readonly Action[]) =>
    [...needed].every((ms) => list.some((action) => action.do === 'advance' && action.ms === ms))
  expect(await shrinkWith(steps, fails)).toEqual([...needed].map((ms) => ({ do: 'advance', ms })))
})

describe('the model of the filter', () => {
  const tainted = { spec: { taints: [{ key: 'maintenance', effect: 'NoSchedule' as const }] } }
  test.each([
    ['accepts a cluster of the affinity', clusterNamed('m1'), {}, undefined],
    ['refuses another cluster', clusterNamed('m3'), {}, 'ClusterAffinity'],
    ['refuses a taint', clusterNamed('m1', tainted), {}, 'TaintToleration'],
    ['accepts a taint where the workload runs', clusterNamed('m1', tainted), { clusters: [{ name: 'm1' }] }, undefined],
    [
      'accepts a tolerated taint',
      clusterNamed('m1', tainted),
      { placement: { ...PLACEMENT, clusterTolerations: [{ operator: 'Exists' as const }] } },
      undefined,
    ],
    ['refuses a cluster without the kind', clusterNamed('m1', { status: {} }), {}, 'APIEnablement'],
    [
      'refuses a cluster under eviction',
      clusterNamed('m1'),
      {
        gracefulEvictionTasks: [{ fromCluster: 'm1', purgeMode: 'Gracefully' as const, reason: 'x', producer: 'x' }],
      },
      'ClusterEviction',
    ],
    [
      'refuses a cluster that is being deleted',
      clusterNamed('m1', { metadata: { name: 'm1', deletionTimestamp: '2026-01-01T00:00:00Z' } }),
      { clusters: [{ name: 'm1' }] },
      'deleting',
    ],
  ])('%s', (_name, cluster, spec, refusal) => {
    expect(refusalOf(cluster, bindingWith(spec))).toBe(refusal)
    expect(accepts(cluster, bindingWith(spec))).toBe(refusal === undefined)
  })
})

describe('the model of the taint manager', () => {
  const timeAdded = '2026-01-01T00:00:00Z'
  const taint = (key: string): Taint => ({ key, effect: 'NoExecute', timeAdded })
  const endOf = (seconds: number) => Date.parse(timeAdded) + seconds * 1000
  const ever: Toleration = { operator: 'Exists' }
  const briefly: Toleration = { key: 'a', operator: 'Exists', tolerationSeconds: 30 }
  test.each<[string, Taint[], Toleration[], number | undefined]>([
    ['evicts at once without a toleration', [taint('a')], [], Number.NEGATIVE_INFINITY],
    ['evicts at once if one taint is not tolerated', [taint('a'), taint('b')], [briefly], Number.NEGATIVE_INFINITY],
    ['evicts after the seconds of the first toleration', [taint('a')], [briefly, ever], endOf(30)],
    ['does not read a later toleration', [taint('a')], [ever, briefly], undefined],
    ['evicts by the shortest time of the used ones', [taint('b'), taint('a')], [briefly, ever], endOf(30)],
    ['ignores other effects', [{ key: 'a', effect: 'NoSchedule' }], [], undefined],
    ['does not evict from a cluster without taints', [], [], undefined],
  ])('%s', (_name, taints, tolerations, endMs) => {
    expect(evictionMs(taints, tolerations)).toBe(endMs)
  })

  test('knows whether a workload would only move to clusters that evict it', () => {
    const clusters = [clusterNamed('m1', { spec: { taints: [taint('a')] } }), clusterNamed('m2')]
    const placement = { ...PLACEMENT, clusterTolerations: [briefly] }
    const isLed = (chosen: string[], present: string) =>
      isLedToEviction(chosen, bindingWith({ clusters: [{ name: present }] }), placement, clusters)
    expect([isLed(['m1'], 'm2'), isLed(['m1'], 'm1'), isLed(['m1', 'm2'], 'm3')]).toEqual([true, false, false])
  })
})

// The DataSource of the data d1.
function dataIn(...clusterNames: string[]): Action {
  const spec = { system: 'manual', type: 'table', name: 'd1', locality: { clusterNames } }
  return applied({
    apiVersion: 'datadependency.volcano.sh/v1alpha1',
    kind: 'DataSource',
    metadata: { name: 'd1' },
    spec,
  } as ApiObject)
}

// Deployment a/w1 with this number of replicas.
function deployment(replicas: number): Action {
  const spec = { replicas, template: { spec: { containers: [] } } }
  return applied({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { namespace: 'a', name: 'w1' },
    spec,
  } as ApiObject)
}

// Creates Deployment a/w1 in one of m1 and m2, with a claim for the data d1, which is in m1.
function deploymentWithData(tolerations: object = {}): Action[] {
  const workload = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'w1' }
  const metadata = { namespace: 'a', name: 'w1' }
  // A copy in each cluster would be scheduled to a tainted one again.
  const replicaScheduling = { replicaSchedulingType: 'Divided', replicaDivisionPreference: 'Aggregated' }
  const placement = { clusterAffinity: { clusterNames: ['m1', 'm2'] }, ...tolerations, replicaScheduling }
  const objects = [
    {
      apiVersion: 'datadependency.volcano.sh/v1alpha1',
      kind: 'DataSourceClaim',
      metadata,
      spec: { system: 'manual', dataSourceType: 'table', dataSourceName: 'd1', workload },
    },
    {
      apiVersion: 'policy.karmada.io/v1alpha1',
      kind: 'PropagationPolicy',
      metadata,
      spec: { resourceSelectors: [workload], placement },
    },
  ]
  return [dataIn('m1'), ...objects.map((object) => applied(object as ApiObject)), deployment(1)]
}

function clustersIn(world: World): string[] | undefined {
  return world.api.get<Binding>('ResourceBinding', 'a', 'w1-deployment')?.spec.clusters?.map(({ name }) => name)
}

test('a lazy policy that changes applies when its workload changes', async () => {
  const lazy = (...clusterNames: string[]): Action =>
    applied({
      apiVersion: 'policy.karmada.io/v1alpha1',
      kind: 'PropagationPolicy',
      metadata: { namespace: 'a', name: 'w1' },
      spec: {
        resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'w1' }],
        placement: { clusterAffinity: { clusterNames } },
        activationPreference: 'Lazy',
      },
    } as ApiObject)
  const settle: Action = { do: 'settle' }
  expect(await clustersAfter([lazy('m1'), deployment(1), settle, lazy('m2'), settle])).toEqual(['m1'])
  expect(await clustersAfter([lazy('m1'), deployment(1), lazy('m2'), deployment(2), settle])).toEqual(['m2'])
})

test('a workload that is scaled to zero while it moves leaves its cluster', async () => {
  const world = new World({ clusters: 3, failover: 'Off', maxMovesPerMinute: 2 })
  const allowed = () => world.api.get<Binding>('ResourceBinding', 'a', 'w1-deployment')?.spec.placement?.clusterAffinity
  try {
    for (const step of [...deploymentWithData(), { do: 'settle' } as const]) await world.perform(step)
    expect(clustersIn(world)).toEqual(['m1'])
    await world.perform(dataIn('m2'))
    while (allowed()?.clusterNames?.[0] !== 'm2') {
      const [action] = world
        .pending(() => 0)
        .flat()
        .filter(({ do: what }) => what !== 'schedule')
      await world.perform(action ?? { do: 'advance', ms: 1000 })
    }
    for (const step of [deployment(0), { do: 'settle' } as const]) await world.perform(step)
    expect(clustersIn(world)).toBeUndefined()
  } finally {
    world.stop()
  }
})

test('a workload is evicted after its toleration, and returns when the taint is gone', async () => {
  const world = new World({ clusters: 3, failover: 'Directly', maxMovesPerMinute: 2 })
  const clusterTolerations = [{ key: 'maintenance', operator: 'Exists', tolerationSeconds: 30 }]
  const perform = async (...steps: Action[]) => {
    for (const step of steps) await world.perform(step)
    return clustersIn(world)
  }
  try {
    const taints: Taint[] = [{ key: 'maintenance', effect: 'NoExecute' }]
    const tainted: Action = { do: 'cluster', name: 'm1', change: { taints } }
    const settle: Action = { do: 'settle' }
    expect(await perform(...deploymentWithData({ clusterTolerations }), settle)).toEqual(['m1'])
    expect(await perform(tainted, { do: 'advance', ms: 29_000 }, settle)).toEqual(['m1'])
    expect(await perform({ do: 'advance', ms: 2000 }, settle)).toEqual(['m2'])
    expect(await perform({ do: 'cluster', name: 'm1', change: { taints: [] } }, { do: 'rest' })).toEqual(['m1'])
  } finally {
    world.stop()
  }
})

test('a simulated Kueue gives a job to the worker with its data', async () => {
  const world = new World({ clusters: 3, failover: 'Off', maxMovesPerMinute: 2, queues: true })
  const group = 'datadependency.volcano.sh/v1alpha1'
  const workload = { apiVersion: 'batch/v1', kind: 'Job', name: 'w1' }
  const metadata = { namespace: 'a', name: 'w1' }
  const dataIn = (...clusterNames: string[]) =>
    applied({
      apiVersion: group,
      kind: 'DataSource',
      metadata: { name: 'd1' },
      spec: { system: 'manual', type: 'table', name: 'd1', locality: { clusterNames } },
    } as ApiObject)
  const objects = [
    {
      apiVersion: group,
      kind: 'DataSourceClaim',
      metadata,
      spec: { system: 'manual', dataSourceType: 'table', dataSourceName: 'd1', workload },
    },
    { ...workload, metadata, spec: { parallelism: 1, template: { spec: { containers: [] } } } },
  ]
  const worker = async (...steps: Action[]) => {
    for (const step of steps) await world.perform(step)
    return world.api.get<QueuedWorkload>('Workload', 'a', 'job-w1')?.status?.clusterName
  }
  try {
    const settle: Action = { do: 'settle' }
    expect(await worker(...objects.map((object) => applied(object as ApiObject)), settle)).toBeUndefined()
    expect(await worker(dataIn('m2'), settle)).toBe('m2')
    expect(await worker(dataIn('m3'), { do: 'preempt', key: 'a/job-w1' }, settle)).toBe('m3')
    expect(await worker({ do: 'delete', kind: 'Job', ...metadata, via: 0 }, { do: 'rest' })).toBeUndefined()
  } finally {
    world.stop()
  }
})

describe('the model of the scheduler', () => {
  const all = ['m1', 'm2', 'm3'].map((name) => clusterNamed(name))
  const groups = ['first', 'second'].map((affinityName, i) => ({ affinityName, clusterNames: [`m${i + 1}`] }))
  const divided = { replicaSchedulingType: 'Divided' as const, replicaDivisionPreference: 'Weighted' as const }
  test.each([
    ['copies to every cluster', {}, { kind: 'fit', clusters: ['m1', 'm2'].map((name) => ({ name, replicas: 2 })) }],
    [
      'divides evenly',
      { placement: { ...PLACEMENT, replicaScheduling: divided } },
      { kind: 'fit', clusters: ['m1', 'm2'].map((name) => ({ name, replicas: 1 })) },
    ],
    [
      'takes the first group',
      { placement: { clusterAffinities: groups } },
      { kind: 'fit', clusters: [{ name: 'm1', replicas: 2 }], affinityName: 'first' },
    ],
    ['removes a workload without replicas', { replicas: 0, replicaRequirements: {} }, { kind: 'fit', clusters: [] }],
    [
      'copies a workload without replicas and requirements',
      { replicas: 0 },
      { kind: 'fit', clusters: [{ name: 'm1' }, { name: 'm2' }] },
    ],
    ['finds no cluster', { placement: { clusterAffinity: { clusterNames: ['m9'] } } }, { kind: 'noFit' }],
    [
      'fails below minGroups',
      { placement: { ...PLACEMENT, spreadConstraints: [{ spreadByField: 'cluster', minGroups: 3 }] } },
      {
        kind: 'error',
        reason: 'SchedulerError',
        message: 'failed to select clusters: too few clusters, or too little room',
      },
    ],
  ])('%s', (_name, spec, result) => {
    expect(schedule(bindingWith(spec), all)).toEqual(result)
  })

  test('divides replicas anew for a WorkloadRebalancer, also without a change', () => {
    const replicaScheduling = { ...divided, weightPreference: { dynamicWeight: 'AvailableReplicas' } }
    const clusters = [{ name: 'm2', replicas: 2 }]
    const binding = bindingWith({
      clusters,
      placement: { ...PLACEMENT, replicaScheduling },
      rescheduleTriggeredAt: '2026-01-01T00:00:01Z',
    })
    const at = (lastScheduledTime: string) => {
      const result = schedule({ ...binding, status: { lastScheduledTime } }, all)
      return result.kind === 'fit' && result.clusters.toSorted((a, b) => (a.name < b.name ? -1 : 1))
    }
    expect(at('2026-01-01T00:00:02Z')).toEqual(clusters)
    expect(at('2026-01-01T00:00:00Z')).toEqual(['m1', 'm2'].map((name) => ({ name, replicas: 1 })))
  })

  test('does not go back to an earlier group', () => {
    const binding = bindingWith({ placement: { clusterAffinities: groups } })
    const status = { schedulerObservingAffinityName: 'second' }
    expect(schedule({ ...binding, status }, all)).toMatchObject({ affinityName: 'second' })
  })
})

test('worlds differ in their settings', () => {
  const settings = new Set(Array.from({ length: 30 }, (_, seed) => configOf(seed).failover))
  expect([...settings].sort()).toEqual(['Directly', 'Gracefully', 'Off'])
})

test.each(plantedFaults)('a planted fault fits the source: $breaks', ({ file, search }) => {
  expect(readFileSync(file, 'utf8').split(search)).toHaveLength(2)
})
