/** An answer of `what-if` is the decision of the webhook and the loop: the same writes go through the review, its patch and the plans. */
import { expect, test } from 'vitest'
import { type DataSource, dataSources } from '../../src/api/data-source.ts'
import { clusters, type ResourceBinding, resourceBindings } from '../../src/api/karmada.ts'
import { splitObjectKey } from '../../src/api/meta.ts'
import { jsonEqual, without } from '../../src/base/json.ts'
import { applyMergePatch } from '../../src/base/merge-patch.ts'
import { newestRules } from '../../src/core/karmada-rules.ts'
import { planBinding } from '../../src/core/resource-binding/plan.ts'
import { DEFAULT_TIMING } from '../../src/core/resource-binding/timing.ts'
import { evict, findEviction } from '../../src/core/what-if/evict.ts'
import { leaveCluster, loseCluster, moveData } from '../../src/core/what-if/suppose.ts'
import { SHIPPED_KINDS } from '../../src/core/workload-kinds/kinds.ts'
import { gatherBindingInput } from '../../src/queries/binding.ts'
import { type Answer, openFleet } from '../../src/queries/what-if/ask.ts'
import { isQueuedIn, predictOutcome, type Question, supposeWorld, type World } from '../../src/queries/what-if/world.ts'
import { bindingNamed } from '../../src/queries/workload.ts'
import { allKinds } from '../../src/store/kinds/cached-kinds.ts'
import { OverlayStore } from '../../src/store/overlay-store.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import { bindingWebhooks } from '../../src/webhooks/resource-binding.ts'
import { NOW } from '../builders.ts'
import { Fleet } from '../fleet/fleet.ts'
import { storeOf, written } from '../fleet/fleet-files.ts'
import { type Random, randomFrom } from '../random.ts'

/** Each test takes seconds, and minutes on a busy machine. */
const TIMEOUT_MS = 300_000

const SAMPLES = 10_000
/** A second run of the loop changes nothing in most cases. */
const MAX_RUNS = 5
const SETTINGS = {
  now: NOW,
  clusterScopedClaims: 'forbidden',
  timing: DEFAULT_TIMING,
  matrix: undefined,
  kinds: SHIPPED_KINDS,
  karmadaRules: newestRules,
} as const
const STATES = ['Ignored', 'Kept', 'Narrowed', 'OnHold', 'Relaxed', 'Released', 'Restored', 'Untouched']
const [webhook] = bindingWebhooks(SHIPPED_KINDS)

test(
  '10000 answers are what admission and the loop decide',
  async () => {
    const { store } = await written({
      store: await storeOf(new Fleet(1, { clusters: 60, sources: 300, bindings: 2000 })),
    })
    const { present, index } = await openFleet(store, SETTINGS)
    const random = randomFrom(1)
    const states = new Set<string>()
    const differing: string[] = []
    let evictions = 0
    let samples = 0
    while (samples < SAMPLES) {
      const overlay = new OverlayStore(store, allKinds(SHIPPED_KINDS))
      const supposed = supposeWorld(present, { store: overlay, changes: [suppose(overlay, random)] })
      const { certain, possible } = index.concernedBy(supposed)
      for (const key of new Set([...certain, ...possible])) {
        const binding = bindingNamed(splitObjectKey(key), overlay)
        if (!binding || samples === SAMPLES) continue
        const answered = predictOutcome(binding, supposed, { isQueued: isQueuedIn(binding, supposed) }).first.decision
        const eviction = findEviction(binding, supposed.fleet)
        const admitted = eviction ? admit(evict(binding, eviction.from), binding, supposed) : binding
        if (!jsonEqual(answered.binding, reconcile(admitted, supposed))) differing.push(key)
        states.add(answered.state)
        samples += 1
        if (eviction) evictions += 1
      }
    }
    expect(differing).toEqual([])
    expect(evictions).toBeGreaterThan(1000)
    expect([...states].sort()).toEqual(STATES)
  },
  TIMEOUT_MS,
)

