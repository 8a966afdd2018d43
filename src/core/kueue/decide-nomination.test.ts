/** Tests for which worker clusters a Workload is nominated. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { located, makeBinding, makeInput, nowhere, unknown } from '../../../test/builders.ts'
import type { ClaimAnswer } from '../data-source/locate.ts'
import { type BindingDecision, decideBinding } from '../resource-binding/decide.ts'
import { decideNomination, type NominationInput, placementOfWorkers, type WorkerCluster } from './decide-nomination.ts'

const workersNamed = (...names: string[]): WorkerCluster[] => names.map((name) => ({ name, location: name }))
/** Not in the order of names. */
const WORKERS = workersNamed('w3', 'w1', 'w2')

/** The decision on a job with these claims. */
function placed(claims: readonly ClaimAnswer[], workers = WORKERS): BindingDecision {
  const binding = makeBinding({ placement: placementOfWorkers(workers), clusters: [] })
  const stored = binding
  return decideBinding(makeInput({ binding, stored, claims, rules: undefined }))
}

function nominated(input: Partial<NominationInput>) {
  return decideNomination({
    lacksJob: false,
    config: 'workers',
    workers: WORKERS,
    placements: [placed([])],
    nominated: [],
    waitedMs: 0,
    roundMs: 1000,
    ...input,
  })
}

/** The second worker has no MultiKueueCluster. */
const WITHOUT_W1 = WORKERS.map((worker) => (worker.name === 'w1' ? { ...worker, location: undefined } : worker))
const inW1 = located(['w1'], { claim: 'default/sales' })
const inW2 = located(['w2'], { claim: 'default/sales' })
const prefersW2 = located(['w2'], { claim: 'default/sales', enforcement: 'Preferred' })

test.each<{ name: string; input: Partial<NominationInput>; clusters: string[]; requeueAfterMs?: number }>([
  { name: 'no claim: all, in the order of the config', input: {}, clusters: ['w3', 'w1', 'w2'] },
  { name: 'required data: only clusters with it', input: { placements: [placed([inW2])] }, clusters: ['w2'] },
  {
    name: 'required data in two clusters: both, in the order of the config',
    input: { placements: [placed([located(['w1', 'w3'])])] },
    clusters: ['w3', 'w1'],
  },
  {
    name: 'preferred data: first the cluster with it',
    input: { placements: [placed([prefersW2])] },
    clusters: ['w2'],
    requeueAfterMs: 1000,
  },
  {
    name: 'preferred data before the end of the round: the same',
    input: { placements: [placed([prefersW2])], waitedMs: 999 },
    clusters: ['w2'],
    requeueAfterMs: 1,
  },
  {
    name: 'preferred data after a round: then the others',
    input: { placements: [placed([prefersW2])], waitedMs: 1000 },
    clusters: ['w2', 'w3', 'w1'],
  },
  {
    name: 'a clock that was set back: the first round',
    input: { placements: [placed([prefersW2])], waitedMs: -5000 },
    clusters: ['w2'],
    requeueAfterMs: 6000,
  },
  {
    name: 'the preference changed: what is nominated and allowed stays',
    input: { placements: [placed([prefersW2])], nominated: ['w1'] },
    clusters: ['w2', 'w1'],
    requeueAfterMs: 1000,
  },
  {
    name: 'the data moved: what is not allowed is taken back',
    input: { placements: [placed([inW2])], nominated: ['w1', 'w2'] },
    clusters: ['w2'],
  },
  {
    name: 'a required and a preferred claim: the preferred cluster first, within the required ones',
    input: {
      placements: [placed([located(['w1', 'w2'], { claim: 'default/a' }), { ...prefersW2, claim: 'default/b' }])],
    },
    clusters: ['w2'],
    requeueAfterMs: 1000,
  },
  {
    name: 'two jobs: the clusters that both may have',
    input: { placements: [placed([located(['w1', 'w2'])]), placed([located(['w2', 'w3'])])] },
    clusters: ['w2'],
  },
  {
    name: 'claims that cannot be read: the present nomination stays',
    input: { unknown: 'the CRD is being deleted', placements: [placed([inW2])], nominated: ['w1'] },
    clusters: ['w1'],
  },
  {
    name: 'a MultiKueueConfig that is being replaced: the present nomination stays',
    input: { workers: [], placements: [placed([inW2], [])], nominated: ['w2'] },
    clusters: ['w2'],
  },
  {
    name: 'a worker without its MultiKueueCluster: a nominated one stays, with others that the data allows',
    input: { workers: WITHOUT_W1, placements: [placed([inW2], WITHOUT_W1)], nominated: ['w1', 'w3'] },
    clusters: ['w1', 'w2'],
  },
  {
    name: 'the only worker with the data has no MultiKueueCluster: it stays if it was nominated',
    input: { workers: WITHOUT_W1, placements: [placed([inW1], WITHOUT_W1)], nominated: ['w1'] },
    clusters: ['w1'],
  },
  {
    name: 'no claim, and a worker without its MultiKueueCluster: the others',
    input: { workers: WITHOUT_W1, placements: [placed([], WITHOUT_W1)] },
    clusters: ['w3', 'w2'],
  },
  {
    name: 'a check that names no MultiKueueConfig for a moment: the same',
    input: { config: undefined, workers: [], nominated: ['w2'] },
    clusters: ['w2'],
  },
])('$name', ({ input, clusters, requeueAfterMs }) => {
  const decision = nominated(input)
  expect([decision.clusters, decision.requeueAfterMs]).toEqual([clusters, requeueAfterMs])
})

