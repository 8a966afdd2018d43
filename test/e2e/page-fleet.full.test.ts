// The page on a fleet of 12 clusters and 40 workloads of a real hub. It takes the pictures of the docs: `npm run docs:pictures` stores them.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { schemaErrors } from '../../src/cli/ui/ui.fake.ts'
import { openPage, servePage } from './browser.ts'
import { buildPage, startBrowser } from './chromium.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { hubOn } from './hub.ts'
import { installLodestone, leaseRights, startLodestone } from './lodestone.ts'
import { source } from './manifests.ts'
import { createFleet, fleetClusters } from './page-fleet.ts'

let browser: Browser
let plane: ControlPlane

beforeAll(async () => {
  browser = await startBrowser()
  await buildPage()
  plane = await startControlPlane({ garbageCollector: true, clusters: fleetClusters })
  const kubeconfig = await installLodestone(plane)
  await plane.apply(leaseRights())
  await startLodestone(plane, { kubeconfig, config: { leaderElection: { enabled: true } } })
  await createFleet(plane, hubOn(plane))
})

afterAll(async () => {
  await browser?.close()
  await plane?.stopAll()
})

const VIEWS = [
  { name: 'waiting', path: '/waiting', shows: 'the policy requires a DataSourceClaim' },
  { name: 'data', path: '/data', shows: 'us-east-4' },
  {
    name: 'workload',
    path: '/explain/Deployment.v1.apps/images-report?namespace=research',
    shows: 'The policy allows',
  },
  { name: 'volumes', path: '/volumes', shows: 'research/models' },
]

const PICTURES = join(import.meta.dirname, '..', '..', 'docs', 'pictures')
const MAX_PICTURE_BYTES = 120 * 1024

test.each(['light', 'dark'] as const)('the page looks as in the docs, in %s colors', async (colorScheme) => {
  const { link } = await servePage(['--kubeconfig', plane.kubeconfig])
  const page = await openPage(browser, link, { colorScheme, viewport: { width: 1120, height: 640 } })
  const suffix = colorScheme === 'dark' ? '-dark' : ''
  for (const { name, path, shows } of VIEWS) {
    await page.goto(new URL(path, page.url()).href)
    await page.getByText(shows).first().waitFor()
    await page.getByText('live', { exact: true }).waitFor()
    const picture = await page.screenshot()
    expect({ name, isSmall: picture.length <= MAX_PICTURE_BYTES }).toEqual({ name, isSmall: true })
    if (!process.env['LODESTONE_PICTURES']) continue
    await mkdir(PICTURES, { recursive: true })
    await writeFile(join(PICTURES, `${name}${suffix}.png`), picture)
  }
})

test('the view Server shows the leader and the registration of a real installation', async () => {
  const { link } = await servePage(['--kubeconfig', plane.kubeconfig])
  const page = await openPage(browser, link)
  const answer = await page.evaluate("fetch('/v1/server').then((response) => response.json())")
  expect(answer).toMatchObject({
    leader: { isOld: false },
    replicas: [{ registration: expect.any(String) }],
    registrations: expect.arrayContaining([
      expect.objectContaining({ kind: 'MutatingWebhookConfiguration', version: expect.any(String) }),
    ]),
  })
  expect(schemaErrors(answer)).toEqual([])
  expect(schemaErrors(await page.evaluate("fetch('/v1/history').then((response) => response.json())"))).toEqual([])
})

test('a check against the hub shows the workloads that would move', async () => {
  const { link } = await servePage(['--kubeconfig', plane.kubeconfig])
  const page = await openPage(browser, link)
  await page.goto(new URL('/check', page.url()).href)
  await page.getByLabel(/Paste manifests/).fill(JSON.stringify(source('orders', ['us-east-4'])))
  await page.getByRole('button', { name: 'Check', exact: true }).click()
  await page.getByText(/[1-9] would move/).waitFor()
})
