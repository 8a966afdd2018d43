// Workloads on hold while clusters change, and holds that were not honored because admission was not called.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { KubeObject } from './api-client.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { type BindingObject, type Hub, hubOn } from './hub.ts'
import { installLodestone, type Lodestone, startLodestone } from './lodestone.ts'
import { claim, deployment, only, policy, source } from './manifests.ts'
import { memberClusters } from './member-clusters.ts'
import { stopAndCheckRights } from './rights.ts'

const METRIC = 'lodestone_holds_not_honored_total'

let plane: ControlPlane
let lodestone: Lodestone
let hub: Hub

beforeAll(async () => {
  plane = await startControlPlane()
  const kubeconfig = await installLodestone(plane)
  // They would prevent what these tests are about.
  await plane.kubectl(['delete', 'validatingadmissionpolicybindings', '--all'])
  lodestone = await startLodestone(plane, { kubeconfig })
  hub = hubOn(plane)
})

afterAll(() => stopAndCheckRights({ plane, lodestones: [lodestone] }))

test('a workload on hold stays so while label, taint and status of a cluster change', async () => {
  await putOnHold('patient')
  // Its scheduling shows that the scheduler looked at the bindings again because of the label.
  const witness = { clusterAffinity: { labelSelector: { matchLabels: { stage: 'labeled' } } } }
  await hub.apply(policy('witness', { placement: witness }), deployment('witness'))

  await plane.kubectl(['label', 'cluster', 'member2', 'stage=labeled'])
  await isScheduledTo('witness', 'member2')
  await isScheduledTo(await another('after-label'), 'member1,member2,member3')

  await plane.taintCluster('member2', { key: 'maintenance', effect: 'NoSchedule' })
  await isScheduledTo(await another('after-taint'), 'member1,member3')
  await plane.untaintCluster('member2', 'maintenance')
  await isScheduledTo(await another('after-untaint'), 'member1,member2,member3')

  const member3 = memberClusters['member3']
  await plane.setClusterStatus('member3', { ...member3, ready: false })
  await plane.clusterSettled('member3', { ready: false })
  await isScheduledTo(await another('after-not-ready'), 'member1,member2')
  await plane.setClusterStatus('member3', { ...member3 })
  await plane.clusterSettled('member3')
  await isScheduledTo(await another('after-ready'), 'member1,member2,member3')

  expect(await stateOf('patient')).toEqual({ suspended: true, onHold: true, clusters: '' })
  expect(await hub.membersThatEverHad(deployment('patient'))).toBe('')
  await hub.apply(source('patient-data', ['member2']))
  await isScheduledTo('patient', 'member2')
})

test('a choice of the scheduler from before the narrowing is rejected, and the next one is not', async () => {
  await plane.stop('karmada-scheduler')
  try {
    await hub.apply(source('stale-data', ['member2']), claim('stale', { data: 'stale-data' }))
    await hub.apply(policy('stale'), deployment('stale'))
    await plane.eventually('it is narrowed', async () => {
      const { spec } = (await hub.bindingOf(deployment('stale'))) ?? {}
      expect(spec?.['placement']).toMatchObject({ clusterAffinity: { clusterNames: ['member2'] } })
      return true
    })
    await expect(schedule('stale', 'member1')).rejects.toThrow(
      'the data of the workload is in member2, and not in member1; choose again from the present placement',
    )
  } finally {
    await plane.start('karmada-scheduler')
  }
  await isScheduledTo('stale', 'member2')
  expect(await hub.membersThatEverHad(deployment('stale'))).toBe('member2')
})

test('a hold that was not honored while Lodestone was away is reported and restored', async () => {
  await putOnHold('strayed')
  await lodestone.stop()
  await schedule('strayed', 'member1')
  await lodestone.restart()

  await plane.eventually('it is on hold again', async () => {
    expect(await stateOf('strayed')).toEqual({ suspended: true, onHold: true, clusters: '' })
    return true
  })
  const message =
    'scheduled to member1 although it is on hold (Unresolved: default/strayed: no DataSource for static bucket strayed-data yet); the hold is restored'
  await hasEvent(['rb', 'strayed-deployment'], message)
  await hasEvent(['datasourceclaim', 'strayed'], message)
  await isCounted('strayed', { result: 'restored', reason: 'Restored', message })
  await hub.isOnlyIn(deployment('strayed'), '')

  await hub.apply(source('strayed-data', ['member3']))
  await isScheduledTo('strayed', 'member3')
  await hub.isOnlyIn(deployment('strayed'), 'member3')
  await plane.eventually('the condition is removed', async () => (await holdCondition('strayed')) === undefined)
})