test('of more than 20 clusters, the first ones are nominated', () => {
  const names = Array.from({ length: 25 }, (_, i) => `w${i}`)
  const workers = workersNamed(...names)
  const prefersLast = placed([located(['w24'], { enforcement: 'Preferred' })], workers)
  const { clusters } = nominated({ workers, placements: [prefersLast], waitedMs: 1000 })
  expect(clusters).toEqual(['w24', ...names.slice(0, 19)])
})

test('workers are located by another name, and two of one location are both nominated', () => {
  const workers = [...workersNamed('w1'), { name: 'a', location: 'paris' }, { name: 'b', location: 'paris' }]
  expect(nominated({ workers, placements: [placed([located(['paris'])], workers)] }).clusters).toEqual(['a', 'b'])
})

test.each<{ name: string; input: Partial<NominationInput>; message: string }>([
  {
    name: 'data of unknown location',
    input: { placements: [placed([unknown()])] },
    message: placed([unknown()]).message,
  },
  {
    name: 'data that exists nowhere',
    input: { placements: [placed([nowhere()])] },
    message: `${placed([nowhere()]).message}; the policy is MultiKueueConfig workers`,
  },
  {
    name: 'data in no worker',
    input: { placements: [placed([located(['m9'], { claim: 'default/sales' })])] },
    message:
      'default/sales (m9): the data is in m9, which the policy does not allow; the policy is MultiKueueConfig workers',
  },
  {
    name: 'two jobs without a common cluster',
    input: { placements: [placed([located(['w1'])]), placed([located(['w2'])])] },
    message: 'no cluster of MultiKueueConfig workers is allowed for all of its jobs',
  },
  {
    name: 'a check without a MultiKueueConfig',
    input: { config: undefined, workers: [] },
    message: 'its AdmissionCheck names no MultiKueueConfig',
  },
  {
    name: 'no MultiKueueConfig of this name',
    input: { workers: [] },
    message: 'MultiKueueConfig workers does not exist, or names no cluster',
  },
  {
    name: 'no MultiKueueCluster of the config',
    input: { workers: [{ name: 'w1', location: undefined }], placements: [placed([inW2], [])] },
    message: 'MultiKueueCluster w1 does not exist',
  },
  {
    name: 'no job yet',
    input: { lacksJob: true, placements: [] },
    message: 'no job owns this Workload yet; claims name the job',
  },
  {
    name: 'claims that cannot be read',
    input: { unknown: 'the CRD is being deleted' },
    message: 'the CRD is being deleted',
  },
])('on hold: $name', ({ input, message }) => {
  expect(nominated(input)).toEqual({ clusters: [], message })
})

const both = [located(['w1', 'w2'], { claim: 'default/sales' }), located(['w2'], { claim: 'default/orders' })]
const messageOf = (of: readonly ClaimAnswer[]) => placed(of).message

