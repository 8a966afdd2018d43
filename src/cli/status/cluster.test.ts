/** Tests `status` with an API server over HTTP: a hub, a member cluster, and a cluster without Lodestone. */
import { beforeEach, expect, test } from 'vitest'
import { makeBinding, makeClaim, makePod, makeVolumeManager } from '../../../test/builders.ts'
import { dataSources } from '../../api/data-source.ts'
import { dataSourceClaims } from '../../api/data-source-claim.ts'
import { clusterResourceBindings, resourceBindings } from '../../api/karmada.ts'
import { namespaces } from '../../api/namespace.ts'
import { pods } from '../../api/pod.ts'
import { volumeManagers } from '../../api/volume-manager.ts'
import { FastClock } from '../../base/time/clock.fake.ts'
import * as answers from '../../store/cluster/api-responses.fake.ts'
import { type FakeApiServer, startFakeApiServer } from '../../store/cluster/api-server.fake.ts'
import { makeKubeconfig, runWords } from '../cli.fake.ts'
import type { CommandIo } from '../command.ts'
import { statusKinds } from './cached-kinds.ts'

const HOLD = JSON.stringify({ message: 'no answer', reason: 'Unresolved', since: '2026-11-20T09:00:00Z' })
const KINDS = [
  dataSourceClaims,
  dataSources,
  volumeManagers,
  namespaces,
  resourceBindings,
  clusterResourceBindings,
  pods,
] as const

let server: FakeApiServer

beforeEach(async () => {
  server = await startFakeApiServer(KINDS)
})

function status(options: string[] = [], io: Partial<CommandIo> = {}) {
  return runWords(['status', '--kubeconfig', makeKubeconfig(server.url), ...options], io)
}

const suspended = { suspension: { scheduling: true } }

test('the holds of a hub are those of its bindings, and no hold is predicted', async () => {
  server.put(dataSourceClaims, makeClaim())
  server.put(resourceBindings, makeBinding(suspended, { annotations: { 'lodestone.dev/hold': HOLD } }))
  server.put(resourceBindings, makeBinding(suspended, { name: 'suspended-by-a-user' }))
  server.put(resourceBindings, makeBinding({}, { name: 'resumed', annotations: { 'lodestone.dev/hold': HOLD } }))

  const { status: exit, stdout, stderr } = await status()

  expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
  expect(stdout).toContain(
    'HOLDS (1)\nWORKLOAD                 SINCE   MESSAGE\nDeployment default/app   3 h     no answer\n',
  )
})

test('a member has no claims: its volumes and the pods that wait for them are shown', async () => {
  for (const type of [dataSourceClaims, dataSources, resourceBindings, clusterResourceBindings])
    server.serve(type, false)
  server.put(volumeManagers, makeVolumeManager())
  const schedulingGates = [{ name: 'lodestone.dev/volumes' }]
  server.put(pods, makePod({ name: 'sales' }, { schedulingGates }, { creationTimestamp: '2026-11-20T11:00:00Z' }))
  server.put(pods, makePod({ name: 'sales' }, {}, { name: 'running' }))

  const { status: exit, stdout, stderr } = await status()

  expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
  expect(stdout).toMatch(
    /^HOLDS \(1\)\nWORKLOAD {14}SINCE {4}MESSAGE\nPod default\/trainer {3}60 min {3}waits for VolumeManager sales\/vol1\n\nVOLUMES/,
  )
  expect(stdout).toMatch(/VOLUMES \(1\)\n.*\ndefault\/sales +vol1 +Pending +0\/1/)
})

test('a cluster without the kinds of Lodestone is an error', async () => {
  server.serve(dataSourceClaims, false)
  server.serve(volumeManagers, false)

  expect(await status()).toEqual({
    status: 1,
    stdout: '',
    stderr: 'lodestone status: the API server has no kinds of Lodestone; install its CRDs\n',
  })
})

test('--watch shows a new hold, and ends with status 0', async () => {
  const ending = new AbortController()
  let output = ''
  const write = (text: string) => (output += text)
  const done = status(['--watch', '--held'], { signal: ending.signal, stdout: { write } })
  await expect.poll(() => output).toBe('HOLDS (0)\n')

  server.put(resourceBindings, makeBinding(suspended, { annotations: { 'lodestone.dev/hold': HOLD } }))

  await expect.poll(() => output).toContain('HOLDS (0)\n\nHOLDS (1)\n')
  ending.abort()
  expect((await done).status).toBe(0)
})

test('--watch names a failure of the API server once, and goes on', async () => {
  const ending = new AbortController()
  let output = ''
  const write = (text: string) => (output += text)
  const io = { signal: ending.signal, stdout: { write }, clock: new FastClock(20) }
  const done = status(['--watch', '--held'], io)
  await expect.poll(() => server.watches(resourceBindings).length).toBe(1)
  const failure = () => answers.status(500, 'InternalError')
  server.misbehave(answers.isWatchRequest(resourceBindings), failure(), failure())

  server.watches(resourceBindings)[0]?.end()
  await expect.poll(() => server.watchRequests(resourceBindings).length).toBe(4)
  server.put(resourceBindings, makeBinding(suspended, { annotations: { 'lodestone.dev/hold': HOLD } }))

  await expect.poll(() => output).toContain('HOLDS (1)\n')
  ending.abort()
  expect((await done).stderr).toMatch(/^lodestone status: ResourceBinding: [^\n]*HTTP 500[^\n]*\n$/)
})

test('of bindings and pods that are not on hold, only the name is cached', () => {
  const keep = (type: { kind: string }, object: object) =>
    statusKinds.find((kind) => kind.type.kind === type.kind)?.keep(object as never)

  expect(keep(resourceBindings, makeBinding({ replicas: 3 }))).toEqual({
    apiVersion: 'work.karmada.io/v1alpha2',
    kind: 'ResourceBinding',
    metadata: { namespace: 'default', name: 'app-deployment' },
    spec: { resource: { apiVersion: '', kind: '', name: '' } },
  })
  expect(keep(pods, makePod({ name: 'sales' }, { nodeName: 'n1' }))).toEqual({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'default', name: 'trainer' },
    spec: { containers: [] },
  })
})
