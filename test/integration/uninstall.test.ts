/** Tests `lodestone uninstall` and `check-install --gone` with an API server over HTTP: the plan, the writes, the replicas, and what stays. */

import { beforeEach, describe, expect, test } from 'vitest'
import { validatingAdmissionPolicies } from '../../src/api/admission-policy.ts'
import { dataSources } from '../../src/api/data-source.ts'
import { dataSourceClaims } from '../../src/api/data-source-claim.ts'
import { secrets } from '../../src/api/dependencies.ts'
import { clusterResourceBindings, propagationPolicies, resourceBindings } from '../../src/api/karmada.ts'
import * as keys from '../../src/api/lodestone.ts'
import { apiVersionOf, collectionPath, type K8sObject, type ObjectMeta, type ResourceType } from '../../src/api/meta.ts'
import { nodes } from '../../src/api/node.ts'
import { clusterRoles, roles } from '../../src/api/rbac.ts'
import {
  mutatingWebhookConfigurations,
  REGISTRATION_LABELS,
  validatingWebhookConfigurations,
} from '../../src/api/registration.ts'
import { volumeManagers } from '../../src/api/volume-manager.ts'
import { FastClock } from '../../src/base/time/clock.fake.ts'
import { makeKubeconfig, runWords } from '../../src/cli/cli.fake.ts'
import type { CommandIo } from '../../src/cli/command.ts'
import { PROBE_REASON } from '../../src/core/admission/webhook-probe.ts'
import type { ApiRequest } from '../../src/store/cluster/api-responses.fake.ts'
import {
  type Answer,
  brokenOff,
  isListRequest,
  json,
  reset,
  status,
} from '../../src/store/cluster/api-responses.fake.ts'
import { type FakeApiServer, startFakeApiServer } from '../../src/store/cluster/api-server.fake.ts'
import { type Lease, leases, UNINSTALLING_ANNOTATION } from '../../src/store/cluster/lease.ts'
import { REPLICA_ANNOTATION_PREFIX } from '../../src/store/cluster/replica-list.ts'
import { makeBinding, makeClaim, makePolicy, makeSource, makeVolumeManager } from '../builders.ts'
import { makeNode, makeReplica } from '../volume-builders.ts'

const TYPES: ResourceType[] = [
  mutatingWebhookConfigurations,
  validatingWebhookConfigurations,
  validatingAdmissionPolicies,
  propagationPolicies,
  resourceBindings,
  clusterResourceBindings,
  dataSourceClaims,
  dataSources,
  nodes,
  volumeManagers,
  clusterRoles,
  roles,
  secrets,
  leases,
]
const NODE_LABEL = `vck.intelai.org/${'0a'.repeat(16)}-0123456789abc`
const HOLD = JSON.stringify({ message: 'm', reason: 'Unresolved', since: '2026-11-20T12:00:00Z' })

let server: FakeApiServer

beforeEach(async () => {
  server = await startFakeApiServer(TYPES)
})

/** An installation with one object of each kind. */
function putAll(): void {
  server.put(
    mutatingWebhookConfigurations,
    named(mutatingWebhookConfigurations, 'lodestone', { labels: REGISTRATION_LABELS }),
  )
  server.put(validatingAdmissionPolicies, named(validatingAdmissionPolicies, 'lodestone-decided-bindings'))
  const annotations = { [keys.PROPAGATE_DEPS_SET_ANNOTATION]: 'true' }
  server.put(propagationPolicies, makePolicy({ propagateDeps: true }, { annotations }))
  const suspension = { scheduling: true }
  server.put(resourceBindings, makeBinding({ suspension }, { annotations: { [keys.HOLD_ANNOTATION]: HOLD } }))
  server.put(dataSourceClaims, makeClaim({}, { finalizers: [keys.CLAIM_FINALIZER] }))
  server.put(dataSources, makeSource({}, { finalizers: [keys.SOURCE_FINALIZER] }))
  server.put(nodes, makeNode('n1', { labels: { [NODE_LABEL]: '' } }))
  server.put(clusterRoles, named(clusterRoles, 'lodestone-loops'))
  server.put(
    clusterRoles,
    named(clusterRoles, 'lodestone', { annotations: { 'meta.helm.sh/release-name': 'lodestone' } }),
  )
}

