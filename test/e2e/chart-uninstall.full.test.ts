// `helm uninstall` with the real helm and the hooks of the chart; their Jobs are processes with the rights of their ServiceAccount.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { chart, namespace } from './chart.ts'
import { main, runLodestone } from './command.ts'
import { type ChartCluster, deployedValues, runHookJob, startChartCluster, startDeployed } from './deployed.ts'

let cluster: ChartCluster
beforeAll(async () => {
  cluster = await startChartCluster()
})
afterAll(() => cluster?.stop())

test('one command removes a running Lodestone, and leaves nothing', async () => {
  const { plane, helm, balancer } = cluster
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

  const gone = await runLodestone(['check-install', '--gone', '--kubeconfig', plane.kubeconfig])
  expect(gone).toMatchObject({ code: 0, stdout: expect.stringContaining('nothing of Lodestone is left') })
})
