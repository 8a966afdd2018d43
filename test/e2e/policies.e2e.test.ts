// Policies on a real Karmada, whose own webhook stands between ours and the store: what its users say is what holds.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import type { KubeObject } from './api-client.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { installLodestone, type Lodestone, startLodestone } from './lodestone.ts'
import { claim, clusterPolicy, deployment, policy, type SpecObject, source } from './manifests.ts'
import { stopAndCheckRights } from './rights.ts'

const ANNOTATION = 'lodestone.dev/propagate-deps'

let plane: ControlPlane
let lodestone: Lodestone

beforeAll(async () => {
  plane = await startControlPlane()
  lodestone = await startLodestone(plane, { kubeconfig: await installLodestone(plane) })
})

afterAll(async () => {
  try {
    await noControllerWritesPolicies()
  } finally {
    await stopAndCheckRights({ plane, lodestones: [lodestone] })
  }
})

describe('a policy for a workload whose data is claimed', () => {
  test.each([
    { kind: 'PropagationPolicy', make: policy('told') },
    { kind: 'ClusterPropagationPolicy', make: clusterPolicy('told', deployment('told')) },
  ])('propagates its dependencies, and the user who creates the $kind gets a warning', async ({ make }) => {
    await know(claim('told', { data: 'told' }))

    const { stderr } = await plane.create(make)

    expect(stderr).toBe(
      'Warning: lodestone: propagateDeps set: DataSourceClaim default/told names Deployment default/told\n',
    )
    expect(await said(make)).toEqual({ propagateDeps: true })
  })

  test('passes the validation of Karmada, which requires it for application failover', async () => {
    const failover = { application: { decisionConditions: { tolerationSeconds: 60 } } }
    const free = withSpec(policy('failover-free'), { failover })
    const bound = withSpec(policy('failover'), { failover })
    await know(claim('failover', { data: 'failover' }))

    const refused = await plane.tryCreate(free)
    await plane.create(bound)

    expect(refused.stderr).toContain('propagateDeps must be true')
    expect(await said(bound)).toEqual({ propagateDeps: true })
  })
})

describe('a policy with propagateDeps: false', () => {
  test('is remembered, although Karmada drops the field, until the user changes it', async () => {
    const quiet = policy('quiet', { propagateDeps: false })
    await know(claim('quiet', { data: 'quiet' }))

    const created = await plane.create(quiet)
    expect(created.stderr).toBe(
      `Warning: lodestone: propagateDeps: false is kept as annotation ${ANNOTATION}: "false"\n`,
    )
    expect(await said(quiet)).toEqual({ annotation: 'false' })

    const labeled = await plane.kubectl(['label', 'propagationpolicy', 'quiet', 'touched=yes'])
    expect(labeled.stderr).toBe('')
    expect(await said(quiet)).toEqual({ annotation: 'false' })

    const patch = '{"spec":{"propagateDeps":true}}'
    await plane.kubectl(['patch', 'propagationpolicy', 'quiet', '--type=merge', '-p', patch])
    expect(await said(quiet)).toEqual({ propagateDeps: true })
  })

  test('by server-side apply, again and again, meets no conflict', async () => {
    const applied = policy('quiet-ssa', { propagateDeps: false })
    await know(claim('quiet-ssa', { data: 'quiet-ssa' }))

    for (let round = 0; round < 3; round++) {
      await plane.kubectl(['apply', '--server-side', '-f', '-'], { input: stringify(applied) })
      expect(await said(applied)).toEqual({ annotation: 'false' })
    }
  })

  test('by kubectl apply while Lodestone was away is heard when it comes back', async () => {
    const away = policy('quiet-away', { propagateDeps: false })
    await lodestone.stop()
    await plane.kubectl(['apply', '-f', '-'], { input: stringify(away) })
    expect(await said(away)).toEqual({})
    await lodestone.restart()

    await plane.apply([
      claim('quiet-away', { data: 'quiet-away' }),
      policy('marker'),
      claim('marker', { data: 'marker' }),
    ])
    await plane.eventually('a policy beside it is looked at', async () => (await said(policy('marker'))).propagateDeps)

    expect(await said(away)).toEqual({})
  })
})

