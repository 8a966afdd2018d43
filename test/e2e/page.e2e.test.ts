// The page in a real browser: on a folder, by keyboard, on small and large screens, for a screen reader, and without its server.
import { cp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import axe from 'axe-core'
import type { Browser, BrowserContextOptions, Page, Route } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPage, servePage } from './browser.ts'
import { buildPage, startBrowser } from './chromium.ts'
import { makeTemporaryFolder } from './processes.ts'

const PROJECT = join(import.meta.dirname, '..', '..')

let browser: Browser

beforeAll(async () => {
  browser = await startBrowser()
  await buildPage()
})

afterAll(() => browser?.close())

async function open(
  options: BrowserContextOptions = {},
): Promise<{ page: Page; folder: string; stop: () => Promise<void> }> {
  const folder = await makeTemporaryFolder()
  await cp(join(PROJECT, 'examples/hub'), folder, { recursive: true })
  const { link, stop } = await servePage(['--folder', folder])
  return { page: await openPage(browser, link, options), folder, stop }
}

const heading = (page: Page) => page.getByRole('heading', { level: 1 })
const show = (page: Page, path: string) => page.goto(new URL(path, page.url()).href)

test('a change of a manifest shows what waits, why, and what to do, without a reload', async () => {
  const { page, folder } = await open()
  await page.getByText('Nothing waits.').waitFor()
  const source = join(folder, 'source.yaml')
  const text = await readFile(source, 'utf8')
  await rm(source)
  await page.getByText('demo/orders: no DataSource for amoro table prod.sales.orders yet').waitFor()
  await page.getByText('kubectl get datasources').waitFor()
  await page.getByRole('link', { name: 'DataSourceClaim demo/orders' }).click()
  await page.getByText('DataSourceClaim demo/orders (Required)').waitFor()
  await writeFile(source, text)
  await page.getByText('after: member2').waitFor()
  await page.goBack()
  await page.getByText('Nothing waits.').waitFor()
})

test('a workload shows each cluster with its data, and what excludes it', async () => {
  const { page } = await open()
  await show(page, '/explain/Deployment.v1.apps/trainer?namespace=demo')
  const row = page.getByRole('row', { name: 'member2' })
  await row.getByText('5.0 GiB').waitFor()
  await page.getByRole('row', { name: 'member1' }).getByText('does not have the data of demo/orders').waitFor()
  const steps = page.getByRole('listitem')
  await steps.filter({ hasText: 'The policy allows 3' }).getByText('member1').waitFor()
  const data = steps.filter({ hasText: 'The data is in 1' })
  expect(await data.locator('del').allTextContents()).toEqual(['member1', 'member3'])
  await steps.filter({ hasText: 'Allowed 1' }).getByText('narrowed to its data').waitFor()
})

test('a link to a filtered view shows another reader the same, and survives a reload', async () => {
  const { page } = await open()
  await show(page, '/claims')
  await page.getByLabel('Search').fill('no such claim')
  await page.getByText('No DataSourceClaim matches.').waitFor()
  expect(page.url()).toContain('/claims?search=no+such+claim')
  await page.reload()
  await page.getByText('No DataSourceClaim matches.').waitFor()
  await page.getByLabel('Search').fill('')
  await page.getByRole('link', { name: 'demo/orders' }).waitFor()
})

test.each([
  { path: '/data?search=no+such', text: 'No DataSource matches.' },
  { path: '/systems?search=no+such', text: 'No data system matches.' },
  { path: '/moves?search=no+such', text: 'No workload matches.' },
  { path: '/waiting?search=no+such', text: 'Nothing that matches the filter waits.' },
])('a filter without a row says so, and not that there is none: $path', async ({ path, text }) => {
  const { page } = await open()
  await show(page, path)
  await page.getByText(text).waitFor()
})

test('the page can be used by keyboard alone', async () => {
  const { page } = await open()
  await page.getByText('Nothing waits.').waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('c')
  await page.getByRole('link', { name: 'demo/orders' }).waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.getByText('DataSourceClaim demo/orders (Required)').waitFor()
  await page.keyboard.press('?')
  await page.getByRole('dialog').getByText('g m').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.getByText('DataSourceClaim demo/orders (Required)').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('heading', { level: 1, name: 'Claims' }).waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('x')
  expect(await page.getByLabel('Search').inputValue()).toBe('x')
  await page.keyboard.press('Escape')
  await show(page, '/claims?namespace=demo')
  await page.getByRole('link', { name: 'demo/orders' }).waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('l')
  await page.getByRole('heading', { level: 1, name: 'Workloads' }).waitFor()
  expect(new URL(page.url()).search).toBe('?namespace=demo')
})

