import { describe, expect, onTestFinished, test } from 'vitest'
import { makeClaim, makeNamespace } from '../../test/builders.ts'
import { storeOf } from '../../test/stores.ts'
import { type ValidatingAdmissionPolicy, validatingAdmissionPolicies } from '../api/admission-policy.ts'
import { type DataSourceClaim, dataSourceClaims } from '../api/data-source-claim.ts'
import { interpreterWebhookConfigurations } from '../api/interpreter.ts'
import { resourceBindings } from '../api/karmada.ts'
import type { ResourceType } from '../api/meta.ts'
import { namespaces } from '../api/namespace.ts'
import {
  mutatingWebhookConfigurations,
  VERSION_ANNOTATION,
  validatingWebhookConfigurations as validating,
  type WebhookConfiguration,
} from '../api/registration.ts'
import { TestClock } from '../base/time/clock.fake.ts'
import { connectToFake } from '../store/cluster/api-connection.fake.ts'
import { ApiError } from '../store/cluster/api-error.ts'
import { openClusterStore } from '../store/cluster/cluster.ts'
import { type Lease, leases } from '../store/cluster/lease.ts'
import { ReplicaList } from '../store/cluster/replica-list.ts'
import { cachedKinds } from '../store/kinds/cached-kinds.ts'
import type { ObjectStore } from '../store/store.ts'
import { recordLog, silentLog } from '../telemetry/logger.fake.ts'
import type { Logger } from '../telemetry/logger.ts'
import { openMetrics } from '../telemetry/metrics.ts'
import { type Config, DEFAULT_CONFIG } from './config/config.ts'
import { openLeadershipState } from './election.ts'
import { storedExemptNamespaces, wantedAbsencePolicies } from './registration.ts'
import { startRegistration } from './registration-loop.ts'
import { openRegistrationState } from './registration-state.ts'

const type = mutatingWebhookConfigurations
const deployments: ResourceType = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  namespaced: true,
}
const place = { namespace: 'lodestone-system', name: 'lodestone' }

function configured(timeoutSeconds = 3, election = true): Config {
  const { registration, leaderElection } = DEFAULT_CONFIG
  return {
    ...DEFAULT_CONFIG,
    registration: { ...registration, mode: 'service', timeoutSeconds },
    leaderElection: { ...leaderElection, ...place, enabled: election },
  }
}

/** A cluster with the Lease of the election. */
async function openCluster(store?: ObjectStore) {
  const clock = new TestClock()
  const cluster = store ?? (await storeOf())
  const lease: Lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: place }
  if (!store) await cluster.create(leases, lease)
  return {
    clock,
    store: cluster,
    registration: () => cluster.read(type, undefined, 'lodestone'),
    async edit(change: (entries: NonNullable<WebhookConfiguration['webhooks']>) => typeof entries): Promise<void> {
      const current = (await cluster.read(type, undefined, 'lodestone')) as WebhookConfiguration
      await cluster.update(type, { ...current, webhooks: change(current.webhooks ?? []) })
    },
  }
}

type Cluster = Awaited<ReturnType<typeof openCluster>>

interface ReplicaOptions {
  config?: Config
  ca?: string
  interpreted?: ResourceType[]
  log?: Logger
}

function startReplica(
  { clock, store }: Cluster,
  { config = configured(), ca = 'CA', interpreted, log = silentLog }: ReplicaOptions = {},
) {
  const metrics = openMetrics()
  const leadership = openLeadershipState(clock)
  const state = openRegistrationState(config)
  const events: string[] = []
  const interpreter = interpreted && { types: interpreted, isStored: () => true, interpret: () => [] }
  let bundle = ca
  const loop = startRegistration({
    config,
    store,
    leaseStore: store,
    eventStore: {
      create: async (_type: unknown, { reason, message }: never) => events.push(`${reason}: ${message}`),
    } as never,
    interpreter,
    certificates: {
      current: () => ({ certPem: '', keyPem: '', notAfter: 0, caBundlePem: bundle }),
      subscribe: () => () => undefined,
      check: async () => undefined,
      stop: () => undefined,
    },
    leadership,
    state,
    log,
    metrics,
    now: () => clock.now(),
    clock,
  })
  onTestFinished(() => loop.stop())
  async function runs(): Promise<number> {
    return (await metrics.registrations.get()).values.reduce((sum, { value }) => sum + value, 0)
  }
  return {
    state,
    events,
    stop: loop.stop,
    lead: () => leadership.begin({ check: () => undefined }),
    follow: () => leadership.end(),
    renew(next: string) {
      bundle = next
    },
    /** Waits for a run that begins after this call. */
    async run(): Promise<void> {
      await expect.poll(runs).toBeGreaterThan(0)
      // The first run may have begun before this call, so two more are awaited.
      for (const before of [await runs(), (await runs()) + 1]) {
        loop.trigger()
        await expect.poll(runs).toBeGreaterThan(before)
      }
    },
    async results(): Promise<Record<string, number>> {
      const { values } = await metrics.registrations.get()
      return Object.fromEntries(values.map(({ labels, value }) => [labels['result'] ?? '', value]))
    },
  }
}

