/** A supposed world, what is put into it, and the errors of names and manifests that do not fit. */
import { type Cluster, clusters } from '../../api/karmada.ts'
import { suggest } from '../../base/suggest.ts'
import { UserError } from '../../base/user-error.ts'
import { allKinds } from '../../store/kinds/cached-kinds.ts'
import { OverlayStore } from '../../store/overlay-store.ts'
import type { ObjectStore, StoreChange } from '../../store/store.ts'
import type { SessionInput } from '../check/review/review-object.ts'

/** The inputs of suppositions: the objects of the fleet, and the settings of reviews. */
export interface SupposeContext extends SessionInput {
  /** The namespace of manifests without one, and of objects to delete. */
  namespace: string
  signal: AbortSignal
}

/** A supposed world, as an overlay of the present one. */
export interface Supposed {
  store: OverlayStore
  changes: StoreChange[]
  /** The keys of the bindings whose workloads are written, with the replicas of their manifests. */
  written: Map<string, number | undefined>
  /** The clusters of the data that moves, by the name of its source. */
  moved: Map<string, readonly string[]>
  /** The taints that clusters get, by cluster, key and effect. */
  tainted: Map<string, string>
  /** The suppositions, as sentences without a full stop: an object that is applied twice has one. */
  sentences: Set<string>
  /** Limits of the answer, as sentences without a full stop. */
  notes: string[]
}

/** A supposition that cannot hold: it names what does not exist, contradicts another one, or would be rejected. */
export class SuppositionError extends UserError {
  override name = 'SuppositionError'
  override readonly exitStatus = 1
  /** The file of the manifest; undefined for a name. */
  readonly file: string | undefined
  constructor(message: string, file?: string) {
    super(message)
    this.file = file
  }
}

/** A name that this hub does not have. Another hub may have it. */
export class UnknownNameError extends SuppositionError {
  override name = 'UnknownNameError'
}

/** An overlay without a change. */
export function emptySupposition({ store, workloads }: Pick<SupposeContext, 'store' | 'workloads'>): Supposed {
  return {
    store: new OverlayStore(store, allKinds(workloads)),
    changes: [],
    written: new Map(),
    moved: new Map(),
    tainted: new Map(),
    sentences: new Set(),
    notes: [],
  }
}

/** Puts a changed cluster into a supposed world, with the sentence that says so. */
export function putCluster(cluster: Cluster, sentence: string, { store, changes, sentences }: Supposed): void {
  changes.push(store.put(clusters, cluster))
  sentences.add(sentence)
}

/** Returns a cluster by its name. Throws `UnknownNameError` if there is none. */
export function findCluster(name: string, store: ObjectStore): Cluster {
  const found = store.get(clusters, undefined, name)
  if (found) return found
  const known = [...store.list(clusters)].map(({ metadata }) => metadata.name ?? '')
  const hint = known.length > 0 ? suggest(name, known) : ', and no other one is known'
  throw new UnknownNameError(`no Cluster ${name}${hint}`)
}
