// The chart on a real hub: helm installs its objects through karmada-apiserver, and the pods of the other release serve it.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import type { K8sObject } from '../../src/api/meta.ts'
import { completeConfig } from '../../src/app/config/config.ts'
import { grantedAccesses, rolesFor } from '../../src/app/roles/granted.ts'
import { chart, type Helm, helmOn, namespace, namespaceOf } from './chart.ts'
import { lodestoneOutput, runLodestone } from './command.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { lodestoneUser, startLodestone } from './lodestone.ts'
import { claim, deployment, policy, source } from './manifests.ts'

let plane: ControlPlane
let helm: Helm

beforeAll(async () => {
  plane = await startControlPlane()
  helm = await helmOn(plane)
  await plane.apply(namespaceOf(namespace))
})
afterEach(() => helm.run(['uninstall', 'lodestone', '--ignore-not-found', '--no-hooks']))
afterAll(async () => {
  await plane?.stopAll()
  await helm?.close()
})

/** Runs `lodestone kubeconfig` as an administrator, and gives its output to `kubectl apply`. */
async function applySecret(): Promise<string> {
  const words = ['kubeconfig', '-o', 'secret', '--kubeconfig', plane.kubeconfig]
  const { code, stdout, stderr } = await runLodestone(words)
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/ in 720h\n.* is a loopback address/) })
  await plane.kubectl(['apply', '--server-side', '-f', '-'], { input: stdout })
  const secret = (await plane.getJson('secrets', 'lodestone-hub', namespace)) as { data?: { kubeconfig?: string } }
  return Buffer.from(secret.data?.kubeconfig ?? '', 'base64').toString()
}

test('two commands install a hub, and a workload is placed where its data is', async () => {
  expect(await helm.run(['install', 'lodestone', chart, '--set', 'mode=hub-objects'])).toMatchObject({ code: 0 })
  await plane.crdsEstablished()
  const kubeconfig = join(plane.dir, 'lodestone-hub')
  const first = await applySecret()
  await writeFile(kubeconfig, await applySecret())
  expect(await readFile(kubeconfig, 'utf8')).not.toBe(first)
  const { stdout: user } = await plane.kubectl(['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}'], {
    kubeconfig,
  })
  expect(user).toBe(lodestoneUser)

  const lodestone = await startLodestone(plane, { kubeconfig })
  await plane.apply([source('prod', ['member2']), claim('trainer', { data: 'prod' }), policy('trainer')])
  await plane.apply(deployment('trainer'))

  await plane.eventually('the workload is scheduled to its data', async () => {
    const binding = await plane.getJson('resourcebindings', 'trainer-deployment', 'default')
    const clusters = (binding as { spec?: { clusters?: { name: string }[] } } | undefined)?.spec?.clusters
    return clusters?.length === 1 && clusters[0]?.name === 'member2'
  })
  const words = ['check-install', '--kubeconfig', plane.kubeconfig, '--config', lodestone.configFile, '--wait', '1m']
  const checked = await runLodestone(words)
  expect(checked.stdout).not.toMatch(/^✘/m)
  expect(checked.stdout).toMatch(/^✔ absence /m)
  expect(checked).toMatchObject({ code: 0 })
  expect(await plane.listJson('deployments', namespace)).toEqual([])

  await lodestone.stop()
  expect(await helm.run(['uninstall', 'lodestone', '--no-hooks'])).toMatchObject({ code: 0 })
  for (const kind of ['mutatingwebhookconfigurations', 'resourceinterpreterwebhookconfigurations']) {
    expect(await plane.getJson(kind, 'lodestone')).toBeUndefined()
  }
  expect(await plane.getJson('datasourceclaims', 'trainer', 'default')).toBeDefined()
})

test('objects that were applied become those of a release with --take-ownership', async () => {
  await plane.kubectl(['apply', '-f', '-'], { input: await lodestoneOutput(['manifests', 'rbac']) })
  const install = (...words: string[]) =>
    helm.run(['install', 'lodestone', chart, '--set', 'mode=hub-objects', ...words])

  expect((await install()).stderr).toContain('invalid ownership metadata')
  expect(await install('--take-ownership')).toMatchObject({ code: 0 })
  const role = await plane.getJson('clusterroles', 'lodestone-loops')
  expect(role?.metadata['annotations']).toMatchObject({ 'meta.helm.sh/release-name': 'lodestone' })
})

test('the chart grants the rights of `lodestone manifests rbac` for any configuration', async () => {
  const config = {
    registration: { mode: 'url', url: 'https://10.0.0.7:9443' },
    systems: { configMap: { namespace: 'platform', name: 'plugins' } },
    workloadKinds: [{ group: 'example.com', versions: ['v1'], kind: 'Gadget', plural: 'gadgets' }],
    dependencies: {
      related: ['NetworkPolicy'],
      relatedKinds: [
        { group: 'example.com', versions: ['v1'], kind: 'Widget', plural: 'widgets', podSelectors: ['spec.selector'] },
      ],
    },
  }
  const { registration, ...others } = config
  const { stdout, code } = await helm.render({ mode: 'hub-objects', registration, config: others })
  expect(code).toBe(0)
  const objects = parseAllDocuments(stdout).flatMap((document) => (document.toJS() as K8sObject | null) ?? [])
  const rightsOf = (roles: K8sObject[]) => grantedAccesses(roles).map((access) => JSON.stringify(access))

  expect([...new Set(rightsOf(objects))].sort()).toEqual(
    [...new Set(rightsOf(rolesFor(completeConfig(parse(JSON.stringify(config)), 'test'))))].sort(),
  )
})
