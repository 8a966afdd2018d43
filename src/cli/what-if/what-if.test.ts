import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  makeBinding,
  makeClaim,
  makeCluster,
  makeDeployment,
  makeForeignClaim,
  makeNamespace,
  makeObject,
  makePolicy,
  makeSource,
  makeVolumeManager,
} from '../../../test/builders.ts'
import type { PreferenceFigure } from '../../api/data-source-claim.ts'
import type {
  Placement,
  PropagationPolicy,
  PropagationSpec,
  ResourceBinding,
  ResourceSelector,
} from '../../api/karmada.ts'
import type { K8sObject, ObjectMeta } from '../../api/meta.ts'
import { makeFolder, readFolder, runWords } from '../cli.fake.ts'

const GiB = 1024 ** 3
const divided = { replicaScheduling: { replicaSchedulingType: 'Divided', replicaDivisionPreference: 'Aggregated' } }
const placement = { clusterAffinity: { clusterNames: ['member1', 'member2', 'member3'] }, ...divided }
const clusters = ['member1', 'member2', 'member3'].map((name) => makeCluster(name))
const source = makeSource({ locality: { clusterNames: ['member2'], bytes: 5 * GiB } })
const policy = makePolicy({ placement })
const locality = {
  state: 'Narrowed',
  message: 'default/sales is in member2',
  claims: ['default/sales'],
  required: ['member2'],
}
const narrowed = makeBinding(
  { placement: { ...placement, clusterAffinity: { clusterNames: ['member2'] } }, clusters: [{ name: 'member2' }] },
  {
    annotations: {
      'lodestone.dev/base-affinity': JSON.stringify({ clusterAffinity: placement.clusterAffinity }),
      'lodestone.dev/locality': JSON.stringify(locality),
    },
  },
)
const dependency = {
  ...makeBinding(
    { resource: { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name: 'settings' } },
    { name: 'settings-configmap' },
  ),
  spec: {
    resource: { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name: 'settings' },
    requiredBy: [{ namespace: 'default', name: 'app-deployment', clusters: [{ name: 'member2' }] }],
  },
}

const HUB: K8sObject[] = [...clusters, source, policy, makeClaim(), narrowed, dependency]

async function whatIf(options: string[], objects: unknown[] = HUB, files: Record<string, unknown> = {}) {
  const folder = makeFolder({ 'hub/all.yaml': objects, ...files })
  const before = readFolder(folder)
  const answer = await runWords([
    'what-if',
    ...options.map((word) => word.replaceAll('@', `${folder}/`)),
    '--folder',
    join(folder, 'hub'),
  ])
  expect(readFolder(folder), 'a question changes no file').toEqual(before)
  return { ...answer, stderr: answer.stderr.replaceAll(`${folder}/`, '@') }
}

test('the loss of a cluster moves the workload, its data and its dependencies', async () => {
  const { status, stdout, stderr } = await whatIf(['--cluster-lost', 'member2'])
  expect(stderr).toBe('')
  expect(status).toBe(0)
  expect(stdout).toBe(`What if member2 is lost? (1 workload)

EFFECT   WORKLOADS   DATA      DEPENDENCIES
moves    1           5.0 GiB   1

moves: the workload leaves a cluster, and runs in another one
  Deployment default/app: member2 → one of member1, member3
      no cluster with the data can take the workload: member2 is being evicted
`)
})

test('several suppositions hold together', async () => {
  const { stdout } = await whatIf(['--cluster-lost', 'member2', '--taint', 'member1=full:NoSchedule'])
  expect(stdout).toContain('What if member1 has the taint full:NoSchedule, and member2 is lost?')
  expect(stdout).toContain('Deployment default/app: member2 → member3\n')
})

test('a hold for static weights ends when the only cluster with a weight leaves', async () => {
  const weighted: Placement = {
    clusterAffinity: {},
    replicaScheduling: {
      replicaSchedulingType: 'Divided',
      replicaDivisionPreference: 'Weighted',
      weightPreference: { staticWeightList: [{ targetCluster: { clusterNames: ['member1'] }, weight: 1 }] },
    },
  }
  const hold = { message: '', reason: 'Unsatisfiable', since: '2026-01-01T00:00:00Z' }
  const held = makeBinding(
    { placement: weighted, suspension: { scheduling: true } },
    { annotations: { 'lodestone.dev/hold': JSON.stringify(hold) } },
  )
  const hub = [...clusters, source, makePolicy({ placement: weighted }), makeClaim(), held]
  const { stdout } = await whatIf(['--delete', 'cluster/member1'], hub)
  expect(stdout).toContain('Deployment default/app: to member2\n')
})

test('a status of a wrong type is named, with its place', async () => {
  const { stderr } = await whatIf(
    ['--cluster-lost', 'member2'],
    [...clusters, { ...narrowed, status: { conditions: 7 } }],
  )
  expect(stderr).toMatch(/:\d+: ResourceBinding app-deployment: status.conditions: must be of type array\n$/)
})

test('an object of the folder that cannot be read is named', async () => {
  const { status, stderr } = await whatIf(
    ['--cluster-lost', 'member2'],
    [...clusters, { ...narrowed, metadata: { ...narrowed.metadata, finalizers: 7 } }],
  )
  expect(stderr).toMatch(/^lodestone what-if: ResourceBinding default\/app-deployment cannot be cached: [^\n]+\n$/)
  expect(status).toBe(0)
})

describe('a workload for which the scheduler found no cluster', () => {
  const stuck = {
    ...makeBinding({ placement: { clusterAffinity: { clusterNames: ['member1'] } } }),
    status: { conditions: [{ type: 'Scheduled', status: 'False', reason: 'NoClusterFit' }] },
  }
  const taint = (taint: string) => whatIf(['--taint', taint], [...clusters, policy, stuck])

  test('is placed when a cluster of its policy changes, since the scheduler tries again', async () => {
    expect((await taint('member1=full:PreferNoSchedule')).stdout).toContain('Deployment default/app: to member1\n')
  })

  test('is not shown when that cluster gets a taint that keeps it away', async () => {
    expect((await taint('member1=full:NoSchedule')).stdout).toContain('Nothing changes for 1 workload.')
  })

  test('is not shown when another cluster changes', async () => {
    expect((await taint('member3=full:PreferNoSchedule')).stdout).toContain('Nothing changes for 1 workload.')
  })
})

describe('a workload that the scheduler is about to move', () => {
  const among = (...names: string[]) => ({ clusterNames: names })
  const groups = [
    { affinityName: 'one', ...among('member1', 'member3') },
    { affinityName: 'two', ...among('member2', 'member3') },
  ]
  const runs = (...names: string[]) => names.map((name) => ({ name, replicas: 2 }))
  const inGroup = (name: string) => ({ status: { schedulerObservingAffinityName: name } })

  test.each<{ name: string; binding: ResourceBinding; want: string }>([
    {
      name: 'from a cluster that evicts it',
      binding: makeBinding({
        placement: { ...divided, clusterAffinity: among('member1', 'member3') },
        clusters: runs('member1'),
        gracefulEvictionTasks: [{ fromCluster: 'member1' }],
      }),
      want: 'Deployment default/app: leaves member1',
    },
    {
      name: 'from a cluster of an earlier group',
      binding: {
        ...makeBinding({ placement: { clusterAffinities: groups }, clusters: runs('member1', 'member2') }),
        ...inGroup('two'),
      },
      want: 'Deployment default/app: leaves member1',
    },
    {
      name: 'into the clusters that its placement needs',
      binding: {
        ...makeBinding({
          placement: {
            clusterAffinities: [
              { affinityName: 'one', ...among('member1', 'member3') },
              { affinityName: 'two', ...among('member1', 'member2') },
            ],
            spreadConstraints: [{ spreadByField: 'cluster', minGroups: 2, maxGroups: 2 }],
          },
          clusters: runs('member1'),
        }),
        ...inGroup('one'),
      },
      want: 'Deployment default/app: to member2',
    },
  ])('$name loses the cluster to which it would go', async ({ binding, want }) => {
    const { stdout } = await whatIf(['--cluster-lost', 'member3'], [...clusters, policy, binding])
    expect(stdout).toContain(want)
  })
})

