// `lodestone check-install` against a real API server: what it prints at each step of an installation, and on a hub.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { makeAuthority } from '../../src/tls/renewal.ts'
import { lodestoneOutput, runLodestone } from './command.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { installLodestone, lodestoneUser, startLodestone } from './lodestone.ts'
import { claim, source } from './manifests.ts'

interface Finding {
  name: string
  result: string
  message: string
  remedy?: string
}

async function check(plane: ControlPlane, ...words: string[]): Promise<{ code: number; checks: Finding[] }> {
  const { code, stdout } = await runLodestone([
    'check-install',
    '--kubeconfig',
    plane.kubeconfig,
    '-o',
    'json',
    ...words,
  ])
  return { code, checks: (JSON.parse(stdout) as { checks: Finding[] }).checks }
}

const failuresOf = (checks: Finding[]) =>
  checks.filter(({ result }) => result === 'failed').map(({ name, message }) => [name, message])

const install = async (plane: ControlPlane, ...words: string[]) => {
  await plane.kubectl(['apply', '-f', '-'], { input: await lodestoneOutput(['manifests', ...words]) })
}

test('each missing step of an installation is named, with its solution', async () => {
  const plane = await startControlPlane({ karmada: false })
  onTestFinished(() => plane.stopAll())

  const before = await check(plane)
  expect(before.code).toBe(1)
  // The administrator of the harness has a client certificate.
  expect(before.checks).toContainEqual(
    expect.objectContaining({
      name: 'credentials',
      result: 'passed',
      message: expect.stringMatching(/^they end at \d{4}-/),
    }),
  )
  expect(failuresOf(before.checks)).toEqual([
    [
      'crds',
      'datasourceclaims.datadependency.volcano.sh: missing; datasources.datadependency.volcano.sh: missing; volumemanagers.vck.intelai.org: missing',
    ],
    ['registration', 'missing: MutatingWebhookConfiguration lodestone, ValidatingWebhookConfiguration lodestone'],
    ['ca-bundle', 'no webhook is registered'],
    ['admission', 'DataSourceClaims cannot be created'],
    [
      'account',
      expect.stringMatching(
        /^ServiceAccount lodestone-system\/lodestone may not get,list,watch,patch datasourceclaims\./,
      ),
    ],
  ])
  expect(before.checks.filter(({ result, remedy }) => result === 'failed' && !remedy)).toEqual([])

  await install(plane, 'crds', 'rbac', 'volumes')
  await plane.crdsEstablished()
  const started = await startLodestone(plane, {
    kubeconfig: await plane.kubeconfigFor(lodestoneUser),
    config: { registration: { mode: 'none' } },
  })
  expect(failuresOf((await check(plane)).checks).map(([name]) => name)).toEqual([
    'registration',
    'ca-bundle',
    'admission',
  ])

  const wrong = join(plane.dir, 'wrong.crt')
  await writeFile(wrong, (await makeAuthority(Date.now())).certPem)
  await install(plane, 'registration', '--url', started.url, '--ca', wrong)
  await plane.eventually('the API server knows the webhooks', async () => {
    const { checks } = await check(plane)
    expect(failuresOf(checks)).toEqual([
      [
        'admission',
        expect.stringMatching(/^the API server cannot call Lodestone: .*x509: certificate signed by unknown/),
      ],
    ])
    return true
  })

  const right = join(plane.dir, 'lodestone-certs', 'ca.crt')
  expect(await readFile(right, 'utf8')).toContain('BEGIN CERTIFICATE')
  await install(plane, 'registration', '--url', started.url, '--ca', right)
  const after = await runLodestone(['check-install', '--kubeconfig', plane.kubeconfig, '--wait', '1m'])
  expect(after.code).toBe(0)
  expect(after.stdout).toMatch(/^✔ kubernetes {4}v1\./)
  expect(after.stdout).not.toMatch(/^[✘!]/m)

  const patch = (type: string, name: string, op: 'replace' | 'remove', path: string, value?: unknown) =>
    plane.kubectl(['patch', type, name, '--type=json', '-p', JSON.stringify([{ op, path, value }])])
  const patchWebhook = (op: 'replace' | 'remove', path: string, value?: unknown) =>
    patch('mutatingwebhookconfiguration', 'lodestone', op, `/webhooks/0${path}`, value)
  const selector = { matchLabels: { none: 'none' } }
  const schema = '/spec/versions/0/schema/openAPIV3Schema/description'
  const faults: { name: string; message: RegExp; cause: () => Promise<unknown> }[] = [
    {
      name: 'registration',
      message: /^namespaceSelector of \S+ differs$/,
      cause: () => patchWebhook('replace', '/namespaceSelector', selector),
    },
    {
      name: 'registration',
      message: /^\S+ does not receive \w+ of /,
      cause: () => patchWebhook('replace', '/rules/0/operations', ['CONNECT']),
    },
    { name: 'registration', message: /^not registered: \S+\.lodestone\.dev$/, cause: () => patchWebhook('remove', '') },
    { name: 'ca-bundle', message: / has no caBundle$/, cause: () => patchWebhook('remove', '/clientConfig/caBundle') },
    {
      name: 'crds',
      message: /^datasources\.\S+: the schema is that of another version of Lodestone$/,
      cause: () => patch('crd', 'datasources.datadependency.volcano.sh', 'replace', schema, 'older'),
    },
    {
      name: 'account',
      message: /^ServiceAccount lodestone-system\/lodestone may not /,
      cause: () => patch('clusterrole', 'lodestone', 'remove', '/rules/0'),
    },
  ]
  for (const { name, message, cause } of faults) {
    await cause()
    const others = (await check(plane)).checks.filter(({ result }) => result === 'failed' || result === 'warning')
    expect(others, `${message}`).toEqual([
      { name, result: expect.any(String), message: expect.stringMatching(message), remedy: expect.any(String) },
    ])
    await install(plane, 'crds', 'rbac', 'volumes')
    await install(plane, 'registration', '--url', started.url, '--ca', right)
  }

  await started.stop()
  expect(failuresOf((await check(plane)).checks)).toEqual([
    ['admission', expect.stringMatching(/^the API server cannot call Lodestone: .*connection refused/)],
  ])
})

