/** A short, stable hash for names. Not for secrets. */

/** FNV-1a over the UTF-16 code units, with 64 bits, as 13 characters that are valid in a Kubernetes name. */
export function fnv1a(text: string): string {
  let high = 0xcbf29ce4
  let low = 0x84222325
  for (let i = 0; i < text.length; i++) {
    low = (low ^ text.charCodeAt(i)) >>> 0
    // Multiplies by the prime 2^40 + 0x1b3 in halves of 32 bits: BigInt is ten times slower.
    const product = low * 0x1b3
    high = (Math.imul(high, 0x1b3) + Math.floor(product / 2 ** 32) + (low << 8)) >>> 0
    low = product >>> 0
  }
  return ((BigInt(high) << 32n) | BigInt(low)).toString(36).padStart(13, '0')
}

/** FNV-1a over the UTF-16 code units, with 32 bits. */
export function fnv1a32(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash >>> 0
}

/**
 * A digest of a list of texts, to detect changes: two FNV-1a hashes of 32 bits, as 16 hexadecimal digits. It is fast and not for secrets.
 */
export function listDigest(texts: readonly string[]): string {
  let one = 0x811c9dc5
  let other = 0x01000193
  for (const text of texts) {
    for (let i = 0; i <= text.length; i++) {
      // The end of each text is hashed too: ['ab'] differs from ['a', 'b'].
      const unit = i < text.length ? text.charCodeAt(i) : 0x10000
      one = Math.imul(one ^ unit, 0x01000193)
      other = Math.imul(other ^ unit, 0x85ebca6b)
    }
  }
  return hex(one) + hex(other)
}

function hex(half: number): string {
  return (half >>> 0).toString(16).padStart(8, '0')
}
