/**
 * `npm run bench:what-if`: asks a generated hub. Prints the CPU time to load its snapshot, to index its bindings, of single questions and of
 * the table of lost clusters, and the memory.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dataSources } from '../src/api/data-source.ts'
import { clusters as clusterType } from '../src/api/karmada.ts'
import { jsonEqual } from '../src/base/json.ts'
import { tabulate } from '../src/cli/what-if/table.ts'
import { loseCluster, moveData, outdateSource } from '../src/core/what-if/suppose.ts'
import { SHIPPED_KINDS } from '../src/core/workload-kinds/kinds.ts'
import { openFleet } from '../src/queries/what-if/ask.ts'
import { allKinds } from '../src/store/kinds/cached-kinds.ts'
import { OverlayStore } from '../src/store/overlay-store.ts'
import { snapshotContext } from '../src/store/snapshot/header.ts'
import { openSnapshotStore } from '../src/store/snapshot/read-snapshot.ts'
import { writeSnapshotFile } from '../src/store/snapshot/write-snapshot.ts'
import { Fleet } from '../test/fleet/fleet.ts'
import { fleetSource, SETTINGS } from '../test/fleet/fleet-store.ts'
import { randomFrom } from '../test/random.ts'
import { memoryMiB } from './harness/process.ts'
import { log, options, print, table } from './harness/report.ts'

/** `compared`: questions whose answer is compared with that of all bindings. `file`: an existing snapshot, or the file to write and keep. */
const given = options({
  bindings: 100_000,
  clusters: 1000,
  sources: 10_000,
  questions: 1000,
  compared: 3,
  each: 1,
  file: '',
  seed: 1,
})
const folder = mkdtempSync(join(tmpdir(), 'lodestone-bench-'))
const path = given.file || join(folder, 'fleet.lsnap')
const signal = new AbortController().signal

/** CPU seconds of this process since the last call. */
let last = process.cpuUsage()
function lap(): number {
  const { user, system } = process.cpuUsage(last)
  last = process.cpuUsage()
  return (user + system) / 1e6
}

try {
  if (!statSync(path, { throwIfNoEntry: false })) {
    log(`writing ${given.bindings} bindings`)
    const store = fleetSource(new Fleet(given.seed, { ...given, volumes: false }), ['Deployment'])
    await writeSnapshotFile({ store, settings: SETTINGS }, path, signal)
  }
  lap()
  const { store, header } = await openSnapshotStore({ file: path, signal })
  const loaded = lap()
  const settings = { ...snapshotContext(header), now: Date.parse(header.takenAt), matrix: undefined }
  const fleet = await openFleet(store, settings)
  const indexed = lap()
  log(`loaded in ${loaded.toFixed(1)} s of CPU, indexed in ${indexed.toFixed(1)}`)

  const names = [...store.list(clusterType)].map(({ metadata }) => metadata.name ?? '')
  const sourceNames = [...store.list(dataSources)].map(({ metadata }) => metadata.name ?? '')
  const random = randomFrom(given.seed)
  const times: number[] = []
  let changed = 0
  for (let i = 0; i < given.questions; i++) {
    const overlay = new OverlayStore(store, allKinds(SHIPPED_KINDS))
    lap()
    const question = { store: overlay, changes: [suppose(overlay)] }
    const answer = await fleet.ask(question)
    times.push(lap())
    changed += answer.changes.length
    if (i >= given.compared) continue
    const all = await fleet.ask(question, { decidesAll: true })
    const missed = all.changes.filter((one) => !answer.changes.some((other) => jsonEqual(one, other)))
    if (missed.length > 0 || all.changes.length !== answer.changes.length)
      throw new Error(`question ${i}: the index misses ${missed.length} changes, first ${JSON.stringify(missed[0])}`)
    log(`question ${i}: ${answer.changes.length} changes; with all bindings the same in ${lap().toFixed(1)} s of CPU`)
  }
  times.sort((a, b) => a - b)
  const quantile = (share: number) => `${((times[Math.floor((times.length - 1) * share)] ?? 0) * 1000).toFixed(0)} ms`
  lap()
  const context = { store, workloads: SHIPPED_KINDS, now: settings.now, signal } as never
  const rows = given.each ? (await tabulate('cluster', fleet, context)).rows.length : 0
  const tabulated = lap()
  print(
    `${given.clusters} clusters, ${given.sources} sources; goals for 1,000,000 bindings: question 1 s (p95), table 60 s of CPU`,
    table(
      ['Bindings', 'Loaded', 'Indexed', 'Question', 'p95', 'worst', 'Changes', `Table of ${rows}`, 'Resident'],
      [
        [
          String(fleet.index.size),
          ...[loaded, indexed].map((s) => `${s.toFixed(1)} s`),
          ...[quantile(0.5), quantile(0.95), quantile(1)],
          (changed / given.questions).toFixed(0),
          `${tabulated.toFixed(1)} s`,
          `${memoryMiB(process.pid).now.toFixed(0)} MiB`,
        ],
      ],
    ),
  )

  function suppose(overlay: OverlayStore) {
    if (random.chance(0.5)) {
      const cluster = overlay.get(clusterType, undefined, random.pick(names))
      if (cluster) return overlay.put(clusterType, loseCluster(cluster))
    }
    const source = overlay.get(dataSources, undefined, random.pick(sourceNames))
    if (!source) throw new Error('the fleet has no source')
    const moved = random.chance(0.5) ? outdateSource(source) : moveData(source, [random.pick(names)], settings.now)
    return overlay.put(dataSources, moved)
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
