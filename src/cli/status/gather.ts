/** Gathers the report of `lodestone status` from a store. */
import { type DataSource, dataSources } from '../../api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../../api/data-source-claim.ts'
import { volumeManagers } from '../../api/volume-manager.ts'
import { defined } from '../../base/json.ts'
import type { Answer } from '../../core/data-source/locate.ts'
import { phaseOrDeclared } from '../../core/data-source/phase.ts'
import { workloadKey, workloadsOfClaim } from '../../core/data-source-claim/keys.ts'
import { phaseOfAnswer } from '../../core/data-source-claim/phase.ts'
import type { InspectedSystem } from '../../locality/config/inspect.ts'
import type { ClusterScope } from '../../queries/permission.ts'
import type { ObjectStore } from '../../store/store.ts'
import { answerOfClaim, knownRefusal } from '../claim-answer.ts'
import { OUTPUT_API_VERSION } from '../output.ts'
import type { ClaimReport, HoldReport, Section, SourceReport, StatusReport } from './report.ts'
import { reportSystems } from './systems.ts'
import { reportVolumes } from './volumes.ts'

/** The inputs of a report besides the store. */
export interface StatusInput {
  holds: readonly HoldReport[]
  /** The systems of the configuration; undefined without one. */
  configured: readonly InspectedSystem[] | undefined
  scope: ClusterScope
  /** Milliseconds since the epoch. */
  now: number
  /** The lists to report. */
  sections: ReadonlySet<Section>
  /** Only objects of this namespace; all if undefined. */
  namespace: string | undefined
  /** Only objects of this data system; all if undefined. */
  system: string | undefined
}

/** Gathers the lists that the input selects. */
export function gatherStatus(store: ObjectStore, input: StatusInput): StatusReport {
  const { sections, namespace, system } = input
  const isShown = (object: { namespace?: string | undefined }) =>
    namespace === undefined || object.namespace === namespace
  const sources = [...store.list(dataSources)].filter(({ spec }) => system === undefined || spec.system === system)
  const claims = [...store.list(dataSourceClaims)].filter(({ spec }) => system === undefined || spec.system === system)
  const lists: { [section in Section]: () => Required<StatusReport>[section] } = {
    claims: () =>
      claims
        .filter(({ metadata }) => isShown(metadata))
        .map((claim) => reportClaim(claim, store, input))
        .sort(byName),
    holds: () =>
      claimedHolds(system === undefined ? undefined : claims, input.holds)
        .filter(({ workload }) => isShown(workload))
        .sort((a, b) => byName(a.workload, b.workload)),
    volumes: () =>
      [...store.list(volumeManagers)]
        .filter(({ metadata }) => isShown(metadata))
        .flatMap(reportVolumes)
        .sort((a, b) => byName({ ...a, name: a.volumeManager }, { ...b, name: b.volumeManager })),
    sources: () => sources.map(reportSource).sort(byName),
    systems: () =>
      reportSystems(sources, input.configured)
        .filter(({ name }) => system === undefined || name === system)
        .sort(byName),
  }
  const selected = SECTIONS.filter((section) => sections.has(section))
  return {
    apiVersion: OUTPUT_API_VERSION,
    kind: 'Status',
    ...Object.fromEntries(selected.map((section) => [section, lists[section]()])),
  }
}

/** All lists, in the order of the output. */
export const SECTIONS: readonly Section[] = ['claims', 'holds', 'volumes', 'sources', 'systems']

interface Named {
  namespace?: string
  name: string
}

function byName(a: Named, b: Named): number {
  const [x, y] = [a, b].map(({ namespace = '', name }) => `${namespace}/${name}`)
  return x === y ? 0 : (x ?? '') < (y ?? '') ? -1 : 1
}

/** The holds of the workloads that one of the claims names; all without claims. */
function claimedHolds(claims: readonly DataSourceClaim[] | undefined, holds: readonly HoldReport[]): HoldReport[] {
  if (!claims) return [...holds]
  const named = new Set(claims.flatMap(workloadsOfClaim).map(workloadKey))
  return holds.filter(({ workload }) => named.has(workloadKey(workload)))
}

function reportClaim(claim: DataSourceClaim, store: ObjectStore, { scope, now }: StatusInput): ClaimReport {
  const { metadata, spec, status } = claim
  const { source, sourceName, answer, enforcement } = answerOfClaim(claim, store, now)
  const refusal = knownRefusal(claim, store, scope)
  const { system, dataSourceType, dataSourceName, workload } = spec
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name ?? '',
    // No controller writes the phase of a claim in a folder.
    phase: status?.phase ?? (refusal === undefined ? phaseOfAnswer(answer, source) : 'Pending'),
    system,
    dataSourceType,
    dataSourceName,
    enforcement,
    workload,
    ...defined({ source: sourceName || undefined }),
    ...(refusal === undefined ? answerLocation(answer) : { location: 'NotPermitted', clusters: [], message: refusal }),
  }
}

function answerLocation(answer: Answer): Pick<ClaimReport, 'location' | 'clusters' | 'message'> {
  if (answer.kind === 'located') return { location: 'Located', clusters: [...answer.clusters] }
  return { location: answer.kind === 'nowhere' ? 'Nowhere' : 'Unknown', clusters: [], message: answer.reason }
}

function reportSource(source: DataSource): SourceReport {
  const { metadata, spec, status } = source
  const { clusterNames, location, bytes, bytesAreMinimum } = spec.locality ?? {}
  const { lastResolvedTime, lastError } = status ?? {}
  return defined({
    name: metadata.name ?? '',
    system: spec.system,
    type: spec.type,
    dataName: spec.name,
    phase: phaseOrDeclared(source) ?? 'Pending',
    clusters: clusterNames,
    location,
    bytes,
    bytesAreMinimum,
    lastResolvedTime,
    lastError,
  })
}