const PLAN = `MutatingWebhookConfiguration: 1 (lodestone): the object
ValidatingAdmissionPolicy: 1 (lodestone-decided-bindings): the object
PropagationPolicy: 1 (default/app): spec.propagateDeps; annotation lodestone.dev/propagate-deps-set
ResourceBinding: 1 (default/app-deployment): suspension.scheduling; annotation lodestone.dev/hold
DataSourceClaim: 1 (default/sales): finalizer lodestone.dev/claim
DataSource: 1 (amoro-table-lake.shop.sales): finalizer lodestone.dev/source
Node: 1 (n1): label ${NODE_LABEL}
ClusterRole: 1 (lodestone-loops): the object
`

const run = (...words: string[]) => runWith({}, ...words)

function runWith(io: Partial<CommandIo>, ...words: string[]) {
  return runWords([...words, '--kubeconfig', makeKubeconfig(server.url)], { clock: new FastClock(20), ...io })
}

function named({ kind, ...type }: ResourceType, name: string, metadata: ObjectMeta = {}): K8sObject {
  return { apiVersion: apiVersionOf(type), kind, metadata: { name, ...metadata } }
}

/** How kube-apiserver answers when a webhook rejects an object. */
const rejection = (webhook: string) =>
  json(422, { kind: 'Status', code: 422, message: `admission webhook "${webhook}" denied the request: invalid` })

const find = (type: ResourceType, name: string, namespace?: string) =>
  server.objects.get(collectionPath(type), namespace, name)
const isWrite = ({ method, query }: ApiRequest) => method !== 'GET' && query.get('dryRun') === null
const writes = () => server.requests.filter(isWrite)

test('credentials that end midway end the command after a few writes', async () => {
  for (let i = 0; i < 200; i++) {
    server.put(dataSourceClaims, makeClaim({}, { name: `c${i}`, finalizers: [keys.CLAIM_FINALIZER] }))
  }
  server.misbehave(isWrite, ...Array(200).fill(status(401, 'Unauthorized')))

  const { status: exit, stderr } = await run('uninstall', '--yes')

  expect({ exit, stderr }).toEqual({ exit: 1, stderr: expect.stringContaining('HTTP 401') })
  expect(writes().length).toBeLessThan(20)
})

test('by default it prints what it would remove, and changes nothing', async () => {
  putAll()
  expect(await run('uninstall')).toEqual({
    status: 0,
    stdout: `${PLAN}8 objects: nothing was changed; run again with --yes\n`,
    stderr: '',
  })
  expect(writes()).toEqual([])
})

test('with --yes it removes everything, as check-install and a second run confirm', async () => {
  putAll()
  const before = await run('check-install', '--gone')
  expect(before.status).toBe(1)
  expect(before.stdout).toContain('✘ ResourceBinding')
  expect(await run('uninstall', '--yes')).toEqual({ status: 0, stdout: `${PLAN}8 objects: removed\n`, stderr: '' })
  expect(find(resourceBindings, 'app-deployment', 'default')).toMatchObject({
    metadata: { annotations: makeBinding().metadata.annotations },
    spec: makeBinding().spec,
  })
  expect(find(clusterRoles, 'lodestone')).toBeDefined()
  const nothing = 'nothing of Lodestone is left\n'
  expect(await run('uninstall', '--yes')).toEqual({ status: 0, stdout: nothing, stderr: '' })
  expect(await run('check-install', '--gone')).toEqual({ status: 0, stdout: `✔ gone  ${nothing}`, stderr: '' })
})

test('-o json has each object with the values', async () => {
  putAll()
  const { stdout } = await run('uninstall', '-o', 'json')
  expect(JSON.parse(stdout)).toMatchObject({
    apiVersion: 'cli.lodestone.dev/v1alpha1',
    kind: 'Uninstall',
    result: 'planned',
    removed: expect.arrayContaining([
      { kind: 'DataSourceClaim', namespace: 'default', name: 'sales', removes: ['finalizer lodestone.dev/claim'] },
    ]),
  })
})

test('registrations and admission policies go first: they would reject other writes', async () => {
  putAll()
  await run('uninstall', '--yes')
  expect(
    writes()
      .slice(0, 2)
      .map(({ method, path }) => `${method} ${path.split('/')[4]}`),
  ).toEqual(['DELETE mutatingwebhookconfigurations', 'DELETE validatingadmissionpolicies'])
})

