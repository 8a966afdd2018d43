/** Properties of the shares of namespaces, in simulated clusters with tenants of any number, size and priority. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { makeVolume, makeVolumeManager, NOW } from '../../../../test/builders.ts'
import { asTask, makeMover, makeReplica } from '../../../../test/volume-builders.ts'
import type { Pod } from '../../../api/pod.ts'
import type { VolumeManager } from '../../../api/volume-manager.ts'
import { toTime } from '../../../base/time/timestamp.ts'
import type { QueueEntry } from './queue.ts'
import { grantSlots } from './shares.ts'
import { shareKey } from './turns.ts'

const { node: _, ...anywhere } = makeReplica({ state: 'Queued' })

/** A VolumeManager whose downloads wait since then. */
function waits(key: string, count: number, { priority = 0, since = 0, node }: Work): VolumeManager {
  const [namespace = '', name = ''] = key.split('/')
  const waiting = { ...anywhere, since: toTime(NOW + since * 1000), ...(node && { node }) }
  const replicas = Array.from({ length: count }, (_, index) => ({ ...waiting, index }))
  const status = { volumes: [{ id: 'vol1', nodeAffinity: {}, replicas }] }
  const manager = makeVolumeManager([], { status })
  return { ...manager, metadata: { namespace, name }, spec: { volumeConfigs: [{ ...makeVolume(), priority }] } }
}

interface Work {
  priority?: number
  since?: number
  node?: string | undefined
}

interface Tenant {
  managers: number
  priority: number
  /** How long its movers run, in steps. */
  duration: number
}

const tenants = fc.array(
  fc.record({
    managers: fc.integer({ min: 1, max: 8 }),
    priority: fc.integer({ min: -1e9, max: 1e9 }),
    duration: fc.integer({ min: 1, max: 6 }),
  }),
  { minLength: 1, maxLength: 5 },
)

interface Limits {
  maxInAll: number
  maxPerNode: number
  /** The node of all data; absent for downloads that may run anywhere. */
  node?: string
  /** The step from which the namespace `victim` has one mover that waits. */
  late?: number
  steps?: number
}

interface Running {
  namespace: string
  pod: Pod
  endsAt: number
}

/** A cluster in which tenants always have work that waits, until the namespace `victim` has a slot. Returns the slots in order. */
function simulate(all: readonly Tenant[], { maxInAll, maxPerNode, node, late, steps = 200 }: Limits) {
  const served = new Map<string, number>()
  const grants: { namespace: string; step: number }[] = []
  let running: Running[] = []
  for (let step = 0; step < steps; step++) {
    const now = NOW + step * 1000
    running = running.filter(({ endsAt }) => endsAt > step)
    const victim =
      late !== undefined && step >= late ? [waits('victim/1', 1, { priority: -2e9, since: late, node })] : []
    const waiting = all.flatMap(({ managers, priority }, i) =>
      Array.from({ length: managers }, (_, k) => waits(`t${i}/${k}`, node ? 3 : 1, { priority, node })),
    )
    const active = running.map(({ pod }) => pod)
    const settings = { maxInAll, maxPerNode }
    const { granted } = grantSlots({ waiting: [...victim, ...waiting], active, served, settings, now }, () => true)
    for (const entry of granted) {
      const { namespace } = entry
      grants.push({ namespace, step })
      served.set(shareKey(namespace), now)
      if (entry.node !== undefined) served.set(shareKey(namespace, entry.node), now)
      const { duration = 1 } = all[Number(namespace.slice(1))] ?? {}
      running.push({ namespace, pod: moverOf(entry, running), endsAt: step + duration })
    }
    if (grants.some(({ namespace }) => namespace === 'victim')) break
  }
  return { grants, running }
}

function moverOf({ namespace, node }: QueueEntry, running: readonly Running[]): Pod {
  const pod = asTask({ manager: `${namespace}/m` }, makeMover({}, { phase: 'Running' }, node ?? 'elsewhere'))
  const taken = running.map((one) => one.pod.metadata.labels?.['lodestone.dev/mover-slot'])
  const slot = Array.from({ length: 50 }, (_, i) => String(i)).find((one) => !taken.includes(one)) ?? '0'
  return { ...pod, metadata: { ...pod.metadata, labels: { 'lodestone.dev/mover-slot': slot } } }
}

describe('with tenants of any number, size and priority', () => {
  test.each([
    { name: 'a slot of the cluster', node: undefined },
    { name: 'a slot of a node', node: 'n1' },
  ])('a namespace gets $name before another one gets two', ({ node }) => {
    fc.assert(
      fc.property(tenants, fc.integer({ min: 1, max: 4 }), fc.integer({ min: 0, max: 20 }), (all, slots, late) => {
        const limits = node ? { maxInAll: 50, maxPerNode: slots, node } : { maxInAll: slots, maxPerNode: 50 }
        const { grants } = simulate(all, { ...limits, late })
        const end = grants.findIndex(({ namespace }) => namespace === 'victim')
        const others = grants.slice(0, Math.max(0, end)).filter(({ step }) => step >= late)
        const counts = [...Map.groupBy(others, ({ namespace }) => namespace).values()].map((one) => one.length)

        expect(end).toBeGreaterThanOrEqual(0)
        expect(Math.max(0, ...counts)).toBeLessThanOrEqual(1)
      }),
    )
  })

  test('namespaces that always wait have numbers of movers that differ by at most one', () => {
    fc.assert(
      fc.property(tenants, fc.integer({ min: 1, max: 12 }), (all, maxInAll) => {
        const endless = all.map((tenant) => ({ ...tenant, managers: 12, duration: 1000 }))
        const { running } = simulate(endless, { maxInAll, maxPerNode: 50, steps: 3 })
        const counts = endless.map((_, i) => running.filter(({ namespace }) => namespace === `t${i}`).length)

        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1)
      }),
    )
  })
})
