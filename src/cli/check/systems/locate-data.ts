/** Locates the data of claims once: queries the configured data systems, and stores the answers in memory. */
import { existsSync } from 'node:fs'
import pLimit from 'p-limit'
import { type DataSource, dataSources } from '../../../api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../../../api/data-source-claim.ts'
import { type Cluster, clusters } from '../../../api/karmada.ts'
import { apiVersionOf, type K8sObject, keyOfObject, referenceOf } from '../../../api/meta.ts'
import { type ConditionState, condition, withConditions } from '../../../base/conditions.ts'
import { defined } from '../../../base/json.ts'
import { mappedStates } from '../../../core/data-source/conditions.ts'
import { sourcePhase } from '../../../core/data-source/phase.ts'
import { queryOfClaim, workloadKey } from '../../../core/data-source-claim/keys.ts'
import type { SystemConfig } from '../../../locality/config/config.ts'
import { type ConfigFile, type ConfigSource, ConfigSourceError } from '../../../locality/config/source.ts'
import { type LocalityAnswer, LocalityError, type System } from '../../../locality/locality.ts'
import { plugins } from '../../../locality/plugins/index.ts'
import { openSystems } from '../../../locality/systems.ts'
import { claimSource, nameOfSource } from '../../../queries/source.ts'
import type { FolderStore } from '../../../store/folder/folder.ts'
import type { Manifest } from '../../../store/folder/manifests.ts'
import { queryKeyOfClaim, queryKeyOfSource } from '../../../store/kinds/query-key.ts'
import type { ObjectStore } from '../../../store/store.ts'
import { type Finding, finding } from '../findings/findings.ts'
import { SystemFiles } from '../input/system-files.ts'
import { hasType, validateManifest } from '../input/validate-manifest.ts'

export interface LocateInput {
  store: FolderStore
  /** The configurations of data systems; undefined if none is configured. */
  source: ConfigSource | undefined
  claims: readonly DataSourceClaim[]
  /** The Clusters to which locations are mapped. */
  clusters: readonly Cluster[]
  /** Whether data systems are queried over the network, too. */
  queriesNetwork: boolean
  signal: AbortSignal
  /** Milliseconds since the epoch. */
  now: number
}

const MAX_CONCURRENT = 8
const TIMEOUT_MS = 30_000

/** Stores a DataSource for each claim whose data a system locates. A stored answer stays. Throws when the signal of the input aborts. */
export async function locateData(input: LocateInput): Promise<Finding[]> {
  const { store, source, claims } = input
  const open = new Map(
    claims.filter((claim) => needsAnswer(claim, store)).map((claim) => [sourceNameOfClaim(claim), claim]),
  )
  // A folder is checked in any case, if it is here: the configuration may be that of a server elsewhere.
  if (!source || (open.size === 0 && !existsSync(source.directory ?? ''))) return []
  const configured = await readSystems(source)
  if (open.size === 0) return configured.findings
  const names = new Set([...open.values()].map(({ spec }) => spec.system))
  const wanted = configured.files.filter(({ config }) => isWanted(config, names, input.queriesNetwork))
  const systems = await openSystems({
    source: { name: source.name, read: async () => wanted },
    clusters: () => input.clusters,
    pollMs: 2 * TIMEOUT_MS,
  })
  try {
    const signal = AbortSignal.any([input.signal, AbortSignal.timeout(TIMEOUT_MS)])
    const limit = pLimit(MAX_CONCURRENT)
    const ends = [...open.values()].map((claim) => {
      const system = systems.get(claim.spec.system)
      return system ? limit(() => locate(claim, system, { ...input, signal })) : undefined
    })
    const failed = (await Promise.all(ends)).filter((end) => end !== undefined)
    // A report of an interrupted check would look like one of systems that do not answer.
    input.signal.throwIfAborted()
    const invalid = systems
      .problems()
      .map(({ file, message }) => finding('invalid-system', message.replace(`${file}: `, ''), { file }))
    return [...configured.findings, ...invalid, ...failed]
  } finally {
    await systems.stop()
  }
}

function sourceNameOfClaim(claim: DataSourceClaim): string {
  return nameOfSource(queryOfClaim(claim))
}

function needsAnswer(claim: DataSourceClaim, store: FolderStore): boolean {
  const source = claimSource(claim, store)
  return source === undefined || (source.spec.locality === undefined && sourcePhase(source) === undefined)
}