describe('a workload that waits for the scheduler', () => {
  const waiting = makeBinding({ placement: { clusterAffinity: { clusterNames: ['member1', 'member3'] } } })
  const lose = (...names: string[]) =>
    whatIf(
      names.flatMap((name) => ['--cluster-lost', name]),
      [...clusters, policy, waiting],
    )

  test('is not shown while another cluster is left for it', async () => {
    expect((await lose('member1')).stdout).toContain('Nothing changes')
    expect((await lose('member1', 'member2')).stdout).toContain('Nothing changes')
  })

  test('is stranded when its last clusters are lost together', async () => {
    expect((await lose('member1', 'member3')).stdout).toMatch(/^stranded +1 /m)
  })
})

test('a dependency is no workload of an answer', async () => {
  const { status, stdout, stderr } = await whatIf(['--delete', 'configmap/settings', '-n', 'default'])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toContain('Nothing changes for 1 workload.')
})

test('a later supposition about the same cluster counts', async () => {
  const { stdout } = await whatIf(['--taint', 'member2=broken:NoExecute', '--taint', 'member2=broken-'])
  expect(stdout).toContain('Nothing changes for 1 workload.')
})

test.each<{ name: string; options: string[]; want: string }>([
  { name: 'data moves', options: ['--data', 'lake.shop.sales=member3'], want: 'default/app: member2 → member3' },
  {
    name: 'a taint evicts',
    options: ['--taint', 'member2=broken=yes:NoExecute'],
    want: 'What if member2 has the taint broken=yes:NoExecute?',
  },
  {
    name: 'a taint keeps new workloads away',
    options: ['--taint', 'member2=full:NoSchedule'],
    want: 'Nothing changes for 1 workload.',
  },
  {
    name: 'a claim is deleted',
    options: ['--delete', 'dsc/sales', '-n', 'default'],
    want: 'stays: the workload stays where it runs, and its decision changes',
  },
  {
    name: 'the location of a source is out of date, and no claim limits its age',
    options: ['--source-stale', 'amoro-table-lake.shop.sales'],
    want: 'Nothing changes for 1 workload.',
  },
  {
    name: 'a workload is deleted of which only the binding is known',
    options: ['--delete', 'deployment/app', '-n', 'default'],
    want: 'removed: the binding of the workload is deleted',
  },
  { name: 'a cluster is deleted', options: ['--delete', 'cluster/member2'], want: 'Deployment default/app: member2 →' },
])('the answer says what happens if $name', async ({ options, want }) => {
  const { status, stdout, stderr } = await whatIf(options)
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toContain(want)
})

describe('manifests', () => {
  test('a policy that excludes the data strands no workload, since it stays', async () => {
    const changed = makePolicy({ placement: { ...placement, clusterAffinity: { clusterNames: ['member1'] } } })
    const { stdout } = await whatIf(['--policy', '@policy.yaml'], HUB, { 'policy.yaml': changed })
    expect(stdout).toContain('What if PropagationPolicy default/app is applied?')
    expect(stdout).toContain('Deployment default/app: member2 → member1')
  })

  test('a new claim moves a workload to its data', async () => {
    const plain = makeBinding({ placement, clusters: [{ name: 'member1' }] })
    const { stdout } = await whatIf(['-f', '@claim.yaml'], [...clusters, source, policy, plain], {
      'claim.yaml': makeClaim(),
    })
    expect(stdout).toContain('Deployment default/app: member1 → member2')
  })

  test('the status of an exported manifest does not count', async () => {
    const limited = makeClaim({ policy: { maxStalenessSeconds: 60 } })
    const fresh = { ...source, status: { phase: 'Available', lastResolvedTime: new Date().toISOString() } }
    const exported = {
      ...makeSource({ locality: { clusterNames: ['member3'], bytes: GiB } }),
      status: { phase: 'Available', lastResolvedTime: '2026-01-01T00:00:00Z' },
    }
    const { stdout } = await whatIf(['-f', '@source.yaml'], [...clusters, fresh, policy, limited, narrowed], {
      'source.yaml': exported,
    })
    expect(stdout).toContain('Deployment default/app: member2 → member3')
  })

  const { locality: _found, ...unlocated } = source.spec
  const lost = { key: 'cluster.karmada.io/not-ready', effect: 'NoExecute' } as const
  test.each<{ name: string; hub: K8sObject[]; manifest: K8sObject }>([
    { name: 'a source without the location', hub: HUB, manifest: { ...source, spec: unlocated } as K8sObject },
    {
      name: 'a Namespace without its grant',
      hub: [...clusters, source, policy, narrowed, makeNamespace('default', 'other'), makeForeignClaim()],
      manifest: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } },
    },
    {
      name: 'a Cluster without the taint of Karmada',
      hub: [...clusters.slice(0, 2), makeCluster('member3', { taints: [lost] }), policy, makeBinding({ placement })],
      manifest: makeCluster('member3', { region: 'north' }),
    },
  ])('$name changes nothing, as with kubectl apply', async ({ hub, manifest }) => {
    const { stdout } = await whatIf(['-f', '@given.yaml'], hub, { 'given.yaml': manifest })
    expect(stdout).toContain('Nothing changes for 1 workload.')
  })

  test('that lack what a decision reads say that it stays', async () => {
    const hub = [...HUB, makeNamespace('default', 'other')]
    const { stdout } = await whatIf(['-f', '@ns.yaml'], hub, { 'ns.yaml': makeNamespace('default') })
    expect(stdout).toContain('Note: Namespace default keeps lodestone.dev/allow-claims-from, which its manifest lacks')
  })

  test('a new workload is placed by its policy and its claim', async () => {
    const { stdout } = await whatIf(['-f', '@app.yaml'], [...clusters, source, policy, makeClaim()], {
      'app.yaml': makeDeployment(),
    })
    expect(stdout).toContain('placed: the workload does not run yet, and is scheduled to these clusters')
    expect(stdout).toContain('Deployment default/app: to member2')
  })

  test('a Cluster is applied as it is, and no policy selects it', async () => {
    const tainted = makeCluster('member2', { taints: [{ key: 'broken', effect: 'NoExecute' }] })
    const { stdout } = await whatIf(['-f', '@cluster.yaml'], HUB, { 'cluster.yaml': tainted })
    expect(stdout).toContain('Deployment default/app: member2 → one of member1, member3')
    expect(stdout).not.toContain('Note:')
  })

  test('a new workload may precede its policy', async () => {
    const { stdout } = await whatIf(['-f', '@app.yaml'], [...clusters, source, makeClaim()], {
      'app.yaml': [makeDeployment(), policy],
    })
    expect(stdout).toContain('Deployment default/app: to member2')
  })

  test('a claim for data without a location says so', async () => {
    const { stdout } = await whatIf(['-f', '@claim.yaml'], HUB, {
      'claim.yaml': makeClaim({ dataSourceName: 'lake.shop.returns' }, { name: 'returns' }),
    })
    expect(stdout).toContain('no DataSource for amoro table lake.shop.returns yet')
  })

  test.each<{ name: string; kind?: string; template: object; is: boolean }>([
    { name: 'another number of replicas', template: { replicas: 9 }, is: true },
    { name: 'the same number of replicas', template: { replicas: 2 }, is: false },
    { name: 'no number of replicas', template: {}, is: false },
    {
      name: 'a number of replicas that Karmada may read otherwise',
      kind: 'Thing',
      template: { replicas: 9 },
      is: false,
    },
  ])('$name is a note: $is', async ({ kind = 'Deployment', template, is }) => {
    const app = { ...makeDeployment(), kind, spec: { ...template, template: { spec: { containers: [] } } } }
    const apiVersion = kind === 'Thing' ? 'example.com/v1' : app.apiVersion
    const resource = { apiVersion, kind, namespace: 'default', name: 'app' }
    const bound = makeBinding({ ...narrowed.spec, resource }, { name: `app-${kind.toLowerCase()}` })
    const files = { 'app.yaml': { ...app, apiVersion } }
    const { stdout, stderr } = await whatIf(['-f', '@app.yaml'], [...clusters, policy, bound], files)
    expect(stderr).toBe('')
    expect(stdout.includes('gets another number of replicas, and ')).toBe(is)
  })

  describe('a workload without replicas', () => {
    const scaled = (replicas: number) => ({
      ...makeDeployment(),
      spec: { replicas, template: { spec: { containers: [] } } },
    })
    const empty = makeBinding({ placement, replicas: 0, replicaRequirements: {} })
    const hub = (located: K8sObject, bound: K8sObject = empty) => [...clusters, policy, makeClaim(), bound, located]
    const elsewhere = makeSource({ locality: { clusterNames: ['member9'] } })
    const held = {
      ...empty,
      metadata: {
        ...empty.metadata,
        annotations: {
          ...empty.metadata.annotations,
          'lodestone.dev/hold': JSON.stringify({ message: '', reason: 'Unsatisfiable', since: '2026-01-01T00:00:00Z' }),
        },
      },
      spec: { ...empty.spec, suspension: { scheduling: true } },
    }

    test.each<{ name: string; objects: K8sObject[]; want: object }>([
      { name: 'is placed with its data', objects: hub(source), want: { effect: 'placed', to: ['member2'] } },
      { name: 'waits for data in no cluster', objects: hub(elsewhere), want: { effect: 'waits' } },
      { name: 'stays on hold', objects: hub(elsewhere, held), want: { effect: 'waits' } },
    ])('that gets replicas again $name', async ({ objects, want }) => {
      const { stdout } = await whatIf(['-f', '@app.yaml', '-o', 'json'], objects, { 'app.yaml': scaled(3) })
      expect(JSON.parse(stdout)).toMatchObject({ changes: [want], notes: [] })
    })

    test('is not scheduled when its data moves', async () => {
      const { stdout } = await whatIf(['--data', 'lake.shop.sales=member3'], hub(source))
      expect(stdout).toContain('Nothing changes for 1 workload.')
    })

    test('is put on hold when its data is lost', async () => {
      const { stdout } = await whatIf(['--cluster-lost', 'member2'], hub(source))
      expect(stdout).toContain('waits: the workload is put on hold')
    })

    test('is not stranded when all clusters are lost', async () => {
      const lost = clusters.flatMap(({ metadata }) => ['--cluster-lost', metadata.name ?? ''])
      const { stdout } = await whatIf(lost, [...clusters, policy, empty])
      expect(stdout).toContain('Nothing changes for 1 workload.')
    })

    test('that had some is a note, since it leaves its clusters', async () => {
      const copied = { placement: { clusterAffinity: placement.clusterAffinity } }
      const runs = makeBinding({ ...copied, replicas: 2, clusters: [{ name: 'member1' }] })
      const objects = [...clusters, makePolicy(copied), runs]
      const { stdout } = await whatIf(['-f', '@app.yaml'], objects, { 'app.yaml': scaled(0) })
      expect(stdout).toContain('gets another number of replicas, and ')
    })
  })

  test('a workload without a policy is a note', async () => {
    const { stdout } = await whatIf(['-f', '@app.yaml'], clusters, { 'app.yaml': makeDeployment() })
    expect(stdout).toContain('Note: no policy selects Deployment default/app, so Karmada does not schedule it.')
  })

  test('an object that no decision reads is a note', async () => {
    const other = { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 'x', namespace: 'default' } }
    const { stdout } = await whatIf(['-f', '@x.yaml'], HUB, { 'x.yaml': other })
    expect(stdout).toContain('Note: no policy selects Thing default/x')
  })
})

