import { expect, test } from 'vitest'
import { located, lookup, makeBinding, makeCluster, makeInput, NOW } from '../../../../test/builders.ts'
import type { ResourceBinding } from '../../../api/karmada.ts'
import type { ClockJump } from '../../../base/time/clock-jumps.ts'
import { readAnnotations } from '../annotations.ts'
import { decideBinding } from '../decide.ts'
import { narrowToFit } from '../narrow-to-fit.ts'
import { parseInput } from '../parse-input.ts'
import { DEFAULT_TIMING } from '../timing.ts'
import { explainStay, renew } from './return-to-preferred.ts'

const WINDOW = DEFAULT_TIMING.failbackWindowMs
const preferred = { enforcement: 'Preferred' } as const
const divided = {
  clusterAffinity: { clusterNames: ['m1', 'm2'] },
  replicaScheduling: { replicaSchedulingType: 'Divided' },
}
const broken = makeCluster('m2', { taints: [{ key: 'maintenance', effect: 'NoSchedule' }] })

/** The binding of a workload that runs in m1 and prefers m2: what it waits for, and the round of its groups. */
function waiting({
  observed = 'default',
  since,
  failback,
  ofLoop = true,
  clusters = lookup('m1', 'm2'),
  placement = divided,
  runs = ['m1'],
  others = [],
  suspension,
  jumps,
  times,
  returnedAt = NOW - WINDOW,
}: {
  observed?: string
  since?: number
  failback?: 'Never'
  ofLoop?: boolean
  clusters?: ReturnType<typeof lookup>
  placement?: object
  runs?: string[]
  /** The clusters of further preferred claims, one each. */
  others?: string[]
  suspension?: { dispatching: boolean }
  jumps?: ClockJump[]
  /** How often it has returned for a short time. */
  times?: number
  /** When it returned last, in ms since the epoch. */
  returnedAt?: number
}) {
  const locality = {
    state: 'Narrowed',
    message: 'x',
    claims: [],
    ...(since && { since: new Date(since).toISOString() }),
    ...(times && { returned: { at: new Date(returnedAt).toISOString(), times } }),
  }
  const binding: ResourceBinding = {
    ...makeBinding(
      { placement, clusters: runs.map((name) => ({ name, replicas: 1 })), ...(suspension && { suspension }) },
      { annotations: { 'lodestone.dev/locality': JSON.stringify(locality) } },
    ),
    status: { schedulerObservingAffinityName: observed },
  }
  const claims = [
    located(['m2'], { ...preferred, ...(failback && { failback }) }),
    ...others.map((name) => located([name], preferred)),
  ]
  const input = parseInput(makeInput({ binding, stored: binding, claims, clusters, jumps, leavesMovesToLoop: !ofLoop }))
  const narrowing = narrowToFit(input, { clusterAffinity: divided.clusterAffinity }, input.constraint)
  if (narrowing.kind !== 'narrowed') throw new Error(narrowing.reason)
  return { stay: explainStay(input, narrowing), round: renew(input, narrowing).round }
}

const now = new Date(NOW).toISOString()

