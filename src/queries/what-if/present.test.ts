import { expect, test } from 'vitest'
import { makeCluster } from '../../../test/builders.ts'
import type { PresentOutcome } from '../../core/what-if/effect.ts'
import { mayGetWorse, type PresentPrediction } from './present.ts'

/** A workload that runs in m1 and may go to some of `among`, at once or later. */
const outcome = (among: string[], later?: string[]): PresentOutcome => {
  const step = (clusters: string[]) =>
    ({ state: 'Kept', schedule: { keeps: ['m1'], among: clusters, takesAll: false, waits: false } }) as const
  return later ? { first: step(among), later: step(later) } : { first: step(among) }
}

const lost = new Map(['m2', 'm3'].map((name) => [name, makeCluster(name)]))

test.each<{ name: string; accepting?: string[] | 'many'; among?: string[]; later?: string[]; want: boolean }>([
  { name: 'that reads no lost cluster stays', accepting: ['m4'], among: ['m4'], want: false },
  { name: 'whose decision found a lost cluster open is asked about', accepting: ['m2', 'm4'], want: true },
  { name: 'whose decision found many clusters open is asked about', accepting: 'many', want: true },
  { name: 'that may go to lost clusters only is asked about', among: ['m2', 'm3'], want: true },
  { name: 'that still has a choice of two stays', among: ['m2', 'm4', 'm5'], want: false },
  { name: 'with one choice left is asked about, since its next step is known then', among: ['m2', 'm4'], want: true },
  { name: 'that returns later to a lost cluster is asked about', later: ['m3'], want: true },
])('a workload $name', ({ accepting = [], among = [], later, want }) => {
  const idle = outcome(among, later)
  const present: PresentPrediction = { idle, queued: idle, accepting: accepting === 'many' ? undefined : accepting }
  expect(mayGetWorse(present, idle, lost)).toBe(want)
})
