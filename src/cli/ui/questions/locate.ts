/** Answers where a workload, or the data of claims, can be: each cluster with its bytes, and what excludes it. */
import { type DataSourceClaim, dataSourceClaims } from '../../../api/data-source-claim.ts'
import { apiVersionOf, type ObjectReference, referenceTitle } from '../../../api/meta.ts'
import { configuredTransferMatrix } from '../../../app/config/transfer-costs-config.ts'
import { defined, membership } from '../../../base/json.ts'
import type { ClaimAnswer } from '../../../core/data-source/locate.ts'
import { validateDataSourceClaim } from '../../../core/data-source-claim/validate.ts'
import { effectiveAffinity } from '../../../core/placement/affinity.ts'
import { targetClusters, usesOverflow } from '../../../core/placement/binding-state.ts'
import { placementFilter } from '../../../core/placement/placement-filter.ts'
import type { TransferCost } from '../../../core/transfer-cost/transfer-cost.ts'
import { clusterLookup } from '../../../queries/binding.ts'
import { answerOfClaim } from '../../claim-answer.ts'
import { costsOfClaims } from '../../explain/candidates.ts'
import { candidateNames, dataExclusions, exclusionsOf } from '../../explain/exclusions.ts'
import { type Placed, placeWorkload } from '../../explain/placed.ts'
import { type Context, referencedTarget } from '../../explain/target.ts'

/** The question: a workload that exists or that claims name, or claims that need not exist. */
export type LocateQuestion = { workload: ObjectReference; claims?: never } | { claims: LocateClaim[]; workload?: never }

/** A claim as in a manifest. */
interface LocateClaim {
  metadata?: { namespace?: string; name?: string }
  spec: DataSourceClaim['spec']
}

export interface LocatedClaim {
  /** `namespace/name`, also of a VolumeManager that the pods of the workload name. */
  claim: string
  enforcement: 'Required' | 'Preferred'
  state: 'Located' | 'Nowhere' | 'Unknown'
  clusters: readonly string[]
  bytes?: number
  reason?: string
}

export interface LocatedCluster {
  name: string
  /** Whether nothing excludes the cluster. */
  allowed: boolean
  /** The bytes of the located data in this cluster. */
  bytes: number
  /** The claims with data in this cluster. */
  has: string[]
  /** What excludes the cluster, as the rest of a sentence about it. */
  excludedBy: string[]
  /** What it costs to bring the data there; absent without a price matrix, and without located data. */
  transfer?: TransferCost
  /** Through which steps of the placement the cluster comes; absent for claims without a workload. */
  steps?: PlacementSteps
}

/** From the policy to the scheduler. A decision may allow clusters without data: it keeps a workload where it is, or relaxes it. */
interface PlacementSteps {
  /** Why the policy does not allow it, or why Karmada's scheduler refuses it; empty if neither does. */
  refusedBy: string[]
  /** All required data is there. */
  data: boolean
  /** The decision of admission allows it. */
  decision: boolean
  /** The workload is scheduled to it. */
  scheduled: boolean
}

export interface LocateAnswer {
  workload?: ObjectReference
  /** The decision of admission on the binding of the workload; absent without a policy that selects it. */
  decision?: { state: string; message?: string }
  claims: LocatedClaim[]
  /** Allowed clusters first, then those with the most bytes. */
  clusters: LocatedCluster[]
}

type Located = { answer: LocateAnswer; problems?: never } | { answer?: never; problems: string[] }

/** A fleet has at most this many clusters in an answer. */
const MAX_CLUSTERS = 5_000

/** Returns the answer, or sentences with the path of what is wrong with the question. */
export async function locate(question: LocateQuestion, context: Context): Promise<Located> {
  return question.workload ? locateWorkload(question.workload, context) : locateClaims(question.claims, context)
}