test('a command that the browser may not copy is selected', async () => {
  const { page, folder } = await open()
  await show(page, '/explain/Deployment.v1.apps/trainer?namespace=demo')
  const command = `lodestone explain Deployment.v1.apps/trainer -n demo --folder ${folder}`
  await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
  await page.getByRole('button', { name: `Copy the command ${command}` }).click()
  await page.getByText('Selected', { exact: true }).waitFor()
  expect(await page.evaluate('String(getSelection())')).toBe(command)
})

test('the page works in a browser that has no storage, or denies it', async () => {
  for (const storage of ['return null', "throw new DOMException('denied', 'SecurityError')"]) {
    const { page } = await open()
    await page.addInitScript(`Object.defineProperty(window, 'localStorage', { get() { ${storage} } })`)
    await page.reload()
    await page.getByText('Nothing waits.').waitFor()
    await page.getByLabel('Theme').selectOption('dark')
    await page.locator('html[data-theme="dark"]').waitFor()
    await show(page, '/claims')
    await page.getByRole('link', { name: 'demo/orders' }).waitFor()
  }
})

test('a link to a page that a list no longer has leads to its last page', async () => {
  const { page } = await open()
  await show(page, '/claims?offset=300')
  await page.getByText('no rows after 300, of 1').waitFor()
  await page.getByRole('button', { name: 'Previous' }).click()
  await page.getByRole('link', { name: 'demo/orders' }).waitFor()
})

test('data in a cluster that the fleet does not have is named', async () => {
  const { page, folder } = await open()
  const file = join(folder, 'source.yaml')
  await writeFile(file, (await readFile(file, 'utf8')).replaceAll('member2', 'mebmer2'))
  await show(page, '/data')
  await page.getByText('in mebmer2: not in the list of clusters').waitFor()
})

test('the page goes on after a proxy answered instead of the server', async () => {
  const { page } = await open()
  await page.getByText('live', { exact: true }).waitFor()
  const refuse = (route: Route) => route.fulfill({ status: 502, contentType: 'text/html', body: '<html>' })
  await page.route('**/v1*', refuse)
  await page.route('**/v1/*', refuse)
  await page.reload()
  await page.getByText('the server answers HTTP 502 without JSON').first().waitFor()
  await page.unrouteAll()
  await page.getByText('live', { exact: true }).waitFor()
  await page.getByText('Nothing waits.').waitFor()
})

test('the page says that the server is gone, keeps its rows, and recovers', async () => {
  const { page, folder, stop } = await open()
  await show(page, '/claims')
  await page.getByRole('link', { name: 'demo/orders' }).waitFor()
  const { port } = new URL(page.url())
  await stop()
  await page.getByText(/no contact with lodestone ui/).waitFor()
  await page.getByRole('link', { name: 'demo/orders' }).waitFor()
  const { link } = await servePage(['--folder', folder, '--port', port])
  await page.getByText('no session; open the link that the command printed').waitFor()
  // The link opens a session for all tabs of the browser.
  const other = await page.context().newPage()
  await other.goto(link)
  await page.getByText('live', { exact: true }).waitFor()
})

test('a list that could not be read is read again, although nothing changes', async () => {
  const { page } = await open()
  await page.getByText('Nothing waits.').waitFor()
  await page.route('**/v1/claims*', (route) => route.abort('connectionreset'), { times: 1 })
  await page.getByRole('link', { name: 'Claims' }).click()
  await page.getByText(/the server does not respond/).waitFor()
  await page.getByRole('link', { name: 'demo/orders' }).waitFor({ timeout: 30_000 })
})

test('pasted manifests get findings with places, and none of their markup is rendered', async () => {
  const { page } = await open()
  await show(page, '/check')
  const name = '<img src=x onerror=alert(1)>'
  const manifest = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name, namespace: 'demo' }, spec: {} }
  await page.getByLabel(/Paste manifests/).fill(`# one line\n${JSON.stringify(manifest)}`)
  await page.getByRole('button', { name: 'Check', exact: true }).click()
  await page
    .getByText(/pasted\.yaml:2:\d+/)
    .first()
    .waitFor()
  await page.getByText(name).first().waitFor()
  expect(await page.locator('main img').count()).toBe(0)
})

