/** Reviews given manifests beside those of a store, for `lodestone check` and the page. Nothing is written but the store. */

import type { Config } from '../../app/config/config.ts'
import { systemsSource } from '../../app/config/systems-config.ts'
import { defined } from '../../base/json.ts'
import type { KarmadaRules } from '../../core/karmada-rules.ts'
import { inspectSystems } from '../../locality/config/inspect.ts'
import type { FolderStore } from '../../store/folder/folder.ts'
import type { Manifest } from '../../store/folder/manifests.ts'
import { allKinds } from '../../store/kinds/cached-kinds.ts'
import { reviewSettings } from '../review-settings.ts'
import { scopesOf } from '../scope.ts'
import { diagnose } from './findings/diagnose.ts'
import { type FailOn, type Finding, finding } from './findings/findings.ts'
import type { KnownSystems } from './findings/holds.ts'
import type { HubContent } from './hub/read-hub.ts'
import { placeManifests } from './input/place-manifests.ts'
import type { GivenManifests } from './input/read-manifests.ts'
import type { Report } from './report.ts'
import { countEffects } from './review/effect.ts'
import type { ReviewContext } from './review/review-object.ts'
import { reviewObjects, withoutDecision } from './review/review-objects.ts'
import { claimsToLocate, clustersAround, locateData } from './systems/locate-data.ts'

export interface CheckInput {
  given: GivenManifests
  /** Where the manifests come from, for messages. */
  from: string
  /** The existing objects, in memory: reviews change it. */
  store: FolderStore
  /** The folder of the store, for messages; undefined if it is empty by intent. */
  folder: string | undefined
  config: Config
  karmadaRules: KarmadaRules
  /** The namespace of manifests without one. */
  namespace: string | undefined
  /** Whether data systems are queried over the network. */
  queriesSystems: boolean
  failOn: FailOn
  /** Copies what the manifests concern from a hub into the store; absent without a hub. */
  copyHub?: (placed: readonly Manifest[], context: ReviewContext) => Promise<HubContent>
  /** Milliseconds since the epoch. */
  now: number
  signal: AbortSignal
}

/** Returns the reviews and the findings. Throws as `copyHub` does. */
export async function checkManifests(input: CheckInput): Promise<Report> {
  const { given, store, folder, config, signal, now, failOn } = input
  const settings = reviewSettings(config, input.karmadaRules, now)
  const types = allKinds(settings.workloads).map(({ type }) => type)
  const { manifests, systems } = given
  const problems = [...given.problems]
  const isEmpty = folder !== undefined && store.objects().length === 0 && problems.length === 0
  const objects = [...manifests, ...store.objects()].map(({ object }) => object)
  const { placed, findings } = placeManifests(manifests, scopesOf(types, objects), input.namespace)
  for (const one of findings) if (one.id === 'invalid-manifest') problems.push(one)
  // A pipeline without any manifest must not look like one with valid manifests.
  if (placed.length === 0 && problems.length === 0 && systems.findings.length === 0)
    problems.push(
      finding('no-manifest', `no manifest in ${input.from}; check the path, and the command before a pipe`, {}),
    )
  const context: ReviewContext = { ...settings, store, hasHub: input.copyHub !== undefined }
  const hub = await input.copyHub?.(placed, context)
  const located = await locateData({
    store,
    source: systemsSource(config.systems, store),
    claims: claimsToLocate(placed, store),
    clusters: clustersAround(placed, store),
    queriesNetwork: input.queriesSystems,
    signal,
    now,
  })
  const decided = await reviewObjects(placed, context, hub?.concerned)
  const reviews = problems.length > 0 ? decided.map(withoutDecision) : decided
  const found = diagnose(reviews, context, await knownSystems(config, context))
  const others: Finding[] = [
    ...(isEmpty ? [finding('empty-folder', `no manifest in ${folder}; check the path of --folder`, {})] : []),
    ...findings.filter(({ id }) => id !== 'invalid-manifest'),
  ]
  return defined({
    reviews,
    findings: [...problems, ...systems.findings, ...located, ...others, ...found],
    failOn,
    hub: hub && { ...countEffects(reviews), notReviewed: hub.notReviewed },
  })
}

/** The configured data systems: only with them, a hold for an unknown location can end. */
async function knownSystems({ systems }: Config, { store, hasHub }: ReviewContext): Promise<KnownSystems> {
  if (systems.configMap !== undefined) return 'unknown'
  const source = systemsSource(systems, store)
  // The server of the hub may have data systems of its own.
  if (!source && hasHub) return 'unknown'
  return new Set(source ? (await inspectSystems(source)).map(({ system }) => system) : [])
}
