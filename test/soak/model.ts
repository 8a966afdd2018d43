// Checks where a workload may run: a second, simple model of placement that shares no code with Lodestone.

export type Labels = Record<string, string>

// A subset of Karmada's ClusterAffinity: what the policies of this test use.
interface Term {
  clusterNames?: string[]
  exclude?: string[]
  labelSelector?: { matchLabels?: Labels }
}

export interface Placement {
  clusterAffinity?: Term
  clusterAffinities?: (Term & { affinityName: string })[]
}

export interface SoakBinding {
  metadata: { name: string; uid: string; resourceVersion: string; annotations?: Record<string, string> }
  spec: { placement?: Placement; clusters?: { name: string }[]; suspension?: { scheduling?: boolean } }
}

// Every value that may be in force: each process sees a change at another time, and all of them see it by the next rest.
export class Timeline<T> {
  #values: T[]

  constructor(first: T, ...before: T[]) {
    this.#values = [...before, first]
  }

  get current(): T {
    return this.#values.at(-1) as T
  }

  get possible(): readonly T[] {
    return this.#values
  }

  set(value: T): void {
    this.#values.push(value)
  }

  // Everything is at rest: only the last value is in force, and the last one that `keep` accepts where the last is none.
  settle(keep: (value: T) => boolean = () => true): void {
    const { current } = this
    const kept = keep(current) ? undefined : this.#values.findLast(keep)
    this.#values = kept === undefined ? [current] : [kept, current]
  }
}

export interface ClaimIntent {
  name: string
  enforcement: 'Required' | 'Preferred'
  isPresent: Timeline<boolean>
  // The clusters that hold the table; nothing when the catalog does not know it.
  data: Timeline<readonly string[] | undefined>
}

export interface WorkloadIntent {
  name: string
  kind: 'Deployment' | 'Job'
  placement: Timeline<Placement>
  claims: ClaimIntent[]
}

export type Members = ReadonlyMap<string, Labels>

function feasible(placement: Placement, members: Members): Set<string> {
  const terms = placement.clusterAffinity ? [placement.clusterAffinity] : (placement.clusterAffinities ?? [{}])
  return new Set(
    [...members.keys()].filter((name) => terms.some((term) => matches(term, name, members.get(name) ?? {}))),
  )
}

function matches({ clusterNames = [], exclude = [], labelSelector }: Term, name: string, labels: Labels): boolean {
  if (exclude.includes(name)) return false
  if (!Object.entries(labelSelector?.matchLabels ?? {}).every(([key, value]) => labels[key] === value)) return false
  return clusterNames.length === 0 || clusterNames.includes(name)
}

// Returns the faults of one version of a binding that no state of a process at that moment explains.
export function wrongVersion(
  { spec }: SoakBinding,
  before: SoakBinding | undefined,
  workload: WorkloadIntent,
  members: Timeline<Members>,
  wasScheduled: boolean,
): string[] {
  const wrong: string[] = []
  const isWithin = (policy: Placement) =>
    members.possible.every((known) => isSubset(feasible(spec.placement ?? {}, known), feasible(policy, known)))
  if (!workload.placement.possible.some(isWithin)) {
    wrong.push(`its placement ${JSON.stringify(spec.placement)} is outside of every policy that may be in force`)
  }
  const had = new Set(before?.spec.clusters?.map(({ name }) => name))
  const added = (spec.clusters ?? []).flatMap(({ name }) => (had.has(name) ? [] : [name]))
  if (isPlacedOnHold({ spec }, before)) wrong.push(`it was scheduled to ${added} while it was on hold`)
  const binding = required(workload).filter(({ isPresent }) => isPresent.possible.every(Boolean))
  // A workload that ran is not stopped because no cluster is left that has its data.
  if (wasScheduled && mayBeUnsatisfiable(workload, members)) return wrong
  for (const { name, data } of binding) {
    const outside = added.filter((cluster) => !data.possible.some((clusters) => clusters?.includes(cluster)))
    if (outside.length > 0) wrong.push(`it was scheduled to ${outside}, where the data of claim ${name} never was`)
  }
  return wrong
}

