// This version and the one before it in a member cluster, side by side and one after the other, while pods with data are created.
// `npm run e2e:full` runs it.
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Pod } from '../../src/api/pod.ts'
import type { KubeObject } from './api-client.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { installLodestone } from './lodestone.ts'
import { logToStderr } from './log.ts'
import { publicVolume } from './member.ts'
import { describeStep, startTwoVersions, writersOf } from './two-versions.ts'

// Longer than the pause of two minutes after which this version repairs a registration that the older one has changed.
const besideMs = 150_000
const createEveryMs = 200
const podsPath = '/api/v1/namespaces/default/pods'
const gateName = 'lodestone.dev/volumes'

let plane: ControlPlane
let kubeconfig: string
let created = 0
let gated = 0
const failures: string[] = []
const withoutData: string[] = []

beforeAll(async () => {
  plane = await startControlPlane({ karmada: false, nodes: { names: ['node-1', 'node-2'], movers: 'succeed' } })
  kubeconfig = await installLodestone(plane)
})

afterAll(async () => {
  await plane?.stopAll()
})

test('an upgrade, a downgrade and two versions at once leave each pod with its data', async () => {
  const versions = await startTwoVersions({
    plane,
    kubeconfig,
    besideMs,
    readyTimeoutMs: 300_000,
    config: { volumes: { enabled: true } },
    // Data that is brought during the step, by the leader of the moment.
    duringStep: (number) => bring(`volume-${number}`),
    afterStep(name, result) {
      const counts = `${created} pods, ${gated} with a gate, ${failures.length} failed, ${withoutData.length} without data`
      logToStderr(`${name}: ${describeStep(result)}; ${counts}`)
    },
  })
  await bring('first')
  const loading = new AbortController()
  const load = createPods(loading.signal)
  const steps = await versions.play()
  loading.abort()
  await load

  expect(failures).toEqual([])
  expect(withoutData).toEqual([])
  expect(created).toBeGreaterThan(500)
  expect(writersOf(steps['a new replica beside two old ones'])).toEqual([])
  expect(writersOf(steps['the upgrade'])).toEqual(['new'])
  expect(writersOf(steps['a rolling restart of the new version'])).toEqual([])
  // The old version announces no replicas, and writes what it misses every 10 s. The new one answers its first write, and pauses for two
  // minutes when the answer was changed: it never writes twice in a row.
  const beside = writersOf(steps['an old replica beside two new ones'])
  expect(beside).toEqual(beside.map((_, i) => (i % 2 === 0 ? 'old' : 'new')))
  expect(beside.length).toBeLessThanOrEqual(6)
  await plane.eventually('no pod waits at its gate', async () => {
    const pods = (await plane.listJson('pods', 'default')) as unknown as Pod[]
    return pods.every((pod) => !hasGate(pod))
  })
  logToStderr(`${created} pods, ${gated} with a gate: all have their data`)
}, 1_800_000)

async function bring(volume: string): Promise<void> {
  await plane.apply([publicVolume(volume)])
  await isRunning(volume)
}

/** Creates pods that mount data: of a volume that is ready, and every tenth of one that may not exist yet. Older ones are deleted. */
async function createPods(signal: AbortSignal): Promise<void> {
  for (let i = 1; !signal.aborted; i++) {
    const volume = i % 10 === 0 ? `volume-${1 + (Math.floor(i / 10) % 5)}` : 'first'
    if (volume !== 'first' && !(await exists(volume))) continue
    const { status, body } = await plane.api.request('POST', podsPath, podOf(`pod-${i}`, volume))
    if (status === 201) {
      created++
      if (hasGate(body as Pod)) gated++
      else if (!JSON.stringify(body).includes('hostPath')) withoutData.push(`pod-${i}`)
    } else failures.push(`pod-${i}: ${status} ${JSON.stringify(body)}`)
    if (i > 50) await plane.api.request('DELETE', `${podsPath}/pod-${i - 50}?gracePeriodSeconds=0`)
    await sleep(createEveryMs)
  }
}

function podOf(name: string, volume: string): KubeObject {
  const annotations = { 'lodestone.dev/volumes': JSON.stringify({ name: volume, 'mount-path': '/data' }) }
  const metadata = { name, namespace: 'default', annotations, labels: { 'lodestone.dev/inject': 'true' } }
  const spec = { containers: [{ name: 'main', image: 'server:1' }] }
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec } as KubeObject
}

async function stateOf(name: string): Promise<string | undefined> {
  const found = await plane.getJson('volumemanagers.vck.intelai.org', name, 'default')
  return (found as { status?: { state?: string } } | undefined)?.status?.state
}

const exists = async (name: string) => (await stateOf(name)) !== undefined
const isRunning = (name: string) =>
  plane.eventually(`the data of ${name} is on a node`, async () => (await stateOf(name)) === 'Running', 300_000)

function hasGate({ spec }: Pod): boolean {
  return (spec.schedulingGates ?? []).some(({ name }) => name === gateName)
}
