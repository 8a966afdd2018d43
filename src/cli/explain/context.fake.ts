/** The inputs of explanations, for tests. */
import { DEFAULT_CONFIG } from '../../app/config/config.ts'
import { strictestRules } from '../../core/karmada-rules.ts'
import { SHIPPED_KINDS } from '../../core/workload-kinds/kinds.ts'
import type { ObjectStore } from '../../store/store.ts'
import type { Context } from './target.ts'

/** Returns the context for the objects of a store, at a time in ms since the epoch. */
export function explainContext(store: ObjectStore, now: number): Context {
  return {
    store,
    now,
    kinds: SHIPPED_KINDS,
    config: DEFAULT_CONFIG,
    karmadaRules: strictestRules,
    isMember: false,
    isHub: false,
    isFolder: false,
    place: 'here',
  }
}
