/** Opens the fleet about which a question is asked: a hub, or a folder with the bindings that Karmada would create for it. */
import { clusterResourceBindings, clusters, resourceBindings } from '../../api/karmada.ts'
import type { Config } from '../../app/config/config.ts'
import { placementTiming } from '../../app/config/placement-config.ts'
import { configuredWorkloadKinds } from '../../app/config/workload-kinds-config.ts'
import { allExcludedNamespaces } from '../../app/registration.ts'
import { type Fleet, openFleet } from '../../queries/what-if/ask.ts'
import { allKinds, kindsFor } from '../../store/kinds/cached-kinds.ts'
import { OverlayStore } from '../../store/overlay-store.ts'
import type { ObjectStore } from '../../store/store.ts'
import type { Arguments, CommandIo } from '../command.ts'
import { openSource } from '../open-source.ts'
import { karmadaRulesOf } from '../options/karmada-version.ts'
import { readNamespace } from '../options/namespace.ts'
import { predict } from '../status/holds.ts'
import type { SupposeContext } from './suppose.ts'

export interface OpenFleet {
  fleet: Fleet
  context: SupposeContext
  /** What limits every answer, as sentences. */
  notes: string[]
  close(): Promise<void>
}

/** Throws as `openSource` does. */
export async function openFleetSource(args: Arguments, io: CommandIo, config: Config): Promise<OpenFleet> {
  const workloads = configuredWorkloadKinds(config)
  const namespace = await readNamespace(args, io)
  const kinds = kindsFor({ workloads, dependencies: true, movesData: false })
  const source = await openSource('what-if', args, io, { kinds, workloads })
  try {
    const now = io.now()
    const karmadaRules = karmadaRulesOf(args, config, source.karmadaRules)
    const store = source.folder ? await withDerivedBindings(source.folder) : source.store
    const { claims, placement, dependencies, volumes } = config
    const settings = {
      now,
      scope: claims.clusterScoped,
      timing: placementTiming(placement),
      kinds: workloads,
      karmadaRules,
    }
    const context: SupposeContext = {
      ...{ store, workloads, now, namespace, karmadaRules, signal: io.signal },
      propagateDeps: dependencies.propagate,
      clusterScopedClaims: claims.clusterScoped,
      whenNotReady: volumes.whenNotReady,
      volumeLimits: volumes,
      excludedNamespaces: allExcludedNamespaces(config),
    }
    return { fleet: openFleet(store, settings), context, notes: notesOn(store), close: source.close }
  } catch (error) {
    await source.close()
    throw error
  }

  async function withDerivedBindings(folder: NonNullable<typeof source.folder>): Promise<ObjectStore> {
    const { allBindings } = await predict(folder, config, io.now(), io.signal)
    const store = new OverlayStore(folder, allKinds(workloads))
    for (const binding of allBindings)
      store.put(binding.metadata.namespace ? resourceBindings : clusterResourceBindings, binding)
    return store
  }
}

function notesOn(store: ObjectStore): string[] {
  return [
    ...store.unavailable().map(({ message }) => message),
    ...(store.size(clusters) === 0
      ? ['no Cluster is known, so selectors, taints and APIs of clusters are not considered']
      : []),
  ]
}