describe('policies', () => {
  const placed = (...names: string[]) => ({ ...placement, clusterAffinity: { clusterNames: names } })
  const running = makeBinding({ placement: placed('member1'), clusters: [{ name: 'member1' }] })
  const own = makePolicy({ placement: placed('member1') })
  const other = (spec: Partial<PropagationSpec>, metadata: ObjectMeta = {}) =>
    makePolicy({ placement: placed('member3'), ...spec }, { name: 'other', ...metadata })
  const clusterScoped = (policy: PropagationPolicy) => {
    const { namespace: _none, ...metadata } = policy.metadata
    const resourceSelectors = policy.spec.resourceSelectors.map((selector) => ({ namespace: 'default', ...selector }))
    return { ...policy, kind: 'ClusterPropagationPolicy', metadata, spec: { ...policy.spec, resourceSelectors } }
  }
  const elsewhere = [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'elsewhere' }]
  const byKind = [{ apiVersion: 'apps/v1', kind: 'Deployment' }]
  const byLabels = [{ ...byKind[0], labelSelector: { matchLabels: { team: 'a' } } }] as ResourceSelector[]
  const moves = 'Deployment default/app: member1 → member3'
  const nothing = 'Nothing changes for 1 workload.'
  const owned = { 'clusterpropagationpolicy.karmada.io/name': 'app' }
  const runningByCluster = {
    ...running,
    metadata: { name: 'app-deployment', namespace: 'default', annotations: owned },
  }

  const { annotations: _owner, ...unownedMetadata } = running.metadata
  const unowned = { ...running, metadata: unownedMetadata }
  const lazy = makePolicy({ activationPreference: 'Lazy', resourceSelectors: byKind }, { name: 'lazy' })

  test.each<{ name: string; hub?: K8sObject[]; applied: K8sObject[]; want: string }>([
    {
      name: 'that select the workload no more leave it where it runs',
      applied: [makePolicy({ placement: placed('member3'), resourceSelectors: elsewhere })],
      want: nothing,
    },
    {
      name: 'that select it no more give it to another policy',
      hub: [own, running, other({})],
      applied: [makePolicy({ placement: placed('member2'), resourceSelectors: elsewhere })],
      want: moves,
    },
    {
      name: 'that select it by labels no more give it to another policy',
      hub: [makePolicy({ resourceSelectors: byKind }), running, other({}), makeDeployment({ labels: { team: 'b' } })],
      applied: [makePolicy({ placement: placed('member2'), resourceSelectors: byLabels })],
      want: moves,
    },
    {
      name: 'that did not select it any more before a change give it to another policy by the change',
      hub: [makePolicy({ resourceSelectors: byLabels }), running, other({}), makeDeployment({ labels: { team: 'b' } })],
      applied: [makePolicy({ placement: placed('member2'), resourceSelectors: byLabels })],
      want: moves,
    },
    {
      name: 'that did not select it any more keep it until they change',
      hub: [makePolicy({ resourceSelectors: byLabels }), running, other({}), makeDeployment({ labels: { team: 'b' } })],
      applied: [makePolicy({ resourceSelectors: byLabels }, { annotations: { note: 'new' } })],
      want: nothing,
    },
    {
      name: 'that select it no more give it to no lazy policy',
      hub: [own, running, other({ activationPreference: 'Lazy' })],
      applied: [makePolicy({ placement: placed('member2'), resourceSelectors: elsewhere })],
      want: nothing,
    },
    {
      name: 'that do not preempt leave it to its policy',
      applied: [other({ priority: 5 })],
      want: nothing,
    },
    {
      name: 'with a higher priority take it over',
      applied: [other({ priority: 5, preemption: 'Always' })],
      want: moves,
    },
    {
      name: 'with the same priority do not take it over',
      applied: [other({ preemption: 'Always' })],
      want: nothing,
    },
    {
      name: 'without its name do not take it over',
      applied: [other({ priority: 5, preemption: 'Always', resourceSelectors: byKind })],
      want: nothing,
    },
    {
      name: 'that are lazy take it over when the workload changes',
      applied: [other({ priority: 5, preemption: 'Always', activationPreference: 'Lazy' })],
      want: nothing,
    },
    {
      name: 'of its namespace take it over from a cluster-scoped one',
      hub: [clusterScoped(own), runningByCluster],
      applied: [other({ priority: -1, preemption: 'Always' })],
      want: moves,
    },
    {
      name: 'that are cluster-scoped do not take it over from one of its namespace',
      applied: [clusterScoped(other({ priority: 5, preemption: 'Always' }))],
      want: nothing,
    },
    {
      name: 'that are cluster-scoped take it over from one with a lower priority',
      hub: [clusterScoped(own), runningByCluster],
      applied: [clusterScoped(other({ priority: 5, preemption: 'Always' }))],
      want: moves,
    },
    {
      name: 'whose priority is lowered lose it to one between both priorities',
      hub: [{ ...own, spec: { ...own.spec, priority: 9 } }, running, other({ priority: 5, preemption: 'Always' })],
      applied: [own],
      want: moves,
    },
    {
      name: 'whose priority is raised lose it to none',
      hub: [own, running, other({ priority: 5, preemption: 'Always' })],
      applied: [{ ...own, spec: { ...own.spec, priority: 1 } }],
      want: nothing,
    },
    {
      name: 'that do not select it leave it to the lazy policy that waits for its change',
      hub: [unowned, lazy, other({})],
      applied: [makePolicy({ resourceSelectors: elsewhere }, { name: 'unrelated' })],
      want: nothing,
    },
    {
      name: 'that select it leave it to the lazy policy that waits for its change',
      hub: [unowned, lazy],
      applied: [other({ priority: 5 })],
      want: nothing,
    },
    {
      name: 'that preempt take it over from the lazy policy that waits for its change',
      hub: [unowned, lazy],
      applied: [other({ priority: 5, preemption: 'Always' })],
      want: moves,
    },
    {
      name: 'that select it get it if no lazy policy has it',
      hub: [unowned],
      applied: [other({})],
      want: moves,
    },
  ])('$name', async ({ hub = [own, running], applied, want }) => {
    const { stdout, stderr } = await whatIf(['--policy', '@policy.yaml'], [...clusters, ...hub], {
      'policy.yaml': applied,
    })
    expect(stderr).toBe('')
    expect(stdout).toContain(want)
  })

  test('that lack the defaults of Karmada are those that it has stored', async () => {
    const spread = { maxGroups: 2 }
    const given = (spreadConstraints: object[]) =>
      makePolicy({
        placement: { ...placement, replicaScheduling: { replicaSchedulingType: 'Duplicated' }, spreadConstraints },
      })
    const stored = given([{ ...spread, spreadByField: 'cluster', minGroups: 1 }])
    const hub = [...clusters, stored, makeBinding({ ...stored.spec, clusters: [{ name: 'member1', replicas: 2 }] })]
    const { stdout } = await whatIf(['--policy', '@policy.yaml'], hub, { 'policy.yaml': given([spread]) })
    expect(stdout).toContain(nothing)
  })

  test('that divide replicas without a preference divide them by weight', async () => {
    const given = (clusterNames: string[], preference: object) => ({
      clusterAffinity: { clusterNames },
      replicaScheduling: { replicaSchedulingType: 'Divided', ...preference },
    })
    const stored = given(['member1'], { replicaDivisionPreference: 'Weighted' })
    const hub = [
      ...[...clusters, makePolicy({ placement: stored })],
      makeBinding({ placement: stored, clusters: [{ name: 'member1', replicas: 2 }] }),
    ]
    const applied = makePolicy({ placement: given(['member1', 'member3'], {}) })
    const { stdout } = await whatIf(['--policy', '@policy.yaml'], hub, { 'policy.yaml': applied })
    expect(stdout).toContain('Deployment default/app: to member3\n')
  })

  const preserving = (preserveResourcesOnDeletion: boolean) => ({ preserveResourcesOnDeletion })
  const rules = [{ aliasLabelName: 'job', jsonPath: '{.jobId}' }]
  const stateful = { failover: { application: { statePreservation: { rules } } } }
  const pausing = (dispatching: boolean) => ({ suspension: { dispatching } })
  test.each<{ name: string; stored: object; applied: object; want: string }>([
    {
      name: 'that begin to preserve resources keep their workloads',
      stored: preserving(false),
      applied: preserving(true),
      want: 'stays ',
    },
    {
      name: 'that end to preserve resources let their workloads move',
      stored: preserving(true),
      applied: preserving(false),
      want: 'moves ',
    },
    { name: 'that begin to preserve state keep their workloads', stored: {}, applied: stateful, want: 'stays ' },
    { name: 'that end to preserve state let their workloads move', stored: stateful, applied: {}, want: 'moves ' },
    { name: 'that suspend dispatching keep their workloads', stored: {}, applied: pausing(true), want: 'stays ' },
    { name: 'that resume dispatching let their workloads move', stored: pausing(true), applied: {}, want: 'moves ' },
  ])('$name', async ({ stored, applied, want }) => {
    const spec = { ...narrowed.spec, clusters: [{ name: 'member2', replicas: 2 }], ...stored }
    const hub = [...clusters, source, makePolicy({ placement, ...stored }), makeClaim(), { ...narrowed, spec }]
    const options = ['--policy', '@policy.yaml', '--data', 'lake.shop.sales=member3']
    const { stdout, stderr } = await whatIf(options, hub, { 'policy.yaml': makePolicy({ placement, ...applied }) })
    expect(stderr).toBe('')
    expect(stdout).toContain(`\n${want}`)
  })

  test('that are applied twice apply once', async () => {
    const files = { 'policy.yaml': makePolicy({ placement: placed('member3') }), 'app.yaml': makeDeployment() }
    const options = ['--policy', '@policy.yaml', '-f', '@policy.yaml', '-f', '@app.yaml']
    const { stdout } = await whatIf(options, [...clusters, own, running], files)
    expect(stdout).toContain(moves)
    expect(stdout.match(/PropagationPolicy default\/\S+ is applied/g)).toHaveLength(1)
  })

  test.each<{ name: string; files: Record<string, unknown>; want: string }>([
    {
      name: 'waits for a change of the workload',
      files: { 'policy.yaml': makePolicy({ activationPreference: 'Lazy', placement: placed('member3') }) },
      want: nothing,
    },
    {
      name: 'applies when the workload is written with it',
      files: {
        'policy.yaml': makePolicy({ activationPreference: 'Lazy', placement: placed('member3') }),
        'app.yaml': makeDeployment(),
      },
      want: moves,
    },
  ])('a lazy policy $name', async ({ files, want }) => {
    const options = Object.keys(files).flatMap((file) => ['-f', `@${file}`])
    const { stdout } = await whatIf(options, [...clusters, own, running], files)
    expect(stdout).toContain(want)
  })

  test('a changed lazy policy applies only to the workload that is written', async () => {
    const lazy = makePolicy({ activationPreference: 'Lazy', placement: placed('member3'), resourceSelectors: byKind })
    const resource = { ...running.spec.resource, name: 'second' }
    const second = makeBinding({ ...running.spec, resource }, { name: 'second-deployment' })
    const { stdout } = await whatIf(['-f', '@app.yaml'], [...clusters, lazy, running, second], {
      'app.yaml': makeDeployment(),
    })
    expect(stdout).toContain(moves)
    expect(stdout).toContain('moves    1 ')
  })

  test('a policy that selects a workload no more does not apply when that is written', async () => {
    const lazy = makePolicy({ activationPreference: 'Lazy', placement: placed('member3'), resourceSelectors: byLabels })
    const { stdout } = await whatIf(['-f', '@app.yaml'], [...clusters, lazy, running], {
      'app.yaml': makeDeployment({ labels: { team: 'b' } }),
    })
    expect(stdout).toContain(nothing)
  })

  test('that preempt say what they need of Karmada', async () => {
    const { stdout } = await whatIf(['--policy', '@policy.yaml'], [...clusters, own, running], {
      'policy.yaml': other({ priority: 5, preemption: 'Always' }),
    })
    expect(stdout).toContain(
      'Note: PropagationPolicy default/other takes workloads over only if Karmada has the feature gate PropagationPolicyPreemption.\n',
    )
  })

  test.each<{ name: string; selectors: ResourceSelector[]; labels?: Record<string, string>; want: string }>([
    { name: 'by kind', selectors: byKind, want: 'Deployment default/app: to member3\n' },
    { name: 'by labels', selectors: byLabels, labels: { team: 'a' }, want: 'Deployment default/app: to member3\n' },
    { name: 'by other labels', selectors: byLabels, labels: { team: 'b' }, want: 'Nothing changes' },
    { name: 'of another name', selectors: elsewhere, want: 'Nothing changes' },
  ])('place the workloads of the hub that none has selected, $name', async ({ selectors, labels = {}, want }) => {
    const { stdout } = await whatIf(['--policy', '@policy.yaml'], [...clusters, makeDeployment({ labels })], {
      'policy.yaml': other({ resourceSelectors: selectors }),
    })
    expect(stdout).toContain(want)
  })

  test.each<{ options: string[]; want: string }>([
    { options: ['--policy', '@policy.yaml'], want: 'Nothing changes' },
    { options: ['--policy', '@policy.yaml', '-f', '@app.yaml'], want: 'Deployment default/app: to member3\n' },
  ])('that are lazy place a workload when it is written: $options', async ({ options, want }) => {
    const { stdout } = await whatIf(options, [...clusters, makeDeployment()], {
      'policy.yaml': other({ activationPreference: 'Lazy' }),
      'app.yaml': makeDeployment(),
    })
    expect(stdout).toContain(want)
  })

  test('may select the workloads of the manifests', async () => {
    const { stdout } = await whatIf(['-f', '@app.yaml', '--policy', '@policy.yaml'], clusters, {
      'app.yaml': makeDeployment(),
      'policy.yaml': policy,
    })
    expect(stdout).toContain('Deployment default/app: to one of member1, member2, member3\n')
    expect(stdout).not.toContain('Note:')
  })
})

