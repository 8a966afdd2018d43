// The Helm hooks of the chart with the real helm; their Pods are processes with the rights of their ServiceAccounts.
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Balancer, startBalancer } from './balancer.ts'
import { chart, type Helm, helmOn, namespace, namespaceOf } from './chart.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { deployedValues, runHookPod, startDeployed, tlsSecret } from './deployed.ts'

const main = join(import.meta.dirname, '..', '..', 'src', 'main.ts')

let plane: ControlPlane
let helm: Helm
let balancer: Balancer

beforeAll(async () => {
  plane = await startControlPlane({ karmada: false })
  helm = await helmOn(plane)
  balancer = await startBalancer()
  plane.onStop(() => balancer.stop())
  await plane.apply([namespaceOf(namespace), await tlsSecret(plane)])
})
afterAll(async () => {
  await plane?.stopAll()
  await helm?.close()
})

test('helm test checks the installation with the rights of its own account, and leaves nothing', async () => {
  expect(await helm.run(['install', 'lodestone', chart], deployedValues(balancer))).toMatchObject({ code: 0 })
  await startDeployed(plane, balancer, { name: 'lodestone', entry: main })

  const tested = helm.run(['test', 'lodestone', '--timeout', '2m'])
  const { stdout, stderr, code } = await runHookPod(plane, 'lodestone-test', main)

  expect({ code, stdout, stderr }).toMatchObject({ code: 0 })
  expect(stdout).not.toMatch(/^[✘!]/m)
  expect(stdout).toMatch(/^✔ admission /m)
  expect(stdout).toMatch(/^✔ account /m)
  expect(await tested).toMatchObject({ code: 0 })
  for (const kind of ['clusterroles', 'clusterrolebindings']) {
    expect(await plane.getJson(kind, 'lodestone-test')).toBeUndefined()
  }
  expect(await plane.getJson('pods', 'lodestone-test', namespace)).toBeUndefined()
})
