// Checks the worker clusters of MultiKueue for which Lodestone nominates Workloads: only those with the data, and one in the end.
import { dataOf, nameOf, viewOf } from './bindings.ts'
import { type Answer, type AppliedClaim, claimsOf, locate, type Sources } from './claims.ts'
import type { Binding } from './karmada.ts'
import { isReserved, type QueuedWorkload } from './kueue.ts'
import { common } from './sets.ts'
import { Violation } from './violation.ts'
import type { World } from './world.ts'

// Checks a nomination that Lodestone writes, by what its leader knows. Throws Violation.
export function checkNomination(world: World, before: QueuedWorkload | undefined, after: QueuedWorkload): void {
  const known = new Set(before?.status?.nominatedClusterNames)
  const nominated = after.status?.nominatedClusterNames ?? []
  if (nominated.every((name) => known.has(name))) return
  const view = viewOf(world.leader.replica)
  const claims = requiredOf(after, view)
  if (claims.some(({ isDeleting }) => isDeleting) || hasWaited(after, claims, world.clock.now())) return
  const answers = claims.map((claim): [AppliedClaim, Answer] => [claim, locate(claim.claim, view)])
  const unknown = answers.find(([{ holdsUnresolved }, { kind }]) => kind === 'unknown' && holdsUnresolved)
  if (unknown) {
    const name = nameOf(unknown[0].claim)
    throw new Violation(
      'nominates-data',
      `${nameOf(after)}: it is nominated to ${nominated} although ${name} is unknown`,
    )
  }
  if (claims.length === 0 || answers.some(([, { kind }]) => kind === 'unknown')) return
  const data = common(dataOf(answers), new Set(world.clusterNames))
  if (data.size === 0 && claims.some(({ holdsUnsatisfiable }) => !holdsUnsatisfiable)) return
  const outside = nominated.filter((name) => !data.has(name))
  if (outside.length > 0) {
    const where = `its data is in ${[...data].join(', ')}`
    throw new Violation('nominates-data', `${nameOf(after)}: it is nominated to ${outside}, and ${where}`)
  }
}

// Checks that no Workload waits for a worker that it could have. Throws Violation.
export function checkNominationsAtRest(world: World): void {
  if (!world.isCrdServed('DataSourceClaim') || !world.isCrdServed('DataSource')) return
  for (const workload of world.api.list<QueuedWorkload>('Workload')) {
    const { clusterName, nominatedClusterNames = [] } = workload.status ?? {}
    if (!isReserved(workload) || clusterName !== undefined || nominatedClusterNames.length > 0) continue
    const claims = requiredOf(workload, world.api)
    const answers = claims.map((claim): [AppliedClaim, Answer] => [claim, locate(claim.claim, world.api)])
    const isLocated = answers.every(([, { kind }]) => kind === 'located')
    const hasWorker = claims.length === 0 || common(dataOf(answers), new Set(world.clusterNames)).size > 0
    const isOver = claims.length === 1 && hasWaited(workload, claims, world.clock.now())
    if ((isLocated && hasWorker) || isOver) {
      throw new Violation('is-nominated', `${nameOf(workload)}: it waits for a worker although one may have it`)
    }
  }
}

// The required claims of the job of a Workload.
function requiredOf({ metadata }: QueuedWorkload, sources: Sources): AppliedClaim[] {
  const [{ apiVersion = '', kind = '', name = '' } = {}] = metadata.ownerReferences ?? []
  const resource = { apiVersion, kind, name, namespace: metadata.namespace ?? '' }
  return claimsOf({ spec: { resource } } as Binding, sources).filter(({ required }) => required)
}

// Whether a Workload has waited since the reservation of its quota for as long as a claim allows.
function hasWaited({ status }: QueuedWorkload, claims: readonly AppliedClaim[], now: number): boolean {
  const since = status?.conditions?.find(({ type }) => type === 'QuotaReserved')?.lastTransitionTime ?? ''
  const seconds = claims.flatMap(({ holdTimeoutSeconds = [] }) => holdTimeoutSeconds)
  return seconds.some((each) => now >= Date.parse(since) + each * 1000)
}