describe('the table of single losses', () => {
  test('has each cluster, the worst first, and the data that is in one cluster only', async () => {
    const { stdout } = await whatIf(['--each-cluster-lost'])
    expect(stdout).toBe(`What if a cluster is lost? (1 workload)

CLUSTER   MOVES   DATA WITHOUT A COPY
member2   1       amoro-table-lake.shop.sales (5.0 GiB)
member1   0       -
member3   0       -
`)
  })

  test('has each source', async () => {
    const limited = makeClaim({ policy: { maxStalenessSeconds: 60 } })
    const { stdout } = await whatIf(['--each-source-stale'], [...clusters, source, policy, limited, narrowed])
    expect(stdout).toContain('SOURCE                        STAYS\namoro-table-lake.shop.sales   1')
  })

  test('is data for programs', async () => {
    const { stdout } = await whatIf(['--each-cluster-lost', '-o', 'json'])
    const { kind, each, workloads, rows } = JSON.parse(stdout)
    expect({ kind, each, workloads, first: rows[0].name, moves: rows[0].totals.moves.workloads }).toEqual({
      kind: 'WhatIfTable',
      each: 'cluster',
      workloads: 1,
      first: 'member2',
      moves: 1,
    })
  })
})

describe('the cost of a transfer', () => {
  const places = [
    makeCluster('member1', { provider: 'aws', region: 'us-east-1' }),
    makeCluster('member2', { provider: 'aws', region: 'eu-central-1' }),
    makeCluster('member3', { provider: 'gcp', region: 'europe-west1' }),
  ]
  const priced = [...places, ...HUB.slice(clusters.length)]
  const aws = { from: { provider: 'aws' }, to: { provider: 'aws' }, pricePerGiB: 0.02, bytesPerSecond: '128Mi' }
  const gcp = { from: { provider: 'aws' }, to: { provider: 'gcp' }, pricePerGiB: 0.09 }
  const prices = { 'prices.yaml': { transferCosts: { currency: 'USD', links: [aws, gcp] } } }
  /** The workload `other` uses the same data, and has its own as well. */
  const other = {
    ...makeBinding(
      {
        ...narrowed.spec,
        resource: { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: 'other' },
      },
      { ...narrowed.metadata, name: 'other-deployment' },
    ),
  }
  const workload = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'other' }
  const users = [
    ...priced,
    other,
    makeClaim({ workload }, { name: 'other-sales' }),
    makeClaim({ workload, dataSourceName: 'lake.shop.small' }, { name: 'other-small' }),
    makeSource(
      { name: 'lake.shop.small', locality: { clusterNames: ['member2'], bytes: GiB } },
      { name: 'amoro-table-lake.shop.small' },
    ),
  ]

  test('is shown for each of several clusters, and the sum calls the workload undecided', async () => {
    const { stdout, stderr } = await whatIf(['--cluster-lost', 'member2', '--config', '@prices.yaml'], priced, prices)
    expect(stderr).toBe('')
    expect(stdout).toContain('moves    1           5.0 GiB   1              1 undecided\n')
    expect(stdout).toContain(`
      member1: 5.0 GiB to transfer, 0.10 USD, 40 s
      member3: 5.0 GiB to transfer, 0.45 USD, unknown time, not known: the bandwidth from aws eu-central-1 to gcp europe-west1
`)
  })

  test('counts data once that several workloads take to one cluster', async () => {
    const options = ['--cluster-lost', 'member2', '--taint', 'member3=full:NoSchedule', '--config', '@prices.yaml']
    const { stdout } = await whatIf([...options, '-o', 'json'], users, prices)
    const { totals, changes } = JSON.parse(stdout)
    const figures = changes.map(({ transfer }: { transfer: { candidates: { transferBytes: number }[] } }) =>
      transfer.candidates.map(({ transferBytes }) => transferBytes / GiB),
    )
    expect(figures, 'each workload has all of its data').toEqual([[5], [6]])
    expect(totals.moves.transfer).toEqual({
      bytes: 6 * GiB,
      money: expect.closeTo(0.12),
      currency: 'USD',
      undecided: 0,
    })
    expect((await whatIf(options, users, prices)).stdout).toContain('6.0 GiB, 0.12 USD\n')
  })

  test('has bytes only without a price matrix, and only as data', async () => {
    const { stdout } = await whatIf(['--cluster-lost', 'member2', '-o', 'json'], priced)
    const { totals, changes } = JSON.parse(stdout)
    const figures = { localBytes: 0, transferBytes: 5 * GiB, isMinimum: false, unknown: [] }
    expect(changes[0].transfer).toEqual({
      candidates: [
        { cluster: 'member1', ...figures },
        { cluster: 'member3', ...figures },
      ],
      more: 0,
    })
    expect(totals.moves.transfer).toEqual({ bytes: 0, undecided: 1 })
  })

  test('has the 20 cheapest clusters, and the number of the others', async () => {
    const many = Array.from({ length: 30 }, (_, i) => makeCluster(`other${i}`))
    const names = [...priced, ...many]
      .filter(({ kind }) => kind === 'Cluster')
      .map(({ metadata }) => metadata.name ?? '')
    const everywhere = { clusterAffinity: { clusterNames: names } }
    const base = { 'lodestone.dev/base-affinity': JSON.stringify(everywhere) }
    const wide = {
      ...narrowed,
      metadata: { ...narrowed.metadata, annotations: { ...narrowed.metadata.annotations, ...base } },
    }
    const objects = [
      ...priced.filter((object) => object !== narrowed && object !== policy),
      ...many,
      wide,
      makePolicy({ placement: { ...placement, ...everywhere } }),
    ]
    const options = ['--cluster-lost', 'member2', '--config', '@prices.yaml']
    const { changes } = JSON.parse((await whatIf([...options, '-o', 'json'], objects, prices)).stdout)
    const { candidates, more } = changes[0].transfer
    expect([candidates.length, candidates[0].cluster, more]).toEqual([20, 'member1', 12])
    expect((await whatIf(options, objects, prices)).stdout).toContain('      … and 29 more clusters\n')
  })

  test.each([
    { preference: 'Cost', to: 'member1' },
    { preference: 'Bytes', to: 'one of member1, member3' },
  ])('decides by the prices, as admission does: $preference', async ({ preference, to }) => {
    const preferred = makeClaim({ policy: { enforcement: 'Preferred', preference: preference as PreferenceFigure } })
    const fresh = makeBinding({ placement })
    const objects = [...places, makeCluster('member4'), source, policy, preferred, fresh]
    const gone = ['--data', 'lake.shop.sales=member4', '--config', '@prices.yaml']
    const fromAws = {
      'prices.yaml': { transferCosts: { links: [{ from: {}, to: { provider: 'aws' }, pricePerGiB: 1 }] } },
    }
    const taint = ['--taint', 'member2=full:NoSchedule']
    const { stdout } = await whatIf([...gone, ...taint], objects, fromAws)
    expect(stdout).toContain(`Deployment default/app: to ${to}\n`)
  })

  test('has the time from the fastest source for a claim that prefers Time', async () => {
    const links = [
      { from: { region: 'eu-central-1' }, to: { region: 'us-east-1' }, pricePerGiB: 0, bytesPerSecond: '64Mi' },
      { from: { region: 'local' }, to: { region: 'us-east-1' }, pricePerGiB: 1, bytesPerSecond: '1Gi' },
      { from: {}, to: { provider: 'gcp' }, pricePerGiB: 0, bytesPerSecond: '512Mi' },
    ]
    const fast = makeClaim({ policy: { enforcement: 'Preferred', preference: 'Time' } })
    const twice = makeSource({ locality: { clusterNames: ['member2', 'member4'], bytes: 5 * GiB } })
    const running = makeBinding({ placement, clusters: [{ name: 'member2' }] })
    const cheap = makeClaim({ workload, policy: { enforcement: 'Preferred' } }, { name: 'other-sales' })
    const second = makeBinding({ ...running.spec, resource: other.spec.resource }, other.metadata)
    const objects = [
      ...places,
      makeCluster('member4', { region: 'local' }),
      twice,
      policy,
      fast,
      running,
      cheap,
      second,
    ]
    const lost = ['--cluster-lost', 'member2', '--taint', 'member3=full:NoSchedule']
    const words = [...lost, '--config', '@prices.yaml', '-o', 'json']
    const { stdout } = await whatIf(words, objects, { 'prices.yaml': { transferCosts: { links } } })
    const { changes, totals } = JSON.parse(stdout)
    expect(changes).toMatchObject([
      { workload: { name: 'app' }, transfer: { candidates: [{ cluster: 'member1', money: 5, seconds: 5 }] } },
      { workload: { name: 'other' }, transfer: { candidates: [{ cluster: 'member1', money: 0, seconds: 80 }] } },
    ])
    expect(totals.moves, 'both share a copy').toMatchObject({ workloads: 2, transfer: { bytes: 5 * GiB, money: 5 } })
  })

  test('takes the prices of a snapshot, or those of --config', async () => {
    const folder = makeFolder({ 'hub/all.yaml': priced, ...prices, 'other.yaml': { transferCosts: { links: [gcp] } } })
    const file = join(folder, 'fleet.lsnap')
    const config = ['--config', join(folder, 'prices.yaml')]
    await runWords(['snapshot', '--folder', join(folder, 'hub'), ...config, '-o', file])
    const words = ['what-if', '--cluster-lost', 'member2', '--snapshot', file]
    expect((await runWords(words)).stdout).toContain('member1: 5.0 GiB to transfer, 0.10 USD, 40 s\n')
    const { stdout } = await runWords([...words, '--config', join(folder, 'other.yaml')])
    expect(stdout).toContain('member3: 5.0 GiB to transfer, 0.45, unknown time')
  })
})