test.each([
  { name: 'the CRDs were deleted first', types: [dataSourceClaims, dataSources, volumeManagers], left: 0 },
  {
    name: 'the API server is no hub',
    types: [propagationPolicies, resourceBindings, clusterResourceBindings],
    left: 0,
  },
])('it works if $name', async ({ types }) => {
  putAll()
  for (const type of types) server.serve(type, false)
  expect(await run('uninstall', '--yes')).toMatchObject({ status: 0, stderr: '' })
  expect(await run('check-install', '--gone')).toMatchObject({ status: 0 })
})

describe('a write that', () => {
  const ofClaim = ({ method, path }: ApiRequest) => method === 'PATCH' && path.endsWith('/datasourceclaims/sales')

  test('conflicts with that of another client is planned again', async () => {
    putAll()
    server.misbehave(ofClaim, status(409, 'Conflict'), status(409, 'Conflict'))
    expect(await run('uninstall', '--yes')).toMatchObject({ status: 0, stderr: '' })
    expect(find(dataSourceClaims, 'sales', 'default')?.metadata.finalizers).toBeUndefined()
  })

  test.each([
    {
      name: 'conflicts all the time',
      answers: Array(30).fill(status(409, 'Conflict')),
      reason: 'another client writes it all the time; stop Lodestone, and run again',
    },
    { name: 'is forbidden', answers: [status(403, 'Forbidden')], reason: 'Forbidden' },
  ])('$name is reported, the other objects are changed, and a second run completes', async ({ answers, reason }) => {
    putAll()
    server.misbehave(ofClaim, ...answers)
    const { status: code, stdout, stderr } = await run('uninstall', '--yes')
    expect(code).toBe(1)
    expect(stderr).toContain('lodestone uninstall: DataSourceClaim default/sales: ')
    expect(stderr).toContain(reason)
    expect(stdout).toContain('7 objects: not everything was removed; see the messages, and run again\n')
    expect(await run('uninstall', '--yes')).toMatchObject({ status: 0, stderr: '' })
    expect(await run('check-install', '--gone')).toMatchObject({ status: 0 })
  })
})

test('an API server that is overloaded, restarts or breaks a list off does not end it', async () => {
  putAll()
  const ofClaim = ({ method, path }: ApiRequest) => method === 'PATCH' && path.endsWith('/datasourceclaims/sales')
  server.misbehave(ofClaim, status(429, 'TooManyRequests'), reset, status(503, 'ServiceUnavailable'))
  server.misbehave(isListRequest(dataSources), reset, brokenOff)
  expect(await run('uninstall', '--yes')).toEqual({ status: 0, stdout: `${PLAN}8 objects: removed\n`, stderr: '' })
})

test('of one kind, eight objects are written at the same time', async () => {
  const count = 24
  for (let i = 0; i < count; i++) {
    server.put(dataSourceClaims, makeClaim({}, { name: `claim-${i}`, finalizers: [keys.CLAIM_FINALIZER] }))
  }
  const waiting: (() => void)[] = []
  let most = 0
  const wait = (response: Parameters<Answer>[0]) => {
    waiting.push(() => status(409, 'Conflict')(response))
    most = Math.max(most, waiting.length)
  }
  const ofClaims = ({ method, path }: ApiRequest) => method === 'PATCH' && path.includes('/datasourceclaims/')
  server.misbehave(ofClaims, ...Array(count).fill(wait))
  const running = run('uninstall', '--yes')
  for (let answered = 0; answered < count; ) {
    await expect.poll(() => waiting.length).toBe(Math.min(8, count - answered))
    answered += waiting.length
    for (const answer of waiting.splice(0)) answer()
  }
  expect(await running).toMatchObject({ status: 0, stderr: '' })
  expect(most).toBe(8)
})

test('a value that another client writes again and again is reported', async () => {
  putAll()
  const stored = json(200, find(dataSourceClaims, 'sales', 'default') as K8sObject)
  const ofClaim = ({ method, path }: ApiRequest) => method === 'PATCH' && path.endsWith('/datasourceclaims/sales')
  server.misbehave(ofClaim, ...Array(5).fill(stored))
  expect(await run('uninstall', '--yes')).toMatchObject({
    status: 1,
    stderr:
      'lodestone uninstall: DataSourceClaim default/sales: another client writes it all the time; stop Lodestone, and run again\n',
  })
})