const timeouts = (registration: WebhookConfiguration | undefined) => [
  ...new Set(registration?.webhooks?.map(({ timeoutSeconds }) => timeoutSeconds)),
]

const certificate = (name: string) => `-----BEGIN CERTIFICATE-----\n${name}\n-----END CERTIFICATE-----\n`

/** The names of the CAs in each bundle that a webhook has. */
async function cas({ registration }: Awaited<ReturnType<typeof openCluster>>): Promise<string[]> {
  const { webhooks = [] } = (await registration()) ?? {}
  const bundles = webhooks.map(({ clientConfig }) => atob(clientConfig.caBundle ?? '').match(/^\w+$/gm) ?? [])
  return [...new Set(bundles.map((names) => names.join()))]
}

describe('of two replicas', () => {
  test('only the leader writes the registration, and both are registered', async () => {
    const cluster = await openCluster()
    const [leader, other] = [startReplica(cluster), startReplica(cluster)]
    await other.run()
    expect(await cluster.registration()).toBeUndefined()
    expect(other.state.isRegistered()).toBe(false)

    leader.lead()
    await leader.run()
    await other.run()
    expect((await cluster.registration())?.metadata.annotations).toHaveProperty([VERSION_ANNOTATION])
    expect([leader, other].map(({ state }) => state.isRegistered())).toEqual([true, true])
    expect([leader, other].map(({ state }) => state.isPublished('CA'))).toEqual([true, true])
    expect(await other.results()).not.toHaveProperty('written')
  })

  test('one with another CA adds it, and the last one with the former CA takes that away', async () => {
    const cluster = await openCluster()
    const [former, own] = [certificate('former'), certificate('own')]
    const [leader, other] = [startReplica(cluster, { ca: former }), startReplica(cluster, { ca: own })]
    leader.lead()
    await leader.run()
    await other.run()
    await leader.run()
    await other.run()
    expect(await cas(cluster)).toEqual(['own,former'])
    expect([leader, other].map(({ state }) => state.isRegistered())).toEqual([true, true])
    expect([leader.state.isPublished(former), other.state.isPublished(own)]).toEqual([true, true])
    expect(await leader.results()).toMatchObject({ written: 1 })
    expect(await other.results()).toMatchObject({ written: 1 })

    leader.follow()
    await leader.stop()
    other.lead()
    await other.run()
    expect(await cas(cluster)).toEqual(['own'])
    expect([...leader.events, ...other.events]).toEqual([])
  })

  test('a leader with another CA keeps that of the other one', async () => {
    const cluster = await openCluster()
    const [former, own] = [certificate('former'), certificate('own')]
    const old = startReplica(cluster, { ca: former })
    old.lead()
    await old.run()
    const next = startReplica(cluster, { ca: own })
    old.follow()
    next.lead()
    await next.run()
    await old.run()
    expect(await cas(cluster)).toEqual(['own,former'])
    expect(old.state.isPublished(former)).toBe(true)
  })
})