describe('snapshots', () => {
  async function snapshotOf(objects: unknown[]): Promise<string> {
    const folder = makeFolder({ 'hub/all.yaml': objects })
    const file = join(folder, 'fleet.lsnap')
    const { status } = await runWords(['snapshot', '--folder', join(folder, 'hub'), '-o', file])
    expect(status).toBe(0)
    return file
  }

  test('the snapshot of a folder has the bindings that Karmada would create', async () => {
    const file = join(makeFolder({}), 'fleet.lsnap')
    await runWords(['snapshot', '--folder', 'examples/hub', '-o', file])
    const lost = ['what-if', '--cluster-lost', 'member2', '-o', 'json']
    const answers = [
      JSON.parse((await runWords([...lost, '--folder', 'examples/hub'])).stdout),
      JSON.parse((await runWords([...lost, '--snapshot', file])).stdout),
    ]
    expect(answers.map(({ workloads, changes }) => ({ workloads, changes }))).toEqual([
      { workloads: 1, changes: [expect.objectContaining({ effect: 'waits' })] },
      { workloads: 1, changes: answers[0].changes },
    ])
  })

  test('the answer of a snapshot is that of its hub', async () => {
    const file = await snapshotOf(HUB)
    const { stdout } = await runWords(['what-if', '--cluster-lost', 'member2', '--snapshot', file, '-o', 'json'])
    const { snapshot, ...answer } = JSON.parse(stdout)
    expect(snapshot).toBe(file)
    expect(answer).toEqual(JSON.parse((await whatIf(['--cluster-lost', 'member2', '-o', 'json'])).stdout))
  })

  test('several snapshots are several hubs, and a name need not be known in each', async () => {
    const files = [await snapshotOf(HUB), await snapshotOf([makeCluster('other')])]
    const words = files.flatMap((file) => ['--snapshot', file])
    const { stdout } = await runWords(['what-if', '--cluster-lost', 'member2', ...words])
    expect(stdout.match(/What if member2 is lost\?/g)).toHaveLength(1)
    const tables = await runWords(['what-if', '--each-cluster-lost', ...words, '-o', 'json'])
    expect(JSON.parse(tables.stdout)).toMatchObject({ kind: 'WhatIfList', items: [{ workloads: 1 }, { workloads: 0 }] })
    const unknown = await runWords(['what-if', '--cluster-lost', 'member7', ...words])
    expect(unknown).toMatchObject({ status: 1, stdout: '' })
    expect(unknown.stderr).toContain('no Cluster member7 (did you mean member1?)')
  })

  test('each of several hubs is asked about the names that it knows', async () => {
    const files = [await snapshotOf(HUB), await snapshotOf([makeCluster('other')])]
    const words = files.flatMap((file) => ['--snapshot', file])
    const lost = ['what-if', '--cluster-lost', 'member2', '--cluster-lost', 'other', ...words]
    const { status, stdout, stderr } = await runWords([...lost, '-o', 'json'])
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    const answers = JSON.parse(stdout).items.map(({ snapshot, sentences, notes }: Record<string, unknown>) => ({
      snapshot,
      sentences,
      notes,
    }))
    expect(answers).toEqual([
      { snapshot: files[0], sentences: ['member2 is lost'], notes: ['no Cluster other'] },
      { snapshot: files[1], sentences: ['other is lost'], notes: ['no Cluster member2'] },
    ])
  })

  test('a pipe gives its manifests to each of several hubs', async () => {
    const hub = [...clusters, policy, makeBinding({ placement, clusters: [{ name: 'member2', replicas: 2 }] })]
    const files = [await snapshotOf(hub), await snapshotOf(hub)]
    const pipe = join(makeFolder(), 'pipe.yaml')
    execFileSync('mkfifo', [pipe])
    const pinned = makePolicy({ placement: { ...placement, clusterAffinity: { clusterNames: ['member3'] } } })
    const words = ['what-if', '--policy', pipe, ...files.flatMap((file) => ['--snapshot', file])]
    const [{ status, stdout, stderr }] = await Promise.all([runWords(words), writeFile(pipe, JSON.stringify(pinned))])
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout.match(/member2 → member3/g)).toHaveLength(2)
  })

  test('a manifest that one of several hubs rejects is an error', async () => {
    const files = [
      await snapshotOf([...HUB, makeNamespace('team', 'default')]),
      await snapshotOf([...HUB, makeNamespace('team')]),
    ]
    const claim = makeClaim({ workload: { ...makeClaim().spec.workload, namespace: 'team' } }, { name: 'of-team' })
    const manifest = join(makeFolder({ 'claim.yaml': claim }), 'claim.yaml')
    const words = ['what-if', '-f', manifest, ...files.flatMap((file) => ['--snapshot', file])]
    const { status, stdout, stderr } = await runWords(words)
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toContain(`lodestone what-if: ${files[1]}: ${manifest}: admission would reject`)
  })

  test('the name of data that is not clear in one of several hubs is an error', async () => {
    const second = makeSource({ locality: { clusterNames: ['member1'] } }, { name: 'second' })
    const files = [await snapshotOf(HUB), await snapshotOf([...HUB, second])]
    const words = ['what-if', '--data', 'lake.shop.sales=member1', ...files.flatMap((file) => ['--snapshot', file])]
    const { status, stderr } = await runWords(words)
    expect(status).toBe(1)
    expect(stderr).toContain(`${files[1]}: several DataSources have the data lake.shop.sales; give the name of one: `)
  })

  test('a snapshot excludes a folder and a hub', async () => {
    const answer = await whatIf(['--cluster-lost', 'member2', '--snapshot', 'x.lsnap'])
    expect(answer).toMatchObject({ status: 2, stdout: '' })
    expect(answer.stderr).toContain('--snapshot and --folder exclude each other')
  })
})