function suppose(overlay: OverlayStore, random: Random) {
  const lost = overlay.get(clusters, undefined, `m${random.below(60)}`)
  if (lost && random.chance(0.7)) return overlay.put(clusters, loseCluster(lost))
  const source = random.pick([...overlay.list(dataSources)] as DataSource[])
  return overlay.put(dataSources, moveData(source, [`m${random.below(60)}`], NOW))
}

/** The binding that the API server stores after a review of the write. */
function admit(object: ResourceBinding, oldObject: ResourceBinding, { store }: World): ResourceBinding {
  const request = {
    uid: 'u',
    operation: 'UPDATE' as const,
    kind: { group: resourceBindings.group, version: resourceBindings.version, kind: resourceBindings.kind },
    resource: { group: resourceBindings.group, version: resourceBindings.version, resource: resourceBindings.plural },
    object,
    oldObject,
  }
  const context = { ...SETTINGS, store, propagateDeps: 'Claimed', whenNotReady: 'Gate' }
  const outcome = webhook?.review(request as never, context as never)
  if (outcome?.kind === 'patch') return outcome.object as ResourceBinding
  expect(outcome?.kind).toBe('allow')
  return object
}

/** The binding after the writes of the loop. */
function reconcile(admitted: ResourceBinding, { store }: World): ResourceBinding {
  let binding = admitted
  for (let run = 0; run < MAX_RUNS; run++) {
    const { actions } = planBinding(gatherBindingInput(binding, binding, { ...SETTINGS, store }))
    const write = actions.find((action) => action.kind === 'patch')
    if (!write) return binding
    binding = applyMergePatch(binding, write.patch) as ResourceBinding
  }
  throw new Error('the loop does not come to rest')
}

/** A hub in which some clusters are being deleted, and others are lost. */
function shrinking(hub: ObjectStore): ObjectStore {
  const overlay = new OverlayStore(hub, allKinds(SHIPPED_KINDS))
  const some = [...hub.list(clusters)].filter((_, i) => i % 4 === 0)
  some.forEach((cluster, i) => {
    overlay.put(clusters, i % 2 === 0 ? leaveCluster(cluster, NOW) : loseCluster(cluster))
  })
  return overlay
}

test.each([
  { hub: 'with volumes', volumes: true, stateOf: (hub: ObjectStore) => hub },
  { hub: 'without volumes', volumes: false, stateOf: (hub: ObjectStore) => hub },
  { hub: 'that loses clusters already', volumes: false, stateOf: shrinking },
])(
  'in a hub $hub, the index finds each change that deciding all workloads finds',
  async ({ volumes, stateOf }) => {
    const store = stateOf(await storeOf(new Fleet(3, { clusters: 40, sources: 60, bindings: 400, volumes })))
    const fleet = await openFleet(store, SETTINGS)
    const random = randomFrom(3)
    const lost = [...store.list(clusters)].map(
      (cluster) => (overlay: OverlayStore) => overlay.put(clusters, loseCluster(cluster)),
    )
    const kept = [...store.list(clusters)]
      .filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
      .map(({ metadata, ...cluster }) => (overlay: OverlayStore) => {
        return overlay.put(clusters, { ...cluster, metadata: without(metadata, 'deletionTimestamp') })
      })
    const moved = Array.from({ length: 20 }, () => (overlay: OverlayStore) => suppose(overlay, random))
    const each = [...lost, ...kept, ...moved].map((change) => [change])
    const answered: { question: Question; totals: Answer['totals'] }[] = []
    for (const together of [...each, lost.slice(0, 3), [...lost.slice(3, 5), ...moved.slice(0, 1)]]) {
      const overlay = new OverlayStore(store, allKinds(SHIPPED_KINDS))
      const question = { store: overlay, changes: together.map((change) => change(overlay)) }
      const every = await fleet.ask(question, { decidesAll: true })
      expect(await fleet.ask(question)).toEqual(every)
      answered.push({ question, totals: every.totals })
    }
    expect(await fleet.askEach(answered.map(({ question }) => question))).toEqual(answered)
    const changes = answered.flatMap(({ totals }) => Object.values(totals).map(({ workloads }) => workloads))
    expect(changes.reduce((sum, workloads) => sum + workloads)).toBeGreaterThan(200)
  },
  TIMEOUT_MS,
)
