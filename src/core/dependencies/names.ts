/** The names by which attached bindings and those that they are attached to find each other: Karmada's, character by character. */
import { DEPENDED_BY_LABEL_PREFIX as KARMADA_LABEL_PREFIX } from '../../api/karmada.ts'
import { DEPENDED_BY_LABEL_PREFIX } from '../../api/lodestone.ts'

/** Letters and digits that make no words (apimachinery, SafeEncodeString). */
const SAFE_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789'

/** On attached bindings: our note that they are attached to this binding. Its value is the binding's permanent id. */
export function dependedByLabel(binding: { namespace?: string | undefined; name: string }): string {
  return DEPENDED_BY_LABEL_PREFIX + dependedByHash(binding)
}

/** The same note of Karmada's own distributor. */
export function karmadaDependedByLabel(binding: { namespace?: string | undefined; name: string }): string {
  return KARMADA_LABEL_PREFIX + dependedByHash(binding)
}

/** Hashes are asked for again and again, of the same bindings: so many are remembered before all are forgotten. */
const MAX_REMEMBERED = 50_000
const remembered = new Map<string, string>()

function dependedByHash({ namespace, name }: { namespace?: string | undefined; name: string }): string {
  const key = namespace ? `${namespace}/${name}` : name
  const known = remembered.get(key)
  if (known !== undefined) return known
  if (remembered.size === MAX_REMEMBERED) remembered.clear()
  const hash = hashOf(key)
  remembered.set(key, hash)
  return hash
}

/** Karmada's hash of a binding's key: FNV-1a with 32 bits, its decimal digits spelled in safe letters (pkg/util/names, GenerateBindingReferenceKey). */
function hashOf(key: string): string {
  let hash = 0x811c9dc5
  // Names of objects are ASCII, so code units are the bytes that Go hashes.
  for (const character of key) {
    hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193) >>> 0
  }
  return [...String(hash)].map((digit) => SAFE_ALPHABET[digit.charCodeAt(0) % SAFE_ALPHABET.length]).join('')
}