describe('of two configurations', () => {
  test('the present one stays until the replicas of the other are gone', async () => {
    const cluster = await openCluster()
    const old = startReplica(cluster, { config: configured(3) })
    old.lead()
    await old.run()
    const first = await cluster.registration()

    const next = startReplica(cluster, { config: configured(9) })
    await next.run()
    old.follow()
    next.lead()
    await next.run()
    await old.run()
    expect(await cluster.registration()).toEqual(first)
    expect(next.state.kept()).toMatch(
      /^the present registration is kept until replica .* of another configuration is gone$/,
    )
    expect(next.state.isRegistered()).toBe(true)
    expect(next.events).toEqual([expect.stringMatching(/^RegistrationKept: /)])

    await old.stop()
    await next.run()
    expect(timeouts(await cluster.registration())).toEqual([9])
    expect(next.state.kept()).toBeUndefined()
    expect(Number((await cluster.registration())?.metadata.resourceVersion)).toBeGreaterThan(
      Number(first?.metadata.resourceVersion),
    )
  })

  test('the leader gives both a new CA', async () => {
    const cluster = await openCluster()
    const [before, after] = [certificate('before'), certificate('after')]
    const old = startReplica(cluster, { config: configured(3), ca: before })
    old.lead()
    await old.run()
    const next = startReplica(cluster, { config: configured(9), ca: before })
    old.follow()
    next.lead()
    next.renew(after)
    await next.run()
    expect(await cas(cluster)).toEqual(['after,before'])

    old.renew(after)
    await old.run()
    await next.run()
    expect(await cas(cluster)).toEqual(['after'])
    expect(timeouts(await cluster.registration())).toEqual([3])
    expect(next.state.isPublished(after)).toBe(true)
  })
})

describe('of two versions', () => {
  test('the newer registration stays until its last replica is gone', async () => {
    const cluster = await openCluster()
    const newer = startReplica(cluster, { config: configured(9) })
    newer.lead()
    await newer.run()
    await newer.stop()
    const { clock, store } = cluster
    const later = new ReplicaList({ ...place, store, id: 'later', clock, now: () => 0 })
    await later.announce({ host: 'pod-9', version: '9.0.0', registration: 'x' })

    const older = startReplica(cluster)
    older.lead()
    await older.run()
    expect(timeouts(await cluster.registration())).toEqual([9])
    expect(older.state.kept()).toContain('until replica pod-9 of version 9.0.0 is gone')

    clock.advance(36_000)
    await older.run()
    expect(timeouts(await cluster.registration())).toEqual([3])
  })

  test('a registration without a version stays for a minute', async () => {
    const cluster = await openCluster()
    const replica = startReplica(cluster, { config: configured(9) })
    replica.lead()
    await replica.run()
    const { metadata, ...rest } = (await cluster.registration()) as WebhookConfiguration
    const { annotations: _, ...others } = metadata
    await cluster.store.update(type, { ...rest, metadata: others })
    await replica.stop()

    const next = startReplica(cluster)
    next.lead()
    await next.run()
    expect(timeouts(await cluster.registration())).toEqual([9])
    cluster.clock.advance(61_000)
    await next.run()
    expect(timeouts(await cluster.registration())).toEqual([3])
  })
})

describe('a registration that another client changes', () => {
  test('is repaired', async () => {
    const cluster = await openCluster()
    const replica = startReplica(cluster)
    replica.lead()
    await replica.run()
    cluster.clock.advance(300_000)
    await cluster.edit((entries) => entries.slice(1))
    await replica.run()
    expect(replica.state.kept()).toBeUndefined()
    expect((await cluster.registration())?.webhooks?.length).toBeGreaterThan(3)
  })

  test('after each write is left alone for two minutes, with a Warning', async () => {
    const cluster = await openCluster()
    const replica = startReplica(cluster)
    replica.lead()
    await replica.run()
    cluster.clock.advance(10_000)
    await cluster.edit((entries) => entries.slice(0, 1))
    await replica.run()
    expect((await cluster.registration())?.webhooks).toHaveLength(1)
    expect(replica.state.kept()).toContain('another client changes it after each write')
    expect(replica.events).toEqual([expect.stringMatching(/^RegistrationReverted: /)])

    cluster.clock.advance(121_000)
    await replica.run()
    expect((await cluster.registration())?.webhooks?.length).toBeGreaterThan(3)
  })
})

test('without an election, the only replica registers and needs no Lease', async () => {
  const cluster = await openCluster(await storeOf())
  const replica = startReplica(cluster, { config: configured(3, false) })
  replica.lead()
  await replica.run()
  expect(timeouts(await cluster.registration())).toEqual([3])
  expect(await cluster.store.read(leases, place.namespace, place.name)).toBeUndefined()
})

