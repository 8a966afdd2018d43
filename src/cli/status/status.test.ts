import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  makeBinding,
  makeClaim,
  makeDeployment,
  makeForeignClaim,
  makePolicy,
  makeSource,
} from '../../../test/builders.ts'
import { dataSourceClaims } from '../../api/data-source-claim.ts'
import { openFolderStore } from '../../store/folder/folder.ts'
import { cachedKinds } from '../../store/kinds/cached-kinds.ts'
import { makeFolder, runWords } from '../cli.fake.ts'
import { at, status } from './status.fake.ts'
import { watchStatus } from './status.ts'

test('claims, holds, sources and systems are shown with their current state', async () => {
  const hold = { message: 'default/sales: catalog down', reason: 'Unresolved', since: at(9) }
  const held = makeBinding(
    { suspension: { scheduling: true } },
    { annotations: { 'lodestone.dev/hold': JSON.stringify(hold) } },
  )
  const unhealthy = { type: 'SystemHealthy', status: 'False', reason: 'Unhealthy', message: 'HTTP 503' }
  const stale = { type: 'Stale', status: 'True', reason: 'NotAnswered', message: 'HTTP 503' }
  const source = makeSource(
    { locality: { clusterNames: ['member2'], bytes: 5 * 1024 ** 3 } },
    {
      status: {
        phase: 'Available',
        lastResolvedTime: at(8),
        lastError: 'HTTP 503',
        conditions: [unhealthy, stale].map((one) => ({ ...one, lastTransitionTime: at(9) }) as never),
      },
    },
  )
  const archive = makeSource(
    { system: 'archive', locality: { clusterNames: ['member1'] } },
    { name: 'archive', status: { phase: 'Available', lastResolvedTime: at(9) } },
  )
  const claim = { ...makeClaim(), status: { phase: 'Bound' } }

  const { status: exit, stdout } = await status([claim, source, archive, held])

  expect(exit).toBe(0)
  expect(stdout).toBe(`CLAIMS (1)
CLAIM           PHASE   DATA                    WORKLOAD         LOCATION
default/sales   Bound   amoro lake.shop.sales   Deployment/app   member2

HOLDS (1)
WORKLOAD                 SINCE   MESSAGE
Deployment default/app   3 h     default/sales: catalog down

VOLUMES (0)

SOURCES (2)
SOURCE                        PHASE       CLUSTERS   BYTES     CONFIRMED   PROBLEM
amoro-table-lake.shop.sales   Available   member2    5.0 GiB   4 h ago     HTTP 503
archive                       Available   member1              3 h ago

SYSTEMS (2)
SYSTEM    SOURCES   STALE   HEALTH
amoro     1         1       unhealthy for 3 h: HTTP 503
archive   1         0       healthy
`)
})

describe('with a configuration, systems are shown', () => {
  const folder = () =>
    makeFolder({
      amoro: { system: 'amoro', endpoint: { url: 'http://ams.example.com' } },
      'lake.yaml': { system: 'lake', plugin: 's3', endpoint: { url: 'ftp://hunter2' } },
      archive: '{"system": "archive", "plugin": "static"}',
    })
  const systemsOf = (stdout: string) => stdout.slice(stdout.indexOf('SYSTEMS')).trimEnd().split('\n')

  test('without sources, with an invalid file, and without a file', async () => {
    const config = join(makeFolder({ 'config.yaml': { systems: { directory: folder() } } }), 'config.yaml')

    const { status: exit, stdout } = await status([makeSource({ system: 'other' })], '--config', config)

    expect(exit).toBe(0)
    expect(systemsOf(stdout)).toEqual([
      'SYSTEMS (4)',
      'SYSTEM    SOURCES   STALE   HEALTH',
      'amoro     0         0       never queried',
      'archive   0         0       never queried',
      expect.stringMatching(/^lake {6}0 {9}0 {7}invalid configuration: .*lake\.yaml: endpoint\.url: must be a URL/),
      'other     1         0       not configured',
    ])
    expect(stdout).not.toContain('hunter2')
  })

  test('of a folder that cannot be read, none is said to be not configured', async () => {
    const config = join(makeFolder({ 'config.yaml': { systems: { directory: '/nowhere/systems' } } }), 'config.yaml')

    const { stdout } = await status([makeSource({ system: 'lake' })], '--config', config)

    expect(systemsOf(stdout).slice(2)).toEqual([
      expect.stringMatching(/^lake +1 +0 +never queried$/),
      expect.stringMatching(/^systems +0 +0 +invalid configuration: .*cannot be read/),
    ])
  })

  test('with an invalid file and sources, in one row', async () => {
    const config = join(makeFolder({ 'config.yaml': { systems: { directory: folder() } } }), 'config.yaml')

    const { stdout } = await status([makeSource({ system: 'lake' })], '--config', config)

    expect(systemsOf(stdout).filter((row) => row.startsWith('lake'))).toEqual([
      expect.stringMatching(/^lake +1 +0 +invalid configuration: /),
    ])
  })

  test('with keys of locationMapping that match no location, and the ignored fields', async () => {
    const text = 'system: lake\nplugin: s3\nlocationMapping: { s3://wh/: [m1], s3://wh/prod_: [m2], s3://old/: [m3] }\n'
    const foreign = {
      system: 'amoro',
      endpoint: { url: 'http://ams' },
      locationMapping: { 's3://wh/prod_': ['m2'] },
      note: 1,
    }
    const directory = makeFolder({ lake: text, amoro: JSON.stringify(foreign) })
    const config = join(makeFolder({ 'config.yaml': { systems: { directory } } }), 'config.yaml')
    const sourceIn = (system: string) => {
      const locality = { clusterNames: ['m1'], location: 's3://wh/prod_eu/t' }
      return makeSource({ system, locality }, { name: system })
    }

    const { stdout } = await status([sourceIn('lake'), sourceIn('amoro')], '--config', config)
    const { stdout: json } = await status([sourceIn('lake'), sourceIn('amoro')], '--config', config, '-o', 'json')

    const unmatched = (key: string) =>
      `locationMapping[${key}]: matches no location of a DataSource; correct or remove the key`
    const ignored = 'note: unknown field; ignored, as in volcano-global'
    expect(systemsOf(stdout).slice(2)).toEqual([
      `amoro    1         0       never queried; warning: ${ignored}`,
      `lake     1         0       never queried; warning: ${unmatched('s3://wh/prod_')} (and 1 more)`,
    ])
    expect(JSON.parse(json).systems).toMatchObject([
      { name: 'amoro', warnings: [ignored] },
      { name: 'lake', warnings: [unmatched('s3://wh/prod_'), unmatched('s3://old/')] },
    ])
    // Before the first location, no key can have matched.
    expect((await status([makeSource({ system: 'lake' })], '--config', config)).stdout).not.toContain('locationMapping')
  })
})

