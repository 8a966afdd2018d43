/** The machine of a run, in one line above its results. */
import { cpus } from 'node:os'

export function machine(): string {
  return `Node ${process.version}, ${cpus().length} CPUs (${cpus()[0]?.model.trim()})`
}