test('only a cluster with Karmada gets requests to register the interpreter', async () => {
  const types = [type, validating, resourceBindings, interpreterWebhookConfigurations]
  const { server, connection } = await connectToFake(types)
  server.serve(resourceBindings, false)
  const kinds = cachedKinds.filter((kind) => kind.type === resourceBindings)
  const store = openClusterStore({ connection, kinds, unservedRetryMs: 10 })
  onTestFinished(() => store.stop())
  await store.start(new AbortController().signal)
  const replica = startReplica(await openCluster(store), { config: configured(3, false), interpreted: [deployments] })
  replica.lead()
  await replica.run()
  expect(server.requests.filter(({ path }) => path.startsWith('/apis/config.karmada.io'))).toEqual([])

  server.serve(resourceBindings, true)
  await expect.poll(() => store.serves(resourceBindings)).toBe(true)
  await replica.run()
  const registered = await store.read(interpreterWebhookConfigurations, undefined, 'lodestone')
  expect(registered?.webhooks).toHaveLength(1)
})

describe('the policies of the API server', () => {
  const [decided, claimed] = wantedAbsencePolicies(configured())
  const named = ({ store }: Cluster, policy = decided) =>
    store.read(validatingAdmissionPolicies, undefined, policy?.metadata.name ?? '')

  test('are kept as this version wants them, with the annotations of other clients', async () => {
    const cluster = await openCluster()
    const annotations = { team: 'a' }
    const spec = { ...decided?.spec, validations: [] }
    const older = { ...decided, metadata: { ...decided?.metadata, annotations }, spec } as ValidatingAdmissionPolicy
    await cluster.store.create(validatingAdmissionPolicies, older)
    const replica = startReplica(cluster)
    replica.lead()
    await replica.run()
    cluster.clock.advance(61_000)
    await replica.run()

    expect(await named(cluster)).toMatchObject({
      metadata: { annotations: { ...annotations, ...decided?.metadata.annotations } },
      spec: decided?.spec,
    })
  })

  test('are updated although the interpreter may not be registered; a remedy is logged', async () => {
    const cluster = await openCluster()
    const older = { ...decided, spec: { ...decided?.spec, validations: [] } } as ValidatingAdmissionPolicy
    await cluster.store.create(validatingAdmissionPolicies, older)
    const forbidden = new ApiError({ status: 403, reason: 'Forbidden', message: 'HTTP 403' })
    const read = cluster.store.read.bind(cluster.store)
    cluster.store.read = async (kind, ...name) => {
      if (kind.plural === interpreterWebhookConfigurations.plural) throw forbidden
      return read(kind, ...name)
    }
    const { log, lines } = recordLog('warn')
    const replica = startReplica(cluster, { interpreted: [deployments], log })
    replica.lead()
    await replica.run()
    cluster.clock.advance(61_000)
    await replica.run()

    expect((await named(cluster))?.spec).toEqual(decided?.spec)
    expect(lines).toContainEqual(
      expect.objectContaining({
        msg: 'registration failed',
        reason: 'HTTP 403',
        remedy: expect.stringContaining('lodestone manifests rbac'),
      }),
    )
  })

  test('are not touched without the right to the Lease, and the log names its role', async () => {
    const cluster = await openCluster()
    const details = { kind: 'leases', name: 'lodestone' }
    cluster.store.read = async () => {
      throw new ApiError({ status: 403, reason: 'Forbidden', message: 'HTTP 403', details })
    }
    const { log, lines } = recordLog('warn')
    await startReplica(cluster, { log }).run()

    expect(lines).toContainEqual(expect.objectContaining({ remedy: expect.stringContaining('manifests election') }))
  })

  test('are not created, since the installation decides about them', async () => {
    const cluster = await openCluster()
    const replica = startReplica(cluster)
    replica.lead()
    await replica.run()

    expect(await cluster.registration()).toBeDefined()
    expect(await named(cluster)).toBeUndefined()
  })

  describe('with a namespace of many claims', () => {
    const many = 501
    const exemptIn = async (cluster: Cluster) => {
      const policy = await named(cluster, claimed)
      return policy && storedExemptNamespaces([policy], configured())
    }

    async function openLargeCluster(labels: Record<string, string> = {}) {
      const cluster = await openCluster()
      await cluster.store.create(validatingAdmissionPolicies, claimed as ValidatingAdmissionPolicy)
      await cluster.store.create(namespaces, { ...makeNamespace('large'), metadata: { name: 'large', labels } })
      await addClaims(cluster, 'large', many)
      return cluster
    }

    async function addClaims({ store }: Cluster, namespace: string, count: number): Promise<void> {
      for (let i = 0; i < count; i++) await store.create(dataSourceClaims, makeClaim({}, { namespace, name: `c-${i}` }))
    }

    test('the leader exempts it, with one Event, and no other replica does', async () => {
      const cluster = await openLargeCluster()
      const [leader, other] = [startReplica(cluster), startReplica(cluster)]
      await other.run()
      expect(await exemptIn(cluster)).toEqual([])

      leader.lead()
      await leader.run()
      await leader.run()
      await other.run()
      expect(await exemptIn(cluster)).toEqual(['large'])
      expect(leader.events).toEqual([
        expect.stringContaining('NamespacesExempt: new workloads with a claim do not wait'),
      ])
      expect(other.events).toEqual([])
    })

    test.each([
      { value: 'claims', expected: [] },
      { value: 'Claims', expected: ['large'] },
      { value: 'true', expected: ['large'] },
    ])('with the label $value, the exempt namespaces are $expected', async ({ value, expected }) => {
      const cluster = await openLargeCluster({ 'lodestone.dev/enforce': value })
      const leader = startReplica(cluster)
      leader.lead()
      await leader.run()
      expect(await exemptIn(cluster)).toEqual(expected)
    })

    test('the list changes at most once a minute, and that is no change of another client', async () => {
      const cluster = await openLargeCluster()
      const leader = startReplica(cluster)
      leader.lead()
      await leader.run()
      await addClaims(cluster, 'larger', many)
      cluster.clock.advance(59_000)
      await leader.run()
      expect(await exemptIn(cluster)).toEqual(['large'])

      cluster.clock.advance(1_000)
      await leader.run()
      expect(await exemptIn(cluster)).toEqual(['large', 'larger'])
      expect(leader.events.filter((one) => !one.startsWith('NamespacesExempt'))).toEqual([])
    })

    test('a list that changes soon after another write of the policy is written too', async () => {
      const cluster = await openCluster()
      const spec = { ...claimed?.spec, validations: [] }
      await cluster.store.create(validatingAdmissionPolicies, { ...claimed, spec } as ValidatingAdmissionPolicy)
      const leader = startReplica(cluster)
      leader.lead()
      await leader.run()
      expect((await named(cluster, claimed))?.spec).toEqual(claimed?.spec)
      cluster.clock.advance(10_000)
      await addClaims(cluster, 'large', many)
      await leader.run()
      expect(await exemptIn(cluster)).toEqual(['large'])
      expect(leader.events.filter((one) => one.startsWith('RegistrationReverted'))).toEqual([])
    })

    test('an installation that applies its policy again does not change the list for long', async () => {
      const cluster = await openLargeCluster()
      const leader = startReplica(cluster)
      leader.lead()
      await leader.run()
      cluster.clock.advance(60_000)
      await leader.run()
      const stored = (await named(cluster, claimed)) as ValidatingAdmissionPolicy
      await cluster.store.update(validatingAdmissionPolicies, { ...stored, spec: claimed?.spec ?? stored.spec })
      await leader.run()
      expect(await exemptIn(cluster)).toEqual(['large'])
    })

    test('the next leader keeps a namespace that is below the maximum again', async () => {
      const cluster = await openLargeCluster()
      const leader = startReplica(cluster)
      leader.lead()
      await leader.run()
      await leader.stop()
      const [first] = [...cluster.store.list(dataSourceClaims)]
      await cluster.store.delete(dataSourceClaims, first as DataSourceClaim)
      const next = startReplica(cluster)
      next.lead()
      await next.run()
      expect(await exemptIn(cluster)).toEqual(['large'])
      expect(next.events).toEqual([])
    })
  })
})
