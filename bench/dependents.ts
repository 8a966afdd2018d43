/**
 * `npm run bench:dependents`: measures, in memory, the cost of a change of an object that workloads may need. The loops find the workloads
 * that need it and check its binding. The fleet is that of karmada-io/karmada#5971: 13,572 bindings, 3,372 objects that change. There,
 * Karmada took 0.61 ms to compare one object with one binding, and compared it with all in its namespace. Prints Markdown.
 *
 * Every row is CPU time of the loops' own code (src/reconcile) on the store that keeps everything in memory. The least of
 * some rounds counts, since the compiler slows the first ones.
 */
import { parseArgs } from 'node:util'
import { configMaps } from '../src/api/dependencies.ts'
import { resourceBindings } from '../src/api/karmada.ts'
import type { K8sObject } from '../src/api/meta.ts'
import type { ReconcileContext, ReconcileLoop } from '../src/reconcile/define.ts'
import { openLoops } from '../src/reconcile/index.ts'
import { openFolderStore } from '../src/store/folder/folder.ts'
import { cachedKinds } from '../src/store/kinds/cached-kinds.ts'
import type { StoreChange } from '../src/store/store.ts'
import { configMap } from '../test/e2e/manifests.ts'
import { deployments, sharingFleet } from './dependency-fleet.ts'
import { log } from './log.ts'
import { machine } from './machine.ts'
import { table } from './markdown.ts'

const { values } = parseArgs({
  options: {
    bindings: { type: 'string', default: '13572' },
    dependents: { type: 'string', default: '3372' },
  },
})
const dependents = Number(values.dependents)
/** The others are those of the dependents. */
const workloads = Number(values.bindings) - dependents
const ROUNDS = 5

const store = openFolderStore({ kinds: cachedKinds })
await store.start(new AbortController().signal)
const loops = openLoops({ propagate: 'dataBound', distribution: 'builtin' })
/** All that these loops need of it. */
const context = { store, events: { record: () => undefined } } as unknown as ReconcileContext
const settings = Array.from({ length: dependents }, (_, i) => configMap(`settings-${i}`))
const unneeded = Array.from({ length: dependents }, (_, i) => configMap(`unneeded-${i}`))

log(`filling the store: ${workloads} workloads and their bindings, ${2 * dependents} ConfigMaps`)
for (const object of [...settings, ...unneeded]) await store.create(configMaps, object)
for (const { workload, binding } of sharingFleet(workloads, settings)) {
  await store.create(deployments, workload)
  await store.create(resourceBindings, binding)
}
await reconcileAll(settings)
const required = [...store.list(resourceBindings)]
  .map(({ spec }) => spec.requiredBy?.length ?? 0)
  .filter((count) => count > 0)
const needs = required.reduce((sum, count) => sum + count, 0)
if (required.length !== dependents || needs !== workloads) throw new Error(`attached: ${required.length}, for ${needs}`)

const rows = [
  await measured('an object that no workload needs', unneeded, reconcileAll),
  await measured('whose turn it is', settings, async (objects) => void objects.flatMap(turnsOf)),
  await measured('… who needs it, and is its binding right: yes', settings, reconcileAll),
  await measured('… it is another version: its binding is written', settings, async (objects) => {
    for (const { metadata } of objects) await touch(metadata.name ?? '')
    return reconcileAll(objects)
  }),
]
const title = `${workloads + dependents} bindings, ${dependents} changed objects, each needed by ${(workloads / dependents).toFixed(1)}`
process.stdout.write(`${machine()}.\n\n${table([title, 'ms per event', 'to reach'], rows)}`)
await store.stop()

/** As the controller does with each change that the store tells of. */
async function reconcileAll(objects: K8sObject[]): Promise<void> {
  for (const object of objects) {
    for (const { loop, key } of turnsOf(object)) await loop.reconcile(key, context)
  }
}

function turnsOf({ metadata: { name = '', namespace } }: K8sObject): { loop: ReconcileLoop; key: string }[] {
  const after = store.get(configMaps, namespace, name) as K8sObject
  const change: StoreChange = { type: configMaps, before: after, after }
  return loops.flatMap((loop) => [...loop.keysOf(change, store)].map((key) => ({ loop, key })))
}

async function touch(name: string): Promise<void> {
  const object = await store.read<K8sObject & { data?: unknown }>(configMaps, 'default', name)
  await store.update(configMaps, { ...object, data: { key: String(Math.random()) } } as K8sObject)
}

async function measured(name: string, objects: K8sObject[], work: (objects: K8sObject[]) => Promise<void>) {
  const rounds: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.cpuUsage()
    await work(objects)
    const { user, system } = process.cpuUsage(before)
    rounds.push((user + system) / 1000 / objects.length)
  }
  return [name, Math.min(...rounds).toFixed(4), name.includes('right') ? '≤ 0.05' : '']
}
