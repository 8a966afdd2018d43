import { expect, test } from 'vitest'
import { validatingAdmissionPolicies, validatingAdmissionPolicyBindings } from '../../api/admission-policy.ts'
import type { ResourceType } from '../../api/meta.ts'
import {
  mutatingWebhookConfigurations,
  validatingWebhookConfigurations,
  type WebhookConfiguration,
} from '../../api/registration.ts'
import { completeConfig } from '../../app/config/config.ts'
import { VERSION, wantedRegistration } from '../../app/registration.ts'
import { TestClock } from '../../base/time/clock.fake.ts'
import { connectToFake } from '../../store/cluster/api-connection.fake.ts'
import { reset, status } from '../../store/cluster/api-responses.fake.ts'
import { type Lease, leases } from '../../store/cluster/lease.ts'
import { makeAuthority } from '../../tls/renewal.ts'
import { type FoundServer, judgeLease, KEPT_MS, openServerReport } from './server-report.ts'
import { openMemory, schemaErrors } from './ui.fake.ts'

const NOW = Date.parse('2026-11-20T12:00:00Z')
const config = completeConfig({ registration: { mode: 'service' } }, 'test')
const TYPES: ResourceType[] = [
  leases,
  mutatingWebhookConfigurations,
  validatingWebhookConfigurations,
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
]

const lease: Lease = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: {
    ...config.leaderElection,
    annotations: {
      'replica.lodestone.dev/b': JSON.stringify({
        host: 'pod-b',
        version: '0.1.0',
        registration: 'd2',
        ca: 'd3',
        elsewhere: true,
      }),
      'replica.lodestone.dev/a': JSON.stringify({ host: 'pod-a', version: '0.2.0', registration: 'd1', time: 't' }),
      'replica.lodestone.dev/c': '{',
    },
  },
  spec: {
    holderIdentity: 'pod-a',
    acquireTime: '2026-11-20T10:00:00.000000Z',
    renewTime: '2026-11-20T11:59:58.000000Z',
    leaseDurationSeconds: 15,
    leaseTransitions: 3,
  },
}

const authority = makeAuthority(NOW)

/** An installation on a fake API server, and its report. */
async function open() {
  const { server, connection } = await connectToFake(TYPES)
  const { certPem: caBundlePem } = await authority
  for (const wanted of wantedRegistration(config, { caBundlePem })) {
    const type = TYPES.find(({ kind }) => kind === wanted.kind) as ResourceType<WebhookConfiguration>
    const managedFields = [
      { manager: 'kubectl', time: '2026-11-19T00:00:00Z' },
      { manager: 'lodestone', time: '2026-11-20T00:00:00Z' },
    ]
    server.put(type, { ...wanted, metadata: { ...wanted.metadata, managedFields } })
  }
  server.put(leases, lease)
  const store = await openMemory()
  const clock = new TestClock()
  const { signal } = new AbortController()
  const report = openServerReport({ connection, store, config, signal, now: () => NOW, clock })
  return { server, clock, report: report as () => Promise<FoundServer> }
}

const findingOf = ({ findings }: FoundServer, name: string) => findings.find((each) => each.name === name)

test('the leader of a hub is found in the cluster of the pod of the page', async () => {
  const { connection } = await connectToFake(TYPES)
  const { server: hostServer, connection: host } = await connectToFake(TYPES)
  hostServer.put(leases, lease)
  const { signal } = new AbortController()
  const input = { connection, host, store: await openMemory(), config, signal, now: () => NOW, clock: new TestClock() }
  const found = (await openServerReport(input)()) as FoundServer
  expect(found.leader).toMatchObject({ holder: 'pod-a' })
  expect(findingOf(found, 'leader')?.result).toBe('passed')
  expect(hostServer.requests.map(({ path }) => path).filter((path) => !path.includes('/leases/'))).toEqual([])
})

test('the report has the leader, the replicas, the registration and its certificate', async () => {
  const { report } = await open()
  const found = await report()
  expect(found).toMatchObject({
    versions: { lodestone: VERSION, kubernetes: 'v1.35.4' },
    leader: { holder: 'pod-a', since: '2026-11-20T10:00:00.000000Z', transitions: 3, isOld: false },
    replicas: [{ host: 'pod-a', version: '0.2.0' }, { host: 'pod-b' }],
    certificates: [{ use: 'CA of the webhooks', end: '2027-11-20T12:00:00.000Z' }],
  })
  const [mutating] = found.registrations
  expect(mutating).toMatchObject({
    kind: 'MutatingWebhookConfiguration',
    version: VERSION,
    digest: expect.any(String),
    writer: { manager: 'lodestone', time: '2026-11-20T00:00:00Z' },
  })
  expect(Object.values(mutating?.failurePolicies ?? {}).reduce((a, b) => a + b)).toBe(mutating?.webhooks)
  expect(schemaErrors({ apiVersion: 'ui.lodestone.dev/v1alpha1', kind: 'Server', ...found })).toEqual([])
})

