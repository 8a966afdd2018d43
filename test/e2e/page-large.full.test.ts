// The page of a large fleet, and without a network. Figures: npm run bench:page.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeClaim, makeCluster, makeSource } from '../builders.ts'
import { openPage, servePage } from './browser.ts'
import { buildPage, startBrowser } from './chromium.ts'
import { makeTemporaryFolder } from './processes.ts'

let browser: Browser

beforeAll(async () => {
  browser = await startBrowser()
  await buildPage()
})

afterAll(() => browser?.close())

const CLAIMS = 10_000

async function fleetFolder(): Promise<string> {
  const folder = await makeTemporaryFolder()
  const numbers = (length: number) => Array.from({ length }, (_, i) => i)
  const objects = [
    ...numbers(1_000).map((i) => makeCluster(`member${i}`, { region: `region-${i % 20}` })),
    ...numbers(2_000).map((i) => {
      const name = `table-${i}`
      const locality = { clusterNames: [`member${i % 1_000}`], bytes: i * 1024 }
      return makeSource({ system: 'static', type: 'bucket', name, locality }, { name: `static-bucket-${name}` })
    }),
    ...numbers(CLAIMS).map((i) => {
      const workload = { apiVersion: 'apps/v1', kind: 'Deployment', name: `app-${i}` }
      const data = { system: 'static', dataSourceType: 'bucket', dataSourceName: `table-${i % 2_000}` }
      return makeClaim({ ...data, workload }, { name: `claim-${i}`, namespace: `team-${i % 100}` })
    }),
  ]
  for (let part = 0; part * 1_000 < objects.length; part++) {
    const items = objects.slice(part * 1_000, (part + 1) * 1_000)
    await writeFile(join(folder, `part-${part}.json`), JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
  }
  return folder
}

test('ten thousand claims are shown in pages, which the server filters', async () => {
  const { link } = await servePage(['--folder', await fleetFolder()])
  const page = await openPage(browser, link)
  const hosts = new Set<string>()
  page.on('request', (request) => hosts.add(new URL(request.url()).host))
  const show = (path: string) => page.goto(new URL(path, link).href)
  await show('/claims')
  await page.getByText('1–100 of 10,000').waitFor()
  await page.getByRole('button', { name: 'Next' }).click()
  await page.getByText('101–200 of 10,000').waitFor()
  await page.getByLabel('Namespace').fill('team-7')
  await page.getByRole('row', { name: 'team-7/claim-107' }).waitFor()
  expect(await page.locator('tbody tr').count()).toBe(100)
  await page.getByLabel('Search').fill('claim-9907')
  await expect.poll(() => page.locator('tbody tr').count()).toBe(1)
  for (const view of ['waiting', 'workloads', 'data', 'volumes', 'systems']) {
    await show(`/${view}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
  }
  expect([...hosts]).toEqual([new URL(link).host])
})