test('a condition that is true ends with status 1 and says which', async () => {
  const failed = await whatIf(['--cluster-lost', 'member2', '--fail-if', 'moves >= 1', '--fail-if', 'stranded > 0'])
  expect(failed).toMatchObject({ status: 1, stderr: 'lodestone what-if: moves >= 1\n' })
  const passed = await whatIf(['--cluster-lost', 'member1', '--fail-if', 'moves >= 1'])
  expect(passed).toMatchObject({ status: 0, stderr: '' })
})

test('a workload with a later effect counts for both, also in a condition', async () => {
  const everywhere = { clusterAffinity: placement.clusterAffinity }
  const copied = {
    ...narrowed,
    spec: { ...narrowed.spec, placement: { clusterAffinity: { clusterNames: ['member2'] } } },
  }
  const hub = [...clusters, source, makePolicy({ placement: everywhere }), makeClaim(), copied]
  const options = ['--delete', 'dsc/sales', '--fail-if', 'gains > 0']
  const { status, stdout, stderr } = await whatIf(options, hub)
  expect({ status, stderr }).toEqual({ status: 1, stderr: 'lodestone what-if: gains > 0\n' })
  expect(stdout).toMatch(/^gets copies +1 .*\nstays +1 /m)
  expect(stdout).toContain('then gets copies: to member1, member3, after 30 s')
  expect(stdout).not.toContain('gets copies: the workload')
})

