/** The labels by which attached bindings and their referrers find each other, with the same hash as Karmada's. */

import { DEPENDED_BY_LABEL_PREFIX as KARMADA_LABEL_PREFIX } from '../../api/karmada.ts'
import { DEPENDED_BY_LABEL_PREFIX } from '../../api/lodestone.ts'
import { fnv1a32 } from '../../base/hash.ts'

/** Letters and digits that form no words (apimachinery, SafeEncodeString). */
const SAFE_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789'

/** The key of an index for attached bindings of any referrer. */
export const ANY_REFERRER = '*'

/** Our label on attached bindings for a referrer. Its value is the permanent id of the referrer. */
export function dependedByLabel(binding: { namespace?: string | undefined; name: string }): string {
  return DEPENDED_BY_LABEL_PREFIX + dependedByHash(binding)
}

/** The label of Karmada's own distributor for a referrer. */
export function karmadaDependedByLabel(binding: { namespace?: string | undefined; name: string }): string {
  return KARMADA_LABEL_PREFIX + dependedByHash(binding)
}

/** Hashes of the same bindings are needed again and again. When the cache has this many entries, it is cleared. */
const MAX_REMEMBERED = 50_000
const remembered = new Map<string, string>()

function dependedByHash({ namespace, name }: { namespace?: string | undefined; name: string }): string {
  const key = namespace ? `${namespace}/${name}` : name
  const known = remembered.get(key)
  if (known !== undefined) return known
  if (remembered.size === MAX_REMEMBERED) remembered.clear()
  const hash = bindingKeyHash(key)
  remembered.set(key, hash)
  return hash
}

/** Karmada's hash of a binding's key: FNV-1a with 32 bits, its decimal digits spelled in safe letters (pkg/util/names, GenerateBindingReferenceKey). */
function bindingKeyHash(key: string): string {
  // Names of objects are ASCII, so code units are the bytes that Go hashes.
  return [...String(fnv1a32(key))].map((digit) => SAFE_ALPHABET[digit.charCodeAt(0) % SAFE_ALPHABET.length]).join('')
}