test('a file that was changed is checked again when it is added again', async () => {
  const { page, folder } = await open()
  await show(page, '/check')
  const file = join(folder, 'claim.yaml')
  const chooser = page.getByLabel('Add files')
  await chooser.setInputFiles(file)
  await page.getByRole('button', { name: 'Remove claim.yaml' }).waitFor()
  // A browser reports the choice of a file only if the input does not have it already.
  expect(await chooser.inputValue()).toBe('')
  await writeFile(file, 'kind: DataSourceClaim')
  await chooser.setInputFiles(file)
  await page.getByRole('button', { name: 'Check', exact: true }).click()
  await page.getByText(/claim\.yaml:1:1/).waitFor()
  expect(await page.getByRole('button', { name: 'Remove claim.yaml' }).count()).toBe(1)
})

test('a question has the effect on each workload, and a table of losses leads to it', async () => {
  const { page, folder } = await open()
  await show(page, '/what-if')
  await page.getByRole('button', { name: 'The loss of each cluster' }).click()
  await page.getByRole('link', { name: 'member2' }).click()
  await page.getByText('What if member2 is lost?').waitFor()
  const row = page.getByRole('row', { name: 'Deployment demo/trainer' })
  await row.getByText('waits').waitFor()
  await row.getByText(/member2 has the taint .*:NoSchedule, which the policy does not tolerate/).waitFor()
  expect(page.url()).toContain('/what-if?lost=member2')
  await page.evaluate(axe.source)
  expect(((await page.evaluate('axe.run()')) as axe.AxeResults).violations).toEqual([])
  await row.getByRole('link').click()
  await page.getByText('Where it can run').waitFor()
  await page.goBack()
  const change = (number: number) => page.getByRole('group', { name: `Change ${number}`, exact: true })
  await change(1).getByLabel('Cluster').fill('member1')
  await page.keyboard.press('Enter')
  await page.getByText('Nothing changes for 1 workload.').waitFor()
  await page.getByRole('button', { name: 'Add a change' }).press('Enter')
  expect(await page.evaluate('document.activeElement?.closest("fieldset")?.textContent')).toContain('Change 2')
  await change(2).getByLabel('What if').selectOption('a cluster has a taint')
  await change(2).getByLabel('Cluster').fill('membr2')
  await change(2).getByLabel('Key').fill('drain')
  await page.getByRole('button', { name: 'Ask', exact: true }).click()
  await page.getByText('change 2: no Cluster membr2 (did you mean member2?)').waitFor()
  await change(2).getByLabel('Cluster').fill('member2')
  await page.keyboard.press('Enter')
  await page.getByText('What if member2 has the taint drain:NoExecute, and member1 is lost?').waitFor()
  const command = `lodestone what-if --cluster-lost member1 --taint member2=drain:NoExecute --folder ${folder}`
  await page.getByText(command, { exact: true }).waitFor()
  // Another reader gets the same rows and the same answer.
  await page.reload()
  await page.getByText('What if member2 has the taint drain:NoExecute, and member1 is lost?').waitFor()
  await change(2).getByLabel('What if').selectOption('manifests are applied')
  await change(2)
    .getByLabel(/^Manifests/)
    .fill('kind: [')
  await page.getByRole('button', { name: 'Ask', exact: true }).click()
  await page.getByText(/change 2: change-2.yaml: /).waitFor()
  expect(page.url()).not.toContain('lost=')
  await page.evaluate(axe.source)
  expect(((await page.evaluate('axe.run()')) as axe.AxeResults).violations).toEqual([])
  await page.getByRole('button', { name: 'Remove change 1' }).click()
  await change(2).waitFor({ state: 'detached' })
})

test('a late answer is shown below its own question only, also after another view', async () => {
  const { page } = await open()
  await show(page, '/what-if')
  await page.getByRole('button', { name: 'The loss of each cluster' }).click()
  const late = Promise.withResolvers<void>()
  await page.route('**/v1/what-if', async (route) => {
    if (route.request().postData()?.includes('member1')) await late.promise
    // The page gives up the first question.
    await route.continue().catch(() => undefined)
  })
  await page.getByRole('link', { name: 'member1' }).click()
  await page.getByRole('button', { name: 'Asking…' }).waitFor()
  await page.getByRole('link', { name: 'member2' }).click()
  await page.getByText('What if member2 is lost?').waitFor()
  await page.getByRole('group', { name: 'Change 1' }).getByLabel('Cluster').fill('member1')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Asking…' }).waitFor()
  await page.getByRole('link', { name: /^Claims/ }).click()
  await page.getByRole('link', { name: 'demo/orders' }).waitFor()
  late.resolve()
  await page.goBack()
  await page.getByText('What if member1 is lost?').waitFor()
})