test('JSON has every workload, with its data and its reason', async () => {
  const { stdout } = await whatIf(['--cluster-lost', 'member2', '-o', 'json'])
  expect(JSON.parse(stdout)).toMatchObject({
    apiVersion: 'cli.lodestone.dev/v1alpha1',
    kind: 'WhatIf',
    sentences: ['member2 is lost'],
    totals: { moves: { workloads: 1, bytes: 5 * GiB, dependencies: 1 }, stranded: { workloads: 0 } },
    changes: [
      {
        effect: 'moves',
        from: ['member2'],
        to: ['member1', 'member3'],
        takesAll: false,
        workload: { kind: 'Deployment', namespace: 'default', name: 'app' },
        data: [{ source: 'amoro-table-lake.shop.sales', bytes: 5 * GiB }],
        dependencies: 1,
      },
    ],
  })
})

test('the first ten workloads of an effect are shown, and all of them with --all', async () => {
  const many = Array.from({ length: 12 }, (_, i) =>
    makeBinding(
      {
        placement,
        clusters: [{ name: 'member2' }],
        resource: { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: `app-${i + 10}` },
      },
      { name: `app-${i + 10}-deployment` },
    ),
  )
  const { stdout } = await whatIf(['--cluster-lost', 'member2'], [...clusters, policy, ...many])
  expect(stdout.match(/Deployment default/g)).toHaveLength(10)
  expect(stdout).toContain('… and 2 more; use --all to see them')
  const all = await whatIf(['--cluster-lost', 'member2', '--all'], [...clusters, policy, ...many])
  expect(all.stdout.match(/Deployment default/g)).toHaveLength(12)
})

test.each<{ what: string; objects: unknown[] }>([
  { what: 'of a member', objects: [makeVolumeManager()] },
  { what: 'without a manifest', objects: [] },
])('the folder $what is rejected, with the way out', async ({ objects }) => {
  const answer = await whatIf(['--cluster-lost', 'member2'], objects)

  expect(answer).toMatchObject({ status: 2, stdout: '' })
  expect(answer.stderr).toMatch(
    /^lodestone what-if: the folder \S+ has no objects of a hub; give the folder of a hub\n$/,
  )
})

test('a table in which nothing changes says so', async () => {
  const { stdout } = await whatIf(['--each-source-stale'])

  expect(stdout).toBe(
    'What if the location of a source is out of date? (1 workload)\n\nSOURCE\namoro-table-lake.shop.sales\n\nNothing changes for 1 workload.\n',
  )
})

test('many manifests have a short title and few notes, unless all are wanted', async () => {
  const secrets = Array.from({ length: 13 }, (_, i) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: `s-${i}`, namespace: 'default' },
  }))
  const files = { 'secrets.yaml': secrets }
  const { stdout } = await whatIf(['-f', '@secrets.yaml'], HUB, files)
  expect(stdout).toContain('and Secret default/s-9 is applied, and 3 more? (1 workload)')
  expect(stdout.match(/^Note: /gm)).toHaveLength(10)
  expect(stdout).toMatch(/\n… and 3 more; use --all to see them\n$/)
  const all = await whatIf(['-f', '@secrets.yaml', '--all'], HUB, files)
  expect(all.stdout).toContain('and Secret default/s-12 is applied? (1 workload)')
  expect(all.stdout.match(/^Note: /gm)).toHaveLength(13)
})

test('a folder without Clusters says so for the name of one', async () => {
  const { status, stderr } = await whatIf(['--cluster-lost', 'member2'], [policy])

  expect([status, stderr]).toEqual([1, 'lodestone what-if: no Cluster member2, and no other one is known\n'])
})

test.each<{ options: string[] }>([
  { options: ['--data', 'lake.shop.sales=member3,member1'] },
  { options: ['--taint', 'member1=old-'] },
  { options: ['--delete', 'dsc/sales'] },
  { options: ['--delete', 'DataSource/amoro-table-lake.shop.sales'] },
  { options: ['--delete', 'cluster/member2'] },
])('$options twice is one question', async ({ options }) => {
  const old = makeCluster('member1', { taints: [{ key: 'old', effect: 'NoSchedule' }] })
  const hub = [old, ...HUB.filter((object) => object !== clusters[0])]
  const once = await whatIf(options, hub)
  expect(once.status).toBe(0)
  expect(await whatIf([...options, ...options], hub)).toEqual(once)
})

