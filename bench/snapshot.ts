/**
 * `npm run bench:snapshot`: writes the snapshot of a generated hub, and loads it in a fresh process. Prints CPU seconds and resident memory,
 * with the index of claims by workload.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeSnapshotFile } from '../src/store/snapshot/write-snapshot.ts'
import { Fleet } from '../test/fleet/fleet.ts'
import { fleetSource, SETTINGS } from '../test/fleet/fleet-store.ts'
import { loadSnapshot } from './harness/load-snapshot.ts'
import { log, options, print, table } from './harness/report.ts'

/** `workloads`: 0 leaves out the Deployments. `file`: an existing snapshot to load, or the file to write and keep. */
const { bindings, clusters, sources, workloads, file, seed } = options({
  bindings: 100_000,
  clusters: 1000,
  sources: 10_000,
  workloads: 0,
  file: '',
  seed: 1,
})
const folder = mkdtempSync(join(tmpdir(), 'lodestone-bench-'))
const path = file || join(folder, 'fleet.lsnap')
try {
  const before = process.cpuUsage()
  if (!file || !statSync(path, { throwIfNoEntry: false })) {
    log(`writing ${bindings} bindings`)
    const store = fleetSource(
      new Fleet(seed, { bindings, clusters, sources, volumes: workloads > 0 }),
      workloads ? [] : ['Deployment'],
    )
    await writeSnapshotFile({ store, settings: SETTINGS }, path, new AbortController().signal)
  }
  const { user, system } = process.cpuUsage(before)
  log('loading it in a fresh process')
  const loaded = await loadSnapshot(path)
  print(
    `${clusters} clusters, ${sources} sources; goal for 1,000,000 bindings: 60 s of CPU and 1229 MiB`,
    table(
      ['Bindings', 'Claims', 'Size', 'Generated and written', 'Loaded', 'Index of claims', 'Resident', 'At its peak'],
      [
        [
          ...[loaded.bindings, loaded.claims, `${(statSync(path).size / 2 ** 20).toFixed(1)} MiB`],
          ...[(user + system) / 1e6, loaded.loadSeconds, loaded.indexSeconds].map((s) => `${s.toFixed(1)} s of CPU`),
          ...[loaded.nowMiB, loaded.peakMiB].map((mib) => `${mib.toFixed(0)} MiB`),
        ],
      ],
    ),
  )
} finally {
  rmSync(folder, { recursive: true, force: true })
}