test('the end of a token of the API server is shown', async () => {
  const plane = await startControlPlane({ karmada: false })
  onTestFinished(() => plane.stopAll())
  await plane.apply([
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'lodestone', namespace: 'default' } },
  ])
  const { stdout: token } = await plane.kubectl(['create', 'token', 'lodestone', '--duration=720h'])
  const { stdout: admin } = await plane.kubectl(['config', 'view', '--minify', '--flatten', '--raw', '-o', 'json'])
  const config = JSON.parse(admin)
  config.users[0].user = { token: token.trim() }
  const kubeconfig = join(plane.dir, 'token.kubeconfig')
  await writeFile(kubeconfig, JSON.stringify(config))

  const { stdout } = await runLodestone(['check-install', '--kubeconfig', kubeconfig, '-o', 'json'])
  const { checks } = JSON.parse(stdout) as { checks: Finding[] }
  const [, end = ''] =
    /^they end at (\S+)$/.exec(checks.find(({ name }) => name === 'credentials')?.message ?? '') ?? []
  const days = (Date.parse(end) - Date.now()) / 86_400_000
  expect(days).toBeGreaterThan(29)
  expect(days).toBeLessThanOrEqual(30)
})

test('--wait ends when Lodestone runs on a hub, and a binding comes back narrowed', async () => {
  const plane = await startControlPlane()
  onTestFinished(() => plane.stopAll())
  const waiting = check(plane, '--wait', '3m')
  const kubeconfig = await installLodestone(plane)
  await startLodestone(plane, { kubeconfig })
  expect((await waiting).code).toBe(0)

  await plane.apply([claim('web', { data: 'web-data' }), source('web-data', ['member2'])])
  const narrowing = await plane.eventually('the claim is bound', async () => {
    const { checks } = await check(plane)
    expect(failuresOf(checks)).toEqual([])
    const found = checks.find(({ name }) => name === 'narrowing')
    return found?.result === 'passed' ? found.message : undefined
  })
  expect(narrowing).toMatch(/^the binding for claim default\/web is changed: /)
  expect(await plane.listJson('resourcebindings.work.karmada.io'), 'a dry run creates nothing').toEqual([])
})