test('a kind that cannot be read is a failure that names the missing right', async () => {
  putAll()
  const forbid = () => server.misbehave(isListRequest(dataSources), status(403, 'Forbidden'))
  forbid()
  const { status: code, stderr } = await run('uninstall', '--yes')
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(/^lodestone uninstall: DataSource: .*; grant the user this permission\n$/),
  })
  await run('uninstall', '--yes')
  forbid()
  expect(await run('check-install', '--gone')).toMatchObject({
    status: 1,
    stdout: expect.stringContaining('✘ permissions'),
  })
})

test('Ctrl-C ends it, and the next run continues', async () => {
  putAll()
  const aborter = new AbortController()
  server.misbehave(
    ({ method }) => method === 'PATCH',
    (response) => {
      aborter.abort()
      status(409, 'Conflict')(response)
    },
  )
  const ended = await runWith({ signal: aborter.signal }, 'uninstall', '--yes')
  expect(ended).toEqual({ status: 130, stdout: '', stderr: 'lodestone uninstall: interrupted; run again\n' })
  expect(find(mutatingWebhookConfigurations, 'lodestone')).toBeUndefined()
  expect(find(dataSourceClaims, 'sales', 'default')?.metadata.finalizers).toEqual([keys.CLAIM_FINALIZER])
  expect(await run('uninstall', '--yes')).toMatchObject({ status: 0 })
  expect(await run('check-install', '--gone')).toMatchObject({ status: 0 })
})

