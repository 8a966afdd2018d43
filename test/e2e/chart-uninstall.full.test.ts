// `helm uninstall` with the real helm and the hooks of the chart; their Jobs are processes with the rights of their ServiceAccount.
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Balancer, startBalancer } from './balancer.ts'
import { chart, type Helm, helmOn, namespace, namespaceOf } from './chart.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { deployedValues, runHookJob, startDeployed, tlsSecret } from './deployed.ts'
import { runCommand } from './processes.ts'

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

test('one command removes a running Lodestone, and leaves nothing', async () => {
  expect(await helm.run(['install', 'lodestone', chart], deployedValues(balancer))).toMatchObject({ code: 0 })
  const pod = await startDeployed(plane, balancer, { name: 'lodestone', entry: main })

  const uninstalled = helm.run(['uninstall', 'lodestone', '--timeout', '4m'])
  expect(await runHookJob(plane, 'lodestone-uninstall-pre-delete', main)).toMatchObject({ code: 0 })
  await plane.eventually('helm deletes the Deployment', async () => {
    return (await plane.getJson('deployments', 'lodestone', namespace)) === undefined
  })
  // A kubelet would stop it now.
  await pod.stop()
  expect(await runHookJob(plane, 'lodestone-uninstall-post-delete', main)).toMatchObject({ code: 0 })
  expect(await uninstalled).toMatchObject({ code: 0 })

  const words = ['check-install', '--gone', '--kubeconfig', plane.kubeconfig]
  const gone = await runCommand(process.execPath, [main, ...words], { cwd: plane.dir, env: {} })
  expect(gone).toMatchObject({ code: 0, stdout: expect.stringContaining('nothing of Lodestone is left') })
})
