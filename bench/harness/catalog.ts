/** A data system in a process of its own, so that its CPU time does not count for another program. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startAmoroServer } from '../../test/e2e/amoro-server.ts'
import type { ControlPlane } from '../../test/e2e/control-plane.ts'
import { clusterOf, MEMBERS, tableOf } from './fleet.ts'

/** Starts a catalog of so many tables, with an answer after so many ms. It stops with the plane. */
export async function startCatalog(plane: ControlPlane, tables: number, answerMs: number) {
  const child = fork(import.meta.filename, [String(tables), String(answerMs)])
  plane.onStop(async () => void child.kill())
  const [port] = await once(child, 'message')
  const directory = join(plane.dir, 'systems')
  await mkdir(directory)
  const system = {
    system: 'amoro',
    endpoint: { url: 'http://127.0.0.1', port },
    locationMapping: Object.fromEntries(MEMBERS.map((member) => [`s3://${member}/`, [member]])),
    retryConfig: { maxRetries: 0, timeout: '5s' },
    // Longer than a run, so that each table needs one query.
    refreshInterval: '10m',
  }
  await writeFile(join(directory, 'amoro'), JSON.stringify(system))
  return {
    /** The folder with the configuration of this one system. */
    directory,
    /** Returns the number of queries for a table. */
    async queries(): Promise<number> {
      child.send('queries')
      const [count] = await once(child, 'message')
      return count
    },
  }
}

if (process.argv[1] === import.meta.filename) {
  const tables = Number(process.argv[2])
  const locations = Array.from({ length: tables }, (_, i) => [tableOf(i, tables), `s3://${clusterOf(i)}/lake/${i}`])
  const server = await startAmoroServer(Object.fromEntries(locations))
  server.delayMs = Number(process.argv[3])
  process.on('message', () => process.send?.(server.questions))
  process.on('disconnect', () => process.exit())
  process.send?.(server.port)
}
