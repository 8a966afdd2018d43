/** A configuration that changes while Lodestone runs: a mounted ConfigMap, the whole application, and what it does from then on. */
import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { stringify } from 'yaml'
import type { AdmissionReview } from '../../src/api/admission.ts'
import { MOVER_LABEL } from '../../src/api/lodestone.ts'
import { type Node, nodes } from '../../src/api/node.ts'
import { type Pod, pods } from '../../src/api/pod.ts'
import { volumeManagers } from '../../src/api/volume-manager.ts'
import { startApp } from '../../src/app/app.ts'
import { loadConfig } from '../../src/app/config/config.ts'
import { openFolderStore } from '../../src/store/folder/folder.ts'
import { cachedKinds } from '../../src/store/kinds/cached-kinds.ts'
import { recordLog } from '../../src/telemetry/logger.fake.ts'
import { openMetrics } from '../../src/telemetry/metrics.ts'
import { makeVolume, makeVolumeManager } from '../builders.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { call } from './https-client.ts'
import { LOOPBACK } from './loopback.ts'

function makeFolder(): string {
  const folder = temporaryFolder()
  return folder
}

/** A folder as the kubelet mounts a ConfigMap: the file is a link through `..data`, which is swapped as a whole. */
function mountConfigMap(given: object) {
  const folder = makeFolder()
  const file = join(folder, 'config.yaml')
  let version = 0
  const swapText = (text: string) => {
    const next = `..version-${++version}`
    mkdirSync(join(folder, next))
    writeFileSync(join(folder, next, 'config.yaml'), text)
    symlinkSync(next, join(folder, '..data_tmp'))
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
  }
  swapText(stringify(given))
  symlinkSync(join('..data', 'config.yaml'), file)
  return { file, swapText, swap: (next: object) => swapText(stringify(next)) }
}

async function start(volumes: object) {
  const certificates = makeFolder()
  const base = { server: LOOPBACK, certificates: { directory: certificates }, leaderElection: { enabled: false } }
  const configMap = mountConfigMap({ ...base, volumes })
  const { log, lines } = recordLog()
  const store = openFolderStore({ kinds: cachedKinds })
  const read = () => loadConfig(configMap.file)
  const configSource = { file: configMap.file, read }
  const app = await startApp({ config: read(), configSource, store, log, metrics: openMetrics(), now: Date.now })
  onTestFinished(() => app.stop())
  await app.ready
  const labels = { 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64' }
  for (const name of ['n1', 'n2']) {
    const status = { conditions: [{ type: 'Ready', status: 'True' }] }
    await store.create(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name, labels }, status } as Node)
  }
  const movers = () =>
    store
      .objects()
      .map(({ object }) => object as Pod)
      .filter(({ kind, metadata }) => kind === pods.kind && metadata.labels?.[MOVER_LABEL] !== undefined)
  /** Whether a VolumeManager with this directory is admitted. */
  const admits = async (dataPath: string) => {
    const object = makeVolumeManager([{ options: { ...makeVolume().options, dataPath } }])
    const { group, version, kind, plural } = volumeManagers
    const resource = { group, version, resource: plural }
    const request = { uid: '1', operation: 'CREATE', kind: { group, version, kind }, resource, object, userInfo: {} }
    const body = JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request })
    const ca = readFileSync(join(certificates, 'ca.crt'), 'utf8')
    const answer = await call({ port: app.ports.admission, ca, path: '/validate/volume-manager', body })
    return (JSON.parse(answer.body) as AdmissionReview).response?.allowed
  }
  const swap = (next: object, rest: object = {}) => configMap.swap({ ...base, ...rest, volumes: next })
  const told = (level: string) =>
    lines.filter((line) => line.level === level && /^(invalid )?config|^these/.test(line.msg))
  return { store, swap, swapText: configMap.swapText, file: configMap.file, movers, admits, told }
}

test('its settings of volumes take effect at once, for movers and for admission', async () => {
  const { store, swap, movers, admits, told } = await start({ enabled: true, movers: { image: 'first', maxInAll: 1 } })
  for (const name of ['a', 'b']) await store.create(volumeManagers, makeVolumeManager([{}], { name }))
  await expect.poll(() => movers().length).toBe(1)
  expect(await admits('/data')).toBe(false)

  swap({ enabled: true, movers: { image: 'second', maxInAll: 2 }, allowedRoots: ['/data', '/var/datasets'] })

  await expect.poll(() => movers().map(({ spec }) => spec.containers[0]?.image)).toEqual(['first', 'second'])
  expect(await admits('/data')).toBe(true)
  expect(told('info')).toMatchObject([
    {
      msg: 'configuration changed',
      keys: ['volumes.allowedRoots', 'volumes.movers.image', 'volumes.movers.maxInAll'],
    },
  ])
  expect(told('warn')).toEqual([])
})

test('an invalid one is logged once with its key; the last valid one stays in use', async () => {
  const { swap, swapText, file, admits, told } = await start({ enabled: true, allowedRoots: ['/data'] })
  swap({ enabled: true, allowedRoots: ['/other'], movers: { maxInAll: 0 } })

  await expect.poll(() => told('error')).toHaveLength(1)
  expect(told('error')).toMatchObject([
    {
      msg: 'invalid configuration; keeping the last valid one',
      reason: expect.stringContaining(`${file}: volumes.movers.maxInAll: `),
    },
  ])
  expect([await admits('/data'), await admits('/other')]).toEqual([true, false])

  swapText('volumes: [')
  await expect.poll(() => told('error')).toHaveLength(2)
  swap({ enabled: true, allowedRoots: ['/other'] })
  await expect.poll(() => told('info')).toMatchObject([{ keys: ['volumes.allowedRoots'] }])
  expect([await admits('/data'), await admits('/other')]).toEqual([false, true])
})

test('a setting that cannot change while Lodestone runs is logged, and changes nothing', async () => {
  const { store, swap, movers, told } = await start({ enabled: false })
  swap({ enabled: true, nodeLossSeconds: 60 }, { loops: { maxMovesPerMinute: 1 }, log: { level: 'warn' } })

  await expect
    .poll(() => told('warn'))
    .toMatchObject([
      {
        msg: 'these changes take effect at the next start',
        keys: ['loops.maxMovesPerMinute', 'volumes.enabled', 'log.level'],
      },
    ])
  expect(told('info')).toMatchObject([{ keys: ['volumes.nodeLossSeconds'] }])
  const { metadata } = await store.create(volumeManagers, makeVolumeManager())
  expect([metadata.finalizers, movers()]).toEqual([undefined, []])
})
