/** Lines about data: claims, sources, and the VolumeManagers of a workload. */
import type { DataSource } from '../../api/data-source.ts'
import type { ClaimPolicy, DataSourceClaim } from '../../api/data-source-claim.ts'
import { referenceOf } from '../../api/meta.ts'
import { isTrue } from '../../base/conditions.ts'
import { defined } from '../../base/json.ts'
import { formatBytes, formatSize } from '../../base/quantity.ts'
import { formatAge } from '../../base/time/duration.ts'
import { type Answer, type ClaimAnswer, locateClaim } from '../../core/data-source/locate.ts'
import type { KnownAnswer } from '../claim-answer.ts'
import { firstNames } from './lists.ts'
import type { TreeNode } from './tree.ts'

/** A claim with its source. `refusal` says why the claim does not apply to the workload. */
export function claimNode(
  claim: DataSourceClaim,
  { enforcement, answer, claim: name, source }: KnownAnswer,
  now: number,
  refusal: string | undefined,
): TreeNode {
  const { system, dataSourceType, dataSourceName } = claim.spec
  return {
    ...referenceOf(claim),
    text: `DataSourceClaim ${name} (${enforcement}): ${system} ${dataSourceType} ${dataSourceName}`,
    ...dataState(answer),
    children: [
      ...(refusal === undefined ? [] : [{ text: `not permitted, and ignored: ${refusal}`, state: 'NotPermitted' }]),
      source
        ? sourceNode(source, answer, now)
        : { text: answer.kind === 'unknown' ? `unknown: ${answer.reason}` : answer.kind, ...dataState(answer) },
      { text: `policy: ${claimTerms(claim, now)}`, isDetail: true },
    ],
  }
}

/** The policy of a claim, with the defaults. */
function claimTerms(claim: DataSourceClaim, now: number): string {
  const { enforcement, preference, onUnresolved, onUnsatisfiable, rebalance, failback, holdTimeoutSeconds } =
    locateClaim(claim, undefined, now)
  const { maxStalenessSeconds } = claim.spec.policy ?? {}
  const terms = {
    enforcement,
    preference,
    onUnresolved,
    onUnsatisfiable,
    rebalance,
    failback: failback ?? 'Auto',
    holdTimeoutSeconds,
    maxStalenessSeconds,
  } satisfies Record<keyof ClaimPolicy, unknown>
  const given = Object.entries(terms).filter(([, value]) => value !== undefined)
  return given.map(([name, value]) => `${name} ${value}`).join(', ')
}

/** A source with its location. The answer depends on the claim: each claim has its own maximum age. */
export function sourceNode(source: DataSource, answer: Answer, now: number): TreeNode {
  const { spec, status } = source
  const { location, bytes, bytesAreMinimum } = spec.locality ?? {}
  const resolved = Date.parse(status?.lastResolvedTime ?? '')
  const facts = [
    ...(location ? [location] : []),
    ...(bytes === undefined ? [] : [formatSize(bytes, bytesAreMinimum)]),
    ...(Number.isNaN(resolved) ? [] : [`confirmed ${formatAge(now - resolved)} ago`]),
  ]
  const isStale = isTrue(status?.conditions, 'Stale')
  const text = `DataSource ${source.metadata.name}: ${dataPlace(answer)}`
  return {
    ...referenceOf(source),
    text,
    ...dataState(answer),
    children: [
      ...(facts.length > 0 ? [{ text: facts.join(', ') }] : []),
      ...(isStale && status?.lastError && !text.includes(status.lastError)
        ? [{ text: `the last query failed: ${status.lastError}` }]
        : []),
      ...(status?.lastResolvedTime ? [{ text: `lastResolvedTime ${status.lastResolvedTime}`, isDetail: true }] : []),
    ],
  }
}

/** A VolumeManager that the pods of a workload name, on a hub. */
export function volumeNode({ claim, enforcement, answer }: ClaimAnswer): TreeNode {
  const size = answer.kind === 'located' && answer.bytes !== undefined ? `, ${formatBytes(answer.bytes)}` : ''
  return { text: `${claim} (${enforcement}): ${dataPlace(answer)}${size}`, ...dataState(answer) }
}

/** The state of the data, for programs. */
function dataState(answer: Answer): Pick<TreeNode, 'state' | 'clusters' | 'bytes' | 'reason'> {
  if (answer.kind !== 'located')
    return { state: answer.kind === 'nowhere' ? 'Nowhere' : 'Unknown', reason: answer.reason }
  return defined({ state: 'Located', clusters: answer.clusters, bytes: answer.bytes })
}

function dataPlace(answer: Answer): string {
  return answer.kind === 'located' ? `located in ${firstNames(answer.clusters)}` : `${answer.kind}: ${answer.reason}`
}