describe('a claim that comes after its policy', () => {
  test('makes the policy propagate, and an Event tells so', async () => {
    const late = policy('late')
    await plane.apply([late, deployment('late')])
    expect(await said(late)).toEqual({})

    await plane.apply(claim('late', { data: 'late' }))

    await plane.eventually('the policy propagates', async () => (await said(late)).propagateDeps)
    const told = await plane.eventually(
      'an Event tells so',
      async () =>
        (await plane.kubectl(['describe', 'propagationpolicy', 'late'])).stdout.match(/PropagateDepsSet.*/)?.[0],
    )
    expect(told).toContain('propagateDeps set: DataSourceClaim default/late names Deployment default/late')
    await plane.eventually('so does the binding', async () => {
      const binding = await plane.getJson('resourcebindings.work.karmada.io', 'late-deployment', 'default')
      return (binding as SpecObject | undefined)?.spec['propagateDeps']
    })
  })

  test('reaches narrowed workloads of a lazy policy at once, until they change', async () => {
    const lazy = withSpec(policy('lazy'), { activationPreference: 'Lazy' })
    await plane.apply([source('lazy', ['member3']), lazy, deployment('lazy')])
    const spec = async () => {
      const binding = await plane.getJson('resourcebindings.work.karmada.io', 'lazy-deployment', 'default')
      return (binding as SpecObject | undefined)?.spec ?? {}
    }
    await plane.eventually('it is scheduled', async () => (await spec())['clusters'])

    await plane.apply(claim('lazy', { data: 'lazy' }))

    await plane.eventually('its dependencies follow it to its data', async () => {
      expect(await spec()).toMatchObject({ clusters: [{ name: 'member3' }], propagateDeps: true })
      return true
    })

    const declines = '{"metadata":{"annotations":{"lodestone.dev/propagate-deps":"false"}}}'
    await plane.kubectl(['patch', 'propagationpolicy', 'lazy', '--type=merge', '-p', declines])
    await plane.kubectl(['label', 'deployment', 'lazy', 'touched=yes'])
    await plane.eventually('they do not follow it any more', async () => !(await spec())['propagateDeps'])
  })

  test('makes a policy by labels propagate', async () => {
    const { apiVersion, kind } = deployment('labelled')
    const byLabels = withSpec(policy('labelled'), {
      resourceSelectors: [{ apiVersion, kind, labelSelector: { matchLabels: { app: 'labelled' } } }],
    })
    await plane.apply([byLabels, deployment('labelled'), claim('labelled', { data: 'labelled' })])

    await plane.eventually('the policy propagates', async () => (await said(byLabels)).propagateDeps)
  })
})

/** A restart looks at the policies of all tests that ran, and leaves them alone. */
async function noControllerWritesPolicies(): Promise<void> {
  const versions = async () =>
    (await plane.listJson('propagationpolicies')).map(
      ({ metadata }) => `${metadata.name} ${metadata['resourceVersion']}`,
    )
  const before = await versions()

  await lodestone.restart()
  await plane.apply([policy('last'), claim('last', { data: 'last' })])
  await plane.eventually('the last one propagates', async () => (await said(policy('last'))).propagateDeps)

  expect((await versions()).filter((version) => !version.startsWith('last '))).toEqual(before)
}

/** A policy that comes at once could come before Lodestone has heard of the claim. */
async function know(one: KubeObject): Promise<void> {
  const { name, namespace } = one.metadata
  await plane.apply(one)
  await plane.eventually('Lodestone knows the claim', async () => {
    return (await plane.getJson('datasourceclaims', name, namespace))?.['status']
  })
}

function withSpec({ spec, ...object }: SpecObject, more: Record<string, unknown>): SpecObject {
  return { ...object, spec: { ...spec, ...more } } as SpecObject
}

// What the stored policy says of its dependencies.
async function said({ kind, metadata }: KubeObject): Promise<{ propagateDeps?: unknown; annotation?: string }> {
  const plural = kind === 'PropagationPolicy' ? 'propagationpolicies' : 'clusterpropagationpolicies'
  const stored = (await plane.getJson(plural, metadata.name, metadata.namespace)) as SpecObject
  const { propagateDeps } = stored.spec
  const annotation = stored.metadata.annotations?.[ANNOTATION]
  return { ...(propagateDeps !== undefined && { propagateDeps }), ...(annotation !== undefined && { annotation }) }
}