describe('a replica of Lodestone', () => {
  const NAME = ['lodestone', 'lodestone-system'] as const

  function putLease(holderIdentity: string, annotations: Record<string, string> = {}, leaseDurationSeconds = 1): void {
    const metadata = { name: NAME[0], namespace: NAME[1], annotations }
    const lease: Lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata,
      spec: { holderIdentity, leaseDurationSeconds },
    }
    server.put(leases, lease)
  }

  const lease = () => find(leases, ...NAME) as Lease | undefined

  test('that leads releases the Lease before anything is removed', async () => {
    putAll()
    putLease('host_1', {}, 60)
    const running = run('uninstall', '--yes')
    await expect.poll(() => lease()?.metadata.annotations?.[UNINSTALLING_ANNOTATION]).toBe('2026-11-20T12:00:00.000Z')
    expect(find(mutatingWebhookConfigurations, 'lodestone')).toBeDefined()
    putLease('', lease()?.metadata.annotations)
    expect(await running).toMatchObject({ status: 0, stderr: '' })
    expect(lease()).toBeUndefined()
  })

  test.each([
    { name: 'leads on', before: {} },
    { name: 'keeps the mark of an earlier run', before: { [UNINSTALLING_ANNOTATION]: '2026-11-20T11:59:00.000Z' } },
  ])('$name if the user interrupts before it has released the Lease', async ({ before }) => {
    putAll()
    putLease('host_1', before, 60)
    const aborter = new AbortController()
    const running = runWith({ signal: aborter.signal }, 'uninstall', '--yes')
    await expect.poll(() => lease()?.metadata.annotations?.[UNINSTALLING_ANNOTATION]).toBe('2026-11-20T12:00:00.000Z')
    aborter.abort()
    expect(await running).toMatchObject({ status: 130, stderr: 'lodestone uninstall: interrupted; run again\n' })
    expect(lease()?.metadata.annotations).toEqual(before)
    expect(find(mutatingWebhookConfigurations, 'lodestone')).toBeDefined()
  })

  test('of a hub whose pods are in this cluster keeps its role and its certificates', async () => {
    putAll()
    const announcement = { host: 'hub-1', version: '1.0.0', registration: 'x', elsewhere: true }
    const annotations = { [`${REPLICA_ANNOTATION_PREFIX}1`]: JSON.stringify(announcement) }
    putLease('hub_1', annotations, 60)
    const namespace = NAME[1]
    server.put(roles, named(roles, 'lodestone-election', { namespace }))
    server.put(secrets, named(secrets, 'lodestone-certificates', { namespace }))
    const { status: exit, stdout, stderr } = await run('uninstall', '--yes')
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
    expect(lease()?.metadata.annotations).toEqual(annotations)
    expect(find(roles, 'lodestone-election', namespace)).toBeDefined()
    expect(find(secrets, 'lodestone-certificates', namespace)).toBeDefined()
    expect(stdout).toContain(
      'kept: Secret lodestone-system/lodestone-certificates: replicas of Lease lodestone-system/lodestone, which serve another API server, may use it\n',
    )
    expect(await run('check-install', '--gone')).toMatchObject({ status: 0 })
  })

  test('that was killed does not renew the Lease, and is not waited for any longer', async () => {
    putAll()
    putLease('host_1')
    expect(await run('uninstall', '--yes')).toMatchObject({ status: 0, stderr: '' })
    expect(await run('check-install', '--gone')).toMatchObject({ status: 0 })
  })

  test('that still runs does not begin again, since the marked Lease is kept', async () => {
    putAll()
    const announcement = `${REPLICA_ANNOTATION_PREFIX}1`
    putLease('', { [announcement]: 'a' })
    server.misbehave(
      ({ method, path }) => method === 'GET' && path.endsWith('/leases/lodestone'),
      (response) => {
        putLease('', { ...lease()?.metadata.annotations, [announcement]: 'b' })
        json(200, lease() as Lease)(response)
      },
    )
    const answer = await run('uninstall', '--yes')
    expect(answer).toMatchObject({ status: 0, stderr: '' })
    expect(answer.stdout).toContain(
      'kept: Lease lodestone-system/lodestone: it keeps 1 running replica from beginning again; stop them, and run again\n',
    )
    expect(await run('check-install', '--gone')).toMatchObject({
      status: 1,
      stdout: expect.stringContaining('✘ Lease'),
    })
  })

  test('that a tenant invents in a Lease of its own is named, with the way out', async () => {
    putAll()
    const announced = { [`${REPLICA_ANNOTATION_PREFIX}1`]: '{}' }
    server.put(leases, {
      ...named(leases, 'mine', { namespace: 'tenant', annotations: announced }),
      spec: { holderIdentity: 'fake_1', leaseDurationSeconds: 600 },
    } as Lease)
    const { status: code, stderr } = await run('uninstall', '--yes')
    expect(code).toBe(1)
    expect(stderr).toContain('replica fake holds Lease tenant/mine and does not release it')
    expect(stderr).toContain(', or delete the Lease if it is not of Lodestone, and run again')
    expect(find(mutatingWebhookConfigurations, 'lodestone')).toBeDefined()
  })

  test.each([
    { name: 'of this version', kind: 'clusterresourcebindings', answer: status(422, PROBE_REASON) },
    { name: 'of any version', kind: 'datasources', answer: rejection('data-source.lodestone.dev') },
  ])('$name without leader election is found by its webhook, and must be stopped first', async (one) => {
    putAll()
    server.misbehave(({ method, path }) => method === 'POST' && path.endsWith(one.kind), one.answer)
    const { status: code, stderr } = await run('uninstall', '--yes')
    expect(code).toBe(1)
    expect(stderr).toContain('a replica without leader election, or with its Lease in another cluster, answers')
    expect(writes()).toEqual([])
  })

  test('of another product that rejects the probe does not count', async () => {
    putAll()
    const isProbe = ({ method, path }: ApiRequest) => method === 'POST' && path.endsWith('datasources')
    server.misbehave(isProbe, rejection('policies.example.org'))
    expect(await run('uninstall', '--yes')).toMatchObject({ status: 0, stderr: '' })
  })

  test('of an older version that acquires the released Lease delays every removal', async () => {
    putAll()
    putLease('host_1', {}, 60)
    const isRead = ({ method, path }: ApiRequest) => method === 'GET' && path.endsWith('/leases/lodestone')
    let acquiredAt = 0
    const running = run('uninstall', '--yes')
    await expect.poll(() => lease()?.metadata.annotations).toHaveProperty([UNINSTALLING_ANNOTATION])
    server.misbehave(isRead, (response) => {
      putLease('', lease()?.metadata.annotations)
      json(200, lease() as Lease)(response)
      putLease('older_2', lease()?.metadata.annotations, 1)
      acquiredAt = server.requests.length
    })
    // The older replica is killed then: its Lease expires.
    expect(await running).toMatchObject({ status: 0, stderr: '' })
    const removedAt = server.requests.findIndex((request) => isWrite(request) && !request.path.includes('/leases/'))
    expect(server.requests.slice(acquiredAt, removedAt).filter(isRead).length).toBeGreaterThan(1)
  })

  describe('and data on nodes:', () => {
    const replica = makeReplica()

    beforeEach(() => {
      const volumes = [{ id: 'vol1', replicas: [replica] }]
      server.put(
        volumeManagers,
        makeVolumeManager([{}], { finalizers: [keys.VOLUME_FINALIZER], status: { volumes } as never }),
      )
    })

    test('without a leader it removes nothing, and names the directories', async () => {
      putLease('host_1')
      const { status: code, stderr } = await run('uninstall', '--yes')
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: `lodestone uninstall: no replica of Lodestone leads, so the data cannot be deleted: n1:${replica.path}; start Lodestone, or run with --keep-data\n`,
      })
      expect(writes()).toEqual([])
    })

    test('with --keep-data the data stays, and the directories are listed', async () => {
      const { status: code, stdout } = await run('uninstall', '--yes', '--keep-data')
      expect({ code, stdout }).toEqual({
        code: 0,
        stdout: `VolumeManager: 1 (default/sales): finalizer lodestone.dev/volumes\nkept: VolumeManager default/sales: data on node n1: ${replica.path}\n1 object: removed\n`,
      })
      expect(find(volumeManagers, 'sales', 'default')).toBeDefined()
    })

    test('the plan names the data that --yes deletes, and what else stays', async () => {
      const labels = { [`${keys.DEPENDED_BY_LABEL_PREFIX}1`]: '' }
      server.put(resourceBindings, makeBinding({}, { labels }))
      const { status: code, stdout } = await run('uninstall')
      expect({ code, kept: stdout.match(/^kept: .*$/gm) }).toEqual({
        code: 0,
        kept: [
          `kept: data that --yes deletes, unless --keep-data is given: n1:${replica.path}`,
          'kept: ResourceBinding default/app-deployment: spec.requiredBy: without it Karmada would delete the dependency',
        ],
      })
    })

    test('with a leader it deletes the VolumeManagers, and waits until their data is gone', async () => {
      putLease('host_1', {}, 60)
      const running = run('uninstall', '--yes')
      await expect.poll(() => server.requests.some(({ path }) => path.endsWith('/leases/lodestone'))).toBe(true)
      const renewed = { ...lease(), spec: { holderIdentity: 'host_1', leaseDurationSeconds: 60, renewTime: 'later' } }
      server.put(leases, renewed as Lease)
      await expect.poll(() => find(volumeManagers, 'sales', 'default')?.metadata.deletionTimestamp).toBeDefined()
      expect(lease()?.metadata.annotations).toEqual({})
      server.remove(volumeManagers, 'default', 'sales')
      await expect.poll(() => lease()?.metadata.annotations).toHaveProperty([UNINSTALLING_ANNOTATION])
      putLease('', lease()?.metadata.annotations)
      expect(await running).toMatchObject({ status: 0, stdout: 'nothing of Lodestone is left\n' })
    })

    test('a VolumeManager without data needs no leader: it stays, without the finalizer', async () => {
      server.put(volumeManagers, makeVolumeManager([{}], { finalizers: [keys.VOLUME_FINALIZER] }))
      putLease('')
      expect(await run('uninstall', '--yes')).toMatchObject({ status: 0, stderr: '' })
      expect(find(volumeManagers, 'sales', 'default')?.metadata.finalizers).toBeUndefined()
    })

    test('it names the directories before --crds deletes the VolumeManagers', async () => {
      await run('uninstall', '--yes', '--keep-data')
      const { stdout } = await run('uninstall', '--keep-data', '--crds')
      expect(stdout).toContain(`kept: VolumeManager default/sales: data on node n1: ${replica.path}\n`)
    })

    test('data that Lodestone does not delete in time is named with its VolumeManagers', async () => {
      const { status: code, stderr } = await run('uninstall', '--yes', '--timeout', '0s')
      expect(code).toBe(1)
      expect(stderr).toContain(
        `Lodestone has not deleted the data in time: VolumeManagers default/sales; data n1:${replica.path}; delete the pods that use it (see lodestone status), or run with --keep-data\n`,
      )
    })
  })
})
