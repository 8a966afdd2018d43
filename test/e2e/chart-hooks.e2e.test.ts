// The Helm hooks of the chart with the real helm; their Pods are processes with the rights of their ServiceAccounts.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { chart, namespace } from './chart.ts'
import { main } from './command.ts'
import { type ChartCluster, deployedValues, runHookPod, startChartCluster, startDeployed } from './deployed.ts'

let cluster: ChartCluster
beforeAll(async () => {
  cluster = await startChartCluster()
})
afterAll(() => cluster?.stop())

test('helm test checks the installation with its own account, and leaves nothing', async () => {
  const { plane, helm, balancer } = cluster
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
