/** What is seen of a mover: what has become of its pod, or why it has none, and how far it is. */
import type { Mended, MoverProgress, VolumeManagerInput } from '../input.ts'
import { fromTime } from '../status/time.ts'
import { type MoverView, refused, viewMover } from './observed-state.ts'
import { type MoverTask, moverOf, nameOfTask } from './task.ts'

export interface MoverSight {
  /** Undefined when there is none. */
  mover: MoverView | undefined
  /** What it last said; undefined when it said nothing, or is not running. */
  progress: MoverProgress | undefined
  /** What changed since it was made, so that what it failed for need not wait for its time. */
  mended: ReadonlySet<Mended>
}

const NOTHING: ReadonlySet<Mended> = new Set()

/**
 * Looks at the mover of a task.
 *
 * @param since when its work came into the state that it is in
 */
export function seeMover(
  { manager, movers, refusals, progress, mended, now }: VolumeManagerInput,
  task: MoverTask,
  since: string | undefined,
): MoverSight {
  const name = nameOfTask(manager, task)
  const pod = moverOf(manager, task, movers)
  const refusal = refusals.get(name)
  const seen = { progress: pod && progress.get(name), mended: mended.get(name) ?? NOTHING }
  if (pod) return { ...seen, mover: viewMover(pod, now - (fromTime(since) ?? now)) }
  return { ...seen, mover: refusal === undefined ? undefined : refused(refusal) }
}