test('a size that was not measured completely is "at least"', async () => {
  const locality = { clusterNames: ['member2'], bytes: 1024, bytesAreMinimum: true }
  expect((await status([makeSource({ locality })])).stdout).toContain('   at least 1.0 KiB   ')
})

test('a claim that is not permitted is shown so, whatever the location of its data', async () => {
  const { stdout } = await status([makeForeignClaim(), makeSource()])

  expect(stdout).toMatch(/other\/sales .*not permitted: namespace default does not allow claims of namespace other; /)
})

test('with a namespace, its claims and holds and all sources are shown', async () => {
  const { stdout } = await status([makeClaim(), makeClaim({}, { namespace: 'demo' }), makeSource()], '-n', 'demo')

  expect(stdout).toMatch(/^CLAIMS \(1\)\n.*\ndemo\/sales/)
  expect(stdout).toContain('SOURCES (1)\n')
  expect(stdout).toMatch(/amoro +1 +0 +never queried\n$/)
})

test('a namespace without an object in the folder is named, with those that have one', async () => {
  const { status: exit, stderr } = await status([makeClaim(), makeSource()], '-n', 'prod')

  expect([exit, stderr]).toEqual([0, 'lodestone status: no object is in namespace prod; the folder has default\n'])
})

test('a folder without a manifest is named', async () => {
  const folder = makeFolder({ 'README.md': 'hello' })
  const answer = await runWords(['status', '--folder', folder])

  expect(answer).toMatchObject({
    status: 0,
    stderr: `lodestone status: no manifest in ${folder}; check the path of --folder\n`,
  })
})

describe('the selection', () => {
  test('--system shows its claims, their workloads on hold, its sources and itself', async () => {
    const other = makeClaim(
      { system: 'lake', workload: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' } },
      { name: 'web' },
    )
    const deployments = ['app', 'web'].map((name) => makeDeployment({ name }))
    const policies = ['app', 'web'].map((name) =>
      makePolicy({ resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment', name }] }, { name }),
    )

    const { stdout } = await status(
      [makeClaim(), other, ...policies, ...deployments, makeSource({ system: 'lake', name: 'x' })],
      '--system',
      'lake',
    )

    expect(stdout).toMatch(
      /^CLAIMS \(1\)\n.*\ndefault\/web .*\n\nHOLDS \(1\)\n.*\nDeployment default\/web .*\n\nSOURCES \(1\)\n/,
    )
    expect(stdout).toMatch(/SYSTEMS \(1\)\n.*\nlake .*\n$/)
  })

  test('the known data systems are listed if none is similar', async () => {
    const { stderr } = await status([makeClaim()], '--system', 'hive')

    expect(stderr).toBe('lodestone status: no data system hive; known: amoro; with -c FILE, those of FILE too\n')
  })
})

test('a reader that pauses gets only the last status when it continues', async () => {
  const store = openFolderStore({ kinds: cachedKinds })
  await store.start(AbortSignal.timeout(60_000))
  const ending = new AbortController()
  const written: string[] = []
  let looksOfPause = 0
  const stdout = {
    write: (text: string) => written.push(text),
    get writableNeedDrain() {
      return looksOfPause-- > 0
    },
  }
  const io = { stdout, stderr: stdout, env: {}, now: Date.now, signal: ending.signal }
  const watching = watchStatus(store, io, async () => `${store.size(dataSourceClaims)} claims\n`, 'text')
  await expect.poll(() => written).toEqual(['0 claims\n'])

  looksOfPause = 3
  await store.create(dataSourceClaims, makeClaim({}, { name: 'first' }))
  await expect.poll(() => looksOfPause).toBe(1)
  await store.create(dataSourceClaims, makeClaim({}, { name: 'second' }))

  await expect.poll(() => written).toEqual(['0 claims\n', '\n2 claims\n'])
  ending.abort()
  await watching
})
