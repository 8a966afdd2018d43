// The page on a real hub, while kubectl changes objects.
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { openPage, servePage } from './browser.ts'
import { buildPage, startBrowser } from './chromium.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { type Hub, hubOn } from './hub.ts'
import { installLodestone, startLodestone } from './lodestone.ts'
import { claim, deployment, policy, source } from './manifests.ts'

let browser: Browser
let plane: ControlPlane
let hub: Hub

beforeAll(async () => {
  browser = await startBrowser()
  await buildPage()
  plane = await startHub()
  hub = hubOn(plane)
})

afterAll(async () => {
  await browser?.close()
  await plane?.stopAll()
})

async function startHub(): Promise<ControlPlane> {
  const started = await startControlPlane({ garbageCollector: true })
  await startLodestone(started, { kubeconfig: await installLodestone(started) })
  return started
}

test('the page shows that a workload waits, and then where its data is', async () => {
  const { link } = await servePage(['--kubeconfig', plane.kubeconfig])
  const page = await openPage(browser, link)
  await page.getByText('Nothing waits.').waitFor()
  const workload = deployment('seen')
  await hub.apply(policy('seen'), claim('seen', { data: 'seen-data', workload }), workload)
  await page.getByRole('heading', { name: 'Deployment default/seen' }).waitFor()
  await page.getByText('no DataSource for').first().waitFor()
  await hub.apply(source('seen-data', ['member2']))
  await page.getByText('Nothing waits.').waitFor()
  await page.goto(new URL('/workloads', page.url()).href)
  const row = page.getByRole('row', { name: 'default/seen' })
  await row.getByText('narrowed to its data').waitFor()
  await row.getByRole('cell', { name: 'member2', exact: true }).nth(1).waitFor()
  await hub.delete(workload)
  await page.getByText('No workload matches.').waitFor()
})

test('the page works after a restart of the API server, and without the CRD of claims', async () => {
  // A hub of its own: the other tests, which may run afterwards, need claims and a hub on which nothing waits.
  const plane = await startHub()
  onTestFinished(() => plane.stopAll())
  const hub = hubOn(plane)
  const { link } = await servePage(['--kubeconfig', plane.kubeconfig])
  const page = await openPage(browser, link)
  await page.getByText('Nothing waits.').waitFor()
  await plane.restart('kube-apiserver')
  const workload = deployment('later')
  await hub.apply(policy('later'), claim('later', { data: 'later-data', workload }), workload)
  await page.getByRole('heading', { name: 'Deployment default/later' }).waitFor()
  await page.getByText('live', { exact: true }).waitFor()
  await page.goto(new URL('/claims', page.url()).href)
  await page.getByRole('link', { name: 'default/later' }).first().waitFor()
  await plane.kubectl(['delete', 'crd', 'datasourceclaims.datadependency.volcano.sh'])
  await page.getByText('No DataSourceClaim matches.').waitFor()
  await page.goto(new URL('/workloads', page.url()).href)
  await page.getByRole('row', { name: 'default/later' }).waitFor()
})

test('a user without the right to read claims gets a line that names it, and no page', async () => {
  const kubeconfig = await plane.kubeconfigFor('viewer')
  await expect(servePage(['--kubeconfig', kubeconfig])).rejects.toThrow(/grant the user the verbs list and watch of/)
})