// Whether the scheduler placed a binding that was on hold.
function isPlacedOnHold({ spec }: Pick<SoakBinding, 'spec'>, before: SoakBinding | undefined): boolean {
  const isHeld = [spec, before?.spec].every((one) => one?.suspension?.scheduling === true)
  return isHeld && !before?.spec.clusters?.length && (spec.clusters?.length ?? 0) > 0
}

// Returns the faults of a binding when nothing has changed for long enough.
export function wrongAtRest(
  { spec }: SoakBinding,
  workload: WorkloadIntent,
  members: Members,
  wasScheduled: boolean,
): string[] {
  const base = feasible(workload.placement.current, members)
  const allowed = feasible(spec.placement ?? {}, members)
  const scheduled = (spec.clusters ?? []).map(({ name }) => name)
  const isHeld = spec.suspension?.scheduling === true
  const wrong: string[] = []
  const ensure = (holds: boolean, what: string) => void (holds || wrong.push(what))
  ensure(isSubset(allowed, base), `it allows ${[...allowed]}, its policy ${[...base]}`)
  const needs = required(workload).filter(({ isPresent }) => isPresent.current)
  const wanted = needs.reduce((left, { data }) => intersection(left, data.current), base)
  // No member has the labels that the policy selects: there is nowhere to run, and no claim that says so.
  if (base.size === 0 && needs.length === 0) return wrong
  if (wanted.size === 0) {
    // Where it runs it stays; where it does not run yet, it waits.
    ensure(
      wasScheduled || (isHeld && scheduled.length === 0),
      `it is not on hold although no cluster of ${[...base]} has its data: ${JSON.stringify(needs.map(({ data }) => data.current))}`,
    )
    return wrong
  }
  ensure(!isHeld, 'it is on hold although its data can be reached')
  ensure(scheduled.length > 0, 'it is not scheduled')
  // A Job that runs stays where it is when its data moves.
  if (workload.kind === 'Job') return wrong
  ensure(isSame(allowed, wanted), `it allows ${[...allowed]}, its policy and its data ${[...wanted]}`)
  ensure(isSubset(new Set(scheduled), wanted), `it runs in ${scheduled}, its policy and its data allow ${[...wanted]}`)
  return wrong
}

function required({ claims }: WorkloadIntent): ClaimIntent[] {
  return claims.filter(({ enforcement }) => enforcement === 'Required')
}

// Whether some process may see no cluster that the policy allows and that has all data: then a running workload is not moved to it.
function mayBeUnsatisfiable(workload: WorkloadIntent, members: Timeline<Members>): boolean {
  const combinations = required(workload).reduce<Set<string>[]>(
    (sets, { data }) => sets.flatMap((set) => data.possible.map((clusters) => intersection(set, clusters))),
    members.possible.flatMap((known) => workload.placement.possible.map((policy) => feasible(policy, known))),
  )
  return combinations.some((set) => set.size === 0)
}

function intersection(names: ReadonlySet<string>, others: readonly string[] = []): Set<string> {
  return new Set(others.filter((name) => names.has(name)))
}

function isSubset(inner: ReadonlySet<string>, outer: ReadonlySet<string>): boolean {
  return [...inner].every((name) => outer.has(name))
}

function isSame(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one.size === other.size && isSubset(one, other)
}

// As far as a person needs it who reads of a problem.
export function summaryOf({ metadata, spec }: SoakBinding): object {
  const { name, uid, resourceVersion, annotations = {} } = metadata
  const { placement, clusters, suspension } = spec
  const notes = Object.entries(annotations).filter(([key]) => key.startsWith('lodestone.dev/'))
  return { name, uid, resourceVersion, notes: Object.fromEntries(notes), placement, clusters, suspension }
}
