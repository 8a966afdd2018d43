/** Tests `lodestone migrate` with an API server over HTTP: the report, the writes, conflicts and refusals. */
import { beforeEach, describe, expect, test } from 'vitest'
import { makeBinding, makeClaim, makePolicy, makeSource } from '../../../test/builders.ts'
import { dataSources } from '../../api/data-source.ts'
import { dataSourceClaims } from '../../api/data-source-claim.ts'
import { clusterPropagationPolicies, propagationPolicies, resourceBindings } from '../../api/karmada.ts'
import type { K8sObject } from '../../api/meta.ts'
import { mutatingWebhookConfigurations } from '../../api/registration.ts'
import {
  type ApiRequest,
  brokenOff,
  isListRequest,
  json,
  reset,
  status,
  statusObject,
} from '../../store/cluster/api-responses.fake.ts'
import { type FakeApiServer, startFakeApiServer } from '../../store/cluster/api-server.fake.ts'
import { makeKubeconfig, runWords } from '../cli.fake.ts'
import type { CommandIo } from '../command.ts'

const TYPES = [
  dataSourceClaims,
  dataSources,
  resourceBindings,
  propagationPolicies,
  clusterPropagationPolicies,
  mutatingWebhookConfigurations,
]
const CLAIM = 'datadependency.volcano.sh/finalizer'
const SOURCE = 'datadependency.volcano.sh/datasource-finalizer'
const EXCLUDED = 'datadependency.volcano.sh/excluded-clusters'

let server: FakeApiServer

beforeEach(async () => {
  server = await startFakeApiServer(TYPES)
  server.put(mutatingWebhookConfigurations, registration('lodestone', 'resource-binding.lodestone.dev'))
})

function registration(name: string, webhook: string): K8sObject {
  const webhooks = [{ name: webhook }]
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata: { name },
    webhooks,
  } as K8sObject
}

/** The hub of volcano-global: a claim, its source, a binding with exclusions, and a suspended one. */
function putAll(): void {
  server.put(dataSourceClaims, makeClaim({}, { finalizers: [CLAIM] }))
  server.put(dataSources, makeSource({}, { finalizers: [SOURCE] }))
  server.put(propagationPolicies, makePolicy({ placement: { clusterAffinity: { exclude: ['member2'] } } }))
  const placement = { clusterAffinity: { exclude: ['member2', 'member3'] } }
  server.put(resourceBindings, makeBinding({ placement }, { annotations: { [EXCLUDED]: 'member2,member3' } }))
  server.put(resourceBindings, makeBinding({ suspension: { scheduling: true } }, { name: 'waits-deployment' }))
}

const migrate = (...more: string[]) => migrateWith({}, ...more)

function migrateWith(io: Partial<CommandIo>, ...more: string[]) {
  return runWords(['migrate', '--kubeconfig', makeKubeconfig(server.url), ...more], io)
}

const find = (type: (typeof TYPES)[number], name: string, namespace?: string) =>
  server.objects.get(`/apis/${type.group}/${type.version}/${type.plural}`, namespace, name)
const conflict = status(409, 'Conflict')
const isWrite = ({ method }: ApiRequest) => method !== 'GET'

const REPORT = `DataSourceClaim default/sales: remove finalizer ${CLAIM}
DataSource amoro-table-lake.shop.sales: remove finalizer ${SOURCE}
ResourceBinding default/app-deployment: remove annotation ${EXCLUDED}; remove 1 excluded cluster
ResourceBinding default/waits-deployment: resume scheduling
`

test.each([{ more: [] }, { more: ['--apply'] }])(
  'without the right to read policies, the other objects follow: $more',
  async ({ more }) => {
    putAll()
    server.misbehave(({ path }) => path.includes('/propagationpolicies/'), status(403, 'Forbidden'))
    const answer = await migrate(...more)
    expect(answer).toMatchObject({ status: 1 })
    expect(answer.stdout).toContain('ResourceBinding default/waits-deployment: resume scheduling\n')
    expect(answer.stderr).toContain('ResourceBinding default/app-deployment: ')
  },
)