test('a workload that runs when its hold is found not honored is not removed', async () => {
  await putOnHold('running', only('member1'))
  await lodestone.stop()
  await schedule('running', 'member1')
  await reportApplied('running', 'member1')
  await lodestone.restart()

  await plane.eventually('the hold ends', async () => {
    expect(await stateOf('running')).toEqual({ suspended: undefined, onHold: false, clusters: 'member1' })
    return true
  })
  await hasEvent(['rb', 'running-deployment'], 'the hold ends, since the workload runs in member1')
  await isCounted('running', { result: 'scheduled', reason: 'Scheduled' })
})

/** Waits for the metric and for the condition of the claim, which other loops write later than the Event. */
async function isCounted(name: string, { result, ...condition }: { result: string; reason: string; message?: string }) {
  await plane.eventually('a metric and the claim tell of it', async () => {
    expect(await lodestone.metric(METRIC, `result="${result}"`)).toBe(1)
    expect(await holdCondition(name)).toMatchObject({ status: 'True', ...condition })
    return true
  })
}

/** Creates a workload whose data has no location. */
async function putOnHold(name: string, placement?: object): Promise<void> {
  const placed = policy(name, placement && { placement })
  await hub.apply(claim(name, { data: `${name}-data` }), placed, deployment(name))
  await plane.eventually(`${name} is on hold`, async () => (await stateOf(name)).onHold)
}

/** Creates a workload without data, which the scheduler takes from its queue after those that are in it. */
async function another(name: string): Promise<string> {
  await hub.apply(policy(name), deployment(name))
  return name
}

/** Writes the clusters of a binding as a scheduler does that does not honor the hold. */
async function schedule(name: string, cluster: string): Promise<void> {
  const patch = JSON.stringify({ spec: { clusters: [{ name: cluster }] } })
  await plane.kubectl(['patch', 'rb', `${name}-deployment`, '--type=merge', '-p', patch])
}

/** Reports that the workload was applied, as the agent of the member does. */
async function reportApplied(name: string, cluster: string): Promise<void> {
  const namespace = `karmada-es-${cluster}`
  const work = await plane.eventually('its Work is made', async () => {
    const works = await plane.listJson('works.work.karmada.io', namespace)
    return works.find((found) => manifestsOf(found).some(({ metadata }) => metadata.name === name))
  })
  const applied = { type: 'Applied', status: 'True', reason: 'AppliedSuccessful', message: '' }
  const conditions = [{ ...applied, lastTransitionTime: '2026-01-01T00:00:00Z' }]
  const patch = JSON.stringify({ status: { conditions } })
  const words = [
    'patch',
    'work',
    work.metadata.name,
    '-n',
    namespace,
    '--subresource=status',
    '--type=merge',
    '-p',
    patch,
  ]
  await plane.kubectl(words)
  await plane.eventually('Karmada aggregates it', async () => {
    const { status } = (await bindingOf(name)) as { status?: { aggregatedStatus?: { applied?: boolean }[] } }
    return status?.aggregatedStatus?.some((member) => member.applied)
  })
}

function manifestsOf(work: KubeObject): KubeObject[] {
  return (work as KubeObject & { spec: { workload: { manifests: KubeObject[] } } }).spec.workload.manifests
}

async function isScheduledTo(name: string, clusters: string): Promise<void> {
  await plane.eventually(`${name} is scheduled to ${clusters}`, async () => {
    expect((await stateOf(name)).clusters).toBe(clusters)
    return true
  })
}

async function hasEvent([kind = '', name = '']: string[], text: string): Promise<void> {
  await plane.eventually(`${kind}/${name} has the Event`, async () => {
    const { stdout } = await plane.kubectl(['describe', kind, name])
    expect(stdout).toContain('LocalityHoldNotHonored')
    expect(stdout).toContain(text)
    return true
  })
}

async function holdCondition(name: string): Promise<object | undefined> {
  const found = await plane.getJson('datasourceclaims.datadependency.volcano.sh', name, 'default')
  const { status } = found as { status?: { conditions?: { type: string }[] } }
  return status?.conditions?.find(({ type }) => type === 'HoldNotHonored')
}

async function stateOf(name: string): Promise<{ suspended: boolean | undefined; onHold: boolean; clusters: string }> {
  const binding = await bindingOf(name)
  const { suspension, clusters = [] } = binding?.spec ?? {}
  return {
    suspended: (suspension as { scheduling?: boolean } | undefined)?.scheduling,
    onHold: binding?.metadata.annotations?.['lodestone.dev/hold'] !== undefined,
    clusters: clusters
      .map((cluster) => cluster.name)
      .sort()
      .join(),
  }
}

function bindingOf(name: string): Promise<BindingObject | undefined> {
  return hub.bindingOf(deployment(name))
}
