/** A short, stable hash for names. Not for secrets. */

/** FNV-1a over the UTF-16 code units, 64 bits, as 13 characters that a Kubernetes name may hold. */
export function fnv1a(text: string): string {
  let hash = 0xcbf29ce484222325n
  for (let i = 0; i < text.length; i++) {
    hash ^= BigInt(text.charCodeAt(i))
    hash = BigInt.asUintN(64, hash * 0x100000001b3n)
  }
  return hash.toString(36).padStart(13, '0')
}
