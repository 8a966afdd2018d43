// Faults that `npm run simulate:faults` plants, one at a time, into a copy of src. Each breaks holds, narrowing, release, failback,
// the change of the leader, preferences, evictions, or nominations.

export interface PlantedFault {
  file: string
  search: string
  replacement: string
  breaks: string
  // The guarantees that the fault breaks. A failure of another one does not count.
  guarantees: readonly string[]
}

const DECIDE = 'src/core/resource-binding'

export const plantedFaults: readonly PlantedFault[] = [
  {
    file: `${DECIDE}/rules/not-scheduled.ts`,
    search: 'return causes.some(({ hold }) => hold) ? holdOrApplyBase(input, base, causes) : undefined',
    replacement: "return causes.some(({ hold }) => hold) ? applyBase('Ignored', base, '') : undefined",
    breaks: 'hold: a workload does not wait for an unknown location',
    guarantees: ['waits-for-data'],
  },
  {
    file: `${DECIDE}/hold.ts`,
    search: 'storedAnnotations.hold.released === true || isOver',
    replacement: 'storedAnnotations.hold.released === true',
    breaks: 'hold: it never ends by its timeout',
    guarantees: ['hold-ends'],
  },
  {
    file: `${DECIDE}/hold-cause.ts`,
    search: "answer.kind === 'unknown' && onUnresolved === 'Hold'",
    replacement: "answer.kind === 'unknown' && onUnresolved === 'Ignore'",
    breaks: 'hold: onUnresolved is read the wrong way',
    guarantees: ['waits-for-data'],
  },
  {
    file: `${DECIDE}/write.ts`,
    search: 'if (wanted) return { value: { ...suspension, scheduling: true }, annotations }',
    replacement: 'if (wanted) return { value: suspension, annotations }',
    breaks: 'hold: the annotation is written and the suspension is not',
    guarantees: ['first-to-data', 'waits-for-data'],
  },
  {
    file: `${DECIDE}/write.ts`,
    search: 'return { value: withoutScheduling(suspension), annotations }',
    replacement: 'return { value: suspension, annotations }',
    breaks: 'hold: the suspension stays after the hold',
    guarantees: ['hold-ends'],
  },
  {
    file: `${DECIDE}/decide-placement.ts`,
    search: 'return isScheduled ? SCHEDULED : NOT_SCHEDULED',
    replacement: 'return isScheduled ? NOT_SCHEDULED : NOT_SCHEDULED',
    breaks: 'hold: a running workload is treated as one that does not run',
    guarantees: ['suspends-scheduled'],
  },
  {
    file: 'src/core/placement/acceptance.ts',
    search: 'const [taint] = tolerations.blocking(spec?.taints)',
    replacement: 'const [taint] = tolerations.blocking(spec && [])',
    breaks: 'narrowing: taints are ignored',
    guarantees: ['has-cluster'],
  },
  {
    file: 'src/core/placement/acceptance.ts',
    search: 'if (!status || serves(status.apiEnablements ?? [], apiVersion, kind)) return undefined',
    replacement: 'if (status || serves([], apiVersion, kind)) return undefined',
    breaks: 'narrowing: the kinds of a cluster are ignored',
    guarantees: ['has-cluster'],
  },
  {
    file: 'src/core/placement/acceptance.ts',
    search: "if (cluster.metadata.deletionTimestamp) return 'is being deleted'",
    replacement: '',
    breaks: 'narrowing: a cluster that is being deleted counts',
    guarantees: ['has-cluster'],
  },
  {
    file: 'src/core/placement/acceptance.ts',
    search: "if (evicted.has(name)) return 'is being evicted'",
    replacement: 'if (evicted.has(name)) return undefined',
    breaks: 'narrowing: a cluster under eviction counts',
    guarantees: ['has-cluster'],
  },
  {
    file: `${DECIDE}/rules/scheduled.ts`,
    search: 'if (last) return keep(situation, last, why)\n  return isEvictedFromData(input)',
    replacement: 'if (last) return relaxed(input, base, input.constraint, why)\n  return isEvictedFromData(input)',
    breaks: 'narrowing: a kept workload is relaxed and spread',
    guarantees: ['relaxed-if-unfit'],
  },
  {
    file: `${DECIDE}/narrow-to-fit.ts`,
    search: 'export function preferenceProblem(',
    replacement:
      'export function preferenceProblem(_input: object): string | undefined {\n  return undefined\n}\nexport function unusedProblem(',
    breaks: 'narrowing: a preference removes copies',
    guarantees: ['preference-keeps-copies'],
  },
  {
    file: `${DECIDE}/timing.ts`,
    search: 'releaseDelayMs: 30_000',
    replacement: 'releaseDelayMs: 3_000',
    breaks: 'release: it waits 3 s for a successor',
    guarantees: ['release-waits'],
  },
  {
    file: `${DECIDE}/decide-placement.ts`,
    search: "states: ['Kept'], decide: awaitSuccessor },\n  { when: 'otherwise'",
    replacement: "states: ['Kept'], decide: () => undefined },\n  { when: 'otherwise'",
    breaks: 'release: it does not wait',
    guarantees: ['release-waits', 'absence'],
  },
  {
    file: `${DECIDE}/rules/scheduled.ts`,
    search: 'if (isUnlocated && last && (blocks || lacksPart(input, last))) {',
    replacement: 'if (isUnlocated && last === null) {',
    breaks: 'release: an unknown location releases a running workload',
    guarantees: ['stays-if-unknown'],
  },
  {
    file: `${DECIDE}/timing.ts`,
    search: 'failbackWindowMs: 300_000',
    replacement: 'failbackWindowMs: 3_000',
    breaks: 'failback: the window is 3 s',
    guarantees: ['returns-after-window'],
  },
  {
    file: `${DECIDE}/rules/scheduled.ts`,
    search: "if (last?.state !== 'Relaxed' || !wouldMove(situation)) return undefined",
    replacement: 'if (last !== null) return undefined',
    breaks: 'failback: it does not wait',
    guarantees: ['returns-after-window', 'one-return-per-window'],
  },
  {
    file: `${DECIDE}/rules/scheduled.ts`,
    search: 'if (!input.leavesMovesToLoop && isReturnDue(input, since)) return undefined',
    replacement: '',
    breaks: 'failback: a workload never returns',
    guarantees: ['comes-home'],
  },
  {
    file: 'src/reconcile/bindings/resource-binding.ts',
    search: 'if (waitMs > 0) {',
    replacement: 'if (waitMs > 1e9) {',
    breaks: 'leader change: all waiting workloads move at once',
    guarantees: ['move-budget'],
  },
  {
    file: `${DECIDE}/rules/scheduled.ts`,
    search: 'if (!input.leavesMovesToLoop || !wouldMove(situation)) return undefined',
    replacement: 'if (input.now > 0) return undefined',
    breaks: 'leader change: admission moves workloads',
    guarantees: ['moves-by-loop'],
  },
  {
    file: 'src/reconcile/bindings/resource-binding.ts',
    search:
      'for (const binding of allBindings(store)) yield concernsUs(binding, store) ? keyOfObject(binding) : undefined',
    replacement:
      'for (const binding of allBindings(store)) yield concernsUs(binding, store) ? undefined : keyOfObject(binding)',
    breaks: 'leader change: the first pass of a new leader skips the workloads with claims',
    guarantees: ['hold-ends', 'comes-home'],
  },
  {
    file: 'src/core/transfer-cost/rank.ts',
    search: 'ranked.sort(([a], [b]) => a - b)',
    replacement: 'ranked.sort(([a], [b]) => b - a)',
    breaks: 'preference: the most expensive cluster is first',
    guarantees: ['cheapest-first'],
  },
  {
    file: 'src/core/placement/constraint.ts',
    search: 'return isKept ? { ...constraint, preferred } : constraint',
    replacement: 'return isKept ? { ...constraint } : constraint',
    breaks: 'preference: new prices rank running workloads again',
    guarantees: ['prices-move-nothing'],
  },
  {
    file: `${DECIDE}/rules/scheduled.ts`,
    search: 'if (!isNoFit && !hasNoChoice(stored)) return undefined',
    replacement: 'if (!isNoFit) return undefined',
    breaks: 'room: a workload that has lost its cluster waits for room with its data',
    guarantees: ['runs-nowhere'],
  },
  {
    file: `${DECIDE}/narrow-to-fit.ts`,
    search: 'const refusesMove = moveRefusal(binding.spec, clusters)',
    replacement: 'const refusesMove = moveRefusal({ ...binding.spec, clusters: [] }, clusters)',
    breaks: 'eviction: a workload moves to a cluster that will evict it',
    guarantees: ['moves-to-stay'],
  },
  {
    file: 'src/core/tolerations.ts',
    search: 'found && (!first || found.index < first.index)',
    replacement: 'found && (!first || found.seconds < first.seconds)',
    breaks: 'eviction: the shortest toleration of a taint counts',
    guarantees: ['comes-home'],
  },
  {
    file: 'src/core/kueue/decide-nomination.ts',
    search: 'return ranks.length < placements.length ? []',
    replacement: 'return ranks.length > placements.length ? []',
    breaks: 'nomination: a worker without the data is nominated',
    guarantees: ['nominates-data'],
  },
  {
    file: 'src/core/kueue/decide-nomination.ts',
    search: "const held = placements.filter(({ state }) => state === 'OnHold')",
    replacement: "const held = placements.filter(({ state }) => state === 'Ignored')",
    breaks: 'nomination: a Workload does not wait for an unknown location',
    guarantees: ['nominates-data'],
  },
  {
    file: 'src/queries/multikueue.ts',
    search: 'return input.claims.length > 0 ? withHold(input, since) : input',
    replacement: 'return since.length > 0 ? input : withHold(input, since)',
    breaks: 'nomination: a hold never ends by its timeout',
    guarantees: ['is-nominated'],
  },
  {
    file: `${DECIDE}/returns.ts`,
    search: 'failbackWindowMs * 2 ** (returned?.times ?? 0)',
    replacement: 'failbackWindowMs',
    breaks: 'failback: a workload waits no longer after returns that did not last',
    guarantees: ['returns-after-window'],
  },
  {
    file: `${DECIDE}/rebalance.ts`,
    search: "const never = claims.find(({ rebalance }) => rebalance === 'Never')",
    replacement: "const never = claims.find(({ rebalance }) => rebalance === 'none')",
    breaks: 'rebalance: a workload moves although a claim says Never',
    guarantees: ['stays-by-rebalance'],
  },
  {
    file: `${DECIDE}/rebalance.ts`,
    search: 'return claimTemplates.length > 0',
    replacement: 'return claimTemplates.length > 99',
    breaks: 'rebalance: a workload leaves its PersistentVolumeClaims behind',
    guarantees: ['stays-by-rebalance'],
  },
]