test('its sentences are those of check-install', async () => {
  const { report } = await open()
  const found = await report()
  expect(findingOf(found, 'ca-bundle')).toEqual({
    name: 'ca-bundle',
    result: 'passed',
    message: 'valid until 2027-11-20T12:00:00.000Z',
  })
  expect(findingOf(found, 'registration')?.message).toMatch(/^\d+ webhooks at Service lodestone-system\/lodestone$/)
})

test('32 readers at once cause one read of each object, and no write', async () => {
  const { server, clock, report } = await open()
  await Promise.all(Array.from({ length: 32 }, report))
  const asked = server.requests.map(({ method, path }) => `${method} ${path}`)
  expect(asked.filter((each, i) => asked.indexOf(each) !== i)).toEqual([])
  expect(asked.filter((each) => !each.startsWith('GET ') || each.includes('/secrets'))).toEqual([])
  await report()
  expect(server.requests).toHaveLength(asked.length)
  clock.advance(KEPT_MS)
  await report()
  expect(server.requests).toHaveLength(2 * asked.length)
})

test('a missing right is a sentence, and the rest of the report stays', async () => {
  const { server, report } = await open()
  server.misbehave(({ path }) => path.includes('/leases/'), status(403, 'Forbidden'))
  const found = await report()
  expect(findingOf(found, 'leader')).toMatchObject({
    result: 'failed',
    message: expect.stringContaining('HTTP 403'),
    remedy: expect.stringContaining('grant the user this permission'),
  })
  expect(found.leader).toBeUndefined()
  expect(found.replicas).toEqual([])
  expect(findingOf(found, 'ca-bundle')).toMatchObject({ result: 'passed' })
})

test('a server that does not respond is an error, and the next reader asks again', async () => {
  const { server, report } = await open()
  server.misbehave(() => true, reset)
  await expect(report()).rejects.toMatchObject({
    statusCode: 503,
    message: expect.stringContaining('the API server cannot be read'),
  })
  expect((await report()).leader).toBeDefined()
})

test('a folder has a sentence instead of a report', async () => {
  const store = await openMemory()
  const { signal } = new AbortController()
  const input = { connection: undefined, store, config, signal, now: () => NOW, clock: new TestClock() }
  expect(await openServerReport(input)()).toEqual({
    absent: 'a folder has no server; to see one, start lodestone ui with --kubeconfig',
    versions: { lodestone: VERSION },
  })
})

function makeLease(spec: Lease['spec'], annotations: Record<string, string> = {}): Lease {
  const metadata = { namespace: 'lodestone-system', name: 'lodestone', annotations }
  return { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, ...(spec && { spec }) }
}

const held = { holderIdentity: 'pod-a', leaseDurationSeconds: 15, renewTime: '2026-11-20T11:59:50.000000Z' }

test.each([
  { name: 'that its holder renews passes', lease: makeLease(held), result: 'passed', says: 'pod-a holds Lease' },
  {
    name: 'that its holder does not renew fails',
    lease: makeLease({ ...held, renewTime: '2026-11-20T11:59:00.000000Z' }),
    result: 'failed',
    says: 'pod-a has not renewed Lease lodestone-system/lodestone for 60 s',
  },
  { name: 'without a time fails', lease: makeLease({ holderIdentity: 'pod-a' }), result: 'failed', says: 'for ?' },
  {
    name: 'without a holder fails',
    lease: makeLease({ ...held, holderIdentity: '' }),
    result: 'failed',
    says: 'no replica',
  },
  { name: 'without a spec fails', lease: makeLease(undefined), result: 'failed', says: 'no replica holds' },
  {
    name: 'that does not exist says where it may be',
    lease: undefined,
    result: 'skipped',
    says: 'in the host cluster',
  },
  {
    name: 'that an uninstallation has is a warning',
    lease: makeLease(held, { 'lodestone.dev/uninstalling': '2026-11-20T11:59:00Z' }),
    result: 'warning',
    says: 'lodestone uninstall has Lease',
  },
])('a Lease $name', ({ lease: given, result, says }) => {
  expect(judgeLease(given, 'lodestone-system/lodestone', NOW)).toMatchObject({
    result,
    message: expect.stringContaining(says),
  })
})