test('by default it prints every change and makes none', async () => {
  putAll()

  const answer = await migrate()

  const stdout = `${REPORT}4 objects to change; nothing was changed. Run again with --apply\n`
  expect(answer).toEqual({ status: 0, stdout, stderr: '' })
  expect(server.requests.filter(isWrite)).toEqual([])
})

test('--apply makes these changes once, and keeps claims and sources', async () => {
  putAll()

  expect(await migrate('--apply')).toEqual({ status: 0, stdout: `${REPORT}4 objects changed, 0 failed\n`, stderr: '' })

  expect(find(dataSourceClaims, 'sales', 'default')).toMatchObject({
    metadata: { finalizers: [] },
    spec: makeClaim().spec,
  })
  expect(find(dataSources, 'amoro-table-lake.shop.sales')).toMatchObject({ spec: makeSource().spec })
  expect(find(resourceBindings, 'app-deployment', 'default')).toMatchObject({
    spec: { placement: { clusterAffinity: { exclude: ['member2'] } } },
  })
  expect(find(resourceBindings, 'waits-deployment', 'default')?.['spec' as never]).not.toHaveProperty('suspension')
  const writes = server.requests.filter(isWrite).length
  expect(await migrate('--apply')).toEqual({ status: 0, stdout: 'nothing of volcano-global is left\n', stderr: '' })
  expect(server.requests.filter(isWrite)).toHaveLength(writes)
})

test('--keep-suspensions leaves suspended workloads to their controller', async () => {
  putAll()
  const { stdout } = await migrate('--keep-suspensions')
  expect(stdout).toContain('3 objects to change')
  expect(stdout).not.toContain('waits-deployment')
})

test('the message of a hold cannot steer a terminal', async () => {
  const hold = JSON.stringify({ message: 'evil\u001b[2J', reason: 'Unresolved', since: '2026-11-20T12:00:00Z' })
  const annotations = { [EXCLUDED]: 'member2', 'lodestone.dev/hold': hold }
  server.put(resourceBindings, makeBinding({}, { annotations }))
  const { stdout } = await migrate('--apply')
  expect(stdout).toContain('; now on hold: evil [2J\n')
})

describe('with --apply', () => {
  const isPatch = ({ method }: ApiRequest) => method === 'PATCH'

  test('a conflict begins again with the new version', async () => {
    putAll()
    server.misbehave(isPatch, conflict, conflict)
    expect(await migrate('--apply')).toMatchObject({ status: 0, stderr: '' })
    expect(find(dataSourceClaims, 'sales', 'default')?.metadata.finalizers).toEqual([])
  })

  test('an object with a conflict each time fails, and the others are migrated', async () => {
    putAll()
    server.misbehave(isPatch, ...Array.from({ length: 5 }, () => conflict))

    const { status: exit, stdout, stderr } = await migrate('--apply')

    expect(exit).toBe(1)
    expect(stderr).toBe(
      'lodestone migrate: DataSourceClaim default/sales: another client changes it all the time; run again\n',
    )
    expect(stdout).toContain('3 objects changed, 1 failed\n')
  })

  /** As kube-apiserver answers while another product is down whose webhook has the policy Fail. */
  const webhookFailure = json(500, {
    ...statusObject(500, 'InternalError'),
    message: 'Internal error occurred: failed calling webhook "w.example.org": failed to call webhook: EOF',
  })

  test.each([
    { name: 'that the API server rejects', answer: status(422, 'Invalid') },
    { name: 'whose webhook does not answer', answer: webhookFailure },
  ])('an object $name fails, and the others are migrated', async ({ answer }) => {
    putAll()
    server.misbehave(isPatch, answer)
    const { status: exit, stdout, stderr } = await migrate('--apply')
    expect(exit).toBe(1)
    expect(stderr).toContain('lodestone migrate: DataSourceClaim default/sales: PATCH ')
    expect(stdout).toContain('3 objects changed, 1 failed\n')
  })

  test('an API server that is overloaded, restarts or breaks a list off does not end it', async () => {
    putAll()
    server.misbehave(isPatch, status(429, 'TooManyRequests'), reset, status(503, 'ServiceUnavailable'))
    server.misbehave(isListRequest(dataSources), reset, brokenOff)
    expect(await migrate('--apply')).toEqual({
      status: 0,
      stdout: `${REPORT}4 objects changed, 0 failed\n`,
      stderr: '',
    })
  })

  test('an object that is deleted meanwhile is done', async () => {
    putAll()
    server.misbehave(isPatch, (response) => {
      server.remove(dataSourceClaims, 'default', 'sales')
      conflict(response)
    })
    expect((await migrate('--apply')).stdout).toContain('DataSourceClaim default/sales: nothing left to change\n')
  })
})

