// Claims, sources, policies and grants that are deleted and created again: the workload stays where it runs. Preferences remove no copies.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import type { KubeObject } from './api-client.ts'
import { claim, deployment, policy, type SpecObject, source } from './manifests.ts'
import { decisionOn, type Stage, startStage, stopStage } from './moving-workloads.ts'
import { settled } from './poll.ts'

// Longer than a claim that was deleted counts in any case.
const releaseDelaySeconds = 8
const everywhere = 'member1,member2,member3'

let stage: Stage

beforeAll(async () => {
  stage = await startStage({}, { placement: { releaseDelaySeconds } })
  await stage.hub.kubectl(['create', 'namespace', 'tenant'])
})

afterAll(() => stopStage(stage))

describe.each([
  { what: 'claim', by: 'kubectl replace --force', replace: (name: string) => replaceByForce(claimOf(name)) },
  { what: 'claim', by: 'kubectl delete and apply', replace: (name: string) => deleteAndCreate(name, claimOf(name)) },
  { what: 'DataSource', by: 'kubectl replace --force', replace: (name: string) => replaceByForce(sourceOf(name)) },
  {
    what: 'DataSource',
    by: 'kubectl delete and apply',
    replace: (name: string) => deleteAndCreate(name, sourceOf(name)),
  },
  { what: 'policy', by: 'kubectl replace --force', replace: (name: string) => replaceByForce(policy(name)) },
  { what: 'policy', by: 'kubectl delete and apply', replace: (name: string) => deleteAndCreate(name, policy(name)) },
  {
    what: 'grant',
    by: 'kubectl annotate',
    replace: async (name: string) => {
      await grant(false)
      await isSettled(name)
      await grant(true)
    },
  },
])('when the $what of a running workload is replaced with $by', ({ what, by, replace }) => {
  test('the workload stays in its cluster throughout', async () => {
    const name = `${what} ${by}`.replaceAll(/[^a-z]+/gi, '-').toLowerCase()
    const workload = await runInMember2(name)
    const record = stage.placements.follow(workload)

    await replace(name)

    await isBound(name)
    await isSettled(name)
    expect(record).toMatchObject({ clusters: ['member2'], members: ['member2'] })
  })
})

test('a workload whose claim is replaced for other data moves there and nowhere else', async () => {
  const workload = await runInMember2('redirected')
  const record = stage.placements.follow(workload)
  await stage.hub.apply(source('redirected-elsewhere', ['member3']))

  await replaceByForce(claimOf('redirected', 'redirected-elsewhere'))

  await stage.placements.isIn(workload, 'member3')
  expect(record.clusters).toEqual(['member2', 'member3'])
})

test('a workload whose claim is deleted may run everywhere after the release delay', async () => {
  const workload = await runInMember2('released')
  const record = stage.placements.follow(workload)

  const deletedAt = Date.now()
  await stage.hub.delete(claimOf('released'))

  await stage.placements.isIn(workload, everywhere)
  expect(record.clusters).toEqual(['member2', everywhere])
  const movedAt = record.states.find(({ clusters }) => clusters === everywhere)?.at ?? 0
  expect(movedAt - deletedAt).toBeGreaterThanOrEqual(releaseDelaySeconds * 1000)
})

test.each([
  {
    name: 'duplicated',
    replicaScheduling: { replicaSchedulingType: 'Duplicated' },
    reason: 'the policy runs a copy in each of its clusters',
  },
  {
    name: 'divided',
    replicaScheduling: { replicaSchedulingType: 'Divided', replicaDivisionPreference: 'Weighted' },
    reason: 'the replicas are divided over several clusters',
  },
])(
  'a preference removes no copy of a workload that is $name over three clusters',
  async ({ name, replicaScheduling, reason }) => {
    const workload = deployment(`preferring-${name}`)
    workload.spec['replicas'] = 3
    const { name: data } = workload.metadata
    const placement = { clusterAffinity: { clusterNames: everywhere.split(',') }, replicaScheduling }
    await stage.hub.apply(policy(data, { placement }), workload)
    await stage.placements.isIn(workload, everywhere)
    const record = stage.placements.follow(workload)

    await stage.hub.apply(source(data, ['member2']), claim(data, { data, policy: { enforcement: 'Preferred' } }))

    await stage.plane.eventually('the binding says why', async () => {
      expect(await decisionOn(stage, workload)).toContain(reason)
      return true
    })
    await isSettled(data)
    expect(record).toMatchObject({ clusters: [everywhere], members: [everywhere] })
  },
)

/** A claim of another namespace, so that it needs a grant. */
function claimOf(name: string, data = name): SpecObject {
  const { spec, ...rest } = claim(name, { data, namespace: 'tenant' })
  return {
    ...rest,
    spec: { ...spec, workload: { ...(spec['workload'] as object), namespace: 'default' } },
  } as SpecObject
}

function sourceOf(name: string): SpecObject {
  return source(name, ['member2'])
}

/** The policy allows three clusters, and all of them would get the workload. */
async function runInMember2(name: string): Promise<SpecObject> {
  await grant(true)
  const workload = deployment(name)
  await stage.plane.eventually('admission has seen the grant', () => stage.hub.apply(claimOf(name)))
  await stage.hub.apply(sourceOf(name), policy(name), workload)
  await stage.placements.isIn(workload, 'member2')
  return workload
}

async function grant(isGiven: boolean): Promise<void> {
  const annotation = `lodestone.dev/allow-claims-from${isGiven ? '=tenant' : '-'}`
  await stage.hub.kubectl(['annotate', '--overwrite', 'namespace', 'default', annotation])
}

async function isBound(name: string): Promise<void> {
  const words = ['wait', '--for=jsonpath={.status.phase}=Bound', 'dsc', name, '--namespace', 'tenant', '--timeout=60s']
  await stage.plane.eventually('the claim is bound', () => stage.hub.kubectl(words))
}

async function isSettled(name: string): Promise<void> {
  await settled(`the binding of ${name}`, () => stage.hub.bindingOf(deployment(name)))
}

/** Creates it again when nothing more follows from its deletion. */
async function deleteAndCreate(name: string, object: KubeObject): Promise<void> {
  await stage.hub.delete(object)
  await isSettled(name)
  await stage.plane.eventually('it is created again', () => stage.hub.kubectl(['create', '-f', '-'], stringify(object)))
}

/** Deletes an object and creates it again, in one command of a user. */
async function replaceByForce(object: KubeObject): Promise<void> {
  await stage.hub.kubectl(['replace', '--force', '-f', '-'], stringify(object))
}