test.each<{ name: string; input: Parameters<typeof waiting>[0]; want: ReturnType<typeof waiting> }>([
  {
    name: 'waits from now on if the scheduler chose a later group',
    input: {},
    want: { stay: { why: 'the workload moves there when the failback window is over', since: now }, round: 0 },
  },
  {
    name: 'does not wait if the scheduler chose the first group',
    input: { observed: 'default-local' },
    want: { stay: undefined, round: 0 },
  },
  {
    name: 'does not wait if the scheduler has not seen the groups',
    input: { observed: '' },
    want: { stay: undefined, round: 0 },
  },
  {
    name: 'does not wait for a cluster that cannot take it',
    input: { clusters: lookup('m1', broken) },
    want: { stay: undefined, round: 0 },
  },
  {
    name: 'does not wait if it runs in the first group although the scheduler chose a later one',
    input: { runs: ['m2'], since: NOW - WINDOW },
    want: { stay: undefined, round: 0 },
  },
  { name: 'returns when the window is over', input: { since: NOW - WINDOW }, want: { stay: undefined, round: 1 } },
  {
    name: 'waits as long as before after a return that has lasted',
    input: { times: 1, returnedAt: NOW - 100 * WINDOW },
    want: {
      stay: { why: 'the workload moves there when the failback window is over', since: new Date(NOW).toISOString() },
      round: 0,
    },
  },
  {
    name: 'waits longer after a return that did not last',
    input: { since: NOW - WINDOW, times: 1 },
    want: {
      stay: {
        why: 'the workload moves there when the failback window is over; it is longer now, because the workload did not stay there after its last return',
        since: new Date(NOW - WINDOW).toISOString(),
      },
      round: 0,
    },
  },
  {
    name: 'returns after the longer wait',
    input: { since: NOW - 2 * WINDOW, times: 1 },
    want: { stay: undefined, round: 1 },
  },
  {
    name: 'waits when the window is over only by a jump of the clock',
    input: { since: NOW - WINDOW, jumps: [{ to: NOW, byMs: 1000 }] },
    want: {
      stay: {
        why: 'the workload moves there when the failback window is over',
        since: new Date(NOW - WINDOW).toISOString(),
      },
      round: 0,
    },
  },
  {
    name: 'waits for the loop when the window is over at admission',
    input: { since: NOW - WINDOW, ofLoop: false },
    want: {
      stay: {
        why: 'the workload moves there when the failback window is over',
        since: new Date(NOW - WINDOW).toISOString(),
      },
      round: 0,
    },
  },
  {
    name: 'stays if its replicas were divided over clusters with some of the data while it waited',
    input: { since: NOW - WINDOW, runs: ['m1', 'm2'], others: ['m2', 'm1'] },
    want: {
      stay: {
        why: 'the preferred data is elsewhere; the replicas are divided over several clusters, and a preference moves none of them',
      },
      round: 0,
    },
  },
  {
    name: 'returns if all of its replicas are in one cluster with some of the data',
    input: { since: NOW - WINDOW, others: ['m2', 'm1'] },
    want: { stay: undefined, round: 1 },
  },
  {
    name: 'stays while dispatching is suspended',
    input: { since: NOW - WINDOW, suspension: { dispatching: true } },
    want: {
      stay: {
        why: 'the preferred data is elsewhere; its policy suspends dispatching, so Karmada would delete it and not create it there; it moves when dispatching is resumed',
      },
      round: 0,
    },
  },
  {
    name: 'stays for good if failback is Never',
    input: { since: NOW - WINDOW, failback: 'Never' },
    want: { stay: { why: 'the preferred data is elsewhere; failback of default/sales is Never' }, round: 0 },
  },
  {
    name: 'stays where a copy runs in each cluster',
    input: { placement: { clusterAffinity: divided.clusterAffinity } },
    want: {
      stay: {
        state: 'Kept',
        why: 'default/sales is in m2; the policy runs a copy in each of its clusters (Duplicated), and a preference removes no copy',
      },
      round: 0,
    },
  },
  {
    name: 'stays where a copy runs in each cluster, with the place of each data',
    input: { placement: { clusterAffinity: divided.clusterAffinity }, others: ['m3'] },
    want: {
      stay: {
        state: 'Kept',
        why: 'default/sales is in m2; default/sales is in m3; the policy runs a copy in each of its clusters (Duplicated), and a preference removes no copy',
      },
      round: 0,
    },
  },
  {
    name: 'goes to each cluster if it does not run yet',
    input: { placement: { clusterAffinity: divided.clusterAffinity }, runs: [] },
    want: {
      stay: { why: 'the policy runs a copy in each of its clusters (Duplicated), and a preference removes no copy' },
      round: 0,
    },
  },
])('a workload that runs outside of its preferred data $name', ({ input, want }) => {
  expect(waiting(input)).toEqual(want)
})

test('each return that does not last doubles the wait, in the loop and at admission', () => {
  const claims = [located(['m2'], preferred)]
  const clusters = lookup('m1', 'm2')
  let now = NOW
  const decide = (binding: ResourceBinding, stored = binding, leavesMovesToLoop = false) =>
    decideBinding(makeInput({ binding, stored, claims, clusters, now, leavesMovesToLoop })).binding
  const localityOf = (binding: ResourceBinding) => readAnnotations(binding.metadata.annotations).locality
  /** The scheduler does not choose the first group. */
  const fallBack = (binding: ResourceBinding): ResourceBinding => ({
    ...binding,
    status: { schedulerObservingAffinityName: binding.spec.placement?.clusterAffinities?.[1]?.affinityName ?? '' },
  })
  let stored = decide(makeBinding({ placement: divided, clusters: [{ name: 'm1', replicas: 1 }] }))
  const waits: number[] = []
  for (let times = 1; times <= 3; times++) {
    stored = decide(fallBack(stored))
    const begin = now
    while (localityOf(stored)?.since !== undefined) {
      now += WINDOW
      const sent = decide(stored)
      expect(decide(sent, stored, true)).toEqual(sent)
      stored = sent
    }
    waits.push((now - begin) / WINDOW)
    expect(localityOf(stored)?.returned?.times).toBe(times)
  }
  expect(waits).toEqual([1, 2, 4])
})