/** The valid configurations of a source, and the findings of the others. */
async function readSystems(source: ConfigSource) {
  const systems = new SystemFiles()
  const files: (ConfigFile & { config: SystemConfig })[] = []
  try {
    for (const given of await source.read()) {
      if ('problem' in given) systems.refuse(given.file, given.problem)
      else {
        const config = systems.add(given.file, given.text)
        if (config) files.push({ ...given, config })
      }
    }
  } catch (error) {
    if (!(error instanceof ConfigSourceError)) throw error
    systems.refuse(source.name, error.message)
  }
  return { files, findings: systems.findings.filter(({ id }) => id !== 'valid-system') }
}

/** Whether a system is opened: one of a claim, without a network unless that is allowed. */
function isWanted({ system, plugin }: SystemConfig, names: ReadonlySet<string>, queriesNetwork: boolean): boolean {
  return names.has(system) && (queriesNetwork || plugins[plugin as keyof typeof plugins]?.endpoint === 'none')
}

async function locate(
  claim: DataSourceClaim,
  system: System,
  { store, signal, now }: LocateInput,
): Promise<Finding | undefined> {
  const { system: name, type, attributes = {}, ...query } = queryOfClaim(claim)
  try {
    const answer = await system.plugin.locate({ type, attributes, name: query.name }, signal)
    await putSource(claim, answer, system, { store, now })
    return undefined
  } catch (error) {
    if (!(error instanceof LocalityError) && !signal.aborted) throw error
    const reason = signal.aborted ? `no answer within ${TIMEOUT_MS / 1000} s` : (error as Error).message
    return finding('unanswered-query', `data system ${name}: ${type} ${query.name}: ${reason}`, {})
  }
}

async function putSource(
  claim: DataSourceClaim,
  answer: LocalityAnswer,
  system: System,
  { store, now }: { store: FolderStore; now: number },
): Promise<void> {
  const stored = claimSource(claim, store)
  const base: DataSource = stored ?? {
    apiVersion: apiVersionOf(dataSources),
    kind: dataSources.kind,
    metadata: { name: sourceNameOfClaim(claim) },
    spec: queryOfClaim(claim),
  }
  const source = withAnswer(base, answer, system, now)
  await (stored ? store.update(dataSources, source) : store.create(dataSources, source))
}

/** The source as the controller writes it for an answer. */
function withAnswer(source: DataSource, answer: LocalityAnswer, system: System, now: number): DataSource {
  if (answer.kind === 'located') {
    const { location, bytes } = answer
    const clusters = system.clustersOf(answer)
    const locality = defined({ clusterNames: clusters, location, bytes })
    const attempt = { kind: 'located', location, clusters, whyNoCluster: system.whyNoCluster(answer) } as const
    return withStates({ ...source, spec: { ...source.spec, locality } }, mappedStates(attempt), now)
  }
  if (answer.kind === 'unchanged') return source
  return withStates(source, [condition('Ready', false, 'Unavailable', answer.reason)], now)
}

function withStates(source: DataSource, states: ConditionState[], now: number): DataSource {
  if (states.length === 0) return source
  const conditions = withConditions(source.status?.conditions, states, undefined, now)
  return { ...source, status: { ...source.status, conditions } }
}

/**
 * Returns the given claims and those that name a given workload, without claims that a given DataSource answers. Invalid objects are left out,
 * because admission rejects them.
 */
export function claimsToLocate(manifests: readonly Manifest[], store: ObjectStore): DataSourceClaim[] {
  const objects: K8sObject[] = manifests
    .map(({ object }) => object)
    .filter((object) => validateManifest(object).length === 0)
  const given = objects.filter((object) => hasType(dataSourceClaims, object)) as DataSourceClaim[]
  const answered = new Set(
    objects.filter((object) => hasType(dataSources, object)).map((object) => queryKeyOfSource(object as DataSource)),
  )
  const stored = objects.flatMap((object) =>
    store.byIndex(dataSourceClaims, 'workload', workloadKey(referenceOf(object))),
  )
  // A given claim replaces the stored one with the same name.
  const claims = new Map([...stored, ...given].map((claim) => [keyOfObject(claim), claim]))
  return [...claims.values()].filter((claim) => !answered.has(queryKeyOfClaim(claim)))
}

/** Returns the given Clusters and those of the store. A given one replaces the stored one with its name. */
export function clustersAround(manifests: readonly Manifest[], store: ObjectStore): Cluster[] {
  const given = manifests.map(({ object }) => object).filter((object) => hasType(clusters, object)) as Cluster[]
  return [...new Map([...store.list(clusters), ...given].map((cluster) => [cluster.metadata.name, cluster])).values()]
}
