/** The data system of a benchmark, in a process of its own so that no other program is charged for its work. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ControlPlane } from '../test/e2e/control-plane.ts'

export interface Catalog {
  /** A folder with the configuration of this one system. */
  systems: string
  /** How often it was asked for a table. */
  queries(): Promise<number>
}

/** Starts a catalog with so many tables that takes so long over an answer; it goes with the plane. */
export async function startCatalog(
  plane: ControlPlane,
  { tables, answerMs }: { tables: number; answerMs: number },
): Promise<Catalog> {
  const child = fork('bench/catalog-process.ts', [String(tables), String(answerMs)])
  plane.onStop(async () => void child.kill())
  const [port] = await once(child, 'message')
  const systems = join(plane.dir, 'systems')
  await mkdir(systems)
  const members = ['member1', 'member2', 'member3']
  const system = {
    system: 'amoro',
    endpoint: { url: 'http://127.0.0.1', port },
    locationMapping: Object.fromEntries(members.map((member) => [`s3://${member}/`, [member]])),
    retryConfig: { maxRetries: 0, timeout: '5s' },
    // Longer than any run: every query beyond the first of a table would be one too many.
    refreshInterval: '10m',
  }
  await writeFile(join(systems, 'amoro'), JSON.stringify(system))
  return {
    systems,
    async queries() {
      child.send('queries')
      const [count] = await once(child, 'message')
      return count
    },
  }
}