test.each<{ options: string[]; status: number; says: string }>([
  { options: [], status: 2, says: 'nothing is supposed; give at least one of --cluster-lost' },
  { options: ['--cluster-lost', 'membre2'], status: 1, says: 'no Cluster membre2 (did you mean member2?)' },
  { options: ['--data', 'sales'], status: 2, says: '--data sales: expected SOURCE=CLUSTER[,CLUSTER…]' },
  { options: ['--data', 'sales=member9'], status: 1, says: 'no Cluster member9 (did you mean member1?)' },
  {
    options: ['--taint', 'member2=drain=a:NoExecute', '--taint', 'member2=drain=b:NoExecute'],
    status: 1,
    says: 'member2 has the taint drain=a:NoExecute already; a cluster has one taint with this key and effect',
  },
  {
    options: ['--data', 'lake.shop.sales=member1', '--data', 'lake.shop.sales=member3'],
    status: 1,
    says: 'is in member1 already; name all of its clusters at once, as member1,member3',
  },
  { options: ['--data', 'claim=member1'], status: 1, says: 'no DataSource claim; give its name, or that of its data' },
  { options: ['--source-stale', 'lake.shop.sale'], status: 1, says: '(did you mean lake.shop.sales?)' },
  {
    options: ['--taint', 'member2=broken'],
    status: 2,
    says: '--taint member2=broken: expected CLUSTER=KEY[=VALUE]:EFFECT',
  },
  {
    options: ['--taint', 'member2=not ready:NoExecute'],
    status: 1,
    says: 'taint not ready:NoExecute: the key must be the key of a label, e.g. example.com/maintenance',
  },
  {
    options: ['--taint', 'member2=ready=not yet:NoExecute'],
    status: 1,
    says: 'taint ready=not yet:NoExecute: the value must be the value of a label',
  },
  { options: [], status: 2, says: '--each-source-stale' },
  { options: ['--taint', 'member2=broken-'], status: 1, says: 'member2 has no taint broken' },
  {
    options: ['--delete', 'dsc/sale'],
    status: 1,
    says: 'no DataSourceClaim sale in namespace default (did you mean sales?)',
  },
  {
    options: ['--delete', 'dsc/sales', '-n', 'demo'],
    status: 1,
    says: 'no DataSourceClaim sales in namespace demo; it is in namespace default: add -n default',
  },
  {
    options: ['--delete', 'deployment/app', '-n', 'demo'],
    status: 1,
    says: 'no Deployment app in namespace demo; it is in namespace default: add -n default',
  },
  {
    options: ['--delete', 'datasource/lake.shop.sales'],
    status: 1,
    says: 'no DataSource lake.shop.sales; the data lake.shop.sales is that of amoro-table-lake.shop.sales',
  },
  { options: ['--delete', 'ns/default'], status: 2, says: '--delete ns/default: give the objects in the Namespace' },
  { options: ['--delete', 'widget/x'], status: 2, says: 'unknown kind widget' },
  { options: ['--each-cluster-lost', '--cluster-lost', 'member1'], status: 2, says: 'ask one at a time' },
  { options: ['--each-cluster-lost', '--each-source-stale'], status: 2, says: 'ask one at a time' },
  {
    options: ['--cluster-lost', 'member1', '--fail-if', 'strandd > 0'],
    status: 2,
    says: 'unknown effect strandd (did you mean stranded?)',
  },
  {
    options: ['--cluster-lost', 'member1', '--fail-if', 'stranded'],
    status: 2,
    says: "expected EFFECT OPERATOR NUMBER, e.g. 'stranded > 0'",
  },
  {
    options: ['--policy', '@claim.yaml'],
    status: 2,
    says: '@claim.yaml: DataSourceClaim default/sales is no policy; use --manifest for it',
  },
  { options: ['-f', '-', '--policy', '-'], status: 2, says: 'standard input is read once; give its policies to' },
  { options: ['-f', '@taints.yaml'], status: 1, says: '@taints.yaml: spec.taints: must be of type array' },
  {
    options: ['-f', '@suspended.yaml'],
    status: 1,
    says: '@suspended.yaml: spec.suspension.dispatchingOnClusters.clusterNames: must be of type array',
  },
  { options: ['-f', '@wrong.yaml'], status: 1, says: 'admission would reject DataSourceClaim default/wrong' },
])('$options is answered with the way out', async ({ options, status, says }) => {
  const wrong = makeClaim({ policy: { enforcement: 'Perhaps' } } as never, { name: 'wrong' })
  const answer = await whatIf(options, [...HUB, makeNamespace('default')], {
    'taints.yaml': makeCluster('member2', { taints: 5 } as never),
    'suspended.yaml': makePolicy({ suspension: { dispatchingOnClusters: { clusterNames: 5 } } } as never),
    'claim.yaml': makeClaim(),
    'wrong.yaml': wrong,
  })
  expect(answer.stderr).toContain(says)
  expect(answer).toMatchObject({ status, stdout: '' })
})

test('a workload of a kind that no table has is deleted with its binding', async () => {
  const app = makeBinding({ clusters: [{ name: 'member1' }] })
  const widget = {
    ...app,
    spec: { ...app.spec, resource: { ...app.spec.resource, apiVersion: 'x.io/v1', kind: 'Widget' } },
  }
  const binding = { ...widget, metadata: { ...widget.metadata, name: 'app-widget' } }

  const { stdout } = await whatIf(['--delete', 'Widget.v1.x.io/app'], [...HUB, binding])

  expect(stdout).toContain('Widget default/app: leaves member1')
})

test('a similar name of a workload without a namespace is suggested, by its binding', async () => {
  const resource = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', name: 'reader' }
  const { namespace: _none, ...metadata } = makeBinding({}, { name: 'reader-clusterrole' }).metadata
  const bound = { ...makeBinding({ resource }), kind: 'ClusterResourceBinding', metadata }

  const { stderr } = await whatIf(['--delete', 'ClusterRole.v1.rbac.authorization.k8s.io/readr'], [...HUB, bound])

  expect(stderr).toContain('no binding of ClusterRole readr (did you mean reader?)')
})

describe('a workload whose binding would have the name of that of another API group', () => {
  const volcano = makeObject('batch.volcano.sh/v1alpha1', 'Job', 'app')
  const job = { ...narrowed.spec.resource, apiVersion: 'batch/v1', kind: 'Job' }
  const batch = makeObject('batch/v1', 'Job', 'app')
  const binding = {
    ...narrowed,
    metadata: { ...narrowed.metadata, name: 'app-job' },
    spec: { ...narrowed.spec, resource: job },
  }
  const selects = makePolicy({
    placement,
    resourceSelectors: [{ apiVersion: 'batch.volcano.sh/v1alpha1', kind: 'Job' }],
  })
  const hub = [...clusters, source, policy, binding, batch]

  test('is not scheduled, and the other workload stays', async () => {
    const { stdout } = await whatIf(['--manifest', '@given.yaml'], hub, { 'given.yaml': [selects, volcano] })

    expect(stdout).toBe(`What if PropagationPolicy default/app is applied, and Job default/app is applied? (1 workload)

Nothing changes for 1 workload.

Note: Karmada does not schedule Job default/app: Job app in batch/v1 has the binding of that name.
`)
  })

  test('takes nothing of the other workload with it', async () => {
    const { stdout } = await whatIf(['--delete', 'jobs.batch.volcano.sh/app'], [...hub, volcano])

    expect(stdout).toContain('Nothing changes for 1 workload.')
  })
})
