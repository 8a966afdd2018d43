/** Tests the arguments and the offline decisions of `lodestone check-install`; test/e2e/check-install.e2e.test.ts has the others. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { makeBinding, makeClaim, makeSource } from '../../../test/builders.ts'
import type { ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding } from '../../api/admission-policy.ts'
import { dataSources } from '../../api/data-source.ts'
import { dataSourceClaims } from '../../api/data-source-claim.ts'
import { CLAIM_FINALIZER } from '../../api/lodestone.ts'
import type { K8sObject } from '../../api/meta.ts'
import { completeConfig } from '../../app/config/config.ts'
import { wantedAbsencePolicies } from '../../app/registration.ts'
import { type ApiRequest, json, reset, status } from '../../store/cluster/api-responses.fake.ts'
import { startFakeApiServer } from '../../store/cluster/api-server.fake.ts'
import { cachedKinds } from '../../store/kinds/cached-kinds.ts'
import { makeAuthority } from '../../tls/renewal.ts'
import { absencePolicyBindings } from '../../webhooks/absence.ts'
import { makeFolder, makeKubeconfig, runWords } from '../cli.fake.ts'
import { type InstalledPolicy, judgePolicies } from './absence.ts'
import { neededAccesses } from './permissions.ts'
import { judgeBundle } from './registration.ts'

test('--wait goes on when the API server ends a connection in the middle of the checks', async () => {
  const server = await startFakeApiServer(cachedKinds.map(({ type }) => type))
  server.misbehave(({ path }) => path.includes('customresourcedefinitions'), reset)
  const ending = new AbortController()
  let stderr = ''
  const write = (text: string) => {
    stderr += text
    ending.abort()
  }

  const words = ['check-install', '--wait', '60s', '--kubeconfig', makeKubeconfig(server.url)]
  const { status } = await runWords(words, { signal: ending.signal, stderr: { write } })

  expect({ status, stderr }).toEqual({
    status: 130,
    stderr: expect.stringMatching(/^lodestone check-install: waiting for GET .*customresourcedefinitions[^\n]*\n$/),
  })
})

test('the text of an object cannot steer a terminal', async () => {
  const server = await startFakeApiServer(cachedKinds.map(({ type }) => type))
  const source = makeSource()
  server.put(dataSources, source)
  server.put(dataSourceClaims, { ...makeClaim(), status: { boundDataSource: source.metadata.name } } as K8sObject)
  const locality = { state: 'Narrowed', message: 'evil\u001b[2J', claims: ['default/sales'], required: ['member2'] }
  const narrowed = makeBinding({}, { annotations: { 'lodestone.dev/locality': JSON.stringify(locality) } })
  const isDryRun = ({ method, path }: ApiRequest) => method === 'POST' && path.endsWith('/resourcebindings')
  server.misbehave(isDryRun, json(201, narrowed))

  const { stdout } = await runWords(['check-install', '--kubeconfig', makeKubeconfig(server.url)])

  expect(stdout).toContain('the binding for claim default/sales is changed: evil [2J\n')
})

test('the remedy for missing rights or remaining objects names the configuration', async () => {
  const kinds = [{ group: 'example.com', versions: ['v1'], kind: 'Gadget', plural: 'gadgets' }]
  const config = join(makeFolder({ 'lodestone.yaml': { workloadKinds: kinds } }), 'lodestone.yaml')
  const server = await startFakeApiServer(cachedKinds.map(({ type }) => type))
  server.put(dataSourceClaims, makeClaim({}, { finalizers: [CLAIM_FINALIZER] }))
  server.misbehave(
    ({ path }) => path === '/apis',
    json(200, { groups: [] }),
    json(200, { groups: [{ name: 'work.karmada.io' }] }),
  )
  const isReview = ({ path }: ApiRequest) => path.endsWith('/subjectaccessreviews')
  server.misbehave(isReview, ...Array.from({ length: 1000 }, () => json(201, { status: { allowed: false } })))
  const kubeconfig = ['--kubeconfig', makeKubeconfig(server.url)]

  const checked = await runWords(['check-install', '--config', config, ...kubeconfig])
  const left = await runWords(['check-install', '--gone', '--config', config, ...kubeconfig])

  expect(checked.stdout).toContain(`lodestone manifests rbac --config ${config} | kubectl apply -f -`)
  expect(left.stdout).toContain(`run: lodestone uninstall --yes --config ${config}\n`)
})

describe('the remedy is not about Lodestone if', () => {
  const checkOn = async (server: { url: string }, ...words: string[]) => {
    const { stdout } = await runWords(['check-install', ...words, '--kubeconfig', makeKubeconfig(server.url)])
    return stdout
  }

  test.each(['kube-system', 'karmada-cluster', 'lodestone-system'])(
    'the namespace of the dry run is excluded: %s',
    async (namespace) => {
      const server = await startFakeApiServer(cachedKinds.map(({ type }) => type))
      expect(await checkOn(server, '-n', namespace)).toMatch(
        new RegExp(
          `✘ admission +the API server sends no request of namespace ${namespace} to Lodestone\n +→ name the `,
        ),
      )
    },
  )

  test('the namespace of the dry run does not exist', async () => {
    const server = await startFakeApiServer(cachedKinds.map(({ type }) => type))
    server.removeNamespace('nosuch')
    expect(await checkOn(server, '-n', 'nosuch')).toMatch(
      /✘ admission +namespace nosuch, for the dry runs, does not exist\n +→ name the namespace/,
    )
  })

  test('the user may not create a binding', async () => {
    const server = await startFakeApiServer(cachedKinds.map(({ type }) => type))
    const source = makeSource()
    server.put(dataSources, source)
    server.put(dataSourceClaims, { ...makeClaim(), status: { boundDataSource: source.metadata.name } } as K8sObject)
    const isDryRun = ({ method, path }: ApiRequest) => method === 'POST' && path.endsWith('/resourcebindings')
    server.misbehave(isDryRun, status(403, 'Forbidden'))
    expect(await checkOn(server)).toMatch(
      /✘ narrowing +POST .*HTTP 403.*\n +→ run the command as an administrator, or grant the user this permission\n/,
    )
  })
})

describe('the CA bundle of a webhook', () => {
  const now = Date.parse('2026-11-20T12:00:00Z')
  const day = 86_400_000
  const encode = (text: string) => Buffer.from(text).toString('base64')
  const bundleOf = async (...times: number[]) =>
    encode((await Promise.all(times.map(makeAuthority))).map(({ certPem }) => certPem).join(''))

  test('that is valid passes, also beside one that has expired', async () => {
    const want = { result: 'passed', message: 'valid until 2027-11-20T12:00:00.000Z' }
    expect(judgeBundle(await bundleOf(now), 'pod', now)).toEqual(want)
    expect(judgeBundle(await bundleOf(now - 400 * day, now), 'pod', now)).toEqual(want)
  })

  test.each([
    { name: 'that is missing', bundle: async () => '', want: 'pod has no caBundle' },
    { name: 'that is no PEM', bundle: async () => encode('x'), want: 'the caBundle of pod has no certificate' },
    {
      name: 'that has expired',
      bundle: () => bundleOf(now - 400 * day),
      want: 'the CA of pod has expired at 2026-10-',
    },
    { name: 'of the future', bundle: () => bundleOf(now + day), want: 'the CA of pod is not valid yet' },
  ])('$name fails', async ({ bundle, want }) => {
    const { result, message, remedy } = judgeBundle(await bundle(), 'pod', now)
    expect({ result, message }).toEqual({ result: 'failed', message: expect.stringContaining(want) })
    expect(remedy).toBeTruthy()
  })
})

describe('the policies for the absence of Lodestone', () => {
  const config = completeConfig({}, 'test')
  const bindings = absencePolicyBindings()
  const installedWith = (exempt: string[], change: Partial<InstalledPolicy> = {}) =>
    wantedAbsencePolicies(config).map((wanted, i): InstalledPolicy => {
      const policy = wantedAbsencePolicies(config, exempt)[i] as ValidatingAdmissionPolicy
      return { wanted, policy, binding: bindings[i] as ValidatingAdmissionPolicyBinding, ...change }
    })

  test('pass as this version wants them', () => {
    const message = 'workloads keep to their data while Lodestone is not available'
    expect(judgePolicies(installedWith([]), config)).toEqual({ result: 'passed', message })
  })

  test('pass with the namespaces that are exempt', () => {
    const { result, message } = judgePolicies(installedWith(['team-a', 'team-b']), config)
    expect(result).toBe('passed')
    expect(message).toContain('do not wait for Lodestone in team-a, team-b: more than 500 claims')
  })

  test('of another version are a warning', () => {
    const [decided] = wantedAbsencePolicies(config)
    const { result, message } = judgePolicies(
      installedWith([], { policy: decided as ValidatingAdmissionPolicy }),
      config,
    )
    expect(result).toBe('warning')
    expect(message).toContain('lodestone-claimed-workloads differs from that of this version')
  })
})

describe('the account needs the roles', () => {
  const groupsOf = (isHub: boolean, config: object) =>
    new Set(neededAccesses(completeConfig(config, 'test'), isHub).map(({ verb, resource }) => `${verb} ${resource}`))

  test('of a hub, where no pods run', () => {
    const needed = groupsOf(true, { volumes: { enabled: true } })

    expect([...needed]).toEqual(expect.arrayContaining(['create resourcebindings', 'list secrets']))
    expect(needed).not.toContain('patch pods')
    expect(needed).not.toContain('create pods')
  })

  test('of a cluster, which has no bindings', () => {
    const needed = groupsOf(false, {})

    expect(needed).toContain('patch pods')
    expect(needed).not.toContain('create resourcebindings')
    expect(needed).not.toContain('list secrets')
  })
})
