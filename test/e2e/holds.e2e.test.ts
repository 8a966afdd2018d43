// Workloads on hold while clusters change, and holds that were not honored because admission was not called.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runLodestone } from './command.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { reportApplied, scheduleBeside } from './holds.ts'
import { type BindingObject, clusterNames, type Hub, hubOn } from './hub.ts'
import { installLodestone, type Lodestone, startLodestone } from './lodestone.ts'
import { claim, deployment, only, policy, source } from './manifests.ts'
import { memberClusters } from './member-clusters.ts'
import { stopAndCheckRights } from './rights.ts'

const METRIC = 'lodestone_holds_not_honored_total'
const AUDIT_POLICY = join(import.meta.dirname, 'audit-policy.yaml')

let plane: ControlPlane
let lodestone: Lodestone
let hub: Hub

beforeAll(async () => {
  plane = await startControlPlane({
    flags: { 'kube-apiserver': [`--audit-policy-file=${AUDIT_POLICY}`, '--audit-log-path=audit.log'] },
  })
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

test('one id joins the audit log, Events, log lines, explain and status', async () => {
  await hub.apply(source('followed-data', ['member2']), claim('followed', { data: 'followed-data' }))
  await hub.apply(policy('followed'), deployment('followed'))
  await isScheduledTo('followed', 'member2')
  await putOnHold('awaited')

  const [narrowed, held] = [await explainedId('followed'), await explainedId('awaited')]
  expect(narrowed).not.toBe(held)
  await isFollowedBy(narrowed, 'followed', ['LocalityNarrowed on followed-deployment', 'WorkloadPlaced on followed'])
  await isFollowedBy(held, 'awaited', ['LocalityHold on awaited-deployment', 'WorkloadOnHold on awaited'])
  const { holds } = JSON.parse(await run(['status', '--held', '-o', 'json']))
  expect(holds).toContainEqual(expect.objectContaining({ binding: 'default/awaited-deployment', decisionId: held }))

  await expect(scheduleBeside(plane, 'awaited', 'member1')).rejects.toThrow('while Lodestone has the workload on hold')
  await plane.eventually('the rejected write has the id of the hold', async () => {
    const rejected = (await audited('awaited')).filter(({ responseStatus }) => responseStatus?.code === 422)
    expect(rejected.map(idIn)).toContain(held)
    return true
  })
  await hub.apply(source('awaited-data', ['member3']))
  await isScheduledTo('awaited', 'member3')
})

test('a choice of the scheduler is rejected if it is older than the narrowing', async () => {
  await plane.stop('karmada-scheduler')
  try {
    await hub.apply(source('stale-data', ['member2']), claim('stale', { data: 'stale-data' }))
    await hub.apply(policy('stale'), deployment('stale'))
    await plane.eventually('it is narrowed', async () => {
      const { spec } = (await hub.bindingOf(deployment('stale'))) ?? {}
      expect(spec?.['placement']).toMatchObject({ clusterAffinity: { clusterNames: ['member2'] } })
      return true
    })
    await expect(scheduleBeside(plane, 'stale', 'member1')).rejects.toThrow(
      'the data of the workload is in member2, and not in member1; choose again from the present placement',
    )
  } finally {
    await plane.start('karmada-scheduler')
  }
  await isScheduledTo('stale', 'member2')
  await hub.isOnlyIn(deployment('stale'), 'member2')
  expect(await hub.membersThatEverHad(deployment('stale'))).toBe('member2')
})

test('a hold that was not honored while Lodestone was away is reported and restored', async () => {
  await putOnHold('strayed')
  await lodestone.stop()
  await scheduleBeside(plane, 'strayed', 'member1')
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
  await scheduleBeside(plane, 'running', 'member1')
  await reportApplied(plane, 'running', 'member1')
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

/** Returns what a command prints. */
async function run(words: string[]): Promise<string> {
  return (await runLodestone([...words, '--kubeconfig', plane.kubeconfig])).stdout
}

/** Returns the id that `explain` prints for the stored decision on a workload. */
async function explainedId(name: string): Promise<string> {
  const { object } = JSON.parse(await run(['explain', `rb/${name}-deployment`, '-n', 'default', '-o', 'json']))
  const { decisionId } = object.children.find(({ kind }: { kind?: string }) => kind === 'ResourceBinding')
  return decisionId
}

interface AuditEvent {
  objectRef?: { name?: string }
  annotations?: Record<string, string>
  responseStatus?: { code?: number }
}

/** Returns the events of the audit log about the binding of a workload. */
async function audited(name: string): Promise<AuditEvent[]> {
  // The last line may not be complete yet.
  const lines = (await readFile(join(plane.dir, 'audit.log'), 'utf8')).split('\n').slice(0, -1)
  return lines
    .map((line): AuditEvent => JSON.parse(line))
    .filter(({ objectRef }) => objectRef?.name === `${name}-deployment`)
}

const idIn = ({ annotations }: AuditEvent) => annotations?.['resource-binding.lodestone.dev/decision-id']

/** Finds a decision on a workload by its id: in the audit log, in the log, and as these Events. */
async function isFollowedBy(id: string, name: string, events: string[]): Promise<void> {
  await plane.eventually(`${id} is in the audit log, the log and Events`, async () => {
    expect((await audited(name)).map(idIn)).toContain(id)
    const lines = (await lodestone.readLog()).split('\n').filter((line) => line.includes(`"decisionId":"${id}"`))
    expect(lines.join('\n')).toContain(`ResourceBinding default/${name}-deployment`)
    const found = JSON.parse(
      (await plane.kubectl(['get', 'events', '-l', `lodestone.dev/decision-id=${id}`, '-o', 'json'])).stdout,
    )
    const items: { reason: string; message: string; involvedObject: { name: string } }[] = found.items
    expect(items.map(({ reason, involvedObject }) => `${reason} on ${involvedObject.name}`)).toEqual(
      expect.arrayContaining(events),
    )
    expect(items.every(({ message }) => message.endsWith(` (decision ${id})`))).toBe(true)
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
  const { suspension } = binding?.spec ?? {}
  return {
    suspended: (suspension as { scheduling?: boolean } | undefined)?.scheduling,
    onHold: binding?.metadata.annotations?.['lodestone.dev/hold'] !== undefined,
    clusters: clusterNames(binding),
  }
}

function bindingOf(name: string): Promise<BindingObject | undefined> {
  return hub.bindingOf(deployment(name))
}