test('a change of one replica changes its square alone', async () => {
  const { page, folder } = await open()
  const write = (bytes: number) => writeFile(join(folder, 'volumes.yaml'), JSON.stringify(volumeManager(bytes)))
  await write(1024)
  await show(page, '/volumes')
  const changing = page.getByRole('link', { name: /^node-1: Downloading/ })
  await changing.waitFor()
  await page.evaluate("for (const each of document.querySelectorAll('.square')) each.isSame = true")
  await write(2048)
  await page.getByRole('link', { name: 'node-1: Downloading, 2.0 KiB of 4.0 KiB' }).waitFor()
  expect(await page.evaluate("[...document.querySelectorAll('a.square')].map(({ isSame }) => isSame)")).toEqual([
    true,
    true,
  ])
  await page.getByText('node node-2 is not ready').waitFor()
  await page.getByRole('button', { name: 'By node' }).click()
  await page.getByRole('heading', { name: 'node-2' }).waitFor()
  expect(page.url()).toContain('/volumes?by=node')
})

function volumeManager(bytes: number): object {
  const replica = { revision: 'r', attempt: 1, totalBytes: 4096 }
  const replicas = [
    { ...replica, index: 0, state: 'Downloading', node: 'node-1', bytes },
    { ...replica, index: 1, state: 'Unreachable', node: 'node-2', bytes: 4096, message: 'node node-2 is not ready' },
  ]
  return {
    apiVersion: 'vck.intelai.org/v1alpha1',
    kind: 'VolumeManager',
    metadata: { name: 'models', namespace: 'demo' },
    spec: {
      volumeConfigs: [
        {
          id: 'weights',
          replicas: 2,
          sourceType: 'S3',
          accessMode: 'ReadWriteOnce',
          capacity: '5Gi',
          labels: { volume: 'models' },
          options: { awsCredentialsSecretName: 'lake', sourceURL: 's3://lake/models/' },
        },
      ],
    },
    status: { volumes: [{ id: 'weights', nodeAffinity: {}, replicas }] },
  }
}

const VIEWS = [
  '/waiting',
  '/workloads',
  '/data',
  '/claims',
  '/volumes',
  '/volumes?by=node',
  '/volumes?by=table',
  '/moves',
  '/check',
  '/what-if',
  '/systems',
  '/server',
  '/explain/Deployment.v1.apps/trainer?namespace=demo',
]

test('axe finds nothing in any view, in light and dark colors', async () => {
  // Colors change at once.
  const { page } = await open({ reducedMotion: 'reduce' })
  const found: string[] = []
  for (const path of VIEWS) {
    await show(page, path)
    await heading(page).waitFor()
    await page.locator('.empty, table, .waits, .tree, .check').first().waitFor()
    // The Content-Security-Policy of the page forbids it, so it runs as a debugger does.
    await page.evaluate(axe.source)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      const { violations } = (await page.evaluate('axe.run()')) as axe.AxeResults
      found.push(...violations.map(({ id, nodes }) => `${path}: ${colorScheme}: ${id}: ${nodes[0]?.html}`))
    }
  }
  expect(found).toEqual([])
})

test('no view is wider than a small or a large screen', async () => {
  const { page } = await open()
  for (const path of VIEWS) {
    await show(page, path)
    await heading(page).waitFor()
    for (const width of [360, 3840]) {
      await page.setViewportSize({ width, height: 900 })
      const scrolled = (await page.evaluate('document.documentElement.scrollWidth')) as number
      expect({ path, width, isWider: scrolled > width }).toEqual({ path, width, isWider: false })
    }
  }
})

test('a name of 253 characters moves nothing out of the screen', async () => {
  const { page, folder } = await open()
  const claim = await readFile(join(folder, 'claim.yaml'), 'utf8')
  await writeFile(join(folder, 'claim.yaml'), claim.replace('name: orders', `name: ${'o'.repeat(253)}`))
  await rm(join(folder, 'source.yaml'))
  await page.getByText('no DataSource for amoro table prod.sales.orders yet').waitFor()
  const found: object[] = []
  for (const path of ['/waiting', '/explain/Deployment.v1.apps/trainer?namespace=demo', '/claims', '/workloads']) {
    await show(page, path)
    await page.locator('.waits, table').first().waitFor()
    for (const width of [320, 1280]) {
      await page.setViewportSize({ width, height: 900 })
      const scrolled = (await page.evaluate('document.documentElement.scrollWidth')) as number
      const [, second] = await page.getByRole('columnheader').all()
      const { x = 0 } = (await second?.boundingBox()) ?? {}
      found.push({ path, width, isWider: scrolled > width, isHidden: x > width })
    }
  }
  expect(found.filter((one) => Object.values(one).includes(true))).toEqual([])
})
