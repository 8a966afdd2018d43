/** The kinds of a cluster that a command does not show, because its user may not list them. */
import { type ResourceType, resourceWord } from '../api/meta.ts'
import type { ObjectStore, UnavailableKind } from '../store/store.ts'

/** Returns the kinds that the user may not list. The store has no objects of them. Without `-n`, a command ends if there is one. */
export function hiddenKinds(store: ObjectStore): UnavailableKind[] {
  return store.unavailable().filter(({ reason }) => reason === 'Forbidden')
}

/** Whether the user may not list a kind. */
export function isHidden(store: ObjectStore, type: Pick<ResourceType, 'group' | 'plural'>): boolean {
  return whyHidden(store, type) !== undefined
}

/** Returns the sentence that says why a kind is not shown; undefined if it is. */
export function whyHidden(store: ObjectStore, type: Pick<ResourceType, 'group' | 'plural'>): string | undefined {
  return hiddenKinds(store).find((one) => resourceWord(one.type) === resourceWord(type))?.message
}

/** Returns a sentence with all kinds that are not shown; undefined if there is none. */
export function describeHidden(store: ObjectStore): string | undefined {
  const words = hiddenKinds(store).map(({ type }) => resourceWord(type))
  return words.length === 0 ? undefined : `not shown, since you may not list them: ${words.sort().join(', ')}`
}