describe('a migration that ends early prints how many objects it changed', () => {
  const isSecondPatch = () => {
    let patches = 0
    return ({ method }: ApiRequest) => method === 'PATCH' && ++patches === 2
  }

  test('an interruption, after which a second run migrates the rest', async () => {
    putAll()
    const interruption = new AbortController()
    server.misbehave(isSecondPatch(), (response) => {
      interruption.abort()
      conflict(response)
    })

    const { status: exit, stdout, stderr } = await migrateWith({ signal: interruption.signal }, '--apply')

    expect(exit).toBe(1)
    expect(stderr).toBe('lodestone migrate: interrupted; run again\n')
    expect(stdout.split('\n').slice(-2)).toEqual(['2 objects changed, 0 failed', ''])
    expect((await migrate('--apply')).stdout).toContain('2 objects changed, 0 failed\n')
  })

  test('a failure of the API server', async () => {
    putAll()
    server.misbehave(isSecondPatch(), status(500, 'InternalError'))

    const written: string[] = []
    const stdout = { write: (text: string) => written.push(text) }

    const { status: exit, stderr } = await migrateWith({ stdout }, '--apply')

    expect({ exit, stderr }).toEqual({ exit: 1, stderr: expect.stringContaining('HTTP 500') })
    expect(written.at(-1)).toBe('1 object changed, 0 failed\n')
  })
})

describe('a hub that is not ready', () => {
  test('is not changed while the webhook of volcano-global is registered', async () => {
    putAll()
    server.put(mutatingWebhookConfigurations, registration('volcano', 'mutateresourcebindings.volcano.sh'))

    const { status: exit, stdout, stderr } = await migrate('--apply')

    expect({ exit, stdout }).toEqual({ exit: 1, stdout: '' })
    expect(stderr).toContain('kubectl delete mutatingwebhookconfiguration volcano\n')
    expect(server.requests.filter(isWrite)).toEqual([])
  })

  test('is not changed before Lodestone is registered, but a dry run prints the plan', async () => {
    putAll()
    server.remove(mutatingWebhookConfigurations, undefined, 'lodestone')

    expect(await migrate('--apply')).toMatchObject({ status: 1, stdout: '' })
    const { status: exit, stdout, stderr } = await migrate()

    expect(exit).toBe(1)
    expect(stdout).toContain('4 objects to change')
    expect(stderr).toContain('start Lodestone first\n')
  })

  test('without the CRDs has nothing to migrate', async () => {
    for (const type of [dataSourceClaims, dataSources, resourceBindings]) server.serve(type, false)
    expect((await migrate()).stdout).toBe('nothing of volcano-global is left\n')
  })
})

test('a hub with more objects than a page is migrated completely', async () => {
  for (let i = 0; i < 2_100; i++) {
    server.put(resourceBindings, makeBinding({ suspension: { scheduling: true } }, { name: `b${i}` }))
  }
  expect((await migrate()).stdout).toContain('2100 objects to change')
  expect(server.lists(resourceBindings)).toHaveLength(5)
})
