/** Finds what objects of a snapshot refer to: the labels of clusters that placements select, and the referrers of attached bindings. */
import {
  type BindingSnapshot,
  bindingTypes,
  clusterPropagationPolicies,
  DEPENDED_BY_LABEL_PREFIX as KARMADA_DEPENDED_BY_LABEL_PREFIX,
  propagationPolicies,
} from '../../api/karmada.ts'
import { BASE_AFFINITY_ANNOTATION, DEPENDED_BY_LABEL_PREFIX } from '../../api/lodestone.ts'
import { nameOfObject } from '../../api/meta.ts'
import { isObject, parseJson } from '../../base/json.ts'
import { dependedByLabel } from '../../core/dependencies/names.ts'
import type { ObjectStore } from '../store.ts'

const POLICIES = [propagationPolicies, clusterPropagationPolicies]
const PREFIXES = [DEPENDED_BY_LABEL_PREFIX, KARMADA_DEPENDED_BY_LABEL_PREFIX]

/** Returns the names of the labels that a placement, or one before its narrowing, selects or spreads by. */
export function clusterLabelsInUse(store: ObjectStore): ReadonlySet<string> {
  const used = new Set<string>()
  const seen = new Set<unknown>()
  const addOnce = (placement: unknown, key = placement): void => {
    if (!seen.has(key)) addLabels(placement, used)
    seen.add(key)
  }
  for (const type of POLICIES) for (const { spec } of store.list(type)) addOnce(spec.placement)
  for (const type of bindingTypes) {
    for (const { metadata, spec } of store.list(type)) {
      addOnce(spec.placement)
      const base = metadata.annotations?.[BASE_AFFINITY_ANNOTATION]
      if (base !== undefined && !seen.has(base)) addOnce(parseJson(base), base)
    }
  }
  return used
}

function addLabels(value: unknown, to: Set<string>): void {
  if (Array.isArray(value)) for (const item of value) addLabels(item, to)
  if (!isObject(value)) return
  for (const [name, member] of Object.entries(value)) {
    if (name === 'spreadByLabel' && typeof member === 'string') to.add(member)
    else if (name === 'labelSelector' && isObject(member)) addSelector(member, to)
    else addLabels(member, to)
  }
}

function addSelector({ matchLabels, matchExpressions }: Record<string, unknown>, to: Set<string>): void {
  for (const name of Object.keys(isObject(matchLabels) ? matchLabels : {})) to.add(name)
  for (const item of Array.isArray(matchExpressions) ? matchExpressions : []) {
    if (isObject(item) && typeof item['key'] === 'string') to.add(item['key'])
  }
}

/** Returns the referrers of attached bindings, by the hash in the labels of these. */
export function referrersByHash(store: ObjectStore): ReadonlyMap<string, BindingSnapshot> {
  const wanted = new Set<string>()
  for (const type of bindingTypes) {
    for (const { metadata } of store.list(type)) {
      for (const label of Object.keys(metadata.labels ?? {})) {
        const prefix = PREFIXES.find((each) => label.startsWith(each))
        if (prefix !== undefined) wanted.add(label.slice(prefix.length))
      }
    }
  }
  const found = new Map<string, BindingSnapshot>()
  if (wanted.size === 0) return found
  for (const type of bindingTypes) {
    for (const binding of store.list(type)) {
      const name = nameOfObject(binding)
      const hash = dependedByLabel(name).slice(DEPENDED_BY_LABEL_PREFIX.length)
      if (wanted.has(hash)) found.set(hash, name)
    }
  }
  return found
}
