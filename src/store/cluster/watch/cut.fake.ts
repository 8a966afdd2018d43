/** Splits bytes into parts of these sizes, and one with the rest. */
export function cut(bytes: Uint8Array, sizes: readonly number[]): Uint8Array[] {
  const chunks: Uint8Array[] = []
  let start = 0
  for (const size of sizes) {
    chunks.push(bytes.subarray(start, start + size))
    start = Math.min(bytes.length, start + size)
  }
  return [...chunks, bytes.subarray(start)]
}