test.each<{ name: string; placements: BindingDecision[]; message: string }>([
  { name: 'that no claim names data for it', placements: [placed([])], message: 'no claim names data for it' },
  { name: 'where its data is', placements: [placed([inW2])], message: messageOf([inW2]) },
  {
    name: 'where the data of each of its jobs is, and nothing of a job without data',
    placements: [placed([inW2]), placed([]), placed(both)],
    message: `${messageOf([inW2])}; ${messageOf(both)}`,
  },
  { name: 'the same location once', placements: [placed([inW2]), placed([inW2])], message: messageOf([inW2]) },
])('the message of a nomination says $name', ({ placements, message }) => {
  expect(nominated({ placements }).message).toBe(message)
})

test('each job that is on hold is in the message', () => {
  const [one, other] = [unknown({ claim: 'default/sales' }), unknown({ claim: 'default/orders' })]
  expect(nominated({ placements: [placed([one]), placed([inW2]), placed([other])] }).message).toBe(
    `${messageOf([one])}; ${messageOf([other])}`,
  )
})

// ---- properties ----

const NAMES = ['w1', 'w2', 'w3', 'w4', 'w5', 'elsewhere']
const answers = fc.oneof(
  fc.subarray(NAMES, { minLength: 1 }).map((clusters) => located(clusters)),
  fc.constantFrom(unknown(), nowhere()),
)
const claims = fc.array(
  fc.record({
    answer: answers,
    enforcement: fc.constantFrom('Required' as const, 'Preferred' as const),
    onUnresolved: fc.constantFrom('Hold' as const, 'Ignore' as const),
    onUnsatisfiable: fc.constantFrom('Hold' as const, 'Ignore' as const),
  }),
  { maxLength: 3 },
)
const worlds = fc
  .record({
    config: fc.uniqueArray(
      fc.integer({ min: 1, max: 30 }).map((i) => `w${i}`),
      { minLength: 1, maxLength: 30 },
    ),
    claims,
    nominated: fc.subarray(['w1', 'w2', 'w9', 'gone']),
    waitedMs: fc.integer({ min: -10, max: 5000 }),
  })
  .map(({ config, claims: drawn, ...rest }) => {
    const workers = workersNamed(...config)
    const answered = drawn.map(({ answer, ...terms }, i) => ({ ...answer, ...terms, claim: `default/c${i}` }))
    return { ...rest, workers, claims: answered, placements: [placed(answered, workers)] }
  })

test('a nomination has clusters of the config alone, at most 20, each once', () => {
  fc.assert(
    fc.property(worlds, ({ claims: _, ...input }) => {
      const { clusters } = nominated(input)
      const names = input.workers.map(({ name }) => name)
      expect(clusters.filter((name) => !names.includes(name))).toEqual([])
      expect(clusters.length).toBeLessThanOrEqual(20)
      expect(new Set(clusters).size).toBe(clusters.length)
    }),
  )
})

test('a claim that holds its job lets it only into clusters with its data', () => {
  fc.assert(
    fc.property(worlds, ({ claims: given, ...input }) => {
      const { clusters } = nominated(input)
      for (const { answer, enforcement, onUnresolved, onUnsatisfiable } of given) {
        if (enforcement === 'Preferred' || onUnresolved === 'Ignore' || onUnsatisfiable === 'Ignore') continue
        // With another claim that ignores what it lacks, the narrowing to all of them may fail.
        if (given.some((one) => one.onUnsatisfiable === 'Ignore')) continue
        const allowed = answer.kind === 'located' ? answer.clusters : []
        expect(clusters.filter((name) => !allowed.includes(name))).toEqual([])
      }
    }),
  )
})

test('a decision on its own nomination gives the same clusters in the same order', () => {
  fc.assert(
    fc.property(worlds, ({ claims: _, ...input }) => {
      const first = nominated(input)
      expect(nominated({ ...input, nominated: first.clusters })).toEqual(first)
      expect(nominated({ ...input, nominated: [...first.clusters].reverse() })).toEqual(first)
    }),
  )
})

test('time only adds clusters', () => {
  fc.assert(
    fc.property(worlds, fc.nat(5000), ({ claims: _, ...input }, ms) => {
      const later = nominated({ ...input, waitedMs: input.waitedMs + ms }).clusters
      expect(nominated(input).clusters.filter((name) => !later.includes(name))).toEqual([])
    }),
  )
})
