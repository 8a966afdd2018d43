/** Divides the memory of a container: how much the heap may use so that the total stays below the limit. */

const MEBIBYTE = 2 ** 20

/** V8's young generation is at most three times its semi-space. `serve` starts with this semi-space (docs/dev/adr/platform/0014). */
export const SEMI_SPACE_MIB = 16
const YOUNG_MIB = 3 * SEMI_SPACE_MIB
/** The program, its threads, 500 TLS connections of 57 KiB each, and buffers of responses that are freed late (docs/dev/adr/platform/0020). */
const NATIVE_MIB = 176
/** The default for bodies and responses in flight. */
const BYTES_IN_FLIGHT_MIB = 64
/** With less, the caches of a small cluster do not fit. */
const LEAST_OLD_SPACE_MIB = 96

/** Returns the size of the old generation in MiB for a container with this memory. A sixteenth of the container stays free. */
export function oldSpaceMib(containerBytes: number): number {
  const container = containerBytes / MEBIBYTE
  const rest = (container * 15) / 16 - YOUNG_MIB - NATIVE_MIB - BYTES_IN_FLIGHT_MIB
  return Math.max(LEAST_OLD_SPACE_MIB, Math.floor(rest))
}

export interface MemoryPlan {
  containerBytes: number
  /** The heap limit that V8 reports. */
  heapBytes: number
  bytesInFlight: number
}

/** Returns a warning if the container may be killed for its memory use; undefined if all parts fit. */
export function memoryWarning({ containerBytes, heapBytes, bytesInFlight }: MemoryPlan): string | undefined {
  const needed = Math.ceil((heapBytes + bytesInFlight) / MEBIBYTE) + NATIVE_MIB
  const container = Math.floor(containerBytes / MEBIBYTE)
  if (needed <= container) return undefined
  return `heap, bytes in flight and native memory together can need ${needed} MiB, more than the container's ${container} MiB; raise its memory limit`
}