async function locateWorkload(workload: ObjectReference, context: Context): Promise<Located> {
  const placed = await placeWorkload(referencedTarget(workload, context.kinds), context)
  if (!placed) return { problems: [`workload: ${referenceTitle(workload)} not found ${context.place}`] }
  const { placement } = placed
  const claims = placement?.input.claims ?? answerClaims(placed.claims, context)
  const { state, message } = placement?.decision ?? {}
  return {
    answer: {
      workload: placed.workload,
      ...defined({ decision: state && defined({ state, message: message || undefined }) }),
      claims: claims.map(reportAnswer),
      clusters: reportClusters(claims, exclusionsOf(placed, context), context, placement && lastSteps(placed, context)),
    },
  }
}

function locateClaims(given: readonly LocateClaim[], context: Context): Located {
  const claims = given.map(({ metadata, spec }, i) => ({
    apiVersion: apiVersionOf(dataSourceClaims),
    kind: dataSourceClaims.kind,
    metadata: { namespace: metadata?.namespace ?? 'default', name: metadata?.name ?? `claim-${i}` },
    spec,
  }))
  const problems = claims.flatMap((claim, i) =>
    validateDataSourceClaim(claim).map(({ path, message }) => `claims[${i}].${path}: ${message}`),
  )
  if (problems.length > 0) return { problems }
  const answers = answerClaims(claims, context)
  return { answer: { claims: answers.map(reportAnswer), clusters: reportClusters(answers, () => [], context) } }
}

function answerClaims(claims: readonly DataSourceClaim[], { store, now }: Context): ClaimAnswer[] {
  return claims.map((claim) => answerOfClaim(claim, store, now))
}

function reportAnswer({ claim, enforcement, answer }: ClaimAnswer): LocatedClaim {
  if (answer.kind === 'located') {
    const { clusters: names, bytes } = answer
    return { claim, enforcement, state: 'Located', clusters: names, ...defined({ bytes }) }
  }
  return {
    claim,
    enforcement,
    state: answer.kind === 'nowhere' ? 'Nowhere' : 'Unknown',
    clusters: [],
    reason: answer.reason,
  }
}

type LastSteps = Pick<PlacementSteps, 'decision' | 'scheduled'>

/** Whether the present decision allows a cluster, and whether the workload is scheduled to it. */
function lastSteps({ placement }: Placed, { store, karmadaRules }: Context): (cluster: string) => LastSteps {
  if (!placement) return () => ({ decision: false, scheduled: false })
  const { binding, input, decision } = placement
  const lookup = clusterLookup(store)
  const { spec } = decision.binding
  const filter = placementFilter(
    effectiveAffinity(spec.placement),
    lookup,
    usesOverflow(spec, karmadaRules),
    karmadaRules,
  )
  const scheduled = new Set(input.stored ? targetClusters(binding.spec) : [])
  return (name) => ({ decision: decision.state !== 'OnHold' && filter.allows(name), scheduled: scheduled.has(name) })
}

function reportClusters(
  claims: readonly ClaimAnswer[],
  exclusions: (cluster: string) => string[],
  context: Context,
  steps?: (cluster: string) => LastSteps,
): LocatedCluster[] {
  const { store } = context
  const located = claims.flatMap(({ claim, answer }) =>
    answer.kind === 'located' ? [{ claim, bytes: answer.bytes ?? 0, isIn: membership(answer.clusters) }] : [],
  )
  const lacking = dataExclusions(claims)
  const hasCosts = located.length > 0 && configuredTransferMatrix(context.config) !== undefined
  const costOf = hasCosts ? costsOfClaims(claims, context) : undefined
  const names = candidateNames(claims, store).slice(0, MAX_CLUSTERS)
  const rows = names.map((name) => {
    const here = located.filter(({ isIn }) => isIn(name))
    const lacks = lacking(name)
    const refused = exclusions(name)
    const excludedBy = [...refused, ...lacks]
    return {
      name,
      allowed: excludedBy.length === 0,
      bytes: here.reduce((sum, { bytes }) => sum + bytes, 0),
      has: here.map(({ claim }) => claim),
      excludedBy,
      ...defined({
        transfer: costOf?.(name),
        steps: steps && { refusedBy: refused, data: lacks.length === 0, ...steps(name) },
      }),
    }
  })
  return rows.sort((a, b) => Number(b.allowed) - Number(a.allowed) || b.bytes - a.bytes)
}
